"""What the vector environment refuses: it says on which board and why, and no board is changed, to the last bit."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from tictac_env.envs.vector import vector_env as vector
from tictac_env.envs.vector.vector_env import BoardVectorEnv
from tictac_env.policies import Policy
from tictac_env.policies.pool import OpponentPool
from tictac_env.position import IllegalMove, Position
from tictac_env.position_batch import PositionBatch

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"


class Lowest(Policy):
    """Plays the lowest legal action, until `answer` is set."""

    answer: Callable[[PositionBatch], Any] | None = None

    def act(self, position: Position, seed: int) -> int:
        return position.legal_actions[0]

    def act_many(self, batch: PositionBatch, seeds: Any) -> Any:
        return self.answer(batch) if self.answer else super().act_many(batch, seeds)


def make(name: str = TTT, num_envs: int = 3, **kwargs: Any) -> BoardVectorEnv:
    envs = gym.make_vec(name, num_envs=num_envs, **kwargs)
    assert isinstance(envs, BoardVectorEnv)
    return envs


def saved(envs: BoardVectorEnv) -> str:
    return json.dumps(envs.state_dict())


@contextmanager
def unchanged(*every: BoardVectorEnv) -> Iterator[None]:
    """Asserts that the environments are afterwards as they were before."""
    before = [saved(envs) for envs in every]
    yield
    assert [saved(envs) for envs in every] == before


def goes_on_alike(envs: BoardVectorEnv, twin: BoardVectorEnv, steps: int = 12) -> None:
    """Asserts that both play on in the same way: nothing has stayed behind that a state does not show."""
    for _ in range(steps):
        actions = twin.sample_actions()
        assert np.array_equal(envs.sample_actions(), actions)
        for ours, theirs in zip(envs.step(actions)[:4], twin.step(actions)[:4], strict=True):
            assert np.array_equal(ours, theirs)
        assert saved(envs) == saved(twin)


# Actions


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 1], r"actions must have the shape \(3,\), not \(2,\)"),
        (0, r"actions must have the shape \(3,\), not \(\)"),
        ([[0, 1, 2]], r"actions must have the shape \(3,\), not \(1, 3\)"),
        ([0.0, 1.0, 2.0], r"actions must be integers in \[0, 9\), not float64"),
        ([True, False, True], r"actions must be integers in \[0, 9\), not bool"),
        ([0, 2**70, 2], r"actions must be integers in \[0, 9\), not object"),
        (["0", "1", "2"], r"actions must be integers in \[0, 9\), not <U1"),
        ([0, [1], 2], "actions must"),
        ([0, 1, 9], r"board 2: an action must be in \[0, 9\), not 9: Position.from_moves\('TicTacToe-v0', ''\)"),
        ([0, -1, 9], r"board 1: an action must be in \[0, 9\), not -1: Position"),
        (np.array([0, 300, 0], np.uint16), r"board 1: an action must be in \[0, 9\), not 300"),
        (np.array([0, 2**64 - 5, 0], np.uint64), "18446744073709551611"),
    ],
    ids=lambda value: repr(value)[:40],
)
@pytest.mark.parametrize("opponent", ["random", Lowest(), None], ids=str)
def test_what_is_no_action_is_refused(opponent: Any, actions: Any, message: str) -> None:
    envs = make(opponent=opponent)
    envs.reset(seed=0)
    with unchanged(envs), pytest.raises(ValueError, match=message):
        envs.step(actions)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, ">i8"])
def test_integers_of_all_kinds_are_accepted(dtype: Any) -> None:
    envs = make(opponent=None)
    envs.reset(seed=0)
    every_other = np.arange(6, dtype=dtype)[::2]
    every_other.flags.writeable = False
    assert envs.step(every_other)[0][:, 1].reshape(3, 9).argmax(1).tolist() == [0, 2, 4]
    assert envs.step((1, np.int64(3), 5))[0].sum() == 6


@pytest.mark.parametrize("opponent", ["random", Lowest(), None], ids=str)
def test_one_wrong_action_among_very_many_changes_nothing(opponent: Any) -> None:
    """The compiled loop takes the boards in blocks."""
    envs = make(TTT, 1300, opponent=opponent, illegal="raise")
    envs.reset(seed=0)
    envs.step(np.full(1300, 4))
    actions = envs.sample_actions()
    for wrong, error in ((4, IllegalMove), (9, ValueError), (-1, ValueError)):
        spoilt = np.where(np.arange(1300) >= 1250, wrong, actions)
        with unchanged(envs), pytest.raises(error, match=rf"board 1250\b.*action.* {wrong}\b"):
            envs.step(spoilt)


def test_a_step_needs_a_reset() -> None:
    envs = make(autoreset_mode=AutoresetMode.DISABLED, opponent=None)
    for use in (lambda: envs.step([0, 0, 0]), envs.sample_actions):
        with pytest.raises(ResetNeeded, match="call reset"):
            use()
    with pytest.raises(ResetNeeded, match="call reset"):
        envs.reset(options={"reset_mask": np.array([True, True, False])})
    envs.reset(seed=0, options={"position": ["1425", "", ""]})
    envs.step([2, 0, 0])
    with unchanged(envs), pytest.raises(ResetNeeded, match="reset_mask"):
        envs.step([2, 1, 1])
    with unchanged(envs), pytest.raises(ResetNeeded, match="board 0"):
        envs.step([2, 1, 1])


# Resets


@pytest.mark.parametrize(
    ("seed", "options", "message"),
    [
        (1, ["position"], "options must be a dict"),
        (1, {"position": ["1", "2", "15263"]}, "finished position"),
        (1, {"position": ["1", "2"]}, "position must be a single value or a sequence of 3"),
        (1, {"position": ["1", "2", 3]}, "a position must be a Position or a move string, not 3"),
        (1, {"play_as": ["first", "second", "third"]}, "play_as must be one of"),
        (1, {"play_as": ["first"]}, "play_as must be a single value or a sequence of 3"),
        (1, {"reset_mask": [True, False, True]}, "reset_mask must be a bool array"),
        (1, {"reset_mask": np.array([1, 0, 1])}, "reset_mask must be a bool array"),
        (1, {"reset_mask": np.array([True, False])}, "reset_mask must be a bool array"),
        (1, {"reset_mask": np.zeros(3, np.bool_)}, "reset_mask must be a bool array .* at least one True"),
        (-1, None, "seed must be an integer"),
        (1.0, None, "seed must be an integer"),
        ([1, 2], None, "seed must be .* a sequence of 3"),
        ([1, 2, -3], None, r"seed\[2\] must be an integer"),
        ([1, 2.0, 3], None, r"seed\[1\] must be an integer"),
        ([1, True, 3], None, r"seed\[1\] must be an integer"),
    ],
    ids=lambda value: repr(value)[:40],
)  # fmt: skip
@pytest.mark.parametrize("opponent", ["random", Lowest()], ids=str)
def test_what_no_game_can_begin_with_is_refused(opponent: Any, seed: Any, options: Any, message: str) -> None:
    envs, twin = make(opponent=opponent), make(opponent=opponent)
    for one in (envs, twin):
        one.reset(seed=0)
        one.step([0, 1, 2])
    with unchanged(envs), pytest.raises(ValueError, match=message):
        envs.reset(seed=seed, options=options)
    goes_on_alike(envs, twin, 4)


@pytest.mark.parametrize("opponent", ["rule", "minimax:1", OpponentPool(["rule", "minimax:1"])], ids=str)
def test_a_board_that_finds_no_beginning_is_named(opponent: Any) -> None:
    """From "1425" X, the opponent, wins at once."""
    envs, twin = (make(opponent=opponent, play_as="random") for _ in range(2))
    for one in (envs, twin):
        one.reset(seed=0)
    hopeless = {"position": ["", "1425", "15"], "play_as": "second"}
    with unchanged(envs), pytest.raises(ValueError, match=r"board 1: the opponent ends the game .* Position.from_"):
        envs.reset(options=hopeless)
    goes_on_alike(envs, twin)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_step_that_finds_no_beginning_changes_nothing(mode: AutoresetMode) -> None:
    """The learner moves first at first; then, as the second, it finds its game over each time."""
    envs = make(opponent="rule", play_as="second", start=["1425"], autoreset_mode=mode)
    envs.reset(seed=0, options={"position": "14257", "play_as": "second"})
    losing = [5, 5, 5]
    if mode == AutoresetMode.NEXT_STEP:
        assert envs.step(losing)[2].all()
    with unchanged(envs), pytest.raises(ValueError, match=r"board 0: the opponent ends the game .* Position.from_"):
        envs.step(losing)


# Opponents that do not keep their word


def _mutating(batch: PositionBatch) -> Any:
    choice = np.zeros(len(batch), np.int64)
    batch.own[:], batch.opp[:] = 0, 0
    return choice


RUBBISH: dict[str, tuple[Callable[[PositionBatch], Any], str]] = {
    "None": (lambda batch: None, "act_many of Lowest gave"),
    "too few": (lambda batch: np.zeros(len(batch) + 1, np.int64), "act_many of Lowest gave int64"),
    "floats": (lambda batch: np.zeros(len(batch)), "act_many of Lowest gave float64"),
    "unsigned": (
        lambda batch: np.full(len(batch), 2**64 - 1, np.uint64),
        "Lowest.* chose action 18446744073709551615, illegal here .*: Position.from_",
    ),
    "occupied": (
        lambda batch: np.full(len(batch), 4),
        "Lowest.* chose action 4, illegal here .*: Position.from_",
    ),
    "mutating": (_mutating, "Lowest.* chose action 0, illegal here|read-only"),
}  # fmt: skip


@pytest.mark.parametrize("rubbish", RUBBISH)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_an_opponent_that_answers_rubbish_is_named_and_nothing_is_changed(mode: AutoresetMode, rubbish: str) -> None:
    fool = Lowest()
    envs, twin = (make(opponent=opponent, autoreset_mode=mode) for opponent in (fool, Lowest()))
    for one in (envs, twin):
        one.reset(seed=0, options={"position": ["15", "15", ""]})  # cell 1 is occupied at once, cell 5 soon
    answer, message = RUBBISH[rubbish]
    fool.answer = answer
    with unchanged(envs), pytest.raises(ValueError, match=message):
        envs.step([1, 2, 4])
    fool.answer = None
    goes_on_alike(envs, twin)


def test_the_board_on_which_an_opponent_errs_is_named() -> None:
    fool = Lowest()
    envs = make(opponent=fool)
    envs.reset(seed=0)
    fool.answer = lambda batch: np.array([4, 4, 4])
    with pytest.raises(IllegalMove, match=r"board 2\b.*chose action 4, illegal here"):
        envs.step([0, 1, 4])
    fool.answer = lambda batch: np.array([-7, 9])
    with pytest.raises(IllegalMove, match=r"board 1\b.*chose action -7, illegal here"):
        envs.reset(options={"position": ["", "1", "1"]})


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("call", range(8))
def test_an_opponent_that_fails_at_any_call_changes_nothing(
    call: int, mode: AutoresetMode, error: type[BaseException]
) -> None:
    """The first calls are those of two resets, the others those of steps, with the beginnings of further games."""
    failing = Lowest()
    calls = 0

    def fail(batch: PositionBatch) -> Any:
        nonlocal calls
        calls += 1
        if calls == call + 1:
            raise error("stopped")
        return Lowest().act_many(batch, np.zeros(len(batch), np.int64))

    kwargs: dict[str, Any] = {"play_as": "random", "autoreset_mode": mode}
    envs, twin = make(C4, 6, opponent=failing, **kwargs), make(C4, 6, opponent=Lowest(), **kwargs)
    for one in (envs, twin):
        one.reset(seed=0)
    failing.answer = fail
    mask = np.array([True, False] * 3)
    failures = 0
    for step in range(12):
        actions = twin.sample_actions()
        envs.sample_actions()
        uses: list[Callable[[BoardVectorEnv], Any]] = []
        if step % 4 == 0 or (mode == AutoresetMode.DISABLED and not twin.action_masks().any(1).all()):
            uses += [
                lambda one: one.reset(options={"reset_mask": mask, "position": "44"}),
                lambda one: one.reset(seed=9),
            ]
        uses += [lambda one, actions=actions: one.step(actions)]
        for use in uses:
            try:
                use(envs)
            except error:
                failures += 1
                assert saved(envs) == saved(twin)
                use(envs)
            use(twin)
            assert saved(envs) == saved(twin)
    assert failures == 1


# Ctrl-C anywhere

SOURCES = {str(path) for path in Path(vector.__file__).parent.glob("*.py")}


def interrupted(use: Callable[[], Any], line: int) -> str:
    """Interrupts `use` at the `line`-th line of the environment's own it comes to: says where, "" if it never did."""
    passed, place = 0, ""

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal passed, place
        if frame.f_code.co_filename not in SOURCES:
            return None
        if event == "line":
            passed += 1
            if passed == line:
                place = f"{Path(frame.f_code.co_filename).name}, line {frame.f_lineno}"
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        use()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return place


