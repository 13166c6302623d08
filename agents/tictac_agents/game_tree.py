"""S4's learned tree: statistics of positions that grow by one a game over self-play, kept, saved and resumed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.playouts import below, nth_bit
from tictac_agents.search_tree import INFINITE, first_state, select_uct
from tictac_agents.states import is_position
from tictac_env.checks import number, whole
from tictac_env.compiled import kernel
from tictac_env.games import UNFINISHED, Game, describe_game, game_of, get_game
from tictac_env.policies import Policy
from tictac_env.position import Position
from tictac_env.progress import interruptible
from tictac_env.progress import progress_bar as new_bar
from tictac_env.reflexes import pick
from tictac_env.rng import mix, new_state
from tictac_env.storage import load_arrays, save_arrays

KIND = "tictac_agents.GameTree"
SEATS = ("first", "second")
CHUNK = 5_000
"""So many games are played between two looks at the clock and for Ctrl-C."""
MAX_GAMES = 1 << 24
"""Sums in float32 are exact up to here, with a draw a multiple of 1/2."""


class SeatTree(NamedTuple):
    """What one seat has learned of the N positions it had to move in."""

    own: npt.NDArray[np.int64]
    """(capacity,): the seat's stones."""
    opp: npt.NDArray[np.int64]
    """(capacity,): the other's."""
    visits: npt.NDArray[np.int32]
    """(capacity, num_actions): how often each action was played."""
    values: npt.NDArray[np.float32]
    """(capacity, num_actions): what came of it, summed up; +inf if it was never played, -inf if it is illegal."""
    table: npt.NDArray[np.int32]
    """(a power of 2,): a hash table of the positions, 1 + their number, 0 where it is empty; linear probing."""
    size: npt.NDArray[np.int64]
    """(1,): N."""


