"""Everything that learns: one run with its schedules, checkpoint and interruption, and one file.

An algorithm gives its play (`_play`) and what it has learned. The drivers that play for it are in `games_learner.py`
(games of its own) and `tabular/` (environments: one board or many, interpreted or compiled).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tictac_agents.plan import preset
from tictac_agents.settings import Configured, Schedule, Settings
from tictac_env.checks import one_of, whole
from tictac_env.games import Game, describe_game, game_of
from tictac_env.policies import Policy
from tictac_env.progress import interruptible, run_bar
from tictac_env.storage import check_writable, reading, save_arrays

Arrays = dict[str, npt.NDArray[Any]]
CHECKPOINT_SECONDS = 60.0
"""The time between two saves of a run, if nothing else is said."""
NO_LIMIT = 2**62
"""More than any counter counts; sums of two are still int64."""


class Run(NamedTuple):
    """A run of a learner, measured by one of its counters, from `begin` to `end`."""

    counter: str
    begin: int
    end: int

    @property
    def length(self) -> int:
        """The length of the run, by its counter."""
        return self.end - self.begin

    def part(self, parts: int, now: int) -> int:
        """The part of the run, one of `parts` equal ones from 0 on, that the counter has reached."""
        return min((now - self.begin) * parts // self.length, parts - 1)

    def next_change(self, parts: int, now: int) -> int:
        """The counter's value when the next part begins, rounded up."""
        following = (now - self.begin) * parts // self.length + 1
        return self.begin + -(-self.length * following // parts)


class Checkpoint:
    """Saves a learner at intervals, and loses nothing if a disk is full.

    Args:
        save: writes everything to a file, atomically.
        path: the file; None to save nothing.
        seconds: the least time between two saves.

    Raises:
        OSError: the file cannot be written; this is checked before the run begins.
    """

    def __init__(
        self, save: Callable[[Path], None], path: str | os.PathLike[str] | None, seconds: float = CHECKPOINT_SECONDS
    ) -> None:
        self._save, self._path, self._seconds = save, None if path is None else Path(path), seconds
        if self._path is not None:
            check_writable(self._path)
        self._due = time.monotonic() + seconds

    @property
    def due(self) -> bool:
        """True if it is time to save."""
        return self._path is not None and time.monotonic() >= self._due

    def save_if_due(self) -> None:
        """Saves if it is time to. A failure is reported, and the next save is tried later."""
        if self._path is None or not self.due:
            return
        try:
            self._save(self._path)
        except OSError as error:
            print(f"not saved, will try again in {self._seconds:g} s: {error}", file=sys.stderr)
        self._due = time.monotonic() + self._seconds

    def save_at_the_end(self) -> None:
        """Saves the learner; if the file cannot be written, to the system's folder for temporary files.

        Raises:
            OSError: the file cannot be written; the message names the temporary file.
        """
        if self._path is None:
            return
        try:
            self._save(self._path)
        except OSError as error:
            # The disk may be full, or the folder gone: what took hours to learn goes to another place.
            try:
                rescued = Path(tempfile.mkdtemp(prefix="tictac-")) / self._path.name
                self._save(rescued)
            except OSError:
                raise error from None
            raise OSError(f"{error}; the learner is saved in {rescued} instead") from error


class BaseLearner(Configured, Policy):
    """An agent that learns in runs.

    Attributes:
        game: the rules.
        settings: the arguments of the constructor, except for the game or the environment.
        num_timesteps, num_episodes or num_games: the amounts that it has learned from, one for each of `COUNTERS`.
        status: a callback's message for the progress bar.
        resumed_at: the number of games learned from when `learn` or `resume` was last called.
        stopped_by: "callback" or "Ctrl-C" if that ended the last run, "" if it reached its length.
    """

    SETTINGS: ClassVar[type[Settings]]
    COUNTERS: ClassVar[tuple[str, ...]] = ("games",)
    """The names of the counters; the last one counts games."""
    MOST: ClassVar[int] = NO_LIMIT
    """The most that a counter can count."""
    game: Game
    settings: Settings

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.name = type(self).__name__
        self.status = ""
        self.resumed_at = 0
        self.stopped_by = ""
        for counter in self.COUNTERS:
            setattr(self, f"num_{counter}", 0)
        self._run: Run | None = None
        self._total: int | None = None  # of the preset it was made from

    @classmethod
    def preset(cls, name: str, seed: int | None = None, **changes: Any) -> Self:
        """A learner with the settings of a preset.

        Args:
            name: the preset's.
            seed: makes the run reproducible.
            changes: settings to change.

        Raises:
            ValueError: there is no such preset, or a changed setting is out of its range.
        """
        plan = preset(cls.__name__, name).changed(seed=seed, **changes)
        learner: Self = plan.new_agent()
        learner._total = plan.length
        return learner

    # Methods that a driver or an algorithm defines.

    @abstractmethod
    def _play(self, games: int) -> Iterator[None]:
        """Plays and learns until at least one game is over, or nothing is left to do for now.

        Args:
            games: the most games that may end before the callback has to be called.

        Yields:
            After each game, or after several if `games` allows; they are counted then.
        """

    @abstractmethod
    def _state(self) -> tuple[dict[str, Any], Arrays]:
        """The content of its file besides settings, counters and run: values for JSON, and arrays."""

    @abstractmethod
    def _set_state(self, meta: dict[str, Any], arrays: Arrays) -> None:
        """Restores what `_state` gave.

        Raises:
            KeyError, TypeError, ValueError: something is missing, or of a wrong type, shape or range.
        """

    @abstractmethod
    def _most_bytes(self, meta: dict[str, Any]) -> int:
        """The most bytes that the arrays of a file of this meta data may have."""

    @contextmanager
    def _prepared(self) -> Generator[None]:
        """Prepares the run, and releases at its end what was prepared."""
        yield

    def _abandon_games(self) -> None:
        """Drops games that are unfinished between two calls of `_play`."""

    def _progress_text(self) -> str:
        """A text for the progress bar."""
        return self.status

    # The run.

    @property
    def run_end(self) -> int | None:
        """The number of games learned from when the run is over; None if no run counts games."""
        return self._run.end if self._run is not None and self._run.counter == self.COUNTERS[-1] else None

    @property
    def is_done(self) -> bool:
        """True if it has learned from all of its run."""
        return self._run is None or self._counted() >= self._run.end

    def scheduled(self, schedule: Schedule) -> float:
        """The value of a schedule now: a number itself; of several, the value for the part of the run reached."""
        if not isinstance(schedule, Sequence):
            return schedule
        return schedule[-1 if self._run is None else self._run.part(len(schedule), self._counted())]

    def _begin_run(self, counter: str, total: int) -> None:
        begin: int = getattr(self, f"num_{counter}")
        self._run = Run(counter, begin, begin + total)
        self._abandon_games()

    def _counted(self) -> int:
        return 0 if self._run is None else int(getattr(self, f"num_{self._run.counter}"))

    @property
    def _games_learned(self) -> int:
        return int(getattr(self, f"num_{self.COUNTERS[-1]}"))

    def _progress(self) -> tuple[int, int, str]:
        """The state of the progress bar."""
        return self._counted() - (self._run.begin if self._run else 0), self._games_learned, self._progress_text()

    def resume(
        self,
        callback: Callable[[Any], Any] | None = None,
        progress_bar: bool = True,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = CHECKPOINT_SECONDS,
    ) -> Self:
        """Continues a run that was stopped, here or in the file that was loaded, to its end; arguments as of `learn`.

        The result equals that of an unbroken run, to the last bit.

        Raises:
            ValueError: there is no such run, or it began in an environment of other settings.
        """
        if self._run is None:
            raise ValueError("there is no run to continue; call learn()")
        run, self.resumed_at, self.stopped_by = self._run, self._games_learned, ""
        # A callback can say that it need not see every game; up to the next one that it has to, a driver plays many at
        # a time.
        every: int = getattr(callback, "called_every", 1 if callback is not None else NO_LIMIT)
        saver = Checkpoint(self.save, checkpoint, checkpoint_seconds)
        # False while a driver plays: after an exception there the state belongs to no point of the run: not saved.
        consistent = True
        try:
            bar = run_bar(str(self), run.length, progress_bar, "games", self._progress)
            with interruptible() as stop_requested, bar as show, self._prepared():
                while not self.is_done:
                    consistent, continues = False, True
                    for _ in self._play(1 if saver.due else every - self._games_learned % every):
                        continues &= callback is None or callback(self) is not False
                    consistent = True  # what the callback did to the learner is part of the run
                    # Between two games: everything that looks at the learner, or stops it, comes here.
                    show()
                    saver.save_if_due()
                    if not continues:
                        self.stopped_by = "callback"
                        break
                    if stop_requested():
                        self.stopped_by = "Ctrl-C"
                        games = f"{self._games_learned:,} {self.COUNTERS[-1]}"
                        print(f"stopped after {games}; nothing is lost", file=sys.stderr)
                        break
        finally:
            if consistent:
                saver.save_at_the_end()
            else:
                self._abandon_games()  # after an exception they are inconsistent
        return self

    # The file.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything, the state of a run included, to an .npz file (see `tictac_env.storage`)."""
        meta, arrays = self._state()
        about = {"game": describe_game(self.game), "settings": self.settings.to_dict(), "run": self._run}
        counts = {f"num_{counter}": getattr(self, f"num_{counter}") for counter in self.COUNTERS}
        save_arrays(path, self._kind(), about | counts | meta, arrays)

    @classmethod
    def _load(
        cls, path: str | os.PathLike[str], place: Callable[[Game, dict[str, Any]], Any], **unrecorded: Any
    ) -> Self:
        """The learner that was saved.

        Args:
            path: the file.
            place: the game or the environment to learn on, of the game and the meta data of the file.
            unrecorded: settings that are not in files.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged, holds another kind of learner, or its game is not that of the environment.
        """
        learner: Self

        # The meta data are read first. An untrained learner of these settings says how large the arrays can be, so a
        # file that claims more is refused before they are read.
        def most_bytes(meta: dict[str, Any]) -> int:
            nonlocal learner
            game = game_of(meta["game"])
            settings = cls.SETTINGS.from_dict(meta["settings"] | unrecorded)
            constructor: Any = cls
            learner = constructor(place(game, meta), **settings.keywords())
            if learner.game != game:
                raise ValueError(f"it was trained on {meta['game']}, not on the game of the environment")
            return learner._most_bytes(meta)

        with reading(path, cls._kind(), f"checkpoint of {cls.__name__}", most_bytes) as (meta, arrays):
            # Counters, the run and the algorithm's own state, each checked: a file may have been changed.
            for counter in cls.COUNTERS:
                setattr(learner, f"num_{counter}", whole(f"num_{counter}", meta[f"num_{counter}"], cls.MOST))
            if meta["run"] is not None:
                counter, begin, end = meta["run"]
                begin, end = (whole(name, value, cls.MOST) for name, value in (("begin", begin), ("end", end)))
                learner._run = Run(
                    one_of("counter", counter, cls.COUNTERS), begin, whole("length", end - begin) + begin
                )
            learner._set_state(meta, arrays)
        return learner

    @classmethod
    def _kind(cls) -> str:
        return f"tictac_agents.{cls.__name__}"


def as_shaped(name: str, array: npt.NDArray[Any], like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`array`, if it has the type and shape of `like`.

    Raises:
        ValueError: it does not.
    """
    if array.dtype != like.dtype or array.shape != like.shape:
        raise ValueError(f"{name} must be {like.dtype} {like.shape}, not {array.dtype} {array.shape}")
    return array


def as_numbers(
    name: str, array: npt.NDArray[Any], like: npt.NDArray[Any], low: float = -np.inf, high: float = np.inf
) -> npt.NDArray[Any]:
    """`array`, if it has the type and shape of `like` and holds finite numbers in [low, high].

    Raises:
        ValueError: it does not.
    """
    as_shaped(name, array, like)
    wrong = array[~(np.isfinite(array) & (array >= low) & (array <= high))]
    if wrong.size:
        raise ValueError(f"{name} must be finite numbers in [{low:g}, {high:g}], and it holds {wrong[0]}")
    return array
