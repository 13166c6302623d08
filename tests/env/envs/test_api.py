"""The environments as citizens: Gymnasium's and Stable-Baselines3's checks, wrappers, specs, saved states, models."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import lowest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import FlattenObservation, RecordEpisodeStatistics, TimeLimit

from tictac_env.games import GAMES
from tictac_env.policies.pool import OpponentPool

IDS = [*GAMES, "KInARow-v0"]
TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"
SEATS = ["first", "second", "random", "alternate"]


def variants() -> Iterator[dict[str, Any]]:
    """Every id, seat and type of observation that goes together."""
    sizes = {
        TTT: {},
        C4: {},
        "KInARow-v0": {},
        "small": {"id": "KInARow-v0", "rows": 4, "cols": 5, "connect": 3, "gravity": False},
    }
    for name, size in sizes.items():
        for obs_type in ("planes", "board", "code") if name in (TTT, "small") else ("planes", "board"):
            for seat in SEATS:
                yield {"id": name, "play_as": seat, "obs_type": obs_type} | size
            yield {"id": name, "opponent": None, "obs_type": obs_type} | size


every_variant = pytest.mark.parametrize(
    "kwargs", list(variants()), ids=lambda kwargs: "-".join(map(str, kwargs.values()))
)


# Checkers and wrappers


@every_variant
def test_gymnasiums_checker_finds_no_fault(kwargs: dict[str, Any]) -> None:
    """It opens a window each time it looks at the pictures, so for each game once."""
    check_env(
        gym.make(**kwargs, render_mode="ansi").unwrapped,
        skip_render_check=(kwargs.get("play_as"), kwargs["obs_type"]) != ("alternate", "planes"),
    )


@every_variant
def test_stable_baselines_checker_warns_of_small_images_only(kwargs: dict[str, Any]) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checker.check_env(gym.make(**kwargs))
    for warning in caught:
        assert any(text in str(warning.message) for text in EXPECTED[kwargs["obs_type"]]), warning.message


EXPECTED = {
    "planes": [
        "is an image but its `dtype` is (int8)",
        "bounds are not in [0, 255]",
        "minimal resolution for an image",
    ],
    "board": ["has an unconventional shape (neither an image, nor a 1D vector)"],
    "code": [],
}


@pytest.mark.parametrize("opponent", ["random", None])
def test_gymnasiums_wrappers_work(name: str, opponent: str | None) -> None:
    env = RecordEpisodeStatistics(TimeLimit(FlattenObservation(gym.make(name, opponent=opponent)), 3))
    for _ in range(3):
        observation, _ = env.reset(seed=0)
        assert observation in env.observation_space and observation.ndim == 1
        terminated = truncated = False
        steps = 0
        while not (terminated or truncated):
            legal = np.flatnonzero(env.unwrapped.action_masks())
            observation, _, terminated, truncated, info = env.step(legal[0])
            steps += 1
            assert observation in env.observation_space
        assert truncated == (steps == 3)
        assert info["episode"]["l"] == steps
    assert gym.make(name, max_episode_steps=5).spec.max_episode_steps == 5


@pytest.mark.parametrize("name", IDS)
def test_every_id_is_made_through_the_module_too(name: str) -> None:
    env = gym.make(f"tictac_env:{name}")
    env.reset(seed=0)
    assert env.spec.id == name
    assert gym.make(env.spec).reset(seed=0)[0] in env.observation_space


# Copies and pickles


DAMAGES: dict[str, tuple[Any, str]] = {
    "nothing": (lambda state: None, "a dict with the keys"),
    "a list": (lambda state: list(state), "a dict with the keys"),
    "no key": (lambda state: {}, "a dict with the keys"),
    "another key": (lambda state: state | {"more": 1, 2: 3}, "a dict with the keys"),
    "another game": ({"game": C4}, "a state of ConnectFour-v0, not of TicTacToe-v0"),
    "all stones": ({"own": 511, "opp": 511}, "cannot have the stones 511 and 511"),
    "negative stones": ({"own": -1}, "own"),
    "too large a number": ({"own": 2**63}, "own"),
    "stones beside the board": ({"opp": 1 << 40}, "off the board"),
    "a float": ({"own": 0.0}, "own"),
    "a bool": ({"opp": True}, "opp"),
    "no seat": ({"learner": 7}, r"learner of a state must be an integer in \[0, 1\], not 7"),
    "the other seat": ({"learner": 1}, "the learner is not to move"),
    "not over": ({"over": 0}, "over"),
    "never begun": ({"random_state": -1}, "never began"),
    "no state of randomness": ({"random_state": 2**62}, "random_state"),
    "no count": ({"games_begun": None}, "games_begun"),
    "no such opponent": ({"member": 2}, r"member of a state must be an integer in \[0, 1\], not 2"),
    "no moves": ({"moves": None}, "moves"),
    "text": ({"moves": "42"}, "moves"),
    "a move beside the board": ({"moves": [9]}, "moves"),
    "other moves": ({"moves": [2, 4]}, "do not lead"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_state_is_refused_and_changes_nothing(damage: str) -> None:
    env = gym.make(TTT, opponent=OpponentPool(["random", lowest]))
    env.reset(seed=3)
    env.step(4)
    before = env.unwrapped.state_dict()
    change, message = DAMAGES[damage]
    with pytest.raises(ValueError, match=message):
        env.unwrapped.load_state_dict(change(before) if callable(change) else before | change)
    assert env.unwrapped.state_dict() == before
    env.step(int(np.argmax(env.unwrapped.action_masks())))
