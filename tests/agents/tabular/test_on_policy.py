"""Sarsa and Monte Carlo control: every value recomputed from the recorded games, and that they learn."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import gymnasium as gym
import pytest

from tictac_agents import MonteCarlo, QLearning, Sarsa
from tictac_agents.tabular.learner import Learner
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
@pytest.mark.parametrize(("rate", "initial"), [(None, 0.0), (None, 50.0), (0.3, 0.2)])
def test_monte_carlo_values_follow_from_the_returns(opponent: str | None, rate: float | None, initial: float) -> None:
    """They are the means, in which the first return replaces the initial value, or moved by a constant step."""
    settings: dict[str, Any] = {"learning_rate": rate, "initial_value": initial, "gamma": 0.9, "seed": 1}
    agent = MonteCarlo(gym.make("TicTacToe-v0", opponent=opponent), **settings)
    returns: dict[tuple[int, int], list[float]] = defaultdict(list)
    sign = 1 if opponent else -1
    for game in recorded(agent, 300):
        total = 0.0
        for step in reversed(game):
            total = step.reward + sign * 0.9 * total
            returns[step.row, step.slot].append(total)
    assert max(map(len, returns.values())) > 20
    for (row, slot), found in returns.items():
        value = initial
        for number, one in enumerate(found, 1):
            value += (rate or 1 / number) * (one - value)
        assert agent.tables[0][row][slot] == pytest.approx(value)
        assert agent.counts[row][slot] == len(found)


def test_by_default_every_action_of_a_game_is_worth_its_result() -> None:
    agent = MonteCarlo("TicTacToe-v0", seed=0)
    [game] = recorded(agent, 1)
    result = game[-1].reward
    assert result and len(game) > 2
    assert {agent.tables[0][step.row][step.slot] for step in game} == {result}


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
