"""Models are what their tables and boards say, and anything else is refused by name."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import ODD_GAMES, make_env

from tictac_agents import TabularModel, ValueIteration
from tictac_env.games import GAMES
from tictac_env.policies import Policy
from tictac_env.policies.pool import OpponentPool
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch


class Broken(Policy):
    """Gives whatever probabilities it was made with."""

    def __init__(self, chances: Any) -> None:
        self.chances = chances

    def act(self, position: Position, seed: int) -> int:
        return position.legal_actions[0]

    def probabilities(self, position: Position) -> Any:
        return self.chances


class Lowest(Policy):
    """Plays the lowest legal action, and gives no probabilities."""

    def act(self, position: Position, seed: int) -> int:
        return position.legal_actions[0]


def board(opponent: Any = "random", play_as: str = "random", **settings: Any) -> gym.Env[Any, Any]:
    return gym.make("TicTacToe-v0", opponent=opponent, play_as=play_as, **settings)


TIC_TAC_TOE = GAMES["TicTacToe-v0"]


def test_the_states_of_tic_tac_toe() -> None:
    """Worked example 10: 5,478 positions; in 2,423 and 2,097 of them first and second have to move."""
    model = TabularModel.of(board())
    assert (model.num_states, model.num_actions) == (5478, 9)
    on = model.available.any(axis=1)
    assert model.positions is not None
    seats = [TIC_TAC_TOE.seat(own, opp) for own, opp in model.positions[on].tolist()]
    assert (seats.count(0), seats.count(1), int((~on).sum())) == (2423, 2097, 958)
    one_seat = [TabularModel.of(board(play_as=seat)) for seat in ("first", "second")]
    assert [int(model.available.any(axis=1).sum()) for model in one_seat] == [2423, 2097]
    assert TabularModel.of(board(play_as="alternate")).equals(model)
    assert not one_seat[0].equals(model)
    assert TabularModel.of(model) is model
    assert TabularModel.of(board("minimax-first")).num_states < 500
    for number, (own, opp) in enumerate(model.positions.tolist()):
        assert model.find(own, opp) == number
        assert tuple(np.flatnonzero(model.available[number])) == Position(TIC_TAC_TOE, own, opp).legal_actions


@pytest.mark.parametrize("opponent", ["random", "rule", "minimax-first"])
def test_the_model_is_what_the_environment_does(opponent: str) -> None:
    env = board(opponent, rewards=(3, 0.5, -2, -0.125))
    model = TabularModel.of(env)
    rng = np.random.default_rng(0)
    seen = set()
    for seed in range(60):
        _, info = env.reset(seed=seed)
        terminated = False
        while not terminated:
            position = env.unwrapped.position  # type: ignore[attr-defined]
            state = model.find(position.own, position.opp)
            assert state is not None
            action = int(rng.choice(np.flatnonzero(info["action_mask"])))
            _, reward, terminated, _, info = env.step(action)
            position = env.unwrapped.position  # type: ignore[attr-defined]
            rows = np.flatnonzero(model.state_action == state * 9 + action)
            row = rows[model.next_state[rows] == model.find(position.own, position.opp)]
            assert len(row) == 1 and model.prob[row] > 0
            assert (model.reward[row], model.terminated[row]) == (reward, terminated)
            seen.add(reward)
    assert seen >= {3, -2, -0.125} if opponent == "random" else seen


def test_given_starts_are_the_models_starts() -> None:
    starts = [Position.from_moves("TicTacToe-v0", moves) for moves in ("5123", "512", "51")]
    for start in (starts, PositionBatch.of(starts)):
        first = TabularModel.of(board(start=start, play_as="first"))
        assert first.find(*Position.start(TIC_TAC_TOE).game.start()) is None
        assert all((first.find(p.own, p.opp) is not None) == (p.seat == 0) for p in starts)
        assert first.num_states < 1000
    both = TabularModel.of(board(start=starts))
    assert all(both.find(position.own, position.opp) is not None for position in starts)


WRONG_TABLES: dict[str, tuple[Any, str]] = {
    "empty": ({}, "every state"),
    "no table": (7, "sequence"),
    "None": (None, "sequence"),
    "a state is missing": ({0: {}, 2: {}}, "every state"),
    "states of words": ({"a": {}}, "integers"),
    "states of truths": ({True: {}}, "integers"),
    "actions of words": ({0: {"up": [(1.0, 0, 0.0, True)]}}, r"P\[0\]"),
    "negative action": ({0: {-1: [(1.0, 0, 0.0, True)]}}, r"P\[0\]\[-1\]"),
    "no outcome": ({0: {0: []}}, r"P\[0\]\[0\]"),
    "a word for outcomes": ({0: {0: "up"}}, r"P\[0\]\[0\]"),
    "a triple": ({0: {0: [(1.0, 0, 0.0)]}}, r"P\[0\]\[0\]"),
    "half a state": ({0: {0: [(1.0, 0.5, 0.0, True)]}}, r"P\[0\]\[0\]"),
    "a number for terminated": ({0: {0: [(1.0, 0, 0.0, 1)]}}, "True or False"),
    "a word for a probability": ({0: {0: [("all", 0, 0.0, True)]}}, r"P\[0\]\[0\]"),
    "sum below 1": ({0: {0: [(0.5, 0, 0.0, True), (0.4, 0, 0.0, True)]}}, "add up to 1: 0.9, in state 0 for action 0"),
    "sum above 1": (
        [[[(1.0, 0, 0, True)]] * 2, [[(1.0, 0, 0, True)], [(0.6, 0, 0, True)] * 2]],
        "state 1 for action 1",
    ),
    "negative probability": ({0: {0: [(1.5, 0, 0.0, True), (-0.5, 0, 0.0, True)]}}, r"not in \[0, 1\]: 1.5"),
    "nan probability": ({0: {0: [(np.nan, 0, 0.0, True)]}}, "probability"),
    "state out of range": ({0: {0: [(1.0, 1, 0.0, True)]}}, r"next state is not in \[0, 1\): 1"),
    "negative state": ({0: {0: [(1.0, -1, 0.0, True)]}}, "next state"),
    "infinite reward": ({0: {0: [(1.0, 0, np.inf, True)]}}, "reward"),
    "an environment without a table": (gym.make("CartPole-v1"), "no table P"),
    "both sides": (gym.make("TicTacToe-v0", opponent=None), "opponent=None"),
    "a pool": (board(OpponentPool(["random", "rule"])), "Mixture"),
    "too large": (gym.make("ConnectFour-v0"), "too many"),
    "over at once": (make_env(ODD_GAMES[0], play_as="second"), "before the learner's first move"),
    "too few chances": (board(Broken([0.5, 0.5])), "must be 9"),
    "chances below 1": (board(Broken(np.full(9, 0.1)), start=[Position.from_moves("TicTacToe-v0", "12")]), "illegal"),
    "an illegal opponent": (board(lambda observation, mask: 0, "first"), "action 0, illegal"),
}


@pytest.mark.parametrize("name", WRONG_TABLES)
def test_what_is_no_model_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tictac_agents.planning.tabular_model.MAX_TRANSITIONS", 100_000)
    source, message = WRONG_TABLES[name]
    with pytest.raises(ValueError, match=message):
        ValueIteration(source)
