"""Monte Carlo control's arithmetic by hand: means of returns, and their signs in self-play."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import TransformReward

from tictac_agents import MonteCarlo
from tictac_env.position import Position

LAST_MOVE = Position.from_moves("TicTacToe-v0", "12354687")
"""One move is left; what that brings, a wrapper decides."""


def paid(returns: list[float], **settings: Any) -> MonteCarlo:
    """A learner after games that brought these returns."""
    rest = iter(returns)
    env = gym.make("TicTacToe-v0", opponent=None, start=[LAST_MOVE])
    env = TransformReward(env, lambda reward: next(rest))
    return MonteCarlo(env, seed=0, **settings).learn(total_episodes=len(returns), progress_bar=False)


def value(agent: MonteCarlo) -> float:
    """The value of the only move."""
    [found] = agent.values(LAST_MOVE.own, LAST_MOVE.opp).values()
    return found


@pytest.mark.parametrize(("returns", "mean"), [([10, 6], 8), ([11, 6], 8.5), ([3], 3), ([1, 0, 0, 1, 1], 0.6)])
def test_a_value_is_the_mean_of_its_returns(returns: list[float], mean: float) -> None:
    """The first two are worked example 3."""
    for initial_value in (0.0, 50.0):  # the first return replaces it
        agent = paid(returns, initial_value=initial_value)
        assert value(agent) == pytest.approx(mean)
        assert np.nansum(agent.counts) == len(returns)


def test_a_learning_rate_forgets_old_returns() -> None:
    assert value(paid([10, 6], learning_rate=0.5)) == (10 / 2 + 6) / 2


def test_no_position_recurs_in_a_game() -> None:
    """So first-visit and every-visit Monte Carlo are one."""
    agent = MonteCarlo(gym.make("TicTacToe-v0", opponent=None), epsilon=1.0, seed=0)

    def check(learner: Any) -> None:
        table = learner.table
        rows = table.steps[0, : table.lengths[0], 0].tolist()
        assert len(set(rows)) == len(rows) >= 5

    agent.learn(total_episodes=300, callback=check, progress_bar=False)


@pytest.mark.parametrize(("gamma", "expected"), [(1.0, [1, -1, 1, -1, 1]), (0.5, [0.0625, -0.125, 0.25, -0.5, 1])])
def test_alone_a_return_changes_sides_with_every_ply(gamma: float, expected: list[float]) -> None:
    """In a game of five plies, which one of the first seeds plays."""
    env = gym.make("TicTacToe-v0", opponent=None)
    board: Any = env.unwrapped
    for seed in range(200):
        agent = MonteCarlo(TransformReward(env, lambda reward: float(board.position.is_over)), gamma=gamma, seed=seed)
        agent.learn(total_episodes=1, progress_bar=False)
        table = agent.table
        if table.lengths[0] == 5:
            break
    else:
        pytest.fail("no seed plays such a game")
    assert [agent.tables[0, row, slot] for row, slot, _ in table.steps[0, :5]] == pytest.approx(expected)
