"""What agents that learn from games of their own share: the run, its checkpoints, and going on with it."""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from tictac_agents.checkpoint import Checkpoint
from tictac_env.checks import positive
from tictac_env.games import Game
from tictac_env.policies import Policy
from tictac_env.progress import interruptible
from tictac_env.progress import progress_bar as new_bar

MAX_GAMES = 1 << 24
"""Sums in float32 are exact up to here, with a draw a multiple of 1/2."""


class GamesLearner(Policy):
    """An agent that learns from games it plays by itself, some at a time.

    Attributes:
        game: the rule book.
        num_games: how many games it has learned from, at most 16,777,216.
    """

    MAX_GAMES: ClassVar[int] = MAX_GAMES
    """The most games it can count."""
    RUN: ClassVar[int] = 3_000
    """How many games a run from the command line has if nothing says how many."""
    TUNED: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """For some games other settings than the constructor's, `total_games` among them, which the command line takes."""
    game: Game
    num_games: int = 0
    _begun: int = 0
    """How many games it had learned from when the run began."""
    _goal: int = 0
    """How many games it will have learned from when the run is over."""

    @property
    def is_done(self) -> bool:
        """Whether it has learned from all games of its run."""
        return self.num_games >= self._goal

    @abstractmethod
    def _learn_some(self, most: int) -> int:
        """Learns from some games, at most `most`, and returns how many they were."""

    def _begin(self, games: int) -> None:
        """Gets ready to learn from so many games; most have nothing to do."""

    def _state_in_words(self) -> str:
        """What the progress bar shows."""
        return ""

    @abstractmethod
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything to a file, whole or not at all."""

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

        Ctrl-C stops soon and keeps what is learned; `resume` goes on.

        Args:
            total_games: how many, at least 1.
            callback: called now and then with the agent; returning False ends the run.
            progress_bar: whether to show progress.
            checkpoint: a file to save to now and then, and at the end.
            checkpoint_seconds: the time between two saves, at least.

        Raises:
            ValueError: `total_games` is no positive whole number, or more than can still be counted.
            OSError: the checkpoint cannot be written, which is tried first of all; or in the end no more. Then the
                message says in which temporary file what is learned is instead.
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
        """Goes on with a run that was stopped, or that was loaded from its checkpoint; arguments as in `learn`.

        The result is that of an unbroken run, to the bit.
        """
        begun, kept = self.num_games, Checkpoint(self.save, checkpoint, checkpoint_seconds)
        self._begin(self._goal - begun)
        with interruptible() as asked_to_stop, new_bar(self._goal - begun, type(self).__name__, progress_bar) as show:
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
        kept.save_at_the_end()
        return self
