"""Sweeps over tabular models: the book's gridworld to the digit, linear algebra, and what is refused."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest

from tictac_agents import PolicyIteration, TabularModel, ValueIteration, gridworld_4x4, policy_evaluation
from tictac_agents.planning.dynamic_programming import greedy_policy

Floats = npt.NDArray[np.float64]


AGENTS = (ValueIteration, PolicyIteration)
LIMITS = [0, -14, -20, -22, -14, -18, -20, -20, -20, -20, -18, -14, -22, -20, -14, 0]


UNFLAGGED_END = {
    0: {0: [(1.0, 0, 0.0, False)], 1: [(1.0, 1, 1.0, False)]},  # action 0 stays for ever, 1 goes on
    1: {0: [(1.0, 1, 0.0, False)]},  # where nothing happens any more, though nothing says so
}


NEVER_ENDS = {0: {0: [(1.0, 0, -1.0, False)]}}


PARTIAL: dict[int, dict[int, Any]] = {0: {0: [(1.0, 1, 0.0, True)], 2: [(1.0, 1, 1.0, True)]}, 1: {}}


def test_the_gridworld_has_the_books_values_after_k_sweeps() -> None:
    """Figure 4.1, page 77, to one decimal."""
    pictures = {
        0: [0.0] * 16,
        1: [0.0, *[-1.0] * 14, 0.0],
        2: [0, -1.75, -2, -2, -1.75, -2, -2, -2, -2, -2, -2, -1.75, -2, -2, -1.75, 0],
        3: [0, -2.4, -2.9, -3, -2.4, -2.9, -3, -2.9, -2.9, -3, -2.9, -2.4, -3, -2.9, -2.4, 0],
        10: [0, -6.1, -8.4, -9, -6.1, -7.7, -8.4, -8.4, -8.4, -8.4, -7.7, -6.1, -9, -8.4, -6.1, 0],
    }
    for sweeps, picture in pictures.items():
        values, done = policy_evaluation(gridworld_4x4(), max_sweeps=sweeps)
        np.testing.assert_allclose(values, picture, atol=0.05)
        assert done == sweeps and (values.reshape(4, 4) == values.reshape(4, 4).T).all()
    assert policy_evaluation(gridworld_4x4(), max_sweeps=3)[0][1] == -2.4375
    for wrong in (-1, 1.5, True):
        with pytest.raises(ValueError, match="max_sweeps"):
            policy_evaluation(gridworld_4x4(), max_sweeps=wrong)  # type: ignore[arg-type]


def solved(table: Any, policy: npt.NDArray[Any], gamma: float = 1.0) -> Floats:
    """The values of a policy, int (S,) or float (S, A), on a toy-text table, from one system of equations."""
    size = len(table)
    matrix, income = np.eye(size), np.zeros(size)
    for state, actions in table.items():
        for action, outcomes in actions.items():
            weight = policy[state][action] if policy.ndim == 2 else float(policy[state] == action)
            for prob, following, reward, terminated in outcomes:
                income[state] += weight * prob * reward
                if not terminated:
                    matrix[state, following] -= gamma * weight * prob
    solution: Floats = np.linalg.solve(matrix, income)
    return solution


@pytest.mark.parametrize("in_place", [False, True])
def test_the_gridworld_converges_to_the_books_values(in_place: bool) -> None:
    values, sweeps = policy_evaluation(gridworld_4x4(), tolerance=1e-12, in_place=in_place)
    np.testing.assert_allclose(values, LIMITS, atol=1e-9)
    assert sweeps < (350 if in_place else 600)
    np.testing.assert_allclose(values, solved(gridworld_4x4(), np.full((16, 4), 0.25)), atol=1e-9)


def test_in_place_sweeps_use_new_values_at_once() -> None:
    """From the last state to the first: a corridor is settled by one sweep."""
    corridor = {state: {0: [(1.0, state + 1, -1.0, state == 9)]} for state in range(10)} | {10: {}}
    expected = [float(state - 10) for state in range(11)]
    assert policy_evaluation(corridor, max_sweeps=1, in_place=True)[0].tolist() == expected
    assert policy_evaluation(corridor, in_place=True)[1] == 2
    values, sweeps = policy_evaluation(corridor)
    assert (values.tolist(), sweeps) == (expected, 11)
    assert ValueIteration(corridor, in_place=True).learn().sweeps == 2


def test_the_greedy_policy_after_three_sweeps_is_optimal() -> None:
    grid = gridworld_4x4()
    shortest = [-float(min(state // 4 + state % 4, 6 - state // 4 - state % 4)) for state in range(16)]
    policy = greedy_policy(grid, policy_evaluation(grid, max_sweeps=3)[0])
    assert policy_evaluation(grid, policy)[0].tolist() == shortest
    worse = greedy_policy(grid, policy_evaluation(grid, max_sweeps=1)[0])
    assert (solved(grid, worse, 0.9) < solved(grid, policy, 0.9) - 0.1).any()
    for cls in AGENTS:
        agent = cls(grid).learn(progress_bar=False)
        assert agent.values.tolist() == shortest
        assert [agent.predict(state)[0] for state in (1, 3, 4, 14)] == [3, 2, 0, 1]  # the lowest where two are as good


def test_a_policy_that_ends_is_never_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long its values take to converge."""
    monkeypatch.setattr("tictac_agents.planning.dynamic_programming.SWEEP_LIMIT", 10)
    env = gym.make("FrozenLake8x8-v1")
    values, sweeps = policy_evaluation(env)
    assert sweeps > 300
    evenly = np.full((64, 4), 0.25)
    np.testing.assert_allclose(values, solved(env.unwrapped.P, evenly), atol=1e-8)  # type: ignore[attr-defined]


