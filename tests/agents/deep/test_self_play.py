"""Learning against a pool of fixed opponents and earlier selves."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import breadth

from tictac_env.arena import verdict
from tictac_env.policies import ModelPolicy, check_policy
from tictac_env.position import Position
from tictac_env.wrappers import OpponentPool

pytest.importorskip("sb3_contrib")
import sb3_contrib
import stable_baselines3 as sb3
from stable_baselines3.common.vec_env import VecFrameStack

from tictac_agents import DQN, MaskablePPO, SB3VecEnv, SelfPlayCallback
from tictac_agents.deep.callbacks import Snapshot

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"
ON_POLICY: dict[str, Any] = {"n_steps": 16, "batch_size": 128, "seed": 0, "device": "cpu"}


def model_of(algorithm: Any, name: str = TTT, obs_type: str = "planes", **kwargs: Any) -> Any:
    envs = SB3VecEnv(name, 8, obs_type=obs_type, **kwargs)
    settings = {"buffer_size": 1_000, "seed": 0, "device": "cpu"} if "DQN" in algorithm.__name__ else ON_POLICY
    return algorithm("MlpPolicy", envs, **settings)


@pytest.mark.parametrize("name", [TTT, C4])
@pytest.mark.parametrize("obs_type", ["planes", "board"])
@pytest.mark.parametrize("algorithm", [DQN, MaskablePPO])
def test_a_snapshot_plays_as_the_model_did(algorithm: Any, obs_type: str, name: str) -> None:
    model = model_of(algorithm, name, obs_type)
    snapshot = Snapshot(model)
    check_policy(snapshot, name)
    if name == TTT:
        before = verdict(ModelPolicy(model))
        model.learn(256)
        after = verdict(ModelPolicy(model))
        assert before.as_first == verdict(snapshot).as_first != after.as_first
        assert before.as_second == verdict(snapshot).as_second


@pytest.mark.parametrize("algorithm", [sb3.DQN, sb3.PPO, sb3.A2C])
def test_snapshots_of_models_without_masks_play_legally(algorithm: Any) -> None:
    if algorithm is sb3.A2C:
        model = sb3.A2C("MlpPolicy", SB3VecEnv(TTT, 8), seed=0, device="cpu")
    else:
        model = model_of(algorithm)
    check_policy(Snapshot(model), TTT)


@pytest.mark.parametrize("algorithm", [sb3.DQN, sb3_contrib.MaskablePPO])
def test_a_snapshot_may_see_the_planes_last(algorithm: Any) -> None:
    space = gym.spaces.Box(0, 1, (6, 7, 2), np.int8)
    env = gym.wrappers.TransformObservation(gym.make(C4), lambda planes: np.moveaxis(planes, 0, -1), space)
    settings = {"buffer_size": 10, "device": "cpu"} if algorithm is sb3.DQN else ON_POLICY
    model = algorithm("MlpPolicy", env, **settings)
    snapshot = Snapshot(model)
    check_policy(snapshot, C4)
    for moves in ("", "1", "44", "4435"):
        position = Position.from_moves(C4, moves)
        assert snapshot.act(position, 0) == ModelPolicy(model).act(position, 0)


def test_models_that_see_something_else_are_refused() -> None:
    with pytest.raises(ValueError, match="obs_type"):
        Snapshot(model_of(sb3.PPO, obs_type="code"))
    with pytest.raises(ValueError, match="obs_type"):
        Snapshot(sb3.PPO("MlpPolicy", VecFrameStack(SB3VecEnv(TTT), 2, "first"), device="cpu"))
    with pytest.raises(ValueError, match=r"shape \(2, 3, 3\)"):
        Snapshot(model_of(sb3.PPO)).act(Position.from_moves(C4, ""), 0)


@pytest.mark.parametrize("sampling", breadth(["latest"], ["uniform", "prioritised"]))
def test_snapshots_join_and_share_the_games(sampling: str) -> None:
    pool = OpponentPool(["random", "rule"], [1, 3])
    envs = SB3VecEnv(TTT, 16, opponent=pool, play_as="random")
    callback = SelfPlayCallback(pool, 512, sampling, active=3, share=0.6)
    MaskablePPO("MlpPolicy", envs, **ON_POLICY).learn(512 * 6, callback)
    assert [str(one) for one in pool.players[2:]] == [f"snapshot {512 * (i + 1)}" for i in range(6)]
    weights = np.array(pool.weights)
    assert weights[:2].tolist() == pytest.approx([0.1, 0.3])
    assert np.count_nonzero(weights[2:]) == 3 and weights[-1] == pytest.approx(0.2)
    if sampling == "latest":
        assert np.flatnonzero(weights[2:]).tolist() == [3, 4, 5]
    assert callback.games.sum() > 500 and (callback.games[:7] > 0).all()
    assert ((callback.wins >= 0) & (callback.wins <= callback.games)).all()


def test_games_are_counted_for_the_opponent_that_played_them() -> None:
    """One that never loses and one that mostly does: their counts cannot be mixed up."""
    pool = OpponentPool(["minimax", "random"])
    callback = SelfPlayCallback(pool, 10_000)
    envs = SB3VecEnv(TTT, 16, opponent=pool, play_as="random")
    MaskablePPO("MlpPolicy", envs, **ON_POLICY).learn(4_096, callback)
    rates = callback.wins / callback.games
    assert callback.games.min() > 300
    assert rates[0] < 0.2 and rates[1] > 0.4


def test_prioritised_sampling_prefers_those_that_beat_the_learner() -> None:
    callback = SelfPlayCallback(OpponentPool(["random"]), sampling="prioritised", active=2)
    callback.games, callback.wins = np.array([0, 98, 98]), np.array([0.0, 98.0, 0.0])
    drawn = np.concatenate([callback._earlier(np.array([1, 2])) for _ in range(300)])
    assert np.count_nonzero(drawn == 2) > 280


@pytest.mark.parametrize(
    "wrong", [{"snapshot_freq": 0}, {"active": 0}, {"share": 1.1}, {"sampling": "oldest"}, {"active": 1.5}]
)
def test_wrong_arguments_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SelfPlayCallback(OpponentPool(["random"]), **wrong)


def test_boards_without_the_pool_are_refused() -> None:
    with pytest.raises(ValueError, match="opponent is the pool"):
        model_of(MaskablePPO).learn(128, SelfPlayCallback(OpponentPool(["random"])))
    with pytest.raises(ValueError, match="SB3VecEnv"):
        sb3.PPO("MlpPolicy", "CartPole-v1", device="cpu").learn(128, SelfPlayCallback(OpponentPool(["random"])))
