"""Which cells the tuples of a network look at, and what a stone changes in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.games.k_in_a_row import KInARow

Ints = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]
Cells = tuple[int, ...]
"""The cells of a tuple, numbered row by row from the top left."""

BITS = 64
"""A board has fewer bits than this."""
TRIES = 100
"""How many walks are made at most for each tuple that is wanted."""


def random_walks(game: KInARow, count: int, length: int, seed: int) -> tuple[Cells, ...]:
    """Tuples of cells, each a random walk over neighbouring cells (Lucas 2008), the lowest cells first.

    No two hold the same cells or, up to a symmetry of the board, mirrored ones.

    Raises:
        ValueError: so many different ones were not found.
    """
    random = np.random.default_rng(seed)
    found: list[Cells] = []
    known: set[frozenset[int]] = set()
    for _ in range(TRIES * count):
        if len(found) == count:
            break
        here = int(random.integers(game.cells))
        cells = {here}
        while len(cells) < length:
            near = neighbours(game, here)
            here = near[int(random.integers(len(near)))]
            cells.add(here)
        # Stones come to lie on the lowest cells first. As the lowest digits of an address these keep what is often
        # used together.
        walk = tuple(sorted(cells, reverse=True))
        images = {frozenset(image) for image in images_of(game, walk)}
        if not known & images:
            found.append(walk)
            known |= images
    if len(found) < count:
        raise ValueError(
            f"{count} different tuples of {length} cells are asked for, and {len(found)} were found on {game!r}"
        )
    return tuple(found)


def neighbours(game: KInARow, cell: int) -> list[int]:
    """The cells next to a cell, also diagonally."""
    row, col = divmod(cell, game.cols)
    return [
        below * game.cols + right
        for below in range(max(row - 1, 0), min(row + 2, game.rows))
        for right in range(max(col - 1, 0), min(col + 2, game.cols))
        if (below, right) != (row, col)
    ]


def images_of(game: KInARow, cells: Cells) -> list[Cells]:
    """A tuple's images under the symmetries of the board, itself first, each in the order of its cells."""
    places = [divmod(cell, game.cols) for cell in cells]
    return [
        tuple(row * game.cols + col for row, col in (game.image(*place, symmetry) for place in places))
        for symmetry in range(game.num_symmetries)
    ]


class Layout(NamedTuple):
    """The P images of the tuples, and what a stone changes in them.

    The state of an image is a number of two bits a cell: 0 empty; 1 a stone of the first seat, 2 one of the second;
    with gravity 3 empty and playable next. Its address is that number below the number of its tuple:

        | tuple | cell n-1 | ... | cell 1 | cell 0 |
    """

    begins: Ints
    """(65,): for each bit of the board where its entries begin in `touched` and `changes`."""
    touched: UInt32s
    """(E,): an image that a stone on this cell changes."""
    changes: UInt32s
    """(2, E): what a stone of the first seat, and one of the second, changes in its address, to be XORed to it."""
    empty: UInt32s
    """(P,): the addresses on the empty board."""


def layout_of(game: KInARow, tuples: Sequence[Cells], symmetric: bool = True) -> Layout:
    """The layout of some tuples of equal length, with their images under the board's symmetries or without."""
    length = len(tuples[0])
    images = [
        (number, image)
        for number, cells in enumerate(tuples)
        for image in (images_of(game, cells) if symmetric else [cells])
    ]
    playable = 3 if game.gravity else 0
    bit_of = [game.cell(*divmod(cell, game.cols)) for cell in range(game.cells)]
    cell_of = {bit.bit_length() - 1: cell for cell, bit in enumerate(bit_of)}
    opened_by = {game.beneath(bit): cell for cell, bit in enumerate(bit_of)}
    bottom = {cell for cell, bit in enumerate(bit_of) if game.gravity and bit & game.playable(*game.start())}
    begins, touched, changes = [0], [], []
    for bit in range(BITS):
        if bit in cell_of:
            cell = cell_of[bit]
            above = opened_by.get(bit_of[cell], -1)  # becomes playable
            for i, (_, image) in enumerate(images):
                if cell in image or above in image:
                    opened = playable << 2 * image.index(above) if above in image else 0
                    filled = [(playable ^ seat) << 2 * image.index(cell) if cell in image else 0 for seat in (1, 2)]
                    touched.append(i)
                    changes.append([opened ^ change for change in filled])
        begins.append(len(touched))
    empty = [
        number << 2 * length | sum(playable << 2 * place for place, cell in enumerate(image) if cell in bottom)
        for number, image in images
    ]
    return Layout(
        begins=np.array(begins, np.int64),
        touched=np.array(touched, np.uint32),
        changes=np.ascontiguousarray(np.array(changes, np.uint32).T),
        empty=np.array(empty, np.uint32),
    )
