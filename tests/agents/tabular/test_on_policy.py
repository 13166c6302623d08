"""Sarsa and Monte Carlo control: every value recomputed from the recorded games, and that they learn."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import pytest
from conftest import breadth
from gymnasium.wrappers import TransformReward

from tictac_agents import MonteCarlo, QLearning, Sarsa
from tictac_agents.tabular.learner import Learner
from tictac_env.arena import verdict
from tictac_env.position import Position


class Step(NamedTuple):
    """One step of a game, in terms of the table; the following ones are -1 where the game is over."""

    row: int
    slot: int
    reward: float
    following: int
    next_slot: int


def recorded(agent: QLearning, episodes: int) -> list[list[Step]]:
    """The games an agent learns from."""
    games: list[list[Step]] = []

    def record(learner: Learner) -> None:
        table = learner.table
        count = int(table.lengths[0])
        places = [*table.steps[0, :count, :2].tolist(), [-1, -1]]
        rewards = table.rewards[0].tolist()
        games.append([Step(*places[k], rewards[k], *places[k + 1]) for k in range(count)])

    agent.learn(total_episodes=episodes, callback=record, progress_bar=False)
    return games


def slots_of(agent: QLearning, row: int) -> list[int]:
    """The slot of each legal action in the position of a row."""
    own, opp = agent.positions[row, :2].tolist()
    folding = agent.table.folding
    leading = folding.fold(own, opp)[2]
    return [folding.slot(leading, action) for action in Position(agent.game, own, opp).legal_actions]


@pytest.mark.parametrize("opponent", ["random", None])
def test_monte_carlo_values_are_means_of_returns(opponent: str | None) -> None:
    agent = MonteCarlo(gym.make("TicTacToe-v0", opponent=opponent), gamma=0.9, seed=1)
    returns: dict[tuple[int, int], list[float]] = defaultdict(list)
    sign = 1 if opponent else -1
    for game in recorded(agent, 300):
        total = 0.0
        for step in reversed(game):
            total = step.reward + sign * 0.9 * total
            returns[step.row, step.slot].append(total)
    assert max(map(len, returns.values())) > 20
    for (row, slot), found in returns.items():
        assert agent.tables[0][row][slot] == pytest.approx(np.mean(found))
        assert agent.counts[row][slot] == len(found)


@pytest.mark.parametrize("opponent", ["random", None])
@pytest.mark.parametrize("expected", [False, True])
def test_sarsa_values_follow_from_its_games(opponent: str | None, expected: bool) -> None:
    env = gym.make("TicTacToe-v0", opponent=opponent)
    agent = Sarsa(env, learning_rate=0.3, gamma=0.9, epsilon=0.25, expected=expected, seed=1)
    table: dict[int, dict[int, float]] = defaultdict(dict)
    sign = 1 if opponent else -1
    for game in recorded(agent, 200):
        for step in game:
            target = step.reward
            if step.following >= 0:
                row = table[step.following]
                values = [row.get(slot, 0.0) for slot in slots_of(agent, step.following)]
                mean = 0.75 * max(values) + 0.25 * sum(values) / len(values)
                target += sign * 0.9 * (mean if expected else row.get(step.next_slot, 0.0))
            before = table[step.row].get(step.slot, 0.0)
            table[step.row][step.slot] = before + 0.3 * (target - before)
    for row, found in table.items():
        for slot, value in found.items():
            assert agent.tables[0][row][slot] == pytest.approx(value)


@pytest.mark.parametrize(
    ("learner", "settings"),
    breadth(
        [(Sarsa, {}), (MonteCarlo, {})],
        [(Sarsa, {"expected": True}), (MonteCarlo, {"learning_rate": 0.1})],
    ),
)
def test_sarsa_and_monte_carlo_learn_to_beat_random_play(learner: type[QLearning], settings: dict[str, Any]) -> None:
    env = gym.make("TicTacToe-v0", play_as="alternate")
    found = verdict(learner(env, seed=0, **settings).learn(total_episodes=8_000, progress_bar=False))
    assert found.as_first.against_random.wins > 0.95
    assert found.as_second.against_random.wins > 0.82


@pytest.mark.parametrize("learner", [Sarsa, MonteCarlo])
@pytest.mark.parametrize("settings", [{"learning_rate": 0}, {"gamma": 2}, {"epsilon": -0.1}, {"symmetry": 1}])
def test_impossible_settings_are_named(learner: type[QLearning], settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        learner("TicTacToe-v0", **settings)


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
