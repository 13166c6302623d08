"""Records of benchmarks: runs that are kept as they end, and tables with the machine they were taken on.

- `RunStore`: runs in one file, a line of JSON each; a stopped program continues from it.
- `machine`, `record_json`, `show`: what a record says of the machine, and tables as JSON and on the terminal.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from tictac_env.jobs import Workers, map_jobs
from tictac_env.progress import progress_bar
from tictac_env.storage import read_json, save_text

PACKAGES = (
    *("tictac-env", "numpy", "gymnasium", "pettingzoo", "numba", "stable-baselines3", "sb3-contrib", "torch"),
    *("open_spiel", "pgx", "jax", "envpool"),
)
VECTORS = re.compile("amx|avx|fma|s*se")

Row = Mapping[str, Any]
RunSettings = Mapping[str, Any]
Results = Mapping[str, Any]


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
                run = read_json(line)
                self._runs[key_of(run["settings"])] = {"settings": run["settings"], "results": run["results"]}
            except (ValueError, KeyError, TypeError):
                raise ValueError(f"line {number} of {self.path} is no run: {line[:80]!r}") from None

    def __len__(self) -> int:
        return len(self._runs)

    def __contains__(self, settings: RunSettings) -> bool:
        return key_of(settings) in self._runs

    def __getitem__(self, settings: RunSettings) -> dict[str, Any]:
        """The results of the run with these settings.

        Raises:
            KeyError: there is no such run.
        """
        results: dict[str, Any] = self._runs[key_of(settings)]["results"]
        return results

    def __iter__(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Settings and results of all runs, in the order in which they were first added."""
        return ((run["settings"], run["results"]) for run in self._runs.values())

    def missing(self, jobs: Iterable[RunSettings]) -> list[RunSettings]:
        """The settings that have no run yet."""
        return [settings for settings in jobs if settings not in self]

    def add(self, settings: RunSettings, results: Results) -> None:
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

    def remove(self, jobs: Iterable[RunSettings]) -> None:
        """Removes the runs with these settings."""
        for settings in jobs:
            self._runs.pop(key_of(settings), None)
        save_text(self.path, "".join(compact(run) + "\n" for run in self._runs.values()))

    def complete(
        self,
        jobs: Iterable[RunSettings],
        work: Callable[[RunSettings], Results],
        workers: Workers = 1,
        what: str = "runs",
        tell: Callable[[RunSettings, Results], None] | None = None,
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


def key_of(settings: RunSettings) -> str:
    """The JSON of settings, by which runs are told apart; the order of names does not matter."""
    return json.dumps(settings, sort_keys=True)


def compact(value: Any) -> str:
    """A value as JSON on one line, without blanks."""
    return json.dumps(value, separators=(",", ":"), default=str)


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


def show(title: str, rows: Sequence[Row], least: int = 0) -> None:
    """Prints rows as a table, numbers to the right.

    Args:
        title: of the table.
        rows: with the same keys, the heads of the columns.
        least: the number of columns that are printed in any case, 0 for all; the others only if they all fit.
    """
    console = Console(width=None if sys.stdout.isatty() else 160)
    table = _table(title, rows, list(rows[0]))
    unlimited = console.options.update(max_width=10_000)
    if least and Measurement.get(console, unlimited, table).maximum > console.width:
        table = _table(title, rows, list(rows[0])[:least])
    console.print(table)


def _table(title: str, rows: Sequence[Row], names: list[str]) -> Table:
    table = Table(title=title, title_justify="left")
    for name in names:
        number = all(isinstance(row[name], (int, float)) for row in rows)
        table.add_column(name, justify="right" if number else "left")
    for row in rows:
        table.add_row(*(_cell(row[name]) for name in names))
    return table


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def record_json(content: Mapping[str, Any]) -> str:
    """JSON with an entry of each list on a line of its own, down to four levels, so that changes are readable."""

    def lines(value: Any, depth: int) -> str:
        inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
        if depth == 4 or not any(isinstance(part, (Mapping, list, tuple)) for part in inside):
            return json.dumps(value, default=str)
        if isinstance(value, Mapping):
            parts = [f"{json.dumps(key)}: {lines(part, depth + 1)}" for key, part in value.items()]
        else:
            parts = [lines(part, depth + 1) for part in value]
        begin, end = "{}" if isinstance(value, Mapping) else "[]"
        return begin + "\n" + ",\n".join(parts) + "\n" + end

    return lines(content, 0) + "\n"