def new_seat(game: Game, capacity: int) -> SeatTree:
    """An empty tree with room for `capacity` positions, at most four fifths of the hash table."""
    return SeatTree(
        np.empty(capacity, np.int64),
        np.empty(capacity, np.int64),
        np.empty((capacity, game.num_actions), np.int32),
        np.empty((capacity, game.num_actions), np.float32),
        np.zeros(1 << (capacity * 5 // 4).bit_length(), np.int32),
        np.zeros(1, np.int64),
    )


@kernel
def find(tree: SeatTree, own: int, opp: int) -> int:
    """The number of a position; if it has none, -1 - the place in the hash table where it belongs."""
    last = len(tree.table) - 1
    place = mix(mix(own) ^ opp) & last
    while True:
        number = tree.table[place] - 1
        if number < 0:
            return -1 - place
        if tree.own[number] == own and tree.opp[number] == opp:
            return int(number)
        place = place + 1 & last


@kernel
def add(game: Game, tree: SeatTree, own: int, opp: int, place: int) -> int:
    """Gives a position, which has none, a number."""
    number = tree.size[0]
    tree.size[0] = number + 1
    tree.table[place] = number + 1
    tree.own[number] = own
    tree.opp[number] = opp
    legal = game.legal(own, opp)
    for action in range(game.num_actions):
        tree.visits[number, action] = 0
        tree.values[number, action] = INFINITE if legal & game.choice(action) else -INFINITE
    return int(number)


@kernel
def refill(tree: SeatTree) -> None:
    """Fills the empty hash table with the positions."""
    for row in range(tree.size[0]):
        tree.table[-1 - find(tree, tree.own[row], tree.opp[row])] = row + 1


@kernel
def play_games(
    game: Game, first: SeatTree, second: SeatTree, games: int, exploration: float, draw: float, state: int
) -> int:
    """Self-play. Each seat chooses by its own tree while it knows the position; the first one it does not know is
    added, and from there it moves at random.

    Returns:
        The state of the randomness.
    """
    way = np.zeros((game.cells + 1, 2), np.int64)
    start_own, start_opp = game.start()
    first_to_move = game.seat(start_own, start_opp)
    for _ in range(games):
        own, opp = start_own, start_opp
        within = 3  # bit s: seat s still knows its positions
        plies = 0
        result = game.result(own, opp)
        while result == UNFINISHED:
            seat = first_to_move ^ plies & 1
            tree = second if seat else first
            number = -1
            if within >> seat & 1:
                number = find(tree, own, opp)
                if number < 0:
                    within ^= 1 << seat
                    number = add(game, tree, own, opp, -1 - number) if tree.size[0] < len(tree.own) else -1
            if number >= 0:
                total = 1 + tree.visits[number].sum()
                action, state = select_uct(tree.values[number], tree.visits[number], total, exploration, state)
                own, opp = game.play(own, opp, action)
            else:
                action = -1
                legal = game.legal(own, opp)
                state, skipped = below(state, legal.bit_count())
                own, opp = game.play_choice(own, opp, nth_bit(legal, skipped))
            way[plies, 0] = number
            way[plies, 1] = action
            plies += 1
            result = game.result(own, opp)
        value = -result  # for whoever played the last action
        for ply in range(plies - 1, -1, -1):
            number, action = way[ply, 0], way[ply, 1]
            if number >= 0:
                tree = second if first_to_move ^ ply & 1 else first
                gain = np.float32(value if value != 0 else draw)
                played = tree.visits[number, action]
                tree.values[number, action] = gain if played == 0 else tree.values[number, action] + gain
                tree.visits[number, action] = played + 1
            value = -value
    return state


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
        exploration: the constant above, at least 0. S4 leaves it open.
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
        exploration: float = 1.0,
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
        if whole("total_games", total_games, MAX_GAMES - self.num_games) == 0:
            raise ValueError("total_games must be at least 1, not 0")
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
            for field in ("own", "opp", "visits", "values"):
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
                _seat_of(loaded.game, {field: arrays[f"{name}_{field}"] for field in SeatTree._fields[:4]})
                for name in SEATS
            )
            loaded.seats = first, second
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise ValueError(f"{str(path)!r} is no usable checkpoint of GameTree: {error}") from error
        return loaded

    def _make_room(self, games: int) -> None:
        """Room for one more position a game in each tree, as far as memory allows."""
        each = 16 + 8 * self.game.num_actions + 10  # a hash table's share is at most 10 bytes
        most = int(self.memory_mb * 2**20) // 2 // each
        first, second = (_with_room(self.game, tree, games, most) for tree in self.seats)
        self.seats = first, second


def _with_room(game: Game, tree: SeatTree, more: int, most: int) -> SeatTree:
    """The same positions in a tree with room for so many more, `most` altogether."""
    size = int(tree.size[0])
    capacity = max(size, min(size + more, most))
    if capacity <= len(tree.own):
        return tree
    fresh = new_seat(game, capacity)
    for name in SeatTree._fields[:4]:
        getattr(fresh, name)[:size] = getattr(tree, name)[:size]
    fresh.size[0] = size
    refill(fresh)
    return fresh


def _seat_of(game: Game, arrays: dict[str, npt.NDArray[Any]]) -> SeatTree:
    """A tree of the arrays of a file.

    Raises:
        ValueError: wrong types or shapes, a position that no game reaches or that stands there twice, or visits that no
            games leave.
    """
    size = len(arrays["own"])
    fresh = new_seat(game, max(size, 1))
    for name, array in arrays.items():
        wanted = getattr(fresh, name)
        if array.dtype != wanted.dtype or array.shape != (size, *wanted.shape[1:]):
            raise ValueError(f"{name} is {array.dtype} {array.shape}, not {wanted.dtype} {(size, *wanted.shape[1:])}")
        wanted[:size] = array
    keys = list(zip(fresh.own[:size].tolist(), fresh.opp[:size].tolist(), strict=True))
    if len(set(keys)) != size:
        raise ValueError("a position stands there twice")
    for own, opp in keys:
        if not is_position(game, own, opp):
            raise ValueError(f"stones {own:#x} and {opp:#x} are no position of the game")
    choices = np.array([game.choice(action) for action in range(game.num_actions)], np.int64)
    legal = (np.array([game.legal(*key) for key in keys], np.int64).reshape(-1, 1) & choices) != 0
    visits, values = fresh.visits[:size], fresh.values[:size]
    expected = np.where(legal, np.float32(np.inf), np.float32(-np.inf))
    sound = np.where(visits > 0, legal & (np.abs(values) <= visits), (visits == 0) & (values == expected))
    if not sound.all():
        raise ValueError("visits and values contradict each other")
    fresh.size[0] = size
    refill(fresh)
    return fresh
