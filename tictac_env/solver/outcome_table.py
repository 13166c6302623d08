"""Tables of won, drawn and lost: two bits for each early position of a game with gravity, found by its rank."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from math import comb
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tictac_env.checks import Ints, whole
from tictac_env.games import Game, KInARow, game_name
from tictac_env.storage import reading, save_arrays

KIND = "outcome table"
FOLDER = Path(__file__).parent / "data"
UNKNOWN = -2
"""Stands for an outcome that is not in the table; the others are 1, 0 and -1. In the file they are higher by 2."""
PER_BYTE = 4
MAX_PLY = 16
Bytes = npt.NDArray[np.uint8]


class OutcomeTable:
    """The outcomes of early positions of a game: for each ply an array with two bits a position.

    A position's place in the array is its rank among all arrangements of so many stones, whether a game can reach them
    or not. So no keys are stored, and no position can be taken for another:

        rank = arrangements with columns of lesser heights + rank of the colours among C(n, n // 2)

        . . . . . . .
        . . . o . . .      heights 0 0 1 3 0 0 0, the columns read from the left
        . . . x . . .      colours x x o o (the stones column by column, upwards), as a number 0b0011
        . . x o . . .

    Of a position and its mirror image the lower rank is taken. Left to the search are positions in which the side to
    move wins at once, those that no game leads to, and those not solved yet.

    Args:
        game: the rule book, with gravity.
        layers: for each ply in the table the packed outcomes, uint8 (N,), as `layers` of another table has them.

    Attributes:
        layers: for each ply in the table the packed outcomes: uint8 (a quarter of the number of ranks,).

    Raises:
        ValueError: the game has no gravity or other rules, or an array has another type or shape.
    """

    def __init__(self, game: KInARow, layers: Mapping[int, Bytes] | None = None) -> None:
        if type(game) is not KInARow or not game.gravity:
            raise ValueError(f"an outcome table is of a game of k in a row with gravity, not of {game!r}")
        self.game = game
        self.layers = dict(layers or {})
        for ply, packed in self.layers.items():
            if packed.dtype != np.uint8 or packed.shape != (self._size(ply),):
                raise ValueError(f"ply {ply} needs uint8 ({self._size(ply)},), not {packed.dtype} {packed.shape}")

    def ranks(self, own: Ints, opp: Ints, ply: int) -> Ints:
        """The rank of each of B positions of `ply`, which its mirror image shares: int64 (B,)."""
        before, colours = ranking(self.game, ply)
        column, stride = self.game.column, self.game.stride
        counts = bit_counts(column + 1)
        found = []
        for order in (range(self.game.cols), reversed(range(self.game.cols))):
            rank, filled, pattern = (np.zeros(len(own), np.int64) for _ in range(3))
            for place, col in enumerate(order):
                stones = (own | opp) >> col * stride & column
                height = counts[stones]
                rank += before[place, filled, height]
                pattern |= (own >> col * stride & column) << filled
                filled += height
            found.append(rank + colours[pattern])
        least: Ints = np.minimum(*found)
        return least

    def outcomes(self, own: Ints, opp: Ints, ply: int) -> npt.NDArray[np.int8]:
        """The outcome of each of B positions of `ply`, for the side to move: int8 (B,), or `UNKNOWN`."""
        if ply not in self.layers:
            return np.full(len(own), UNKNOWN, np.int8)
        place, part = np.divmod(self.ranks(own, opp, ply), PER_BYTE)
        return (self.layers[ply][place] >> (2 * part).astype(np.uint8) & 3).astype(np.int8) + np.int8(UNKNOWN)

    def bounds(self, own: Ints, opp: Ints) -> tuple[Ints, Ints]:
        """The lower and the upper bounds of B unfinished positions' outcomes, for the side to move: int64 (B,) each.

        A ply beyond the table the lower bound comes from the positions a move earlier: each is worth to its side to
        move at least what this one is worth to the other. In four of ten positions of Connect Four it is a win.
        """
        low, high = np.full(len(own), -1, np.int64), np.ones(len(own), np.int64)
        counts, column = bit_counts(self.game.column + 1), self.game.column
        plies = sum(counts[(own | opp) >> col * self.game.stride & column] for col in range(self.game.cols))
        for ply in set(np.unique(plies).tolist()):
            rows = np.flatnonzero(plies == ply)
            if ply in self.layers:
                found = self.outcomes(own[rows], opp[rows], ply)
                known = found != UNKNOWN
                low[rows[known]] = high[rows[known]] = found[known]
                rows = rows[~known]
            if ply - 1 in self.layers and len(rows):
                low[rows] = np.maximum(low[rows], -self._best_before(own[rows], opp[rows], ply))
        return low, high

    def _best_before(self, own: Ints, opp: Ints, ply: int) -> Ints:
        """The least outcome of the positions a move before each, as the side to move there: 1 if none is known."""
        least = np.ones(len(own), np.int64)
        for col in range(self.game.cols):
            column = self.game.column << col * self.game.stride
            stones = (own | opp) & column
            stone = opp & (stones ^ stones >> 1)  # the top one, if the side that moved last owns it
            rows = np.flatnonzero(stone)
            found = self.outcomes(opp[rows] ^ stone[rows], own[rows], ply - 1).astype(np.int64)
            least[rows] = np.minimum(least[rows], np.where(found == UNKNOWN, 1, found))
        return least

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the table, whole or not at all; the archive holds a checksum of each array."""
        meta = {"game": self.game.arguments, "plies": sorted(self.layers)}
        save_arrays(path, KIND, meta, {f"ply{ply}": packed for ply, packed in self.layers.items()})

    @classmethod
    def load(cls, path: str | os.PathLike[str], game: KInARow) -> OutcomeTable:
        """Reads a table and checks it.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged, or no table of this game; the message names it.
        """
        with reading(path, KIND, f"outcome table of {game!r}") as (meta, arrays):
            if meta["game"] != game.arguments:
                raise ValueError(f"it is of {meta['game']}")
            return cls(game, {whole("ply", ply, MAX_PLY): arrays[f"ply{ply}"] for ply in meta["plies"]})

    def _size(self, ply: int) -> int:
        return -(-int(ranks_of(self.game, ply)) // PER_BYTE)


def pack(outcomes: npt.NDArray[np.int8]) -> Bytes:
    """A layer of a table from the outcome of each rank, int8 (N,), `UNKNOWN` if it is not known."""
    codes = np.zeros(-(-len(outcomes) // PER_BYTE) * PER_BYTE, np.uint8)
    codes[: len(outcomes)] = outcomes - UNKNOWN
    packed: Bytes = np.bitwise_or.reduce(codes.reshape(-1, PER_BYTE) << np.arange(0, 8, 2, dtype=np.uint8), axis=1)
    return packed


def unpack(packed: Bytes) -> npt.NDArray[np.int8]:
    """The outcome of each rank of a layer, `UNKNOWN` if it is not known: what `pack` was given, int8 (N,)."""
    codes = packed[:, None] >> np.arange(0, 8, 2, dtype=np.uint8) & 3
    return codes.reshape(-1).astype(np.int8) + np.int8(UNKNOWN)


def ranks_of(game: KInARow, ply: int) -> int:
    """The number of ranks of the arrangements of `ply` stones on a board with gravity."""
    return int(_arrangements(game, ply)[game.cols, ply]) * comb(ply, ply // 2)


@functools.lru_cache(maxsize=64)
def ranking(game: KInARow, ply: int) -> tuple[Ints, Ints]:
    """What a rank is added up from.

    Returns:
        int64 (cols, ply + 1, rows + 1): for the column at a place, the number of stones in those before, and its
        height, how many ranks belong to lesser heights there; int64 (2**ply,): the rank of each pattern of colours.
    """
    ways = _arrangements(game, ply)
    of_colours = comb(ply, ply // 2)
    before = np.zeros((game.cols, ply + 1, game.rows + 1), np.int64)
    for place in range(game.cols):
        for filled in range(ply + 1):
            for height in range(1, min(game.rows, ply - filled) + 1):
                with_less = ways[game.cols - 1 - place, ply - filled - height + 1]
                before[place, filled, height] = before[place, filled, height - 1] + with_less * of_colours
    return before, np.cumsum(bit_counts(1 << ply) == ply // 2) - 1


@functools.lru_cache(maxsize=64)
def bit_counts(size: int) -> Ints:
    """The number of one bits in each number below `size`: int64 (size,)."""
    return np.array([number.bit_count() for number in range(size)], np.int64)


def _arrangements(game: KInARow, ply: int) -> Ints:
    """The number of ways to stack 0 to `ply` stones in 0 to all columns: int64 (cols + 1, ply + 1)."""
    ways = np.zeros((game.cols + 1, ply + 1), np.int64)
    ways[0, 0] = 1
    for columns in range(1, game.cols + 1):
        for height in range(min(game.rows, ply) + 1):
            ways[columns, height:] += ways[columns - 1, : ply + 1 - height]
    return ways


@functools.lru_cache(maxsize=4)
def outcome_table_of(game: Game) -> OutcomeTable | None:
    """The table the package has for a game, None if it has none.

    Raises:
        ValueError: the table is damaged.
    """
    name = game_name(game)
    if type(game) is not KInARow or name is None or not (path := FOLDER / f"{name}-outcomes.npz").is_file():
        return None
    return OutcomeTable.load(path, game)
