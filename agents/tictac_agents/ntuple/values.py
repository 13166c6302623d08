"""The values of positions by an n-tuple network, compiled: from scratch, and from stone to stone.

A value is that of a position for the side that has just moved. A weight is an integer, `ONE` being 1: so a sum of
weights is the same in any order, from scratch or stone by stone, by one thread or by many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.compiled import borrowing_kernel, kernel, kernel_methods
from tictac_env.games import UNFINISHED
from tictac_env.games.k_in_a_row import KInARow

Ints = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]
Cells = tuple[int, ...]
"""The cells of a tuple, numbered row by row from the top left."""

Int32s = npt.NDArray[np.int32]

BITS = 64
"""A board has fewer bits than this."""
MISSES = 1_000
"""The walks in a row without a new tuple after which the board probably has no more."""
ONE = 1 << 26
"""A weight of 1; weights are less than 32 in size."""
WIN = 1 << 40
"""The score of a win, less the number of stones it takes; sums of weights are far smaller."""
ILLEGAL = -2 * WIN
"""Less than every score."""
TWO = np.uint32(2)


def random_walks(game: KInARow, count: int, length: int, seed: int) -> tuple[Cells, ...]:
    """Tuples of cells, each a random walk over neighbouring cells (Lucas 2008), the lowest cells first.

    No two hold the same cells or, up to a symmetry of the board, mirrored ones. There are at most `count`: small boards
    have fewer. A tuple has `length` cells, or on a board of fewer cells all of them.
    """
    random = np.random.default_rng(seed)
    length = min(length, game.cells)
    found: list[Cells] = []
    known: set[frozenset[int]] = set()
    misses = 0
    while len(found) < count and misses < MISSES:
        here = int(random.integers(game.cells))
        cells = {here}
        while len(cells) < length:
            row, col = divmod(here, game.cols)
            near = [
                below * game.cols + right
                for below in range(max(row - 1, 0), min(row + 2, game.rows))
                for right in range(max(col - 1, 0), min(col + 2, game.cols))
                if (below, right) != (row, col)
            ]
            here = near[int(random.integers(len(near)))]
            cells.add(here)
        # Stones come to lie on the lowest cells first. As the lowest digits of an address these keep what is often
        # used together.
        walk = tuple(sorted(cells, reverse=True))
        images = {frozenset(image) for image in images_of(game, walk)}
        misses += 1
        if not known & images:
            found.append(walk)
            known |= images
            misses = 0
    return tuple(found)


def images_of(game: KInARow, cells: Cells) -> list[Cells]:
    """A tuple's images under the symmetries of the board, itself first, each in the order of its cells."""
    places = [divmod(cell, game.cols) for cell in cells]
    return [
        tuple(row * game.cols + col for row, col in (game.image(*place, symmetry) for place in places))
        for symmetry in range(game.num_symmetries)
    ]


class Layout(NamedTuple):
    """The P images of the tuples, and the changes that a stone makes in them.

    The state of an image is a number of two bits a cell: 0 empty; 1 a stone of the first seat, 2 one of the second;
    with gravity 3 empty and playable next. Its address is that number below the number of its tuple:

        | tuple | cell n-1 | ... | cell 1 | cell 0 |

    Attributes:
        begins: (65,): for each bit of the board where its entries begin in `touched` and `changes`.
        touched: (E,): an image that a stone on this cell changes.
        changes: (2, E): what a stone of the first seat, and one of the second, XORs to its address.
        empty: (P,): the addresses on the empty board.
    """

    begins: Ints
    touched: UInt32s
    changes: UInt32s
    empty: UInt32s


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


@kernel_methods
class Tables(NamedTuple):
    """A network, and a board as it sees it, which no two threads may share.

    The weights of the two seats stand side by side, so that one line of the processor's cache has both.

    Attributes:
        begins, touched, changes, empty: see `Layout`.
        weights: (2 * addresses,): for each address its weight after a move of the first seat, then of the second.
        addresses: (P,): scratch, the address of each image on the board.
        current: (2 * P,): scratch, the weights at these addresses.
        sums: (2,): scratch, the sums of these, one for each seat.
    """

    begins: Ints
    touched: UInt32s
    changes: UInt32s
    empty: UInt32s
    weights: Int32s
    addresses: UInt32s
    current: Int32s
    sums: Ints

    def leaf_value(self, game: Any, own: int, opp: int, state: int) -> tuple[float, int]:
        """The value of an unfinished position for the side to move, in [-1, 1]; see `mcts.simulation.Leaves`."""
        set_board(game, self, own, opp)
        return -squash(self.sums[1 - game.seat(own, opp)]), state

    def leaf_priors(self, game: Any, own: int, opp: int, priors: npt.NDArray[np.float32]) -> None:
        """None: a value says nothing of the actions."""


def new_tables(layout: Layout, weights: Int32s) -> Tables:
    """The record of a network, with a board of its own."""
    images = len(layout.empty)
    return Tables(
        **layout._asdict(),
        weights=weights,
        addresses=np.zeros(images, np.uint32),
        current=np.zeros(2 * images, np.int32),
        sums=np.zeros(2, np.int64),
    )