@pytest.mark.parametrize("kind", ["reset", "partial reset", "step", "step and autoreset"])
@pytest.mark.parametrize("opponent", ["asked", "pool", "random"])
def test_an_interrupt_anywhere_leaves_all_boards_before_or_after(opponent: str, kind: str) -> None:
    against: Any = {"asked": Lowest(), "pool": OpponentPool(["random", Lowest()]), "random": "random"}[opponent]
    kwargs: dict[str, Any] = {"opponent": against, "play_as": "random", "autoreset_mode": AutoresetMode.SAME_STEP}
    envs, twin = make(**kwargs), make(**kwargs)
    mask = np.array([True, False, True])
    for line in range(1, 1000):
        for one in (envs, twin):
            one.reset(
                seed=3, options={"position": "1425", "play_as": "first"} if kind == "step and autoreset" else None
            )
        before = twin.state_dict()
        use: Callable[[BoardVectorEnv], Any] = {
            "reset": lambda one: one.reset(seed=8),
            "partial reset": lambda one: one.reset(seed=8, options={"reset_mask": mask, "position": "1"}),
            "step": lambda one: one.step([one.batch[i].legal_actions[0] for i in range(3)]),
            "step and autoreset": lambda one: one.step([2, 5, 2]),
        }[kind]
        stopped = interrupted(partial(use, envs), line)
        use(twin)
        assert envs.state_dict() in (before, twin.state_dict()), f"neither before nor after: {stopped}"
        if envs.state_dict() == before:
            twin.load_state_dict(before)
        goes_on_alike(envs, twin, 3)
        if not stopped:
            break
    assert line > 10 and not stopped


# What it is made with


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_envs": 0}, r"num_envs must be an integer in \[1, 4194304\], not 0"),
        ({"num_envs": -1}, "num_envs must be an integer"),
        ({"num_envs": 2.0}, "num_envs must be an integer"),
        ({"threads": 0}, r"threads must be an integer in \[1, 256\], not 0"),
        ({"threads": 10**9}, r"threads must be an integer in \[1, 256\], not 1000000000"),
        ({"num_envs": 10**9}, r"num_envs must be an integer in \[1, 4194304\], not 1000000000"),
        ({"threads": True}, "threads must be an integer"),
        ({"copy": 1}, "copy must be True or False, not 1"),
        ({"autoreset_mode": "nextstep"}, "nextstep"),
        ({"obs_type": "plane"}, "obs_type 'plane' is unknown; did you mean planes"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gym.make_vec(TTT, **{"num_envs": 2, **kwargs})
