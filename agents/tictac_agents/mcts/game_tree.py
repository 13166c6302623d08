"""S4's learned tree: statistics of positions, one more a game, grown by self-play, saved and resumed."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_agents.games_learner import MAX_GAMES, GamesLearner
from tictac_agents.mcts.rollouts import first_state
from tictac_agents.mcts.seat_tree import SAVED, find_row, new_seat_tree, read_seat_tree, self_play, with_room
from tictac_env.checks import number, whole
from tictac_env.games import Game, describe_game, game_of, get_game
from tictac_env.policies.reflexes import pick
from tictac_env.position import Position
from tictac_env.rng import new_state
from tictac_env.storage import reading, save_arrays

KIND = "tictac_agents.GameTree"
SEATS = ("first", "second")
CHUNK = 5_000
"""How many games are played between two looks at the clock and for Ctrl-C."""


class GameTree(GamesLearner):
    """Monte Carlo tree search with a memory: one tree a seat, grown over games of self-play (S4 of the five systems).

    ## Description

    Each seat selects its moves by its own tree: the highest mean + exploration * sqrt(ln N / n), unvisited actions
    first. The first position it does not know is added to its tree, one a game, and from there on it moves at random.
    The result is added to all its moves within the tree: 1 for a win, -1 for a loss, `draw` for a draw.

    A position that different orders of moves lead to has one entry; the published tree had several. Moves therefore
    depend on the position alone, and the agent is a policy like any other: it plays the most visited action, and one
    drawn by the seed where it does not know the position.

    Args:
        game: a game's name or rule book.
        exploration: the constant above, at least 0. S4 leaves it open; with 2 the tree learns more than with 1.
        draw: what a draw counts, for both seats, in [-1, 1].
        seed: of the self-play; None for fresh entropy.
        memory_mb: the most memory the trees may take, in MiB. A full tree gets no more positions; its statistics go on.

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

    budget = "no search; a tree that was learned"

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
        self.seats = (new_seat_tree(self.game, 1), new_seat_tree(self.game, 1))
        self._state = first_state(new_state(seed))

    def __len__(self) -> int:
        """How many positions the two trees know together."""
        return sum(int(tree.size[0]) for tree in self.seats)

    @property
    def nbytes(self) -> int:
        """How many bytes the trees take, hash tables and reserved room included."""
        return sum(array.nbytes for tree in self.seats for array in tree)

    def _learn_some(self, most: int) -> int:
        games = min(CHUNK - self.num_games % CHUNK, most)
        self._state = self_play(self.game, *self.seats, games, float(self.exploration), float(self.draw), self._state)
        return games

    def _state_in_words(self) -> str:
        return f"{len(self):,} positions"

    def act(self, position: Position, seed: int) -> int:
        """The most visited action, the lowest among equals; one drawn by the seed where the position is not known.

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
        row = find_row(tree, position.own, position.opp)
        return np.zeros(self.game.num_actions, np.int32) if row < 0 else tree.visits[row].copy()

    def values(self, own: int, opp: int) -> dict[int, float]:
        """The mean result of each legal action, 0 where it was never played."""
        tree = self.seats[self.game.seat(own, opp)]
        row = find_row(tree, own, opp)
        legal = Position(self.game, own, opp).legal_actions
        if row < 0:
            return dict.fromkeys(legal, 0.0)
        visits, sums = tree.visits[row].tolist(), tree.value_sums[row].tolist()
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
        with reading(path, KIND, "checkpoint of GameTree") as (meta, arrays):
            loaded = cls(game_of(meta["game"]), **meta["settings"])
            loaded.num_games = whole("num_games", meta["num_games"], MAX_GAMES)
            loaded._goal = whole("goal", meta["goal"], MAX_GAMES)
            loaded._state = whole("state", meta["state"], (1 << 63) - 1)
            first, second = (
                read_seat_tree(loaded.game, {field: arrays[f"{name}_{field}"] for field in SAVED}) for name in SEATS
            )
            loaded.seats = first, second
        return loaded

    def _begin(self, games: int) -> None:
        """Room for one more position a game in each tree, as far as memory allows."""
        each = 16 + 8 * self.game.num_actions + 10  # a hash table's share is at most 10 bytes
        most = int(self.memory_mb * 2**20) // 2 // each
        first, second = (with_room(self.game, tree, games, most) for tree in self.seats)
        self.seats = first, second
