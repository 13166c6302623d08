"""How a search chooses among a node's actions: by UCB1, or by PUCT where an evaluator gives priors."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from tictac_agents.mcts.rollouts import random_below
from tictac_agents.mcts.search_tree import INFINITY, SearchTree
from tictac_env.compiled import borrowing_kernel

INFINITY_BITS = 0x7F800000
"""The bits of the float32 `INFINITY`."""
LOGARITHMS = np.log(np.maximum(np.arange(1 << 14), 1)).astype(np.float32)


@borrowing_kernel
def select_uct(
    value_sums: npt.NDArray[np.float32], visits: npt.NDArray[np.int32], total: int, exploration: float, state: int
) -> tuple[int, int]:
    """The action of the highest mean + exploration * sqrt(ln(total) / visits), one at random if some are unvisited.

    Kocsis and Szepesvari, "Bandit based Monte-Carlo planning", 2006; UCB1 of Auer et al., 2002.

    A score plus 1 is not negative, and non-negative floats are in the order of their bits. So the bits and, below them,
    the action make a whole number, and one maximum over whole numbers, which the processor takes eight at a time, finds
    both the best score and its action, the lowest among equals:

        bits of score + 1 (32) | 63 - action (6)

    Args:
        value_sums: float32 (W,), a node's row of `SearchTree.value_sums`.
        visits: int32 (W,), its row of `SearchTree.visits`.
        total: how often the node was visited, at least 1.
        exploration: the constant of the formula, at least 0.
        state: of the randomness, which changes only if it is drawn from.

    Returns:
        The action and the state of the randomness.
    """
    logarithm = LOGARITHMS[total] if total < len(LOGARITHMS) else np.float32(math.log(total))
    factor = np.float32(np.float32(exploration * exploration) * logarithm)
    best = -1 << 40
    for action in range(len(value_sums)):
        count = np.float32(visits[action])
        score = np.float32((value_sums[action] + math.sqrt(factor * count)) / count + np.float32(1))
        key = int(np.int64(score.view(np.int32))) << 6 | 63 - action
        best = max(best, key)
    if best >> 6 != INFINITY_BITS:
        return 63 - (best & 63), state
    unvisited = 0
    for action in range(len(value_sums)):
        unvisited += value_sums[action] == INFINITY
    state, index = random_below(state, unvisited)
    action = 0
    while value_sums[action] != INFINITY or index > 0:
        index -= value_sums[action] == INFINITY
        action += 1
    return action, state


@borrowing_kernel
def select_puct(tree: SearchTree, node: int, total: int, exploration: float) -> int:
    """The action of the highest mean + exploration * prior * sqrt(total) / (1 + visits), the lowest among equals.

    The mean of an action without visits counts as 0; `total` is how often the node was visited. Silver et al.,
    "Mastering the game of Go without human knowledge", 2017.
    """
    value_sums, visits, priors = tree.value_sums[node], tree.visits[node], tree.priors[node]
    factor = np.float32(exploration * math.sqrt(total))
    best, selected = -INFINITY, 0
    for action in range(len(value_sums)):
        if value_sums[action] != -INFINITY:
            count = np.float32(visits[action])
            mean = value_sums[action] / count if count > 0 else np.float32(0)
            score = np.float32(mean + factor * priors[action] / (count + np.float32(1)))
            if score > best:
                best, selected = score, action
    return selected
