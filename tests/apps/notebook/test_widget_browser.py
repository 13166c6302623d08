"""The board's script in a browser: what is clicked goes to the real table, whose views come back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest
from chromium import needs_chromium

pytest.importorskip("anywidget")

from tictac_apps.notebook.play import play
from tictac_apps.notebook.widget import widget_script

MODEL = """async ([script, view]) => {
    const heard = new Set();
    window.model = {
      view,
      get: (name) => window.model[name],
      on: (event, callback) => event === "change:view" && heard.add(callback),
      off: (event, callback) => heard.delete(callback),
      send: (request) => window.ask(request),
    };
    window.tell = (seen) => { window.model.view = seen; heard.forEach((callback) => callback()); };
    const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const { default: widget } = await import(url);
    window.leave = widget.render({ model: window.model, el: document.querySelector("#cell") });
    window.listeners = () => heard.size;
}"""
"""A widget's model as anywidget gives it to the script; `ask` and `tell` lead to Python."""


pytestmark = needs_chromium


class Cell:
    """A cell of a notebook that shows a board."""

    def __init__(self, page: Any, opponent: str, game: str, moves: str = "", dark: bool = False) -> None:
        self.page = page
        self.wrong: list[str] = []
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda line: self.wrong.append(line.text) if line.type == "error" else None)
        colors = "background:#111;color:#ddd" if dark else "background:#fff;color:#222"
        page.set_content(f'<!doctype html><body style="{colors};font:14px sans-serif"><div id="cell"></div>')
        board = play(opponent, game, position=moves, seat="first", seed=0, widget=True)
        assert board is not None
        self.table = board.table
        self.requests: list[Any] = []
        page.expose_function("ask", lambda request: self.requests.append(request))
        page.evaluate(MODEL, [widget_script(), asdict(self.table.view)])

    def settle(self) -> None:
        """Gives the table what the browser has asked for, and the browser what it answers."""
        self.page.wait_for_timeout(30)
        while self.requests:
            self.table.answer(self.requests.pop(0))
            self.page.evaluate("view => window.tell(view)", asdict(self.table.view))

    def click(self, selector: str) -> None:
        self.page.locator(selector).click(force=True)
        self.settle()

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).inner_text())


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 620, "height": 640}, reduced_motion="reduce")
    yield page
    page.close()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_game_is_played_by_clicks(page: Any, dark: bool) -> None:
    cell = Cell(page, "random", "TicTacToe-v0", "1425", dark)
    assert cell.text(".status") == "You are X: your move, against random."
    cell.click("[data-action='0']")
    assert cell.text(".notice") == "Cell 1 is taken." and cell.table.position.ply == 4
    cell.click("text=Show the truth")
    assert cell.page.locator(".note .exact.win").count() >= 1 and "W" in cell.text(".soft")
    cell.click("text=What it thinks")
    assert cell.page.locator(".note .thought").count() == 5
    cell.click("[data-action='2']")
    assert cell.text(".status") == "You win." and cell.page.locator("rect.line").count() == 3
    cell.click("text=Undo")
    assert cell.table.position.to_moves() == "1425" and cell.page.locator("rect.line").count() == 0
    theme = cell.page.evaluate("document.querySelector('#cell > div').dataset.theme")
    assert theme == ("dark" if dark else "light")
    assert cell.wrong == []


def test_sides_are_swapped_and_keys_move_on_the_board(page: Any) -> None:
    cell = Cell(page, "rule", "ConnectFour-v0")
    cell.page.locator("[data-action='0']").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "Enter"):
        cell.page.keyboard.press(key)
    cell.settle()
    assert cell.table.position.moves[0] == 1 and cell.table.position.ply == 2
    cell.click("text=Swap sides")
    assert cell.table.position.ply == 1 and "You are yellow O" in cell.text(".status")
    cell.click("text=New game")
    assert cell.table.position.ply == 1
    assert cell.wrong == []


def test_a_double_click_is_one_move_and_a_closed_cell_listens_no_more(page: Any) -> None:
    cell = Cell(page, "human", "ConnectFour-v0")
    assert cell.page.locator("text=What it thinks").is_hidden(), "two people: there is nobody to think"
    cell.page.locator("[data-action='3']").dblclick(force=True)
    cell.settle()
    assert cell.table.position.to_moves() == "4"
    cell.page.evaluate("window.leave()")
    assert cell.page.evaluate("window.listeners()") == 0 and cell.page.locator("#cell > *").count() == 0
    assert cell.wrong == []
