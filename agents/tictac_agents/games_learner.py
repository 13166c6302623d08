"""Base class of agents that learn from games of their own."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

from tictac_agents.base_learner import CHECKPOINT_SECONDS, BaseLearner
from tictac_env.checks import positive
from tictac_env.games import describe_game
from tictac_env.position import Position

MOST_GAMES = 1 << 24
"""Sums in float32 are exact up to here, with a draw a multiple of 1/2."""
SPARE = 4
"""A file has at most SPARE times the bytes of an untrained agent: for each weight also its average, or two moments."""


class GamesLearner(BaseLearner):
    """An agent that learns from games it plays by itself, some at a time.

    Attributes:
        game: the rules.
        num_games: the games it has learned from, at most 16,777,216.
    """

    MOST: ClassVar[int] = MOST_GAMES
    num_games: int

    @abstractmethod
    def _learn_some(self, most: int) -> int:
        """Learns from some games, at most `most`, and returns their number."""

    def _play(self, games: int) -> Iterator[None]:
        self.num_games += self._learn_some(self._goal - self.num_games)
        yield

    @property
    def _goal(self) -> int:
        """The number of games at the end of the run."""
        return 0 if self._run is None else self._run.end

    @property
    def _begun(self) -> int:
        """The number of games at the beginning of the run."""
        return 0 if self._run is None else self._run.begin

    def _check_game(self, position: Position) -> None:
        if position.game != self.game:
            raise ValueError(f"{self} has learned {describe_game(self.game)}, and nothing of {position!r}")

    @classmethod
    def load(cls, path: str | os.PathLike[str], **unrecorded: Any) -> Self:
        """The learner that was saved.

        Args:
            path: the file.
            unrecorded: settings that are not in files, such as `workers`.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged, or holds something else.
        """
        return cls._load(path, lambda game, meta: game, **unrecorded)

    def _most_bytes(self, meta: dict[str, Any]) -> int:
        return SPARE * sum(array.nbytes for array in self._state()[1].values()) + self._most_growth()

    def _most_growth(self) -> int:
        """The most bytes that a file has of arrays whose length depends on the games."""
        return 0

    def learn(
        self,
        total_games: int,
        callback: Callable[[Self], Any] | None = None,
        progress_bar: bool = True,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = CHECKPOINT_SECONDS,
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
        self._begin_run("games", positive("total_games", total_games, self.MOST - self.num_games))
        return self.resume(callback, progress_bar, checkpoint=checkpoint, checkpoint_seconds=checkpoint_seconds)
