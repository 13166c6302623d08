"""Ratings: they recover known strengths, their intervals hold, and they say where the games set no bound."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from tictac_env.arena import Entrant, Estimate, Fixture, GameRecord, ratings
from tictac_env.arena.davidson import PENALTY, Davidson, scored_against
from tictac_env.arena.rating import ELO, _interval

Floats = npt.NDArray[np.float64]


def record(first: str, second: str, result: int, opening: int | str = 0, round: int = 0, why: str = "") -> GameRecord:
    fixture = Fixture("ConnectFour-v0", Entrant(first), Entrant(second), str(opening), round)
    return GameRecord(fixture, f"{opening}", result, why)


def results(first: str, second: str, outcomes: Sequence[int], begin: int = 0) -> list[GameRecord]:
    """A game from each of as many openings."""
    return [record(first, second, result, begin + number) for number, result in enumerate(outcomes)]


def everybody(players: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(players) for j in range(players) if i != j]


def naive_log_likelihood(parameters: Sequence[float], pairings: list[tuple[int, int]], counts: Floats) -> float:
    """Davidson's model as his paper writes it: strengths pi, the first player's multiplied by an advantage."""
    *thetas, gamma, log_nu = parameters
    total = 0.0
    for (i, j), seen in zip(pairings, counts, strict=True):
        one, two = math.exp(thetas[i] + gamma), math.exp(thetas[j])
        chances = np.array([one, math.exp(log_nu) * math.sqrt(one * two), two])
        total += float(seen @ np.log(chances / chances.sum()))
    return total


@given(st.integers(2, 5), st.integers(0, 2**32))
def test_the_fit_is_the_maximum_that_an_independent_search_finds(players: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairings = everybody(players)
    counts = rng.integers(0, 12, (len(pairings), 3)).astype(float)
    model = Davidson(pairings, players)
    found = model.fit(counts[None])[0]

    def height(parameters: Floats) -> float:
        return naive_log_likelihood(parameters, pairings, counts) - PENALTY / 2 * float(parameters @ parameters)

    best = minimize(lambda x: -height(x), np.zeros(players + 2), method="BFGS", options={"gtol": 1e-7})
    assert height(found) >= -best.fun - 1e-6
    assert model.log_likelihood(counts[None], found[None])[0] == pytest.approx(
        naive_log_likelihood(found, pairings, counts)
    )


@pytest.mark.slow
def test_intervals_contain_the_truth_as_often_as_they_say() -> None:
    """In 60 tournaments of known strengths. Each opening favours a side and suits some players better."""
    rng, names = np.random.default_rng(1), ["random", "a", "b", "c", "d"]
    pairings = everybody(len(names))
    model = Davidson(pairings, len(names))

    def chances(openings: int) -> Floats:
        parameters = np.tile(np.array([0.0, 1.2, 1.8, 2.6, 3.0, 0.3, -0.7]), (openings, 1))
        parameters[:, :-2] += 0.7 * rng.normal(size=(openings, len(names)))
        parameters[:, -2] += 1.5 * rng.normal(size=openings)
        return model.probabilities(parameters)

    fitted = model.fit(1e6 * chances(100_000).mean(axis=0)[None])[0, :-2]
    hits = []
    for number in range(60):
        drawn = (rng.random((49, len(pairings), 1)) > chances(49).cumsum(axis=2)).sum(axis=2)
        found = ratings(
            [
                record(names[i], names[j], 1 - int(drawn[opening, cell]), opening)
                for opening in range(49)
                for cell, (i, j) in enumerate(pairings)
            ],
            resamples=200,
            seed=number,
        )
        for name, true in zip(names[1:], ELO * (fitted[1:] - fitted[0]), strict=True):
            hits.append(found[name].elo.low <= true <= found[name].elo.high)
    assert 0.9 <= np.mean(hits) <= 0.99


def some_games(seed: int = 0, openings: int = 30) -> list[GameRecord]:
    """Games of three players, 0, 200 and 400 Elo points strong."""
    rng, names = np.random.default_rng(seed), ("random", "middle", "strong")
    model = Davidson(everybody(3), 3)
    chances = model.probabilities(np.array([[0, 200 / ELO, 400 / ELO, 0.2, -1]]))[0]
    return [
        record(names[i], names[j], 1 - int(rng.choice(3, p=chance)), opening)
        for opening in range(openings)
        for (i, j), chance in zip(everybody(3), chances, strict=True)
    ]


def test_ratings_tell_who_is_how_strong() -> None:
    found = ratings(some_games())
    assert found.names == ("strong", "middle", "random") and found.anchor == "random"
    for name, true in (("strong", 400), ("middle", 200)):
        value, low, high = found[name].elo
        assert low < value < high and low < true < high and high - low < 300
    assert found["random"].elo == Estimate(0, 0, 0)
    assert found.first_advantage.low < 0.2 * ELO < found.first_advantage.high
    assert found.draws.low < 1 / (1 + 2 * math.e) < found.draws.high
    assert (found.clusters, found.resampled_by) == (30, "openings")
    assert found["strong"].games == 120
    assert ratings(some_games()) != ratings(some_games(), seed=1)
    assert str(ratings(some_games())) == str(found)


def test_the_difference_of_two_players_has_an_interval_of_its_own() -> None:
    found = ratings(some_games())
    value, low, high = found.difference("strong", "middle")
    assert value == pytest.approx(found["strong"].elo.value - found["middle"].elo.value)
    anchored = ratings(some_games(), anchor="middle")["strong"].elo
    assert (value, low, high) == pytest.approx(anchored)
    assert found.difference("middle", "strong")[0] == -value
    assert found.difference("middle", "middle") == (0, 0, 0)
    with pytest.raises(KeyError, match="did you mean middle"):
        found.difference("strong", "midle")


def test_scores_expected_and_seen_stand_side_by_side() -> None:
    found = ratings(some_games())
    rows = {(row.player, row.opponent): row for row in found.cross_table()}
    assert len(rows) == 6 and all(row.games == 60 for row in rows.values())
    for (one, two), row in rows.items():
        assert row.score + rows[two, one].score == pytest.approx(1)
        assert row.expected == pytest.approx(row.score, abs=0.08)
    for one in found.names:  # at the greatest likelihood each player's expected points are those it has
        mine = [row for (player, _), row in rows.items() if player == one]
        assert sum(row.expected for row in mine) == pytest.approx(sum(row.score for row in mine), abs=1e-4)


def test_a_player_that_won_every_game_has_a_lower_bound_and_no_rating() -> None:
    """The bound is the likelihood ratio's: n games won by d have the likelihood (1 + exp(-d))**-n."""
    bounds = []
    for openings in (10, 40):
        games = results("best", "random", [1] * openings) + results("random", "best", [-1] * openings)
        value, low, high = ratings(games)["best"].elo
        assert (value, high) == (math.inf, math.inf)
        expected = -ELO * math.log(math.exp(3.8414588 / 2 / (2 * openings)) - 1)
        assert low == pytest.approx(expected, abs=0.5)
        bounds.append(low)
    assert bounds[1] > bounds[0]
    found = ratings(games)
    assert f"> +{bounds[1]:.0f}" in str(found)
    best, worst = found.table()
    assert best.elo is None and best.unbounded == "above" and worst.elo == 0 and worst.unbounded == ""
    assert json.loads(json.dumps(asdict(best), allow_nan=False)) == asdict(best)
    value, low, high = ratings(games, anchor="best")["random"].elo
    assert (value, low) == (-math.inf, -math.inf) and high == pytest.approx(-bounds[1])


