"""Masks within observations, and infos that are complete: as the plain environments, with nothing but these changed."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import assert_same
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import DtypeObservation, FlattenObservation

from tictac_env import connect_four_v0
from tictac_env.wrappers import CompleteInfo, MaskedObservation, OpponentPolicyEnv

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"
RLLIB: dict[str, Any] = {"keys": ("observations", "action_mask"), "dtype": np.float32}
modes = pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)


def kinds(info: dict[str, Any]) -> dict[str, Any]:
    """The structure of an info: keys, dtypes and shapes."""
    return {
        key: kinds(value) if isinstance(value, dict) else (np.asarray(value).dtype, np.shape(value))
        for key, value in info.items()
    }


# One board


@pytest.mark.parametrize("wrapping", [{}, RLLIB, {"dtype": bool}], ids=["plain", "rllib", "bool"])
def test_one_board_is_the_plain_one_with_its_mask(name: str, wrapping: dict[str, Any]) -> None:
    plain = gym.make(name, opponent="rule", play_as="random")
    env = MaskedObservation(gym.make(name, opponent="rule", play_as="random"), **wrapping)
    observed, mask = wrapping.get("keys", ("observation", "action_mask"))

    def same(seen: dict[str, Any], observation: Any, info: dict[str, Any]) -> None:
        assert seen in env.observation_space and seen.keys() == {observed, mask}
        assert_same(seen[observed], observation)
        assert seen[mask].dtype == wrapping.get("dtype", np.int8)
        assert np.array_equal(seen[mask], info["action_mask"])

    for seed in range(5):
        (seen, heard), (observation, info) = env.reset(seed=seed), plain.reset(seed=seed)
        same(seen, observation, info)
        ended = False
        while not ended:
            action = int(np.flatnonzero(info["action_mask"])[seed % 2])
            (seen, *got, heard), (observation, *expected, info) = env.step(action), plain.step(action)
            same(seen, observation, info)
            assert got == expected
            assert_same(heard, info)
            ended = expected[1]
        assert not seen[mask].any()


def test_the_mask_may_be_all_ones_once_a_game_is_over() -> None:
    env = MaskedObservation(gym.make(TTT, opponent=None), dtype=bool, ones_when_over=True)
    env.reset()
    for cell in (0, 3, 1, 4, 2):
        observation, _, terminated, _, info = env.step(cell)
        assert observation["action_mask"].dtype == bool and observation in env.observation_space
        assert (observation["action_mask"] == (info["action_mask"] == 1)).all() or terminated
    assert terminated and observation["action_mask"].all() and not info["action_mask"].any()
    envs = MaskedObservation(gym.make_vec(TTT, 2, opponent=None, autoreset_mode="Disabled"), ones_when_over=True)
    envs.reset(options={"position": ["1425", ""]})
    observations, _, _, _, infos = envs.step([2, 2])
    assert observations["action_mask"].tolist() == [[1] * 9, infos["action_mask"][1].tolist()]
    assert envs.autoreset_mode == envs.unwrapped.autoreset_mode == AutoresetMode.DISABLED


def test_gymnasiums_checker_finds_no_fault() -> None:
    for env in (MaskedObservation(gym.make(C4), **RLLIB), CompleteInfo(MaskedObservation(gym.make(TTT)))):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*different from the unwrapped version")
            check_env(env, skip_render_check=True)


def test_the_spec_and_copies_keep_the_wrapper() -> None:
    env = CompleteInfo(MaskedObservation(gym.make(TTT, opponent="rule"), **RLLIB))
    assert env.spec is not None
    again: Any = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert json.loads(env.spec.to_json())["additional_wrappers"][0]["kwargs"]["dtype"] == "float32"
    assert again.observation_space == env.observation_space
    env.reset(seed=3)
    env.step(4)
    again.reset(seed=3)
    again.step(4)
    expected = again.step(2)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        found = twin.step(2)
        assert_same(found, expected)


def test_other_wrappers_fit_below_and_other_environments_have_masks_too() -> None:
    env: Any = MaskedObservation(FlattenObservation(DtypeObservation(gym.make(C4), np.float32)), **RLLIB)
    observation, _ = env.reset(seed=0)
    assert observation["observations"].shape == (84,) and observation["observations"].dtype == np.float32
    env = MaskedObservation(OpponentPolicyEnv(connect_four_v0.env()))
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space and observation["action_mask"].sum() == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"keys": ("mask", "mask")}, "two different names.*'mask'"),
        ({"keys": "ab"}, "two different names"),
        ({"keys": ("a", "b", "c")}, "two different names"),
        ({"ones_when_over": 2}, "ones_when_over must be True or False, not 2"),
        ({"dtype": "U3"}, "dtype must be one of integers, floats or bool, not <U3"),
    ],
)
def test_impossible_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    for env in (gym.make(TTT), gym.make_vec(TTT, num_envs=2)):
        with pytest.raises(ValueError, match=message):
            MaskedObservation(env, **arguments)


def test_what_has_no_masks_is_refused() -> None:
    with pytest.raises(ValueError, match=r"CartPole.*gives no action mask.*'action_mask'.*it has \[\]"):
        MaskedObservation(gym.make("CartPole-v1")).reset()
    with pytest.raises(ValueError, match=r"Discrete actions from 0.*Box"):
        MaskedObservation(gym.make("Pendulum-v1"))
    for wrapper in (MaskedObservation, CompleteInfo):
        with pytest.raises(ValueError, match=r"env must be an environment of Gymnasium.*'TicTacToe-v0'"):
            wrapper(TTT)


# Many boards


@modes
@pytest.mark.parametrize("copies", [True, False])
def test_many_boards_are_the_plain_ones_with_their_masks(mode: AutoresetMode, copies: bool) -> None:
    def make() -> Any:
        return gym.make_vec(TTT, 6, play_as="alternate", autoreset_mode=mode, copy=copies)

    plain, envs = make(), MaskedObservation(make(), **RLLIB)
    (seen, _), (observations, infos) = envs.reset(seed=2), plain.reset(seed=2)
    assert seen in envs.observation_space
    over = np.zeros(6, np.bool_)
    for step in range(30):
        masks = plain.action_masks().astype(np.float32)
        assert_same(seen, {"observations": observations, "action_mask": masks})
        if mode == AutoresetMode.DISABLED and step % 10 == 9:
            chosen = {"reset_mask": np.arange(6) != step // 10}
        elif mode == AutoresetMode.DISABLED and over.any():
            chosen = {"reset_mask": over}
        else:
            actions = plain.sample_actions().copy()
            seen, *got, heard = envs.step(actions)
            observations, *expected, infos = plain.step(actions)
            over = expected[1].copy()
            assert_same(got, expected)
            for i in np.flatnonzero(infos.get("_final_obs", [])).tolist():
                last = heard["final_obs"][i]
                assert_same(last["observations"], infos["final_obs"][i])
                assert not last["action_mask"].any()
            assert_same({**heard, "final_obs": None}, {**infos, "final_obs": None})
            continue
        seen, observations = envs.reset(options=chosen)[0], plain.reset(options=chosen)[0]
        over = over & ~chosen["reset_mask"]


# Stable-Baselines3


def test_stable_baselines_boards_are_the_plain_ones_with_their_masks() -> None:
    pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.env_util import make_vec_env

    from tictac_agents import SB3VecEnv

    makers: list[Any] = [lambda: SB3VecEnv(TTT, 4), lambda: make_vec_env(TTT, 4)]
    for make in makers:
        plain, envs = make(), MaskedObservation(make(), **RLLIB)
        plain.seed(1)
        envs.seed(1)
        observations, seen = plain.reset(), envs.reset()
        for _ in range(20):
            masks = np.stack(plain.env_method("action_masks"))
            assert_same(seen, {"observations": observations, "action_mask": masks.astype(np.float32)})
            actions = masks.argmax(axis=1)
            (observations, *expected, infos), (seen, *got, heard) = plain.step(actions), envs.step(actions)
            assert_same(got, expected)
            for board in np.flatnonzero(expected[1]):
                last = heard[board]["terminal_observation"]
                assert_same(last["observations"], infos[board]["terminal_observation"])
                assert last["action_mask"].shape == (9,) and not last["action_mask"].any()


# Infos


def test_the_infos_of_one_board_are_complete() -> None:
    env = CompleteInfo(gym.make(TTT, opponent=None))
    expected = kinds(env.reset(seed=0)[1])
    for cells, outcome, illegal in (("03142", 1, -1), ("00", -1, 0)):
        env.reset()
        for i, cell in enumerate(cells, 1):
            *_, terminated, _, info = env.step(int(cell))
            assert kinds(info) == expected and terminated == (i == len(cells))
            assert (info["outcome"], info["illegal_action"]) == ((outcome, illegal) if terminated else (0, -1))


@modes
def test_the_infos_of_many_boards_are_complete(mode: AutoresetMode) -> None:
    """Actions drawn from all, so that many games end by an illegal one."""
    plain, envs = (gym.make_vec(TTT, 6, autoreset_mode=mode) for _ in range(2))
    envs = CompleteInfo(envs)
    plain.reset(seed=0)
    expected = kinds(envs.reset(seed=0)[1])
    rng, met = np.random.default_rng(0), set()
    for _ in range(60):
        actions = rng.integers(9, size=6)
        terminations, _, infos = plain.step(actions)[2:]
        *_, found = envs.step(actions)
        assert kinds(found) == expected
        for key in infos.keys() - {"final_info", "illegal_action"}:
            assert_same(found[key], infos[key], key)
        ends, there = (one.get("final_info", one) for one in (infos, found))
        for key, missing in (("outcome", 0), ("illegal_action", -1)):
            given = ends.get(f"_{key}", np.zeros(6, np.bool_))
            assert_same(there[f"_{key}"], given)
            assert_same(there[key], np.where(given, ends.get(key, 0), missing))
        met |= {key for key in ("outcome", "illegal_action") if key in ends}
        if mode == AutoresetMode.DISABLED and terminations.any():
            options = {"reset_mask": terminations}
            plain.reset(options=options)
            assert kinds(envs.reset(options=options)[1]) == expected
    assert met == {"outcome", "illegal_action"}
