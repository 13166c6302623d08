"""A game of any size has a name, "KInARow-v0:5x6-4", that is understood wherever a game's name is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest

from examples.hex import Hex
from tictac_agents import QLearning
from tictac_apps import cli
from tictac_env import Position, Solver, check_policy, make_policy, play_match, round_robin, verdict
from tictac_env.envs.aec import BoardAECEnv
from tictac_env.games import Game, KInARow, game_name, get_game, gym_keywords
from tictac_env.games.registry import read_sizes, write_sizes


@pytest.mark.parametrize(
    ("name", "game"),
    [
        ("KInARow-v0", KInARow.make()),
        ("KInARow-v0:5", KInARow.make(5)),
        ("KInARow-v0:5x6-4", KInARow.make(5, 6, 4)),
        ("KInARow-v0:5,6,4", KInARow.make(5, 6, 4)),
        ("KInARow-v0:4x4-3,gravity=False", KInARow.make(4, 4, 3, False)),
        ("KInARow-v0:4x4-3-false", KInARow.make(4, 4, 3, False)),
        ("KInARow-v0:5x6,connect=3", KInARow.make(5, 6, 3)),
        ("KInARow-v0:connect=5, rows=7", KInARow.make(7, 7, 5)),
        ("KInARow-v0:3x3-3,gravity=False", get_game("TicTacToe-v0")),
        ("Hex-v0:3", Hex.make(3)),
        ("Hex-v0:size=3", Hex.make(3)),
    ],
)
def test_sizes_are_read_as_in_a_call(name: str, game: Game) -> None:
    assert get_game(name) == game


def test_every_game_of_a_family_is_found_by_its_name(game: Game) -> None:
    name = game_name(game)
    assert name is not None
    assert get_game(name) == game


def test_names_say_the_sizes_as_briefly_as_they_are_read() -> None:
    names = [game_name(game) for game in (KInARow.make(5, 6, 4), KInARow.make(4, 4, 3, False), Hex.make(3))]
    assert names == ["KInARow-v0:5x6-4", "KInARow-v0:4x4-3,gravity=False", "Hex-v0:3"]
    assert game_name(KInARow.make(6, 7, 4)) == "ConnectFour-v0"
    assert game_name(Hex.make(5)) == "Hex-v0"
    assert repr(Position.from_moves("KInARow-v0:5x6-4", "12")) == "Position.from_moves('KInARow-v0:5x6-4', '12')"


@pytest.mark.parametrize(
    "sizes",
    [{"wraps": True, "size": 4}, {"size": 4, "wraps": True}, {"size": 5, "wraps": False, "depth": 2}],
    ids=str,
)
def test_the_sizes_of_any_family_come_back_as_they_were(sizes: dict[str, Any]) -> None:
    usual = {"size": 5, "wraps": False, "depth": 3}
    text = write_sizes(sizes, usual)
    read = read_sizes(f"Mine-v0:{text}", list(sizes))
    assert {size: read.get(size, usual[size]) for size in sizes} == sizes


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("5x6-4", r"no game is called '5x6-4'; .*as in KInARow-v0:6x7-4"),
        ("ConnectFour-v0:5x6-4", r"ConnectFour-v0 is of one size.*as in KInARow-v0:6x7-4"),
        ("KinARow-v0:5x6-4", r"did you mean KInARow-v0\?.*as in KInARow-v0:6x7-4"),
        ("KInARow-v0:", "rows must be an integer, True or False, not ''"),
        ("KInARow-v0:5xfour", "cols must be an integer, True or False, not 'four'"),
        ("KInARow-v0:5x²", "cols must be an integer, True or False, not '²'"),
        ("KInARow-v0:" + "9" * 5000, "rows must be an integer"),
        ("KInARow-v0:5x6-4-False-2", "more sizes than there are: rows, cols, connect, gravity"),
        ("KInARow-v0:5,rows=6", "gives rows twice"),
        ("KInARow-v0:rows=6,7", "'7' follows a size that is given by its name"),
        ("KInARow-v0:row=6", r"KInARow-v0 has no 'row'; did you mean rows\?"),
        ("KInARow-v0:5x6-9", "connect=9 does not fit on a board of 5 rows and 6 columns"),
        ("KInARow-v0:5x6-4,gravity=1", "gravity must be True or False, not 1"),
        ("Hex-v0:9", "size must be an int from 1 to 7, not 9"),
    ],
)
def test_a_wrong_size_is_named(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        get_game(name)


SMALL = "KInARow-v0:3x4-3"
USES: dict[str, Callable[[], Game]] = {
    "Position": lambda: Position.from_moves(SMALL, "12").game,
    "Solver": lambda: Solver(SMALL).game,
    "BoardAECEnv": lambda: BoardAECEnv(SMALL).position.game,
    "QLearning": lambda: QLearning(SMALL).game,
    "gym.make": lambda: gym.make(**gym_keywords(SMALL)).unwrapped.game,  # type: ignore[attr-defined]
    "round_robin": lambda: round_robin(["rule", "random"], SMALL, games=2).game,
}


@pytest.mark.parametrize("use", USES)
def test_a_name_with_sizes_is_understood_everywhere(use: str) -> None:
    assert USES[use]() == KInARow.make(3, 4, 3)


def test_policies_measures_and_the_command_take_sizes_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert make_policy("level:10", SMALL).act(Position.from_moves(SMALL, "2233"), 0) in range(4)
    check_policy("rule", SMALL, positions=5)
    assert play_match("rule", "random", SMALL, games=4).total.games == 4
    assert verdict("minimax", SMALL).exploitability == 0
    assert cli.main(["solve", "12", "--game", SMALL]) == 0
    assert "1  2  3  4\n" in capsys.readouterr().out


def test_an_agent_made_by_a_name_with_sizes_is_saved_and_loaded(tmp_path: Any) -> None:
    agent = QLearning(SMALL, seed=0).learn(total_episodes=20, progress_bar=False)
    agent.save(tmp_path / "q.npz")
    assert QLearning.load(tmp_path / "q.npz").game == QLearning.load(tmp_path / "q.npz", SMALL).game == agent.game


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
def test_other_sizes_of_a_game_of_one_size_are_said_to_be_its_familys(make: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="ConnectFour-v0 is of one size and takes no rows; KInARow-v0 takes rows"):
        make("ConnectFour-v0", rows=5)