def test_rounds_that_repeat_themselves_sharpen_no_bound() -> None:
    once = results("best", "random", [1] * 20)
    again = [record("best", "random", 1, number, round) for number in range(20) for round in range(5)]
    assert ratings(again)["best"].elo.low == pytest.approx(ratings(once)["best"].elo.low, abs=0.1)


def test_a_rating_that_hangs_on_one_opening_has_no_upper_bound() -> None:
    """Most resamples have the one opening from which `best` lost, but more than one in forty have not."""
    games = results("best", "random", [-1] + [1] * 29) + results("random", "best", [1] + [-1] * 29)
    value, low, high = ratings(games)["best"].elo
    assert 300 < low < value < high == math.inf
    assert "no bound" in str(ratings(games))


def test_what_the_games_do_not_tell_is_unknown() -> None:
    apart = results("random", "rule", [1, -1, 0, 1]) + results("rule", "random", [1, -1, 0, 1])
    found = ratings(apart + results("other", "another", [1, -1, 1, 1]))
    assert math.isnan(found["other"].elo.value) and math.isfinite(found["rule"].elo.value)
    assert found["other"].elo[1:] == (-math.inf, math.inf) and "unknown" in str(found)
    one_seat = ratings(results("rule", "random", [1, -1, 0, 1]))  # is it the player, or playing first?
    assert math.isnan(one_seat["rule"].elo.value)
    assert sorted(str(row.elo) for row in one_seat.table()) == ["0.0", "None"]


