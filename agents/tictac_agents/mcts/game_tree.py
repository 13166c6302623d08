"""S4's learned tree: statistics of positions that grow by one a game over self-play, kept, saved and resumed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_agents.mcts.playouts import first_state
from tictac_agents.mcts.seat_tree import SAVED, find, new_seat, play_games, seat_of, with_room
from tictac_env.checks import number, positive, whole
from tictac_env.games import Game, describe_game, game_of, get_game
from tictac_env.policies import Policy
from tictac_env.policies.reflexes import pick
from tictac_env.position import Position
from tictac_env.progress import interruptible
from tictac_env.progress import progress_bar as new_bar
from tictac_env.rng import new_state
from tictac_env.storage import load_arrays, save_arrays

KIND = "tictac_agents.GameTree"
SEATS = ("first", "second")
CHUNK = 5_000
"""So many games are played between two looks at the clock and for Ctrl-C."""
MAX_GAMES = 1 << 24
"""Sums in float32 are exact up to here, with a draw a multiple of 1/2."""


class GameTree(Policy):
    """Monte Carlo tree search that remembers: a tree a seat, grown over self-play games (S4 of the five systems).

    ## Description

    In a game each seat moves by its own tree, by the highest mean + exploration * sqrt(ln N / n), unvisited actions
    first. The first position it does not know is added to its tree, one a game, and from there on it moves at random.
    The result is added to all its known moves: 1 for a win, -1 for a loss, `draw` for a draw.

    Positions that different orders of moves lead to are one, which the published tree did not do; its moves therefore
    depend on the position alone, and the agent is a policy like any other: the most visited action, at random by the
    seed where the position is not known.

    Args:
        game: a game's name or rule book.
        exploration: the constant above, at least 0. S4 leaves it open; with 2 the tree learns more than with 1.
        draw: what a draw counts, for both seats, in [-1, 1].
        seed: of the self-play; None for fresh entropy.
        memory_mb: the most memory the trees may take, in MiB. Full trees grow no more, but their statistics do.

    Attributes:
        num_games: how many games it has learned from, at most 16,777,216.
        seats: the trees of the first and the second seat.

    Raises:
        ValueError: an argument is out of range.

    Example:
        >>> tree = GameTree("TicTacToe-v0", seed=0).learn(5_000)
        >>> tree.act(Position.from_moves("TicTacToe-v0", "1524"), seed=0)
        2
    """

    def __init__(
        self,
        game: str | Game = "ConnectFour-v0",
        exploration: float = 2.0,
        draw: float = 0.5,
        seed: int | None = None,
        memory_mb: float = 1024.0,
    ) -> None:
        self.game = get_game(game)
        self.exploration = number("exploration", exploration, 0, 1e6)
        self.draw = number("draw", draw, -1, 1)
        self.memory_mb = number("memory_mb", memory_mb, 0.01, 1e6)
        self.seed = None if seed is None else whole("seed", seed)
        self.name = "GameTree"
        self.num_games = 0
        self.seats = (new_seat(self.game, 1), new_seat(self.game, 1))
        self._state = first_state(new_state(seed))
        self._goal = 0

    def __len__(self) -> int:
        """How many positions both trees know."""
        return sum(int(tree.size[0]) for tree in self.seats)

    @property
    def nbytes(self) -> int:
        """What the trees take up, hash tables and what is reserved included."""
        return sum(array.nbytes for tree in self.seats for array in tree)

    def learn(
        self,
        total_games: int,
        callback: Callable[[GameTree], bool | None] | None = None,
        progress_bar: bool = True,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 60.0,
    ) -> GameTree:
        """Plays so many games against itself and learns from them.

        Ctrl-C stops within a few thousand games and keeps what is learned; `resume` goes on.

        Args:
            total_games: how many.
            callback: called every few thousand games; returning False ends the run.
            progress_bar: whether to show progress (only on a terminal).
            checkpoint: a file to save to now and then, and at the end.
            checkpoint_seconds: how often.

        Raises:
            ValueError: `total_games` is no positive whole number, or more than it can learn from.
        """
        positive("total_games", total_games, MAX_GAMES - self.num_games)
        self._goal = self.num_games + total_games
        return self.resume(callback, progress_bar, checkpoint=checkpoint, checkpoint_seconds=checkpoint_seconds)

    def resume(
        self,
        callback: Callable[[GameTree], bool | None] | None = None,
        progress_bar: bool = True,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 60.0,
    ) -> GameTree:
        """Goes on with a run that was stopped, or that a loaded file is a checkpoint of; arguments as in `learn`.

        The result is that of an unbroken run, to the bit.
        """
        begun, due = self.num_games, time.monotonic() + checkpoint_seconds
        self._make_room(self._goal - begun)
        with interruptible() as asked_to_stop, new_bar(self._goal - begun, "GameTree", progress_bar) as show:
            while self.num_games < self._goal:
                games = min(CHUNK - self.num_games % CHUNK, self._goal - self.num_games)
                self._state = play_games(
                    self.game, *self.seats, games, float(self.exploration), float(self.draw), self._state
                )
                self.num_games += games
                show(self.num_games - begun, f"{len(self):,} positions")
                goes_on = callback is None or callback(self) is not False
                if checkpoint is not None and time.monotonic() >= due:
                    self.save(checkpoint)
                    due = time.monotonic() + checkpoint_seconds
                if not goes_on:
                    break
                if asked_to_stop():
                    print(f"stopped after {self.num_games:,} games; nothing is lost", file=sys.stderr)
                    break
        if checkpoint is not None:
            self.save(checkpoint)
        return self

    def act(self, position: Position, seed: int) -> int:
        """The action that was visited most, the lowest among equals; at random where the position is not known.

        Raises:
            ValueError: the position is of another game.
        """
        if position.game != self.game:
            raise ValueError(f"{self} has learned {describe_game(self.game)}, and nothing of {position!r}")
        visits = self.visits(position)
        if not visits.any():
            return pick(self.game, self.game.legal(position.own, position.opp), seed)
        return int(visits.argmax())

    def visits(self, position: Position) -> npt.NDArray[np.int32]:
        """How often each action was played in a position, int32 (num_actions,); all 0 where it is not known."""
        tree = self.seats[position.seat]
        found = find(tree, position.own, position.opp)
        return np.zeros(self.game.num_actions, np.int32) if found < 0 else tree.visits[found].copy()

    def values(self, own: int, opp: int) -> dict[int, float]:
        """The mean of what came of each legal action, 0 where it was never played."""
        tree = self.seats[self.game.seat(own, opp)]
        found = find(tree, own, opp)
        legal = Position(self.game, own, opp).legal_actions
        if found < 0:
            return dict.fromkeys(legal, 0.0)
        visits, sums = tree.visits[found].tolist(), tree.values[found].tolist()
        return {action: sums[action] / visits[action] if visits[action] else 0.0 for action in legal}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything to an .npz file (see `tictac_env.storage`)."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        for name, tree in zip(SEATS, self.seats, strict=True):
            size = int(tree.size[0])
            for field in SAVED:
                arrays[f"{name}_{field}"] = getattr(tree, field)[:size]
        meta = {
            "game": describe_game(self.game),
            "settings": {
                "exploration": self.exploration,
                "draw": self.draw,
                "seed": self.seed,
                "memory_mb": self.memory_mb,
            },
            "num_games": self.num_games,
            "goal": self._goal,
            "state": self._state,
        }
        save_arrays(path, KIND, meta, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> GameTree:
        """The tree that was saved.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged, or holds something else.
        """
        meta, arrays = load_arrays(path, KIND)
        try:
            loaded = cls(game_of(meta["game"]), **meta["settings"])
            loaded.num_games = whole("num_games", meta["num_games"], MAX_GAMES)
            loaded._goal = whole("goal", meta["goal"], MAX_GAMES)
            loaded._state = whole("state", meta["state"], (1 << 63) - 1)
            first, second = (
                seat_of(loaded.game, {field: arrays[f"{name}_{field}"] for field in SAVED}) for name in SEATS
            )
            loaded.seats = first, second
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise ValueError(f"{str(path)!r} is no usable checkpoint of GameTree: {error}") from error
        return loaded

    def _make_room(self, games: int) -> None:
        """Room for one more position a game in each tree, as far as memory allows."""
        each = 16 + 8 * self.game.num_actions + 10  # a hash table's share is at most 10 bytes
        most = int(self.memory_mb * 2**20) // 2 // each
        first, second = (with_room(self.game, tree, games, most) for tree in self.seats)
        self.seats = first, second
