"""What all learning curves share: rows, CSV, a picture of the exact verdicts, and TensorBoard."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from typing import Any

from gymnasium.error import DependencyNotInstalled

from tictac_agents.plotting import new_figure, save_figure
from tictac_env.arena import Verdict
from tictac_env.storage import save_text

RESULTS = ("win_rate", "draw_rate", "loss_rate")
SEATS = ("first", "second")
RATES = tuple(f"{result}_{seat}" for seat in SEATS for result in RESULTS)
JUDGED = ("exploitability", *RATES, "infallible")
"""The columns of a verdict."""


class Curve:
    """Rows that tell of a learner, the first column saying how far it was.

    Args:
        columns: their names.
        tensorboard: a folder for TensorBoard's event files; None for none.

    Attributes:
        rows: dicts, with None where a column says nothing.

    Raises:
        gymnasium.error.DependencyNotInstalled: `tensorboard` is given, and TensorBoard or torch is missing.
    """

    def __init__(self, columns: tuple[str, ...], tensorboard: str | os.PathLike[str] | None) -> None:
        self.columns = columns
        self.rows: list[dict[str, Any]] = []
        self._writer = None if tensorboard is None else _summary_writer(tensorboard)

    def save_csv(self, path: str | os.PathLike[str]) -> None:
        """Writes the rows as CSV, whole or not at all."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        save_text(path, text.getvalue())

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draws exploitability and the results against random play, a PNG file.

        Raises:
            ValueError: no row has a verdict.
            gymnasium.error.DependencyNotInstalled: matplotlib is missing.
        """
        judged = [row for row in self.rows if row["exploitability"] is not None]
        if self.rows and not judged:
            raise ValueError(f"there is no verdict to be drawn: the game of these {len(self.rows)} rows is too large")
        figure = new_figure(8, 6)
        upper, lower = figure.subplots(2, 1, sharex=True)
        counts = [row[self.columns[0]] for row in judged]
        upper.plot(counts, [row["exploitability"] for row in judged], color="black", marker=".")
        upper.set_ylabel("exact exploitability")
        for seat, colour in zip(SEATS, ("tab:blue", "tab:orange"), strict=True):
            for result, style in (("win", "-"), ("loss", ":")):
                shares = [100 * row[f"{result}_rate_{seat}"] for row in judged]
                lower.plot(counts, shares, style, color=colour, marker=".", label=f"{result} as {seat}")
        lower.set_ylabel("% against random play")
        lower.set_xlabel(self.columns[0])
        lower.legend()
        for axis in (upper, lower):
            axis.grid(alpha=0.3)
        save_figure(figure, path)

    def _log(self, values: Mapping[str, Any], at: int) -> None:
        """Writes values to TensorBoard, if they are to be there, as `charts/` and their names; None is left out."""
        if self._writer is not None:
            for name, value in values.items():
                if value is not None:
                    self._writer.add_scalar(f"charts/{name}", float(value), at)
            self._writer.flush()


def judged_columns(found: Verdict) -> dict[str, Any]:
    """What a verdict says, by the names of `JUDGED`."""
    rates = (*found.as_first.against_random, *found.as_second.against_random)
    return dict(zip(JUDGED, (found.exploitability, *rates, found.infallible), strict=True))


def _summary_writer(folder: str | os.PathLike[str]) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise DependencyNotInstalled('TensorBoard is missing: pip install "tictac-env[rl]"') from error
    return SummaryWriter(str(folder))
