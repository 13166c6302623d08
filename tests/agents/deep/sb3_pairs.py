"""Boards and settings of the tests of deep agents; our VecEnv beside Stable-Baselines3's DummyVecEnv."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from tictac_agents import SB3VecEnv
from tictac_env.policies import RandomPolicy

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"
SMALL = {"id": "KInARow-v0", "rows": 4, "cols": 5, "connect": 3, "gravity": False}
BOARDS = 5
OFF_POLICY: dict[str, Any] = {"buffer_size": 2_000, "device": "cpu", "policy_kwargs": {"net_arch": [16]}, "seed": 0}
ON_POLICY: dict[str, Any] = {"n_steps": 16, "batch_size": 128, "device": "cpu", "seed": 0}


class Cautious(RandomPolicy):
    """Random play that is not compiled, so that it is asked."""

    reflex = None


def self_play(name: str = TTT, num_envs: int = 8, **kwargs: Any) -> SB3VecEnv:
    return SB3VecEnv(name, num_envs, opponent=None, illegal="raise", **kwargs)


def dummy(num_envs: int = BOARDS, **kwargs: Any) -> DummyVecEnv:
    return DummyVecEnv([lambda: Monitor(gym.make(**kwargs)) for _ in range(num_envs)])


def ours(num_envs: int = BOARDS, **kwargs: Any) -> SB3VecEnv:
    return SB3VecEnv(kwargs.pop("id"), num_envs, **kwargs)


def assert_same(mine: Any, theirs: Any) -> None:
    """Equal, and of equal types, all the way down, but for the seconds that a `Monitor` adds to an episode."""
    assert type(mine) is type(theirs)
    if isinstance(theirs, dict):
        assert set(mine) == set(theirs)
        timeless = [key for key in theirs if not (key == "t" and set(theirs) == {"r", "l", "t"})]
        assert len(timeless) == len(theirs) or mine["t"] >= 0
        for key in timeless:
            assert_same(mine[key], theirs[key])
    elif isinstance(theirs, (list, tuple)):
        assert len(mine) == len(theirs)
        for pair in zip(mine, theirs, strict=True):
            assert_same(*pair)
    elif isinstance(theirs, np.ndarray):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape and np.array_equal(mine, theirs)
    else:
        assert mine == theirs


def choices(masks: npt.NDArray[np.int8], rng: np.random.Generator, illegal: float) -> npt.NDArray[np.int64]:
    """An action for each board: a legal one, or with some probability any."""
    pairs = zip(masks, rng.random(len(masks)) < illegal, strict=True)
    return np.array([rng.integers(len(mask)) if wild else rng.choice(np.flatnonzero(mask)) for mask, wild in pairs])
