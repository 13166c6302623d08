"""A board in a notebook without a browser: requests go in, views come out."""

from __future__ import annotations

import json
from typing import Any

import gymnasium as gym
import pytest
from conftest import ODD_GAMES, title

pytest.importorskip("anywidget")

from tictac_env import OpponentPool, tictactoe_v0
from tictac_env.cli.session import Series
from tictac_env.games import Game
from tictac_env.notebook import play as playing
from tictac_env.notebook.widget import NotebookTable
from tictac_env.policies import load_player
from tictac_env.position import IllegalMove, Position

TTT = "TicTacToe-v0"


def table(
    opponent: Any = "rule", game: str | Game = TTT, seat: str = "first", moves: str = "", **shows: bool
) -> tuple[NotebookTable, list[dict[str, Any]]]:
    start = Position.from_moves(game, moves)
    views: list[dict[str, Any]] = []
    player = None if opponent is None else load_player(opponent, start.game)
    return NotebookTable(Series([start], player, seat, 0), **shows, tell=views.append), views


def click(board: NotebookTable, action: Any) -> None:
    board.answer({"do": "play", "action": action, "moves": board.view["position"]["moves"]})


@pytest.mark.parametrize("game", [TTT, "ConnectFour-v0", *ODD_GAMES], ids=lambda game: title(game))
def test_a_game_is_clicked_to_its_end_on_every_board(game: str | Game) -> None:
    board, views = table("random", game)
    while not board.position.is_over:
        assert board.view["open"] and not board.view["problem"]
        click(board, board.view["position"]["legal"][0]["action"])
    assert board.view["position"]["over"] and not board.view["open"]
    assert board.view["status"] in ("You win.", "random wins.", "A draw.")
    assert json.loads(json.dumps(views)) is not None


def test_the_stone_is_seen_before_the_opponent_has_thought() -> None:
    board, views = table()
    del views[:]
    click(board, 4)
    thinking, answered = views
    assert thinking["position"]["moves"] == "5" and thinking["thinking"] and not thinking["open"]
    assert thinking["status"] == "rule (O) thinks ..."
    assert answered["position"]["ply"] == 2 and answered["open"] and answered["status"].startswith("You are X")


def test_a_won_game_shows_its_line() -> None:
    board, _ = table("random", moves="1425")
    click(board, 2)
    assert board.view["status"] == "You win." and board.view["position"]["line"] == ((0, 0), (0, 1), (0, 2))


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({"do": "play", "action": 4, "moves": "5"}, "action 4, illegal here"),
        ({"do": "play", "action": 9, "moves": "5"}, r"in \[0, 9\), not 9"),
        ({"do": "play", "action": "1", "moves": "5"}, "not '1'"),
        ({"do": "play", "action": True, "moves": "5"}, "not True"),
        ({"do": "show", "exact": 1}, "exact must be True or False, not 1"),
        ({"do": "show", "all": True}, "must be to play, undo"),
        ({"do": "format"}, "format"),
        ("undo", "'undo'"),
        (None, "None"),
    ],
)
def test_a_wrong_request_is_told_and_changes_nothing(request_: Any, told: str) -> None:
    board, _ = table(None, moves="5")
    board.answer(request_)
    assert board.position.to_moves() == "5" and board.view["open"]
    with pytest.raises(ValueError, match=told):
        raise ValueError(board.view["problem"])
    click(board, 0)
    assert board.view["problem"] == ""


def test_a_click_on_an_older_board_is_no_move() -> None:
    board, views = table()
    click(board, 4)
    stands, seen = board.position, len(views)
    board.answer({"do": "play", "action": stands.legal_actions[0], "moves": ""})  # the second of a double click
    assert board.position == stands and len(views) == seen


def test_in_python_errors_are_raised() -> None:
    board, _ = table(None)
    board.play(4)
    with pytest.raises(IllegalMove, match="action 4, illegal here"):
        board.play(4)
    with pytest.raises(ValueError, match="thoughts must be True or False, not 'yes'"):
        board.show(thoughts="yes")  # type: ignore[arg-type]
    assert board.position.to_moves() == "5"


def test_undo_new_game_and_swap() -> None:
    board, _ = table()
    assert not board.view["undo"]
    click(board, 4)
    click(board, board.position.legal_actions[0])
    assert board.position.ply == 4 and board.view["undo"]
    board.answer({"do": "undo"})
    assert board.position.ply == 2
    board.answer({"do": "undo"})
    board.answer({"do": "undo"})  # there is none any more
    assert board.position.ply == 0 and not board.view["undo"]
    board.answer({"do": "swap"})
    assert board.position.ply == 1 and board.view["status"].startswith("You are O")
    board.answer({"do": "new"})
    assert board.position.ply == 1, "the seat stays"


