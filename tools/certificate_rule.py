"""A rule that plays without search: what a small certificate leaves to it.

It takes a win, else it blocks one. Else it makes two wins at once if it can. It lets the other side neither win nor
make two wins, and plays under no winning cell of its own, as long as something else is left. Of the rest it takes the
cell that makes most winning cells in odd rows; then the one that makes most winning cells, or takes some from the other
side (which count half); then one in an even row; then the one nearest the centre.

A winning cell is an empty one that completes a line of four. The first player's are worth most in odd rows: where all
other columns are full, the second player has to play the even cell below.
"""

from __future__ import annotations

from tictac_env.compiled import borrowing_kernel
from tictac_env.games.k_in_a_row import KInARow

COMPILED_AS = "the rule of a certificate"
FORKS, CARE, PATIENCE, ODD, LINES, EVEN = (1 << part for part in range(6))
"""The parts that can be left out: to make two wins at once, to give none away, to play under no winning cell of one's
own, and the three comparisons."""
WHOLE = FORKS | CARE | PATIENCE | ODD | LINES | EVEN


@borrowing_kernel
def rule_cell(game: KInARow, own: int, opp: int, parts: int) -> int:
    """The cell that the rule fills in an unfinished position, with these of its parts."""
    playable, empty = game.playable(own, opp), game.full ^ (own | opp)
    wins, theirs = game.threats(own) & empty, game.threats(opp) & empty
    cells = wins & playable or theirs & playable
    if cells:
        return best_cell(game, own, opp, cells, 0)
    cells = playable & ~game.beneath(theirs) or playable
    kept = cells
    for i in range(game.cols):
        cell = cells & column_of(game, i)
        if cell:
            if parts & FORKS and makes_two(game, own, opp, cell):
                return cell
            if parts & CARE and lets_make_two(game, opp, own | cell):
                kept ^= cell
    cells = kept or cells
    if parts & PATIENCE:
        cells = cells & ~game.beneath(wins) or cells
    return best_cell(game, own, opp, cells, parts)


@borrowing_kernel
def best_cell(game: KInARow, own: int, opp: int, cells: int, parts: int) -> int:
    """Of some cells, none of which two are in a column, the one that the comparisons prefer."""
    odd = odd_rows(game)
    best, most = 0, -1
    for i in range(game.cols):
        cell = cells & column_of(game, i)
        if cell == 0:
            continue
        others = game.full ^ (own | opp | cell)
        made = game.threats(own | cell) & ~game.threats(own) & others
        taken = game.threats(opp | cell) & ~game.threats(opp) & others
        worth = (made & odd).bit_count() if parts & ODD else 0
        worth = worth << 6 | (2 * made.bit_count() + taken.bit_count() if parts & LINES else 0)
        worth = worth << 1 | (1 if parts & EVEN and not cell & odd else 0)
        if worth > most:
            best, most = cell, worth
    return best


@borrowing_kernel
def makes_two(game: KInARow, own: int, opp: int, cell: int) -> bool:
    """Whether a stone in `cell` makes two wins, of which the other side can block one: side by side, or one on top."""
    wins = game.threats(own | cell) & ~(own | opp | cell)
    now = wins & game.playable(own | cell, opp)
    return now & (now - 1) != 0 or now << 1 & wins != 0


@borrowing_kernel
def lets_make_two(game: KInARow, own: int, opp: int) -> bool:
    """Whether the side to move can make two wins at once, and does not have to prevent a win instead."""
    playable = game.playable(own, opp)
    theirs = game.threats(opp) & ~(own | opp)
    cells = theirs & playable or playable & ~game.beneath(theirs)
    for i in range(game.cols):
        cell = cells & column_of(game, i)
        if cell and not theirs & game.playable(own | cell, opp) and makes_two(game, own, opp, cell):
            return True
    return False


@borrowing_kernel
def column_of(game: KInARow, i: int) -> int:
    """The cells of a column, counted from the middle outwards, the left one of two first."""
    aside = (i + 1) // 2
    return game.column << (game.cols // 2 - aside if i & 1 else game.cols // 2 + aside) * game.stride


@borrowing_kernel
def odd_rows(game: KInARow) -> int:
    """The cells of the lowest row, the third, the fifth and so on."""
    cells = 0
    for row in range(0, game.rows, 2):
        cells |= game.bottom << row
    return cells
