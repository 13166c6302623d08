"""Ratings of players by their games: Elo points with intervals, what the ratings explain, and what they do not."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite, log, nan, sqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.arena.davidson import Davidson, Floats, likelihood_bound, scored_against, unbounded
from tictac_env.arena.game_record import Entrant, GameRecord, distinct_games
from tictac_env.arena.outcomes import aligned, percentage
from tictac_env.checks import number, positive, whole
from tictac_env.games import did_you_mean

ELO = 400 / log(10)
"""Elo points in a unit of strength."""


class Estimate(NamedTuple):
    """A number and the ends of its interval; infinite where the games set no bound, nan where they say nothing.

    Example:
        >>> from tictac_env.arena import Estimate
        >>> Estimate(120.0, 80.0, float("inf")).high  # the games set no bound
        inf
    """

    value: float
    low: float
    high: float

    def text(self, form: str = "+z.0f", scale: float = 1.0) -> str:
        """As tables show it: "+123 (+98 to +150)"; "> +812" where there is no upper bound."""
        low, high = format(scale * self.low, form), format(scale * self.high, form)
        if isfinite(self.value):
            return f"{format(scale * self.value, form)} ({low} to {high})".replace("+inf", "no bound")
        return "unknown" if self.value != self.value else f"> {low}" if self.value > 0 else f"< {high}"


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
    """How many different ones; players that do not draw repeat themselves."""
    forfeits: int
    """How many of them it lost by forfeit."""


@dataclass(frozen=True)
class Ratings:
    """Players by their strength, best first.

    Attributes:
        players: their ratings, best first.
        anchor: the player whose rating is 0.
        first_advantage: what it is worth to play first, in Elo points.
        draws: the share of draws between equals, if neither had the advantage of playing first.
        observed: float64 (P, P), the mean result of each player against each, as they stand in `players`; nan where
            they have not met.
        expected: float64 (P, P), the mean result that the ratings predict for the same games.
        met: int64 (P, P), how many games each pair played.
        clusters: how many openings (or rounds) the intervals come from.
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
            KeyError: nobody is called so.
        """
        return self.players[_index(self.names, name)]

    def difference(self, player: str, other: str) -> Estimate:
        """By how many Elo points one player is above another, with an interval of its own.

        This is narrower than the two players' intervals suggest, as these share what is uncertain about the anchor.

        Raises:
            KeyError: nobody is called so.
        """
        one, two = _index(self.names, player), _index(self.names, other)
        with np.errstate(invalid="ignore"):  # two without a bound
            value = self.players[one].elo.value - self.players[two].elo.value
            spread = self._resamples[:, one] - self._resamples[:, two]
        if player == other:
            return Estimate(0.0, 0.0, 0.0)
        return Estimate(value, *_interval(spread, self.clusters, self.confidence))

    def table(self) -> list[dict[str, Any]]:
        """A row a player, best first, for programs; None stands for what has no bound or is unknown."""
        return [
            {
                "player": one.name,
                **{name: value if isfinite(value) else None for name, value in zip(NUMBERS, one.elo, strict=True)},
                "unbounded": {inf: "above", -inf: "below"}.get(one.elo.value, ""),
                "score": one.score,
                "games": one.games,
                "distinct_games": one.distinct_games,
                "forfeits": one.forfeits,
            }
            for one in self.players
        ]

    def cross_table(self) -> list[dict[str, Any]]:
        """A row for each ordered pair of players that met: games, the score seen and the score expected."""
        return [
            {
                "player": self.names[one],
                "opponent": self.names[two],
                "games": int(self.met[one, two]),
                "score": float(self.observed[one, two]),
                "expected": float(self.expected[one, two]),
            }
            for one, two in np.argwhere(self.met).tolist()
        ]

    def __str__(self) -> str:
        titles = ["player", f"Elo ({100 * self.confidence:g} %)", "score", "games", "distinct", "forfeits"]
        rows = [titles]
        for one in self.players:
            elo = "0" if one.name == self.anchor else one.elo.text()
            score = percentage(one.score)
            rows.append([one.name, elo, score, f"{one.games:,}", f"{one.distinct_games:,}", f"{one.forfeits:,}"])
        lines = aligned(rows, left=2)
        lines.append(f"To play first is worth {self.first_advantage.text()} Elo; equals draw {self._draws_text()}.")
        lines.append(f"{self.anchor} is 0. Intervals are from {self.clusters} {self.resampled_by}, resampled.")
        return "\n".join(lines)

    def _draws_text(self) -> str:
        value, low, high = (100 * share for share in self.draws)
        return f"{value:.1f} % ({low:.1f} to {high:.1f})"


NUMBERS = ("elo", "low", "high")


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
    drawn again, with all their games; where all games are from one, its rounds are. The percentiles are widened as few
    openings need it (Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69, 2015).

    A player that won every game has no rating of greatest likelihood. No prior invents one here: the rating is
    infinite, and its lower end is where the likelihood ratio puts it, rounds of the same opening together counting as
    one game. So it is too where no chain of results leads to the anchor and back.

    Forfeited games count as they ended. Leave them out by `ratings(one for one in games if not one.forfeit)`.

    Args:
        games: records of games, a `Tournament`, a `ResultStore`, or the path of one.
        game: the name of the game whose records count; needed where there are several.
        anchor: the player whose rating is 0; unless given "random" if it played, else the weakest.
        resamples: how many times the openings are drawn again.
        confidence: of the intervals.
        seed: of the resampling.

    Raises:
        FileNotFoundError: there is no such store.
        ValueError: there are no games of at least two players, or they are of several games; nobody is called `anchor`;
            or a number is out of its range.

    Example:
        >>> from tictac_env.arena import round_robin
        >>> found = ratings(round_robin(["random", "rule", "minimax"], games=40))
        >>> found.names, found["random"].elo.value
        (('minimax', 'rule', 'random'), 0.0)
    """
    resamples, seed = positive("resamples", resamples), whole("seed", seed)
    number("confidence", confidence, 0.5, 0.9999)
    records = of_one_game(read_records(games), game)
    counted = count_games(records)
    names, counts = counted.names, counted.counts
    model, total, clusters = Davidson(counted.pairings, len(names)), counts.sum(axis=0), len(counts)
    fitted = model.fit(total[None])[0]
    base = _anchor(list(names.values()), anchor, fitted)
    ends = unbounded(model, total, base)

    drawn = np.random.default_rng(seed).multinomial(clusters, np.full(clusters, 1 / clusters), resamples)
    again = (drawn @ counts.reshape(clusters, -1)).reshape(resamples, *total.shape).astype(np.float64)
    parameters = model.fit(again, fitted)
    spread = _relative(model, again, parameters, base)

    estimates = []
    for player in range(len(names)):
        value = ELO * float(fitted[player] - fitted[base])
        if player == base:
            estimates.append(Estimate(0.0, 0.0, 0.0))
        elif ends[player].all():
            estimates.append(Estimate(nan, -inf, inf))
        elif ends[player].any():
            below = bool(ends[player, 1])
            bound = ELO * likelihood_bound(model, total * counted.weights, fitted, player, base, below, confidence)
            estimates.append(Estimate(-inf, -inf, bound) if below else Estimate(inf, bound, inf))
        else:
            estimates.append(Estimate(value, *_interval(spread[:, player], clusters, confidence)))
    rated = _player_ratings(records, names, estimates)
    best_first = np.argsort(-fitted[:-2], kind="stable")
    observed, expected, met = _scores(model, total, fitted)
    order = np.ix_(best_first, best_first)
    labels = tuple(names.values())
    return Ratings(
        players=tuple(rated[one] for one in best_first.tolist()),
        anchor=labels[base],
        first_advantage=_estimate(ELO * fitted[-2], ELO * parameters[:, -2], clusters, confidence),
        draws=_estimate(_draw_share(fitted[-1]), _draw_share(parameters[:, -1]), clusters, confidence),
        observed=observed[order],
        expected=expected[order],
        met=met[order],
        clusters=clusters,
        resampled_by=counted.counted_by,
        confidence=confidence,
        _resamples=spread[:, best_first],
    )


