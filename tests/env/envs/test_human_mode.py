"""The render mode "human" through gym.make, and videos."""

from __future__ import annotations

import copy
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import pixels_shown
from gymnasium.error import DependencyNotInstalled
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordVideo

from tictac_env import connect_four_v0, render, tictactoe_v0
from tictac_env.envs import single
from tictac_env.games import GAMES
from tictac_env.wrappers import OpponentPolicyEnv

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"
every_id = pytest.mark.parametrize("name", [*GAMES, "KInARow-v0"])


def lowest(env: gym.Env[Any, Any]) -> int:
    return int(np.argmax(env.unwrapped.action_masks()))


@pytest.mark.parametrize("module", [connect_four_v0, tictactoe_v0])
def test_a_wrapped_pettingzoo_environment_has_a_window_too(module: Any, pygame: Any) -> None:
    env = OpponentPolicyEnv(module.env(render_mode="human"), play_as="second")
    assert env.render_mode == "human"
    check_env(env, skip_render_check=True)
    env.reset(seed=0)
    assert np.array_equal(pixels_shown(), render.render_rgb(env.env.position))
    assert env.render() is None
    env.close()


@every_id
def test_the_window_shows_every_position_without_being_asked(name: str, pygame: Any) -> None:
    env = gym.make(name, render_mode="human", play_as="second")
    env.reset(seed=3)
    over = False
    while True:
        assert np.array_equal(pixels_shown(), render.render_rgb(env.unwrapped.position))
        assert pygame.display.get_caption()[0]
        if over:
            break
        _, _, over, _, _ = env.step(lowest(env))
    assert env.unwrapped.position.is_over
    env.close()


def test_games_are_shown_at_a_pace_one_can_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(render.Window, "show", lambda self, position, fps=0: asked.append(fps))
    env = gym.make(TTT, render_mode="human")
    env.reset(seed=0)
    env.step(4)
    assert asked == [single.BoardEnv.metadata["render_fps"]] * 2 == [2, 2]


def test_close_twice_and_open_again(pygame: Any) -> None:
    env = gym.make(C4, render_mode="human")
    env.close()
    env.reset(seed=0)
    env.step(3)
    for _ in range(2):
        env.close()
        assert not pygame.display.get_init()
    env.step(3)  # the game goes on, in a new window
    assert np.array_equal(pixels_shown(), render.render_rgb(env.unwrapped.position))
    env.close()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, copy.copy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_have_windows_of_their_own(duplicate: Callable[..., Any], pygame: Any) -> None:
    env = gym.make(C4, render_mode="human").unwrapped
    env.reset(seed=0)
    env.step(3)
    twin = duplicate(env)
    assert twin.position == env.position
    twin.step(0)
    assert np.array_equal(pixels_shown(), render.render_rgb(twin.position))
    twin.close()
    env.step(6)
    assert np.array_equal(pixels_shown(), render.render_rgb(env.position))
    for each in (env, twin, env):
        each.close()


@pytest.mark.parametrize(
    "make",
    [
        lambda: gym.make(C4, render_mode="human"),
        lambda: connect_four_v0.env(render_mode="human"),
        lambda: OpponentPolicyEnv(tictactoe_v0.env(render_mode="human")),
    ],
)
def test_a_missing_pygame_is_answered_with_the_install_line(
    make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    env = make()
    with pytest.raises(DependencyNotInstalled, match=re.escape('pip install "tictac-env[human]"')):
        env.reset()
    env.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", [TTT, C4, "KInARow-v0"])
def test_a_video_is_recorded(name: str, tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    env = RecordVideo(
        gym.make(name, render_mode="rgb_array"), str(tmp_path / "videos"), lambda episode: True, disable_logger=True
    )
    for seed in range(2):
        env.reset(seed=seed)
        over = False
        while not over:
            _, _, over, _, _ = env.step(lowest(env))
    env.close()
    files = sorted((tmp_path / "videos").glob("*.mp4"))
    assert len(files) == 2 and all(file.stat().st_size > 1000 for file in files)
