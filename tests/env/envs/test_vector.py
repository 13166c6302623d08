"""The vector environment by itself: sampling, seeds, copies, threads, saved states, and Gymnasium's own tools."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from conftest import assert_same, breadth
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from tictac_env.envs.vector.boards import WAITING, Boards
from tictac_env.envs.vector.vector_env import BoardVectorEnv
from tictac_env.games import KInARow
from tictac_env.policies import Policy
from tictac_env.policies.heuristics import rule_choices
from tictac_env.policies.policy import pick
from tictac_env.policies.pool import OpponentPool
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import mix

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"
UNLIKELY = 1e-4


class Drawing(Policy):
    """Asked, never compiled; the seed decides."""

    def act(self, position: Position, seed: int) -> int:
        legal = position.legal_actions
        return legal[mix(seed) % len(legal)]


def make(name: str = TTT, num_envs: int = 5, **kwargs: Any) -> BoardVectorEnv:
    envs = gym.make_vec(name, num_envs=num_envs, **kwargs)
    assert isinstance(envs, BoardVectorEnv)
    return envs


def recorded(envs: BoardVectorEnv, steps: int = 40) -> list[Any]:
    """What sampled actions lead to, as lists."""
    log: list[Any] = []
    for _ in range(steps):
        actions = envs.sample_actions()
        observations, rewards, terminations, _, infos = envs.step(actions)
        log.append([part.tolist() for part in (actions, observations, rewards, terminations)])
        log.append({key: infos[key].tolist() for key in ("seat", "opponent_action", "action_mask")})
    return log


OPPONENTS: dict[str, Callable[[], Any]] = {
    "random": lambda: "random",
    "rule": lambda: "rule",
    "asked": Drawing,
    "pool": lambda: OpponentPool(["random", Drawing(), "rule"]),
    "nobody": lambda: None,
}
every_opponent = pytest.mark.parametrize("opponent", OPPONENTS)


# Sampling


@pytest.mark.parametrize("moves", ["", "15", "152", "1526", "152649"])
def test_sampled_actions_are_uniform_over_the_legal_ones(moves: str) -> None:
    envs = make(TTT, 3000, opponent=None)
    envs.reset(seed=1, options={"position": moves})
    legal = Position.from_moves(TTT, moves).legal_actions
    samples = np.array([envs.sample_actions() for _ in range(5)])
    assert samples.dtype == np.int64 and samples.shape == (5, 3000) and (samples[0] != samples[1]).any()
    counts = np.bincount(samples.ravel(), minlength=9)
    assert counts[list(legal)].sum() == 15_000
    assert chisquare(counts[list(legal)]).pvalue > UNLIKELY


def test_sampling_neither_moves_nor_disturbs_the_game() -> None:
    logs = []
    for sampled in (0, 3):
        envs = make(C4, opponent="random", play_as="random")
        envs.reset(seed=3)
        for _ in range(sampled):
            envs.sample_actions()
        logs.append([envs.step(np.full(5, column))[0].tolist() for column in (0, 3, 6, 2, 1, 5)])
    assert logs[0] == logs[1]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED])
def test_samples_are_0_where_a_game_is_over(mode: AutoresetMode) -> None:
    envs = make(TTT, 2, opponent=None, autoreset_mode=mode)
    envs.reset(seed=0, options={"position": ["1425", ""]})
    *_, terminations, _, infos = envs.step([2, 0])
    assert terminations.tolist() == [True, False]
    assert (infos["action_mask"][0] == (mode == AutoresetMode.NEXT_STEP)).all()
    samples = np.array([envs.sample_actions() for _ in range(50)])
    assert not samples[:, 0].any() and 0 not in samples[:, 1]


@pytest.mark.parametrize("opponent", ["random", "asked", "nobody"])
@pytest.mark.parametrize("copy", [True, False])
def test_a_masked_softmax_is_always_a_distribution_by_default(opponent: str, copy: bool) -> None:
    """A learner fills the logits of illegal actions with -inf, also on boards whose game has just ended."""
    envs = make(TTT, 16, opponent=OPPONENTS[opponent](), copy=copy)
    rng = np.random.default_rng(0)
    assert not envs.action_masks().any(), "no action is accepted before the first reset"
    _, infos = envs.reset(seed=0)
    ended = 0
    for _ in range(30):
        mask = infos["action_mask"] == 1
        assert np.array_equal(mask, envs.action_masks() == 1)
        weights = np.exp(np.where(mask, rng.normal(size=mask.shape), -np.inf))
        chances = weights / weights.sum(axis=1, keepdims=True)
        assert np.isfinite(chances).all() and not chances[~mask].any()
        _, _, terminations, _, infos = envs.step([rng.choice(9, p=row) for row in chances])
        assert (infos["action_mask"][terminations] == 1).all()
        ended += terminations.sum()
    assert ended > 16


def test_samples_are_seeded_by_reset() -> None:
    envs = make(C4)
    envs.reset(seed=4)
    first = recorded(envs)
    assert recorded(envs) != first
    envs.reset(seed=4)
    assert recorded(envs) == first
    envs.reset(seed=5)
    assert recorded(envs) != first


# Games begun, masks given


class Rule(Policy):
    """Plays like "rule", but is asked: no kernel knows it."""

    def act(self, position: Position, seed: int) -> int:
        return pick(position.game, rule_choices(position.game, position.own, position.opp), seed)


@pytest.mark.parametrize("opponent", ["rule", Rule()], ids=["compiled", "asked"])
def test_seats_alternate_also_after_a_game_that_the_opponent_ended_first(opponent: Any) -> None:
    """As second the learner may meet an opponent that wins at once: another game is then begun, and counts once."""
    settings = {"opponent": opponent, "play_as": "alternate", "start": ["1425", ""]}
    envs = make(TTT, 40, **settings)
    singles = [gym.make(TTT, **settings) for _ in range(3)]
    for game in range(6):
        _, infos = envs.reset(seed=7 if game == 0 else None)
        assert (infos["seat"] == game % 2).all()
        for i, single in enumerate(singles):
            _, info = single.reset(seed=7 + i if game == 0 else None)
            assert info["seat"] == game % 2
    boards = envs.state_dict()["boards"]
    assert boards[4] == [6] * 40, "games begun"


class ClearsMask(Rule):
    """Changes an array of its owner's while it is asked."""

    def __init__(self) -> None:
        self.mask = np.ones(3, np.bool_)

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        self.mask[:] = False
        return super().act_many(batch, seeds)


