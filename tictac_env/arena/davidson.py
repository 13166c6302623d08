"""The model behind ratings: Bradley and Terry's with draws, as Davidson extended it, fitted by maximum likelihood.

Where i plays first and j second, they win, draw and lose in proportion to exp(d / 2), nu and exp(-d / 2), with
d = theta_i + gamma - theta_j: theta are the players' strengths, gamma is the first player's advantage, and nu says how
often equals draw. This is a multinomial logit, so its log-likelihood is concave in (theta, gamma, log nu).

Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments", JASA 65, 1970;
the advantage as in Davidson and Beaver, "On extending the Bradley-Terry model to incorporate within-pair order
effects", Biometrics 33, 1977.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PENALTY = 1e-4
"""Half of this, times the sum of the squared parameters, is taken off the log-likelihood: then one maximum exists for
any games. It moves an estimate that exists without it by less than a tenth of an Elo point, even if it hangs on a
single game."""
LARGEST_STEP = 5.0
SETTLED = 1e-9
MAX_ITERATIONS = 200
LARGE = 1e-6


class Davidson:
    """The likelihood of games between some players, for many sets of results at once.

    All methods take and give B sets at a time: `counts` float64 (B, C, 3), how often the first player of each of the C
    pairings won, drew and lost (any weights of at least 0), and `parameters` float64 (B, P + 2): the strengths of the P
    players, gamma and log nu, in natural units (`elo` = 400 / ln 10 of them).

    Args:
        pairings: int (C, 2), who plays first and who second, each a number in [0, P).
        players: P, how many there are.
    """

    def __init__(self, pairings: npt.ArrayLike, players: int) -> None:
        self.pairings: Ints = np.asarray(pairings, np.int64).reshape(-1, 2)
        self.players = players
        cells = np.arange(len(self.pairings))
        self.design = np.zeros((len(cells), players + 1))  # of d, by theta and gamma
        self.design[cells, self.pairings[:, 0]] += 1
        self.design[cells, self.pairings[:, 1]] -= 1
        self.design[:, players] = 1
        size = players + 1
        self._products = (self.design[:, :, None] * self.design[:, None, :]).reshape(-1, size * size)

    def probabilities(self, parameters: Floats) -> Floats:
        """How likely the first player of each pairing wins, draws and loses: float64 (B, C, 3)."""
        utilities = self._utilities(parameters)
        weights: Floats = np.exp(utilities - utilities.max(axis=2, keepdims=True))
        found: Floats = weights / weights.sum(axis=2, keepdims=True)
        return found

    def log_likelihood(self, counts: Floats, parameters: Floats) -> Floats:
        """The log-likelihood of each set of results, without the penalty: float64 (B,)."""
        utilities = self._utilities(parameters)
        highest = utilities.max(axis=2, keepdims=True)
        log_sum = highest + np.log(np.exp(utilities - highest).sum(axis=2, keepdims=True))
        found: Floats = (counts * (utilities - log_sum)).sum(axis=(1, 2))
        return found

    def derivatives(self, counts: Floats, parameters: Floats) -> tuple[Floats, Floats]:
        """The gradient (B, P + 2) of the log-likelihood, and the negative of its Hessian (B, P + 2, P + 2)."""
        size = self.players + 1
        wins, draws, losses = np.moveaxis(self.probabilities(parameters), 2, 0)
        games = counts.sum(axis=2)
        by_d = (counts[:, :, 0] - counts[:, :, 2] - games * (wins - losses)) / 2
        gradient = np.empty((len(counts), size + 1))
        gradient[:, :size] = by_d @ self.design
        gradient[:, size] = (counts[:, :, 1] - games * draws).sum(axis=1)
        information = np.empty((len(counts), size + 1, size + 1))
        by_dd = games * (wins + losses - (wins - losses) ** 2) / 4
        information[:, :size, :size] = (by_dd @ self._products).reshape(-1, size, size)
        information[:, :size, size] = (-games * draws * (wins - losses) / 2) @ self.design
        information[:, size, :size] = information[:, :size, size]
        information[:, size, size] = (games * draws * (1 - draws)).sum(axis=1)
        return gradient, information

    def fit(
        self, counts: npt.ArrayLike, begin: Floats | None = None, held: tuple[int, int, float] | None = None
    ) -> Floats:
        """The parameters of greatest penalised likelihood, by Newton's method with halved steps: float64 (B, P + 2).

        Args:
            counts: float64 (B, C, 3).
            begin: where the search begins, (P + 2,) or (B, P + 2); at 0 unless given.
            held: two players and the difference of their strengths, which is then kept as it is.
        """
        counts = np.asarray(counts, np.float64)
        found = np.zeros((len(counts), self.players + 2))
        if begin is not None:
            found += begin
        free = np.eye(self.players + 2)
        if held is not None:
            player, other, difference = held
            found[:, player] = found[:, other] + difference
            free[other] += free[player]  # the two move together
            free = np.delete(free, player, axis=0)
        going = np.arange(len(counts))
        height = self._height(counts, found)
        for _ in range(MAX_ITERATIONS):
            here, some = found[going], counts[going]
            gradient, information = self.derivatives(some, here)
            gradient -= PENALTY * here
            information += PENALTY * np.eye(self.players + 2)
            reduced = free @ information @ free.T
            step = np.linalg.solve(reduced, (gradient @ free.T)[:, :, None])[:, :, 0] @ free
            size = np.abs(step).max(axis=1)
            step *= np.minimum(1, LARGEST_STEP / np.maximum(size, SETTLED))[:, None]
            found[going], height[going] = self._climb(some, here, step, height[going])
            going = going[size > SETTLED]
            if not len(going):
                break
        return found

    def _climb(self, counts: Floats, here: Floats, step: Floats, height: Floats) -> tuple[Floats, Floats]:
        """The points after a step, or after as many halves of it as it takes not to descend, and their heights."""
        there, reached = here + step, height.copy()
        low = np.arange(len(here))
        for halves in range(40):
            reached[low] = self._height(counts[low], there[low])
            low = low[reached[low] < height[low] - 1e-12 * np.abs(height[low])]
            if not len(low):
                break
            there[low] = here[low] + step[low] / 2 ** (halves + 1)
        return there, reached

    def _height(self, counts: Floats, parameters: Floats) -> Floats:
        """The penalised log-likelihood."""
        squares: Floats = (parameters**2).sum(axis=1)
        return self.log_likelihood(counts, parameters) - PENALTY / 2 * squares

    def _utilities(self, parameters: Floats) -> Floats:
        """The logarithms of what the chances of a win, a draw and a loss are in proportion to: float64 (B, C, 3)."""
        difference = parameters[:, :-1] @ self.design.T
        drawn = np.broadcast_to(parameters[:, -1:], difference.shape)
        utilities: Floats = np.stack([difference / 2, drawn, -difference / 2], axis=2)
        return utilities


def unbounded(model: Davidson, counts: Floats, anchor: int) -> npt.NDArray[np.bool_]:
    """Players whose strength, less the anchor's, the games leave without a bound: bool (P, 2), above and below.

    A player is bounded from above if a chain of results leads from the anchor to it, each player of the chain having
    scored against the next, and from below if one leads back (Ford, "Solution of a ranking problem from binary
    comparisons", 1957). Without games that tell a player's strength from the advantage of playing first, both are True.

    Args:
        model: the players and pairings.
        counts: (C, 3), how often the first player won, drew and lost.
        anchor: the player whose strength is taken off.
    """
    reached = scored_against(model, counts[None])[0]
    ends = ~np.stack([reached[anchor], reached[:, anchor]], axis=1)
    differences = np.eye(model.players + 1)[:-1] - np.eye(model.players + 1)[anchor]
    known = model.design.T @ np.linalg.lstsq(model.design.T, differences.T, rcond=None)[0]
    ends[np.abs(known - differences.T).max(axis=0) > LARGE] = True
    return ends


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
