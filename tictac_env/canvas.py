"""From sets of cells to bytes: the planes of one board, kept up to date ply by ply, or those of many boards at once.

So too from sets of legal actions to masks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.games import UNFINISHED, Game

Array = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]


class Cells:
    """Writes sets of cells as bytes, one a cell, row by row from the top left.

    Where a column's stride is 8 bits (boards of at most 7 x 7), one multiplication does it. It lays a copy of the
    board beside the next for every row, each one bit further to the right, so that in copy r the cells of row r stand
    at the beginning of a byte. Two rows and three columns, most significant bit first:

        stones                         ......fc ......eb ......da     a b c above d e f
        copy 1, copy 0     .....fc. .....eb. .....da. ......fc ......eb ......da    (spread)
        >> 1                            .......c .......b .......a  in copy 0: the top row
                           ......fc ......eb ......da               in copy 1, read modulo 2: the next
    """

    def __init__(self, game: Game) -> None:
        rows, cols = game.rows, game.cols
        self.game = game
        self._shape = (2, rows, cols)
        self._top = rows - 1
        self._size = rows * cols
        self._index = np.array(
            [[game.cell(row, col).bit_length() - 1 for col in range(cols)] for row in range(rows)], np.intp
        )
        self._spread = sum(1 << row * (8 * cols + 1) for row in range(rows)) if game.row_bytes else 0
        self._ones = sum(1 << 8 * cell for cell in range(self._size))

    def to_bytes(self, stones: int) -> bytes:
        """A set of cells as rows * cols bytes of 0 and 1."""
        if self._spread:
            return (stones * self._spread >> self._top & self._ones).to_bytes(self._size, "little")
        bits = np.unpackbits(np.frombuffer(stones.to_bytes(8, "little"), np.uint8), bitorder="little")
        return bits[self._index].tobytes()

    def many(self, own: Ints, opp: Ints) -> Array:
        """The planes of B positions, of stones int64 (B,) each: int8 (B, 2, rows, cols), fresh."""
        stones = np.stack([own, opp], axis=1)
        return (stones[:, :, None, None] >> self._index & 1).astype(np.int8)

    def planes(self, own: int, opp: int, seat: int) -> Array:
        """int8 (2, rows, cols) of 0 and 1, fresh: the stones `own` of `seat`, then those of the other seat."""
        return np.ndarray(self._shape, np.int8, bytearray(self.to_bytes(own) + self.to_bytes(opp)))


class Canvas(Cells):
    """Writes the planes of one board, kept up to date a stone at a time, for an environment that shows every ply.

    It remembers what it showed last; whatever it is asked for next is right, and cheap if at most one stone of each
    side has come or gone since. One is not to be shared between threads.
    """

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        cells = [game.cell(row, col) for row in range(game.rows) for col in range(game.cols)]
        # Where a cell stands in the bytes, for either seat.
        self._places = tuple({bit: begin + i for i, bit in enumerate(cells)} for begin in (0, self._size))
        self._stones = [0, 0]
        self._bytes = bytearray(2 * game.cells)
        planes: Array = np.ndarray(self._shape, np.int8, self._bytes)
        self._views = planes, planes[::-1]  # as either seat sees them

    def planes(self, own: int, opp: int, seat: int) -> Array:
        shown = self._stones
        if own != shown[seat]:
            self._draw(seat, own)
        if opp != shown[1 - seat]:
            self._draw(1 - seat, opp)
        return self._views[seat].copy()

    def _draw(self, seat: int, stones: int) -> None:
        place = self._places[seat].get(stones ^ self._stones[seat])
        self._stones[seat] = stones
        if place is None:
            begin = seat * self._size
            self._bytes[begin : begin + self._size] = self.to_bytes(stones)
        else:
            self._bytes[place] ^= 1

    def __reduce__(self) -> tuple[type[Canvas], tuple[Game]]:
        return type(self), (self.game,)


@functools.lru_cache(maxsize=64)
def cells_of(game: Game) -> Cells:
    """The `Cells` of a game, made once and shared."""
    return Cells(game)


def legal_sets(game: Game, own: Ints, opp: Ints) -> Ints:
    """The sets of legal actions of B unfinished positions, as `Game.legal` gives them: int64 (B,)."""
    return _by_arrays(game.legal, own, opp)


def played(game: Game, own: Ints, opp: Ints, choices: Ints) -> tuple[Ints, Ints]:
    """`own` and `opp`, int64 (B,) each, after an action in each of B positions, as `Game.play_choice` gives them.

    Args:
        game: the rule book.
        own: int64 (B,).
        opp: int64 (B,).
        choices: int64 (B,), the `choice` bits of the actions, which must be legal.
    """
    after = _by_arrays(game.play_choice, own, opp, choices)
    return after[..., 0], after[..., 1]


def _by_arrays(rule: Callable[..., Any], *arguments: Ints) -> Ints:
    """What `rule` gives for each of B rows of arguments: int64, (B,) or (B, n)."""
    views = [argument.view() for argument in arguments]
    for view in views:
        view.flags.writeable = False
    try:
        found = rule(*views)  # mostly plain arithmetic, which arrays can do too
        if isinstance(found, tuple):
            found = np.stack(found, axis=-1)
    except (ArithmeticError, AttributeError, TypeError, ValueError):  # it branches, say
        found = [rule(*row) for row in zip(*(argument.tolist() for argument in arguments), strict=True)]
    return np.asarray(found, np.int64)


def action_masks(game: Game, legal: Ints) -> Array:
    """The action masks of B sets of legal actions: int8 (B, num_actions), 1 where legal."""
    choices = np.array([game.choice(action) for action in range(game.num_actions)], np.int64)
    masks: Array = ((legal[:, None] & choices) != 0).astype(np.int8)
    return masks


def finished(game: Game, own: Ints, opp: Ints) -> npt.NDArray[np.bool_]:
    """Whether the game is over in each of B positions: bool (B,)."""
    stones = zip(own.tolist(), opp.tolist(), strict=True)
    return np.array([game.result(*both) != UNFINISHED for both in stones], np.bool_)
