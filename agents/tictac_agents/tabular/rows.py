"""The rows of a table: a position's number, the same for symmetric positions if wanted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.compiled import borrowing_kernel, kernel_methods
from tictac_env.games import Game
from tictac_env.position import symmetries
from tictac_env.rng import LOW_32, mix

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
FEWEST_ROWS = 1024


@kernel_methods
class Rows(NamedTuple):
    """Numbers the positions a learner meets, in the order in which it meets them.

    A hash table with open addressing: a position's row is in the place that its bits are hashed to, or in the next one
    that was free. At least half of the places stay empty.
    """

    positions: Ints
    """int64 (capacity, 3), for each row own, opp and the number of its table, if several share the rows."""
    places: Ints
    """int64 (P,), P a power of two, at least twice the capacity: a row, or -1."""
    used: Ints
    """int64 (1,), the number of rows."""

    def place(self, own: int, opp: int, part: int) -> int:
        """The index in `places` of a position, or the one it would get."""
        last = len(self.places) - 1
        place = mix(own ^ ((opp & LOW_32) << 31 | opp >> 32) ^ part) & last
        row = self.places[place]
        while row >= 0 and (
            self.positions[row, 0] != own or self.positions[row, 1] != opp or self.positions[row, 2] != part
        ):
            place = place + 1 & last
            row = self.places[place]
        return place

    def find(self, own: int, opp: int, part: int) -> int:
        """The row of a position, -1 if it has none."""
        return int(self.places[self.place(own, opp, part)])

    def get_or_add(self, own: int, opp: int, part: int) -> int:
        """The row of a position, the next free one if it is new; there must be room."""
        place = self.place(own, opp, part)
        row = self.places[place]
        if row < 0:
            row = self.used[0]
            self.used[0] = row + 1
            self.places[place] = row
            self.positions[row, 0] = own
            self.positions[row, 1] = opp
            self.positions[row, 2] = part
        return int(row)


@borrowing_kernel
def _add_all(rows: Rows, positions: Ints) -> None:
    for i in range(len(positions)):
        rows.get_or_add(positions[i, 0], positions[i, 1], positions[i, 2])


def new_rows(capacity: int = FEWEST_ROWS, positions: Ints | None = None) -> Rows:
    """Rows for at least `capacity` positions, the first of them the given ones."""
    size = FEWEST_ROWS
    while size < capacity:
        size *= 2
    rows = Rows(np.zeros((size, 3), np.int64), np.full(2 * size, -1, np.int64), np.zeros(1, np.int64))
    if positions is not None and len(positions):
        _add_all(rows, positions)
    return rows


@kernel_methods
class Folding(NamedTuple):
    """The symmetries of a board, which fold a position's images into one.

    The images share a row, and so do the actions that the position's own symmetries exchange: on tic-tac-toe's empty
    board the four corners are one slot.
    """

    bits: Ints
    """int64 (symmetries, cells, 2): for each cell its bit, and the bit of the cell it is taken to."""
    actions: Ints
    """int64 (symmetries, num_actions): the image of each action."""

    def fold(self, own: int, opp: int) -> tuple[int, int, int]:
        """The least image (own, opp) of a position, and the symmetries that lead to it, as a set of bits."""
        least_own = least_opp = leading = 0
        for number in range(len(self.bits)):
            image_own = image_opp = 0
            for cell in range(self.bits.shape[1]):
                bit, image = self.bits[number, cell, 0], self.bits[number, cell, 1]
                if own & bit:
                    image_own |= image
                elif opp & bit:
                    image_opp |= image
            if leading == 0 or image_own < least_own or (image_own == least_own and image_opp < least_opp):
                least_own, least_opp, leading = image_own, image_opp, 1 << number
            elif image_own == least_own and image_opp == least_opp:
                leading |= 1 << number
        return least_own, least_opp, leading

    def slot(self, leading: int, action: int) -> int:
        """The slot of an action in a position whose least image the symmetries `leading` lead to."""
        slot: int = self.actions.shape[1]
        while leading > 0:
            others = leading & (leading - 1)
            number = ((leading ^ others) - 1).bit_count()
            slot = min(slot, int(self.actions[number, action]))
            leading = others
        return slot


def folding_of(game: Game, symmetry: bool) -> Folding:
    """The symmetries of a game's board, or the identity alone."""
    every = symmetries(game) if symmetry else symmetries(game)[:1]
    return Folding(np.array([one.bits for one in every], np.int64), np.array([one.actions for one in every], np.int64))
