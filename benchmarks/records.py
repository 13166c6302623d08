"""Records of benchmarks: runs that are kept as they end, tables with the machine they were taken on, and curves.

- `RunStore`: runs in one file, a line of JSON each; a stopped program continues from it.
- `save`, `show`: the tables of a benchmark, as JSON and on the terminal.
- `Study`: learners over seeds, their runs, tables and curves.
"""

from __future__ import annotations

import argparse
import functools
import io
import json
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from rich.console import Console
from rich.table import Table

from tictac_env.cli.arguments import add_workers, chosen_workers
from tictac_env.jobs import Workers, map_jobs
from tictac_env.progress import progress_bar
from tictac_env.storage import save_text, writing

RESULTS = Path(__file__).parent / "results"
DATA = Path(__file__).parents[2] / "shared" / "data"
"""Public sets of positions, if they are on this machine."""
PACKAGES = (
    *("tictac-env", "numpy", "gymnasium", "pettingzoo", "numba", "stable-baselines3", "sb3-contrib", "torch"),
    *("open_spiel", "pgx", "jax", "envpool"),
)
VECTORS = re.compile("amx|avx|fma|s*se")
COLOURS = 64
"""Of a picture's palette."""

Row = Mapping[str, Any]
Settings = Mapping[str, Any]
Results = Mapping[str, Any]
Points = Sequence[tuple[float, float]]


class RunStore:
    """The runs of one file, which one process at a time may write.

    A run is known by all its settings: another setting is another run, and the old one stays in the file. A run is on
    the disk before `add` returns. A line that was cut off while it was written counts as not written.

    Args:
        path: the file; it is made when the first run is added.

    Raises:
        ValueError: a line of the file is no run; the message names it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._runs: dict[str, dict[str, Any]] = {}
        content = self.path.read_bytes() if self.path.exists() else b""
        for number, line in enumerate(whole_lines(content).splitlines(), 1):
            try:
                run = json.loads(line)
                self._runs[key_of(run["settings"])] = {"settings": run["settings"], "results": run["results"]}
            except (ValueError, KeyError, TypeError):
                raise ValueError(f"line {number} of {self.path} is no run: {line[:80]!r}") from None

    def __len__(self) -> int:
        return len(self._runs)

    def __contains__(self, settings: Settings) -> bool:
        return key_of(settings) in self._runs

    def __getitem__(self, settings: Settings) -> dict[str, Any]:
        """The results of the run with these settings.

        Raises:
            KeyError: there is no such run.
        """
        results: dict[str, Any] = self._runs[key_of(settings)]["results"]
        return results

    def __iter__(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Settings and results of all runs, in the order in which they were first added."""
        return ((run["settings"], run["results"]) for run in self._runs.values())

    def missing(self, jobs: Iterable[Settings]) -> list[Settings]:
        """The settings that have no run yet."""
        return [settings for settings in jobs if settings not in self]

    def add(self, settings: Settings, results: Results) -> None:
        """Keeps a run; replaces one with the same settings."""
        line = compact({"settings": settings, "results": results})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read() != b"\n":
                    file.truncate(len(whole_lines(self.path.read_bytes())))
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._runs[key_of(settings)] = json.loads(line)

    def remove(self, jobs: Iterable[Settings]) -> None:
        """Removes the runs with these settings."""
        for settings in jobs:
            self._runs.pop(key_of(settings), None)
        save_text(self.path, "".join(compact(run) + "\n" for run in self._runs.values()))

    def complete(
        self,
        jobs: Iterable[Settings],
        work: Callable[[Settings], Results],
        workers: Workers = 1,
        what: str = "runs",
        tell: Callable[[Settings, Results], None] | None = None,
    ) -> None:
        """Makes the missing runs, and keeps their results as they come.

        Args:
            jobs: the settings of all wanted runs.
            work: makes a run. Other processes call it, so it must be picklable.
            workers: the number of processes, or a cluster (see `map_jobs`).
            what: names the runs on the progress bar.
            tell: called with each run as it is kept.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed. Finished runs are kept, and so are those then in progress, unless it
                was pressed twice.
        """
        todo = self.missing(jobs)
        with progress_bar(len(todo), what) as update:
            for done, (settings, results) in enumerate(map_jobs(work, todo, workers), 1):
                self.add(settings, results)
                if tell is not None:
                    tell(settings, results)
                update(done, ", ".join(map(str, settings.values()))[:60])


