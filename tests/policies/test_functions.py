"""A function as a policy: it may return an integer of any kind, and gets the seed if it takes one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest

from tictac_env import check_policy, connect_four_v0, play_match, verdict
from tictac_env.policies import FunctionPolicy
from tictac_env.position import IllegalMove
from tictac_env.wrappers import OpponentPolicyEnv

Mask = npt.NDArray[np.int8]


def lowest(observation: Any, mask: Mask) -> int:
    return int(mask.argmax())


def drawn(observation: Any, mask: Mask, seed: int) -> int:
    return int(np.random.default_rng(seed).choice(np.flatnonzero(mask)))


def drawn_by_keyword(observation: Any, mask: Mask, *, seed: int | None = None) -> int:
    assert seed is not None
    return drawn(observation, mask, seed)


def outcome(opponent: Any) -> list[Any]:
    """What one and two boards against the opponent show after the learner has played the centre."""
    env = gym.make("TicTacToe-v0", opponent=opponent)
    env.reset(seed=0)
    envs = gym.make_vec("TicTacToe-v0", num_envs=2, opponent=opponent)
    envs.reset(seed=0)
    return [env.step(4)[0].tolist(), envs.step(np.array([4, 4]))[0].tolist()]


KINDS: dict[str, Callable[[int], Any]] = {
    "np.int64": np.int64,
    "np.uint8": np.uint8,
    "0-d array": np.array,
    "torch tensor": lambda action: pytest.importorskip("torch").tensor(action),
}


@pytest.mark.parametrize("kind", KINDS)
def test_integers_of_any_kind_are_actions(kind: str) -> None:
    assert outcome(lambda observation, mask: KINDS[kind](lowest(observation, mask))) == outcome(lowest)


WRONG: dict[str, Callable[[], Any]] = {
    "float": lambda: 2.0,
    "bool": lambda: True,
    "np.bool": lambda: np.True_,
    "None": lambda: None,
    "str": lambda: "2",
    "pair": lambda: (2, None),
    "1-d array": lambda: np.array([2]),
    "1-d tensor": lambda: pytest.importorskip("torch").tensor([2]),
    "bool tensor": lambda: pytest.importorskip("torch").tensor(True),
    "float tensor": lambda: pytest.importorskip("torch").tensor(2.0),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_no_integer_is_said_to_be_none(kind: str) -> None:
    def function(observation: Any, mask: Mask) -> Any:
        return WRONG[kind]()

    with pytest.raises(
        IllegalMove, match=r"^function must return an int \(legal are .*\), not .*\(\w+\): Position\.from_moves"
    ):
        outcome(function)
    env = OpponentPolicyEnv(connect_four_v0.env(), opponent=function)
    env.reset(seed=0)
    with pytest.raises(IllegalMove, match=r"the opponent function must return an int.* as player_1; legal are"):
        env.step(3)


@pytest.mark.parametrize("function", [drawn, drawn_by_keyword])
def test_a_function_that_draws_by_its_seed_passes(function: Any) -> None:
    with pytest.warns(UserWarning, match="draws but has no `probabilities`"):
        check_policy(function)
    assert str(play_match(function, "rule", games=20)) == str(play_match(function, "rule", games=20))
    assert verdict(function) == verdict(function)
    assert outcome(function) == outcome(function)


def test_the_seed_of_a_reset_decides_what_it_draws() -> None:
    def first_reply(seed: int, env: Any) -> int:
        env.reset(seed=seed)
        return int(env.step(3)[4]["opponent_action"])

    for env in (
        gym.make("ConnectFour-v0", opponent=drawn),
        OpponentPolicyEnv(connect_four_v0.env(), opponent=drawn),
    ):
        replies = [first_reply(seed, env) for seed in range(8)]
        assert replies == [first_reply(seed, env) for seed in range(8)]
        assert len(set(replies)) > 1


def test_a_function_that_draws_without_a_seed_is_told_to_take_one() -> None:
    counter = itertools.count()

    def moody(observation: Any, mask: Mask) -> int:
        legal = np.flatnonzero(mask)
        return int(legal[next(counter) % len(legal)])

    with pytest.raises(ValueError, match=r"moody answers differently .*give it a third parameter, `seed`"):
        check_policy(moody)


def test_a_function_that_does_not_say_its_parameters_gets_no_seed() -> None:
    assert not FunctionPolicy(max).seeded
    assert not FunctionPolicy(lambda observation, mask, **rest: 0).seeded
