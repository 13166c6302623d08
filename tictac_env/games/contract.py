"""Why a position is impossible, as a value one can test for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol


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


#: What `Game.result` returns while the game goes on; the other results are the value for the player to move.
UNFINISHED = 2
LOST = -1
DRAWN = 0
WON = 1


class Game(ABC):
    """The rules of a two-player game on a board of at most 63 cells.

    The contract covers games in which two players in turn put one stone on the board, and stones stay where they are:
    who is to move follows from the stones, and so does the number of plies played. It does not cover passes, moves of
    pieces, captures, chance, hidden information, or boards of more than 63 cells.

    A position is two non-negative integers below 2**63: `own`, the stones of the player to move, and `opp`, the other
    player's. A game is a frozen dataclass, and its methods are the rules: pure integer arithmetic on `own`, `opp` and
    the fields, with every intermediate result non-negative and below 2**63 (so `x ^ full`, never `~x`). Python then
    computes the same values as Numba does in int64, and both run the same source. Methods may call other methods of
    the game and plain functions of its module.

    `PlacementGame` has most of this for games in which a stone may go to any empty cell. `check_game` tries a rule book
    on random games.

    Every game has these, as fields or properties; compiled code takes all fields and properties for constants:
        rows, cols: the size of the board.
        cells: rows * cols, which is also the largest number of plies a game can last.
        num_actions: actions are 0 to num_actions - 1.
        num_symmetries: how many symmetries the board has, the identity (number 0) among them.

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

    wins_by: ClassVar[str] = "line"
    """What the winner has, in a word: `Outcome.how` and error messages say it."""

    knows_wins: ClassVar[bool] = True
    """Whether `has_won`, `winning_cells`, `threats` and `winning_choices` say what `result` does, only sooner.

    A class that overrides the `result` of another rule book inherits these from a game that was won otherwise, so it is
    taken not to know, unless it says `knows_wins = True`: then only `result` is asked, which is slower. So it should be
    where whoever makes a line loses, which no stones of one's own can show.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        inherited: Any = getattr(super(cls, cls), "result", None)
        if "result" in vars(cls) and "knows_wins" not in vars(cls):
            cls.knows_wins = getattr(inherited, "__isabstractmethod__", False)

    @property
    def stones_fall(self) -> bool:
        """Whether an action is a column, down which the stone falls; else it is a cell, row by row."""
        return False

    @property
    def row_shift(self) -> float:
        """How far pictures shift each row to the right of the one above, in cells."""
        return 0

    @property
    def arguments(self) -> dict[str, Any]:
        """What `make` needs to build the same game, as JSON can hold it: the fields, unless a game says otherwise."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @property
    def row_bytes(self) -> int:
        """The bits 8 * col for every column, where the bit of each cell is 8 * col + rows - 1 - row; else 0.

        The cells of a row are then a byte apart and can be written at once.
        """
        cells = [(row, col) for row in range(self.rows) for col in range(self.cols)]
        if self.rows > 7 or any(self.cell(row, col) != 1 << 8 * col + self.rows - 1 - row for row, col in cells):
            return 0
        return sum(1 << 8 * col for col in range(self.cols))

    def start(self) -> tuple[int, int]:
        """The position `(own, opp)` a game begins with."""
        return 0, 0

    @abstractmethod
    def cell(self, row: int, col: int) -> int:
        """The bit of the cell in `row` (from the top) and `col` (from the left)."""

    @abstractmethod
    def choice(self, action: int) -> int:
        """The bit that stands for `action` in the set `legal` returns."""

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
        """The position after `action`, as the next player sees it; the same position if it is illegal.

        Here as everywhere `action` must be in [0, num_actions): callers that take it from outside check that. Whether
        the owner of `own` is to move does not matter.
        """

    @abstractmethod
    def play_choice(self, own: int, opp: int, choice: int) -> tuple[int, int]:
        """The position after the action whose `choice` bit this is; it must be legal.

        Cheaper than `play` where the legal actions are at hand as a set.
        """

    @abstractmethod
    def undo(self, own: int, opp: int, action: int) -> tuple[int, int]:
        """The position before `action`, if that can have been the last move; else the same position."""

    def seat(self, own: int, opp: int) -> int:
        """0 if the first player is to move, 1 if the second: the parity of the number of stones."""
        return (own | opp).bit_count() & 1

    @abstractmethod
    def result(self, own: int, opp: int) -> int:
        """`LOST`, `DRAWN` or `WON` for the player to move where the game is over, `UNFINISHED` elsewhere."""

    @abstractmethod
    def has_won(self, stones: int, seat: int) -> bool:
        """Whether `stones` win for player `seat` (0 the first, 1 the second), whose they are."""

    @abstractmethod
    def winning_cells(self, stones: int, seat: int) -> int:
        """The stones that make the win of player `seat`, all lines of them, say; 0 where there is none."""

    @abstractmethod
    def threats(self, stones: int, seat: int) -> int:
        """The cells, empty or not, with which `stones` win for player `seat`; they change only with the stones."""

    @abstractmethod
    def choices_into(self, own: int, opp: int, cells: int) -> int:
        """The choices that fill one of the `cells` at once."""

    def winning_choices(self, own: int, opp: int, seat: int) -> int:
        """The choices that win at once for player `seat`, who owns `own` and need not be to move; the game is on."""
        return self.choices_into(own, opp, self.threats(own, seat))

    def is_dead(self, own: int, opp: int) -> bool:
        """Whether neither side can win any more, so that only a draw is left; False also where that is not known."""
        return False

    @abstractmethod
    def status(self, own: int, opp: int) -> Status:
        """Whether a game can reach this position, and if not, why. The one method that is never compiled."""

    def image(self, row: int, col: int, symmetry: int) -> tuple[int, int]:
        """Where symmetry number `symmetry` takes the cell (row, col)."""
        return row, col


class PlacementGame(Game):
    """An action is a cell, row by row from the top left, and its stone fills bit number `action`.

    A game needs only `rows` and `cols` (fields or properties) and `winning_cells`. `threats` tries every cell unless a
    game knows a faster way, and search is as fast as `has_won` and `threats` are. The board of 3 x 4:

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
        """As many as cells."""
        return self.rows * self.cols

    @property
    def num_symmetries(self) -> int:
        """Only the identity, unless a game says otherwise; it then has its own `image`."""
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
        found = 0
        for action in range(self.num_actions):
            if self.has_won(stones | 1 << action, seat):
                found |= 1 << action
        return found

    def choices_into(self, own: int, opp: int, cells: int) -> int:
        return cells & self.legal(own, opp)

    def status(self, own: int, opp: int) -> Status:
        if own < 0 or opp < 0 or (own | opp) > self.full:
            return Status.OFF_BOARD
        if own & opp:
            return Status.OVERLAP
        seat = self.seat(own, opp)
        first, second = (opp, own) if seat else (own, opp)
        if first.bit_count() - second.bit_count() != seat:
            return Status.STONE_COUNTS
        if self.has_won(own, seat):
            return Status.TWO_WINNERS if self.has_won(opp, 1 - seat) else Status.MOVED_AFTER_WIN
        if self.has_won(opp, 1 - seat):
            stones = [1 << action for action in range(self.num_actions) if opp >> action & 1]
            if all(self.has_won(opp ^ stone, 1 - seat) for stone in stones):
                return Status.NO_LAST_MOVE
        return Status.VALID