def test_a_policy_may_be_actions_or_chances() -> None:
    table = gym.make("FrozenLake-v1").unwrapped.P  # type: ignore[attr-defined]
    policy = np.random.default_rng(0).integers(4, size=16)
    values, sweeps = policy_evaluation(table, policy, gamma=0.9)
    np.testing.assert_allclose(values, solved(table, policy, 0.9), atol=1e-9)
    again, same = policy_evaluation(table, np.eye(4)[policy], gamma=0.9)
    assert again.tolist() == values.tolist() and same == sweeps
    drawn = np.random.default_rng(0).dirichlet(np.ones(4), 16)
    np.testing.assert_allclose(policy_evaluation(table, drawn, 0.9)[0], solved(table, drawn, 0.9), atol=1e-9)


def test_a_policy_fits_the_model() -> None:
    assert policy_evaluation(PARTIAL)[0].tolist() == [0.5, 0]
    assert policy_evaluation(PARTIAL, [2, 77])[0].tolist() == [1, 0]
    assert policy_evaluation(PARTIAL, [[0.25, 0, 0.75], [0, 0, 0]])[0].tolist() == [0.75, 0]
    assert np.isnan(TabularModel.of(PARTIAL).action_values(np.zeros(2))[:, 1]).all()
    for wrong in ([1, 0], [3, 0], [-1, 0], [[0.5, 0.5, 0], [0, 0, 0]], [[0.5, 0, 0.4], [0, 0, 0]]):
        with pytest.raises(ValueError, match=r"in state 0, with the actions \[0, 2\]"):
            policy_evaluation(PARTIAL, wrong)
    for wrong in ([[1.5, 0, -0.5], [0, 0, 0]], [[np.nan, 0, 1], [0, 0, 0]]):
        with pytest.raises(ValueError, match="in state 0"):
            policy_evaluation(PARTIAL, wrong)
    for shape in ([2], [2, 0, 0], [[1.0, 0], [0, 0]], [2.0, 0.0], "up", [[[1]]]):
        with pytest.raises(ValueError, match="a policy of"):
            policy_evaluation(PARTIAL, shape)  # type: ignore[arg-type]


def test_what_never_converges_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tictac_agents.planning.dynamic_programming.SWEEP_LIMIT", 500)
    with pytest.raises(ValueError, match=r"after 500 sweeps .* gamma below 1"):
        policy_evaluation(NEVER_ENDS)
    up = np.zeros(16, np.int64)  # in the gridworld, for ever against the wall
    with pytest.raises(ValueError, match="gamma"):
        policy_evaluation(gridworld_4x4(), up)
    for cls in AGENTS:
        agent = cls(NEVER_ENDS)
        with pytest.raises(ValueError, match="gamma"):
            agent.learn(progress_bar=False)
        assert agent.values[0] == -500 and agent.sweeps == 500  # what was reached is kept
        assert cls(NEVER_ENDS, gamma=0.5).learn().values[0] == pytest.approx(-2)
        assert cls(NEVER_ENDS, gamma=0.99).learn().sweeps > 500  # a discount is enough
    values, sweeps = policy_evaluation(NEVER_ENDS, max_sweeps=2000)
    assert (values[0], sweeps) == (-2000, 2000)
    assert policy_evaluation(UNFLAGGED_END, [1, 0])[0].tolist() == [1, 0]


def test_rounding_does_not_keep_it_going() -> None:
    """With a tolerance below what numbers of that size can resolve."""
    dear = {state: {0: [(1 / 3, state, -1e9, False), (2 / 3, (state + 1) % 5, -1e9, state == 4)]} for state in range(5)}
    for cls in AGENTS:
        assert cls(dear, tolerance=0.0).learn().values[0] == pytest.approx(-7.5e9)
