"""The plain example is proven unbeatable; the files for RL Baselines3 Zoo are those of the tuned settings."""

from __future__ import annotations

import re
import runpy
from typing import Any

import gymnasium as gym
import pytest
import yaml

from tictac_agents.plan import tuned
from tools.run_examples import EXAMPLES
from tools.tune import ZOO, ZOO_FILES, zoo_file

PLAIN = EXAMPLES / "plain_q_learning.py"


def test_plain_q_learning_is_proven_unbeatable(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(PLAIN), run_name="__main__")
    printed = capsys.readouterr().out
    for words in ("as first: unbeatable", "as second: unbeatable", "exploitability 0.00000"):
        assert words in printed


def test_plain_q_learning_is_short_and_needs_nothing_but_the_environment() -> None:
    _, source = PLAIN.read_text(encoding="utf-8").split("# ///\n")  # below the header, for programs that install it
    assert len(source.splitlines()) <= 70
    modules = set(re.findall(r"^(?:import|from) (\w+)", source, re.MULTILINE))
    assert modules - {"__future__", "typing"} == {"gymnasium", "tictac_env"}


@pytest.mark.parametrize("name", ZOO_FILES)
def test_the_files_for_the_zoo_are_those_of_the_settings_and_the_algorithms_take_them(name: str) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    import tictac_agents

    ours = {"tictac_dqn": tictac_agents.DQN, "maskable_ppo": tictac_agents.MaskablePPO}
    algorithm = {"dqn": sb3.DQN, "ppo": sb3.PPO, **ours}[name]
    text = (ZOO / f"{name}.yml").read_text()
    assert text == zoo_file(name), "run python tools/tune.py --zoo"
    settings: dict[str, dict[str, Any]] = yaml.safe_load(text)
    assert list(settings) == ["TicTacToe-v0", "ConnectFour-v0"][: 2 if name in ours else 1]
    for game, found in settings.items():
        expected = tuned(ZOO_FILES[name], game)
        assert found.pop("n_timesteps") == expected.length and found.pop("n_envs") == expected.num_envs
        env = gym.make(game, **found.pop("env_kwargs"))
        schedule, rate = found.pop("learning_rate").split("_")
        assert schedule == "lin" and float(rate) == expected.settings.keywords()["learning_rate"][0]
        found |= {"buffer_size": 100} if "buffer_size" in found else {"n_steps": 4, "batch_size": 4}
        algorithm(env=env, seed=0, device="cpu", learning_rate=float(rate), **found)
