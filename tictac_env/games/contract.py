"""What a game must offer to be played, rendered, searched and solved here."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from tictac_env.games.status import Status

#: What `Game.result` returns while the game goes on; the other results are the value for the player to move.
UNFINISHED = 2
LOST = -1
DRAWN = 0


@runtime_checkable
class Game(Protocol):
    """The rules of a two-player game on a board of at most 63 bits.

    A position is two non-negative integers below 2**63: `own`, the stones of the player to move, and `opp`, the other
    player's. A game is a frozen dataclass of sizes and masks, its methods are the rules: pure integer arithmetic on
    `own`, `opp` and the fields, with every intermediate result non-negative and below 2**63 (so `x ^ full`, never
    `~x`). Python then computes the same values as Numba does in int64, and both run the same source.

    Fields every game has:
        rows, cols: the size of the board.
        cells: rows * cols, which is also the largest number of plies a game can last.
        num_actions: actions are 0 to num_actions - 1.
        num_symmetries: how many symmetries the board has, the identity (number 0) among them.
        row_bytes: the bits 8 * col for every column, where the bit of each cell is 8 * col + rows - 1 - row, so that
            the cells of a row are a byte apart and can be written at once; 0 where they lie otherwise.
    """

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
    def row_bytes(self) -> int: ...

    def __hash__(self) -> int: ...

    def start(self) -> tuple[int, int]:
        """The position `(own, opp)` a game begins with."""

    def cell(self, row: int, col: int) -> int:
        """The bit of the cell in `row` (from the top) and `col` (from the left)."""

    def choice(self, action: int) -> int:
        """The bit that stands for `action` in the set `legal` returns."""

    def legal(self, own: int, opp: int) -> int:
        """The set of legal actions of an unfinished position, as the union of their `choice` bits.

        The choice bits, in ascending order of the actions, are the first `num_actions` cells row by row from the top
        left. So an action mask is the beginning of the plane of this set.
        """

    def nth(self, legal: int, index: int) -> int:
        """The action that has `index` smaller ones in the set `legal`; -1 if there is none."""

    def play(self, own: int, opp: int, action: int) -> tuple[int, int]:
        """The position after `action`, as the next player sees it; the same position if it is illegal.

        Here as everywhere `action` must be in [0, num_actions): who takes it from outside checks that.
        """

    def play_choice(self, own: int, opp: int, choice: int) -> tuple[int, int]:
        """The position after the action whose `choice` bit this is; it must be legal.

        Cheaper than `play` where the legal actions are at hand as a set.
        """

    def winning_choices(self, own: int, opp: int) -> int:
        """The choices that win at once for the owner of `own`, were it his turn; the game is not over.

        The same as `choices_into(own, opp, threats(own))`.
        """

    def threats(self, stones: int) -> int:
        """The cells, empty or not, that would win for the owner of `stones`; they change only with the stones."""

    def choices_into(self, own: int, opp: int, cells: int) -> int:
        """The choices that fill one of the `cells` at once."""

    def undo(self, own: int, opp: int, action: int) -> tuple[int, int]:
        """The position before `action`, if that can have been the last move; else the same position."""

    def result(self, own: int, opp: int) -> int:
        """`LOST`, `DRAWN` or 1 (won) for the player to move where the game is over, `UNFINISHED` elsewhere."""

    def is_dead(self, own: int, opp: int) -> bool:
        """Whether neither side can win any more, so that only a draw is left."""

    def seat(self, own: int, opp: int) -> int:
        """0 if the first player is to move, 1 if the second."""

    def winning_cells(self, stones: int) -> int:
        """The union of all winning lines within `stones`; 0 if there is none."""

    def status(self, own: int, opp: int) -> Status:
        """Whether a game can reach this position, and if not, why. The one method that is never compiled."""

    def image(self, row: int, col: int, symmetry: int) -> tuple[int, int]:
        """Where symmetry number `symmetry` takes the cell (row, col)."""
