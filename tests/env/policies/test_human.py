"""A person at the terminal, by a script of what they type."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from tictac_env import play_match
from tictac_env.games import KInARow
from tictac_env.policies import answer, make_policy
from tictac_env.policies.human import HumanPolicy
from tictac_env.position import Position

TIC_TAC_TOE = Position.start("TicTacToe-v0")
CONNECT_FOUR = Position.start("ConnectFour-v0")
WIDE = Position.start(KInARow.make(4, 11, 4, gravity=False))


class Terminal:
    """Types the answers one after the other, and keeps what was shown and asked."""

    def __init__(self, *answers: str) -> None:
        self.answers: Iterator[str] = iter(answers)
        self.asked: list[str] = []
        self.shown: list[str] = []

    def ask(self, question: str) -> str:
        self.asked.append(question)
        try:
            return next(self.answers)
        except StopIteration:
            raise EOFError from None

    def act(self, position: Position) -> int:
        return HumanPolicy(self.ask, self.shown.append).act(position, 0)


@pytest.mark.parametrize(
    ("position", "typed", "action"),
    [
        *((TIC_TAC_TOE, typed, action) for action, typed in enumerate("123456789")),
        *((TIC_TAC_TOE, typed, action) for action, typed in enumerate("qweasdzxc")),
        (TIC_TAC_TOE, " Q ", 0),
        *((CONNECT_FOUR, typed, action) for action, typed in enumerate("1234567")),
        *((WIDE, *pair) for pair in (("9", 8), ("a", 9), ("10", 9), ("11", 10), ("B", 10), ("z", 34), ("44", 43))),
    ],
    ids=str,
)
def test_digits_letters_and_keys_are_actions(position: Position, typed: str, action: int) -> None:
    """Keys lie like the squares on the 3 x 3 board only; from ten on there are letters and numbers, as in moves."""
    assert Terminal(typed).act(position) == action


JUNK = ["", " ", "0", "10", "-1", "+1", "1.0", "x y", "qq", "p", "hello", "²", "١", "٣", "1e0", "\x00", "🙂", "None"]


@pytest.mark.parametrize("junk", JUNK, ids=ascii)
def test_junk_is_asked_again(junk: str) -> None:
    terminal = Terminal(junk, "5")
    assert terminal.act(TIC_TAC_TOE) == 4
    assert len(terminal.asked) == 2
    assert terminal.shown[-1].endswith("is not a move.")


def test_a_taken_square_is_asked_again() -> None:
    position = Position.from_moves("TicTacToe-v0", "51")
    terminal = Terminal("5", "q", "1", "9")
    assert terminal.act(position) == 8
    assert terminal.shown[1:] == ["5 is taken.", "q is taken.", "1 is taken."]


def test_a_full_column_is_asked_again() -> None:
    position = Position.from_moves("ConnectFour-v0", "444444")
    terminal = Terminal("4", "8", "3")
    assert terminal.act(position) == 2
    assert terminal.shown[1:] == ["4 is full.", "'8' is not a move."]


def test_the_board_is_shown_and_the_side_and_its_moves_are_named() -> None:
    terminal = Terminal("5")
    terminal.act(TIC_TAC_TOE)
    assert terminal.shown == [str(TIC_TAC_TOE)]
    assert terminal.asked[0].startswith("X") and "1-9" in terminal.asked[0] and "qwe" in terminal.asked[0]
    terminal = Terminal("5")
    terminal.act(Position.from_moves("ConnectFour-v0", "1"))
    assert terminal.asked[0].startswith("yellow O") and "1-7" in terminal.asked[0] and "qwe" not in terminal.asked[0]


def test_human_is_a_policy_by_name(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Played with the real `input` and `print`."""
    monkeypatch.setattr("sys.stdin", io.StringIO("5\n3\n"))
    for name, action in (("TicTacToe-v0", 4), ("ConnectFour-v0", 2)):
        position = Position.start(name)
        human = make_policy("human", name)
        assert answer(human, position.game, position.own, position.opp, (), 0)[0] == action
        assert str(position).splitlines()[0] in capsys.readouterr().out
    with pytest.raises(ValueError, match="human"):
        make_policy("human:2")


def test_the_last_board_of_a_match_is_shown() -> None:
    terminal = Terminal("1", "2", "3")
    match = play_match(HumanPolicy(terminal.ask, terminal.shown.append), lambda _, mask: 3 if mask[3] else 4, games=1)
    assert match.as_first.wins == 1
    assert terminal.shown[-1].endswith("X wins with 1 2 3")


@pytest.mark.parametrize(
    ("game", "words"),
    [
        (CONNECT_FOUR.game, "1-7"),
        (KInARow.make(2, 5, 3, False), "1-9, a"),
        (KInARow.make(4, 4, 4, False), "1-9, a-g"),
        (WIDE.game, "1-44"),
    ],
    ids=str,
)
def test_moves_are_named_as_the_board_numbers_them(game: KInARow, words: str) -> None:
    terminal = Terminal(words[-1] if "a" in words else "1")
    terminal.act(Position.start(game))
    assert f"({words})" in terminal.asked[0]
