"""Ratings of players by their games: Elo points with intervals, by maximum likelihood.

The model is Bradley and Terry's with draws and an advantage of the first player. If i plays first and j second, they
win, draw and lose in proportion to exp(d / 2), nu and exp(-d / 2), with d = theta_i + gamma - theta_j: theta are the
players' strengths, gamma is the first player's advantage, and nu says how often equals draw. This is a multinomial
logit, so its log-likelihood is concave in (theta, gamma, log nu).

Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments", JASA 65, 1970;
the advantage as in Davidson and Beaver, "On extending the Bradley-Terry model to incorporate within-pair order
effects", Biometrics 33, 1977.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite, log, nan, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.arena.game_record import Entrant, GameRecord, distinct_games
from tictac_env.arena.outcomes import aligned_columns, percentage
from tictac_env.arena.probability import root, student_quantile
from tictac_env.checks import Floats, Ints, number, positive, whole
from tictac_env.games import did_you_mean

ELO = 400 / log(10)
"""Elo points in a unit of strength."""


class Estimate(NamedTuple):
    """A number and the ends of its interval; infinite if the games set no bound, nan if they say nothing.

    Example:
        >>> from tictac_env.arena import Estimate
        >>> Estimate(120.0, 80.0, float("inf")).high  # the games set no bound
        inf
    """

    value: float
    low: float
    high: float

    def text(self, form: str = "+z.0f", scale: float = 1.0) -> str:
        """The estimate as tables show it: "+123 (+98 to +150)"; "> +812" is a lower bound."""
        low, high = format(scale * self.low, form), format(scale * self.high, form)
        if isfinite(self.value):
            return f"{format(scale * self.value, form)} ({low} to {high})".replace("+inf", "no bound")
        return "unknown" if self.value != self.value else f"> {low}" if self.value > 0 else f"< {high}"

    def to_dict(self, name: str = "value") -> dict[str, float | None]:
        """The estimate for JSON, its value under a `name`; None if there is no bound."""
        return {key: end if isfinite(end) else None for key, end in zip((name, "low", "high"), self, strict=True)}


class PlayerRating(NamedTuple):
    """A player's rating, and the games it comes from.

    Example:
        >>> from tictac_env import round_robin
        >>> from tictac_env.arena import ratings
        >>> best = ratings(round_robin(["random", "rule"], games=10).games, resamples=20).players[0]
        >>> best.name, best.games, best.elo.value > 0
        ('rule', 10, True)
    """

    name: str
    elo: Estimate
    """Elo points above the anchor."""
    score: float
    """The mean result of its games, a draw counting half."""
    games: int
    distinct_games: int
    """The number of different ones; players that do not draw repeat themselves."""
    forfeits: int
    """The number of them lost by forfeit."""


@dataclass(frozen=True)
class Ratings:
    """Players by their strength, best first.

    Attributes:
        players: their ratings, best first.
        anchor: the player whose rating is 0.
        first_advantage: what it is worth to play first, in Elo points.
        draws: the share of draws between equals, if neither had the advantage of playing first.
        observed: float64 (P, P), the mean result of each player against each, in the order of `players`; nan if they
            have not met.
        expected: float64 (P, P), the mean result that the ratings predict for the same games.
        met: int64 (P, P), the number of games of each pair.
        clusters: the number of openings (or rounds) from which the intervals come.
        resampled_by: "openings" or, where all games are from one, "rounds".
        confidence: of the intervals.

    Example:
        >>> from tictac_env import round_robin
        >>> from tictac_env.arena import ratings
        >>> found = ratings(round_robin(["random", "rule"], games=10).games, resamples=20)
        >>> found.anchor, [player.name for player in found.players]
        ('random', ['rule', 'random'])
    """

    players: tuple[PlayerRating, ...]
    anchor: str
    first_advantage: Estimate
    draws: Estimate
    observed: Floats
    expected: Floats
    met: npt.NDArray[np.int64]
    clusters: int
    resampled_by: str
    confidence: float
    _resamples: Floats = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The players' names, best first."""
        return tuple(player.name for player in self.players)

    def __getitem__(self, name: str) -> PlayerRating:
        """A player's rating.

        Raises:
            KeyError: no player has that name.
        """
        return self.players[self._index(name)]

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise KeyError(f"no player is named {name!r}; {did_you_mean(name, self.names)}")
        return self.names.index(name)

    def difference(self, player: str, other: str) -> Estimate:
        """The Elo points by which one player is above another, with an interval of its own.

        This is narrower than the two players' intervals suggest, as these share what is uncertain about the anchor.

        Raises:
            KeyError: no player has that name.
        """
        first, second = self._index(player), self._index(other)
        with np.errstate(invalid="ignore"):  # two without a bound
            value = self.players[first].elo.value - self.players[second].elo.value
            spread = self._resamples[:, first] - self._resamples[:, second]
        if player == other:
            return Estimate(0.0, 0.0, 0.0)
        return Estimate(value, *_interval(spread, self.clusters, self.confidence))

    def table(self) -> list[dict[str, Any]]:
        """A row for each player, best first, for programs; None stands for no bound or an unknown rating."""
        return [
            {
                "player": player.name,
                **player.elo.to_dict("elo"),
                "unbounded": {inf: "above", -inf: "below"}.get(player.elo.value, ""),
                "score": player.score,
                "games": player.games,
                "distinct_games": player.distinct_games,
                "forfeits": player.forfeits,
            }
            for player in self.players
        ]

    def cross_table(self) -> list[dict[str, Any]]:
        """A row for each ordered pair of players that met: games, the score seen and the score expected."""
        return [
            {
                "player": self.names[player],
                "opponent": self.names[opponent],
                "games": int(self.met[player, opponent]),
                "score": float(self.observed[player, opponent]),
                "expected": float(self.expected[player, opponent]),
            }
            for player, opponent in np.argwhere(self.met).tolist()
        ]

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int | None = None) -> str:
        """The ratings as a table, which is divided by columns if its lines are longer than `width`, and two lines."""
        titles = ["player", f"Elo ({100 * self.confidence:g} %)", "score", "games", "distinct", "forfeits"]
        rows = [titles]
        for player in self.players:
            elo = "0" if player.name == self.anchor else player.elo.text()
            score = percentage(player.score)
            rows.append(
                [player.name, elo, score, f"{player.games:,}", f"{player.distinct_games:,}", f"{player.forfeits:,}"]
            )
        lines = aligned_columns(rows, left=2, width=width)
        draws, low, high = (100 * share for share in self.draws)
        equals = f"equals draw {draws:.1f} % ({low:.1f} to {high:.1f})"
        lines.append(f"To play first is worth {self.first_advantage.text()} Elo; {equals}.")
        lines.append(f"{self.anchor} is 0. Intervals are from {self.clusters} {self.resampled_by}, resampled.")
        return "\n".join(lines)


