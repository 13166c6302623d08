"""Evaluators: the values and priors that they give, as a search wants them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tictac_agents.mcts.evaluators import (
    Evaluation,
    NetworkEvaluator,
    evaluated,
)
from tictac_env.games import GAMES
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

TTT, C4 = GAMES["TicTacToe-v0"], GAMES["ConnectFour-v0"]
TWO = PositionBatch.of([Position.from_moves(TTT, moves) for moves in ("", "1523748")])  # the second has 6 and 9 left


def answered(values: Any, priors: Any = None, batch: PositionBatch = TWO) -> Evaluation:
    """A network's answer, as the search gets it."""
    network = NetworkEvaluator(lambda planes: values if priors is None else (values, priors), priors is not None)
    return evaluated(network, batch)


def test_priors_are_scaled_among_the_legal_actions_and_equal_if_all_are_zero() -> None:
    priors = np.array([[1, 2, 3, 4, 0, 0, 0, 0, 0], [9, 9, 9, 9, 9, 3, 9, 9, 1]])
    found = answered([0.5, -1], priors)
    assert found.priors is not None and found.values.dtype == found.priors.dtype == np.float32
    assert found.values.tolist() == [0.5, -1]
    assert found.priors[0].tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4, 0, 0, 0, 0, 0])
    assert found.priors[1].tolist() == [0, 0, 0, 0, 0, 0.75, 0, 0, 0.25]
    priors[1, [5, 8]] = 0
    found = answered([1, 0], priors)
    assert found.priors is not None and found.priors[1].tolist() == [0, 0, 0, 0, 0, 0.5, 0, 0, 0.5]
    tiny = answered([0, 0], np.array([[3e-20, 1e-20] + [0] * 7, [0] * 8 + [1e-20]])).priors
    assert tiny is not None and tiny[0, :3].tolist() == pytest.approx([0.75, 0.25, 0]) and tiny[1, 8] == 1


def test_values_alone_come_without_priors() -> None:
    found = answered(np.array([1, -1], np.int8))
    assert found.values.tolist() == [1, -1] and found.values.dtype == np.float32 and found.priors is None


@pytest.mark.parametrize(
    ("values", "priors", "message"),
    [
        ([0, 1.001], None, r"the value 1\.00.* for Position.*3154"),
        ([-1.001, 0], None, r"the value -1\.00"),
        ([0, float("nan")], None, "the value nan"),
        ([0], None, r"values of shape \(1,\), not \(2,\)"),
        ([[0], [0]], None, r"values of shape \(2, 1\)"),
        ([0, 0], np.ones((2, 8)), r"priors of shape \(2, 8\), not \(2, 9\)"),
        ([0, 0], np.ones((1, 9)), r"priors of shape \(1, 9\)"),
        ([0, 0], np.array([[1.0] * 9, [-0.001] + [1.0] * 8]), "not all >= 0, for Position.*3154"),
        ([0, 0], np.array([[float("inf")] * 9, [1.0] * 9]), "not all >= 0"),
        ([0, 0], np.array([[float("nan")] * 9, [1.0] * 9]), "not all >= 0"),
    ],
)
def test_a_wrong_answer_is_named(values: Any, priors: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        answered(values, priors)


def test_a_network_sees_planes_of_own_and_other_stones() -> None:
    def function(planes: Any) -> Any:
        assert planes.dtype == np.int8 and planes.shape == (2, 2, 3, 3)
        return planes[:, 0].sum(axis=(1, 2)) / 4 - planes[:, 1].sum(axis=(1, 2)) / 8

    batch = PositionBatch.of([Position.from_moves(TTT, moves) for moves in ("1", "12")])
    found = NetworkEvaluator(function, priors=False).evaluate(batch)
    assert found.values.tolist() == [-0.125, 0.125] and found.priors is None
