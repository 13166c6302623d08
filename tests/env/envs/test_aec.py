"""The PettingZoo environments: PettingZoo's own checks, copies, pictures and misuse."""

from __future__ import annotations

import copy
import pickle
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pettingzoo
import pytest
from gymnasium.error import ResetNeeded

from tictac_env import connect_four_v0, tictactoe_v0
from tictac_env.envs.aec import BoardAECEnv
from tictac_env.games import KInARow, PlacementGame
from tictac_env.render import render_rgb

with warnings.catch_warnings():
    # Its tests import its games, which warn that pettingzoo.make is the newer way.
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test, render_test, seed_test
    from pettingzoo.test.state_test import test_state as check_state
    from pettingzoo.test.state_test import test_state_space as check_state_space

Env = pettingzoo.AECEnv
AGENTS = ["player_0", "player_1"]
MODULES = {"connect_four_v0": connect_four_v0, "tictactoe_v0": tictactoe_v0}
MAKERS = {f"{name}.{kind}": getattr(module, kind) for name, module in MODULES.items() for kind in ("env", "raw_env")}

both_modules = pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)
every_env = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@dataclass(frozen=True)
class Unregistered(PlacementGame):
    """A game that nobody can win, and that has no name."""

    rows: int = 3
    cols: int = 3

    def winning_cells(self, stones: int, seat: int) -> int:
        return 0


def legal_actions(env: Env) -> list[int]:
    mask = env.observe(env.agent_selection)["action_mask"]
    return np.flatnonzero(mask).tolist()


def play(env: Env, plies: int, seed: int = 0) -> Env:
    """`env` after a reset and so many random moves, the steps of agents that are done included."""
    rng = random.Random(seed)
    env.reset(seed=seed)
    for _ in range(plies):
        done = env.terminations[env.agent_selection]
        env.step(None if done else rng.choice(legal_actions(env)))
    return env


def everything(env: Env) -> list[Any]:
    """What can be seen of an environment."""
    views = [env.observe(agent) for agent in AGENTS]
    arrays = [array.tolist() for view in views for array in view.values()]
    by_agent = env.rewards, env._cumulative_rewards, env.terminations, env.truncations, env.infos
    seen = [arrays, env.state().tolist(), env.agents, env.agent_selection, env.position, env.position.moves, *by_agent]
    return copy.deepcopy(seen)


class TestPettingZoosChecks:
    @both_modules
    def test_pettingzoos_api_test_passes(self, module: Any) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            api_test(module.env(), num_cycles=100)
        assert {str(warning.message) for warning in caught} <= {
            # What it says of any environment with such observations that is not on its list by name.
            "Observation is not a NumPy array",
            "Observation numpy array is all zeros.",
            "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
        }

    @both_modules
    def test_pettingzoos_seed_test_passes(self, module: Any) -> None:
        seed_test(module.env, num_cycles=20)

    @both_modules
    def test_pettingzoos_render_test_passes(self, module: Any, pygame: Any) -> None:
        render_test(module.env)

    @both_modules
    def test_pettingzoos_state_tests_pass(self, module: Any) -> None:
        env = module.env()
        check_state_space(env)
        for seed in range(20):  # these games end with an illegal move
            check_state(env, num_cycles=20, seed=seed)

    def test_pettingzoo_makes_it_by_name(self) -> None:
        for name in ("connect_four", "tictactoe"):
            env = pettingzoo.make("aec", f"tictac_env/{name}-v0", render_mode="ansi")
            assert (str(env), env.render_mode) == (f"{name}_v0", "ansi")
            assert pettingzoo.spec("aec", f"tictac_env/{name}").id == f"tictac_env/{name}-v0"


def play_out(env: Env) -> list[list[Any]]:
    """Everything seen after each step of the rest of a game that takes the highest legal actions."""
    seen = []
    while env.agents:
        env.step(None if env.terminations[env.agent_selection] else legal_actions(env)[-1])
        seen.append(everything(env))
    return seen