def whole_lines(content: bytes) -> bytes:
    """The content of a file without a last line that was not written to its end."""
    return content[: content.rfind(b"\n") + 1]


def key_of(settings: Settings) -> str:
    """The JSON of settings, by which runs are told apart; the order of names does not matter."""
    return json.dumps(settings, sort_keys=True)


def compact(value: Any) -> str:
    """A value as JSON on one line, without blanks."""
    return json.dumps(value, separators=(",", ":"), default=str)


def positive(text: str) -> int:
    """A command-line argument that must be a positive integer."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not positive")
    return number


def add_output(parser: argparse.ArgumentParser, folder: Path = RESULTS) -> None:
    """Adds `--output`."""
    parser.add_argument("--output", type=Path, default=folder, help="folder for the results (default: %(default)s)")


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """A parser whose help is a script's docstring."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


def machine() -> dict[str, Any]:
    """The machine, Python and the packages, on which figures depend."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": _processor("model name") or platform.processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {package: number for package in PACKAGES if (number := version_of(package))},
    }


def version_of(package: str) -> str | None:
    """The version of an installed package, None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def processor_features() -> str:
    """The maker, family and model of the processor and its vector instructions, which decide the order of sums.

    Processors of one name may differ in them, and then a network's weights differ too.
    """
    vectors = (flag for flag in _processor("flags").split() if VECTORS.match(flag))
    return " ".join([*map(_processor, ("vendor_id", "cpu family", "model")), *sorted(vectors)])


def _processor(key: str) -> str:
    """An entry of the first processor in /proc/cpuinfo; empty if it is missing."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.split(":")[0].strip() == key), "")


def show(title: str, rows: Sequence[Row]) -> None:
    """Prints rows as a table, numbers to the right."""
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        number = all(isinstance(row[name], (int, float)) for row in rows)
        table.add_column(name, justify="right" if number else "left")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def save(name: str, settings: Settings, tables: Mapping[str, Sequence[Row]], folder: Path = RESULTS) -> None:
    """Writes `<name>.json`: the settings, the machine, and the tables, a row a line."""
    save_text(folder / f"{name}.json", as_json({"settings": settings, "machine": machine(), "tables": tables}))


def as_json(content: Mapping[str, Any]) -> str:
    """JSON with an entry of each list on a line of its own, down to four levels, so that changes are readable."""

    def lines(value: Any, depth: int) -> str:
        inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
        if depth == 4 or not any(isinstance(one, (Mapping, list, tuple)) for one in inside):
            return json.dumps(value, default=str)
        if isinstance(value, Mapping):
            parts = [f"{json.dumps(key)}: {lines(one, depth + 1)}" for key, one in value.items()]
        else:
            parts = [lines(one, depth + 1) for one in value]
        begin, end = "{}" if isinstance(value, Mapping) else "[]"
        return begin + "\n" + ",\n".join(parts) + "\n" + end

    return lines(content, 0) + "\n"


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


def half_width(values: Sequence[float], confidence: float = 0.95) -> float:
    """Half the width of the interval of a mean over seeds, by Student's t; 0 for one value."""
    from scipy.stats import t

    if len(values) < 2:
        return 0.0
    return float(t.ppf((1 + confidence) / 2, len(values) - 1)) * stdev(values) / sqrt(len(values))


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


class Study:
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
    about: Settings

    def settings_of(self, name: str, seed: int) -> Settings:
        """All that decides a run of a row."""
        raise NotImplementedError

    def run(self, settings: Settings, data: Path, models: Path) -> Results:
        """Trains and judges one learner, on the sets in the folder `data` too; saves it in the folder `models`."""
        raise NotImplementedError

    def tables(self, runs: Sequence[Results]) -> dict[str, list[dict[str, Any]]]:
        """A row for each run, and `summary`."""
        raise NotImplementedError

    def panels(self, runs: Sequence[Results]) -> list[Panel]:
        """The charts."""
        raise NotImplementedError

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
