"""Stable-Baselines3's wrappers and algorithms on many boards: they learn what they would learn on a DummyVecEnv."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from conftest import breadth

from tictac_env.arena import verdict
from tictac_env.wrappers import OpponentPool

pytest.importorskip("sb3_contrib")
import sb3_contrib
import stable_baselines3 as sb3
from sb3_contrib.common.maskable.utils import get_action_masks
from sb3_pairs import BOARDS, TTT, assert_same, choices, dummy, ours
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecFrameStack, VecMonitor, VecNormalize

from tictac_agents import SB3VecEnv


@pytest.mark.parametrize("name", ["PPO", "DQN"])
def test_returns_and_lengths_are_logged(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a wrapper of Stable-Baselines3's, as over single environments."""
    algorithm, settings = ALGORITHMS[name]
    algorithm("MlpPolicy", ours(num_envs=4, id=TTT), seed=0, verbose=1, **settings).learn(256)
    logged = capsys.readouterr().out
    assert "ep_rew_mean" in logged and "ep_len_mean" in logged


def test_rewards_are_summed_as_the_game_gives_them() -> None:
    """From the empty board of a reset on, whatever was under way before."""
    envs = ours(num_envs=1, id=TTT, opponent=None, rewards=(1, 0, -1, -0.1))
    for _ in range(2):
        envs.reset()
        envs.step([8])
    envs.reset()
    infos = [envs.step([action])[3][0] for action in (0, 3, 1, 4, 2, 8)]
    assert infos[4]["episode"]["r"] == 0.6 and infos[4]["episode"]["l"] == 5
    assert not any("episode" in info for info in infos[:4] + infos[5:])


def test_evaluate_policy_takes_the_returns_of_the_games(recwarn: pytest.WarningsRecorder) -> None:
    """And not what a wrapper makes of the rewards."""
    envs = VecNormalize(ours(id=TTT, play_as="alternate"), norm_obs=False)
    model = sb3_contrib.MaskablePPO("MlpPolicy", envs, n_steps=16, seed=0, device="cpu")
    returns, lengths = evaluate_policy(model, envs, n_eval_episodes=20, return_episode_rewards=True)
    assert set(returns) <= {-1.0, 0.0, 1.0} and set(lengths) <= {1, 2, 3, 4, 5}
    assert not recwarn.list


def test_vec_monitor_counts_episodes(tmp_path: Path) -> None:
    """It says, as over any monitored environment, that its figures replace those that are there."""
    keywords = {"info_keywords": ("outcome", "seat")}
    with pytest.warns(UserWarning, match="already wrapped with a `Monitor`"):
        mine = VecMonitor(ours(id=TTT), str(tmp_path / "mine"), **keywords)
    with pytest.warns(UserWarning, match="already wrapped with a `Monitor`"):
        theirs = VecMonitor(dummy(id=TTT), str(tmp_path / "theirs"), **keywords)
    for envs in (mine, theirs):
        envs.seed(0)
        envs.reset()
    rng = np.random.default_rng(0)
    episodes = 0
    for _ in range(20):
        actions = choices(get_action_masks(mine), rng, 0.1)
        given, expected = mine.step(actions), theirs.step(actions)
        for info, other in zip(given[3], expected[3], strict=True):
            episode, others = info.pop("episode", {}), other.pop("episode", {})
            episodes += bool(episode)
            assert {**episode, "t": 0} == {**others, "t": 0} and bool(episode) == ("outcome" in info)
        assert_same(given, expected)
    assert episodes > BOARDS
    mine.close()
    theirs.close()
    assert len((tmp_path / "mine.monitor.csv").read_text().splitlines()) == 2 + episodes


def test_stacked_frames_and_normalised_rewards_are_those_of_a_dummy_vec_env() -> None:
    mine, theirs = (VecNormalize(VecFrameStack(make(id=TTT, obs_type="board"), 2)) for make in (ours, dummy))
    for envs in (mine, theirs):
        envs.seed(0)
    assert_same(mine.reset(), theirs.reset())
    for action in range(9):
        actions = (np.arange(BOARDS) + action) % 9
        assert_same(mine.step(actions), theirs.step(actions))