def test_a_copy_has_its_own_window(pygame: Any) -> None:
    env = play(tictactoe_v0.env(render_mode="human"), 3)
    twin = pickle.loads(pickle.dumps(copy.deepcopy(env)))
    assert twin.position == env.position and twin.render() is None
    for each in (env, twin, env):
        each.close()
    env.step(legal_actions(env)[0])  # the window opens again
    env.close()


@every_env
def test_seeds_and_unknown_options_change_nothing(make: Callable[[], Env]) -> None:
    games = []
    for seed in (0, 1, None):
        env = make()
        env.reset(seed=seed, options={"options": 1})
        games.append(play_out(env))
    assert games[0] == games[1] == games[2]


def test_it_renders_text_and_pixels() -> None:
    env = play(connect_four_v0.env(render_mode="ansi"), 1)
    assert env.render() == str(env.position)
    env = play(tictactoe_v0.env(render_mode="rgb_array"), 1)
    assert (env.render() == render_rgb(env.position)).all()
    env.close()
    env.close()
    with pytest.warns(UserWarning, match="render_mode"):
        assert play(connect_four_v0.env(), 1).render() is None


class TestMisuse:
    @every_env
    def test_nobody_plays_before_the_first_reset(self, make: Callable[[], Env]) -> None:
        env = make()
        assert env.agents == [] and env.possible_agents == AGENTS
        for call in (lambda: env.step(0), env.last, lambda: next(env.agent_iter())):
            with pytest.raises(ResetNeeded, match="reset"):
                call()

    def test_after_the_end_agents_can_only_play_none(self) -> None:
        env = tictactoe_v0.env()
        env.reset(options={"position": "1425"})
        env.step(2)
        before = everything(env)
        with pytest.raises(ValueError, match="player_1 can only play None, not 8"):
            env.step(8)
        assert everything(env) == before
        env.step(None)
        env.step(None)
        with pytest.raises(ResetNeeded, match="'14253'"):
            env.step(None)
        with pytest.raises(ResetNeeded):
            env.last()
        assert list(env.agent_iter()) == []
        assert env.state().sum() == 5 and env.observe("player_1")["observation"].sum() == 5

    def test_a_loop_that_never_steps_is_an_error(self) -> None:
        env = play(connect_four_v0.env(), 2)
        with pytest.raises(RuntimeError, match="step"):
            list(env.agent_iter())
        assert len([env.reset() for _ in env.agent_iter(max_iter=3)]) == 3

    def test_wrong_arguments_are_refused(self) -> None:
        for kwargs in ({"render_mode": "text"}, {"illegal": "forgive"}):
            with pytest.raises(ValueError, match="must be one of"):
                connect_four_v0.env(**kwargs)
        with pytest.raises(ValueError, match="did you mean ConnectFour-v0"):
            BoardAECEnv("ConnectFour")
        with pytest.raises(ValueError, match="player_2"):
            play(connect_four_v0.env(), 0).observe("player_2")

    def test_it_is_called_by_its_name_or_its_game(self) -> None:
        game = KInARow.make(4, 5, 3)
        assert str(BoardAECEnv(game)) == "KInARow-v0:4x5-3"
        assert str(BoardAECEnv(Unregistered())) == "Unregistered(rows=3, cols=3)"
        assert str(BoardAECEnv(game, name="small_v0")) == "small_v0"
        assert [str(make()) for make in MAKERS.values()] == [name.partition(".")[0] for name in MAKERS]


def test_the_modules_take_sizes() -> None:
    env = connect_four_v0.env(rows=5, cols=6, connect=3)
    assert env.position.game == KInARow.make(5, 6, 3, gravity=True)
    assert tictactoe_v0.raw_env(rows=4, cols=5).position.game == KInARow.make(4, 5, 3, gravity=False)
    assert pettingzoo.make("aec", "tictac_env/connect_four-v0", rows=5).observation_space("player_0")[
        "observation"
    ].shape == (5, 7, 2)
    with pytest.raises(ValueError, match="rows must be a positive int, not 'six'"):
        connect_four_v0.env(rows="six")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="connect=9 does not fit on a board of 6 rows and 7 columns"):
        connect_four_v0.env(connect=9)
