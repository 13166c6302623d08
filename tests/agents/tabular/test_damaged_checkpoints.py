"""Damaged, doctored and foreign checkpoints: each is refused with its name, and nothing is half loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from npz_files import read, write
from test_checkpoints import check_equal, environment, unbroken

from tictac_agents import QLearning


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    path = tmp_path / "agent.npz"
    unbroken(episodes=60).save(path)
    return path


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        QLearning.load(tmp_path / "nothing.npz")


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"not an archive", b"\x80\x04N."], ids=["empty", "PK", "text", "pickle"]
)
def test_a_file_of_another_kind_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "agent.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"agent\.npz"):
        QLearning.load(tmp_path / "agent.npz")


def test_a_truncated_file_is_refused(checkpoint: Path) -> None:
    content = checkpoint.read_bytes()
    for part in (0.1, 0.5, 0.9, 0.99):
        checkpoint.write_bytes(content[: int(len(content) * part)])
        with pytest.raises(ValueError, match=r"agent\.npz"):
            QLearning.load(checkpoint)


def test_a_damaged_byte_is_refused_or_does_no_harm(checkpoint: Path, tmp_path: Path) -> None:
    """Some bytes of an archive mean nothing to us, such as its dates."""
    content, expected = checkpoint.read_bytes(), unbroken(episodes=60)
    refused = 0
    positions = range(0, len(content), max(1, len(content) // 400))
    for at in positions:
        checkpoint.write_bytes(content[:at] + bytes([content[at] ^ 0x41]) + content[at + 1 :])
        try:
            loaded = QLearning.load(checkpoint, environment())
        except ValueError:
            refused += 1
        else:
            check_equal(loaded, expected, tmp_path)
    assert refused > 0.8 * len(positions)


def nan_at_a_legal_action(q: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    changed = q.copy()
    changed[0, 0, int(np.flatnonzero(np.isfinite(q[0, 0]))[0])] = np.nan
    return changed


TAMPERED: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "fewer rows": lambda meta, arrays: arrays.update(q=arrays["q"][:, :-1]),
    "more actions": lambda meta, arrays: arrays.update(q=np.pad(arrays["q"], ((0, 0), (0, 0), (0, 1)))),
    "two tables": lambda meta, arrays: arrays.update(q=np.repeat(arrays["q"], 2, axis=0)),
    "flat": lambda meta, arrays: arrays.update(q=arrays["q"].ravel()),
    "nan": lambda meta, arrays: arrays.update(q=nan_at_a_legal_action(arrays["q"])),
    "strings": lambda meta, arrays: arrays.update(q=arrays["q"].astype(str)),
    "objects": lambda meta, arrays: arrays.update(q=arrays["q"].astype(object)),
    "no q": lambda meta, arrays: arrays.pop("q"),
    "no positions": lambda meta, arrays: arrays.pop("positions"),
    "flat positions": lambda meta, arrays: arrays.update(positions=arrays["positions"].ravel()),
    "floats for positions": lambda meta, arrays: arrays.update(positions=arrays["positions"] + 0.5),
    "positions in another order": lambda meta, arrays: arrays.update(positions=arrays["positions"][:, ::-1].copy()),
    "one position twice": lambda meta, arrays: arrays["positions"].__setitem__(1, arrays["positions"][0]),
    "stones off the board": lambda meta, arrays: arrays["positions"].__setitem__(0, (2**40, 0)),
    "negative positions": lambda meta, arrays: arrays["positions"].__setitem__(0, (-1, -1)),
    "another game": lambda meta, arrays: meta.update(game="ConnectFour-v0"),
    "unknown game": lambda meta, arrays: meta.update(game="Chess-v0"),
    "no game": lambda meta, arrays: meta.pop("game"),
    "game of an impossible size": lambda meta, arrays: meta.update(game={"id": "KInARow-v0", "rows": 99, "cols": 99}),
    "unknown setting": lambda meta, arrays: meta["settings"].update(colour="red"),
    "impossible setting": lambda meta, arrays: meta["settings"].update(gamma=7),
    "settings no dict": lambda meta, arrays: meta.update(settings=[1, 2]),
    "no counts": lambda meta, arrays: meta.pop("num_episodes"),
    "counts no numbers": lambda meta, arrays: meta.update(num_episodes="many"),
    "negative counts": lambda meta, arrays: meta.update(num_timesteps=-5),
    "counts beyond int64": lambda meta, arrays: meta.update(num_episodes=2**63),
    "a run beyond int64": lambda meta, arrays: meta.update(run=["timesteps", 0, 2**70]),
    "a seed of words": lambda meta, arrays: meta.update(env_seed=""),
    "a seed that is a list": lambda meta, arrays: meta.update(env_seed=[]),
    "no randomness": lambda meta, arrays: meta.pop("random"),
    "randomness out of range": lambda meta, arrays: meta.update(random=2**70),
    "a run of nothing": lambda meta, arrays: meta.update(run=["moons", 0, 10]),
    "half a run": lambda meta, arrays: meta.update(run=["episodes"]),
    "an environment without stones": lambda meta, arrays: meta["board"].pop("own"),
    "an environment of words": lambda meta, arrays: meta["board"].update(own="many"),
}


@pytest.mark.parametrize("change", TAMPERED)
def test_a_file_that_was_tampered_with_is_refused(change: str, checkpoint: Path) -> None:
    header, arrays = read(checkpoint)
    TAMPERED[change](header["meta"], arrays)
    write(checkpoint, header, arrays)
    env = environment()
    env.reset(seed=9)
    before = env.unwrapped.state_dict()  # type: ignore[attr-defined]  # of a BoardEnv
    with pytest.raises(ValueError, match=r"agent\.npz"):
        QLearning.load(checkpoint, env)
    assert env.unwrapped.state_dict() == before  # type: ignore[attr-defined]  # nothing is half loaded


@pytest.mark.parametrize("count", [2, 4, 10**13])
def test_no_more_boards_are_made_than_the_file_holds(count: int, tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    agent = QLearning(gym.make_vec("TicTacToe-v0", num_envs=3), seed=0)
    agent.save(path)
    assert QLearning.load(path).num_envs == 3
    header, arrays = read(path)
    header["meta"]["env"]["num_envs"] = count
    write(path, header, arrays)
    with pytest.raises(ValueError, match=rf"agent\.npz.* num_envs is {count}, but"):
        QLearning.load(path)


class Another(QLearning):
    """A learner of another kind."""


def test_a_learner_of_another_kind_is_refused(checkpoint: Path) -> None:
    with pytest.raises(ValueError, match="QLearning"):
        Another.load(checkpoint)


@pytest.mark.parametrize("env", ["ConnectFour-v0", "KInARow-v0"])
def test_an_environment_of_another_game_is_refused(env: str, checkpoint: Path) -> None:
    with pytest.raises(ValueError, match="TicTacToe-v0"):
        QLearning.load(checkpoint, env)
