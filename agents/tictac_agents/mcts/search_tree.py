"""A search tree in flat arrays, for compiled code.

A move's statistics stand in the node it is played from, a node's moves side by side: eight moves, padded, have their
visits in half a cache line of 64 bytes and their values in the other half, and are compared all at once. A move gets a
node of its own when it is played for the second time. There are no transpositions: a position that two orders of moves
lead to has two nodes.

An action that was never played has 0 visits and the value +inf, so that it comes first by the very formula that
compares the others. An illegal one has 0 visits and the value -inf.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.compiled import borrowing_kernel, kernel
from tictac_env.games import Game

UNPROVEN = 2
"""In `SearchTree.proven`: nothing is known for sure."""
ILLEGAL_ACTION = 3
"""In `SearchTree.proven`: the position has no such action."""
INFINITY = np.float32(np.inf)


class SearchTree(NamedTuple):
    """The tree, whose root is node 0. W is num_actions rounded up to a multiple of 8.

    Results count 1 for a win and -1 for a loss of the side that plays the action.
    """

    visits: npt.NDArray[np.int32]
    """(capacity, W): how often each action was played."""
    value_sums: npt.NDArray[np.float32]
    """(capacity, W): the sum of the results that followed; divided by the visits it is the action's value."""
    children: npt.NDArray[np.int32]
    """(capacity, W): the node each action leads to, 0 if there is none."""
    proven: npt.NDArray[np.int8]
    """(capacity, W): -1, 0 or 1 where the result is certain, else `UNPROVEN` or `ILLEGAL_ACTION`."""
    priors: npt.NDArray[np.float32]
    """(capacity, W): an evaluator's probabilities of the actions; (0, W) without them."""
    size: npt.NDArray[np.int64]
    """(1,): how many nodes are in use."""
    action_bits: npt.NDArray[np.int64]
    """(num_actions,): `Game.choice` of each action, which it is quicker to look up."""
    path: npt.NDArray[np.int32]
    """(cells + 1, 2): scratch, the nodes and actions of the simulation under way."""


def width_of(game: Game) -> int:
    """W, how many actions a node has room for."""
    return -(-game.num_actions // 8) * 8


def bytes_per_node(game: Game, priors: bool = False) -> int:
    """How many bytes a node takes."""
    return width_of(game) * (17 if priors else 13)


def new_tree(game: Game, capacity: int, priors: bool = False) -> SearchTree:
    """A tree without nodes, with room for `capacity`. Memory that is never used is never touched."""
    shape = (capacity, width_of(game))
    return SearchTree(
        visits=np.empty(shape, np.int32),
        value_sums=np.empty(shape, np.float32),
        children=np.empty(shape, np.int32),
        proven=np.empty(shape, np.int8),
        priors=np.empty(shape if priors else (0, shape[1]), np.float32),
        size=np.zeros(1, np.int64),
        action_bits=action_bits_of(game),
        path=np.zeros((game.cells + 1, 2), np.int32),
    )


@functools.lru_cache(maxsize=64)
def action_bits_of(game: Game) -> npt.NDArray[np.int64]:
    """`Game.choice` of each action: int64 (num_actions,), shared by all trees."""
    return np.array([game.choice(action) for action in range(game.num_actions)], np.int64)


@borrowing_kernel
def add_node(game: Game, tree: SearchTree, own: int, opp: int) -> int:
    """Adds a node for an unfinished position and returns its number. There must be room for it."""
    node = tree.size[0]
    tree.size[0] = node + 1
    for action in range(tree.visits.shape[1]):
        tree.visits[node, action] = 0
        tree.value_sums[node, action] = -INFINITY
        tree.children[node, action] = 0
        tree.proven[node, action] = ILLEGAL_ACTION
    legal = game.legal(own, opp)
    for action in range(game.num_actions):
        if legal & tree.action_bits[action]:
            tree.value_sums[node, action] = INFINITY
            tree.proven[node, action] = UNPROVEN
    return int(node)


@kernel
def copy_subtree(tree: SearchTree, root: int, fresh: SearchTree) -> None:
    """Copies the subtree of node `root` into the empty tree `fresh`, as far as there is room."""
    origins = np.empty(len(fresh.visits), np.int32)
    origins[0] = root
    fresh.size[0] = 1
    node = 0
    while node < fresh.size[0]:
        old = origins[node]
        fresh.visits[node] = tree.visits[old]
        fresh.value_sums[node] = tree.value_sums[old]
        fresh.proven[node] = tree.proven[old]
        if len(tree.priors):
            fresh.priors[node] = tree.priors[old]
        for action in range(tree.children.shape[1]):
            child = tree.children[old, action]
            fresh.children[node, action] = 0
            if child > 0 and fresh.size[0] < len(fresh.visits):
                fresh.children[node, action] = fresh.size[0]
                origins[fresh.size[0]] = child
                fresh.size[0] += 1
        node += 1