def test_a_draw_scores_against_a_player() -> None:
    model = Davidson([(0, 1), (1, 2)], 3)
    won_and_drawn = np.array([[[1.0, 0, 0], [0, 1, 0]]])
    assert scored_against(model, won_and_drawn)[0].tolist() == [[True] * 3, [False, True, True], [False, True, True]]


def test_one_opening_is_resampled_by_rounds_and_one_game_says_nothing() -> None:
    rng = np.random.default_rng(0)
    pairs = ("a", "random"), ("random", "a")
    games = [record(*pair, int(rng.choice((1, 0, -1))), "", round) for round in range(40) for pair in pairs]
    found = ratings(games)
    assert (found.resampled_by, found.clusters) == ("rounds", 40)
    assert math.isfinite(found["a"].elo.high)
    few = ratings([record("a", "random", 1), record("random", "a", 1)])
    assert few.clusters == 1 and few["a"].elo[1:] == (-math.inf, math.inf)


def test_percentiles_are_widened_as_few_openings_need_it() -> None:
    """From Student's quantiles, 2.776 and 2.262 at 4 and 9 degrees of freedom: 0.096 and 0.855 % in place of 2.5 %."""
    values = np.arange(100_001.0)
    for openings, tail in ((5, 96), (10, 855)):
        assert _interval(values, openings, 0.95) == pytest.approx((tail, 100_000 - tail), abs=1)


def test_forfeits_count_as_they_ended_and_are_shown() -> None:
    games = some_games()
    forfeits = [record("strong", "random", -1, number, why="time: more than 1 s") for number in range(30)]
    found = ratings(games + forfeits)
    assert found["strong"].forfeits == 30 and found["random"].forfeits == 0
    assert found["strong"].elo.value < ratings(games)["strong"].elo.value
    kept = [one for one in games + forfeits if not one.forfeit]
    assert str(ratings(kept)) == str(ratings(games))


def test_two_players_of_one_name_are_told_apart() -> None:
    young, old = (Entrant("net", "{}", sign * 64) for sign in "ab")
    other = Entrant("random")
    fixtures = [Fixture("TicTacToe-v0", one, other, str(n)) for n in range(8) for one in (young, old)]
    games = [GameRecord(fixture, "", 1 if number % 3 else -1) for number, fixture in enumerate(fixtures)]
    assert set(ratings(games).names) == {"net (aaaaaaaa)", "net (bbbbbbbb)", "random"}


def test_what_cannot_be_rated_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least two players"):
        ratings([])
    with pytest.raises(ValueError, match="no player is named 'rndom'; did you mean random"):
        ratings(some_games(), anchor="rndom")
    other = GameRecord(Fixture("TicTacToe-v0", Entrant("a"), Entrant("b"), ""), "", 1)
    with pytest.raises(ValueError, match="several games, ConnectFour-v0, TicTacToe-v0"):
        ratings([*some_games(), other])
    assert str(ratings([*some_games(), other], "ConnectFour-v0")) == str(ratings(some_games()))
    with pytest.raises(ValueError, match="no records of games of 'ConectFour-v0'; did you mean"):
        ratings(some_games(), "ConectFour-v0")
    with pytest.raises(FileNotFoundError, match=r"nothing\.sqlite"):
        ratings(tmp_path / "nothing.sqlite")
    assert not list(tmp_path.iterdir())
    for name, value in (("resamples", 0), ("confidence", 1.0), ("seed", -1)):
        with pytest.raises(ValueError, match=name):
            ratings(some_games(), **{name: value})  # type: ignore[arg-type]
