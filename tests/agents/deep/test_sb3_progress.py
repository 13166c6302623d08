"""The progress bar of a model that learns."""

from __future__ import annotations

import io
import sys
import threading
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from tictac_env.position import IllegalMove

pytest.importorskip("stable_baselines3")
import stable_baselines3 as sb3
from sb3_pairs import C4, TTT, dummy
from stable_baselines3.common.callbacks import BaseCallback

from tictac_agents import DQN, ExactEvalCallback, ProgressCallback, SB3VecEnv

SMALL: dict[str, Any] = {"buffer_size": 500, "device": "cpu", "policy_kwargs": {"net_arch": [8]}, "seed": 0}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock by which each step of a run takes a second, so that each is shown."""
    seconds = iter(range(1_000_000))
    monkeypatch.setattr("tictac_env.progress.time.monotonic", lambda: float(next(seconds)))


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return screen


@pytest.mark.usefixtures("quick")
def test_speed_wins_and_the_last_verdict_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = on_terminal(monkeypatch)
    exact = ExactEvalCallback(64)
    model = DQN("MlpPolicy", SB3VecEnv(TTT, 8, opponent=None), gamma=-1, **SMALL)
    model.learn(160, [exact, ProgressCallback(exact)])
    shown = screen.getvalue()
    assert "DQN" in shown and "100%" in shown and "plies/s, X won " in shown
    assert exact.judgements[-1].verdict is not None
    assert f"exploitability {exact.judgements[-1].verdict.exploitability:.3f}" in shown


@pytest.mark.usefixtures("quick")
def test_illegal_play_is_shown_too(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = on_terminal(monkeypatch)
    exact = ExactEvalCallback(32)
    sb3.DQN("MlpPolicy", SB3VecEnv(TTT, 4), **SMALL).learn(160, [exact, ProgressCallback(exact)])
    assert exact.judgements[-1].verdict is None and "plays illegal moves" in screen.getvalue()


def test_nothing_is_shown_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    DQN("MlpPolicy", SB3VecEnv(C4, 4), **SMALL).learn(64, ProgressCallback())
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "")


class Stones(BaseCallback):
    """Counts the stones of the games that have ended."""

    ended = 0

    def _on_step(self) -> bool:
        finals = [info["terminal_observation"] for info in self.locals["infos"] if "terminal_observation" in info]
        self.ended += sum(int(np.count_nonzero(final)) for final in finals)
        return True


@pytest.mark.parametrize("made", [SB3VecEnv, dummy], ids=["many boards", "single boards"])
@pytest.mark.parametrize("kwargs", [{"opponent": None}, {"opponent": "rule", "play_as": "second"}], ids=str)
def test_the_plies_of_both_sides_are_counted(made: Any, kwargs: dict[str, Any]) -> None:
    envs = SB3VecEnv(TTT, 4, **kwargs) if made is SB3VecEnv else dummy(4, id=TTT, **kwargs)
    stones, progress = Stones(), ProgressCallback()
    DQN("MlpPolicy", envs, **SMALL).learn(208, [stones, progress])
    on_boards = sum(position.ply for position in envs.get_attr("position"))
    openings = 0 if kwargs["opponent"] is None else 4  # before the run began
    assert progress._state()[:2] == (208, stones.ended + on_boards - openings)


def test_the_bar_goes_when_a_run_breaks_off(monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch)
    before = set(threading.enumerate())
    model = sb3.DQN("MlpPolicy", SB3VecEnv(TTT, 4, illegal="raise"), learning_starts=0, **SMALL)
    with pytest.raises(IllegalMove), closing(ProgressCallback()) as progress:
        model.learn(5_000, progress)
    for drawing in set(threading.enumerate()) - before:
        drawing.join(10)
        assert not drawing.is_alive()
