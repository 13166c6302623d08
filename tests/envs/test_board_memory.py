"""What boards remember from one game and one call to the next: games begun, actions drawn ahead, masks given."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest

from tictac_env.envs.vector.vector_env import BoardVectorEnv
from tictac_env.policies import Policy
from tictac_env.policies.heuristics import rule_choices
from tictac_env.policies.policy import pick
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

TTT = "TicTacToe-v0"
X_WINS_AT_ONCE = "1425"


class Rule(Policy):
    """Plays like "rule", but is asked: no kernel knows it."""

    def act(self, position: Position, seed: int) -> int:
        return pick(position.game, rule_choices(position.game, position.own, position.opp), seed)


def make(num_envs: int, **kwargs: Any) -> BoardVectorEnv:
    envs = gym.make_vec(TTT, num_envs=num_envs, **kwargs)
    assert isinstance(envs, BoardVectorEnv)
    return envs


@pytest.mark.parametrize("opponent", ["rule", Rule()], ids=["compiled", "asked"])
def test_seats_alternate_also_after_a_game_that_the_opponent_ended_first(opponent: Any) -> None:
    """As second the learner may meet an opponent that wins at once: another game is then begun, and counts once."""
    settings = {"opponent": opponent, "play_as": "alternate", "start": [X_WINS_AT_ONCE, ""]}
    envs = make(40, **settings)
    singles = [gym.make(TTT, **settings) for _ in range(3)]
    for game in range(6):
        _, infos = envs.reset(seed=7 if game == 0 else None)
        assert (infos["seat"] == game % 2).all()
        for i, single in enumerate(singles):
            _, info = single.reset(seed=7 + i if game == 0 else None)
            assert info["seat"] == game % 2
    boards = envs.state_dict()["boards"]
    assert boards[4] == [6] * 40, "games begun"


class ClearsMask(Rule):
    """Changes an array of its owner's while it is asked."""

    def __init__(self) -> None:
        self.mask = np.ones(3, np.bool_)

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        self.mask[:] = False
        return super().act_many(batch, seeds)


def test_a_reset_mask_is_the_callers_to_change() -> None:
    opponent = ClearsMask()
    envs = make(3, opponent=opponent, play_as="second")
    envs.reset(seed=1)
    wanted = [True, False, True]
    opponent.mask[:] = wanted
    _, infos = envs.reset(options={"reset_mask": opponent.mask})
    shown = [key for key in infos if key.startswith("_")]
    assert not opponent.mask.any()
    for key in shown:
        assert infos[key].tolist() == wanted, key
        infos[key][:] = False
