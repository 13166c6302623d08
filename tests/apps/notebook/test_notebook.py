"""`play`: a board in a notebook, without a browser (requests go in, views come out), or text if there is none."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import pytest
from conftest import ODD_GAMES, title
from gymnasium.error import DependencyNotInstalled

pytest.importorskip("anywidget")

from tictac_agents import MCTS
from tictac_apps.notebook.play import play
from tictac_apps.notebook.widget import BoardWidget
from tictac_env import OpponentPool, tictactoe_v0
from tictac_env.games import Game
from tictac_env.policies import make_policy
from tictac_env.position import IllegalMove, Position

TTT = "TicTacToe-v0"


def board_of(
    player: Any = "rule", game: str | Game | None = TTT, seat: str | None = "first", **more: Any
) -> BoardWidget:
    board = play(player, game, seat=seat, widget=True, **{"seed": 0, **more})
    assert board is not None
    return board


def click(board: BoardWidget, action: Any) -> None:
    board.table.answer({"do": "play", "action": action, "moves": board.view["position"]["moves"]})


def typing(monkeypatch: pytest.MonkeyPatch, *answers: Any) -> None:
    left = list(answers)

    def answer(question: str) -> str:
        if isinstance(found := left.pop(0), Exception):
            raise found
        return str(found)

    monkeypatch.setattr("builtins.input", answer)


def in_a_kernel(monkeypatch: pytest.MonkeyPatch, anywidget: bool) -> None:
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object() if anywidget else None)


def test_outside_a_notebook_moves_are_typed_and_games_alternate(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    typing(monkeypatch, "2", "1", "3", "yes", "quit")
    assert play("random", TTT, position="1425", seed=1) is None
    said = capsys.readouterr().out
    assert "You are X and play first, against random." in said and "2 is taken" in said and "You win." in said
    assert "You are O and play second" in said


@pytest.mark.parametrize("error", [EOFError(), NotImplementedError("raw_input was called"), OSError("no stdin")])
def test_if_nobody_can_be_asked_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: Any, error: Exception) -> None:
    typing(monkeypatch, error)
    play("random", TTT)
    assert "The input has ended" in capsys.readouterr().out


def test_a_notebook_has_a_board_with_anywidget_else_text(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    in_a_kernel(monkeypatch, anywidget=True)
    assert isinstance(play("rule", TTT), BoardWidget)
    typing(monkeypatch, "quit", "quit")
    assert play("rule", TTT, widget=False) is None
    in_a_kernel(monkeypatch, anywidget=False)
    assert play("random", TTT) is None
    assert 'pip install "tictac-env[notebook]"' in capsys.readouterr().out
    with pytest.raises(DependencyNotInstalled, match=r"tictac-env\[notebook\]"):
        play("random", TTT, widget=True)


def test_the_widget_answers_the_browser_and_has_a_picture() -> None:
    board = board_of("minimax")
    views: list[dict[str, Any]] = []
    board.observe(lambda change: views.append(change["new"]), "view")
    board._handle_custom_msg({"do": "play", "action": 4, "moves": ""}, [])  # what ipywidgets calls for a message
    thinking, answered = views
    assert thinking["position"]["moves"] == "5" and thinking["thinking"] and not thinking["open"]
    assert thinking["status"] == "minimax (O) thinks ..."
    assert answered["position"]["ply"] == board.position.ply == 2 and answered["open"]
    data, _ = board._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data and data["text/html"] == board.position._repr_svg_()
    assert "You are X: your move, against minimax." in data["text/plain"] and str(board.position) in data["text/plain"]


@pytest.mark.parametrize("game", [TTT, "ConnectFour-v0", *ODD_GAMES], ids=lambda game: title(game))
def test_a_game_is_clicked_to_its_end_on_every_board(game: str | Game) -> None:
    board = board_of("random", game)
    while not board.position.is_over:
        assert board.view["open"] and not board.view["problem"] and json.loads(json.dumps(board.view))
        click(board, board.view["position"]["legal"][0]["action"])
    assert board.view["position"]["over"] and not board.view["open"]
    assert board.view["status"] in ("You win.", "random wins.", "A draw.")


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
    board = board_of("human", position="5")
    board.table.answer(request_)
    assert board.position.to_moves() == "5" and board.view["open"]
    with pytest.raises(ValueError, match=told):
        raise ValueError(board.view["problem"])
    click(board, 0)
    assert board.view["problem"] == "" and board.position.ply == 2
    board.table.answer({"do": "play", "action": 1, "moves": "5"})  # the second of a double click
    assert board.position.ply == 2 and board.view["problem"] == ""
    with pytest.raises(IllegalMove, match="action 4, illegal here"):  # in Python errors are raised
        board.table.play(4)


def test_undo_new_game_and_swap() -> None:
    board = board_of()
    assert not board.view["undo"]
    click(board, 4)
    click(board, board.position.legal_actions[0])
    assert board.position.ply == 4 and board.view["undo"]
    for ply in (2, 0, 0):  # there is none any more
        board.table.answer({"do": "undo"})
        assert board.position.ply == ply
    board.table.answer({"do": "swap"})
    assert board.position.ply == 1 and board.view["status"].startswith("You are O")
    board.table.answer({"do": "new"})
    assert board.position.ply == 1, "the seat stays"
    board = board_of(seat="alternate")
    plies = [board.position.ply]
    for _ in range(3):
        board.table.new_game()
        plies.append(board.position.ply)
    assert plies == [0, 1, 0, 1]


def test_what_the_opponent_thinks_and_what_is_true_are_shown_if_wanted() -> None:
    board = board_of("mcts:50", position="152", seat="second")
    assert board.view["thought"] is board.view["truth"] is None
    views: list[dict[str, Any]] = []
    board.observe(lambda change: views.append(change["new"]), "view")
    board.table.answer({"do": "show", "thoughts": True})
    assert [move["action"] for move in board.view["thought"]["moves"]] == list(board.position.legal_actions)
    assert views[0]["thought"] is None, "the board is not kept waiting"
    board.table.answer({"do": "show", "exact": True, "thoughts": False})
    assert board.view["shows"] == {"thoughts": False, "exact": True} and board.view["thought"] is None
    truth = {move["action"]: move for move in board.view["truth"]["moves"]}
    assert truth[make_policy("perfect", TTT).act(board.position, 0)]["best"] and board.view["truth"]["complete"]


def test_an_opponent_that_fails_is_named_and_the_game_goes_on() -> None:
    failures: list[BaseException] = [RuntimeError("out of memory"), KeyboardInterrupt()]

    def fails(observation: Any, mask: Any) -> int:
        if mask.sum() == 6 and failures:
            raise failures.pop(0)
        return int(mask.argmax())

    board = board_of(fails)
    click(board, 4)
    click(board, 8)
    assert "forfeits: RuntimeError: out of memory" in board.view["status"] and not board.view["thinking"]
    assert board.view["status"].endswith("You win.") and not board.view["open"]
    with pytest.raises(ValueError, match=r"the game is over: .* forfeits"):
        board.table.play(board.position.legal_actions[0])
    board.table.undo()
    assert board.view["open"] and not board.view["problem"]
    with pytest.raises(KeyboardInterrupt):
        board.table.play(8)
    assert not board.view["thinking"] and board.view["undo"]
    board.table.undo()
    click(board, 8)
    assert board.position.ply == 4
    board = board_of(lambda observation, mask: 4)
    click(board, 4)
    assert "forfeits: illegal move" in board.view["status"] and "action 4" in board.view["status"]


def test_an_environments_opponent_seat_and_starts_are_played() -> None:
    env = gym.make(TTT, opponent="minimax-first", play_as="second", start=["15", "19"])
    board, starts = board_of(env, None, None), set()
    for _ in range(20):
        starts.add(board.position.to_moves()[:2])
        board.table.new_game()
    assert starts == {"15", "19"} and board.view["opponent"] == "minimax-first" and board.view["position"]["seat"] == 1
    assert board_of(env, None, "second", position="1").position.to_moves() == "1"
    pool = gym.make("ConnectFour-v0", opponent=OpponentPool(["random", "rule"]))
    drawn = {str(board_of(pool, None, None, seed=seed).table._session.sides[1]) for seed in range(8)}
    assert drawn == {"random", "rule"}
    for two in (gym.make(TTT, opponent=None), gym.make_vec(TTT, num_envs=2, opponent=None), tictactoe_v0.env()):
        board = board_of(two, None, None)
        assert board.view["opponent"] is None and board.position == Position.start(TTT)
    assert board_of(MCTS(10, game=TTT), None).position.game == Position.start(TTT).game


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
        play(**{"player": "rule", **arguments})
