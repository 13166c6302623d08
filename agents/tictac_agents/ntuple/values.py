"""The values of positions by an n-tuple network, compiled: from scratch, and from stone to stone.

A value is for the side that has just moved. Weights are integers in units of 1 / `ONE`: so a sum of weights is the same
in any order, from scratch or stone by stone, by one thread or by many.
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
"""The score of a win is this minus the number of stones on the board then; sums of weights are far smaller."""
ILLEGAL = -2 * WIN
"""Less than every score."""
TWO = np.uint32(2)
"""Of the type of addresses: an unsigned index needs no check for negative ones."""


def random_walks(game: KInARow, count: int, length: int, seed: int) -> tuple[Cells, ...]:
    """Tuples of cells, each a random walk over neighbouring cells (Lucas 2008), the lowest cells first.

    No two tuples have the same cells, nor cells that are images of each other. There are at most `count`: small boards
    have fewer. A tuple has `length` cells, or on a board of fewer cells all of them.
    """
    random = np.random.default_rng(seed)
    length = min(length, game.cells)
    walks: list[Cells] = []
    covered: set[frozenset[int]] = set()  # the cells of each walk, and of its images
    misses = 0
    while len(walks) < count and misses < MISSES:
        # From a random cell to one of its up to eight neighbours, again and again; cells met before count once.
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
        # The lowest cells fill first. As the lowest digits of an address, these keep addresses that are often
        # used close together in memory.
        walk = tuple(sorted(cells, reverse=True))
        images = {frozenset(image) for image in images_of(game, walk)}
        misses += 1
        if not covered & images:
            walks.append(walk)
            covered |= images
            misses = 0
    return tuple(walks)


def images_of(game: KInARow, cells: Cells) -> list[Cells]:
    """A tuple's images under the symmetries of the board, itself first, each in the order of its cells."""
    places = [divmod(cell, game.cols) for cell in cells]
    return [
        tuple(row * game.cols + col for row, col in (game.image(*place, symmetry) for place in places))
        for symmetry in range(game.num_symmetries)
    ]


class Layout(NamedTuple):
    """The P images of the tuples, and the changes that a stone makes in them.

    The content of an image is a number with two bits for each cell: 0 empty; 1 a stone of the first seat, 2 one of the
    second; with gravity 3 empty and playable next. Its address is that number, with the number of its tuple above it:

        | tuple | cell n-1 | ... | cell 1 | cell 0 |

    Attributes:
        begins: (65,): for each bit of the board where its entries begin in `touched` and `changes`.
        touched: (E,): an image that a stone on this cell changes.
        changes: (2, E): what a stone of the first seat, and one of the second, XORs to its address.
        empty: (P,): the addresses on the empty board.
    """

    # An image of three cells, one above the other at the bottom of a column; the first seat plays the lowest cell:
    #
    #                  cell 2   cell 1   cell 0
    #     before         00       00       11      only the lowest cell is playable
    #     change         00       11       10      11 opens the cell above; 11 ^ 01 turns "playable" into the stone
    #     after          00       11       01
    #
    # The change depends on the stone alone, not on the other cells, so it is computed once; XOR with the same change
    # takes the stone away again. `begins` cuts the list of changes into the parts of the 64 bits:
    #
    #     begins[bit] --> touched   image 3   image 8   image 21   ...   <-- begins[bit + 1]
    #                     changes   ...011010 ...       ...

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
    # Cells are numbered row by row; bits are those of the game's sets of stones.
    playable = 3 if game.gravity else 0
    bit_of = [game.cell(*divmod(cell, game.cols)) for cell in range(game.cells)]
    cell_of = {bit.bit_length() - 1: cell for cell, bit in enumerate(bit_of)}
    opened_by = {game.beneath(bit): cell for cell, bit in enumerate(bit_of)}
    bottom = {cell for cell, bit in enumerate(bit_of) if game.gravity and bit & game.playable(*game.start())}
    begins, touched, changes = [0], [], []
    for bit in range(BITS):
        if bit in cell_of:
            cell = cell_of[bit]
            above = opened_by.get(bit_of[cell], -1)  # the cell that this stone makes playable
            for i, (_, image) in enumerate(images):
                # An image changes if it has the cell of the stone, the cell above, or both.
                if cell in image or above in image:
                    opened = playable << 2 * image.index(above) if above in image else 0
                    filled = [(playable ^ seat) << 2 * image.index(cell) if cell in image else 0 for seat in (1, 2)]
                    touched.append(i)
                    changes.append([opened ^ change for change in filled])
        begins.append(len(touched))
    # On the empty board the cells of the bottom row are playable.
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
    """A network and its scratch board, which no two threads may share.

    The weights of the two seats lie side by side, so that one line of the processor's cache has both.

    Attributes:
        begins, touched, changes, empty: see `Layout`.
        weights: (2 * addresses,): for each address its weight after a move of the first seat, then of the second.
        addresses: (P,): scratch, the address of each image on the board.
        current: (2 * P,): scratch, the weights at these addresses.
        sums: (2,): scratch, the sums of these, one for each seat.
    """

    #     weights      | A: first, second | A + 1: first, second | ...          2 * address + seat
    #     addresses    | image 0 | image 1 | ...                                the address of each image on the board
    #     current      | image 0: first, second | image 1: first, second | ...  copies of weights[2 * addresses + seat]
    #     sums         | first, second |                                        the sums of `current`
    #
    # `current` saves a look-up: to change an address, the weights at the old one have to be subtracted, and these are
    # scattered over megabytes.

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
        """Leaves the priors as they are: the network has none."""


