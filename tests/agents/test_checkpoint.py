"""What is learned is not lost where a disk is full, or a folder can no longer be written to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tictac_agents import QLearning
from tictac_agents.base_learner import Checkpoint

GAMES = 60


def learned(agent: Any) -> list[tuple[str, bytes]]:
    return [(name, array.tobytes()) for name, array in agent.learned().items() if hasattr(array, "tobytes")]


def test_what_cannot_be_saved_now_is_saved_later(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, tried = tmp_path / "agent.npz", []

    def save(path: Path) -> None:
        tried.append(path)
        if len(tried) == 1:
            raise OSError(28, "No space left on device", str(path))
        path.write_text("learned")

    kept = Checkpoint(save, path, 0)
    kept.save_if_due()
    assert not path.exists() and "No space left on device" in capsys.readouterr().err
    kept.save_if_due()
    assert path.read_text() == "learned" and not capsys.readouterr().err
    Checkpoint(save, None).save_at_the_end()
    assert len(tried) == 2


def test_it_is_saved_once_in_so_many_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, saved = 1000.0, list[float]()
    monkeypatch.setattr("tictac_agents.base_learner.time.monotonic", lambda: now)
    kept = Checkpoint(lambda path: saved.append(now), tmp_path / "agent.npz", 60)
    for now in (1001.0, 1059.9, 1060.0, 1060.1, 1119.9, 1150.0, 1160.0, 1209.9, 1210.0):  # noqa: B007
        kept.save_if_due()
    assert saved == [1060, 1150, 1210]


@pytest.mark.parametrize("name", ["a file/agent.npz", "."])
def test_a_path_that_cannot_be_is_told_before_anything_is_learned(name: str, tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    agent = QLearning("TicTacToe-v0", seed=0)
    with pytest.raises(OSError, match=re.escape(str(tmp_path))):
        agent.learn(total_episodes=GAMES, checkpoint=tmp_path / name, progress_bar=False)
    assert agent.num_episodes == 0


def test_in_the_end_it_is_saved_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "elsewhere"))
    folder = tmp_path / "removed"

    def becomes_a_file(agent: QLearning) -> None:
        if agent.num_episodes == GAMES - 1:
            folder.rmdir()
            folder.touch()

    agent = QLearning("TicTacToe-v0", seed=0)
    with pytest.raises(OSError, match=r"is saved in .* instead") as told:
        agent.learn(total_episodes=GAMES, callback=becomes_a_file, checkpoint=folder / "q.npz", progress_bar=False)
    found = re.search(r"is saved in (.*) instead", str(told.value))
    assert found is not None
    again = QLearning.load(found[1])
    assert again.num_episodes == GAMES and learned(again) == learned(agent)
