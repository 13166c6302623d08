"""Runs that are kept: each is the settings it was made with and its results, a line of JSON in one file.

A run is known by all its settings. Whoever changes one asks for another run, and the old one stays in the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tictac_env.jobs import Workers, map_jobs
from tictac_env.progress import progress_bar
from tictac_env.storage import save_text

Settings = Mapping[str, Any]
Results = Mapping[str, Any]


class RunStore:
    """The runs of one file, which one process at a time may write.

    A run is on the disk before `add` returns, so whatever stops the program takes none away. A line that was cut off
    while it was written counts as not written.

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
            KeyError: there is none.
        """
        results: dict[str, Any] = self._runs[key_of(settings)]["results"]
        return results

    def __iter__(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """All runs, settings and results, in the order in which they were first added."""
        return ((run["settings"], run["results"]) for run in self._runs.values())

    def missing(self, jobs: Iterable[Settings]) -> list[Settings]:
        """Those of some settings that there is no run of."""
        return [settings for settings in jobs if settings not in self]

    def add(self, settings: Settings, results: Results) -> None:
        """Keeps a run, in the place of one with the same settings."""
        line = json.dumps({"settings": settings, "results": results})
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
        """Forgets the runs with these settings."""
        for settings in jobs:
            self._runs.pop(key_of(settings), None)
        save_text(self.path, "".join(json.dumps(run) + "\n" for run in self._runs.values()))

    def complete(
        self,
        jobs: Iterable[Settings],
        work: Callable[[Settings], Results],
        workers: Workers = 1,
        what: str = "runs",
        tell: Callable[[Settings, Results], None] | None = None,
    ) -> None:
        """Does those jobs that are missing, each described by its settings, and keeps their results as they come.

        Args:
            jobs: the settings of all runs that are wanted.
            work: does a job. It is called in other processes, so it must be a function of a module, or a partial one.
            workers: how many processes, or a cluster (see `map_jobs`).
            what: names the runs on the progress bar.
            tell: called with each run as it is kept.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed; what was done by then is kept, and so are the jobs then under way,
                unless it was pressed twice.
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
    """What tells settings apart: their JSON, whatever the order of the names, tuples like lists."""
    return json.dumps(settings, sort_keys=True)
