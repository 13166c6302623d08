"""Records of benchmarks: tables with the machine they were taken on, and curves.

- `save`: the tables of a benchmark, as JSON.
- `Study`: learners over seeds, their runs, tables and curves.
"""

from __future__ import annotations

import argparse
import functools
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from tictac_apps.bench.records import Results, Row, RunSettings, RunStore, machine, record_json, show
from tictac_apps.cli.arguments import add_workers, chosen_workers
from tictac_env.arena import move_accuracy
from tictac_env.storage import save_text, writing

RESULTS = Path(__file__).parent / "results"
DATA = Path(__file__).parents[2] / "shared" / "data"
"""Public sets of positions, if they are on this machine."""
COLOURS = 64
"""Of a picture's palette."""

Points = Sequence[tuple[float, float]]


def positive(text: str) -> int:
    """A command-line argument that must be a positive integer."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not positive")
    return number


def add_output(parser: argparse.ArgumentParser) -> None:
    """Adds `--output`."""
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """A parser whose help is a script's docstring."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


def sets_in(data: Path, *names: str) -> dict[str, Path]:
    """The files of public sets of positions of Connect Four by their names, those that are in the folder `data`."""
    files = {name: data / f"connect_four_{name}.csv" for name in names}
    return {name: path for name, path in files.items() if path.exists()}


def mistakes(player: Any, positions: Any, digits: int = 2) -> float:
    """The share of a player's moves that are mistakes, in per cent; arguments as of `move_accuracy`."""
    return round(100 * move_accuracy(player, positions, progress=False).overall.mistakes.value, digits)


def mistakes_by_phase(player: Any, suite: str) -> dict[str, float]:
    """The mistakes on a suite, in per cent: all, by the suite's name, and those of each phase."""
    found = move_accuracy(player, suite, progress=False)
    return {name: round(100 * one.mistakes.value, 2) for name, one in {suite: found.overall, **found.by_phase}.items()}


def save(name: str, settings: RunSettings, tables: Mapping[str, Sequence[Row]], folder: Path = RESULTS) -> None:
    """Writes `<name>.json`: the settings, the machine, and the tables, a row a line."""
    save_text(folder / f"{name}.json", record_json({"settings": settings, "machine": machine(), "tables": tables}))


def save_picture(figure: Any, path: Path) -> None:
    """Writes a figure of Matplotlib's as a PNG file with a palette, a third as large as one without."""
    from PIL import Image  # Matplotlib needs it, too

    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=100)
    with writing(path) as file:
        Image.open(picture).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)


@dataclass(frozen=True)
class Panel:
    """A chart next to others.

    Attributes:
        title: of the chart.
        ylabel: what is drawn against CPU seconds.
        curves: for each learner a curve for each seed.
        means: if true, their mean is drawn with its interval; the seeds then need equally many points.
    """

    title: str
    ylabel: str
    curves: Mapping[str, Sequence[Points]]
    means: bool = True


def half_width(values: Sequence[float]) -> float:
    """Half the width of the 95 % interval of a mean over seeds, by Student's t; 0 for one value."""
    from scipy.stats import t

    if len(values) < 2:
        return 0.0
    return float(t.ppf(0.975, len(values) - 1)) * stdev(values) / sqrt(len(values))


def draw(panels: Sequence[Panel], path: Path) -> None:
    """Writes the panels to a PNG file: each seed thin, the mean thick with its interval."""
    from tictac_agents.curves import new_figure

    figure = new_figure(4 * len(panels), 3)
    axes = figure.subplots(1, len(panels), sharey=len({panel.ylabel for panel in panels}) == 1, squeeze=False)[0]
    for axis, panel in zip(axes, panels, strict=True):
        for number, (who, curves) in enumerate(panel.curves.items()):
            for curve in curves:
                style = {"color": f"C{number}", "linewidth": 0.6} if panel.means else {"drawstyle": "steps-post"}
                axis.plot(*zip(*curve, strict=True), **style)
            if panel.means:
                points = list(zip(*curves, strict=True))
                seconds = [mean(second for second, _ in found) for found in points]
                values = [[value for _, value in found] for found in points]
                middle, half = [mean(found) for found in values], [half_width(found) for found in values]
                low, high = ([m + sign * h for m, h in zip(middle, half, strict=True)] for sign in (-1, 1))
                axis.plot(seconds, middle, color=f"C{number}", linewidth=2, label=who)
                axis.fill_between(seconds, low, high, color=f"C{number}", alpha=0.2, linewidth=0)
        axis.set(title=panel.title, xlabel="CPU seconds")
        if axis is axes[0] or panel.ylabel != panels[0].ylabel:
            axis.set_ylabel(panel.ylabel)
        if panel.means:
            axis.set_ylim(bottom=0)
            axis.legend()
    save_picture(figure, path)


