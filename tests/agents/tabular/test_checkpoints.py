"""A learner's file: whole or refused, and a run that is stopped at any moment ends as an unbroken one, to the bit."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from conftest import breadth, compiled_games, make_env
from npz_files import read

from tictac_agents import QLearning
from tictac_agents.tabular.learner import Learner
from tictac_env.games import Game
from tictac_env.position import Position

RUNS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "random seat": ({"play_as": "random"}, {}),
    "alternate seats": ({"play_as": "alternate", "obs_type": "code"}, {"updates": "online"}),
    "self-play": ({"opponent": None}, {"symmetry": False}),
    "double": ({"opponent": "rule", "play_as": "second"}, {"double": True, "learning_rate": [0.9, 0.3]}),
}
EPISODES = 200


def make(run: str = "random seat") -> QLearning:
    env_settings, settings = RUNS[run]
    return QLearning(gym.make("TicTacToe-v0", **env_settings), seed=5, **settings)


def environment(run: str = "random seat") -> gym.Env[Any, Any]:
    return gym.make("TicTacToe-v0", **RUNS[run][0])


def unbroken(run: str = "random seat", episodes: int = EPISODES) -> QLearning:
    return make(run).learn(total_episodes=episodes, progress_bar=False)


def stop_after(episodes: int) -> Callable[[Learner], bool]:
    return lambda agent: agent.num_episodes < episodes


def check_equal(agent: QLearning, expected: QLearning, folder: Path) -> None:
    """Everything that can be saved is the same: the table, the counts and all randomness."""
    agent.save(folder / "one.npz")
    expected.save(folder / "two.npz")
    one, two = (read(folder / name) for name in ("one.npz", "two.npz"))
    assert one[0] == two[0]
    assert one[1].keys() == two[1].keys()
    for name in one[1]:
        assert one[1][name].tobytes() == two[1][name].tobytes()


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    path = tmp_path / "agent.npz"
    unbroken(episodes=60).save(path)
    return path


@compiled_games
def test_what_is_saved_is_loaded(game: Game, tmp_path: Path) -> None:
    agent = QLearning(make_env(game, opponent=None), gamma=0.9, epsilon=[0.5, 0.1], updates="online", seed=1)
    agent.learn(total_episodes=15, progress_bar=False).save(tmp_path / "agent.npz")
    loaded = QLearning.load(tmp_path / "agent.npz", make_env(game, opponent=None))
    check_equal(loaded, agent, tmp_path)
    assert loaded.game == game
    assert (loaded.gamma, loaded.epsilon, loaded.updates) == (0.9, [0.5, 0.1], "online")
    assert (loaded.num_timesteps, loaded.num_episodes) == (agent.num_timesteps, 15)
    position = Position.start(game)
    assert loaded.values(position.own, position.opp) == agent.values(position.own, position.opp)
    assert loaded.act(position, 0) == agent.act(position, 0)


def test_a_checkpoint_holds_json_and_arrays_and_no_pickle(checkpoint: Path) -> None:
    header, arrays = read(checkpoint)
    assert header["kind"] == "tictac_agents.QLearning"
    assert header["meta"]["game"] == "TicTacToe-v0"
    assert {array.dtype.kind for array in arrays.values()} <= {"i", "f"}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("stop", breadth([77], [1, EPISODES - 1]))
def test_a_stopped_run_ends_as_an_unbroken_one(run: str, stop: int, tmp_path: Path) -> None:
    agent = make(run).learn(total_episodes=EPISODES, callback=stop_after(stop), progress_bar=False)
    assert agent.num_episodes == stop
    agent.save(tmp_path / "agent.npz")
    expected = unbroken(run)
    check_equal(agent.resume(progress_bar=False), expected, tmp_path)
    loaded = QLearning.load(tmp_path / "agent.npz", environment(run))
    check_equal(loaded.resume(progress_bar=False), expected, tmp_path)


def test_a_learner_saved_before_it_learned_anything_keeps_its_seed(tmp_path: Path) -> None:
    make().save(tmp_path / "agent.npz")
    loaded = QLearning.load(tmp_path / "agent.npz", environment())
    check_equal(loaded.learn(total_episodes=EPISODES, progress_bar=False), unbroken(), tmp_path)


def test_a_run_counted_in_steps_goes_on_as_well(tmp_path: Path) -> None:
    expected = make().learn(total_timesteps=500, progress_bar=False)
    agent = make().learn(500, callback=stop_after(50), progress_bar=False, checkpoint=tmp_path / "agent.npz")
    assert expected.num_timesteps >= 500 > agent.num_timesteps
    loaded = QLearning.load(tmp_path / "agent.npz", environment())
    check_equal(loaded.resume(progress_bar=False), expected, tmp_path)


@pytest.mark.parametrize("env", [None, {"opponent": "rule"}, {"opponent": None, "rewards": (5, 0, -5)}], ids=str)
def test_a_run_does_not_go_on_in_another_environment(env: dict[str, Any] | None, tmp_path: Path) -> None:
    """It would end as no unbroken run does, and nobody would notice. To learn anew there, `learn` is free."""
    make("self-play").learn(total_episodes=EPISODES, callback=stop_after(50), progress_bar=False).save(tmp_path / "a")
    loaded = QLearning.load(tmp_path / "a", None if env is None else gym.make("TicTacToe-v0", **env))
    with pytest.raises(ValueError, match="environment"):
        loaded.resume(progress_bar=False)
    assert loaded.learn(total_episodes=5, progress_bar=False).num_episodes == 55


def test_a_finished_run_has_nothing_left(tmp_path: Path) -> None:
    agent = unbroken()
    check_equal(agent.resume(progress_bar=False), unbroken(), tmp_path)
    with pytest.raises(ValueError, match="no run to continue"):
        make().resume()


def test_checkpoints_do_not_change_the_run(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "agent.npz"
    agent = make().learn(total_episodes=EPISODES, progress_bar=False, checkpoint=path, checkpoint_seconds=0.001)
    check_equal(agent, unbroken(), tmp_path)
    check_equal(QLearning.load(path, environment()), agent, tmp_path)
    assert os.listdir(path.parent) == ["agent.npz"]


def test_an_error_in_a_game_leaves_the_last_checkpoint(tmp_path: Path) -> None:
    """The episode under way is half learned, so it must not be saved."""
    calls = 0

    def failing(observation: Any, mask: npt.NDArray[np.int8]) -> int:
        nonlocal calls
        calls += 1
        if calls == 150:
            raise RuntimeError("the opponent failed")
        return int(np.flatnonzero(mask)[-1])

    def whole(observation: Any, mask: npt.NDArray[np.int8]) -> int:
        return int(np.flatnonzero(mask)[-1])

    whole.__name__ = failing.__name__  # a run goes on in an environment of the same description only

    path = tmp_path / "agent.npz"
    agent = QLearning(gym.make("TicTacToe-v0", opponent=failing), updates="online", seed=2)
    with pytest.raises(RuntimeError, match="the opponent failed"):
        agent.learn(total_episodes=100, progress_bar=False, checkpoint=path, checkpoint_seconds=0)
    env = gym.make("TicTacToe-v0", opponent=whole)
    expected = QLearning(env, updates="online", seed=2).learn(total_episodes=100, progress_bar=False)
    loaded = QLearning.load(path, gym.make("TicTacToe-v0", opponent=whole))
    assert 10 < loaded.num_episodes < 100
    check_equal(loaded.resume(progress_bar=False), expected, tmp_path)


in_main_thread = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="Python delivers signals to the main thread only"
)


def interrupt_at(episode: int, times: int = 1) -> Callable[[Learner], None]:
    def callback(agent: Learner) -> None:
        if agent.num_episodes == episode:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)

    return callback


@in_main_thread
def test_ctrl_c_stops_after_the_episode_and_keeps_what_is_learned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGINT)
    path = tmp_path / "agent.npz"
    agent = make().learn(total_episodes=EPISODES, callback=interrupt_at(50), progress_bar=False, checkpoint=path)
    assert 50 <= agent.num_episodes <= 51
    assert "stopped after" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before
    check_equal(QLearning.load(path, environment()), agent, tmp_path)
    check_equal(agent.resume(progress_bar=False), unbroken(), tmp_path)


def test_training_in_a_thread_leaves_signals_alone(tmp_path: Path) -> None:
    agent, before = make(), signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=lambda: agent.learn(total_episodes=EPISODES, progress_bar=False))
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is before
    check_equal(agent, unbroken(), tmp_path)