def test_a_reset_mask_is_the_callers_to_change() -> None:
    opponent = ClearsMask()
    envs = make(TTT, 3, opponent=opponent, play_as="second")
    envs.reset(seed=1)
    wanted = [True, False, True]
    opponent.mask[:] = wanted
    _, infos = envs.reset(options={"reset_mask": opponent.mask})
    shown = [key for key in infos if key.startswith("_")]
    assert not opponent.mask.any()
    for key in shown:
        assert infos[key].tolist() == wanted, key
        infos[key][:] = False


# Copies, pickles, states


def restored(envs: BoardVectorEnv) -> BoardVectorEnv:
    """Another environment that goes on from the saved state."""
    assert envs.spec is not None
    twin = gym.make_vec(envs.spec)
    assert isinstance(twin, BoardVectorEnv)
    twin.load_state_dict(json.loads(json.dumps(envs.state_dict())))
    return twin


@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_state_saved_where_games_are_over_is_whole(mode: AutoresetMode) -> None:
    envs = make(TTT, 2, opponent=None, autoreset_mode=mode)
    envs.reset(seed=0, options={"position": ["1425", ""]})
    envs.step([2, 0])
    twin = restored(envs)
    if mode == AutoresetMode.DISABLED:
        for one in (envs, twin):
            one.reset(options={"reset_mask": np.array([True, False])})
    assert twin.state_dict() == envs.state_dict()
    for one in (envs, twin):
        one.step([4, 4])
    assert twin.state_dict() == envs.state_dict()


def test_copies_keep_the_spec() -> None:
    envs = make(C4, 3, opponent="rule", autoreset_mode=AutoresetMode.SAME_STEP)
    for twin in (copy.deepcopy(envs), copy.copy(envs), pickle.loads(pickle.dumps(envs))):
        assert twin.spec == envs.spec
        assert str(twin) == str(envs) == "BoardVectorEnv(ConnectFour-v0, num_envs=3)"