class Clock:
    """The seconds of a run, by the clock or of CPU time, without what judging takes."""

    def __init__(self, now: Callable[[], float], already: float = 0) -> None:
        self._now, self._began = now, now() - already

    def __call__(self) -> float:
        return self._now() - self._began

    def judging(self, judge: Callable[[], Row]) -> Row:
        """Calls `judge` while the clock stands, and returns what it found."""
        began = self._now()
        found = judge()
        self._began += self._now() - began
        return found


class Study(ABC):
    """A benchmark of learners over seeds. Subclasses say what a run is, and what tables and curves show.

    Attributes:
        name: of its files.
        game: the game's name.
        title: of its table.
        rows: the learners, and the number of seeds of each.
        about: settings of the record.
    """

    name: str
    game: str
    title: str
    rows: Mapping[str, int]
    about: RunSettings

    @abstractmethod
    def settings_of(self, name: str, seed: int) -> RunSettings:
        """All that decides a run of a row."""

    @abstractmethod
    def run(self, settings: RunSettings, data: Path, models: Path) -> Results:
        """Trains and judges one learner, on the sets in the folder `data` too; saves it in the folder `models`."""

    @abstractmethod
    def tables(self, runs: Sequence[Results]) -> dict[str, list[dict[str, Any]]]:
        """A row for each run, and `summary`."""

    @abstractmethod
    def panels(self, runs: Sequence[Results]) -> list[Panel]:
        """The charts."""

    def complete(self, options: argparse.Namespace) -> None:
        """Makes the missing runs of some rows, then writes and prints the tables, and draws the curves."""
        names = options.rows or list(self.rows)
        jobs = [self.settings_of(name, seed) for name in names for seed in range(options.seeds or self.rows[name])]
        store = RunStore(options.output / f"{self.name}-runs.jsonl")
        if options.fresh:
            store.remove(jobs)
        run = functools.partial(self.run, data=options.data, models=options.models)
        store.complete(jobs, run, chosen_workers(options))
        runs = self.runs_in(store)
        tables = self.tables(runs)
        save(self.name, {"game": self.game, **self.about}, tables, options.output)
        show(f"{self.title} on {self.game}", tables["summary"])
        if panels := self.panels(runs):
            draw(panels, options.output / f"{self.name}.png")

    def runs_in(self, store: RunStore) -> list[dict[str, Any]]:
        """The runs of the rows as they are now, in their order."""
        found = [
            {"agent": settings["agent"], "seed": settings["seed"], **results}
            for settings, results in store
            if settings["agent"] in self.rows and settings == self.settings_of(settings["agent"], settings["seed"])
        ]
        return sorted(found, key=lambda run: (list(self.rows).index(run["agent"]), run["seed"]))


def add_study(parser: argparse.ArgumentParser, *studies: Study) -> None:
    """Adds the options that `Study.complete` reads."""
    rows = "; ".join(f"{', '.join(study.rows)} ({study.game})" for study in studies)
    seeds = ", ".join(f"{max(study.rows.values())} ({study.game})" for study in studies)
    parser.add_argument("rows", nargs="*", default=[], metavar="ROW", help=f"some of {rows}")
    parser.add_argument("--seeds", type=positive, help=f"runs of each row (default: {seeds})")
    add_workers(parser)
    parser.add_argument("--fresh", action="store_true", help="repeat finished runs")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of sets to judge on (default: %(default)s)")
    parser.add_argument(
        "--models", type=Path, default=Path("models"), help="folder to save them in (default: %(default)s)"
    )
    add_output(parser)
