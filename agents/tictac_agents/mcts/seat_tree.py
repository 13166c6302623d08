"""One seat's part of S4's learned tree, in flat arrays, and the compiled self-play that grows two of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.mcts.rollouts import nth_bit, random_below
from tictac_agents.mcts.search_tree import INFINITY, action_bits_of
from tictac_agents.mcts.selection import select_uct
from tictac_env.compiled import kernel
from tictac_env.games import UNFINISHED, Game
from tictac_env.rng import mix

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
