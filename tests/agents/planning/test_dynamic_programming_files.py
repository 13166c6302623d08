"""A planner that is stopped goes on to the same end, and its file is whole or refused."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import make_env
from npz_files import read, write
from test_dynamic_programming import both_agents
from test_tabular_model import Lowest, board

from tictac_agents import PolicyIteration, ValueIteration, gridworld_4x4
from tictac_agents.planning.dynamic_programming import DynamicProgramming, greedy_policy
from tictac_env.games import KInARow


@both_agents
@pytest.mark.parametrize("how", ["Ctrl-C", "callback", "file"])
def test_a_run_that_was_stopped_goes_on_to_the_same_end(
    cls: type[DynamicProgramming], how: str, tmp_path: Path
) -> None:
    seen: list[int] = []

    def stop(agent: DynamicProgramming) -> bool:
        seen.append(agent.sweeps)
        assert (agent.policy == greedy_policy(agent.model, agent.values, agent.gamma)).all()
        if how == "Ctrl-C" and agent.sweeps == 40:
            signal.raise_signal(signal.SIGINT)
        return how == "Ctrl-C" or agent.sweeps < 40

    unbroken = cls("FrozenLake-v1", gamma=0.9).learn(progress_bar=False)
    before = signal.getsignal(signal.SIGINT)
    agent = cls("FrozenLake-v1", gamma=0.9).learn(callback=stop)
    assert signal.getsignal(signal.SIGINT) is before
    assert agent.sweeps == 40 and seen == list(range(1, 41))
    if how == "file":
        agent.save(tmp_path / "half.npz")
        agent = cls.load(tmp_path / "half.npz")
    agent.learn(progress_bar=False)
    for name in ("values", "q", "policy"):
        assert getattr(agent, name).tobytes() == getattr(unbroken, name).tobytes()
    assert (agent.sweeps, agent.improvements) == (unbroken.sweeps, unbroken.improvements)


SOURCES: dict[str, Callable[[], Any]] = {
    "lake": lambda: gym.make("FrozenLake-v1"),
    "tic-tac-toe": lambda: board("rule"),
    "2x3": lambda: make_env(KInARow.make(2, 3, 2, True)),
}


@both_agents
@pytest.mark.parametrize("source", SOURCES)
def test_what_is_saved_is_loaded(cls: type[DynamicProgramming], source: str, tmp_path: Path) -> None:
    agent = cls(SOURCES[source](), gamma=0.9, tolerance=1e-11, in_place=True).learn(progress_bar=False)
    agent.save(tmp_path / "agent.npz")
    for env in (None, SOURCES[source]()):
        loaded = cls.load(tmp_path / "agent.npz", env)
        assert (loaded.gamma, loaded.tolerance, loaded.in_place) == (0.9, 1e-11, True)
        assert (loaded.sweeps, loaded.improvements) == (agent.sweeps, agent.improvements)
        for name in ("values", "q", "policy"):
            assert getattr(loaded, name).tobytes() == getattr(agent, name).tobytes()
        assert loaded.model.equals(agent.model)
        loaded.learn(progress_bar=False)
        np.testing.assert_allclose(loaded.values, agent.values, atol=1e-10)


@pytest.fixture(scope="module")
def planner() -> ValueIteration:
    return ValueIteration(board(Lowest(), play_as="first")).learn(progress_bar=False)


def test_an_environment_that_differs_is_refused(planner: ValueIteration, tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    planner.save(path)
    others: list[Any] = [
        "ConnectFour-v0",
        "FrozenLake-v1",
        board(Lowest(), play_as="second"),
        board("minimax-first", play_as="first"),
        board(Lowest(), play_as="first", rewards=(1, 0.5, 0)),
    ]
    for other in others:
        with pytest.raises(ValueError, match=r"agent\.npz"):
            ValueIteration.load(path, other)
    with pytest.raises(ValueError, match="PolicyIteration"):
        PolicyIteration.load(path)
    with pytest.raises(FileNotFoundError):
        ValueIteration.load(tmp_path / "nothing.npz")


def test_a_damaged_file_is_refused(planner: ValueIteration, tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    planner.save(path)
    content = path.read_bytes()
    for part in (0, 0.1, 0.5, 0.9, 0.99):
        path.write_bytes(content[: int(len(content) * part)])
        with pytest.raises(ValueError, match=r"agent\.npz"):
            ValueIteration.load(path)


TAMPERED: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "another game": lambda meta, arrays: meta.update(game="ConnectFour-v0"),
    "unknown game": lambda meta, arrays: meta.update(game="Chess-v0"),
    "no game": lambda meta, arrays: meta.pop("game"),
    "no settings": lambda meta, arrays: meta.pop("settings"),
    "unknown setting": lambda meta, arrays: meta["settings"].update(colour="red"),
    "impossible setting": lambda meta, arrays: meta["settings"].update(gamma=7),
    "settings no dict": lambda meta, arrays: meta.update(settings=[1, 2]),
    "negative count": lambda meta, arrays: meta.update(sweeps=-5),
    "no count": lambda meta, arrays: meta.pop("improvements"),
    "no values": lambda meta, arrays: arrays.pop("values"),
    "fewer values": lambda meta, arrays: arrays.update(values=arrays["values"][1:]),
    "nan": lambda meta, arrays: arrays["values"].__setitem__(0, np.nan),
    "words": lambda meta, arrays: arrays.update(values=arrays["values"].astype(str)),
    "no policy": lambda meta, arrays: arrays.pop("evaluated_policy"),
    "an impossible policy": lambda meta, arrays: arrays["evaluated_policy"].__setitem__(0, 99),
    "a policy of floats": lambda meta, arrays: arrays.update(evaluated_policy=arrays["evaluated_policy"] + 0.5),
    "no probabilities": lambda meta, arrays: arrays.pop("prob"),
    "wrong probabilities": lambda meta, arrays: arrays["prob"].__setitem__(0, 0.5),
    "fewer probabilities": lambda meta, arrays: arrays.update(prob=arrays["prob"][1:]),
    "states out of range": lambda meta, arrays: arrays["next_state"].__setitem__(0, 10**6),
    "floats for states": lambda meta, arrays: arrays.update(next_state=arrays["next_state"] + 0.5),
    "pairs in disorder": lambda meta, arrays: arrays.update(state_action=arrays["state_action"][::-1].copy()),
    "pairs out of range": lambda meta, arrays: arrays["state_action"].__setitem__(-1, 10**6),
    "more states": lambda meta, arrays: arrays.update(shape=arrays["shape"] + [1, 0]),
    "fewer actions": lambda meta, arrays: arrays.update(shape=arrays["shape"] - [0, 1]),
    "a shape of 72 TiB": lambda meta, arrays: arrays["shape"].__setitem__(0, 2**43 // 9 * 9),
    "a shape of nothing": lambda meta, arrays: arrays["shape"].__setitem__(1, 0),
    "a way back": lambda meta, arrays: arrays["next_state"].__setitem__(slice(None), 0),
    "a huge reward": lambda meta, arrays: arrays["reward"].__setitem__(0, 1e308),
    "a huge value": lambda meta, arrays: arrays["values"].__setitem__(0, -1e308),
    "no shape": lambda meta, arrays: arrays.pop("shape"),
    "half a shape": lambda meta, arrays: arrays.update(shape=arrays["shape"][:1]),
    "infinite reward": lambda meta, arrays: arrays["reward"].__setitem__(0, np.inf),
    "no positions": lambda meta, arrays: arrays.pop("positions"),
    "flat positions": lambda meta, arrays: arrays.update(positions=arrays["positions"].ravel()),
    "positions in another order": lambda meta, arrays: arrays.update(positions=arrays["positions"][::-1].copy()),
    "one position twice": lambda meta, arrays: arrays["positions"].__setitem__(1, arrays["positions"][0]),
    "negative positions": lambda meta, arrays: arrays["positions"].__setitem__(0, (-1, -1)),
    "stones off the board": lambda meta, arrays: arrays["positions"].__setitem__(0, (2**40, 0)),
}


@pytest.mark.parametrize("change", TAMPERED)
def test_a_file_that_was_tampered_with_is_refused(change: str, tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    PolicyIteration(board("minimax-first", play_as="second")).learn(progress_bar=False).save(path)
    header, arrays = read(path)
    TAMPERED[change](header["meta"], arrays)
    write(path, header, arrays)
    with pytest.raises(ValueError, match=r"agent\.npz"):
        PolicyIteration.load(path)


@pytest.mark.parametrize("shape", [(10**13, 4), (16, 10**13), (17, 4), (-16, -4)])
def test_no_larger_model_is_made_than_the_file_holds(shape: tuple[int, int], tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    ValueIteration(gridworld_4x4()).save(path)
    header, arrays = read(path)
    write(path, header, arrays | {"shape": np.array(shape)})
    with pytest.raises(ValueError, match=r"agent\.npz.* its shape is"):
        ValueIteration.load(path)