def ratings(
    games: Iterable[GameRecord] | str | os.PathLike[str],
    game: str | None = None,
    *,
    anchor: str | None = None,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Ratings:
    """Ratings by maximum likelihood: Bradley and Terry's model with draws (Davidson 1970) and an advantage of the first
    player.

    Intervals are bootstrapped over openings: games from one opening share what is odd about it, so whole openings are
    drawn again, with all their games; if all games are from one, its rounds are. The percentiles are widened as few
    openings need it (Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69, 2015).

    A player that won every game has no finite maximum-likelihood rating. No prior invents one here: the rating is
    infinite, and its lower end is a bound from the likelihood ratio, rounds of the same opening together counting as
    one game. The same holds if no chain of results leads to the anchor and back.

    Forfeited games count as they ended. Leave them out by `ratings(one for one in games if not one.forfeit)`.

    Args:
        games: records of games, a `Tournament`, a `ResultStore`, or the path of one.
        game: the name of the game whose records count; needed if there are several.
        anchor: the player whose rating is 0; unless given "random" if it played, else the weakest.
        resamples: the number of times that the openings are drawn again.
        confidence: of the intervals.
        seed: of the resampling.

    Raises:
        FileNotFoundError: there is no such store.
        ValueError: there are no games of at least two players, or they are of several games; no player is named
            `anchor`; or a number is out of its range.

    Example:
        >>> from tictac_env.arena import round_robin
        >>> found = ratings(round_robin(["random", "rule", "minimax"], games=40))
        >>> found.names, found["random"].elo.value
        (('minimax', 'rule', 'random'), 0.0)
    """
    resamples, seed = positive("resamples", resamples), whole("seed", seed)
    number("confidence", confidence, 0.5, 0.9999)
    records = _of_one_game(_read(games), game)
    names = player_names(records)
    labels = list(names.values())
    pairings, counts, resampled_by = _counted(records, list(names))
    model, total, clusters = Davidson(pairings, len(names)), counts.sum(axis=0), len(counts)
    fitted = model.fit(total[None])[0]
    if anchor is None:
        anchor = "random" if "random" in labels else labels[int(np.argmin(fitted[:-2]))]
    elif anchor not in labels:
        raise ValueError(f"no player is named {anchor!r}; {did_you_mean(anchor, labels)}")
    base = labels.index(anchor)

    drawn = np.random.default_rng(seed).multinomial(clusters, np.full(clusters, 1 / clusters), resamples)
    again = (drawn @ counts.reshape(clusters, -1)).reshape(resamples, *total.shape)
    parameters = model.fit(again, fitted)
    spread = _above(model, again, parameters, base)

    def estimate(value: float, values: Floats) -> Estimate:
        return Estimate(float(value), *_interval(values, clusters, confidence))

    games_of_cell = counts.sum(axis=2)
    weights = ((games_of_cell > 0).sum(axis=0) / games_of_cell.sum(axis=0))[:, None]  # a cell's games of one opening: 1
    estimates = []
    for player, elo in enumerate(_above(model, total[None], fitted[None], base)[0].tolist()):
        if player == base:
            estimates.append(Estimate(0.0, 0.0, 0.0))
        elif elo in (inf, -inf):
            bound = ELO * likelihood_bound(model, total * weights, fitted, player, base, elo < 0, confidence)
            estimates.append(Estimate(elo, -inf, bound) if elo < 0 else Estimate(elo, bound, inf))
        else:
            estimates.append(estimate(elo, spread[:, player]))
    rated = _player_ratings(records, names, estimates)
    best_first = np.argsort(-fitted[:-2], kind="stable")
    order = np.ix_(best_first, best_first)
    observed, expected, met = (of_pair[order] for of_pair in _scores(model, total, fitted))

    def draw_share(log_nu: Any) -> Any:
        return 1 / (1 + 2 * np.exp(-log_nu))

    return Ratings(
        players=tuple(rated[player] for player in best_first.tolist()),
        anchor=anchor,
        first_advantage=estimate(ELO * fitted[-2], ELO * parameters[:, -2]),
        draws=estimate(draw_share(fitted[-1]), draw_share(parameters[:, -1])),
        observed=observed,
        expected=expected,
        met=met.astype(np.int64),
        clusters=clusters,
        resampled_by=resampled_by,
        confidence=confidence,
        _resamples=spread[:, best_first],
    )


def _read(games: Iterable[GameRecord] | str | os.PathLike[str]) -> list[GameRecord]:
    if not isinstance(games, (str, os.PathLike)):
        return list(games)
    from tictac_env.arena.store import ResultStore

    if not os.path.exists(games):
        raise FileNotFoundError(f"there is no store {os.fspath(games)!r}")
    with ResultStore(games) as store:
        return list(store)


def _of_one_game(records: list[GameRecord], game: str | None) -> list[GameRecord]:
    games = list(dict.fromkeys(record.fixture.game for record in records))
    if game is not None and game not in games:
        raise ValueError(f"there are no records of games of {game!r}; {did_you_mean(game, games)}")
    if game is None and len(games) > 1:
        raise ValueError(f"the records are of several games, {', '.join(games)}: say which by `game`")
    return [record for record in records if game is None or record.fixture.game == game]


def player_names(records: Iterable[GameRecord]) -> dict[Entrant, str]:
    """The names of all players of some games: if several share one, with a part of the checkpoint's hash or a number.

    Raises:
        ValueError: there are fewer than two.
    """
    entrants = sorted({side for record in records for side in (record.fixture.first, record.fixture.second)})
    if len(entrants) < 2:
        raise ValueError(f"ratings need games of at least two players, not of {len(entrants)}")
    names: dict[Entrant, str] = {}
    for entrant in entrants:
        several = sum(other.name == entrant.name for other in entrants) > 1
        name = f"{entrant.name} ({entrant.checkpoint[:8]})" if several and entrant.checkpoint else entrant.name
        number = sum(other.partition(" #")[0] == name for other in names.values())
        names[entrant] = f"{name} #{number + 1}" if number else name
    return names


def _counted(records: Sequence[GameRecord], entrants: Sequence[Entrant]) -> tuple[Ints, Floats, str]:
    """The pairings that were played, (C, 2); from each opening, the numbers of games that the first player of each won,
    drew and lost, (openings, C, 3); and "openings", or "rounds" if these take their place, as all games are from one
    opening.
    """
    number = {entrant: index for index, entrant in enumerate(entrants)}
    played = [record.fixture for record in records]
    by_opening = len({fixture.opening for fixture in played}) > 1
    # In order, so that the resampling does not depend on the order in which the games ended.
    cells, cell = np.unique(
        [(number[fixture.first], number[fixture.second]) for fixture in played], axis=0, return_inverse=True
    )
    of_cluster = [fixture.opening if by_opening else fixture.round for fixture in played]
    clusters, cluster = np.unique(of_cluster, return_inverse=True)
    counts = np.zeros((len(clusters), len(cells), 3))
    np.add.at(counts, (cluster, cell.reshape(-1), np.array([1 - record.result for record in records])), 1)
    return cells.astype(np.int64), counts, "openings" if by_opening else "rounds"


def _player_ratings(
    records: Sequence[GameRecord], names: dict[Entrant, str], estimates: Sequence[Estimate]
) -> list[PlayerRating]:
    played: dict[Entrant, list[GameRecord]] = {entrant: [] for entrant in names}
    for record in records:
        for entrant in (record.fixture.first, record.fixture.second):
            played[entrant].append(record)
    rated = []
    for (entrant, name), elo in zip(names.items(), estimates, strict=True):
        results = [
            (1 + record.result if record.fixture.first == entrant else 1 - record.result) / 2
            for record in played[entrant]
        ]
        lost = sum(bool(record.forfeit) and not result for record, result in zip(played[entrant], results, strict=True))
        score = sum(results) / len(results)
        rated.append(PlayerRating(name, elo, score, len(results), distinct_games(played[entrant]), lost))
    return rated


def _scores(model: Davidson, total: Floats, fitted: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean results of each player against each, seen and expected, and the numbers of games: (P, P) each."""
    points = np.array([1.0, 0.5, 0.0])
    games = total.sum(axis=1)
    means, met = np.zeros((2, model.players, model.players)), np.zeros((model.players, model.players))
    first, second = model.pairings.T
    predicted = games * (model.probabilities(fitted[None])[0] @ points)
    for mean, score in zip(means, (total @ points, predicted), strict=True):
        np.add.at(mean, (first, second), score)
        np.add.at(mean, (second, first), games - score)
    np.add.at(met, (first, second), games)
    met += met.T
    with np.errstate(invalid="ignore"):
        observed, expected = means / met
    return observed, expected, met


def _above(model: Davidson, counts: Floats, parameters: Floats, base: int) -> Floats:
    """The Elo points of the players above the anchor `base`, by B sets of results and the parameters fitted to them:
    (B, P); infinite if the results set no bound, nan if they say nothing.

    A player is bounded from above if a chain of results leads from the anchor to it, each player of the chain having
    scored against the next, and from below if one leads back (Ford, "Solution of a ranking problem from binary
    comparisons", 1957). They say nothing if neither is so, or no games tell its strength from the advantage of playing
    first.
    """
    strengths = parameters[:, :-2]
    points = ELO * (strengths - strengths[:, [base]])
    reached = scored_against(model, counts)
    down, up = reached[:, base, :], reached[:, :, base]
    points[up & ~down] = inf
    points[down & ~up] = -inf
    points[(~down & ~up) | model.confounded(base)] = nan
    return points


def _interval(values: Floats, clusters: int, confidence: float) -> tuple[float, float]:
    """The ends of a bootstrap interval, percentiles of the resampled values; infinite if nothing bounds them."""
    if clusters < 2:
        return -inf, inf
    wider = sqrt(clusters / (clusters - 1)) * student_quantile(clusters - 1, confidence)
    tail = NormalDist().cdf(-wider)
    low = np.quantile(np.where(np.isnan(values), -inf, values), tail, method="lower")
    return float(low), float(np.quantile(np.where(np.isnan(values), inf, values), 1 - tail, method="higher"))


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

    def confounded(self, anchor: int) -> npt.NDArray[np.bool_]:
        """True for players whose strength, less the anchor's, no pairings tell from the other parameters: bool (P,)."""
        differences = (np.eye(self.players + 1)[:-1] - np.eye(self.players + 1)[anchor]).T
        projected = self.design.T @ np.linalg.lstsq(self.design.T, differences, rcond=None)[0]
        confounded: npt.NDArray[np.bool_] = np.abs(projected - differences).max(axis=0) > LARGE
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


def scored_against(model: Davidson, counts: Floats) -> npt.NDArray[np.bool_]:
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
