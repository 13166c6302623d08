"""What a trained learner answers when it is shown a board, and what it refuses to answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare
from test_q_learning import tic_tac_toe, trained

from tictac_agents import QLearning
from tictac_env.position import Position


def test_epsilon_is_the_chance_of_a_random_action() -> None:
    agent = trained(tic_tac_toe(), 200, epsilon=0.5, seed=0)
    observation, _ = tic_tac_toe().reset()
    best = agent.predict(observation)[0]
    counts = Counter(agent.predict(observation, deterministic=False)[0] for _ in range(3000))
    expected = [3000 * (0.5 * (action == best) + 0.5 / 9) for action in range(9)]
    assert chisquare([counts[action] for action in range(9)], expected).pvalue > 1e-4
    assert {agent.predict(observation)[0] for _ in range(20)} == {best}


def test_predict_obeys_the_mask() -> None:
    agent = trained(tic_tac_toe(), 500, seed=0)
    position = Position.from_moves("TicTacToe-v0", "15")
    values = agent.values(position.own, position.opp)
    for obs_type in ("planes", "board", "code"):
        env = tic_tac_toe(obs_type=obs_type, opponent=None)
        observation, info = env.reset(options={"position": position})
        free, state = agent.predict(observation, action_masks=info["action_mask"])
        assert (free, state) == (max(values, key=values.__getitem__), None)
        assert agent.predict(observation) == (free, None)
        for allowed in ([2], [7, 8], [0, 3]):  # 0 is taken: a mask cannot make it legal
            mask = np.isin(range(9), allowed)
            legal = [action for action in allowed if action in values]
            assert agent.predict(observation, action_masks=mask)[0] == max(legal, key=values.__getitem__)
            assert agent.predict(observation, action_masks=mask.tolist(), deterministic=False)[0] in legal


@pytest.mark.parametrize("mask", [np.zeros(9), [1, 0, 0, 0, 0, 0, 0, 0, 0], [1] * 8, [1] * 10, 1, "all"], ids=str)
def test_masks_that_allow_nothing_or_fit_no_board_are_refused(mask: Any) -> None:
    observation, _ = tic_tac_toe(opponent=None).reset(options={"position": "1"})
    with pytest.raises(ValueError, match="mask"):
        QLearning(tic_tac_toe(), seed=0).predict(observation, action_masks=mask)


@pytest.mark.parametrize("observation", [np.zeros(7), np.zeros((2, 3, 4)), 3**9, -1, 2, None, "x", 1.5], ids=str)
def test_what_is_no_observation_is_refused(observation: Any) -> None:
    with pytest.raises(ValueError):
        QLearning(tic_tac_toe(), seed=0).predict(observation)


def test_a_finished_game_has_no_prediction() -> None:
    final = Position.from_moves("TicTacToe-v0", "14253")
    with pytest.raises(ValueError, match="no legal action"):
        QLearning(tic_tac_toe(), seed=0).predict(final.code)