def _anchor(names: Sequence[str], anchor: str | None, fitted: Floats) -> int:
    if anchor is None:
        return names.index("random") if "random" in names else int(np.argmin(fitted[:-2]))
    if anchor not in names:
        raise ValueError(f"nobody is called {anchor!r}; {did_you_mean(anchor, names)}")
    return names.index(anchor)


def _index(names: Sequence[str], name: str) -> int:
    if name not in names:
        raise KeyError(f"nobody is called {name!r}; {did_you_mean(name, names)}")
    return names.index(name)


def _relative(model: Davidson, counts: Floats, parameters: Floats, base: int) -> Floats:
    """The ratings of each resample, infinite where its games set no bound: (B, P)."""
    strengths = parameters[:, :-2]
    found = ELO * (strengths - strengths[:, [base]])
    reached = scored_against(model, counts)
    down, up = reached[:, base, :], reached[:, :, base]
    found[up & ~down] = inf
    found[down & ~up] = -inf
    found[~down & ~up] = nan
    return found


def _interval(values: Floats, clusters: int, confidence: float) -> tuple[float, float]:
    """The ends of a bootstrap interval, percentiles of the resampled values; infinite where nothing bounds them."""
    from scipy.special import ndtr, stdtrit

    if clusters < 2:
        return -inf, inf
    tail = float(ndtr(sqrt(clusters / (clusters - 1)) * stdtrit(clusters - 1, (1 - confidence) / 2)))
    low = np.quantile(np.where(np.isnan(values), -inf, values), tail, method="lower")
    return float(low), float(np.quantile(np.where(np.isnan(values), inf, values), 1 - tail, method="higher"))


def _estimate(value: float, values: Floats, clusters: int, confidence: float) -> Estimate:
    return Estimate(float(value), *_interval(values, clusters, confidence))


def _draw_share(log_nu: Any) -> Any:
    return 1 / (1 + 2 * np.exp(-log_nu))