def with_row(state: dict[str, Any], field: str, value: Any) -> dict[str, Any]:
    """The state with `value` in a field of the first board."""
    boards = [list(numbers) for numbers in state["boards"]]
    boards[Boards._fields.index(field)][0] = value
    return state | {"boards": boards}


DAMAGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "nothing": lambda state: None,
    "a list": lambda state: state["boards"],
    "no key": lambda state: {},
    "another key": lambda state: state | {"more": 1},
    "another game": lambda state: state | {"game": C4},
    "a row less": lambda state: state | {"boards": state["boards"][:-1]},
    "a board less": lambda state: state | {"boards": [row[:-1] for row in state["boards"]]},
    "ragged": lambda state: state | {"boards": [state["boards"][0][:-1], *state["boards"][1:]]},
    "no boards": lambda state: state | {"boards": None},
    "text": lambda state: state | {"boards": "abc"},
    "a float": lambda state: with_row(state, "own", 0.0),
    "a bool": lambda state: with_row(state, "own", True),
    "too large a number": lambda state: with_row(state, "own", 2**63),
    "negative stones": lambda state: with_row(state, "own", -1),
    "stones beside the board": lambda state: with_row(state, "opp", 1 << 40),
    "no seat": lambda state: with_row(state, "learner", 2),
    "the other seat": lambda state: with_row(state, "learner", 1),
    "no state of randomness": lambda state: with_row(state, "state", 2**62),
    "no opponent": lambda state: with_row(state, "member", 1),
    "negative opponent": lambda state: with_row(state, "member", -1),
    "no phase": lambda state: with_row(state, "phase", 6),
    "waiting": lambda state: with_row(state, "phase", WAITING),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_state_is_refused_and_changes_nothing(damage: str) -> None:
    envs = make(TTT)
    envs.reset(seed=1)
    before = envs.state_dict()
    with pytest.raises(ValueError, match="state"):
        envs.load_state_dict(DAMAGES[damage](envs.state_dict()))
    assert envs.state_dict() == before


@pytest.mark.parametrize("threads", [1, 2])
def test_steps_are_compiled_again_once_the_games_against_a_replaced_opponent_are_over(threads: int) -> None:
    envs = make(TTT, 50, opponent=Drawing(), threads=threads)
    fresh = make(TTT, 50, opponent="random", threads=threads)
    envs.reset(seed=1)
    envs.set_opponent("random")
    assert set(envs.opponent_names) == {str(Drawing())}
    recorded(envs, 12)
    assert set(envs.opponent_names) == {"random"} and not envs._batch._in_python()
    for one in (envs, fresh):
        one.reset(seed=2)
    assert recorded(envs) == recorded(fresh) and envs.describe() == fresh.describe()


# Copying, threads


def arrays(returned: Any) -> list[npt.NDArray[Any]]:
    """All arrays that a step or reset has returned."""
    if isinstance(returned, np.ndarray):
        return (
            [returned, *(one for one in returned if isinstance(one, np.ndarray))]
            if returned.dtype == object
            else [returned]
        )
    if isinstance(returned, (dict, tuple)):
        return [
            array for part in (returned.values() if isinstance(returned, dict) else returned) for array in arrays(part)
        ]
    return []


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("obs_type", ["planes", "board", "code"])
@every_opponent
def test_what_was_returned_is_never_touched_again(opponent: str, obs_type: str, mode: AutoresetMode) -> None:
    envs = make(TTT, 6, opponent=OPPONENTS[opponent](), obs_type=obs_type, autoreset_mode=mode)
    returned: list[Any] = [envs.reset(seed=1)]
    for step in range(12):
        returned += [envs.step(envs.sample_actions() if step % 4 else np.zeros(6, np.int64)), envs.sample_actions()]
    kept = [(array, array.copy()) for array in arrays(tuple(returned))]
    for _ in range(20):
        envs.step(envs.sample_actions())
    envs.reset(seed=2)
    for array, before in kept:
        if array.dtype != object:
            assert np.array_equal(array, before)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("hold", [lambda array: array[::2], lambda array: array.T.reshape(-1)[1:], memoryview])
