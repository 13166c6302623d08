"""The boards' randomness: within its range, reproducible for ever, and as good as random where it is used."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chisquare

from tictac_env.rng import STATES, STEP, advance, mix, new_state, position_seed

DRAWS = 100_000
UNLIKELY = 1e-4


def draws(seed: int, count: int = DRAWS) -> npt.NDArray[np.int64]:
    """The first draws of a board."""
    values = np.empty(count, np.int64)
    state = new_state(seed)
    for i in range(count):
        state = advance(state)
        values[i] = mix(state)
    return values


def p_value(values: npt.NDArray[np.int64], kinds: int) -> float:
    """How likely a uniform draw from range(kinds) is to be at least as uneven as these values."""
    return float(chisquare(np.bincount(values, minlength=kinds)).pvalue)


@pytest.fixture(scope="module", params=[0, 1])
def stream(request: pytest.FixtureRequest) -> npt.NDArray[np.int64]:
    return draws(request.param)


def test_draws_never_change_between_versions() -> None:
    """The same on every machine and in every version: published seeds replay the same games."""
    assert [new_state(seed) for seed in (0, 1, 12345)] == GOLDEN_STATES
    assert advance(0) == STEP
    assert advance(STATES) == STEP - 1
    assert [mix(value) for value in (1, 2, GOLDEN_STATES[0], 2**62 - 1, 2**63 - 1)] == GOLDEN_DRAWS
    assert [position_seed(0, 0, 0), position_seed(1, 2, 3), position_seed(2, 1, 3)] == GOLDEN_SEEDS


GOLDEN_STATES = [1958177328105552062, 2823069657465328127, 3868139642154746748]
GOLDEN_DRAWS = [4050604590944555036, 7632561667405124586, 6059553471151443896, 2892172877852680693, 7550073642812212576]
GOLDEN_SEEDS = [5355836573002884496, 3738235302948910686, 555042051113875135]


@pytest.mark.parametrize("seed", [0, 1, 2**32, 2**64 + 1, None])
def test_states_and_draws_stay_in_range(seed: int | None) -> None:
    state = new_state(seed)
    for _ in range(1000):
        assert 0 <= state < 2**62
        assert 0 <= mix(state) < 2**63
        state = advance(state)


@pytest.mark.parametrize("value", [0, 1, 2**31 - 1, 2**31, 2**62 - 1, 2**62, 2**63 - 2**31, 2**63 - 1])
def test_draws_from_extreme_values_stay_in_range(value: int) -> None:
    assert 0 <= mix(value) < 2**63
    assert 0 <= position_seed(value, 0, value) < 2**63


def test_the_states_form_one_cycle() -> None:
    """A step prime to the number of states visits all of them."""
    assert math.gcd(STEP, STATES + 1) == 1
    state = new_state(7)
    path = [state := advance(state) for _ in range(20_000)]
    assert len(set(path)) == len(path)
    assert {(after - before) % (STATES + 1) for before, after in pairwise(path)} == {STEP}


@pytest.mark.parametrize("n", [*range(2, 10), 42])
def test_choices_among_n_are_uniform(stream: npt.NDArray[np.int64], n: int) -> None:
    assert p_value(stream % n, n) > UNLIKELY


@pytest.mark.parametrize("lag", [1, 2, 3, 21])
def test_successive_choices_are_independent(stream: npt.NDArray[np.int64], lag: int) -> None:
    for n in (2, 7, 9):
        assert p_value(stream[:-lag] % n * n + stream[lag:] % n, n * n) > UNLIKELY


def test_first_draws_of_successive_seeds_are_uniform() -> None:
    first = np.array([mix(advance(new_state(seed))) for seed in range(5000)])
    for n in (2, 7, 9):
        assert p_value(first % n, n) > UNLIKELY


def test_position_seeds_depend_on_every_part() -> None:
    parts = [(own, opp, salt) for own in range(20) for opp in range(20) for salt in range(20)]
    assert len({position_seed(*part) for part in parts}) == len(parts)