@borrowing_kernel
def squash(total: int) -> float:
    """The tanh of a sum of weights to 7 digits, a continued fraction of Lambert's: sums, products and one quotient.

    So it has the same bits on every machine, compiled or not.
    """
    x = min(4.9, max(-4.9, total / ONE))
    square = x * x
    above = 135135.0 + square * (17325.0 + square * (378.0 + square))
    return x * above / (135135.0 + square * (62370.0 + square * (3150.0 + square * 28.0)))


@borrowing_kernel
def clear(tables: Tables) -> None:
    """Empties the board."""
    first = second = 0
    for image in range(len(tables.empty)):
        address = tables.empty[image]
        at = 2 * image
        tables.addresses[image] = address
        tables.current[at], tables.current[at + 1] = tables.weights[TWO * address], tables.weights[TWO * address + 1]
        first += tables.current[at]
        second += tables.current[at + 1]
    tables.sums[0], tables.sums[1] = first, second


@borrowing_kernel
def place(tables: Tables, bit: int, seat: int) -> None:
    """Puts a stone of `seat` on the cell of number `bit`; the same again takes it away."""
    first, second = tables.sums[0], tables.sums[1]
    for entry in range(tables.begins[bit], tables.begins[bit + 1]):
        image = tables.touched[entry]
        address = tables.addresses[image] ^ tables.changes[seat, entry]
        tables.addresses[image] = address
        of_first, of_second = tables.weights[TWO * address], tables.weights[TWO * address + 1]
        first += of_first - tables.current[TWO * image]
        second += of_second - tables.current[TWO * image + 1]
        tables.current[TWO * image], tables.current[TWO * image + 1] = of_first, of_second
    tables.sums[0], tables.sums[1] = first, second


@borrowing_kernel
def sum_after(tables: Tables, bit: int, seat: int) -> int:
    """The sum of weights there would be for `seat` after its stone on the cell of number `bit`."""
    begin, count = tables.begins[bit], tables.begins[bit + 1] - tables.begins[bit]
    # Slices that begin with what is wanted, and indices without sign, save the checks for negative ones.
    touched, changes = tables.touched[begin:], tables.changes[seat][begin:]
    weights, current = tables.weights[seat:], tables.current[seat:]
    difference = np.int32(0)
    for entry in range(count):
        image = touched[entry]
        address = tables.addresses[image] ^ changes[entry]
        difference += weights[TWO * address] - current[TWO * image]
    return int(tables.sums[seat] + difference)


@borrowing_kernel
def set_board(game: KInARow, tables: Tables, own: int, opp: int) -> None:
    """Sets the board to a position."""
    clear(tables)
    seat = game.seat(own, opp)
    stones = own
    for owner in (seat, 1 - seat):
        while stones:
            rest = stones & stones - 1
            place(tables, ((stones ^ rest) - 1).bit_count(), owner)
            stones = rest
        stones = opp


@borrowing_kernel
def change_board(game: KInARow, tables: Tables, own: int, opp: int, old_own: int, old_opp: int) -> None:
    """Sets the board from one position to another: only the stones are placed, or taken away, that differ."""
    seat, old_seat = game.seat(own, opp), game.seat(old_own, old_opp)
    changes = own ^ (old_own if seat == old_seat else old_opp), opp ^ (old_opp if seat == old_seat else old_own)
    if changes[0].bit_count() + changes[1].bit_count() >= (own | opp).bit_count():
        set_board(game, tables, own, opp)
        return
    for which in range(2):
        stones, owner = changes[which], seat ^ which
        while stones:
            rest = stones & stones - 1
            place(tables, ((stones ^ rest) - 1).bit_count(), owner)
            stones = rest


@kernel
def score_afterstates(game: KInARow, tables: Tables, own: Ints, opp: Ints, scores: Ints) -> None:
    """Fills scores, int64 (B, num_actions), with the score of each action in B positions for the side that plays it.

    A score is a sum of weights. An action that wins has `WIN` less the number of stones then, one after which the other
    side wins at once has minus that, one that draws 0, and an illegal one `ILLEGAL`. It takes less time if positions
    that follow each other have many stones in common.
    """
    for i in range(len(own)):
        if i:
            change_board(game, tables, own[i], opp[i], own[i - 1], opp[i - 1])
        else:
            set_board(game, tables, own[i], opp[i])
        seat = game.seat(own[i], opp[i])
        ply = (own[i] | opp[i]).bit_count() + 1
        for action in range(game.num_actions):
            stone = game.stone(own[i], opp[i], action)
            next_own, next_opp = opp[i], own[i] | stone
            if not stone:
                scores[i, action] = ILLEGAL
            elif game.has_won(next_opp, seat):
                scores[i, action] = WIN - ply
            elif game.result(next_own, next_opp) != UNFINISHED:
                scores[i, action] = 0
            elif game.winning_choices(next_own, next_opp, 1 - seat):
                scores[i, action] = ply + 1 - WIN
            else:
                scores[i, action] = sum_after(tables, (stone - 1).bit_count(), seat)


def as_value(score: int) -> float:
    """A score as a value in [-1, 1]."""
    if abs(score) > WIN >> 1:
        return 1.0 if score > 0 else -1.0
    return squash(score)
