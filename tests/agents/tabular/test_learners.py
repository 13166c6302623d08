"""What every learner must do beside learning: be killed and go on, forget, and refuse what is no file of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from conftest import breadth
from npz_files import read, write
from test_checkpoints import check_equal

from tictac_agents import MonteCarlo, QLearning, S0ValueTD, Sarsa, UntilProven, ValueTD
from tictac_agents.tabular.learner import Learner
from tictac_env.policies import check_policy

LEARNERS: dict[str, tuple[type[Learner], dict[str, Any], dict[str, Any]]] = {
    "Q": (QLearning, {"learning_rate": None}, {"play_as": "random"}),
    "Sarsa": (Sarsa, {}, {"play_as": "alternate", "obs_type": "code"}),
    "expected Sarsa": (Sarsa, {"expected": True, "learning_rate": None}, {"opponent": None}),
    "Monte Carlo": (MonteCarlo, {"gamma": 0.9}, {"opponent": None}),
    "S0": (S0ValueTD, dict(S0ValueTD.PRESETS["S0"].settings) | {"block": 7}, {"opponent": "random"}),
    "S1": (ValueTD, {}, {"opponent": None}),
    "S3": (ValueTD, dict(ValueTD.PRESETS["S3"].settings), {"opponent": None}),
    "TD(0.8)": (ValueTD, {"updates": "online", "trace_decay": 0.8}, {"opponent": "rule", "play_as": "random"}),
}
EPISODES = 150


@pytest.fixture(params=breadth(["Q", "S0", "S1"], LEARNERS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def environment(name: str) -> gym.Env[Any, Any]:
    return gym.make("TicTacToe-v0", **LEARNERS[name][2])


def make(name: str) -> Any:
    learner, settings, _ = LEARNERS[name]
    return learner(environment(name), seed=5, **settings)


def unbroken(name: str, episodes: int = EPISODES, callback: Any = None) -> Any:
    return make(name).learn(total_episodes=episodes, callback=callback, progress_bar=False)


TRAIN = """
import json, sys
import gymnasium as gym
import tictac_agents, tictac_env
kind, settings, env, path, episodes = json.loads(sys.argv[1])
agent = getattr(tictac_agents, kind)(gym.make("TicTacToe-v0", **env), seed=5, **settings)
agent.learn(total_episodes=episodes, progress_bar=False, checkpoint=path, checkpoint_seconds=0)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("name", breadth(["Q"], ["S0", "Sarsa", "Monte Carlo", "S1"]))
def test_a_killed_process_resumes_from_its_checkpoint(name: str, tmp_path: Path) -> None:
    learner, settings, env = LEARNERS[name]
    path, episodes = tmp_path / "agent.npz", 3000
    task = json.dumps([learner.__name__, settings, env, str(path), episodes])
    process = subprocess.Popen([sys.executable, "-c", TRAIN, task])
    deadline = time.monotonic() + 60
    while not path.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "it had ended before it was killed"
    loaded = learner.load(path, environment(name))
    assert 0 < loaded.num_episodes < episodes
    check_equal(loaded.resume(progress_bar=False), unbroken(name, episodes), tmp_path)


@pytest.mark.parametrize("stop", breadth([60], [1, 20, EPISODES - 1]))
def test_a_checkpoint_of_any_moment_leads_to_the_same_end(name: str, stop: int, tmp_path: Path) -> None:
    """Also one written in the very episode after which the learner forgot everything."""

    def proof() -> UntilProven:
        return UntilProven(every=20, start_afresh=60)

    agent, path = make(name), tmp_path / "agent.npz"
    save, saved = agent.save, []

    def save_once(target: Path) -> None:
        if agent.num_episodes <= stop:
            save(target)
            saved.append(agent.num_episodes)

    agent.save = save_once
    agent.learn(total_episodes=EPISODES, callback=proof(), progress_bar=False, checkpoint=path, checkpoint_seconds=0.0)
    agent.save = save
    assert saved == list(range(1, stop + 1))
    loaded = LEARNERS[name][0].load(path, environment(name))
    assert loaded.num_episodes == stop
    check_equal(loaded.resume(proof(), progress_bar=False), agent, tmp_path)


