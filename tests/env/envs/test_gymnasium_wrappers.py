"""Gymnasium's wrappers do on our environments what they do on Gymnasium's own, and arrays become tensors uncopied."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import assert_same, highest, lowest
from gymnasium.wrappers import vector

from tictac_env.wrappers import MaskedObservation, OpponentPool

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"
WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "RecordEpisodeStatistics": vector.RecordEpisodeStatistics,
    "FlattenObservation": vector.FlattenObservation,
    "NormalizeObservation": lambda envs: vector.NormalizeObservation(vector.DtypeObservation(envs, np.float32)),
    "FilterObservation": lambda envs: vector.FilterObservation(MaskedObservation(envs), ["observation"]),
    "NormalizeReward": vector.NormalizeReward,
    "TransformReward": lambda envs: vector.TransformReward(envs, lambda rewards: 3 * rewards - 1),
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapper_does_the_same_to_our_boards_and_to_gymnasiums(wrapper: str) -> None:
    ours, theirs = (
        WRAPPERS[wrapper](gym.make_vec(TTT, 4, vectorization_mode=mode, play_as="alternate"))
        for mode in ("vector_entry_point", "sync")
    )
    assert ours.single_observation_space == theirs.single_observation_space
    assert_same(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    ends, recorded = 0, False
    for _ in range(40):
        actions = ours.unwrapped.sample_actions()
        (*mine, infos), (*others, heard) = ours.step(actions), theirs.step(actions)
        assert_same(mine, others)
        assert ("episode" in infos) == ("episode" in heard)
        if "episode" in infos:
            recorded = True
            assert_same([infos["episode"][key] for key in "rl"], [heard["episode"][key] for key in "rl"])
        ends += mine[2].sum()
    assert ends > 8 and recorded == (wrapper == "RecordEpisodeStatistics")


def test_the_opponent_is_replaced_through_wrappers() -> None:
    for reach in (lambda env: env.unwrapped.set_opponent, lambda env: env.get_wrapper_attr("set_opponent")):
        env = MaskedObservation(gym.wrappers.RecordEpisodeStatistics(gym.make(C4, opponent=lowest, play_as="second")))
        env.reset(seed=0)
        reach(env)(highest)
        assert env.step(3)[4]["opponent_action"] == 0 and env.reset()[1]["opponent_action"] == 6
    envs = vector.FlattenObservation(gym.make_vec(C4, 2, opponent=lowest, play_as="second"))
    envs.reset(seed=0)
    envs.unwrapped.set_opponent(highest)
    assert envs.reset()[1]["opponent_action"].tolist() == [6, 6]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_the_opponent_is_replaced_in_other_processes() -> None:
    """They play the same games as our boards."""
    settings: dict[str, Any] = {"opponent": OpponentPool(["random", "rule"]), "play_as": "alternate"}
    ours, theirs = (
        gym.make_vec(TTT, 2, vectorization_mode=mode, **settings) for mode in ("vector_entry_point", "async")
    )
    assert_same(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    for step in range(30):
        if step == 8:
            for envs in (ours, theirs):
                envs.call("set_opponent", OpponentPool([highest, "minimax:2"], [1, 2]))
        actions = ours.unwrapped.sample_actions()
        assert_same(ours.step(actions)[:3], theirs.step(actions)[:3])
        assert ours.get_attr("opponent_name") == theirs.get_attr("opponent_name")
    assert set(ours.get_attr("opponent_name")) <= {"highest", "minimax:2"}
    theirs.close()


def test_gymnasiums_wrappers_of_observations_refuse_same_step() -> None:
    """They do so on any vector environment; `MaskedObservation` does not."""
    envs = gym.make_vec(TTT, 2, autoreset_mode="SameStep")
    with pytest.raises(ValueError, match="NEXT_STEP or DISABLED"):
        vector.FlattenObservation(envs)
    assert MaskedObservation(envs).reset(seed=0)[0]["action_mask"].shape == (2, 9)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="without torch")
def test_tensors_share_the_memory_of_lent_arrays() -> None:
    """Made once, they show every later step; masks as bool or floats come in an array of their own at each step."""
    import torch

    plain: Any = gym.make_vec(TTT, 8, copy=False)
    observations, _ = plain.reset(seed=0)
    boards = torch.from_numpy(observations)
    for _ in range(3):
        observations, rewards, terminations, _, infos = plain.step(plain.sample_actions())
        paid, ended = torch.from_numpy(rewards), torch.from_numpy(terminations)
        assert boards.data_ptr() == observations.ctypes.data and np.array_equal(boards.numpy(), observations)
        assert paid.dtype == torch.float64 and ended.dtype == torch.bool
        assert not infos["action_mask"].flags.writeable  # from_numpy warns of such: it cannot make a tensor read-only
    envs = MaskedObservation(gym.make_vec(TTT, 8, copy=False), dtype=bool)
    seen, _ = envs.reset(seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        masks = torch.from_numpy(seen["action_mask"])
    assert masks.dtype == torch.bool and masks.all()