ON_POLICY = {"n_steps": 16, "device": "cpu"}
DEEP = {"learning_starts": 100, "buffer_size": 2000, "device": "cpu"}
ALGORITHMS = {
    "DQN": (sb3.DQN, DEEP),
    "PPO": (sb3.PPO, ON_POLICY),
    "A2C": (sb3.A2C, ON_POLICY),
    "MaskablePPO": (sb3_contrib.MaskablePPO, ON_POLICY),
}


@pytest.mark.parametrize(
    ("name", "obs_type"),
    breadth([("MaskablePPO", "planes")], product(ALGORITHMS, ["planes", "board"])),
)
def test_an_algorithm_learns_the_same_as_on_a_dummy_vec_env(name: str, obs_type: str) -> None:
    """To the last bit of the last weight, and no warning is given."""
    algorithm, settings = ALGORITHMS[name]
    kwargs = {"id": TTT, "obs_type": obs_type, "play_as": "alternate"}
    models = [
        algorithm("MlpPolicy", make(num_envs=8, **kwargs), seed=0, **settings).learn(1024) for make in (ours, dummy)
    ]
    mine, theirs = (model.policy.state_dict() for model in models)
    untrained = algorithm("MlpPolicy", ours(num_envs=8, **kwargs), seed=0, **settings).policy.state_dict()
    for key, weights in theirs.items():
        assert mine[key].equal(weights)
    assert any(not untrained[key].equal(weights) for key, weights in theirs.items())
    played = [[(episode["r"], episode["l"]) for episode in model.ep_info_buffer] for model in models]
    assert played[0] and played[0] == played[1]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_learns_from_codes(name: str) -> None:
    algorithm, settings = ALGORITHMS[name]
    envs = ours(num_envs=8, id=TTT, obs_type="code")
    settings = settings | {"policy_kwargs": {"net_arch": [4]}}
    assert algorithm("MlpPolicy", envs, seed=0, **settings).learn(256).num_timesteps == 256


@pytest.mark.slow
def test_maskable_ppo_learns_to_win() -> None:
    """Its exact share of wins against random play, from either seat, and it chooses legal actions only."""
    envs = SB3VecEnv(TTT, num_envs=32, play_as="alternate", illegal="raise")
    model = sb3_contrib.MaskablePPO(
        "MlpPolicy", envs, n_steps=64, batch_size=256, learning_rate=2e-3, seed=0, device="cpu"
    )
    before = verdict(model)
    after = verdict(model.learn(20_000))
    assert after.as_first.against_random.wins > max(0.9, before.as_first.against_random.wins + 0.1)
    assert after.as_second.against_random.wins > max(0.7, before.as_second.against_random.wins + 0.1)


@pytest.mark.slow
def test_without_masks_an_algorithm_learns_to_avoid_what_is_illegal() -> None:
    """An illegal move loses, so the mean reward of an untrained model is far below 0."""
    settings = {"n_steps": 64, "batch_size": 256, "learning_rate": 2e-3, "seed": 0, "device": "cpu"}
    model = sb3.PPO("MlpPolicy", SB3VecEnv(TTT, num_envs=32), **settings)
    envs = SB3VecEnv(TTT, num_envs=32)
    rewards = []
    for steps in (0, 20_000):
        envs.seed(0)
        rewards.append(evaluate_policy(model.learn(steps), envs, n_eval_episodes=500)[0])
    assert rewards[0] < 0 and rewards[1] > 0.7


class Recruit(BaseCallback):
    """Adds an opponent to a pool in the middle of the training, and lets nobody else play."""

    def __init__(self, pool: OpponentPool) -> None:
        super().__init__()
        self.pool = pool
        self.seen: list[set[int]] = [set(), set()]

    def _on_step(self) -> bool:
        if self.num_timesteps == 512:
            self.pool.add("minimax-first")
            self.pool.weights = [0, 1]
        late = self.num_timesteps > 1024
        self.seen[late] |= {info["opponent_action"] for info in self.locals["env"].reset_infos}
        return True


def test_opponents_join_a_pool_during_training() -> None:
    pool = OpponentPool(["random"])
    envs = SB3VecEnv(TTT, num_envs=16, opponent=pool, play_as="second")
    recruit = Recruit(pool)
    sb3_contrib.MaskablePPO("MlpPolicy", envs, n_steps=16, seed=0, device="cpu").learn(2048, recruit)
    assert recruit.seen[0] == set(range(9)) and recruit.seen[1] == {0}  # all openings draw: it plays the lowest
