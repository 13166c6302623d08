"""Learning curves: judgements during a training, as rows, CSV, picture and TensorBoard."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import gcd
from typing import Any

from tictac_agents.judge import COLUMNS as JUDGED
from tictac_agents.judge import Judge, Judgement
from tictac_env.checks import SEATS, flag, positive, whole
from tictac_env.lazy import needing
from tictac_env.solver.enumerate import SMALL_CELLS
from tictac_env.storage import csv_of, save_text, writing


def new_figure(width: float, height: float) -> Any:
    """An empty figure, its size in inches.

    Raises:
        gymnasium.error.DependencyNotInstalled: matplotlib is missing; the message says how to install it.
    """
    with needing("matplotlib is missing", "plot"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Writes a figure to a PNG file, atomically."""
    with writing(path) as file:
        figure.savefig(file, format="png", dpi=110)


@dataclass(frozen=True, kw_only=True)
class CurveRow:
    """One judgement during a training; a number that the agent does not have is None.

    Attributes:
        games: the games or episodes learned from; None of a network.
        timesteps: the environment steps learned from; None of an agent that learns from games of its own.
        seconds: CPU time of all threads since the curve was made, judging left out.
        games_per_second: in wall-clock time since the last row, judging left out.
        plies: the mean length of a game since the last row; only `NTupleTD` and `AlphaZero` count plies.
        epsilon: the chance of a random action.
        step: the step size of an agent whose step falls.
        judgement: the judgement.
    """

    games: int | None = None
    timesteps: int | None = None
    seconds: float = 0.0
    games_per_second: float | None = None
    plies: float | None = None
    epsilon: float | None = None
    step: float | None = None
    judgement: Judgement = field(default_factory=Judgement)

    def columns(self) -> dict[str, Any]:
        """All numbers by the names of `COLUMNS`."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "judgement"}
        return own | self.judgement.columns()


PROGRESS = ("games", "timesteps", "seconds")
"""The columns that say where a run is; TensorBoard has the others over them."""
COLUMNS = (*(name for name in CurveRow.__dataclass_fields__ if name != "judgement"), *JUDGED)
"""The columns of a curve."""


class LearningCurve:
    """A callback of `learn` that judges the agent at intervals, and can end the run once it is proven unbeatable.

    It works with every agent of this package, which calls it with itself. (For Stable-Baselines3's `learn` there is
    `ExactEvalCallback`.)

    Args:
        every: the games between two judgements, for networks the steps; or a few more, as some agents call back only
            at intervals.
        until_proven: True to end the run once the agent is unbeatable from both seats.
        start_afresh: the games after which a table that is not proven forgets everything, a multiple of `every`; 0 for
            never.
        judge: the judge; None for the exact verdict on a small game, on a large one the mistakes on known positions.
        tensorboard: a folder for TensorBoard's event files; None for no files. The tags are `charts/` and the names of
            the columns, and `charts/SPS`, environment steps per CPU-second; they are plotted over steps, or else games.
        callback: another callback to call each time, before the agent is judged.

    Attributes:
        rows: a `CurveRow` for each judgement.
        proven: True if the agent was unbeatable at the last judgement.

    Raises:
        ValueError: a number is not an integer, `every` is 0, or `start_afresh` is not a multiple of it.
        gymnasium.error.DependencyNotInstalled: `tensorboard` is given, and TensorBoard or torch is missing.

    Example:
        >>> from tictac_agents import LearningCurve, QLearning
        >>> curve = LearningCurve(every=500, until_proven=True)
        >>> _ = QLearning.preset("self-play", seed=0).learn(callback=curve)
        >>> [(row.games, row.judgement.exploitability) for row in curve.rows[::2]]
        [(500, 1.0), (1500, 0.5), (2500, 0.5), (3500, 0.0)]
    """

    def __init__(
        self,
        every: int = 1_000,
        until_proven: bool = False,
        start_afresh: int = 0,
        judge: Judge | None = None,
        tensorboard: str | os.PathLike[str] | None = None,
        callback: Callable[[Any], Any] | None = None,
    ) -> None:
        self.every = positive("every", every)
        self.until_proven = flag("until_proven", until_proven)
        self.start_afresh = whole("start_afresh", start_afresh)
        if self.start_afresh % self.every:
            raise ValueError(f"start_afresh must be a multiple of every={self.every}, not {self.start_afresh}")
        self._judge, self._callback = judge, callback
        interval = 0 if callback is None else getattr(callback, "called_every", 1)
        self.called_every = gcd(self.every, interval)  # lets a table play several games between two calls
        self.rows: list[CurveRow] = []
        self.proven = False
        self._writer: Any = None
        if tensorboard is not None:
            with needing("TensorBoard is missing", "rl"):
                from torch.utils.tensorboard import SummaryWriter
            self._writer = SummaryWriter(str(tensorboard))
        self._began = time.process_time()  # moved on by the time that judging takes
        self._before: int | None = None  # the count at the last call
        # Games, plies and time of the last row; the plies at the beginning of a run that continues are not known.
        self._last: tuple[int, int | None, float] = 0, 0, time.perf_counter()

    def __call__(self, agent: Any) -> bool:
        """Adds a row if it is due, or the run is over; False if the run is to end."""
        # The other callback sees every call. A judgement is due when the count passes a multiple of `every`, which a
        # driver that plays several games at a time need not hit.
        continues = self._callback is None or self._callback(agent) is not False
        count = _count(agent)
        if self._before is None:  # a run that continues an earlier one
            self._before = getattr(agent, "resumed_at", 0)
            self._last = self._before, None if self._before else 0, self._last[2]
        due = count // self.every > self._before // self.every
        self._before = count
        if due or not continues or getattr(agent, "is_done", False):
            self.add(agent)
            if not self.proven and self.start_afresh and count % self.start_afresh == 0:
                agent.forget()
        return continues and not (self.until_proven and self.proven)

    def add(self, agent: Any) -> CurveRow:
        """Judges an agent and adds the row."""
        # The clocks are read before the agent is judged, and continue after it: judging counts nowhere.
        cpu, now = time.process_time(), time.perf_counter()
        games_before, plies_before, then = self._last
        games, plies = _games(agent), getattr(agent, "num_plies", 0)
        new = 0 if games is None else games - games_before
        row = CurveRow(
            games=games,
            timesteps=getattr(agent, "num_timesteps", None),
            seconds=round(cpu - self._began, 6),
            games_per_second=round(new / (now - then), 1) if new and now > then else None,
            plies=round((plies - plies_before) / new, 3) if new and plies and plies_before is not None else None,
            epsilon=_epsilon(agent),
            step=getattr(agent, "step_now", None),
            judgement=self._judge_of(agent)(agent),
        )
        # What others see of it: the row, the end of the run, the progress bar, TensorBoard.
        self.rows.append(row)
        self.proven = bool(row.judgement.unbeatable)
        if row.judgement.exploitability is not None and hasattr(agent, "status"):
            agent.status = f"exploitability {row.judgement.exploitability:.4f}"
        self._log(row)
        self._began += time.process_time() - cpu
        self._last = games or 0, plies, time.perf_counter()
        return row

    def _judge_of(self, agent: Any) -> Judge:
        if self._judge is None:
            self._judge = Judge(agent.game)
        if self.until_proven and not self._judge.is_exact:
            cells = self._judge.game.cells
            raise ValueError(f"until_proven needs a game of at most {SMALL_CELLS} cells, not one of {cells}")
        return self._judge

    def save_csv(self, path: str | os.PathLike[str]) -> None:
        """Writes the rows as CSV, atomically."""
        save_text(path, csv_of(COLUMNS, [row.columns() for row in self.rows]))

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draws exploitability and the results against random play, a PNG file.

        Raises:
            ValueError: no row has a verdict.
            gymnasium.error.DependencyNotInstalled: matplotlib is missing.
        """
        rows = [row.columns() for row in self.rows]
        judged = [row for row in rows if row["exploitability"] is not None]
        if rows and not judged:
            raise ValueError(f"there is no verdict to be drawn: the game of these {len(rows)} rows is too large")
        # Two pictures over the same games: above what a best response gains, below a result for each seat.
        figure = new_figure(8, 6)
        upper, lower = figure.subplots(2, 1, sharex=True)
        unit = "timesteps" if judged and judged[0]["games"] is None else "games"
        counts = [row[unit] for row in judged]
        upper.plot(counts, [row["exploitability"] for row in judged], color="black", marker=".")
        upper.set_ylabel("exact exploitability")
        for seat, colour in zip(SEATS, ("tab:blue", "tab:orange"), strict=True):
            for result, style in (("wins", "-"), ("losses", ":")):
                shares = [100 * row[f"random_{result}_{seat}"] for row in judged]
                lower.plot(counts, shares, style, color=colour, marker=".", label=f"{result} as {seat}")
        lower.set_ylabel("% against random play")
        lower.set_xlabel(unit)
        lower.legend()
        for axis in (upper, lower):
            axis.grid(alpha=0.3)
        save_figure(figure, path)

    def _log(self, row: CurveRow) -> None:
        """Writes a row to TensorBoard, if there is a folder for it; None is left out."""
        if self._writer is None:
            return
        values: Mapping[str, Any] = {name: row.columns()[name] for name in COLUMNS if name not in PROGRESS}
        # The speed is that between two rows, so the first one has none.
        before = self.rows[-2] if len(self.rows) > 1 else None
        if row.timesteps is not None and before is not None and row.seconds > before.seconds:
            values = {**values, "SPS": (row.timesteps - (before.timesteps or 0)) / (row.seconds - before.seconds)}
        for name, value in values.items():
            if value is not None:
                self._writer.add_scalar(f"charts/{name}", float(value), row.timesteps or row.games)
        self._writer.flush()


def _games(agent: Any) -> int | None:
    """The games that an agent has learned from; None of a network."""
    games: int | None = getattr(agent, "num_episodes", getattr(agent, "num_games", None))
    return games


def _count(agent: Any) -> int:
    """The games that an agent has learned from, of a network the steps."""
    games = _games(agent)
    return int(agent.num_timesteps) if games is None else games


def _epsilon(agent: Any) -> float | None:
    """The chance of a random action of an agent that plays episodes."""
    epsilon = getattr(agent.settings, "epsilon", None) if hasattr(agent, "num_episodes") else None
    return None if epsilon is None else float(agent.scheduled(epsilon))
