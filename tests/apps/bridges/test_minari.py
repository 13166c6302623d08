"""Datasets for Minari: what was played, what is kept of it, and that the kept episodes are those of the environment."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from oracle import Oracle

from tictac_apps.bridges.minari import NO_SCORE, ReferenceScores, reference_scores, to_minari
from tictac_env import solve
from tictac_env.games import get_game
from tictac_env.policies import OpponentPool
from tictac_env.position import Position

minari = pytest.importorskip("minari")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


def make(**kwargs: Any) -> gym.Env[Any, Any]:
    return gym.make("TicTacToe-v0", **kwargs)


def metadata(dataset: Any) -> list[dict[str, Any]]:
    return list(dataset.storage.get_episode_metadata(dataset.episode_indices))


@pytest.mark.parametrize(
    "kwargs",
    [
        {"opponent": "random", "play_as": "alternate"},
        {"opponent": "perfect:0.3", "play_as": "random", "obs_type": "board", "rewards": [2, 1, 0]},
        {"opponent": None, "start": ["5", "12"], "obs_type": "code"},
        {"id": "ConnectFour-v0", "opponent": "rule", "play_as": "second"},
    ],
    ids=lambda kwargs: str(kwargs["opponent"]),
)
def test_the_episodes_are_those_of_the_recovered_environment(kwargs: dict[str, Any]) -> None:
    env = gym.make(**{"id": "TicTacToe-v0", **kwargs})
    is_small = "id" not in kwargs
    player = "perfect:0.2" if is_small else "rule"
    to_minari("games/test-v0", env, player, games=6, seed=3, scores=is_small, eval_env=None if is_small else make())
    dataset = minari.load_dataset("games/test-v0")
    again = dataset.recover_environment()
    assert len(dataset) == 6 and dataset.observation_space == env.observation_space
    for episode, kept in zip(dataset, metadata(dataset), strict=True):
        observation, info = again.reset(seed=kept["seed"], options=kept.get("options"))
        for step in range(len(episode.actions) + 1):
            np.testing.assert_array_equal(episode.observations[step], observation)
            for key in ("action_mask", "seat", "opponent_action"):
                np.testing.assert_array_equal(episode.infos[key][step], info[key])
            if step < len(episode.actions):
                observation, *result, info = again.step(int(episode.actions[step]))
                kept_result = (episode.rewards[step], episode.terminations[step], episode.truncations[step])
                assert tuple(result) == kept_result
    seats = [int(episode.infos["seat"][0]) for episode in dataset]
    expected = {"alternate": [0, 1, 0, 1, 0, 1], "second": [1] * 6}.get(kwargs.get("play_as", ""))
    assert expected is None or seats == expected


def test_the_scores_are_the_solvers_and_a_perfect_player_has_chosen_the_best() -> None:
    dataset = to_minari("perfect-v0", make(opponent="random", obs_type="code", play_as="random"), games=5)
    for episode in dataset:
        *rows, last = episode.infos["action_scores"]
        assert (last == NO_SCORE).all()
        for row, code, action in zip(rows, episode.observations, episode.actions, strict=False):
            scores = solve(Position.from_code("TicTacToe-v0", int(code))).action_scores
            assert row.tolist() == [NO_SCORE if score is None else score for score in scores]
            assert row[action] == row.max()


@pytest.mark.parametrize(
    ("make_env", "start"),
    [
        (partial(gym.make, "KInARow-v0", rows=3, cols=4, connect=3, gravity=True), "14"),
        pytest.param(partial(gym.make, "ConnectFour-v0"), "44444432222223111111", marks=pytest.mark.slow),
    ],
)
def test_columns_are_scored_and_the_scores_kept_for_the_next_time(
    make_env: Any, start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = make_env(opponent="random", start=[start])
    for name in ("once-v0", "again-v0"):
        dataset = to_minari(name, env, "rule", games=2, cache=tmp_path / "scores.sqlite")
        monkeypatch.setattr("tictac_env.solver.Solver.solve_many", None)  # what is not kept cannot be found
    monkeypatch.undo()
    scores = solve(Position.from_moves(env.unwrapped.game, start)).action_scores
    assert dataset[0].infos["action_scores"][0].tolist() == [NO_SCORE if score is None else score for score in scores]
    assert "ref_max_score" not in dataset.storage.metadata  # its games do not begin with the empty board


def test_reference_scores_are_exact() -> None:
    truth = Oracle(get_game("TicTacToe-v0"))
    for name, chances in (("random", truth.uniform), ("perfect", truth.uniform_best)):
        wins, draws, losses = truth.expected(chances, truth.uniform)
        found = reference_scores(make(opponent="random", rewards=(3, 2, -1)))
        assert found is not None
        assert getattr(found, name) == pytest.approx(3 * wins + 2 * draws - losses, abs=1e-12)
        assert found.intervals[name == "perfect"] == pytest.approx((getattr(found, name),) * 2, abs=1e-12)

    seats = [reference_scores(make(opponent="rule", play_as=seat)) for seat in ("first", "second", "random")]
    first, second, both = (found.random for found in seats if found is not None)
    assert first != second and both == pytest.approx((first + second) / 2)
    for kwargs in ({"opponent": None}, {"start": ["5"]}, {"rewards": (1, 0, -1, -0.1)}):
        assert reference_scores(make(**kwargs)) is None


def test_self_play_is_judged_by_games_against_perfect_play(folder: Path) -> None:
    dataset = to_minari("self-play-v0", make(opponent=None), "random", games=3, author="me")
    assert dataset[0].infos["seat"][:3].tolist() == [0, 1, 0]
    assert dataset.recover_environment().unwrapped.opponent is None
    judge = dataset.recover_environment(eval_env=True)
    assert str(judge.unwrapped.opponent) == "perfect"
    expected = reference_scores(judge)
    kept = dataset.storage.metadata
    assert isinstance(expected, ReferenceScores)
    assert (kept["ref_min_score"], kept["ref_max_score"]) == (expected.random, expected.perfect)
    assert kept["ref_score_intervals"] == [list(ends) for ends in expected.intervals]
    assert minari.get_normalized_score(dataset, np.array([expected.random, expected.perfect])).tolist() == [0, 1]
    assert kept["algorithm_name"] == "random" and kept["author"] == {"me"}
    assert kept["description"] == "3 games of TicTacToe-v0: random against itself"
    # It is recovered by a program that has not imported the package.
    script = "import minari; print(minari.load_dataset('self-play-v0').recover_environment().spec.id)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "TicTacToe-v0", done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"env": gym.make("CartPole-v1")}, "an environment of this package"),
        ({"env": make(opponent=lambda observation, mask: mask.argmax())}, "name it"),
        ({"env": make(opponent=OpponentPool(["random"]))}, "name it"),
        ({"dataset_id": "no version"}, "Malformed dataset ID"),
        ({"dataset_id": "taken-v0"}, "'taken-v0' already"),
        ({"games": 0}, "games must be"),
        ({"seed": -1}, "seed must be"),
        ({"scores": "all"}, "scores must be"),
        ({"policy": "perfct"}, "perfect"),
        ({"reward": 1}, "'reward' is none of author"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_written(
    arguments: dict[str, Any], words: str, folder: Path
) -> None:
    (folder / "taken-v0").mkdir()
    with pytest.raises(ValueError, match=words):
        to_minari(**{"dataset_id": "new-v0", "env": make(), "games": 1, **arguments})
    assert [path.name for path in folder.iterdir()] == ["taken-v0"]


def test_what_cannot_be_written_whole_is_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("minari.dataset._storages.hdf5_storage._add_episode_to_group", stopped)
        with pytest.raises(KeyboardInterrupt):
            to_minari("games-v0", make(), "random", games=1)
    assert not (folder / "games-v0").exists()
    assert len(to_minari("games-v0", make(), "random", games=1)) == 1
