"""The files for RL Baselines3 Zoo are those of the tuned settings, and the algorithms take what they say."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest
import yaml

from tictac_agents.deep.settings import tuned
from tools.tune import ZOO, ZOO_FILES, zoo_file


@pytest.mark.parametrize("name", ZOO_FILES)
def test_the_files_are_as_written_from_the_settings(name: str) -> None:
    assert (ZOO / f"{name}.yml").read_text() == zoo_file(name), "run python tools/tune.py --zoo"


def read(name: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((ZOO / f"{name}.yml").read_text())
    return found


@pytest.mark.parametrize("name", ZOO_FILES)
def test_the_algorithms_take_the_settings(name: str) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    import tictac_agents

    algorithm = {
        "dqn": sb3.DQN,
        "ppo": sb3.PPO,
        "tictac_dqn": tictac_agents.DQN,
        "maskable_ppo": tictac_agents.MaskablePPO,
    }[name]
    for game, found in read(name).items():
        assert found.pop("n_timesteps") == tuned(ZOO_FILES[name], game).total_timesteps
        assert found.pop("n_envs") == tuned(ZOO_FILES[name], game).num_envs
        env = gym.make(game, **found.pop("env_kwargs"))
        schedule, rate = found.pop("learning_rate").split("_")
        assert schedule == "lin" and float(rate) == tuned(ZOO_FILES[name], game).learning_rate[0]
        if "buffer_size" in found:
            found["buffer_size"] = 100
        if "n_steps" in found and "ppo" in name:
            found |= {"n_steps": 4, "batch_size": 4}
        algorithm(env=env, seed=0, device="cpu", learning_rate=float(rate), **found)


def test_the_plain_algorithms_learn_tic_tac_toe_only() -> None:
    assert list(read("ppo")) == list(read("dqn")) == ["TicTacToe-v0"]
    assert list(read("maskable_ppo")) == list(read("tictac_dqn")) == ["TicTacToe-v0", "ConnectFour-v0"]
