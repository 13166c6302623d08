"""`tictac play` in a real terminal: a pseudo-terminal and what a person types there, Ctrl-C and Ctrl-D included."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pexpect = pytest.importorskip("pexpect", reason="pexpect drives the terminal")
if not hasattr(pexpect, "spawn"):
    pytest.skip("there are no pseudo-terminals here", allow_module_level=True)

PROMPT = "your move"


@pytest.fixture
def play() -> Iterator[Any]:
    """Starts `tictac play` with some arguments."""
    started = []

    def start(*arguments: str) -> Any:
        child = pexpect.spawn(
            sys.executable,
            ["-m", "tictac_apps", "play", *arguments],
            encoding="utf-8",
            timeout=60,
            dimensions=(50, 100),
            env=os.environ | {"NO_COLOR": "1"},
        )
        child.setecho(False)
        started.append(child)
        return child

    yield start
    for child in started:
        child.close(force=True)


def ended(child: Any) -> int:
    """The exit status, once the program has ended."""
    child.expect(pexpect.EOF)
    child.close()
    assert child.signalstatus is None
    return int(child.exitstatus)


def test_a_game_with_wrong_keys_a_hint_and_undo_is_won(play: Any) -> None:
    child = play("rule", "--game", "TicTacToe-v0", "--position", "1532")
    child.expect("v0: You are X and play first, against rule.")
    child.expect(PROMPT)
    for wrong, answer in (
        ("\x1b[A", "is not a move: type 1-9"),
        ("1", r"1 is taken; you can play 4, 6, 7, 8, 9\."),
        ("hallo", "'hallo' is not a move"),
    ):
        child.sendline(wrong)
        child.expect(answer)
        child.expect(PROMPT)
    child.sendline("hint")
    child.expect(r"8: a draw")
    child.expect(PROMPT)
    child.sendline("4")
    child.expect(r"rule \(O\) plays 8\.")
    child.expect(r"O wins with 2 5 8\r\nrule wins\.\r\n")
    child.sendline("undo")
    child.expect(PROMPT)
    child.sendline("x")  # S3's key for 8
    child.expect(r"rule \(O\) thinks \.\.\.\r")
    child.expect(PROMPT)
    child.sendline("moves")
    child.expect(r"15328\d\r\n")
    child.sendline("quit")
    child.expect("The game stands at 15328")
    assert ended(child) == 0


def test_ctrl_d_ends_the_game(play: Any) -> None:
    child = play("random", "--game", "ConnectFour-v0")
    child.expect(PROMPT)
    child.sendline("3")
    child.expect(PROMPT)
    child.sendeof()
    child.expect(r"\r\nThe input has ended, the game stands at 3\d\.\r\n")
    assert ended(child) == 0


def test_ctrl_c_ends_a_search(play: Any) -> None:
    """While the opponent thinks."""
    child = play("perfect", "--position", "444413222242", "--seat", "second", "--game", "KInARow-v0:7x7-4")
    child.expect(r"perfect \(red X\) thinks")
    child.sendintr()
    child.expect(r"tictac: stopped\r\n")
    assert ended(child) == 130
