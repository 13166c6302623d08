"""Tables of outcomes (won, drawn, lost): two bits for each early position of a game with gravity, found by its rank."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from math import comb
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tictac_env.arrays import Bytes, Ints
from tictac_env.checks import whole
from tictac_env.compiled import kernel, machine_code
from tictac_env.games import Game, KInARow, game_name
from tictac_env.storage import reading, save_arrays

KIND = "outcome table"
FOLDER = Path(__file__).parent / "data"
UNKNOWN = -2
"""Stands for an outcome that is not in the table; the others are 1, 0 and -1. The file stores outcome + 2."""
PER_BYTE = 4
MAX_PLY = 16
NOT_THERE = -1
"""Marks a ply that is not in the table."""
Packed = npt.NDArray[np.uint8]


@kernel
def rank_of(game: KInARow, own: int, opp: int, ply: int, before: Ints, choose: Ints) -> int:
    """The rank of a position among all arrangements of `ply` stones, which its mirror image shares.

        . . . . . . .
        . . . o . . .      heights 0 0 1 3 0 0 0, the columns read from the left
        . . . x . . .      colours x x o o, the stones column by column, upwards
        . . x o . . .

    The rank is the number of arrangements that are lower in the first column that differs, plus the rank of the colours
    among combinations ("combinatorial number system", Knuth, The Art of Computer Programming 4A, 7.2.1.3). Of a
    position and its mirror image, the lower rank is taken.
    """
    # `filled` counts the stones so far, `minors` those of the side to move; `below` are the stones of the columns
    # before. choose[n, k] is the number of ways to choose k of n; before[ply, column, stones before, height] the number
    # of ranks with a lower height in this column.
    best = -1
    for mirrored in range(2):
        rank = 0
        filled = 0
        minors = 0
        for place in range(game.cols):
            col = game.cols - 1 - place if mirrored else place
            stones = (own | opp) >> col * game.stride & game.column
            mine = own >> col * game.stride & game.column
            below = filled
            # Upwards through the column: each own stone adds its term to the rank of the combination.
            while stones:
                if mine & 1:
                    minors += 1
                    rank += choose[filled, minors]
                stones >>= 1
                mine >>= 1
                filled += 1
            rank += before[ply, place, below, filled - below]
        if best < 0 or rank < best:
            best = rank
    return best


@kernel
def write_ranks(game: KInARow, own: Ints, opp: Ints, ply: int, before: Ints, choose: Ints, ranks: Ints) -> None:
    """Writes the rank of each of B positions into `ranks`, int64 (B,)."""
    for i in range(len(own)):
        ranks[i] = rank_of(game, own[i], opp[i], ply, before, choose)


@kernel
def outcome_of(
    game: KInARow, own: int, opp: int, ply: int, packed: Packed, places: Ints, before: Ints, choose: Ints
) -> int:
    """The outcome of a position of `ply`, `UNKNOWN` if it is not in the table."""
    if ply < 0 or ply >= len(places) or places[ply] == NOT_THERE:
        return UNKNOWN
    # Four outcomes a byte, two bits each, the first one lowest; stored as 0 to 3.
    rank = rank_of(game, own, opp, ply, before, choose)
    return (int(packed[places[ply] + rank // PER_BYTE]) >> rank % PER_BYTE * 2 & 3) + UNKNOWN


@kernel
def bounds_of(
    game: KInARow, own: int, opp: int, packed: Packed, places: Ints, before: Ints, choose: Ints
) -> tuple[int, int]:
    """The lower and the upper bound of a position's outcome."""
    ply = (own | opp).bit_count()
    low = -1
    if ply <= len(places):
        outcome = outcome_of(game, own, opp, ply, packed, places, before, choose)
        if outcome != UNKNOWN:
            return outcome, outcome
        # One ply beyond the table: undo each last stone of the other side. It could have moved here, so its outcome
        # there is at least the negation of ours: a loss there is a win here.
        if ply and places[ply - 1] != NOT_THERE:
            for action in range(game.num_actions):
                earlier = game.undo(own, opp, action)
                if earlier[0] != own:
                    outcome = outcome_of(game, earlier[0], earlier[1], ply - 1, packed, places, before, choose)
                    if outcome != UNKNOWN:
                        low = max(low, -outcome)
    return low, 1


