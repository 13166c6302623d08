"""A server, and somebody who visits its page."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright.sync_api")

DESKTOP, PHONE = {"width": 1180, "height": 900}, {"width": 360, "height": 740}


@contextmanager
def served(*options: str) -> Iterator[str]:
    """`tictac serve` on a free port, in a process of its own; its address."""
    command = [sys.executable, "-m", "tictac_env", "serve", "--port", "0", *options]
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
        """Opens the page at `#link`."""
        self.page.goto(f"{self.address}#{link}")
        self.page.reload()
        self.page.wait_for_selector("html[data-ready]")

    def said(self) -> str:
        """The line above the board."""
        return str(self.page.inner_text("#status"))

    def wait_for(self, text: str) -> None:
        """Waits until the line above the board says this."""
        self.page.wait_for_function("text => document.getElementById('status').innerText.includes(text)", arg=text)

    def moves(self) -> list[str]:
        """The names of the moves played."""
        return [name.strip("[]") for name in str(self.page.inner_text("#moves")).split()]

    def wait_for_moves(self, count: int) -> None:
        """Waits until so many moves are played."""
        script = "count => document.getElementById('moves').innerText.split(/\\s+/).filter(Boolean).length === count"
        self.page.wait_for_function(script, arg=count)

    def wait_for_line(self, text: str) -> None:
        """Waits until the list of moves reads so; the one that led to what is shown stands in brackets."""
        self.page.wait_for_function("text => document.getElementById('moves').innerText === text", arg=text)

    def click(self, action: int) -> None:
        """Clicks on the column or cell, where a hand would."""
        self.page.locator(f"[data-action='{action}']").click(force=True)  # illegal ones too

    def close(self) -> None:
        """Leaves; no error may have been logged, and nothing asked of anybody else."""
        self.context.close()
        assert self.wrong == []
        assert [url for url in self.asked if not url.startswith(self.address)] == []
