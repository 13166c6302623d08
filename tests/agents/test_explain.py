"""What agents say they think of each move."""

from __future__ import annotations

import math
from typing import Any

import pytest
from conftest import playout

from tictac_agents import MCTS, GameTree, MonteCarlo, QLearning, S0ValueTD, Sarsa, ValueIteration, ValueTD
from tictac_agents.explain import explain
from tictac_env.games import get_game
from tictac_env.policies import make_policy
from tictac_env.position import Position

POSITION = Position.from_moves("TicTacToe-v0", "1524")


@pytest.mark.parametrize("learner", [QLearning, Sarsa, MonteCarlo, ValueTD, S0ValueTD], ids=lambda one: one.__name__)
def test_tables_tell_their_values(learner: Any) -> None:
    agent = learner("TicTacToe-v0", seed=0).learn(total_episodes=300, progress_bar=False)
    found = explain(agent, POSITION)
    assert found.kind == "values"
    assert {one.action: one.value for one in found.thoughts} == dict(agent.values(POSITION.own, POSITION.opp))
    best = max(found.thoughts, key=lambda one: one.value)
    assert agent.act(POSITION, 0) == best.action


def test_tree_search_tells_the_visits_behind_its_move() -> None:
    agent = MCTS(200)
    found = explain(agent, POSITION, seed=5)
    assert found.kind == "visits"
    assert sum(one.visits for one in found.thoughts) <= 200
    proven = [one.action for one in found.thoughts if one.proven == 1]
    assert agent.act(POSITION, 5) in proven  # X wins at once


def test_planners_and_trees_tell_their_values() -> None:
    planner = ValueIteration("TicTacToe-v0").learn()
    found = explain(planner, POSITION)
    assert max(found.thoughts, key=lambda one: one.value).action == planner.act(POSITION, 0)
    tree = GameTree("TicTacToe-v0", seed=0).learn(500, progress_bar=False)
    assert [one.action for one in explain(tree, POSITION).thoughts] == list(POSITION.legal_actions)


@pytest.mark.parametrize("name", ["ntuple", "ntuple:3"])
def test_networks_without_torch_tell_values(name: str) -> None:
    agent = make_policy(name, POSITION.game)
    found = explain(agent, POSITION)
    assert found.kind == "values" and [one.action for one in found.thoughts] == list(POSITION.legal_actions)
    assert max(found.thoughts, key=lambda one: one.value).action == agent.act(POSITION, 0)


def test_networks_tell_values_or_chances() -> None:
    pytest.importorskip("stable_baselines3")
    from tictac_agents import DQN, MaskablePPO, ModelPolicy, SB3VecEnv

    dqn = DQN("MlpPolicy", "TicTacToe-v0", buffer_size=500, seed=0, device="cpu")
    found = explain(ModelPolicy(dqn), POSITION)
    assert found.kind == "values"
    assert max(found.thoughts, key=lambda one: one.value).action == ModelPolicy(dqn).act(POSITION, 0)
    envs = SB3VecEnv("TicTacToe-v0", num_envs=2, illegal="raise")
    ppo = MaskablePPO("MlpPolicy", envs, n_steps=8, batch_size=8, seed=0, device="cpu")
    found = explain(ModelPolicy(ppo), POSITION)
    assert found.kind == "chances"
    assert math.isclose(sum(one.chance for one in found.thoughts), 1, rel_tol=1e-5)
    assert max(found.thoughts, key=lambda one: one.chance).action == ModelPolicy(ppo).act(POSITION, 0)


def test_published_networks_tell_their_values() -> None:
    pytest.importorskip("torch")
    from tictac_agents import FittedQ, S2Network

    fall = Position.from_moves("ConnectFour-v0", "444444")
    for agent, position in ((S2Network.preset("S2", seed=0), POSITION), (FittedQ("ConnectFour-v0", seed=0), fall)):
        found = explain(agent, position)
        assert found.kind == "values"
        assert max(found.thoughts, key=lambda one: one.value).action == agent.act(position, 0)


def test_who_cannot_tell_does_not() -> None:
    assert explain(make_policy("rule"), POSITION) is None


def test_another_game_is_refused() -> None:
    agent = QLearning("TicTacToe-v0", seed=0)
    with pytest.raises(ValueError, match="has learned"):
        explain(agent, playout(get_game("ConnectFour-v0"))[3])