@kernel
def write_bounds(
    game: KInARow, own: Ints, opp: Ints, packed: Packed, places: Ints, before: Ints, choose: Ints, bounds: Ints
) -> None:
    """Writes the lower and the upper bound of the outcome of each of B positions into `bounds`, int64 (B, 2)."""
    for i in range(len(own)):
        bounds[i, 0], bounds[i, 1] = bounds_of(game, own[i], opp[i], packed, places, before, choose)


class OutcomeTable:
    """The outcomes of early positions of a game: for each ply an array with two bits per position.

    A position's index in the array is its rank among all arrangements of its number of stones, reachable or not
    (`rank_of`). So no keys are stored, and no position can be mistaken for another. The table leaves to the search
    positions in which the side to move wins at once, unreachable positions, and positions not solved yet.

    Args:
        game: the rules, with gravity.
        layers: for each ply in the table the packed outcomes (`pack`): uint8 (N,).

    Attributes:
        layers: as the argument.

    Raises:
        ValueError: the game has no gravity or other rules, or an array has another type or shape.
    """

    def __init__(self, game: KInARow, layers: Mapping[int, Packed] | None = None) -> None:
        if type(game) is not KInARow or not game.gravity:
            raise ValueError(f"an outcome table is of a game of k in a row with gravity, not of {game!r}")
        self.game = game
        self.layers: dict[int, Packed] = {}
        self.add(layers or {})

    def add(self, layers: Mapping[int, Packed]) -> None:
        """Puts packed outcomes into the table, replacing those of the same plies.

        Raises:
            ValueError: an array has another type or shape.
        """
        for ply, packed in layers.items():
            size = -(-ranks_of(self.game, whole("ply", ply, MAX_PLY)) // PER_BYTE)
            if packed.dtype != np.uint8 or packed.shape != (size,):
                raise ValueError(f"ply {ply} needs uint8 ({size},), not {packed.dtype} {packed.shape}")
        self.layers |= layers
        self._places = np.full(max(self.layers, default=-1) + 1, NOT_THERE, np.int64)
        size = 0
        for ply, packed in self.layers.items():
            self._places[ply] = size
            size += len(packed)
        self._packed = np.concatenate([np.empty(0, np.uint8), *self.layers.values()])
        self._look_up: Callable[..., tuple[int, int]] | None = None

    def ranks(self, own: Ints, opp: Ints, ply: int) -> Ints:
        """The rank of each of B positions of `ply`, which its mirror image shares: int64 (B,)."""
        ranks = np.empty(len(own), np.int64)
        write_ranks(self.game, own, opp, ply, *ranking(self.game), ranks)
        return ranks

    def outcomes(self, own: Ints, opp: Ints, ply: int) -> Bytes:
        """The outcome of each of B positions of `ply`, for the side to move: int8 (B,), or `UNKNOWN`."""
        if ply not in self.layers:
            return np.full(len(own), UNKNOWN, np.int8)
        return unpack(self.layers[ply])[self.ranks(own, opp, ply)]

    def bounds(self, own: Ints, opp: Ints) -> Ints:
        """Bounds of the outcome of each of B unfinished positions, for the side to move, lower and upper: int64 (B, 2).

        One ply beyond the table, the lower bound comes from the positions a move earlier: the outcome of each is at
        least the negated outcome of this one. For four of ten positions of Connect Four the bound is a win.
        """
        bounds = np.empty((len(own), 2), np.int64)
        write_bounds(self.game, own, opp, self._packed, self._places, *ranking(self.game), bounds)
        return bounds

    def bounds_of(self, own: int, opp: int) -> tuple[int, int]:
        """The `bounds` of one position."""
        arguments = self.game, own, opp, self._packed, self._places, *ranking(self.game)
        if self._look_up is None:
            self._look_up = machine_code(bounds_of, *arguments)
        return self._look_up(*arguments)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the table atomically; the archive holds a checksum of each array."""
        meta = {"game": self.game.arguments, "plies": sorted(self.layers)}
        save_arrays(path, KIND, meta, {f"ply{ply}": packed for ply, packed in self.layers.items()})

    @classmethod
    def load(cls, path: str | os.PathLike[str], game: KInARow) -> OutcomeTable:
        """Reads a table and checks it.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is damaged or not a table of this game; the message names it.
        """
        with reading(path, KIND, f"outcome table of {game!r}") as (meta, arrays):
            if meta["game"] != game.arguments:
                raise ValueError(f"it is of {meta['game']}")
            return cls(game, {whole("ply", ply, MAX_PLY): arrays[f"ply{ply}"] for ply in meta["plies"]})


def pack(outcomes: Bytes) -> Packed:
    """Packs the outcome of each rank, int8 (N,) with `UNKNOWN` for those that are missing, into a layer of a table."""
    codes = np.zeros(-(-len(outcomes) // PER_BYTE) * PER_BYTE, np.uint8)
    codes[: len(outcomes)] = outcomes - UNKNOWN
    packed: Packed = np.bitwise_or.reduce(codes.reshape(-1, PER_BYTE) << np.arange(0, 8, 2, dtype=np.uint8), axis=1)
    return packed


def unpack(packed: Packed) -> Bytes:
    """The outcome of each rank of a layer, `UNKNOWN` if it is not known: the argument of `pack`, int8 (N,)."""
    codes = packed[:, None] >> np.arange(0, 8, 2, dtype=np.uint8) & 3
    return codes.reshape(-1).astype(np.int8) + np.int8(UNKNOWN)


def ranks_of(game: KInARow, ply: int) -> int:
    """The number of ranks of the arrangements of `ply` stones on a board with gravity."""
    return int(_arrangements(game)[game.cols, ply]) * comb(ply, ply // 2)


@functools.lru_cache(maxsize=8)
def ranking(game: KInARow) -> tuple[Ints, Ints]:
    """The tables from which a rank is added up.

    Returns:
        int64 (MAX_PLY + 1, cols, MAX_PLY + 1, rows + 1): for a ply, a column's place, the number of stones in the
        columns before it, and its height, the number of ranks for smaller heights there; int64 (MAX_PLY + 1,
        MAX_PLY + 1): binomial coefficients.
    """
    ways = _arrangements(game)
    before = np.zeros((MAX_PLY + 1, game.cols, MAX_PLY + 1, game.rows + 1), np.int64)
    for ply in range(MAX_PLY + 1):
        for place in range(game.cols):
            for filled in range(ply + 1):
                for height in range(1, min(game.rows, ply - filled) + 1):
                    with_one_less = ways[game.cols - 1 - place, ply - filled - height + 1] * comb(ply, ply // 2)
                    before[ply, place, filled, height] = before[ply, place, filled, height - 1] + with_one_less
    choose = np.array([[comb(n, k) for k in range(MAX_PLY + 1)] for n in range(MAX_PLY + 1)], np.int64)
    return before, choose


def _arrangements(game: KInARow) -> Ints:
    """The number of ways to stack stones in the first columns: int64 (cols + 1, MAX_PLY + 1)."""
    ways = np.zeros((game.cols + 1, MAX_PLY + 1), np.int64)
    ways[0, 0] = 1
    for columns in range(1, game.cols + 1):
        for height in range(min(game.rows, MAX_PLY) + 1):
            ways[columns, height:] += ways[columns - 1, : MAX_PLY + 1 - height]
    return ways


@functools.lru_cache(maxsize=4)
def outcome_table_of(game: Game) -> OutcomeTable | None:
    """The package's table for a game, None if it has none.

    Raises:
        ValueError: the table is damaged.
    """
    name = game_name(game)
    if type(game) is not KInARow or name is None or not (path := FOLDER / f"{name}-outcomes.npz").is_file():
        return None
    return OutcomeTable.load(path, game)
