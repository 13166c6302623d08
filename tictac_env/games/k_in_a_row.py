"""The rules of the k-in-a-row family: tic-tac-toe, Connect Four and every other size of either kind."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from tictac_env.games.contract import DRAWN, LOST, UNFINISHED, Game
from tictac_env.games.registry import shown

MAX_BITS = 63


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KInARow(Game):
    """Players in turn place a stone; the first to have `connect` in a straight line wins.

    With gravity an action is a column, and the stone falls onto those already there; without, it is a cell, counted
    row by row from the top left. `KInARow.make` makes a game; the first four fields determine the others. There is one
    object for each game, so two games are equal if they are the same object.

    Bits are column-major. A column takes `stride` bits, from the bottom up, of which at least one above the top cell is
    always empty, so that no line can run from one column into the next. The board of 6 rows and 7 columns:

            .  .  .  .  .  .  .         always empty (and one more row of these: the stride is 8)
            5 13 21 29 37 45 53
            4 12 20 28 36 44 52
            3 11 19 27 35 43 51
            2 10 18 26 34 42 50
            1  9 17 25 33 41 49
            0  8 16 24 32 40 48         one step up is +1, right +8, up-right +9, down-right +7

    The masks of this board (x: the bit is set):

            column          bottom          full            choices
         7  . . . . . . .   . . . . . . .   . . . . . . .   . . . . . . .
         6  . . . . . . .   . . . . . . .   . . . . . . .   . . . . . . .
         5  x . . . . . .   . . . . . . .   x x x x x x x   x x x x x x x      with gravity the top row: a column is
         4  x . . . . . .   . . . . . . .   x x x x x x x   . . . . . . .      open while its top cell is empty
         3  x . . . . . .   . . . . . . .   x x x x x x x   . . . . . . .
         2  x . . . . . .   . . . . . . .   x x x x x x x   . . . . . . .
         1  x . . . . . .   . . . . . . .   x x x x x x x   . . . . . . .
         0  x . . . . . .   x x x x x x x   x x x x x x x   . . . . . . .

    Adding is the trick for falling stones. A column without holes is a number 0..0111; one more at its bottom carries
    through all stones to the lowest empty cell, and the empty bit above the top cell stops the carry of a full column:

            stones    bottom    sum
         7    .         .        .
         6    .         .        .
         5    .         .        .
         4    .         .        .
         3    .         .        .
         2    .         .        x      where the next stone lands
         1    x         .        .
         0    x         x        .

    Example:
        >>> from tictac_env.games import KInARow
        >>> game = KInARow.make(rows=5, cols=6, connect=4, gravity=True)
        >>> game.num_actions, game.cells
        (6, 30)
    """

    rows: int
    cols: int
    connect: int
    gravity: bool
    cells: int
    num_actions: int
    num_symmetries: int
    reciprocal: int
    """2**16 / cols, rounded up: there are vector instructions to multiply, but none to divide."""
    stride: int
    column: int
    """The cells of the leftmost column."""
    bottom: int
    """The cells of the bottom row."""
    full: int
    """All cells."""
    choices: int
    """The cells that stand for the actions: with gravity the top row, otherwise all."""
    steps: tuple[int, int, int, int]
    """From a cell to the next one up, right, up-right and down-right; at most 63, the widest shift in compiled code."""
    shifts: tuple[int, int, int, int, int, int, int, int]
    """For each of these four directions the two shifts of `has_line`; at most 63, which clears any board."""

    @classmethod
    def make(cls, rows: int = 6, cols: int = 7, connect: int = 4, gravity: bool = True) -> KInARow:
        """The game on a board of `rows` x `cols`.

        Raises:
            ValueError: a size is not a positive integer, no line of `connect` fits on the board, or the board needs
                more than 63 bits.
        """
        for name, value in (("rows", rows), ("cols", cols), ("connect", connect)):
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
                raise ValueError(f"{name} must be a positive int, not {shown(value)}")
        rows, cols, connect = map(operator.index, (rows, cols, connect))
        if type(gravity) is not bool:
            raise ValueError(f"gravity must be True or False, not {shown(gravity)}")
        if connect > max(rows, cols):
            raise ValueError(f"connect={connect} does not fit on a board of {rows} rows and {cols} columns")
        return cls._get(rows, cols, connect, gravity)

    @classmethod
    @cache
    def _get(cls, rows: int, cols: int, connect: int, gravity: bool) -> KInARow:
        """The one object of these sizes."""
        # A byte a column if that fits: observations can then be written by multiplying and storing whole words.
        stride = 8 if max(rows, cols) <= 7 else rows + 1
        if stride * cols > MAX_BITS:
            raise ValueError(
                f"a board of {rows} rows and {cols} columns needs {stride * cols} bits ({stride} a column); "
                f"at most {MAX_BITS} are possible"
            )
        # As a product, bottom * column is a copy of the column at each bit of the bottom row: all cells.
        column, bottom = (1 << rows) - 1, sum(1 << col * stride for col in range(cols))
        # A shift by 64 or more is undefined in machine code; one by 63 already clears any board.
        steps = (1, stride, min(stride + 1, MAX_BITS), stride - 1)
        # The two shifts of `has_line`, in steps: (1, 2) for four in a line, (1, 1) for three, (1, 0), (0, 0).
        first, second = min(1, connect - 1), max(0, min(2, connect - 2))
        shifts = tuple(min(step * times, MAX_BITS) for step in steps for times in (first, second))
        return cls(
            rows=rows,
            cols=cols,
            connect=connect,
            gravity=gravity,
            cells=rows * cols,
            num_actions=cols if gravity else rows * cols,
            num_symmetries=2 if gravity else 8 if rows == cols else 4,
            reciprocal=(1 << 16) // cols + 1,
            stride=stride,
            column=column,
            bottom=bottom,
            full=bottom * column,
            choices=bottom << rows - 1 if gravity else bottom * column,
            steps=steps,
            shifts=shifts,  # type: ignore[arg-type]  # 4 directions x 2
        )

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[int, int, int, bool]]:
        return type(self).make, (self.rows, self.cols, self.connect, self.gravity)

    def __repr__(self) -> str:
        sizes = f"rows={self.rows}, cols={self.cols}, connect={self.connect}, gravity={self.gravity}"
        return f"{type(self).__name__}.make({sizes})"

    @property
    def arguments(self) -> dict[str, int | bool]:
        return {"rows": self.rows, "cols": self.cols, "connect": self.connect, "gravity": self.gravity}

    @property
    def stones_fall(self) -> bool:
        return self.gravity

    def cell(self, row: int, col: int) -> int:
        return 1 << col * self.stride + self.rows - 1 - row

    def choice(self, action: int) -> int:
        """The bit for `action` in `legal`: the cell with this number, row by row from the top left."""
        row = action * self.reciprocal >> 16  # action // cols
        return 1 << (action - row * self.cols) * self.stride + self.rows - 1 - row

    def legal(self, own: int, opp: int) -> int:
        """The choices that are still empty: a column is open while its top cell is."""
        # & binds more tightly than ^: the occupied choices, flipped within the choices. `~` would leave [0, 2**63).
        choices = self.choices
        return (own | opp) & choices ^ choices

    def nth(self, legal: int, index: int) -> int:
        # Actions count row by row from the top left, bits column by column: with gravity it is one row, the top one.
        action = 0
        for row in range(self.num_actions // self.cols):
            choice = 1 << self.rows - 1 - row
            for _ in range(self.cols):
                if legal & choice:
                    if index == 0:
                        return action
                    index -= 1
                action += 1
                choice <<= self.stride
        return -1

    def stone(self, own: int, opp: int, action: int) -> int:
        """The bit that `action` fills, 0 if it is illegal."""
        if self.gravity:
            # Adding the column's bottom bit carries past the stones below; out of a full column it leaves the mask.
            shift = action * self.stride
            return (own | opp) + (1 << shift) & self.column << shift
        choice = self.choice(action)
        return (own | opp) & choice ^ choice

    def play(self, own: int, opp: int, action: int) -> tuple[int, int]:
        stone = self.stone(own, opp, action)
        return (opp, own | stone) if stone else (own, opp)

    def play_choice(self, own: int, opp: int, choice: int) -> tuple[int, int]:
        if self.gravity:
            # From the column's top cell to its bottom cell, and the stone by adding, as in `stone`. The mask is all of
            # the column: 2 * top - bottom has the bits from bottom to top.
            #
            #     bit   choice   << 1   - bottom
            #      3      .        x       .
            #      2      x        .       x
            #      1      .        .       x
            #      0      .        .       x
            bottom = choice >> self.rows - 1
            choice = (own | opp) + bottom & (choice << 1) - bottom
        return opp, own | choice

    def winning_choices(self, own: int, opp: int, seat: int = 0) -> int:
        """The choices with which the owner of `own` makes a line; 0 if there is none."""
        return self.choices_into(own, opp, self.threats(own))

    def threats(self, stones: int, seat: int = 0) -> int:
        """The cells, empty or not, that complete a line whose other cells are in `stones`, of either player."""
        cells = 0
        for step in self.steps:
            cells |= self.completing(stones, step)
        return cells & self.full

    def choices_into(self, own: int, opp: int, cells: int) -> int:
        """The choices whose stone would fill one of the `cells`."""
        cells &= self.playable(own, opp)
        # Adding the whole column to its lowest empty cell carries out of the top, one above the choice:
        #
        #     bit   cells   full   sum
        #      3      .      .      x      one above the choice: to be shifted down again
        #      2      .      x      .
        #      1      x      x      .      the lowest empty cell
        #      0      .      x      x      what is left here is masked out
        return (cells + self.full & self.choices << 1) >> 1 if self.gravity else cells

    def playable(self, own: int, opp: int) -> int:
        """The cells that the next stone can fill: with gravity the lowest empty cell of each column."""
        # A column's bottom bit, added, carries through the stones to the lowest empty cell.
        return (own | opp) + self.bottom & self.full if self.gravity else (own | opp) ^ self.full

    def beneath(self, cells: int) -> int:
        """The cells that, once filled, make one of `cells` playable: with gravity those directly below, else none."""
        return cells >> 1 & self.full if self.gravity else 0

    def completing(self, stones: int, step: int) -> int:
        """The cells, empty or not, that complete a line in the direction of `step` whose other cells are in `stones`.

        Unrolled for lines of four. With the first cell at p and one of the four missing, the stones needed are:

            . x x x      (stones >> s)          & (stones >> 2s & stones >> 3s)      the cell is p
            x . x x       stones                & (stones >> 2s & stones >> 3s)      p + s
            x x . x      (stones & stones >> s) & (stones >> 3s)                     p + 2s
            x x x .      (stones & stones >> s) & (stones >> 2s)                     p + 3s, which must be on the board
        """
        if self.connect == 4:
            # Bit p of `second` is the cell one step on from p, and so on: all four cells of a line stand at its first.
            second = stones >> step
            third = second >> step
            fourth = third >> step
            # Two pairs serve all four patterns.
            front, back = stones & second, third & fourth
            # x x x . will be shifted up by three steps. Unless its last cell is on the board, that may leave 63 bits.
            last = front & third & self.full >> step >> step >> step
            # By Horner's scheme: each << step moves the missing cells one step along their lines.
            return second & back | (stones & back | (front & fourth | last << step) << step) << step
        # Any other length: for each missing cell the lines whose other cells are stones, from the last cell to the
        # first.
        completing = 0
        for missing in range(self.connect):
            lines = self.full
            for place in range(self.connect - 1, -1, -1):
                cells = self.full if place == missing else stones
                lines = cells if place == self.connect - 1 else lines >> step & cells
            for _ in range(missing):
                lines <<= step
            completing |= lines
        return completing

    def undo(self, own: int, opp: int, action: int) -> tuple[int, int]:
        if self.gravity:
            # In a column without holes, x and x >> 1 differ in the top stone only:
            #
            #     bit   stones   >> 1   differ
            #      2      .        .      .
            #      1      x        .      x      the top stone
            #      0      x        x      .
            column = self.column << action * self.stride
            stones = (own | opp) & column
            stone = stones ^ stones >> 1 & column
        else:
            stone = self.choice(action)
        return (opp ^ stone, own) if opp & stone else (own, opp)

    def has_won(self, stones: int, seat: int = 0) -> bool:
        """True if `stones`, of either player, contain a line."""
        return self.has_line(stones)

    def has_line(self, stones: int) -> bool:
        """True if `stones` contain `connect` in a line.

        Unrolled for the usual lengths. In one direction, with step s, a line of four is two pairs, two cells apart:

            stones                         . x x x x . x x
            pairs = stones & stones >> s   . x x x . . x .     where a pair begins
            pairs & pairs >> 2s            . x . . . . . .     where a line of four begins

        For three in a line the second shift is s, for two it is 0, and for one both are. Longer lines hold one of four.
        """
        # Written out, and without branches: eight shifts that LLVM does for several boards at once. The empty bit above
        # each column keeps lines from running from one column into the next.
        up, up2, right, right2, rise, rise2, fall, fall2 = self.shifts
        pairs = stones & stones >> up
        lines = pairs & pairs >> up2
        pairs = stones & stones >> right
        lines |= pairs & pairs >> right2
        pairs = stones & stones >> rise
        lines |= pairs & pairs >> rise2
        pairs = stones & stones >> fall
        lines |= pairs & pairs >> fall2
        return lines != 0 and (self.connect <= 4 or self.winning_cells(stones) != 0)

    def runs(self, stones: int, step: int) -> int:
        """The cells from which a line of `connect` begins in the direction of `step`."""
        for _ in range(1, self.connect):
            stones &= stones >> step
        return stones

    def winning_cells(self, stones: int, seat: int = 0) -> int:
        """The union of all lines of `connect` within `stones`, of either player."""
        # From the first cell of each line back along its other cells; overlapping lines give their union.
        union = 0
        for step in self.steps:
            line = begins = self.runs(stones, step)
            for _ in range(1, self.connect):
                line = line << step | begins
            union |= line
        return union

    def result(self, own: int, opp: int) -> int:
        """`LOST` if the player who has just moved made a line, `DRAWN` on a full board, otherwise `UNFINISHED`."""
        if self.has_line(opp):
            return LOST
        return DRAWN if own | opp == self.full else UNFINISHED

    def is_dead(self, own: int, opp: int) -> bool:
        """True if every line has stones of both sides, so that neither side can complete one."""
        # The cells without the other side's stones are all that a side can ever have.
        full = self.full
        return not self.has_line(full ^ opp) and not self.has_line(full ^ own)

    def is_floating(self, stones: int) -> bool:
        """True if a stone has an empty cell below it, with gravity."""
        # The carry of `playable` stops in the lowest hole, so the stones above that are in the sum as well:
        #
        #     bit   stones   sum   both
        #      2      x       x     x       floats above the hole
        #      1      .       x     .
        #      0      x       .     .
        return self.gravity and stones & stones + self.bottom != 0

    @property
    def key_bits(self) -> int:
        """Keys are below 2 ** `key_bits`; above 63 they do not fit. Interpreted only."""
        return self.stride * self.cols if self.gravity else 2 * self.cells

    def key(self, own: int, opp: int) -> int:
        """A number below 2 ** `key_bits` that is unique for each position of the game.

        With gravity own stones + all stones + the bottom row: in each column, read upwards, own stones are 1 and the
        other's 0, below one bit that marks the height. Without, the columns of both sides without the gaps.
        """
        if self.gravity:
            # A column with n stones (own ones 1 in o): o + (2**n - 1) + 1 = 2**n + o, so the highest bit is the height.
            #
            #     bit   own   all   bottom   key
            #      3     .     .      .       x      the height: three stones
            #      2     x     x      .       x
            #      1     .     x      .       .
            #      0     x     x      x       x
            return own + (own | opp) + self.bottom
        packed = 0
        for col in range(self.cols):
            shift = col * self.stride
            packed = (packed << self.rows | own >> shift & self.column) << self.rows | opp >> shift & self.column
        return packed

    def mirror(self, stones: int) -> int:
        """The stones reflected left and right."""
        mirrored = 0
        for _ in range(self.cols):
            mirrored = mirrored << self.stride | stones & self.column
            stones = stones >> self.stride  # not in place: arrays come here too
        return mirrored

    def image(self, row: int, col: int, symmetry: int) -> tuple[int, int]:
        """Bit 0 of `symmetry` mirrors left and right, bit 1 top and bottom; then bit 2 swaps rows and columns."""
        if symmetry & 1:
            col = self.cols - 1 - col
        if symmetry & 2:
            row = self.rows - 1 - row
        return (col, row) if symmetry & 4 else (row, col)
