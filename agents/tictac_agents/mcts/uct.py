"""What grows a search tree: choosing actions, ending games by playouts or an evaluator, passing results up."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.mcts.playouts import below, play_out
from tictac_agents.mcts.search_tree import INFINITE, OPEN, SearchTree, add_node
from tictac_env.compiled import borrowing_kernel
from tictac_env.games import UNFINISHED, Game

INFINITE_BITS = 0x7F800000
"""Of a float32."""
LOGARITHMS = np.log(np.maximum(np.arange(1 << 14), 1)).astype(np.float32)

RULE, RANDOM, STORED = 0, 1, 2
"""How a game goes on beyond the tree: by the win-or-block rule, randomly, or every position gets a node."""


class Rules(NamedTuple):
    """What a search goes by; `MCTS` explains the settings."""

    exploration: float
    draw: float
    solver: bool
    beyond: int


@borrowing_kernel
def select_uct(
    values: npt.NDArray[np.float32], visits: npt.NDArray[np.int32], total: int, exploration: float, state: int
) -> tuple[int, int]:
    """The action of the highest mean + exploration * sqrt(ln(total) / visits), one at random if some are unvisited.

    Kocsis and Szepesvari, "Bandit based Monte-Carlo planning", 2006; UCB1 of Auer et al., 2002. `values`
    and `visits` are a node's, `total` is how often it was visited.

    A score plus 1 is not negative, and non-negative floats are in the order of their bits. So the bits and, below them,
    the place make a whole number, and one maximum over whole numbers, which the processor takes eight at a time, is
    both the best score and where it stands, the lowest place among equals:

        bits of score + 1 (32) | 63 - place (6)
    """
    logarithm = LOGARITHMS[total] if total < len(LOGARITHMS) else np.float32(math.log(total))
    factor = np.float32(np.float32(exploration * exploration) * logarithm)
    best = -1 << 40
    for place in range(len(values)):
        count = np.float32(visits[place])
        score = np.float32((values[place] + math.sqrt(factor * count)) / count + np.float32(1))
        key = int(np.int64(score.view(np.int32))) << 6 | 63 - place
        best = max(best, key)
    if best >> 6 != INFINITE_BITS:
        return 63 - (best & 63), state
    unvisited = 0
    for place in range(len(values)):
        unvisited += values[place] == INFINITE
    state, index = below(state, unvisited)
    place = 0
    while values[place] != INFINITE or index > 0:
        index -= values[place] == INFINITE
        place += 1
    return place, state


@borrowing_kernel
def select_puct(tree: SearchTree, node: int, total: int, exploration: float) -> int:
    """The action of the highest mean + exploration * prior * sqrt(total) / (1 + visits); a mean without visits is 0.

    Silver et al., "Mastering the game of Go without human knowledge", 2017.
    """
    values, visits, priors = tree.values[node], tree.visits[node], tree.priors[node]
    factor = np.float32(exploration * math.sqrt(total))
    best, chosen = -INFINITE, 0
    for place in range(len(values)):
        if values[place] != -INFINITE:
            count = np.float32(visits[place])
            mean = values[place] / count if count > 0 else np.float32(0)
            score = np.float32(mean + factor * priors[place] / (count + np.float32(1)))
            if score > best:
                best, chosen = score, place
    return chosen


@borrowing_kernel
def descend(
    game: Game, tree: SearchTree, own: int, opp: int, total: int, rules: Rules, state: int
) -> tuple[int, int, int, int, int]:
    """Plays from the root to where the tree ends, and notes the way in `tree.path`.

    Returns:
        How many actions were played; the position after them; what is certain of it, for whoever played the last action
        (`OPEN` if nothing is); and the state of the randomness.
    """
    node, depth = 0, 0
    while True:
        if len(tree.priors):
            action = select_puct(tree, node, total, rules.exploration)
        else:
            action, state = select_uct(tree.values[node], tree.visits[node], total, rules.exploration, state)
        tree.path[depth, 0] = node
        tree.path[depth, 1] = action
        depth += 1
        own, opp = game.play_choice(own, opp, tree.choices[action])
        known = tree.proven[node, action]
        if known != OPEN:
            return depth, own, opp, int(known), state
        total = tree.visits[node, action] + 1
        if total == 1:
            result = game.result(own, opp)
            if result != UNFINISHED:
                tree.proven[node, action] = -result
                return depth, own, opp, -result, state
            if rules.beyond != STORED:
                return depth, own, opp, OPEN, state
        child = tree.children[node, action]
        if child == 0:
            if tree.size[0] == len(tree.visits) or len(tree.priors):
                return depth, own, opp, OPEN, state
            child = add_node(game, tree, own, opp)
            tree.children[node, action] = child
        node = child


@borrowing_kernel
def back_up(tree: SearchTree, path: npt.NDArray[np.int32], depth: int, value: float, draw: float, lost: float) -> None:
    """Adds the value of a game, for whoever played the last action of its way, to all moves of the way.

    A value of 0 counts as `draw`, for both sides. `lost` is what was taken off before the value was known, with a visit
    counted in advance; 0 if nothing was.
    """
    for ply in range(depth - 1, -1, -1):
        node, action = path[ply, 0], path[ply, 1]
        gain = np.float32(value if value != 0 else draw)
        if tree.visits[node, action] == 0:
            tree.values[node, action] = gain
        else:
            tree.values[node, action] += gain + np.float32(lost)
        if lost == 0:
            tree.visits[node, action] += 1
        value = -value


@borrowing_kernel
def back_up_proof(game: Game, tree: SearchTree, path: npt.NDArray[np.int32], depth: int) -> int:
    """Passes on what is certain of the last action of a way, as far as it decides the nodes before it.

    A node is won if one of its actions wins, and is worth the best of them once all are certain (Winands, Bjornsson and
    Saito, "Monte-Carlo tree search solver", 2008). No statistics are changed, and a move that is proven is chosen on as
    often as others of its mean, at no cost. Leaving refuted moves out of the average of their node, as is often done,
    made more mistakes in openings (docs/search.md).

    Returns:
        What is certain of the root, `OPEN` if nothing is.
    """
    for ply in range(depth - 1, -1, -1):
        node = path[ply, 0]
        best = -1
        for action in range(game.num_actions):
            known = tree.proven[node, action]
            if known == 1:
                best = 1
                break
            if known == OPEN:
                best = OPEN
            elif known == 0 and best == -1:
                best = 0
        if best == OPEN or ply == 0:
            return best
        tree.proven[path[ply - 1, 0], path[ply - 1, 1]] = -best
    return OPEN


@borrowing_kernel
def simulate(
    game: Game, tree: SearchTree, own: int, opp: int, simulations: int, rules: Rules, state: int
) -> tuple[int, int]:
    """Plays so many games from the root, fewer if it is proven; each adds to the statistics of its moves.

    Returns:
        How many games were played, and the state of the randomness.
    """
    total = 1
    for action in range(game.num_actions):
        total += tree.visits[0, action]
    for played in range(simulations):
        depth, leaf_own, leaf_opp, known, state = descend(game, tree, own, opp, total + played, rules, state)
        if known == OPEN:
            value, state = play_out(game, leaf_own, leaf_opp, rules.beyond == RULE, state)
            value = -value
        else:
            value = known
        back_up(tree, tree.path, depth, float(value), rules.draw, 0.0)
        if known != OPEN and rules.solver and back_up_proof(game, tree, tree.path, depth) != OPEN:
            return played + 1, state
    return simulations, state


@borrowing_kernel
def collect(
    game: Game,
    tree: SearchTree,
    own: int,
    opp: int,
    wanted: int,
    rules: Rules,
    state: int,
    paths: npt.NDArray[np.int32],
    leaves: npt.NDArray[np.int64],
) -> tuple[int, int, int]:
    """Plays `wanted` games as far as the tree goes. Those that end there are added; the others wait for a value.

    A game that waits counts as a loss of all its moves (a virtual loss), so that the next one goes elsewhere.

    `paths`, int32 (wanted, cells + 1, 2), is filled with the ways of those that wait; `leaves`, int64 (wanted, 3), with
    the depth, own and opp of their ends.

    Returns:
        How many games were played, how many of them wait, and the state of the randomness.
    """
    total = 1
    for action in range(game.num_actions):
        total += tree.visits[0, action]
    waiting = 0
    for played in range(wanted):
        depth, leaf_own, leaf_opp, known, state = descend(game, tree, own, opp, total + played, rules, state)
        if known == OPEN:
            leaves[waiting, 0] = depth
            leaves[waiting, 1] = leaf_own
            leaves[waiting, 2] = leaf_opp
            for ply in range(depth):
                node, action = tree.path[ply, 0], tree.path[ply, 1]
                paths[waiting, ply, 0] = node
                paths[waiting, ply, 1] = action
                if tree.visits[node, action] == 0:
                    tree.values[node, action] = np.float32(0)
                tree.values[node, action] -= np.float32(1)
                tree.visits[node, action] += 1
            waiting += 1
        else:
            back_up(tree, tree.path, depth, float(known), rules.draw, 0.0)
            if rules.solver and back_up_proof(game, tree, tree.path, depth) != OPEN:
                return played + 1, waiting, state
    return wanted, waiting, state


@borrowing_kernel
def deliver(
    game: Game,
    tree: SearchTree,
    path: npt.NDArray[np.int32],
    leaf: npt.NDArray[np.int64],
    value: float,
    priors: npt.NDArray[np.float32],
    rules: Rules,
) -> None:
    """Ends a game that `collect` left waiting: `value` and `priors` (num_actions,) are for the side to move there."""
    depth = leaf[0]
    back_up(tree, path, depth, -value, rules.draw, 1.0)
    node, action = path[depth - 1, 0], path[depth - 1, 1]
    if len(tree.priors) and tree.children[node, action] == 0 and tree.size[0] < len(tree.visits):
        child = add_node(game, tree, leaf[1], leaf[2])
        tree.children[node, action] = child
        for place in range(len(priors)):
            tree.priors[child, place] = priors[place]
