"""`play` where there is no board to click, and the widget where there is one."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from gymnasium.error import DependencyNotInstalled

from tictac_env import play

TTT = "TicTacToe-v0"


def typing(monkeypatch: pytest.MonkeyPatch, *answers: Any) -> None:
    left = list(answers)

    def answer(question: str) -> str:
        found = left.pop(0)
        if isinstance(found, Exception):
            raise found
        return str(found)

    monkeypatch.setattr("builtins.input", answer)


def in_a_kernel(monkeypatch: pytest.MonkeyPatch, anywidget: bool) -> None:
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object() if anywidget else None)


def test_outside_a_notebook_moves_are_typed(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    typing(monkeypatch, "2", "1", "3", "no")
    assert play("random", TTT, position="1425", seat="first") is None
    said = capsys.readouterr().out
    assert "You are X and play first, against random." in said and "2 is taken" in said and "You win." in said


def test_further_games_alternate(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    typing(monkeypatch, "3", "yes", "quit")
    play("random", TTT, position="1425", seed=1)
    said = capsys.readouterr().out
    assert "You are X and play first" in said and "You are O and play second" in said


def test_without_anywidget_a_notebook_plays_as_text_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    in_a_kernel(monkeypatch, anywidget=False)
    typing(monkeypatch, "quit")
    assert play("random", TTT) is None
    said = capsys.readouterr().out
    assert 'pip install "tictac-env[notebook]"' in said and "The game stands at" in said
    with pytest.raises(DependencyNotInstalled, match=r"tictac-env\[notebook\]"):
        play("random", TTT, widget=True)


@pytest.mark.parametrize("error", [EOFError(), NotImplementedError("raw_input was called"), OSError("no stdin")])
def test_where_nobody_can_be_asked_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: Any, error: Exception) -> None:
    typing(monkeypatch, error)
    play("random", TTT)
    assert "The input has ended" in capsys.readouterr().out


def test_a_notebook_with_anywidget_has_a_board(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pytest.importorskip("anywidget")
    in_a_kernel(monkeypatch, anywidget=True)
    board = play("rule", TTT, seat="first")
    assert board is not None and board.position.ply == 0
    typing(monkeypatch, "quit")
    assert play("rule", TTT, widget=False) is None


def test_the_widget_answers_the_browser() -> None:
    pytest.importorskip("anywidget")
    board = play("minimax", TTT, seat="first", seed=0, widget=True)
    assert board is not None
    views: list[dict[str, Any]] = []
    board.observe(lambda change: views.append(change["new"]), "view")
    request = {"do": "play", "action": 4, "moves": ""}
    board._handle_custom_msg(request, [])  # what ipywidgets calls for a message from the browser
    assert [view["position"]["ply"] for view in views] == [1, 2] and board.position.ply == 2
    assert board.table.view == board.view


def test_where_no_widget_can_run_there_is_a_picture_and_text() -> None:
    pytest.importorskip("anywidget")
    board = play("rule", TTT, seat="second", widget=True)
    assert board is not None
    data, _ = board._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/html"] == board.position._repr_svg_()
    assert "You are O: your move, against rule." in data["text/plain"] and str(board.position) in data["text/plain"]
