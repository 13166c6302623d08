"""After an illegal move the text says who has lost and why, in every dialect; before and in a game it does not."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from tictac_env import connect_four_v0

C4, LOST = "ConnectFour-v0", "{} loses by an illegal move"


def last_line(text: Any) -> str:
    return str(text).splitlines()[-1]


@pytest.mark.parametrize(("play_as", "loser"), [("first", "red X"), ("second", "yellow O")])
def test_one_board(play_as: str, loser: str) -> None:
    env: Any = gym.make(C4, opponent="random", play_as=play_as, render_mode="ansi", start=["444444"])
    assert last_line(env.render()) == "red X to move"
    env.reset(seed=0)
    assert last_line(env.render()) == f"{loser} to move"
    assert env.step(3)[4]["illegal_action"] == 3
    twin = copy.deepcopy(env.unwrapped)
    other: Any = gym.make(C4, opponent="random", play_as=play_as, render_mode="ansi", start=["444444"])
    other.unwrapped.load_state_dict(env.unwrapped.state_dict())
    for one in (env, twin, other):
        assert last_line(one.render()) == LOST.format(loser)
    env.reset()
    assert last_line(env.render()) == f"{loser} to move"


def test_one_board_without_an_opponent() -> None:
    env: Any = gym.make(C4, opponent=None, render_mode="ansi", start=["44444"])
    env.reset(seed=0)
    env.step(3)
    env.step(3)
    assert last_line(env.render()) == LOST.format("red X")


@pytest.mark.parametrize("kind", ["env", "raw_env"])
def test_pettingzoo(kind: str) -> None:
    env = getattr(connect_four_v0, kind)(render_mode="ansi", illegal="lose")
    assert last_line(env.render()) == "red X to move"
    env.reset(options={"position": "44444"})
    env.step(3)
    assert last_line(env.render()) == "red X to move"
    env.step(3)
    for _ in range(3):  # then both agents leave
        assert last_line(env.render()) == LOST.format("red X")
        if env.agents:
            env.step(None)
    env.reset()
    assert last_line(env.render()) == "red X to move"


def test_many_boards() -> None:
    envs: Any = gym.make_vec(
        C4, num_envs=2, opponent=None, render_mode="ansi", autoreset_mode=AutoresetMode.DISABLED, start=["444444"]
    )
    assert [last_line(text) for text in envs.render()] == ["red X to move"] * 2
    envs.reset(seed=0)
    envs.step(np.array([3, 0]))
    assert [last_line(text) for text in envs.render()] == [LOST.format("red X"), "yellow O to move"]


def test_a_game_that_the_board_ends_is_told_as_before() -> None:
    env: Any = gym.make(C4, opponent=None, render_mode="ansi", start=["112233"])
    env.reset(seed=0)
    env.step(3)
    assert last_line(env.render()) == "red X wins in column 4"