def test_what_is_forgotten_is_gone_and_the_run_goes_on(name: str) -> None:
    agent = unbroken(name)
    before = agent.num_episodes, agent.num_timesteps, int(agent._random_state[0])
    assert len(agent) > 50
    agent.forget()
    assert len(agent) == 0
    assert (agent.num_episodes, agent.num_timesteps, int(agent._random_state[0])) == before
    fresh = make(name)
    position = [(0, 0), (1, 0)]
    assert [agent.values(*bits) for bits in position] == [fresh.values(*bits) for bits in position]
    agent.learn(total_episodes=50, progress_bar=False)
    assert agent.num_episodes == EPISODES + 50 and len(agent) > 20


def test_it_is_a_policy_like_any_other(name: str) -> None:
    check_policy(unbroken(name), "TicTacToe-v0", positions=20)


def first_array(arrays: dict[str, Any], prefix: str) -> str:
    return next(key for key in sorted(arrays) if key.startswith(prefix))


def change(prefix: str, by: Callable[[Any], Any]) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """A way to tamper with the first array whose name begins so."""

    def tamper(meta: dict[str, Any], arrays: dict[str, Any]) -> None:
        key = first_array(arrays, prefix)
        arrays[key] = by(arrays[key].copy())

    return tamper


def beginning(first: Any, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array with another first row."""
    array[0] = first
    return array


TAMPERED: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "fewer positions": change("positions", lambda array: array[:-1]),
    "flat positions": change("positions", np.ravel),
    "halves of stones": change("positions", lambda array: array + 0.5),
    "stones off the board": change("positions", lambda array: beginning((2**40, 0), array)),
    "negative stones": change("positions", lambda array: beginning((-1, -1), array)),
    "too many stones": change("positions", lambda array: beginning((0b111, 0), array)),
    "a cell of both": change("positions", lambda array: beginning((1, 1), array)),
    "one position twice": change("positions", lambda array: beginning(array[1], array)),
    "no positions": lambda meta, arrays: arrays.pop(first_array(arrays, "positions")),
    "another game": lambda meta, arrays: meta.update(game="ConnectFour-v0"),
    "unknown setting": lambda meta, arrays: meta["settings"].update(colour="red"),
    "impossible setting": lambda meta, arrays: meta["settings"].update(gamma=7),
    "a negative count": lambda meta, arrays: meta.update(num_episodes=-1),
    "no randomness": lambda meta, arrays: meta.pop("random"),
    "unknown game": lambda meta, arrays: meta.update(game="Chess-v0"),
    "no game": lambda meta, arrays: meta.pop("game"),
    "game of an impossible size": lambda meta, arrays: meta.update(game={"id": "KInARow-v0", "rows": 99, "cols": 99}),
    "settings no dict": lambda meta, arrays: meta.update(settings=[1, 2]),
    "no counts": lambda meta, arrays: meta.pop("num_episodes"),
    "counts no numbers": lambda meta, arrays: meta.update(num_episodes="many"),
    "counts beyond int64": lambda meta, arrays: meta.update(num_episodes=2**63),
    "a run beyond int64": lambda meta, arrays: meta.update(run=["timesteps", 0, 2**70]),
    "a seed of words": lambda meta, arrays: meta.update(env_seed=""),
    "a seed that is a list": lambda meta, arrays: meta.update(env_seed=[]),
    "randomness out of range": lambda meta, arrays: meta.update(random=2**70),
    "a run of nothing": lambda meta, arrays: meta.update(run=["moons", 0, 10]),
    "half a run": lambda meta, arrays: meta.update(run=["episodes"]),
    "an environment without stones": lambda meta, arrays: meta["board"].pop("own"),
    "an environment of words": lambda meta, arrays: meta["board"].update(own="many"),
}
OF_VALUE_TD: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "nan": change("values", lambda array: beginning(np.nan, array)),
    "fewer values": change("values", lambda array: array[:-1]),
    "words for values": change("values", lambda array: array.astype(str)),
    "negative visits": change("visits", lambda array: beginning(-1, array)),
    "halves of visits": change("visits", lambda array: array + 0.5),
    "two results": change("results", lambda array: array[:2]),
    "no visits": lambda meta, arrays: arrays.pop(first_array(arrays, "visits")),
}
OF_ACTION_VALUES: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "negative counts": change("counts", lambda array: -1 - array),
    "fewer counts": change("counts", lambda array: array[:, :-1]),
    "no counts": lambda meta, arrays: arrays.pop("counts"),
    "words for values": change("q", lambda array: array.astype(str)),
    "objects for values": change("q", lambda array: array.astype(object)),
    "fewer rows": change("q", lambda array: array[:, :-1]),
    "more actions": change("q", lambda array: np.pad(array, ((0, 0), (0, 0), (0, 1)))),
    "two tables": change("q", lambda array: np.repeat(array, 2, axis=0)),
    "nan": change("q", lambda array: np.where(np.isfinite(array), np.nan, array)),
    "no values": lambda meta, arrays: arrays.pop("q"),
    "positions in another order": change("positions", lambda array: array[:, ::-1].copy()),
}


@pytest.mark.parametrize("name", ["Q", "Monte Carlo", "S0", "S1"])
def test_a_file_that_was_tampered_with_is_refused(name: str, tmp_path: Path) -> None:
    path, learner = tmp_path / "agent.npz", LEARNERS[name][0]
    unbroken(name, 40).save(path)
    env = environment(name)
    env.reset(seed=9)
    board: Any = env.unwrapped
    before = board.state_dict()
    for tampering, tamper in (TAMPERED | (OF_VALUE_TD if issubclass(learner, ValueTD) else OF_ACTION_VALUES)).items():
        header, arrays = read(path)
        tamper(header["meta"], arrays)
        write(tmp_path / "tampered.npz", header, arrays)
        with pytest.raises(ValueError, match=r"tampered\.npz"):
            print(f"{tampering} was accepted: {learner.load(tmp_path / 'tampered.npz', env)}")
        assert board.state_dict() == before, tampering
    content = path.read_bytes()
    for part in (0.1, 0.5, 0.99):
        (tmp_path / "truncated.npz").write_bytes(content[: int(len(content) * part)])
        with pytest.raises(ValueError, match=r"truncated\.npz"):
            learner.load(tmp_path / "truncated.npz")


def test_a_learner_of_another_kind_is_refused(tmp_path: Path) -> None:
    unbroken("Sarsa", 5).save(tmp_path / "agent.npz")
    for learner in (MonteCarlo, QLearning, ValueTD):
        with pytest.raises(ValueError, match="Sarsa"):
            learner.load(tmp_path / "agent.npz")


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    path = tmp_path / "agent.npz"
    unbroken("Q", 60).save(path)
    return path


def test_a_damaged_byte_is_refused_or_does_no_harm(checkpoint: Path, tmp_path: Path) -> None:
    """Some bytes of an archive mean nothing to us, such as its dates."""
    content, expected = checkpoint.read_bytes(), unbroken("Q", 60)
    refused = 0
    positions = range(0, len(content), max(1, len(content) // 400))
    for at in positions:
        checkpoint.write_bytes(content[:at] + bytes([content[at] ^ 0x41]) + content[at + 1 :])
        try:
            loaded = QLearning.load(checkpoint, environment("Q"))
        except ValueError:
            refused += 1
        else:
            check_equal(loaded, expected, tmp_path)
    assert refused > 0.8 * len(positions)


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


@pytest.mark.parametrize("env", ["ConnectFour-v0", "KInARow-v0"])
def test_an_environment_of_another_game_is_refused(env: str, checkpoint: Path) -> None:
    with pytest.raises(ValueError, match="TicTacToe-v0"):
        QLearning.load(checkpoint, env)