def new_tables(layout: Layout, weights: Int32s) -> Tables:
    """The record of a network, with its own scratch board."""
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
    """The tanh of a sum of weights within 1e-4, by Lambert's continued fraction: sums, products and one quotient.

    So it has the same bits on every machine, compiled or not.
    """
    # From 5 on the fraction would leave [-1, 1]; beyond 4.9 tanh itself is nearly 1.
    x = min(4.9, max(-4.9, total / ONE))
    square = x * x
    above = 135135.0 + square * (17325.0 + square * (378.0 + square))
    return x * above / (135135.0 + square * (62370.0 + square * (3150.0 + square * 28.0)))


@borrowing_kernel
def clear(tables: Tables) -> None:
    """Empties the board."""
    # Both sums are counted again from scratch; `place` only adds differences to them.
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
    """Puts a stone of `seat` on the cell with the bit number `bit`; a second call removes it."""
    # Only the images that the stone touches change; of the others the sums keep their addends.
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
    """The sum of weights for `seat` after its stone on the cell with the bit number `bit`; the board stays."""
    begin, count = tables.begins[bit], tables.begins[bit + 1] - tables.begins[bit]
    # Slices from the first element needed, and unsigned indices, save the checks for negative indices.
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
            # x & (x - 1) clears the lowest bit, 1 << n, and (1 << n) - 1 has n bits.
            higher = stones & stones - 1
            place(tables, ((stones ^ higher) - 1).bit_count(), owner)
            stones = higher
        stones = opp


@borrowing_kernel
def change_board(game: KInARow, tables: Tables, own: int, opp: int, old_own: int, old_opp: int) -> None:
    """Sets the board from one position to another: places or removes only the stones that differ."""
    # A position names its stones by the side to move, the board by the seats: compare those of one seat. XOR has the
    # stones that only one of the positions has, and `place` both adds and removes. If most stones differ, begin again.
    seat, old_seat = game.seat(own, opp), game.seat(old_own, old_opp)
    changes = own ^ (old_own if seat == old_seat else old_opp), opp ^ (old_opp if seat == old_seat else old_own)
    if changes[0].bit_count() + changes[1].bit_count() >= (own | opp).bit_count():
        set_board(game, tables, own, opp)
        return
    for which in range(2):
        stones, owner = changes[which], seat ^ which
        while stones:
            higher = stones & stones - 1
            place(tables, ((stones ^ higher) - 1).bit_count(), owner)
            stones = higher


@kernel
def score_afterstates(game: KInARow, tables: Tables, own: Ints, opp: Ints, scores: Ints) -> None:
    """Fills scores, int64 (B, num_actions), with the score of each action in B positions for the side that plays it.

    A score is a sum of weights. An action that wins has `WIN` minus the number of stones then; one after which the
    other side wins at once has the negative of that; one that draws has 0, and an illegal one `ILLEGAL`. It is faster
    if successive positions have many stones in common.
    """
    for i in range(len(own)):
        if i:
            change_board(game, tables, own[i], opp[i], own[i - 1], opp[i - 1])
        else:
            set_board(game, tables, own[i], opp[i])
        # What the rules and one look ahead decide comes first; the network values the rest. Nothing is placed on its
        # board for that: `sum_after` looks at what a stone would change.
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
