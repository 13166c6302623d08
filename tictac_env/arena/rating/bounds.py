"""What the games cannot tell: ratings that a perfect record leaves without a bound, and the bound on the other side.

Whoever wins every game has no rating of greatest likelihood: the stronger, the likelier (Ford, "Solution of a ranking
problem from binary comparisons", 1957; for logits in general Albert and Anderson, Biometrika 71, 1984).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.arena.rating.davidson import Davidson, Floats

LARGE = 1e-6


def unbounded(model: Davidson, counts: Floats, anchor: int) -> npt.NDArray[np.bool_]:
    """Whose strength, less the anchor's, the likelihood lets grow or fall without end: bool (P, 2), up and down.

    There is a greatest likelihood unless a direction exists in which no outcome that was seen becomes less likely.
    These directions form a cone; a linear program finds how far it leads each player from the anchor.

    Args:
        model: the players and pairings.
        counts: (C, 3), how often the first player won, drew and lost.
        anchor: the player whose strength is taken off.
    """
    from scipy.optimize import linprog

    size = model.players + 2
    utilities = np.zeros((len(model.pairings), 3, size))
    for cell, (first, second) in enumerate(model.pairings):
        utilities[cell, 0, [first, size - 2]] = utilities[cell, 2, second] = 0.5
        utilities[cell, 0, second] = utilities[cell, 2, [first]] = -0.5
        utilities[cell, 2, size - 2] = -0.5
        utilities[cell, 1, size - 1] = 1
    seen = [(cell, one) for cell, one in np.argwhere(counts > 0)]
    rows = [utilities[cell, other] - utilities[cell, one] for cell, one in seen for other in range(3) if other != one]
    found = np.zeros((model.players, 2), bool)
    for player in range(model.players):
        if player == anchor:
            continue
        for side, sign in enumerate((1, -1)):
            aim = np.zeros(size)
            aim[player], aim[anchor] = -sign, sign
            solved: Any = linprog(aim, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), bounds=(-1, 1))
            found[player, side] = -solved.fun > LARGE
    return found


def scored_against(model: Davidson, counts: Floats) -> npt.NDArray[np.bool_]:
    """Who drew or won a game against whom, or did so against one who did, and so on: bool (B, P, P).

    Where this does not lead from the anchor to a player, no rating bounds that player's from above.
    """
    reached = np.zeros((len(counts), model.players, model.players), bool)
    for cell, (first, second) in enumerate(model.pairings):
        reached[:, first, second] |= counts[:, cell, :2].sum(axis=1) > 0
        reached[:, second, first] |= counts[:, cell, 1:].sum(axis=1) > 0
    reached |= np.eye(model.players, dtype=bool)
    for _ in range(model.players.bit_length()):
        reached = np.matmul(reached.astype(np.float32), reached.astype(np.float32)) > 0
    return reached


def likelihood_bound(
    model: Davidson, counts: Floats, fitted: Floats, player: int, anchor: int, upper: bool, confidence: float
) -> float:
    """The bound of a player's strength less the anchor's on the side where there is one, by the likelihood ratio.

    Args:
        model: the players and pairings.
        counts: (C, 3), how often the first player won, drew and lost.
        fitted: (P + 2,), the parameters fitted to them.
        player: whose bound it is.
        anchor: the player whose strength is taken off.
        upper: whether the strength is unbounded below, so that its upper bound is asked for.
        confidence: of the two-sided interval whose one end this is.
    """
    from scipy.optimize import brentq
    from scipy.special import chdtri

    allowed = float(chdtri(1, 1 - confidence)) / 2
    one, sign = counts[None], 1 if upper else -1
    best = float(model.log_likelihood(one, fitted[None])[0])

    def excess(difference: float) -> float:
        held = model.fit(one, fitted, held=(player, anchor, difference))
        return best - float(model.log_likelihood(one, held)[0]) - allowed

    near = float(fitted[player] - fitted[anchor])
    reach = 1.0
    while excess(near + sign * reach) < 0:
        reach *= 2
    return float(brentq(excess, near, near + sign * reach, xtol=1e-4))
