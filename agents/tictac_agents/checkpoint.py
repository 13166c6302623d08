"""Base class of agents that learn from games of their own: the run, its checkpoints, presets, and the file."""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tictac_env.checks import one_of, positive, whole
from tictac_env.games import Game, describe_game, game_of
from tictac_env.policies import Policy
from tictac_env.position import Position
from tictac_env.progress import interruptible
from tictac_env.progress import progress_bar as new_bar
from tictac_env.storage import check_writable, reading, save_arrays


class Checkpoint:
    """Saves a learner now and then, and loses nothing if a disk is full.

    Args:
        save: writes everything to a file, atomically.
        path: the file; None to save nothing.
        seconds: the least time between two saves.

    Raises:
        OSError: the file cannot be written, which is tried before anything is learned.
    """

    def __init__(
        self, save: Callable[[Path], None], path: str | os.PathLike[str] | None, seconds: float = 60.0
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
        """Saves; if the file cannot be written, in the system's folder for temporary files.

        Raises:
            OSError: the file cannot be written; the message names the temporary file.
        """
        if self._path is None:
            return
        try:
            self._save(self._path)
        except OSError as error:
            try:
                kept = Path(tempfile.mkdtemp(prefix="tictac-")) / self._path.name
                self._save(kept)
            except OSError:
                raise error from None
            raise OSError(f"{error}; what is learned is in {kept} instead") from error


MAX_GAMES = 1 << 24
"""Sums in float32 are exact up to here, with a draw a multiple of 1/2."""


SPARE = 4
"""A file has at most SPARE times the bytes of an untrained agent: for each weight also its average, or two moments."""

Arrays = dict[str, npt.NDArray[Any]]


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


class GamesLearner(Policy):
    """An agent that learns from games it plays by itself, some at a time.

    Attributes:
        game: the rule book.
        num_games: the games it has learned from, at most 16,777,216.
    """

    MAX_GAMES: ClassVar[int] = MAX_GAMES
    """The most games it can count."""
    RUN: ClassVar[int] = 3_000
    """How many games a run from the command line has if nothing says how many."""
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Arguments of the constructor, published or ours."""
    TUNED: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """For some games other settings than the constructor's, `total_games` among them, which the command line takes."""
    game: Game
    num_games: int = 0
    _begun: int = 0  # `num_games` at the beginning of the run, and at its end
    _goal: int = 0

    @classmethod
    def preset(cls, name: str, seed: int | None = None, **changes: Any) -> Self:
        """A learner with the settings of `PRESETS[name]`, with `changes`.

        Raises:
            ValueError: there is no such preset, or a changed setting is out of its range.
        """
        made: Any = cls
        learner: Self = made(**{**cls.PRESETS[one_of("preset", name, tuple(cls.PRESETS))], **changes}, seed=seed)
        return learner

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of the constructor, except the game, the device and the workers."""
        names = inspect.signature(type(self)).parameters
        return {name: getattr(self, name) for name in names if name not in ("game", "device", "workers")}

    @property
    def run_games(self) -> int:
        """How many games a run has if nothing says how many."""
        return self.RUN

    @property
    def run_end(self) -> int:
        """How many games it will have learned from when its run is over."""
        return self._goal

    @property
    def is_done(self) -> bool:
        """True if it has learned from all games of its run."""
        return self.num_games >= self._goal

    @abstractmethod
    def _learn_some(self, most: int) -> int:
        """Learns from some games, at most `most`, and returns their number."""

    def _begin(self, games: int) -> None:
        """Prepares to learn from N games."""

    def _end(self) -> None:
        """Lets go of what `_begin` prepared."""

    def _state_in_words(self) -> str:
        return ""

    def _check_game(self, position: Position) -> None:
        if position.game != self.game:
            raise ValueError(f"{self} has learned {describe_game(self.game)}, and nothing of {position!r}")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything to an .npz file (see `tictac_env.storage`)."""
        meta, arrays = self._learned()
        run = {"num_games": self.num_games, "goal": self._goal}
        meta = {"game": describe_game(self.game), "settings": self.settings, **run, **meta}
        save_arrays(path, f"tictac_agents.{type(self).__name__}", meta, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The learner that was saved.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged, or holds something else.
        """
        return cls._load(path)

    @classmethod
    def _load(cls, path: str | os.PathLike[str], **keywords: Any) -> Self:
        loaded: Self

        def most_bytes(meta: dict[str, Any]) -> int:
            nonlocal loaded
            made: Any = cls
            loaded = made(game_of(meta["game"]), **meta["settings"], **keywords)
            return SPARE * sum(array.nbytes for array in loaded._learned()[1].values()) + loaded._most_growth()

        kind, what = f"tictac_agents.{cls.__name__}", f"checkpoint of {cls.__name__}"
        with reading(path, kind, what, most_bytes) as (meta, arrays):
            loaded.num_games = whole("num_games", meta["num_games"], cls.MAX_GAMES)
            loaded._goal = whole("goal", meta["goal"], cls.MAX_GAMES)
            loaded._set_learned(meta, arrays)
        return loaded

    @abstractmethod
    def _learned(self) -> tuple[dict[str, Any], Arrays]:
        """What a file holds besides the settings and the run: values for JSON, and arrays."""

    def _most_growth(self) -> int:
        """The most bytes that a file has of arrays whose length depends on the games."""
        return 0

    @abstractmethod
    def _set_learned(self, meta: dict[str, Any], arrays: Arrays) -> None:
        """Restores what `_learned` gave.

        Raises:
            KeyError, TypeError, ValueError: something is missing, or of a wrong type, shape or range.
        """

    def learn(
        self,
        total_games: int,
        callback: Callable[[Self], Any] | None = None,
        progress_bar: bool = True,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 60.0,
    ) -> Self:
        """Learns from games it plays by itself.

        Ctrl-C stops soon and keeps what is learned; `resume` continues.

        Args:
            total_games: the number of games, at least 1.
            callback: called now and then with the agent; returning False ends the run.
            progress_bar: True to show progress.
            checkpoint: a file to save to now and then, and at the end.
            checkpoint_seconds: the least time between two saves.

        Raises:
            ValueError: `total_games` is not a positive integer, or more than can still be counted.
            OSError: the checkpoint cannot be written, which is tried first; or at the end it no longer can. Then the
                message names the temporary file with what is learned.
        """
        positive("total_games", total_games, self.MAX_GAMES - self.num_games)
        self._begun, self._goal = self.num_games, self.num_games + total_games
        return self.resume(callback, progress_bar, checkpoint=checkpoint, checkpoint_seconds=checkpoint_seconds)

    def resume(
        self,
        callback: Callable[[Self], Any] | None = None,
        progress_bar: bool = True,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 60.0,
    ) -> Self:
        """Continues a run that was stopped, or that was loaded from its checkpoint; arguments as in `learn`.

        The result is that of an unbroken run, to the bit.
        """
        begun, kept = self.num_games, Checkpoint(self.save, checkpoint, checkpoint_seconds)
        with interruptible() as asked_to_stop, new_bar(self._goal - begun, type(self).__name__, progress_bar) as show:
            self._begin(self._goal - begun)
            try:
                while not self.is_done:
                    self.num_games += self._learn_some(self._goal - self.num_games)
                    show(self.num_games - begun, self._state_in_words())
                    goes_on = callback is None or callback(self) is not False
                    kept.save_if_due()
                    if not goes_on:
                        break
                    if asked_to_stop():
                        print(f"stopped after {self.num_games:,} games; nothing is lost", file=sys.stderr)
                        break
            finally:
                self._end()
        kept.save_at_the_end()
        return self