def _scores(model: Davidson, total: Floats, fitted: Floats) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    """The mean results of each player against each, seen and expected, and the numbers of games."""
    points = np.array([1.0, 0.5, 0.0])
    games = total.sum(axis=1)
    seen = total @ points
    predicted = games * (model.probabilities(fitted[None])[0] @ points)
    found, met = np.zeros((2, model.players, model.players)), np.zeros((model.players, model.players))
    first, second = model.pairings.T
    for one, score in zip(found, (seen, predicted), strict=True):
        np.add.at(one, (first, second), score)
        np.add.at(one, (second, first), games - score)
    np.add.at(met, (first, second), games)
    met += met.T
    with np.errstate(invalid="ignore"):
        observed, expected = found / met
    return observed, expected, met.astype(np.int64)


def _player_ratings(
    records: Sequence[GameRecord], names: Mapping[Entrant, str], estimates: Sequence[Estimate]
) -> list[PlayerRating]:
    found = []
    played: dict[Entrant, list[GameRecord]] = {entrant: [] for entrant in names}
    for record in records:
        for entrant in (record.fixture.first, record.fixture.second):
            played[entrant].append(record)
    for (entrant, name), elo in zip(names.items(), estimates, strict=True):
        results = [(1 + one.result if one.fixture.first == entrant else 1 - one.result) / 2 for one in played[entrant]]
        lost = sum(bool(one.forfeit) and not result for one, result in zip(played[entrant], results, strict=True))
        score = sum(results) / len(results)
        found.append(PlayerRating(name, elo, score, len(results), distinct_games(played[entrant]), lost))
    return found


class CountedGames(NamedTuple):
    """Games of P players, counted."""

    names: dict[Entrant, str]
    """What each of the players is called."""
    pairings: npt.NDArray[np.int64]
    """(C, 2): who played first and who second, as numbers of players; each pairing that was played once."""
    counts: Floats
    """(openings, C, 3): from each opening, how often the first player won, drew and lost."""
    counted_by: str
    """"openings" or, where all games are from one opening, "rounds", which then take their place."""

    @property
    def weights(self) -> Floats:
        """(C, 1): what a game counts if those of a pairing from one opening count as one together."""
        games = self.counts.sum(axis=2)
        weights: Floats = (games > 0).sum(axis=0) / games.sum(axis=0)
        return weights[:, None]


def read_records(games: Iterable[GameRecord] | str | os.PathLike[str]) -> list[GameRecord]:
    """The records in a list, a tournament, a store, or the file of one.

    Raises:
        FileNotFoundError: there is no such file.
    """
    if not isinstance(games, (str, os.PathLike)):
        return list(games)
    from tictac_env.arena.store import ResultStore

    if not os.path.exists(games):
        raise FileNotFoundError(f"there is no store {os.fspath(games)!r}")
    with ResultStore(games) as store:
        return list(store)


def of_one_game(records: list[GameRecord], game: str | None) -> list[GameRecord]:
    """The records of the game of that name, which need not be given if there is only one.

    Raises:
        ValueError: there are none, or there are several games and none is given.
    """
    found = list(dict.fromkeys(record.fixture.game for record in records))
    if game is not None and game not in found:
        raise ValueError(f"there are no records of games of {game!r}; {did_you_mean(game, found)}")
    if game is None and len(found) > 1:
        raise ValueError(f"the records are of several games, {', '.join(found)}: say which by `game`")
    return [record for record in records if game is None or record.fixture.game == game]


def count_games(records: Sequence[GameRecord]) -> CountedGames:
    """Counts games.

    Raises:
        ValueError: they are not of at least two players.
    """
    names = _names(records)
    number = {entrant: index for index, entrant in enumerate(names)}
    played = [one.fixture for one in records]
    by_opening = len({one.opening for one in played}) > 1
    of_cluster = [one.opening if by_opening else one.round for one in played]
    of_cell = [(number[one.first], number[one.second]) for one in played]
    # In order, so that the resampling does not depend on the order in which the games ended.
    cells, cell = np.unique(of_cell, axis=0, return_inverse=True)
    clusters, cluster = np.unique(of_cluster, return_inverse=True)
    counts = np.zeros((len(clusters), len(cells), 3))
    outcome = np.array([1 - record.result for record in records])
    np.add.at(counts, (cluster, cell.reshape(-1), outcome), 1)
    return CountedGames(names, cells.astype(np.int64), counts, "openings" if by_opening else "rounds")


def _names(records: Sequence[GameRecord]) -> dict[Entrant, str]:
    """What to call each player: by its name or, where several have the same, with a part of its checkpoint's hash or a
    number.

    Raises:
        ValueError: there are fewer than two.
    """
    entrants = sorted({side for record in records for side in (record.fixture.first, record.fixture.second)})
    if len(entrants) < 2:
        raise ValueError(f"ratings need games of at least two players, not of {len(entrants)}")
    names: dict[Entrant, str] = {}
    for entrant in entrants:
        several = sum(one.name == entrant.name for one in entrants) > 1
        name = f"{entrant.name} ({entrant.checkpoint[:8]})" if several and entrant.checkpoint else entrant.name
        number = sum(one.partition(" #")[0] == name for one in names.values())
        names[entrant] = f"{name} #{number + 1}" if number else name
    return names
