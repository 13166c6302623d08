"""S4's learned tree: statistics of positions, one more a game, grown by self-play, saved and resumed."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.checkpoint import MAX_GAMES, GamesLearner
from tictac_agents.mcts.simulation import INFINITY, action_bits_of, first_state, nth_bit, random_below, select_uct
from tictac_env.checks import number, whole
from tictac_env.compiled import kernel
from tictac_env.games import UNFINISHED, Game, describe_game, game_of, get_game
from tictac_env.policies.policy import pick
from tictac_env.position import Position
from tictac_env.rng import mix, new_state
from tictac_env.storage import reading, save_arrays

COMPILED_AS = "learning with a game tree"

SAVED = ("own", "opp", "visits", "value_sums")
"""The fields of `SeatTree` that a file holds."""


class SeatTree(NamedTuple):
    """What one seat has learned about the N positions in which it had to move."""

    own: npt.NDArray[np.int64]
    """(capacity,): the seat's stones."""
    opp: npt.NDArray[np.int64]
    """(capacity,): the other seat's."""
    visits: npt.NDArray[np.int32]
    """(capacity, num_actions): how often each action was played."""
    value_sums: npt.NDArray[np.float32]
    """(capacity, num_actions): the sum of the results; +inf if it was never played, -inf if it is illegal."""
    hashes: npt.NDArray[np.int32]
    """(a power of 2,): a hash table of the positions: 1 + their row, 0 where it is empty; linear probing."""
    size: npt.NDArray[np.int64]
    """(1,): N."""


def new_seat_tree(game: Game, capacity: int) -> SeatTree:
    """An empty tree with room for `capacity` positions, at most four fifths of the hash table."""
    return SeatTree(
        own=np.empty(capacity, np.int64),
        opp=np.empty(capacity, np.int64),
        visits=np.empty((capacity, game.num_actions), np.int32),
        value_sums=np.empty((capacity, game.num_actions), np.float32),
        hashes=np.zeros(1 << (capacity * 5 // 4).bit_length(), np.int32),
        size=np.zeros(1, np.int64),
    )


@kernel
def find_row(tree: SeatTree, own: int, opp: int) -> int:
    """The row of a position; if it has none, -1 - the place in the hash table where it belongs."""
    last = len(tree.hashes) - 1
    place = mix(mix(own) ^ opp) & last
    while True:
        row = tree.hashes[place] - 1
        if row < 0:
            return -1 - place
        if tree.own[row] == own and tree.opp[row] == opp:
            return int(row)
        place = place + 1 & last


@kernel
def add_row(game: Game, tree: SeatTree, own: int, opp: int, place: int) -> int:
    """Adds a row for a position, which has none, and returns its number; `place` is where `find_row` missed it."""
    row = tree.size[0]
    tree.size[0] = row + 1
    tree.hashes[place] = row + 1
    tree.own[row] = own
    tree.opp[row] = opp
    legal = game.legal(own, opp)
    for action in range(game.num_actions):
        tree.visits[row, action] = 0
        tree.value_sums[row, action] = INFINITY if legal & game.choice(action) else -INFINITY
    return int(row)


@kernel
def fill_hashes(tree: SeatTree) -> None:
    """Fills the empty hash table with the positions."""
    for row in range(tree.size[0]):
        tree.hashes[-1 - find_row(tree, tree.own[row], tree.opp[row])] = row + 1


@kernel
def self_play(
    game: Game, first: SeatTree, second: SeatTree, games: int, exploration: float, draw: float, state: int
) -> int:
    """Plays `games` games and adds their results to the trees of both seats.

    Each seat selects by its own tree while it knows the position. The first position it does not know is added, and
    from there on it moves at random.

    Returns:
        The state of the randomness.
    """
    path = np.zeros((game.cells + 1, 2), np.int64)
    start_own, start_opp = game.start()
    first_to_move = game.seat(start_own, start_opp)
    for _ in range(games):
        own, opp = start_own, start_opp
        in_tree = 3  # bit s: seat s has known all its positions so far
        plies = 0
        result = game.result(own, opp)
        while result == UNFINISHED:
            seat = first_to_move ^ plies & 1
            tree = second if seat else first
            row = -1
            if in_tree >> seat & 1:
                row = find_row(tree, own, opp)
                if row < 0:
                    in_tree ^= 1 << seat
                    row = add_row(game, tree, own, opp, -1 - row) if tree.size[0] < len(tree.own) else -1
            if row >= 0:
                total = 1 + tree.visits[row].sum()
                action, state = select_uct(tree.value_sums[row], tree.visits[row], total, exploration, state)
                own, opp = game.play(own, opp, action)
            else:
                action = -1
                legal = game.legal(own, opp)
                state, index = random_below(state, legal.bit_count())
                own, opp = game.play_choice(own, opp, nth_bit(legal, index))
            path[plies, 0] = row
            path[plies, 1] = action
            plies += 1
            result = game.result(own, opp)
        value = -result  # for the side that played the last action
        for ply in range(plies - 1, -1, -1):
            row, action = path[ply, 0], path[ply, 1]
            if row >= 0:
                tree = second if first_to_move ^ ply & 1 else first
                gain = np.float32(value if value != 0 else draw)
                visits = tree.visits[row, action]
                tree.value_sums[row, action] = gain if visits == 0 else tree.value_sums[row, action] + gain
                tree.visits[row, action] = visits + 1
            value = -value
    return state


def with_room(game: Game, tree: SeatTree, more: int, most: int) -> SeatTree:
    """The same positions in a tree with room for `more`, but for no more than `most` altogether."""
    size = int(tree.size[0])
    capacity = max(size, min(size + more, most))
    if capacity <= len(tree.own):
        return tree
    fresh = new_seat_tree(game, capacity)
    for name in SAVED:
        getattr(fresh, name)[:size] = getattr(tree, name)[:size]
    fresh.size[0] = size
    fill_hashes(fresh)
    return fresh


def read_seat_tree(game: Game, arrays: dict[str, npt.NDArray[Any]]) -> SeatTree:
    """The tree whose `SAVED` fields a file holds.

    Raises:
        ValueError: an array has a wrong type or shape; a position is there twice or is none of the game; or visits
            and results contradict each other.
    """
    size = len(arrays["own"])
    fresh = new_seat_tree(game, max(size, 1))
    for name, array in arrays.items():
        wanted = getattr(fresh, name)
        if array.dtype != wanted.dtype or array.shape != (size, *wanted.shape[1:]):
            raise ValueError(f"{name} is {array.dtype} {array.shape}, not {wanted.dtype} {(size, *wanted.shape[1:])}")
        wanted[:size] = array
    keys = list(zip(fresh.own[:size].tolist(), fresh.opp[:size].tolist(), strict=True))
    if len(set(keys)) != size:
        raise ValueError("a position stands there twice")
    for own, opp in keys:
        if status := game.status(own, opp):
            wrong = status.explain(game, own, opp)
            raise ValueError(f"stones {own:#x} and {opp:#x} are not a position of the game: {wrong}")
    legal = (np.array([game.legal(*key) for key in keys], np.int64).reshape(-1, 1) & action_bits_of(game)) != 0
    visits, sums = fresh.visits[:size], fresh.value_sums[:size]
    expected = np.where(legal, np.float32(np.inf), np.float32(-np.inf))
    sound = np.where(visits > 0, legal & (np.abs(sums) <= visits), (visits == 0) & (sums == expected))
    if not sound.all():
        raise ValueError("visits and value_sums contradict each other")
    fresh.size[0] = size
    fill_hashes(fresh)
    return fresh


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
