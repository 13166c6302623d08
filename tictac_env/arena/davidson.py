"""The model behind ratings: Bradley and Terry's with draws and an advantage of the first player, and its likelihood.

If i plays first and j second, they win, draw and lose in proportion to exp(d / 2), nu and exp(-d / 2), with
d = theta_i + gamma - theta_j: theta are the players' strengths, gamma is the first player's advantage, and nu says how
often equals draw. This is a multinomial logit, so its log-likelihood is concave in (theta, gamma, log nu).

Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments", JASA 65, 1970;
the advantage as in Davidson and Beaver, "On extending the Bradley-Terry model to incorporate within-pair order
effects", Biometrics 33, 1977.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from tictac_env.arena.probability import root
from tictac_env.arrays import Bools, Floats, Ints

PENALTY = 1e-4
"""Half of this, times the sum of the squared parameters, is taken off the log-likelihood: then one maximum exists for
any games. It moves an estimate that exists without it by less than a tenth of an Elo point, even if it depends on a
single game."""
LARGEST_STEP = 5.0
SETTLED = 1e-9
MAX_ITERATIONS = 200
LARGE = 1e-6


class Davidson:
    """The likelihood of games between P players in C pairings, for B sets of results at once.

    `counts` are float64 (B, C, 3): the games that the first player of each pairing won, drew and lost (any weights of
    at least 0); `parameters` float64 (B, P + 2): the strengths, gamma and log nu, in natural units.

    Args:
        pairings: int (C, 2), who plays first and who second, each a number in [0, P).
        players: P.
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

    def confounded(self, anchor: int) -> Bools:
        """True for players whose strength, less the anchor's, no pairings tell from the other parameters: bool (P,)."""
        differences = (np.eye(self.players + 1)[:-1] - np.eye(self.players + 1)[anchor]).T
        projected = self.design.T @ np.linalg.lstsq(self.design.T, differences, rcond=None)[0]
        confounded: Bools = np.abs(projected - differences).max(axis=0) > LARGE
        return confounded

    def probabilities(self, parameters: Floats) -> Floats:
        """The chances of the first player of each pairing to win, draw and lose: float64 (B, C, 3)."""
        utilities = self._utilities(parameters)
        weights: Floats = np.exp(utilities - utilities.max(axis=2, keepdims=True))
        chances: Floats = weights / weights.sum(axis=2, keepdims=True)
        return chances

    def log_likelihood(self, counts: Floats, parameters: Floats) -> Floats:
        """The log-likelihood of each set of results, without the penalty: float64 (B,)."""
        utilities = self._utilities(parameters)
        highest = utilities.max(axis=2, keepdims=True)
        log_sum = highest + np.log(np.exp(utilities - highest).sum(axis=2, keepdims=True))
        values: Floats = (counts * (utilities - log_sum)).sum(axis=(1, 2))
        return values

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

        The search begins at `begin`, (P + 2,) or (B, P + 2), else at 0. `held`, two players and the difference of their
        strengths, keeps this difference.
        """
        counts = np.asarray(counts, np.float64)
        parameters = np.zeros((len(counts), self.players + 2))
        if begin is not None:
            parameters += begin
        free = np.eye(self.players + 2)
        if held is not None:
            player, other, difference = held
            parameters[:, player] = parameters[:, other] + difference
            free[other] += free[player]  # the two move together
            free = np.delete(free, player, axis=0)
        going = np.arange(len(counts))
        height = self._height(counts, parameters)
        for _ in range(MAX_ITERATIONS):
            here, some = parameters[going], counts[going]
            gradient, information = self.derivatives(some, here)
            gradient -= PENALTY * here
            information += PENALTY * np.eye(self.players + 2)
            reduced = free @ information @ free.T
            step = np.linalg.solve(reduced, (gradient @ free.T)[:, :, None])[:, :, 0] @ free
            size = np.abs(step).max(axis=1)
            step *= np.minimum(1, LARGEST_STEP / np.maximum(size, SETTLED))[:, None]
            parameters[going], height[going] = self._climb(some, here, step, height[going])
            going = going[size > SETTLED]
            if not len(going):
                break
        return parameters

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
        squares: Floats = (parameters**2).sum(axis=1)
        return self.log_likelihood(counts, parameters) - PENALTY / 2 * squares

    def _utilities(self, parameters: Floats) -> Floats:
        """The chances of a win, a draw and a loss as logarithms, but for a common term: float64 (B, C, 3)."""
        difference = parameters[:, :-1] @ self.design.T
        drawn = np.broadcast_to(parameters[:, -1:], difference.shape)
        utilities: Floats = np.stack([difference / 2, drawn, -difference / 2], axis=2)
        return utilities


def scored_against(model: Davidson, counts: Floats) -> Bools:
    """True if a player scored against another, or against one that did, and so on: bool (B, P, P)."""
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
    """The upper or lower bound of a player's strength less the anchor's, by the likelihood ratio.

    `counts` are one set of results, (C, 3), and `fitted` the parameters fitted to them, (P + 2,).
    """
    allowed = NormalDist().inv_cdf((1 + confidence) / 2) ** 2 / 2  # this square has the chi-squared distribution
    results, sign = counts[None], 1 if upper else -1
    best = float(model.log_likelihood(results, fitted[None])[0])

    def excess(difference: float) -> float:
        held = model.fit(results, fitted, held=(player, anchor, difference))
        return best - float(model.log_likelihood(results, held)[0]) - allowed

    near = float(fitted[player] - fitted[anchor])
    reach = 1.0
    while excess(near + sign * reach) < 0:
        reach *= 2
    return root(excess, near, near + sign * reach, 1e-6)