def test_an_array_of_which_only_a_view_is_held_is_not_touched(hold: Callable[[Any], Any], mode: AutoresetMode) -> None:
    """Each by itself, as the others are free then."""
    envs = make(TTT, 6, opponent=None, autoreset_mode=mode)
    envs.reset(seed=1)
    addresses = {envs.step(envs.sample_actions())[0].ctypes.data for _ in range(30)}
    assert len(addresses) <= 3  # arrays that are not held are used again
    count = len(arrays(envs.step([0] * 6)))
    for number in range(count):
        envs.reset(seed=number)
        envs.step([0] * 6)
        part = [hold(array) for array in arrays(envs.step([0] * 6)) if array.dtype != object][number : number + 1]
        before = [np.array(held) for held in part]
        for _ in range(5):
            envs.step(envs.sample_actions())
        for held, content in zip(part, before, strict=True):
            assert np.array_equal(held, content)


def test_infos_do_not_share_arrays() -> None:
    envs = make(TTT, 6, opponent=None, autoreset_mode="SameStep")
    for returned in (envs.reset(seed=1), envs.step([0] * 6), envs.step([0] * 6)):
        every = arrays(returned)
        for i, one in enumerate(every):
            assert not any(np.shares_memory(one, other) for other in every[:i])


LENDING = ["step", "draw", "reset", "reset some", "saved state", "copy", "pickle"]


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(["random", "asked", "pool", "nobody"]),
    st.sampled_from(["planes", "code"]),
    st.sampled_from(["NextStep", "SameStep"]),
    st.sampled_from(["lose", "raise"]),
    st.lists(st.sampled_from(LENDING), max_size=25),
)
def test_without_copying_the_same_is_returned_in_the_same_arrays(
    opponent: str, obs_type: str, mode: str, illegal: str, operations: list[str]
) -> None:
    keywords: dict[str, Any] = {"opponent": OPPONENTS[opponent](), "autoreset_mode": mode, "illegal": illegal}
    keywords["obs_type"] = obs_type
    copying, lending = make(TTT, 7, **keywords), make(TTT, 7, copy=False, **keywords)
    lent = lending.reset(seed=1)
    assert_same(lent, copying.reset(seed=1))
    assert lending.step(lending.sample_actions())[0] is lent[0]
    copying.step(copying.sample_actions())
    some = np.arange(7) < 3
    for operation in operations:
        actions, drawn = copying.sample_actions(), lending.sample_actions()
        assert_same(drawn, actions)
        if operation == "step":
            assert_same(lending.step(drawn), copying.step(actions))
            assert_same(drawn, actions)
        elif operation == "reset":
            assert_same(lending.reset(seed=2), copying.reset(seed=2))
        elif operation == "reset some":
            options = {"reset_mask": some}
            assert_same(lending.reset(seed=3, options=options), copying.reset(seed=3, options=options))
        elif operation == "saved state":
            assert lending.state_dict() == copying.state_dict()
            lending.step(lending.sample_actions())
            lending.load_state_dict(copying.state_dict())
        elif operation == "copy":
            lending = copy.deepcopy(lending)
        elif operation == "pickle":
            lending = pickle.loads(pickle.dumps(lending))
    assert lending.state_dict() == copying.state_dict()


THREADS = """
import json, sys
import gymnasium as gym, numpy as np, tictac_env

for opponent, mode in json.loads(sys.argv[1]):
    for num_envs in (1, 5, 1500):
        runs = []
        for threads in (1, 2, 7):
            envs = gym.make_vec("TicTacToe-v0", num_envs=num_envs, opponent=opponent, threads=threads,
                                autoreset_mode=mode)
            _, infos = envs.reset(seed=3)
            log, over = [], np.zeros(num_envs, bool)
            for step in range(30):
                actions = envs.sample_actions()
                played = actions * (step % 5 > 0)
                played[over] = -99  # a game that is over ignores what it is given
                observations, rewards, terminations, truncations, infos = envs.step(played)
                over = terminations & (mode == "NextStep")
                final = infos.get("final_info", {})
                parts = [actions, observations, rewards, terminations, truncations]
                parts += [infos[key] for key in sorted(infos) if not key.startswith("final_")]
                parts += [final[key] for key in sorted(final)]
                log.append(b"".join(part.tobytes() for part in parts))
            runs.append((log, envs.state_dict()))
        assert runs[0] == runs[1] == runs[2], (opponent, mode, num_envs)
    for board in (0, 777, 1499):
        envs.reset(seed=0)
        actions = np.zeros(1500, np.int64)
        actions[board:] = 9
        try:
            envs.step(actions)
        except ValueError as error:
            assert f"board {board}:" in str(error), error
        else:
            raise AssertionError(f"board {board} played 9")
print("equal")
"""


