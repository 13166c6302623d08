"""From a position to what a learner sees: planes, a board or a code, and the mask of legal actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from tictac_env.games import Game, did_you_mean
from tictac_env.position import Position

OBS_TYPES = ("planes", "board", "code")
MAX_MASKS = 1024
"""How many masks are remembered; a board with gravity has at most 2 ** cols."""

Array = npt.NDArray[np.int8]


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
        self._game = game
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

    def many(self, own: npt.NDArray[np.int64], opp: npt.NDArray[np.int64]) -> Array:
        """The planes of B positions: int8 (B, 2, rows, cols)."""
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
        self._number = {bit: number for number, bit in enumerate(cells)}
        self._stones = [0, 0]
        self._bytes = bytearray(2 * game.cells)
        self._planes: Array = np.ndarray(self._shape, np.int8, self._bytes)
        self._swapped = self._planes[::-1]

    def planes(self, own: int, opp: int, seat: int) -> Array:
        if own != self._stones[seat]:
            self._draw(seat, own)
        if opp != self._stones[1 - seat]:
            self._draw(1 - seat, opp)
        return self._swapped.copy() if seat else self._planes.copy()

    def _draw(self, seat: int, stones: int) -> None:
        change = stones ^ self._stones[seat]
        self._stones[seat] = stones
        begin = self._size if seat else 0
        number = self._number.get(change)
        if number is None:
            self._bytes[begin : begin + self._size] = self.to_bytes(stones)
        else:
            self._bytes[begin + number] ^= 1

    def __reduce__(self) -> tuple[type[Canvas], tuple[Game]]:
        return type(self), (self._game,)


class Observer:
    """Makes the observations of one type, and the action masks.

    Attributes:
        space: the observation space.
        observe: a function of the learner's stones, the other side's stones and the learner's seat, returning the
            observation.

    Args:
        game: the rule book.
        obs_type: "planes", "board" or "code".
        follow: whether it watches one board ply by ply, and so is not shared between threads: it is then faster.

    Raises:
        ValueError: there is no such type, or codes of this game do not fit an int64.
    """

    space: spaces.Space[Any]
    observe: Callable[[int, int, int], Any]

    def __init__(self, game: Game, obs_type: str = "planes", follow: bool = False) -> None:
        self._num_actions = game.num_actions
        self._cells = Canvas(game) if follow else Cells(game)
        self._masks: dict[int, Array] = {}
        if obs_type == "planes":
            self.space = spaces.Box(0, 1, (2, game.rows, game.cols), np.int8)
            self.observe = self._cells.planes
        elif obs_type == "board":
            self.space = spaces.Box(-1, 1, (game.rows, game.cols), np.int8)
            self.observe = self._board
        elif obs_type == "code":
            if 3**game.cells > np.iinfo(np.int64).max:
                raise ValueError(f'obs_type="code" needs at most 39 cells, and this board has {game.cells}')
            self.space = spaces.Discrete(3**game.cells)
            self.observe = self._code
            self._weights = 3 ** np.arange(game.cells, dtype=np.int64)
        else:
            raise ValueError(f"obs_type {obs_type!r} is unknown; {did_you_mean(str(obs_type), OBS_TYPES)}")

    def planes_of(self, own: npt.NDArray[np.int64], opp: npt.NDArray[np.int64]) -> Array:
        """The planes of B positions, of stones int64 (B,) each: int8 (B, 2, rows, cols), fresh."""
        return self._cells.many(own, opp)

    def mask(self, legal: int) -> Array:
        """The action mask of a set of legal actions: int8 (num_actions,), 1 where legal, fresh."""
        mask = self._masks.get(legal)
        if mask is None:
            mask = np.frombuffer(self._cells.to_bytes(legal)[: self._num_actions], np.int8)
            if len(self._masks) < MAX_MASKS:
                self._masks[legal] = mask
        return mask.copy()

    def _board(self, own: int, opp: int, seat: int) -> Array:
        mine, theirs = self._cells.planes(own, opp, seat)
        board: Array = mine - theirs
        return board

    def _code(self, own: int, opp: int, seat: int) -> int:
        mine, theirs = self._cells.planes(own, opp, seat).reshape(2, -1) @ self._weights
        return int(mine * (1 + seat) + theirs * (2 - seat))


def read_observation(game: Game, observation: Any) -> tuple[int, int]:
    """The bits (own, opp) an observation of any type shows, flattened or not: the inverse of `Observer.observe`.

    Raises:
        ValueError: it has neither the size of planes nor of a board, nor is it a code, or shows no possible position.
    """
    cells = np.asarray(observation)
    if cells.ndim == 0:
        position = Position.from_code(game, cast(int, cells[()]))
        return position.own, position.opp
    if cells.size == 2 * game.cells:
        own, opp = cells.reshape(2, -1)
        valid = ((own == 1) | (own == 0)) & ((opp == 1) | (opp == 0)) & ((own == 0) | (opp == 0))
    elif cells.size == game.cells:
        flat = cells.reshape(-1)
        own, opp = flat == 1, flat == -1
        valid = own | opp | (flat == 0)
    else:
        raise ValueError(f"an observation of shape {cells.shape} is none of {game!r}")
    bits = _bits(game, own), _bits(game, opp)
    wrong = game.status(*bits).explain(game, *bits) if valid.all() else "a cell holds neither one stone nor none"
    if wrong:
        raise ValueError(f"no position of {game!r}: {wrong}\n{cells}")
    return bits


def _bits(game: Game, cells: npt.NDArray[Any]) -> int:
    return sum(game.cell(*divmod(int(cell), game.cols)) for cell in np.flatnonzero(cells))
