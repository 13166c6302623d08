"""Ratings of players by their games: Elo points by maximum likelihood, with bootstrap intervals."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf, isinf, log, nan, sqrt
from statistics import NormalDist

import numpy as np

from tictac_env.arena import report
from tictac_env.arena.davidson import Davidson, likelihood_bound, scored_against
from tictac_env.arena.game_record import Entrant, GameRecord, distinct_games
from tictac_env.arena.probability import student_quantile
from tictac_env.arena.records import Estimate, PairRow, PlayerRating, RatingRow
from tictac_env.arrays import Floats, Ints
from tictac_env.checks import number, positive, whole
from tictac_env.games import did_you_mean

ELO = 400 / log(10)
"""Elo points in a unit of strength."""


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
    met: Ints
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

    def table(self) -> list[RatingRow]:
        """A row for each player, best first."""
        return [player.row for player in self.players]

    def cross_table(self) -> list[PairRow]:
        """A row for each ordered pair of players that met."""
        return [
            PairRow(
                self.names[player],
                self.names[opponent],
                int(self.met[player, opponent]),
                float(self.observed[player, opponent]),
                float(self.expected[player, opponent]),
            )
            for player, opponent in np.argwhere(self.met).tolist()
        ]

    def __str__(self) -> str:
        lines = report.rating_lines(self.players, self.anchor, self.confidence)
        lines.append(report.seats_line(self.first_advantage, self.draws))
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
    clusters, total = len(counts), counts.sum(axis=0)

    # Fit: the parameters of greatest likelihood, and the Elo points above the anchor.
    model = Davidson(pairings, len(names))
    fitted = model.fit(total[None])[0]
    if anchor is None:
        anchor = "random" if "random" in labels else labels[int(np.argmin(fitted[:-2]))]
    elif anchor not in labels:
        raise ValueError(f"no player is named {anchor!r}; {did_you_mean(anchor, labels)}")
    base = labels.index(anchor)
    points = _above(model, total[None], fitted[None], base)[0].tolist()

    # Bootstrap: the same for openings drawn again.
    drawn = np.random.default_rng(seed).multinomial(clusters, np.full(clusters, 1 / clusters), resamples)
    resampled = (drawn @ counts.reshape(clusters, -1)).reshape(resamples, *total.shape)
    parameters = model.fit(resampled, fitted)
    spread = _above(model, resampled, parameters, base)

    def estimate(value: float, values: Floats) -> Estimate:
        return Estimate(float(value), *_interval(values, clusters, confidence))

    # Bounds: by the likelihood ratio if the rating is infinite; a cell's games of one opening count as one.
    games_of_cell = counts.sum(axis=2)
    weighted = total * ((games_of_cell > 0).sum(axis=0) / games_of_cell.sum(axis=0))[:, None]

    def estimate_of(player: int) -> Estimate:
        if player == base:
            return Estimate(0.0, 0.0, 0.0)
        if not isinf(elo := points[player]):
            return estimate(elo, spread[:, player])
        bound = ELO * likelihood_bound(model, weighted, fitted, player, base, elo < 0, confidence)
        return Estimate(elo, -inf, bound) if elo < 0 else Estimate(elo, bound, inf)

    rated = _player_ratings(records, names, [estimate_of(player) for player in range(len(names))])
    best_first = np.argsort(-fitted[:-2], kind="stable")
    order = np.ix_(best_first, best_first)
    observed, expected, met = (of_pair[order] for of_pair in _scores(model, total, fitted))
    return Ratings(
        players=tuple(rated[player] for player in best_first.tolist()),
        anchor=anchor,
        first_advantage=estimate(ELO * fitted[-2], ELO * parameters[:, -2]),
        draws=estimate(_draw_share(fitted[-1:])[0], _draw_share(parameters[:, -1])),
        observed=observed,
        expected=expected,
        met=met.astype(np.int64),
        clusters=clusters,
        resampled_by=resampled_by,
        confidence=confidence,
        _resamples=spread[:, best_first],
    )


def _draw_share(log_nu: Floats) -> Floats:
    return 1 / (1 + 2 * np.exp(-log_nu))


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
