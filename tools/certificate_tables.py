"""What the search for a small certificate remembers of positions: hash tables, rows of five int64.

A table of small budgets forgets: a position takes the place of another. Those of large budgets, and of the moves to
try, grow instead.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tictac_env.compiled import borrowing_kernel
from tictac_env.rng import mix

Ints = npt.NDArray[np.int64]

LEAST = 3
"""From this budget on only moves that keep the win are tried."""
MANY = 1 << 40
"""More entries than there are positions: no win is known."""
KEY_OWN, KEY_OPP, AT_LEAST, AT_MOST, CELL = range(5)
"""The columns of a table: a position, the bounds on the entries it needs, and the cell to fill once they meet."""


def new_table(bits: int) -> Ints:
    """An empty table: int64 (2**bits, 5)."""
    table = np.zeros((1 << bits, 5), np.int64)
    table[:, KEY_OWN] = -1
    return table


def grown(table: Ints) -> Ints:
    """A table of twice the rows with what stands in this one."""
    larger = new_table(len(table).bit_length())
    refill(table, larger)
    return larger


@borrowing_kernel
def refill(table: Ints, larger: Ints) -> None:
    """Copies what stands in a table into a larger one."""
    for i in range(len(table)):
        if table[i, KEY_OWN] >= 0:
            place = place_of(table[i, KEY_OWN], table[i, KEY_OPP], larger)
            for column in range(5):
                larger[place, column] = table[i, column]


@borrowing_kernel
def slot(own: int, opp: int, table: Ints) -> int:
    """The row that a position has in a table if no other stands there."""
    return int(mix(own ^ mix(opp)) & len(table) - 1)


@borrowing_kernel
def place_of(own: int, opp: int, table: Ints) -> int:
    """The row of a position, or the empty one that it gets."""
    place = slot(own, opp, table)
    while table[place, KEY_OWN] >= 0 and (table[place, KEY_OWN] != own or table[place, KEY_OPP] != opp):
        place = place + 1 & len(table) - 1
    return place


@borrowing_kernel
def look_up(own: int, opp: int, small: Ints, large: Ints) -> tuple[int, int, int]:
    """How many entries a position needs at least and at most, and the cell to fill once both are the same."""
    place = place_of(own, opp, large)
    if large[place, KEY_OWN] >= 0:
        return large[place, AT_LEAST], large[place, AT_MOST], large[place, CELL]
    place = slot(own, opp, small)
    if small[place, KEY_OWN] == own and small[place, KEY_OPP] == opp:
        return small[place, AT_LEAST], small[place, AT_MOST], small[place, CELL]
    return 0, MANY, 0


@borrowing_kernel
def remember(own: int, opp: int, small: Ints, large: Ints, at_least: int, at_most: int, cell: int) -> None:
    """Enters what is known of a position; in the small table it takes the place of another."""
    table = large if at_least >= LEAST else small
    place = place_of(own, opp, large) if at_least >= LEAST else slot(own, opp, small)
    table[place, KEY_OWN], table[place, KEY_OPP] = own, opp
    table[place, AT_LEAST], table[place, AT_MOST], table[place, CELL] = at_least, at_most, cell


@borrowing_kernel
def advise(own: int, opp: int, advice: Ints, moves: int) -> None:
    """Enters the moves to try in a position: action + 1 in four bits each, the first one lowest; 0 ends them."""
    place = place_of(own, opp, advice)
    advice[place, KEY_OWN], advice[place, KEY_OPP], advice[place, AT_LEAST] = own, opp, moves
