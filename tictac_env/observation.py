"""From a position to what a learner sees: planes, a board or a code, and the mask of legal actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from tictac_env.games import Game, did_you_mean
from tictac_env.position import Position

OBS_TYPES = ("planes", "board", "code")

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
        self._top = rows - 1
        self._size = rows * cols
        self._num_actions = game.num_actions
        self._index = np.array(
            [[game.cell(row, col).bit_length() - 1 for col in range(cols)] for row in range(rows)], np.intp
        )
        by_byte = all(self._index[row, col] == 8 * col + rows - 1 - row for row, col in np.ndindex(rows, cols))
        self._spread = sum(1 << row * (8 * cols + 1) for row in range(rows)) if by_byte else 0
        self._ones = sum(1 << 8 * cell for cell in range(self._size))
        self._masks: dict[int, Array] = {}

    def planes(self, own: int, opp: int) -> Array:
        """Two sets as int8 (2, rows, cols) of 0 and 1, fresh and writable."""
        shape = (2, *self._index.shape)
        if not self._spread:
            return self._gather(own, opp)[:, self._index]
        top, ones = self._top, self._ones
        both = (own * self._spread >> top & ones) | (opp * self._spread >> top & ones) << 8 * self._size
        return np.ndarray(shape, np.int8, bytearray(both.to_bytes(2 * self._size, "little")))

    def mask(self, legal: int) -> Array:
        """The set `Game.legal` returns as int8 (num_actions,), fresh and writable."""
        mask = self._masks.get(legal)
        if mask is None:
            mask = self.planes(legal, 0).reshape(-1)[: self._num_actions].copy()
            if len(self._masks) < 1024:
                self._masks[legal] = mask
        return mask.copy()

    @staticmethod
    def _gather(*sets: int) -> Array:
        """The bits of each set, as int8 (sets, 64)."""
        return np.unpackbits(np.array(sets, "<i8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little").view(
            np.int8
        )


class Observer:
    """Makes the observations of one type.

    Attributes:
        space: the observation space.
        observe: a function of the learner's stones, the other side's stones and the learner's seat, returning the
            observation.

    Raises:
        ValueError: there is no such type, or codes of this game do not fit an int64.
    """

    space: spaces.Space[Any]
    observe: Callable[[int, int, int], Any]

    def __init__(self, game: Game, obs_type: str = "planes") -> None:
        self._cells = Cells(game)
        if obs_type == "planes":
            self.space = spaces.Box(0, 1, (2, game.rows, game.cols), np.int8)
            self.observe = self._planes
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

    def mask(self, legal: int) -> Array:
        """The action mask of a set of legal actions: int8 (num_actions,), 1 where legal."""
        return self._cells.mask(legal)

    def _planes(self, own: int, opp: int, seat: int) -> Array:
        return self._cells.planes(own, opp)

    def _board(self, own: int, opp: int, seat: int) -> Array:
        mine, theirs = self._cells.planes(own, opp)
        board: Array = mine - theirs
        return board

    def _code(self, own: int, opp: int, seat: int) -> int:
        mine, theirs = self._cells.planes(own, opp).reshape(2, -1) @ self._weights
        return int(mine * (1 + seat) + theirs * (2 - seat))


def read_observation(game: Game, observation: Any) -> tuple[int, int]:
    """The bits (own, opp) an observation of any type shows, flattened or not: the inverse of `Observer.observe`.

    Raises:
        ValueError: it has neither the size of planes nor of a board, nor is it the code of a position.
    """
    cells = np.asarray(observation)
    if cells.ndim == 0:
        position = Position.from_code(game, int(observation))
        return position.own, position.opp
    if cells.size == 2 * game.cells:
        own, opp = cells.reshape(2, -1)
    elif cells.size == game.cells:
        own, opp = cells.reshape(-1) == 1, cells.reshape(-1) == -1
    else:
        raise ValueError(f"an observation of shape {cells.shape} is none of {game!r}")
    return _bits(game, own), _bits(game, opp)


def _bits(game: Game, cells: npt.NDArray[Any]) -> int:
    return sum(game.cell(*divmod(int(cell), game.cols)) for cell in np.flatnonzero(cells))
