"""The table of positions of a search, compiled: what it has found out about those that it met before.

A row is a position, a score, and in one number the plies that were searched, which bound the score is, and the best
move. Two rows stand side by side: the first keeps the deeper search, the second takes whatever else comes.
"""

from __future__ import annotations

import numpy as np

from tictac_agents.ntuple.kernels import ILLEGAL, WIN, Ints
from tictac_env.compiled import borrowing_kernel
from tictac_env.rng import mix

OWN, OPP, SCORE, INFO = range(4)
LOWER, UPPER = 1, 2
"""Bits: whether the score is at least so high, and at most."""
SURE = WIN >> 1
"""Scores beyond this, and below its opposite, are certain wins and losses."""
UNKNOWN = ILLEGAL
MAX_ROWS = 1 << 20
"""32 MB; memory is taken as rows are filled."""


def new_table(rows: float) -> Ints:
    """An empty table of at least so many rows, a power of two from 2**4 to `MAX_ROWS`: int64 (R, 4)."""
    wanted = int(min(max(rows, 16), MAX_ROWS))
    return np.zeros((1 << (wanted - 1).bit_length(), 4), np.int64)


@borrowing_kernel
def look_up(table: Ints, own: int, opp: int, depth: int, alpha: int, beta: int, mixed: bool) -> tuple[int, int]:
    """What the table says of a position that is to be searched `depth` plies deep with the window (alpha, beta).

    Args:
        table: see above.
        own: the stones of the side to move.
        opp: the other side's.
        depth: only a search as deep has the score that this one would find.
        alpha: see above.
        beta: see above.
        mixed: whether deeper searches will do as well, and wins and losses that are certain at any depth.

    Returns:
        The score or a bound that decides it, else `UNKNOWN`; 1 more than the bit of the best move, 0 if none is known.
    """
    place = int(mix(own ^ mix(opp)) & len(table) - 2)
    for row in range(place, place + 2):
        known = table[row]
        if known[OWN] == own and known[OPP] == opp:
            score, info = int(known[SCORE]), int(known[INFO])
            bounds, searched = info >> 6 & 3, info & 63
            if searched < depth or (searched > depth and not mixed):
                bounds &= 0 if not mixed else LOWER if score > SURE else UPPER if score < -SURE else 0
            decides = (bounds & LOWER and score >= beta) or (bounds & UPPER and score <= alpha) or bounds == 3
            return score if decides else UNKNOWN, info >> 8
    return UNKNOWN, 0


@borrowing_kernel
def enter(table: Ints, own: int, opp: int, depth: int, alpha: int, beta: int, score: int, move: int) -> None:
    """Takes note of what a search found: see `look_up`."""
    place = int(mix(own ^ mix(opp)) & len(table) - 2)
    row = table[place]
    if (row[OWN] != own or row[OPP] != opp) and row[INFO] & 63 > depth:
        row = table[place + 1]
    bounds = (LOWER if score > alpha else 0) | (UPPER if score < beta else 0)
    row[OWN], row[OPP], row[SCORE], row[INFO] = own, opp, score, move << 8 | bounds << 6 | depth
