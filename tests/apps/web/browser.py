"""A server, and somebody who visits its page, or the folder without a server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tictac_env.position import Position

pytest.importorskip("starlette")
pytest.importorskip("playwright.sync_api")

DESKTOP, PHONE = {"width": 1180, "height": 900}, {"width": 360, "height": 740}


@contextmanager
def served(*options: str) -> Iterator[str]:
    """`tictac serve` on a free port, in a process of its own; its address."""
    command = [sys.executable, "-m", "tictac_apps", "serve", "--port", "0", *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        assert line.startswith("http://127.0.0.1:"), line
        yield line.split()[0]
    finally:
        server.terminate()
        server.communicate(timeout=15)


class Visitor:
    """Somebody at the page, who complains of every error in its console."""

    def __init__(self, browser: Any, address: str, size: dict[str, int] = DESKTOP, **context: Any) -> None:
        self.address = address
        self.context = browser.new_context(viewport=size, reduced_motion="reduce", **context)
        self.context.set_default_timeout(45_000)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda line: self.wrong.append(line.text) if line.type == "error" else None)
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, link: str = "") -> None:
        """Opens the page at `#link`, anew: the page corrects a bad link, so that a reload would not see it."""
        page = "index.html" if self.address.startswith("file:") else ""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}{page}#{link}")
        self.page.wait_for_selector("html[data-ready]")

    def said(self) -> str:
        """The line above the board."""
        return str(self.page.inner_text("#status"))

    def wait_for(self, text: str) -> None:
        """Waits until the line above the board says this."""
        self.page.wait_for_function("text => document.getElementById('status').innerText.includes(text)", arg=text)

    def moves(self) -> list[str]:
        """The names of the moves played."""
        names = self.page.locator("#moves button").evaluate_all("all => all.map(one => one.dataset.name)")
        return [str(name) for name in names]

    def position(self, game: str) -> Position:
        """The position on the board."""
        return Position.from_moves(game, "".join(self.moves()))

    def wait_for_moves(self, count: int) -> None:
        """Waits until so many moves are played."""
        script = "count => document.querySelectorAll('#moves button').length === count"
        self.page.wait_for_function(script, arg=count)

    def wait_for_line(self, text: str) -> None:
        """Waits until these are the moves, the current one in brackets, as in "4 [4] 5"."""
        self.page.wait_for_function(
            """text => [...document.querySelectorAll('#moves button')].map(one => one.ariaCurrent === 'step' ?
                `[${one.dataset.name}]` : one.dataset.name).join(' ') === text""",
            arg=text,
        )

    def wait_for_answer(self, ply: int) -> None:
        """Waits until the move made at `ply` is answered, or the game is over."""
        self.page.wait_for_function(
            """ply => { const said = document.getElementById('status').innerText;
                return document.querySelectorAll('#moves button').length > ply
                    && /win|lose|draw|Your move/.test(said) && !/thinking/.test(said); }""",
            arg=ply,
        )

    def click(self, action: int) -> None:
        """Clicks on the column or cell, as by hand."""
        self.page.locator(f"#board [data-action='{action}']").click(force=True)  # illegal ones too

    def press(self, keys: str) -> None:
        """Presses one key after another."""
        for key in keys:
            self.page.keyboard.press(key)

    def play(self, game: str, choose: Callable[[Position], int], by: str = "mouse") -> None:
        """Plays the visitor's moves until the game is over."""
        while True:
            position = self.position(game)
            action = choose(position)
            if by == "mouse":
                self.click(action)
            else:
                self.press(str(action + 1))
            self.wait_for_answer(position.ply)
            if "Your move" not in self.said():
                return

    def notes(self, kind: str, count: int) -> list[str]:
        """The texts in the boxes of that kind, once there are so many."""
        script = "([kind, count]) => document.querySelectorAll(`.note .${kind}`).length === count"
        self.page.wait_for_function(script, arg=[kind, count])
        return [str(text) for text in self.page.locator(f".note .{kind}").all_inner_texts()]

    def check_access(self, strict: bool = False, **options: Any) -> None:
        """Asserts that axe finds nothing serious (`strict`: nothing), and that nothing is wider than the window."""
        axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
        found = axe.run(self.page, options=options).response["violations"]
        faults = [one for one in found if strict or one["impact"] in ("serious", "critical")]
        shown = [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in faults]
        assert not shown, (self.page.url, self.page.viewport_size, shown)
        assert self.page.evaluate("document.documentElement.scrollWidth") <= self.page.viewport_size["width"]

    def close(self) -> None:
        """Leaves; no error may have been logged, and nothing asked of anybody else."""
        self.context.close()
        assert self.wrong == []
        assert [
            url for url in self.asked if not url.startswith((self.address, "blob:"))
        ] == []  # a blob is made by the page