SOME_CASES = [("random", "NextStep"), ("rule", "SameStep")]
ALL_CASES = [*product(("random", "rule", None), ("NextStep", "SameStep"))]


@pytest.mark.parametrize("cases", breadth([SOME_CASES], [ALL_CASES]), ids=["some", "all"])
def test_threads_play_the_same_games(cases: list[tuple[str | None, str]]) -> None:
    """In a process of its own: GNU's OpenMP does not survive the forks of other tests. Passive threads do not spin."""
    passive = os.environ | {"OMP_WAIT_POLICY": "passive"}
    command = [sys.executable, "-c", THREADS, json.dumps(cases)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=passive)
    assert done.stdout.strip() == "equal", done.stderr


# Gymnasium's own tools


def test_the_spec_makes_the_environment_again() -> None:
    envs = gym.make_vec("KInARow-v0", num_envs=3, rows=4, cols=4, connect=3, opponent="rule", autoreset_mode="Disabled")
    assert envs.spec is not None
    twin = gym.make_vec(envs.spec)
    assert isinstance(twin, BoardVectorEnv) and isinstance(envs, BoardVectorEnv)
    assert twin.game is KInARow.make(4, 4, 3, True)
    assert twin.describe() == envs.describe()
    assert json.loads(json.dumps(twin.describe()))["num_envs"] == 3


def test_boards_are_asked_one_by_one_as_gymnasiums_are() -> None:
    settings: dict[str, Any] = {"num_envs": 3, "opponent": "rule", "play_as": "random", "render_mode": "ansi"}
    ours: Any = gym.make_vec(TTT, **settings)
    theirs: Any = gym.make_vec(TTT, vectorization_mode="sync", **settings)
    for envs in (ours, theirs):
        envs.reset(seed=5)
        envs.step(envs.get_attr("action_masks")[0].argmax() + np.zeros(3, np.int64))
    for name in ("position", "game", "render_mode", "action_space", "observation_space"):
        mine = ours.get_attr(name)
        assert type(mine) is tuple and mine == theirs.get_attr(name) == ours.call(name), name
    assert np.array_equal(ours.call("action_masks"), theirs.call("action_masks"))
    assert ours.call("render") == tuple(str(position) for position in ours.get_attr("position"))
    for envs in (ours, theirs):
        envs.set_attr("level", [1, 2, 3])
        envs.set_attr("name", "mine")
        assert envs.get_attr("level") == (1, 2, 3) and envs.get_attr("name") == ("mine",) * 3
        with pytest.raises(ValueError, match="3"):
            envs.set_attr("level", [1, 2])
        assert envs.get_attr("level") == (1, 2, 3)
    for twin in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert twin.get_attr("level") == (1, 2, 3) and twin.get_attr("position") == ours.get_attr("position")
        twin.set_attr("level", 7)
        twin.reset(seed=6)
        assert ours.get_attr("level") == (1, 2, 3) and twin.get_attr("position") != ours.get_attr("position")
    for name in ("step", "reset", "levels"):
        with pytest.raises(AttributeError, match=rf"no '{name}'.* has game, opponent, .*vectorization_mode=\"sync\""):
            ours.call(name)
    for name in ("opponent", "position", "action_masks"):
        with pytest.raises(AttributeError, match=f"'{name}' of a board cannot be set.*set_opponent"):
            ours.set_attr(name, "rule")


def test_rendering_gives_a_picture_for_each_board() -> None:
    envs = make(C4, 3, opponent=None, render_mode="ansi")
    envs.reset(seed=0)
    envs.step([0, 1, 2])
    assert envs.render() == tuple(str(envs.batch[i]) for i in range(3))
    pixels: Any = gym.make_vec(TTT, num_envs=2, render_mode="rgb_array").render()
    assert len(pixels) == 2 and pixels[0].dtype == np.uint8 and pixels[0].ndim == 3
    envs.close()
    envs.close()
    with pytest.raises(ValueError, match="render_mode must be one of"):
        make(TTT, render_mode="ascii")
