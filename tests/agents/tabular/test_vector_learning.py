"""Learning on the vector environment: one board as the single one, many boards too, broken off and resumed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import breadth, own_settings
from npz_files import read, write
from test_compiled_learning import ENVIRONMENTS, SETTINGS
from test_learners import check_equal

from tictac_agents import LearningCurve, QLearning
from tictac_agents.tabular.learner import Learner

FEW = ["S0, blocks", "TD traces", "Q", "Q double", "Sarsa", "Monte Carlo"]
"""One of each kind of learning."""


def make(settings: str, env: str | dict[str, Any], num_envs: int, **vector: Any) -> Any:
    learner, arguments = SETTINGS[settings]
    given = ENVIRONMENTS[env] if isinstance(env, str) else env
    envs = gym.make_vec("TicTacToe-v0", num_envs=num_envs, **given, **vector)
    return learner(envs, seed=7, **arguments)  # type: ignore[call-arg]


@pytest.mark.parametrize("settings", breadth(FEW, SETTINGS))
@pytest.mark.parametrize("env", ["random", "alone", {"opponent": "minimax"}], ids=str)
@pytest.mark.parametrize("counter", breadth(["timesteps"], ["episodes"]))
def test_one_board_of_many_is_the_single_environment(settings: str, env: Any, counter: str) -> None:
    if "blocks" in settings and env == "alone":
        pytest.skip("nobody has a seat of their own")
    learner, arguments = SETTINGS[settings]
    given = ENVIRONMENTS[env] if isinstance(env, str) else env
    single: Any = learner(gym.make("TicTacToe-v0", **given), seed=7, **arguments)  # type: ignore[call-arg]
    one = make(settings, env, 1)
    for agent in (single, one):
        agent.learn(**{f"total_{counter}": 250}, progress_bar=False)
    assert (one.num_episodes, one.num_timesteps, one._random_state[0]) == (
        single.num_episodes,
        single.num_timesteps,
        single._random_state[0],
    )
    ours, theirs = one.learned(), single.learned()
    assert all(ours[name].tobytes() == theirs[name].tobytes() for name in theirs)
    board = one.env.unwrapped.batch[0]
    assert (board.own, board.opp) == (single.env.unwrapped.position.own, single.env.unwrapped.position.opp)


@pytest.mark.parametrize("mode", breadth(["NextStep"], ["Disabled"]))
def test_self_play_is_proven_on_many_boards(mode: str) -> None:
    envs = gym.make_vec("TicTacToe-v0", num_envs=8, opponent=None, autoreset_mode=mode)
    proof = LearningCurve(every=500, until_proven=True)
    QLearning(envs, seed=0, **own_settings("QLearning", "self-play")).learn(
        total_episodes=20_000, callback=proof, progress_bar=False
    )
    assert proof.proven


@pytest.mark.parametrize("settings", breadth(FEW, SETTINGS))
@pytest.mark.parametrize("stop", breadth([37], [1, 280]))
def test_a_run_broken_off_anywhere_ends_as_an_unbroken_one(settings: str, stop: int, tmp_path: Path) -> None:
    expected = make(settings, "random", 5).learn(total_episodes=300, progress_bar=False)
    agent = make(settings, "random", 5)
    agent.learn(total_episodes=300, callback=lambda learner: learner.num_episodes < stop, progress_bar=False)
    assert stop <= agent.num_episodes < stop + 5
    agent.save(tmp_path / "agent.npz")
    envs = gym.make_vec("TicTacToe-v0", num_envs=5, **ENVIRONMENTS["random"])
    loaded = type(agent).load(tmp_path / "agent.npz", envs)
    check_equal(agent.resume(progress_bar=False), expected, tmp_path)
    check_equal(loaded.resume(progress_bar=False), expected, tmp_path)


def test_every_game_is_told_of_and_another_run_drops_those_under_way() -> None:
    seen: list[int] = []

    def watch(learner: Learner) -> None:
        seen.append(learner.num_episodes)

    agent = make("Q", "random", 6).learn(total_episodes=100, callback=watch, progress_bar=False)
    assert seen == list(range(1, agent.num_episodes + 1)) and 100 <= len(seen) < 106
    assert agent.under_way
    steps = agent.num_timesteps
    agent.learn(total_episodes=1, progress_bar=False)
    assert agent.num_timesteps - steps >= 3  # a whole game was played, from its beginning


def test_what_is_forgotten_is_gone_on_every_board() -> None:
    proof = LearningCurve(every=40, start_afresh=40, until_proven=True)
    agent = make("S0", "random", 6).learn(total_episodes=120, callback=proof, progress_bar=False)
    assert agent.num_episodes >= 120
    assert np.isfinite(agent.learned()["values_0"]).all()


def test_boards_that_begin_in_the_same_step_are_refused() -> None:
    with pytest.raises(ValueError, match="NEXT_STEP or DISABLED"):
        make("Q", "random", 2, autoreset_mode="SameStep")


def alter(name: str, index: tuple[int, ...], value: int) -> Any:
    """A way to change one number of an array of unfinished games."""

    def change(arrays: dict[str, Any]) -> None:
        arrays[f"games_{name}"][index] = value

    return change


def replace(name: str, by: Callable[[Any], Any], arrays: dict[str, Any]) -> None:
    arrays[name] = by(arrays[name])


def edges(settings: str, board: int, rows: int, plies: int) -> tuple[list[Any], list[Any]]:
    """Changes to the least and the greatest numbers that a game of so many plies may have, and to the next beyond."""
    seat, own, opp, phase, steps = ((number, board) for number in range(5))
    limits = [("view", seat, 0, 1), ("view", steps, 0, 10**6)]
    if settings == "Q":
        limits += [("steps", (board, 0, k), 0, most) for k, most in enumerate((rows - 1, 8, 2**8 - 1))]
        limits.append(("lengths", (board,), 0, plies))
    else:
        limits += [("routes", (board, 0, 0), 0, rows - 1), ("lengths", (board, 1), 0, plies + 1)]
    good = [alter(name, index, value) for name, index, least, most in limits for value in (least, most)]
    bad = [alter(name, index, least - 1) for name, index, least, _ in limits]
    bad += [alter(name, index, most + 1) for name, index, _, most in limits if index != steps]
    bad += [alter("view", phase, value) for value in (0, 2, 3, 5)]  # NEW, TERMINATED, TRUNCATED, and none
    bad += [alter("view", own, 2**9 - 1), alter("view", opp, 0)]
    for name in {name for name, *_ in limits}:
        bad += [partial(replace, f"games_{name}", by) for by in (lambda array: array[:-1], lambda array: array + 0.5)]
    return good, bad


@pytest.mark.parametrize("settings", ["Q", "TD backward"])
def test_numbers_of_games_under_way_have_exact_limits(settings: str, tmp_path: Path) -> None:
    """Compiled code checks no indices, so nothing out of range may come to it."""
    agent = make(settings, {"opponent": "random", "play_as": "first"}, 3).learn(4, progress_bar=False)
    board = int(agent._games.phase.argmin())
    assert agent._games.phase[board] == 1, "no game is under way; choose another seed"
    agent.save(path := tmp_path / "agent.npz")
    header, arrays = read(path)
    own, opp = agent._games.own[board], agent._games.opp[board]
    good, bad = edges(settings, board, len(agent), int(own | opp).bit_count())
    for change in [*good, *bad]:
        changed = {name: array.copy() for name, array in arrays.items()}
        change(changed)
        write(path, header, changed)
        if change in good:
            type(agent).load(path)
        else:
            with pytest.raises(ValueError, match=r"unfinished games|games_"):
                type(agent).load(path)
