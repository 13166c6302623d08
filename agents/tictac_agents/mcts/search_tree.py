"""A search tree in flat arrays, for compiled code.

A move's statistics stand in the node it is played from, a node's moves side by side: eight moves, padded, have their
visits in half a cache line of 64 bytes and their values in the other half, and are compared all at once. A move gets a
node of its own when it is played for the second time. There are no transpositions: a position that two orders of moves
lead to has two nodes.

`visits` and `values` of an action that was never played are 0 and +inf, so that it comes first by the very formula that
compares the others; of an illegal one 0 and -inf.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.compiled import borrowing_kernel, kernel
from tictac_env.games import Game

OPEN = 2
"""In `SearchTree.proven`: nothing is known for sure."""
ILLEGAL = 3
INFINITE = np.float32(np.inf)


class SearchTree(NamedTuple):
    """The tree, node 0 being its root; W is num_actions rounded up to a multiple of 8.

    Values count 1 for a win, -1 for a loss, for whoever plays the action.
    """

    visits: npt.NDArray[np.int32]
    """(capacity, W): how often each action was played."""
    values: npt.NDArray[np.float32]
    """(capacity, W): the sum of what came of it."""
    children: npt.NDArray[np.int32]
    """(capacity, W): the node it leads to, 0 if there is none."""
    proven: npt.NDArray[np.int8]
    """(capacity, W): -1, 0 or 1 where the game's end is certain, else `OPEN` or `ILLEGAL`."""
    priors: npt.NDArray[np.float32]
    """(capacity, W): an evaluator's probabilities of the actions; (0, W) without them."""
    size: npt.NDArray[np.int64]
    """(1,): how many nodes are in use."""
    choices: npt.NDArray[np.int64]
    """(num_actions,): `Game.choice` of each action, which it is quicker to look up."""
    path: npt.NDArray[np.int32]
    """(cells + 1, 2): scratch, the nodes and actions of the game being played."""


def width_of(game: Game) -> int:
    """How many places a node has."""
    return -(-game.num_actions // 8) * 8


def bytes_per_node(game: Game, priors: bool = False) -> int:
    """What a node takes up."""
    return width_of(game) * (17 if priors else 13)


def new_tree(game: Game, capacity: int, priors: bool = False) -> SearchTree:
    """A tree without nodes, with room for `capacity`. Memory that is never used is never touched."""
    shape = (capacity, width_of(game))
    return SearchTree(
        np.empty(shape, np.int32),
        np.empty(shape, np.float32),
        np.empty(shape, np.int32),
        np.empty(shape, np.int8),
        np.empty(shape if priors else (0, shape[1]), np.float32),
        np.zeros(1, np.int64),
        choices_of(game),
        np.zeros((game.cells + 1, 2), np.int32),
    )


@functools.lru_cache(maxsize=64)
def choices_of(game: Game) -> npt.NDArray[np.int64]:
    """`Game.choice` of each action: int64 (num_actions,), shared by all trees."""
    return np.array([game.choice(action) for action in range(game.num_actions)], np.int64)


@borrowing_kernel
def add_node(game: Game, tree: SearchTree, own: int, opp: int) -> int:
    """Gives an unfinished position a node."""
    node = tree.size[0]
    tree.size[0] = node + 1
    for place in range(tree.visits.shape[1]):
        tree.visits[node, place] = 0
        tree.values[node, place] = -INFINITE
        tree.children[node, place] = 0
        tree.proven[node, place] = ILLEGAL
    legal = game.legal(own, opp)
    for action in range(game.num_actions):
        if legal & tree.choices[action]:
            tree.values[node, action] = INFINITE
            tree.proven[node, action] = OPEN
    return int(node)


@kernel
def transplant(tree: SearchTree, root: int, fresh: SearchTree) -> None:
    """Copies the subtree of node `root` into an empty tree, as far as there is room."""
    origins = np.empty(len(fresh.visits), np.int32)
    origins[0] = root
    fresh.size[0] = 1
    node = 0
    while node < fresh.size[0]:
        old = origins[node]
        fresh.visits[node] = tree.visits[old]
        fresh.values[node] = tree.values[old]
        fresh.proven[node] = tree.proven[old]
        if len(tree.priors):
            fresh.priors[node] = tree.priors[old]
        for place in range(tree.children.shape[1]):
            child = tree.children[old, place]
            fresh.children[node, place] = 0
            if child > 0 and fresh.size[0] < len(fresh.visits):
                fresh.children[node, place] = fresh.size[0]
                origins[fresh.size[0]] = child
                fresh.size[0] += 1
        node += 1
