"""A game registered from a user's own file is known everywhere, and one that cannot be is refused whole."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import gymnasium as gym
import pettingzoo
import pytest

from examples.hex import Hex
from tictac_env import register_game
from tictac_env.arena import verdict
from tictac_env.envs import entry_points
from tictac_env.envs.aec import BoardAECEnv
from tictac_env.envs.entry_points import KEYWORDS
from tictac_env.envs.single import BoardEnv
from tictac_env.envs.vector.vector_env import BoardVectorEnv
from tictac_env.games import FAMILIES, GAMES, Game, KInARow, describe_game, game_name, game_of, get_game
from tictac_env.games.registry import import_game
from tictac_env.policies import make_policy
from tictac_env.position import Position
from tictac_env.solver import solve

NAME = "Hexagon-v0"


pytestmark = pytest.mark.usefixtures("registries")


class HexagonEnv(BoardEnv):
    """The page of the game."""


def test_one_call_makes_it_known_everywhere() -> None:
    register_game(NAME, Hex.make(2))
    env = gym.make(NAME, opponent="minimax", render_mode="ansi", obs_type="board")
    env.reset(seed=0)
    env.step(1)
    assert env.unwrapped.game == Hex.make(2)  # type: ignore[attr-defined]
    assert env.render() == str(env.unwrapped.position)  # type: ignore[attr-defined]
    assert gym.make(env.spec).spec == env.spec  # type: ignore[arg-type]
    assert '"Hexagon-v0"' in env.spec.to_json()  # type: ignore[union-attr]
    assert gym.make_vec(NAME, num_envs=3).single_action_space == env.action_space
    aec = pettingzoo.make("aec", f"tictac_env/{NAME}")
    aec.reset()
    aec.step(0)
    assert aec.position == Position.from_moves(NAME, "1")
    assert repr(aec.position) == "Position.from_moves('Hexagon-v0', '1')"
    assert game_name(get_game(NAME)) == describe_game(Hex.make(2)) == NAME
    assert solve(Position.start(NAME)).best_actions == (1, 2)
    for policy in ("random", "rule", "level:10", "perfect", "minimax-first"):
        position = Position.start(NAME)
        assert make_policy(policy, NAME).act(position, seed=1) in position.legal_actions
    assert "unbeatable" in str(verdict("minimax", NAME))


def test_a_family_takes_its_sizes_as_keywords() -> None:
    register_game(NAME, Hex.make)
    assert gym.make(NAME).unwrapped.game == get_game(NAME) == Hex.make(5)  # type: ignore[attr-defined]
    assert gym.make(NAME, size=2).action_space.n == 4  # type: ignore[attr-defined]
    assert gym.make_vec(NAME, num_envs=2, size=2).single_action_space.n == 4  # type: ignore[attr-defined]
    assert pettingzoo.make("aec", f"tictac_env/{NAME}", size=2).action_space("player_0").n == 4
    with pytest.raises(ValueError, match="size must be an int from 1 to 7, not 9"):
        gym.make(NAME, size=9)
    with pytest.raises(TypeError, match="colour"):
        gym.make(NAME, colour="red")


@pytest.mark.parametrize(
    ("game", "description"),
    [
        (KInARow.make(6, 7, 4, True), "ConnectFour-v0"),
        (KInARow.make(4, 5, 3, False), {"id": "KInARow-v0", "rows": 4, "cols": 5, "connect": 3, "gravity": False}),
        (Hex.make(5), "Hex-v0"),
        (Hex.make(3), {"id": "Hex-v0", "size": 3}),
    ],
)
def test_a_game_is_described_by_its_id_and_sizes(game: Game, description: Any) -> None:
    assert describe_game(game) == description
    assert game_of(description) == game


def test_what_nobody_registered_cannot_be_described() -> None:
    class Own(Hex):
        """Hex under another name."""

    with pytest.raises(ValueError, match="is not registered"):
        describe_game(Own(3))
    for wrong in ({}, {"id": "Hex-v0", "width": 3}, {"id": "TicTacToe-v0", "rows": 3}, {"id": "Chess-v0"}, {"size": 3}):
        with pytest.raises(ValueError):
            game_of(wrong)


def test_a_page_is_the_class_of_the_environment() -> None:
    register_game(NAME, Hex.make(2), page=f"{__name__}:HexagonEnv")
    env = gym.make(NAME)
    assert type(env.unwrapped).__name__ == "HexagonEnv"
    assert env.unwrapped.__doc__ == "The page of the game."


@pytest.mark.parametrize(
    ("name", "game", "message"),
    [
        ("TicTacToe-v0", Hex.make(2), "there is an environment called 'TicTacToe-v0' already"),
        ("KInARow-v0", Hex.make(2), "there is an environment called 'KInARow-v0' already"),
        ("CartPole-v1", Hex.make(2), "there is an environment called 'CartPole-v1' already"),
        ("Hexagon", Hex.make(2), "an id must be a word and a version, such as Hex-v0, not 'Hexagon'"),
        ("my/Hex-v0", Hex.make(2), "an id must be"),
        (3, Hex.make(2), "an id must be"),
        (NAME, None, "None is neither a Game nor a function"),
        (NAME, "Hex", "'Hex' is neither a Game nor a function"),
        (NAME, Hex, "size has no default"),
        (NAME, lambda *sizes: Hex.make(2), "make must have parameters with names"),
        (NAME, lambda size=3: size, "must return a Game, got 3"),
        (NAME, lambda opponent=2: Hex.make(opponent), "'opponent' is a keyword of all environments already"),
        (NAME, Hex(9), "cells must be rows . cols = 81, and at most 63, not 81"),
        (NAME, type("Broken", (Hex,), {"choice": lambda self, action: 1})(2), "the choices must be the first 4 cells"),
    ],
)
def test_what_cannot_be_a_game_is_refused_whole(name: Any, game: Any, message: str) -> None:
    before = dict(GAMES), dict(FAMILIES), dict(gym.registry)
    with pytest.raises(ValueError, match=message):
        register_game(name, game)
    assert (GAMES, FAMILIES, gym.registry) == before


def test_a_game_is_imported_only_where_somebody_types_its_name(own_game: str) -> None:
    module, name = own_game.split(":")
    for reads in (get_game, game_of, lambda text: verdict("rule", text)):
        with pytest.raises(ValueError, match=f"import {module} first, then name the game '{name}'"):
            reads(own_game)
    assert module not in sys.modules and name not in GAMES
    assert import_game(own_game) == name
    assert get_game(name) == KInARow.make(3, 4, 3, gravity=True)
    assert import_game("examples.hex:Hex-v0:3") == "Hex-v0:3"
    assert import_game("KInARow-v0:3x4-3") == "KInARow-v0:3x4-3"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no_such.module:Hex-v0", "'no_such.module:Hex-v0': there is no module 'no_such'"),
        ("own_games:Other-v0", r"no game is called 'Other-v0' after the import of .*own_games.py"),
    ],
)
def test_a_module_without_the_game_is_named(text: str, message: str, own_game: str) -> None:
    with pytest.raises(ValueError, match=message):
        import_game(text)


def test_no_size_can_be_called_like_a_keyword_of_an_environment() -> None:
    dialects = BoardEnv, BoardVectorEnv, BoardAECEnv
    names = {name for env in dialects for name in inspect.signature(env.__init__).parameters}  # type: ignore[misc]
    assert names - {"self"} == set(KEYWORDS)


@pytest.mark.parametrize("name", ["single/", "double/Hex-v0", "Hex-v0", "__path__"])
def test_entry_points_are_a_dialect_and_an_id(name: str) -> None:
    with pytest.raises(AttributeError):
        getattr(entry_points, name)
