"""Intervals of means: Wilson's where he gave one, and as wide as they must be elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from tictac_env.arena import WinDrawLoss
from tictac_env.arena.outcomes import mean_interval, percentage


@pytest.mark.parametrize(("wins", "losses"), [(0, 7), (1, 9), (30, 12), (5, 0), (400, 600)])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_yes_or_no_is_wilsons(wins: int, losses: int, confidence: float) -> None:
    expected = pytest.approx(tuple(binomtest(wins, wins + losses).proportion_ci(confidence, "wilson")))
    assert mean_interval(np.repeat([1.0, 0.0], (wins, losses)), confidence) == expected
    assert WinDrawLoss(wins, 0, losses).score_interval(confidence) == expected


def test_draws_narrow_the_interval() -> None:
    decided, drawn = WinDrawLoss(70, 0, 30), WinDrawLoss(50, 40, 10)
    assert decided.score == drawn.score == 0.7
    (low, high), (drawn_low, drawn_high) = decided.score_interval(), drawn.score_interval()
    assert low < drawn_low < 0.7 < drawn_high < high


def test_nothing_but_draws_or_nothing_at_all_proves_little() -> None:
    low, high = WinDrawLoss(0, 4, 0).score_interval()
    assert low < 0.2 and high > 0.8
    assert WinDrawLoss(0, 0, 0).score_interval() == (0, 1)


@pytest.mark.parametrize("chances", [(0.5, 0.4, 0.1), (0.2, 0.6, 0.2), (0.02, 0.03, 0.95)])
@pytest.mark.parametrize("games", [50, 300])
def test_the_score_is_held_as_often_as_said(chances: tuple[float, float, float], games: int) -> None:
    rng, trials = np.random.default_rng(0), 1000
    truth = chances[0] + chances[1] / 2
    held = 0
    for counts in rng.multinomial(games, chances, trials):
        low, high = WinDrawLoss(*map(int, counts)).score_interval()
        held += low <= truth <= high
    assert 0.93 < held / trials < 0.98


def test_rounding_does_no_harm() -> None:
    almost = np.full(100, 1.0)
    almost[:50] -= 1e-16
    almost[50:60] += 2.3e-16
    assert mean_interval(almost) == pytest.approx(mean_interval(np.ones(100)))


@pytest.mark.parametrize(
    ("share", "interval", "shown"),
    [
        (0.123, (0.1, 0.2), "12.3 % (10.0-20.0)"),
        (0.9996, (0.999, 0.9998), "99.96 % (99.90-99.98)"),
        (1.0, (0.722, 1.0), "100.0 % (72.2-100.0)"),
        (0.0, (0.0, 0.0003), "0.00 % (0.00-0.03)"),
        (0.0, None, "0.0 %"),
        (0.0004, None, "0.04 %"),
    ],
)
def test_rounding_never_claims_all_or_nothing(share: float, interval: tuple[float, float] | None, shown: str) -> None:
    assert percentage(share, interval) == shown
    assert str(WinDrawLoss(9_996, 3, 1)).startswith("won 99.96 % (99.90-99.98), drawn 0.03 %")
