"""Why a position is impossible, as a value one can test for."""

from __future__ import annotations

from enum import Enum
from typing import Protocol


class Rules(Protocol):
    """What an explanation needs of a `Game`."""

    @property
    def wins_by(self) -> str: ...

    def seat(self, own: int, opp: int) -> int: ...


class Status(Enum):
    """Whether a game can reach a position, and if not, why: the first reason found, in the order of the members.

    As with python-chess's `Status`, the valid one is false and every other one is true: `if status: ...` handles what
    is wrong.

    Example:
        >>> from tictac_env.games import GAMES
        >>> GAMES["TicTacToe-v0"].status(own=3, opp=1)
        <Status.OVERLAP: 'two stones lie in one cell'>
    """

    VALID = ""
    OFF_BOARD = "a stone lies off the board"
    OVERLAP = "two stones lie in one cell"
    STONE_COUNTS = "the first player has {0} stones and the second {1}; the first has as many or one more"
    FLOATING_STONE = "a stone floats above an empty cell"
    TWO_WINNERS = "both players have a {2}"
    MOVED_AFTER_WIN = "the player to move already has a {2}: the game went on after its end"
    NO_LAST_MOVE = "no single last stone completes these {2}s: the game went on after its end"

    def __bool__(self) -> bool:
        return self is not Status.VALID

    def explain(self, game: Rules, own: int, opp: int) -> str:
        """What is wrong, in words for an error message; "" if nothing is.

        Args:
            game: the rule book that gave this status.
            own: the stones of the player to move.
            opp: the other player's.
        """
        first, second = (opp, own) if game.seat(own, opp) else (own, opp)
        return self.value.format(first.bit_count(), second.bit_count(), game.wins_by)
