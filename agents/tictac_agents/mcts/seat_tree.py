"""One seat's part of S4's learned tree, in flat arrays, and the compiled self-play that grows two of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.mcts.playouts import below, nth_bit
from tictac_agents.mcts.search_tree import INFINITE, choices_of
from tictac_agents.mcts.uct import select_uct
from tictac_env.compiled import kernel
from tictac_env.games import UNFINISHED, Game
from tictac_env.rng import mix

SAVED = ("own", "opp", "visits", "values")
"""The fields of `SeatTree` that a file holds."""


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


def with_room(game: Game, tree: SeatTree, more: int, most: int) -> SeatTree:
    """The same positions in a tree with room for so many more, `most` altogether."""
    size = int(tree.size[0])
    capacity = max(size, min(size + more, most))
    if capacity <= len(tree.own):
        return tree
    fresh = new_seat(game, capacity)
    for name in SAVED:
        getattr(fresh, name)[:size] = getattr(tree, name)[:size]
    fresh.size[0] = size
    refill(fresh)
    return fresh


def seat_of(game: Game, arrays: dict[str, npt.NDArray[Any]]) -> SeatTree:
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
        if status := game.status(own, opp):
            wrong = status.explain(game, own, opp)
            raise ValueError(f"stones {own:#x} and {opp:#x} are no position of the game: {wrong}")
    legal = (np.array([game.legal(*key) for key in keys], np.int64).reshape(-1, 1) & choices_of(game)) != 0
    visits, values = fresh.visits[:size], fresh.values[:size]
    expected = np.where(legal, np.float32(np.inf), np.float32(-np.inf))
    sound = np.where(visits > 0, legal & (np.abs(values) <= visits), (visits == 0) & (values == expected))
    if not sound.all():
        raise ValueError("visits and values contradict each other")
    fresh.size[0] = size
    refill(fresh)
    return fresh
