"""The simulations of a search: select a leaf, expand the tree, evaluate the leaf, back its value up.

`simulate` is the whole of it where leaves are evaluated by compiled code (`leaves.py`). Where an evaluator in Python is
asked, which is best asked about many leaves at once, `select_leaves` and `backup_leaf` are its two halves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.mcts.leaves import Leaves
from tictac_agents.mcts.search_tree import UNPROVEN, SearchTree, add_node
from tictac_agents.mcts.selection import select_puct, select_uct
from tictac_env.compiled import borrowing_kernel
from tictac_env.games import UNFINISHED, Game


class SearchParams(NamedTuple):
    """The settings of a search that its simulations need; `MCTS` explains them."""

    exploration: float
    draw: float
    solver: bool
    stored: bool
    """Whether a game goes on in the tree to its very end, each position getting a node at once."""


class Leaf(NamedTuple):
    """Where the selection of a simulation ended."""

    depth: int
    """How many actions were selected."""
    own: int
    opp: int
    """The position after them."""
    proven: int
    """The result, 1, 0 or -1, for the side that played the last action, where it is certain; else `UNPROVEN`."""


@borrowing_kernel
def simulate(
    game: Game,
    tree: SearchTree,
    own: int,
    opp: int,
    simulations: int,
    params: SearchParams,
    leaves: Leaves,
    state: int,
) -> tuple[int, int]:
    """Runs `simulations` from the root, fewer if it is proven. Each updates the statistics of its moves.

    Returns:
        How many simulations it ran, and the state of the randomness.
    """
    total = root_visits(game, tree)
    for done in range(simulations):
        leaf, state = select_leaf(game, tree, own, opp, total + done, params, state)
        if leaf.proven == UNPROVEN:
            value, state = leaves.leaf_value(game, leaf.own, leaf.opp, state)
            value = -value
        else:
            value = float(leaf.proven)
        backup(tree, tree.path, leaf.depth, value, params.draw, 0.0)
        certain = leaf.proven != UNPROVEN and params.solver
        if certain and backup_proven(game, tree, tree.path, leaf.depth) != UNPROVEN:
            return done + 1, state
    return simulations, state


@borrowing_kernel
def root_visits(game: Game, tree: SearchTree) -> int:
    """How often the root was visited, the visit it was added by included."""
    total = 1
    for action in range(game.num_actions):
        total += tree.visits[0, action]
    return total


@borrowing_kernel
def select_leaf(
    game: Game, tree: SearchTree, own: int, opp: int, total: int, params: SearchParams, state: int
) -> tuple[Leaf, int]:
    """Selects actions from the root to a leaf and notes the nodes and actions in `tree.path`.

    The leaf is a position that is finished, proven or visited for the first time; or the first without a node where
    none can be added now (the tree is full, or the node needs an evaluator's priors).

    Returns:
        The leaf and the state of the randomness.
    """
    node, depth = 0, 0
    while True:
        if len(tree.priors):
            action = select_puct(tree, node, total, params.exploration)
        else:
            action, state = select_uct(tree.value_sums[node], tree.visits[node], total, params.exploration, state)
        tree.path[depth, 0] = node
        tree.path[depth, 1] = action
        depth += 1
        own, opp = game.play_choice(own, opp, tree.action_bits[action])
        proven = int(tree.proven[node, action])
        if proven != UNPROVEN:
            break
        total = tree.visits[node, action] + 1
        if total == 1:
            result = game.result(own, opp)
            if result != UNFINISHED:
                proven = -result
                tree.proven[node, action] = proven
                break
            if not params.stored:
                break
        child = tree.children[node, action]
        if child == 0:
            if tree.size[0] == len(tree.visits) or len(tree.priors):
                break
            child = expand(game, tree, node, action, own, opp)
        node = child
    return Leaf(depth, own, opp, proven), state


@borrowing_kernel
def expand(game: Game, tree: SearchTree, node: int, action: int, own: int, opp: int) -> int:
    """Adds a node for the position that an action leads to, and returns its number."""
    child = add_node(game, tree, own, opp)
    tree.children[node, action] = child
    return child


@borrowing_kernel
def backup(
    tree: SearchTree, path: npt.NDArray[np.int32], depth: int, value: float, draw: float, virtual_loss: float
) -> None:
    """Adds the value of a leaf to the statistics of all moves that led to it.

    Args:
        tree: the tree.
        path: int32 (depth or more, 2), the nodes and actions.
        depth: how many there are.
        value: for the side that played the last action, in [-1, 1].
        draw: what a value of 0 counts, for both sides.
        virtual_loss: what `add_virtual_loss` took off each move, which then has its visit already; else 0.
    """
    for ply in range(depth - 1, -1, -1):
        node, action = path[ply, 0], path[ply, 1]
        gain = np.float32(value if value != 0 else draw)
        if tree.visits[node, action] == 0:
            tree.value_sums[node, action] = gain
        else:
            tree.value_sums[node, action] += gain + np.float32(virtual_loss)
        if virtual_loss == 0:
            tree.visits[node, action] += 1
        value = -value


@borrowing_kernel
def backup_proven(game: Game, tree: SearchTree, path: npt.NDArray[np.int32], depth: int) -> int:
    """Passes the certain result of the last action of a path up, as far as it decides the nodes before it.

    A node is won if one of its actions wins, and has the result of its best action once all are certain (Winands,
    Bjornsson and Saito, "Monte-Carlo tree search solver", 2008). The statistics stay as they are, and a proven action
    goes on being selected as often as others of its mean, at no cost. Leaving refuted moves out of the average of their
    node, as is often done, made more mistakes in openings (docs/search.md).

    Returns:
        What is proven of the root: 1, 0, -1 or `UNPROVEN`.
    """
    for ply in range(depth - 1, -1, -1):
        node = path[ply, 0]
        best = -1
        for action in range(game.num_actions):
            proven = tree.proven[node, action]
            if proven == 1:
                best = 1
                break
            if proven == UNPROVEN:
                best = UNPROVEN
            elif proven == 0 and best == -1:
                best = 0
        if best == UNPROVEN or ply == 0:
            return best
        tree.proven[path[ply - 1, 0], path[ply - 1, 1]] = -best
    return UNPROVEN


@borrowing_kernel
def select_leaves(
    game: Game,
    tree: SearchTree,
    own: int,
    opp: int,
    wanted: int,
    params: SearchParams,
    state: int,
    paths: npt.NDArray[np.int32],
    leaves: npt.NDArray[np.int64],
) -> tuple[int, int, int]:
    """Begins `wanted` simulations, fewer if the root is proven. Those that end in a certain result are backed up; the
    others wait to be evaluated, each with a virtual loss, so that the next one goes elsewhere.

    Args:
        game: the rule book.
        tree: the tree.
        own: the root's position.
        opp: see `own`.
        wanted: how many.
        params: the settings.
        state: of the randomness.
        paths: int32 (wanted, cells + 1, 2), filled with the paths of those that wait.
        leaves: int64 (wanted, 3), filled with the depth, own and opp of their leaves.

    Returns:
        How many simulations it began, how many of them wait, and the state of the randomness.
    """
    total = root_visits(game, tree)
    waiting = 0
    for done in range(wanted):
        leaf, state = select_leaf(game, tree, own, opp, total + done, params, state)
        if leaf.proven == UNPROVEN:
            leaves[waiting, 0] = leaf.depth
            leaves[waiting, 1] = leaf.own
            leaves[waiting, 2] = leaf.opp
            for ply in range(leaf.depth):
                paths[waiting, ply, 0] = tree.path[ply, 0]
                paths[waiting, ply, 1] = tree.path[ply, 1]
            add_virtual_loss(tree, leaf.depth)
            waiting += 1
        else:
            backup(tree, tree.path, leaf.depth, float(leaf.proven), params.draw, 0.0)
            if params.solver and backup_proven(game, tree, tree.path, leaf.depth) != UNPROVEN:
                return done + 1, waiting, state
    return wanted, waiting, state


@borrowing_kernel
def add_virtual_loss(tree: SearchTree, depth: int) -> None:
    """Counts a visit, and a loss until its value is known, for the `depth` moves of `tree.path`."""
    for ply in range(depth):
        node, action = tree.path[ply, 0], tree.path[ply, 1]
        if tree.visits[node, action] == 0:
            tree.value_sums[node, action] = np.float32(0)
        tree.value_sums[node, action] -= np.float32(1)
        tree.visits[node, action] += 1


@borrowing_kernel
def backup_leaf(
    game: Game,
    tree: SearchTree,
    path: npt.NDArray[np.int32],
    leaf: npt.NDArray[np.int64],
    value: float,
    priors: npt.NDArray[np.float32],
    params: SearchParams,
) -> None:
    """Ends a simulation that `select_leaves` left waiting.

    Args:
        game: the rule book.
        tree: the tree.
        path: its row of `paths`.
        leaf: its row of `leaves`.
        value: of the leaf, for the side to move there.
        priors: float32 (num_actions,), of the leaf, which gets a node by them; (0,) without priors.
        params: the settings.
    """
    depth = leaf[0]
    backup(tree, path, depth, -value, params.draw, 1.0)
    node, action = path[depth - 1, 0], path[depth - 1, 1]
    if len(tree.priors) and tree.children[node, action] == 0 and tree.size[0] < len(tree.visits):
        child = expand(game, tree, node, action, leaf[1], leaf[2])
        for reply in range(len(priors)):
            tree.priors[child, reply] = priors[reply]