def test_seats_alternate() -> None:
    board, _ = table(seat="alternate")
    plies = [board.position.ply]
    for _ in range(3):
        board.new_game()
        plies.append(board.position.ply)
    assert plies == [0, 1, 0, 1]


def test_what_the_opponent_thinks_and_what_is_true_are_shown_where_wanted() -> None:
    board, views = table("mcts:50", moves="152")
    assert "thought" not in board.view and "truth" not in board.view
    del views[:]
    board.answer({"do": "show", "thoughts": True})
    assert [move["action"] for move in board.view["thought"]["moves"]] == list(board.position.legal_actions)
    assert "thought" not in views[0], "the board is not kept waiting"
    board.answer({"do": "show", "exact": True, "thoughts": False})
    assert board.view["shows"] == {"thoughts": False, "exact": True} and "thought" not in board.view
    truth = {move["action"]: move for move in board.view["truth"]["moves"]}
    exact = load_player("perfect", TTT).policy
    best = exact.act(board.position, 0)
    assert truth[best]["best"] and board.view["truth"]["complete"]


class Broken:
    """Fails once, in the middle of a game."""

    calls = 0

    def __call__(self, observation: Any, mask: Any) -> int:
        self.calls += 1
        if self.calls == 2:
            raise RuntimeError("out of memory")
        return int(mask.argmax())


def test_an_opponent_that_fails_is_named_and_the_game_goes_on() -> None:
    board, _ = table(Broken())
    click(board, 4)
    click(board, 8)
    assert "failed: RuntimeError: out of memory" in board.view["problem"] and not board.view["thinking"]
    with pytest.raises(ValueError, match="turn"):
        board.play(board.position.legal_actions[0])
    board.undo()
    assert board.view["open"] and not board.view["problem"]
    click(board, 8)
    assert board.position.ply == 4

    board, _ = table(lambda observation, mask: 4)
    click(board, 4)
    assert "failed: IllegalMove" in board.view["problem"] and "action 4" in board.view["problem"]


def test_an_interrupted_opponent_thinks_no_more() -> None:
    def interrupted(observation: Any, mask: Any) -> int:
        raise KeyboardInterrupt

    board, _ = table(interrupted)
    with pytest.raises(KeyboardInterrupt):
        board.play(4)
    assert not board.view["thinking"] and board.view["undo"]


def test_an_environments_opponent_seat_and_starts_are_played() -> None:
    env = gym.make(TTT, opponent="minimax", play_as="second", start=["15", "19"])
    series = playing._series(env, None, None, None, 3)
    assert str(series.opponent) == "minimax" and series.seat == "second"
    starts = {series.begin().position.to_moves() for _ in range(20)}
    assert starts == {"15", "19"}
    assert playing._series(env, None, "first", "1", 0).begin().position.to_moves() == "1"
    pool = gym.make("ConnectFour-v0", opponent=OpponentPool(["random", "rule"]))
    assert {str(playing._series(pool, None, None, None, seed).begin().sides[1]) for seed in range(20)} == {
        "random",
        "rule",
    }


@pytest.mark.parametrize(
    "env", [gym.make(TTT, opponent=None), gym.make_vec(TTT, num_envs=2, opponent=None), tictactoe_v0.env()], ids=str
)
def test_without_an_opponent_two_people_play(env: Any) -> None:
    series = playing._series(env, None, None, None, 0)
    assert series.begin().hot_seat and series.begin().position == Position.start(TTT)


def test_an_agent_plays_its_own_game() -> None:
    from tictac_agents import MCTS

    assert playing._series(MCTS(10, game=TTT), None, None, None, 0).begin().position.game == Position.start(TTT).game


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"player": "nobody"}, "nobody"),
        ({"player": gym.make(TTT), "game": "ConnectFour-v0"}, "the environment is of TicTacToe-v0"),
        ({"player": gym.make("CartPole-v1")}, "does not play"),
        ({"seat": "third"}, "seat must be one of 'first', 'second', 'random', 'alternate', not 'third'"),
        ({"game": "Chess"}, "Chess"),
        ({"position": "1425369", "game": TTT}, "finished position|illegal|over"),
        ({"position": 4}, "a position must be a Position or a move string, not 4"),
        ({"hints": 1}, "hints must be True or False, not 1"),
        ({"thoughts": "yes"}, "thoughts must be True or False, not 'yes'"),
        ({"widget": "no"}, "widget must be True or False, not 'no'"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        playing.play(**{"player": "rule", **arguments})
