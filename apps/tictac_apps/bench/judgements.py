"""The judgements of the main job: those that are kept from earlier runs or ship, and those that workers make now."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tictac_apps.bench.bench_record import PhaseSeconds
from tictac_apps.bench.cast import Contestant
from tictac_apps.bench.judging import AGENTS, Judged, PlayerJob
from tictac_apps.bench.learning import part_done
from tictac_apps.bench.records import RunStore
from tictac_apps.bench.shipped import shipped_results
from tictac_env.arena import ResultStore
from tictac_env.arena.typed_json import read_as
from tictac_env.games.registry import TITLES
from tictac_env.jobs import WorkerLost, map_jobs
from tictac_env.progress import lines_every, progress_bar

GAMES, JUDGED = "games.sqlite", "judged-runs.jsonl"
"""The games played and the judgements, in the folder of the results."""
SECONDS = 10.0
"""The time between two lines of progress where there is no terminal."""
Key = tuple[str, str]
"""A game and the name of a player."""


class PhaseClock:
    """The clock by phases. Training, judging and compiling overlap, so theirs are the seconds of all processes."""

    def __init__(self, began: float | None = None) -> None:
        self._began = time.monotonic()
        self._install = None if began is None else max(0.0, time.time() - began)
        self._spent = dict.fromkeys(("compile", "train", "judge", "play", "page"), 0.0)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        begin = time.monotonic()
        try:
            yield
        finally:
            self._spent[name] += time.monotonic() - begin

    def add(self, seconds: Mapping[str, float | None]) -> None:
        for name, spent in seconds.items():
            self._spent[name] += spent or 0.0

    def seconds(self) -> PhaseSeconds:
        total = time.monotonic() - self._began + (self._install or 0)
        spent = {name: round(seconds, 1) for name, seconds in self._spent.items()}
        return PhaseSeconds(install=self._install and round(self._install, 1), total=round(total, 1), **spent)

    def __str__(self) -> str:
        seconds = self.seconds()
        parts = ", ".join(
            f"{name} {spent:.0f}" for name, spent in vars(seconds).items() if spent is not None and name != "total"
        )
        return f"{seconds.total:.0f} s. Seconds by phase, of all processes: {parts}"


class Judgements:
    """The judgements of all players: those that are kept or ship, and those made now.

    Args:
        job: the whole job.
        clock: gets the seconds.
        shipped: False if what comes with the package does not count.
    """

    def __init__(self, job: PlayerJob, clock: PhaseClock, shipped: bool) -> None:
        self._job, self._clock = job, clock
        self._contestants = job.contestants()
        (job.output / AGENTS).mkdir(parents=True, exist_ok=True)
        self._store = store = RunStore(job.output / JUDGED)
        self._settings = {key: job.settings_of(key[0], player) for key, player in self._contestants.items()}
        self._shipped = {game: shipped_results(game) if shipped else None for game in job.players}
        if lost := [
            self._settings[key]
            for key, player in self._contestants.items()
            if player.training and self._settings[key] in store and not Path(player.source).exists()
        ]:
            store.remove(lost)
        with ResultStore(job.output / GAMES) as games:
            for results in filter(None, self._shipped.values()):
                games.add(list(results.records(job.time_limit)))

    def kept(self, key: Key) -> Judged:
        """A judgement that there is.

        Raises:
            KeyError: it is not made yet.
        """
        settings, shipped = self._settings[key], self._shipped[key[0]]
        judged = shipped and shipped.judged(settings)
        return judged or read_as(Judged, self._store[settings])

    def missing(self, keys: Iterable[Key]) -> list[Key]:
        """The players that are to be judged, first those that take longest."""

        def is_kept(key: Key) -> bool:
            shipped = self._shipped[key[0]]
            return self._settings[key] in self._store or bool(shipped and shipped.judged(self._settings[key]))

        return sorted((key for key in keys if not is_kept(key)), key=lambda key: -self._contestants[key].seconds)

    def of(self, keys: Iterable[Key]) -> Iterator[tuple[Key, Judged]]:
        """The judgements of some players, first those that there are, then the others as they are made."""
        keys = list(keys)
        todo = self.missing(keys)
        yield from ((key, self.kept(key)) for key in keys if key not in todo)
        yield from self.make(todo)

    def make(self, todo: Sequence[Key], more: float = 0.0) -> Iterator[tuple[Key, Judged]]:
        """The judgements of players that have none, as they are made.

        Args:
            todo: the players.
            more: what the whole run takes besides, about: CPU seconds, which the remaining time includes.
        """
        if not todo:
            return
        pace = Pace({key: self._contestants[key] for key in todo})
        what = "judge yours" if all(self._contestants[key].yours for key in todo) else "train and judge"

        def next_jobs() -> Iterator[Key]:
            for key in todo:
                pace.begin(key)
                yield key

        with lines_every(SECONDS), progress_bar(pace.total + more, what) as update:

            def tell() -> None:
                update(pace.done(), pace.text())

            with _each_second(tell):
                for key, judged in _each(self._job, next_jobs()):
                    self._store.add(self._settings[key], asdict(judged))
                    pace.end(key)
                    self._clock.add(vars(judged.seconds))
                    tell()
                    yield key, judged


class Pace:
    """The work of some players that is done: seconds of it as the cast estimates them (`Contestant.seconds`).

    Of a training under way the last report says how much is done; from there it is as fast as all work so far. A
    user's player counts once it is judged.

    Args:
        players: the players that are to be judged.
    """

    def __init__(self, players: Mapping[Key, Contestant]) -> None:
        self._players = players
        self._begun: dict[Key, float] = {}
        self._reports: dict[Key, tuple[float, float]] = {}
        self._ended: dict[Key, float] = {}
        self.total = sum(player.seconds for player in players.values())

    def begin(self, key: Key) -> None:
        """A player's work begins."""
        self._begun[key] = time.monotonic()

    def end(self, key: Key) -> None:
        """A player's work has ended."""
        self._ended[key] = time.monotonic() - self._begun.pop(key, time.monotonic())
        self._reports.pop(key, None)

    def done(self) -> float:
        """The work that is done, at most `total`."""
        now, reported, spent = time.monotonic(), 0.0, 0.0
        running = list(self._begun.items())
        for key, began in running:
            part = part_done(self._players[key].source)
            if part > self._reports.get(key, (0.0, 0.0))[0]:
                self._reports[key] = part, now
            if key in self._reports:
                part, when = self._reports[key]
                reported, spent = reported + part * self._players[key].seconds, spent + when - began
        reported += sum(self._players[key].seconds for key in self._ended)
        spent += sum(self._ended.values())
        speed = reported / spent if spent > 0 else _share_of_a_core()
        work = sum(self._players[key].seconds for key in self._ended)
        for key, began in running:
            if self._players[key].yours:
                continue  # nobody knows how long it takes
            part, when = self._reports.get(key, (0.0, began))
            seconds, training = self._players[key].seconds, self._players[key].training
            soon = min(0.95, part + 1 / training.points) if training else 0.95  # then the next report would be there
            work += min(part * seconds + speed * (now - when), soon * seconds)
        return work

    def text(self) -> str:
        """The number of players that are judged, and those whose work is under way."""
        names = ", ".join(f"{name} ({TITLES.get(game, game)})" for game, name in list(self._begun))
        return f"{len(self._ended)} of {len(self._players)} players; under way: {names}"


def _share_of_a_core() -> float:
    """The share of a core that a process gets at present, about."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return min(1.0, (os.cpu_count() or 1) / max(load, 1.0))


@contextlib.contextmanager
def _each_second(tell: Callable[[], None]) -> Iterator[None]:
    """Calls a function each second within the block, from a thread."""
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(1.0):
            tell()

    teller = threading.Thread(target=go_on, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def _each(job: PlayerJob, jobs: Iterator[Key]) -> Iterator[tuple[Key, Judged]]:
    """Each job with its result. A user's player that ends its worker again and again has failed."""
    of, waiting = job.contestants(), list[Key]()

    def cast_first() -> Iterator[Key]:
        for key in jobs:
            if of[key].yours:
                waiting.append(key)
            else:
                yield key

    yield from map_jobs(job.judge, cast_first(), job.workers, batch=1)
    for key in waiting:
        try:
            yield from map_jobs(job.judge, [key], 1)
        except WorkerLost:
            yield key, job.judge(key, lost=True)
