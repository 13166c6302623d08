"""The contract of games: `Game`, its base class `PlacementGame` for free placement, and the status of positions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self


class Rules(Protocol):
    """The part of `Game` that an explanation needs."""

    @property
    def wins_by(self) -> str: ...

    def seat(self, own: int, opp: int) -> int: ...


class Status(IntEnum):
    """`VALID`, or the reason why no game reaches a position: the first one found, in the order of the members.

    As in python-chess's `Status`, `VALID` is falsy and every other member is truthy: `if status: ...` handles errors.

    Example:
        >>> from tictac_env.games import GAMES
        >>> GAMES["TicTacToe-v0"].status(own=3, opp=1)
        <Status.OVERLAP: 2>
    """

    VALID = 0, ""
    OFF_BOARD = 1, "a stone lies off the board"
    OVERLAP = 2, "two stones lie in one cell"
    STONE_COUNTS = 3, "the first player has {0} stones and the second {1}; the first has as many or one more"
    FLOATING_STONE = 4, "a stone floats above an empty cell"
    TWO_WINNERS = 5, "both players have a {2}"
    MOVED_AFTER_WIN = 6, "the player to move already has a {2}: the game continued after its end"
    NO_LAST_MOVE = 7, "no single last stone completes these {2}s: the game continued after its end"

    reason: str

    def __new__(cls, number: int, reason: str) -> Self:
        status = int.__new__(cls, number)
        status._value_ = number
        status.reason = reason
        return status

    def explain(self, game: Rules, own: int, opp: int) -> str:
        """The reason as an error message gives it; "" if the position is valid.

        Args:
            game: the rules that gave this status.
            own: the stones of the player to move.
            opp: the other player's.
        """
        first, second = (opp, own) if game.seat(own, opp) else (own, opp)
        return self.reason.format(first.bit_count(), second.bit_count(), game.wins_by)


#: The `Game.result` of an unfinished game; the other results are the value for the player to move.
UNFINISHED = 2
LOST = -1
DRAWN = 0
WON = 1

MOVE_CHARACTERS = "123456789abcdefghijklmnopqrstuvwxyz"


class Game(ABC):
    """The rules of a two-player game on a board of at most 63 cells.

    The contract covers games in which two players in turn put one stone on the board, and stones stay where they are:
    the stones determine the player to move and the number of plies played. It does not cover passes, moves of pieces,
    captures, chance, hidden information, or boards of more than 63 cells.

    A position is two non-negative integers below 2**63: `own`, the stones of the player to move, and `opp`, the other
    player's. A game is a frozen dataclass, and its methods are the rules: pure integer arithmetic on `own`, `opp` and
    the fields, with every intermediate result non-negative and below 2**63 (so `x ^ full`, never `~x`). Python then
    computes the same values as Numba does in int64, and both run the same source. Methods may call other methods of
    the game and plain functions of its module.

    `PlacementGame` implements most of this for games in which a stone may go to any empty cell. `check_game` checks
    rules in random games.

    Every game has these, as fields or properties; all fields and properties are constants in compiled code:
        rows, cols: the size of the board.
        cells: rows * cols, which is also the largest number of plies of a game.
        num_actions: actions are 0 to num_actions - 1.
        num_symmetries: the number of symmetries of the board, including the identity (number 0).
        full: the bits of all cells.

    Example:
        >>> from tictac_env.games import get_game
        >>> game = get_game("TicTacToe-v0")
        >>> own, opp = game.play(0, 0, 4)  # the centre; the other side is then to move
        >>> game.result(own, opp) == 2, bin(opp)  # unfinished; the stone
        (True, '0b1000000000')
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def rows(self) -> int: ...
        @property
        def cols(self) -> int: ...
        @property
        def cells(self) -> int: ...
        @property
        def num_actions(self) -> int: ...
        @property
        def num_symmetries(self) -> int: ...
        @property
        def full(self) -> int: ...

    wins_by: ClassVar[str] = "line"
    """The winner's achievement in a word, for `Outcome.how` and error messages."""

    knows_wins: ClassVar[bool] = True
    """True if `has_won`, `winning_cells`, `threats` and `winning_choices` agree with `result`, which is slower.

    A class that overrides `result` inherits the others from a game with another way to win. So it gets False, and only
    `result` is used, unless it sets `knows_wins = True`. False is right if a player who makes a line loses, as a
    player's own stones cannot show such a win.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        inherited: Any = getattr(super(cls, cls), "result", None)
        if "result" in vars(cls) and "knows_wins" not in vars(cls):
            cls.knows_wins = getattr(inherited, "__isabstractmethod__", False)

    @property
    def stones_fall(self) -> bool:
        """True if an action is a column, down which the stone falls; otherwise it is a cell, row by row."""
        return False

    @property
    def row_shift(self) -> float:
        """The shift of each row to the right of the row above in pictures, in cells."""
        return 0

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `make` for the same game, for JSON: the fields, unless a game overrides this."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @property
    def row_bytes(self) -> int:
        """The bits 8 * col for every column, if the bit of each cell is 8 * col + rows - 1 - row; otherwise 0.

        Neighbours in a row are then one byte from each other, so a row can be written at once.
        """
        cells = [(row, col) for row in range(self.rows) for col in range(self.cols)]
        if self.rows > 7 or any(self.cell(row, col) != 1 << 8 * col + self.rows - 1 - row for row, col in cells):
            return 0
        return sum(1 << 8 * col for col in range(self.cols))

    def start(self) -> tuple[int, int]:
        """The position `(own, opp)` at the start of a game."""
        return 0, 0

    @abstractmethod
    def cell(self, row: int, col: int) -> int:
        """The bit of the cell in `row` (from the top) and `col` (from the left)."""

    @abstractmethod
    def choice(self, action: int) -> int:
        """The bit for `action` in the set that `legal` returns."""

    @abstractmethod
    def legal(self, own: int, opp: int) -> int:
        """The set of legal actions of an unfinished position, as the union of their `choice` bits.

        The choice bits, in ascending order of the actions, are the first `num_actions` cells row by row from the top
        left. So an action mask is the beginning of the plane of this set.
        """

    @abstractmethod
    def nth(self, legal: int, index: int) -> int:
        """The action that has `index` smaller ones in the set `legal`; -1 if there is none."""

    @abstractmethod
    def play(self, own: int, opp: int, action: int) -> tuple[int, int]:
        """The position after `action`, for the next player to move; the same position if `action` is illegal.

        As everywhere, `action` must be in [0, num_actions): callers check actions from outside. The owner of `own` need
        not be to move.
        """

    @abstractmethod
    def play_choice(self, own: int, opp: int, choice: int) -> tuple[int, int]:
        """The position after the legal action with this `choice` bit.

        Cheaper than `play` if the legal actions are available as a set.
        """

    @abstractmethod
    def undo(self, own: int, opp: int, action: int) -> tuple[int, int]:
        """The position before `action`, if it can have been the last move; otherwise the same position."""

    def seat(self, own: int, opp: int) -> int:
        """0 if the first player is to move, 1 if the second: the parity of the number of stones."""
        return (own | opp).bit_count() & 1

    @abstractmethod
    def result(self, own: int, opp: int) -> int:
        """`LOST`, `DRAWN` or `WON` for the player to move if the game is over, otherwise `UNFINISHED`."""

    @abstractmethod
    def has_won(self, stones: int, seat: int) -> bool:
        """True if `stones` win for their owner, player `seat` (0 the first, 1 the second)."""

    @abstractmethod
    def winning_cells(self, stones: int, seat: int) -> int:
        """The stones of the win of player `seat`, such as all lines of them; 0 if there is no win."""

    @abstractmethod
    def threats(self, stones: int, seat: int) -> int:
        """The cells, empty or not, with which `stones` win for player `seat`; they depend on these stones only."""

    @abstractmethod
    def choices_into(self, own: int, opp: int, cells: int) -> int:
        """The choices that fill one of the `cells` at once."""

    def winning_choices(self, own: int, opp: int, seat: int) -> int:
        """The choices that win at once for player `seat`, the owner of `own`, who need not be to move."""
        return self.choices_into(own, opp, self.threats(own, seat))

    def is_dead(self, own: int, opp: int) -> bool:
        """True if neither side can win any more, so that only a draw is left; False also if that is unknown."""
        return False

    def status(self, own: int, opp: int) -> Status:
        """`VALID`, or the reason why no game reaches this position."""
        if own < 0 or opp < 0 or (own | opp) & ~self.full:
            return Status.OFF_BOARD
        if own & opp:
            return Status.OVERLAP
        # The parity of all stones says whose turn it is, so the counts of both players follow.
        seat = self.seat(own, opp)
        first, second = (opp, own) if seat else (own, opp)
        if first.bit_count() - second.bit_count() != seat:
            return Status.STONE_COUNTS
        if self.is_floating(own | opp):
            return Status.FLOATING_STONE
        # Only the last move can have won: it was the other side's, and before it nobody had.
        if self.has_won(own, seat):
            return Status.TWO_WINNERS if self.has_won(opp, 1 - seat) else Status.MOVED_AFTER_WIN
        if self.has_won(opp, 1 - seat):
            for action in range(self.num_actions):
                before = self.undo(own, opp, action)
                if before != (own, opp) and not self.has_won(before[0], 1 - seat):
                    break
            else:
                return Status.NO_LAST_MOVE
        return Status.VALID

    def is_floating(self, stones: int) -> bool:
        """True if one of the stones of both sides lies where no stone can come before a further cell is filled."""
        return False

    def image(self, row: int, col: int, symmetry: int) -> tuple[int, int]:
        """The image of the cell (row, col) under symmetry number `symmetry`."""
        return row, col


class PlacementGame(Game):
    """An action is a cell, row by row from the top left, and its stone fills bit number `action`.

    A game needs only `rows` and `cols` (fields or properties) and `winning_cells`. `threats` tries every cell unless
    overridden; the speed of search depends on `has_won` and `threats`. The board of 3 x 4:

        0  1  2  3
        4  5  6  7
        8  9 10 11      one step right is + 1, one row down + cols

    Example:
        >>> from dataclasses import dataclass
        >>> from tictac_env import Position
        >>> from tictac_env.games import PlacementGame
        >>> @dataclass(frozen=True)
        ... class Corners(PlacementGame):
        ...     rows: int = 2
        ...     cols: int = 2
        ...     def winning_cells(self, stones, seat):
        ...         return stones if stones & 0b1001 == 0b1001 else 0
        >>> Position.from_moves(Corners(), "124").outcome.winner
        0
    """

    __slots__ = ()

    @property
    def cells(self) -> int:
        """Rows * cols."""
        return self.rows * self.cols

    @property
    def num_actions(self) -> int:
        """The number of cells."""
        return self.rows * self.cols

    @property
    def num_symmetries(self) -> int:
        """Only the identity; a game that overrides this overrides `image` too."""
        return 1

    @property
    def full(self) -> int:
        """All cells."""
        return (1 << self.cells) - 1

    def cell(self, row: int, col: int) -> int:
        return 1 << row * self.cols + col

    def choice(self, action: int) -> int:
        return 1 << action

    def legal(self, own: int, opp: int) -> int:
        return (own | opp) ^ self.full

    def nth(self, legal: int, index: int) -> int:
        for action in range(self.num_actions):
            if legal >> action & 1:
                if index == 0:
                    return action
                index -= 1
        return -1

    def play(self, own: int, opp: int, action: int) -> tuple[int, int]:
        stone = 1 << action
        return (own, opp) if (own | opp) & stone else (opp, own | stone)

    def play_choice(self, own: int, opp: int, choice: int) -> tuple[int, int]:
        return opp, own | choice

    def undo(self, own: int, opp: int, action: int) -> tuple[int, int]:
        stone = 1 << action
        return (opp ^ stone, own) if opp & stone else (own, opp)

    def result(self, own: int, opp: int) -> int:
        if self.has_won(opp, 1 - self.seat(own, opp)):
            return LOST
        return DRAWN if own | opp == self.full else UNFINISHED

    def has_won(self, stones: int, seat: int) -> bool:
        return self.winning_cells(stones, seat) != 0

    @abstractmethod
    def winning_cells(self, stones: int, seat: int) -> int: ...

    def threats(self, stones: int, seat: int) -> int:
        cells = 0
        for action in range(self.num_actions):
            if self.has_won(stones | 1 << action, seat):
                cells |= 1 << action
        return cells

    def choices_into(self, own: int, opp: int, cells: int) -> int:
        return cells & self.legal(own, opp)


def move_name(game: Game, action: int) -> str:
    """An action as in a move string: counted from 1, one character, or a number on boards with more than 35 actions."""
    return str(action + 1) if game.num_actions > len(MOVE_CHARACTERS) else MOVE_CHARACTERS[action]
