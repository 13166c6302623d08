"""Which null windows pin a score down, and the loop that solves a batch of positions by asking for them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tictac_env.compiled import kernel
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.solver.connect_k import (
    ALPHA_NOW,
    ASKED,
    BEFORE,
    CODE,
    FRAME_NOW,
    INDEX,
    LOWER,
    MOVES,
    NO_VALUE,
    OPP,
    OPP_WINS,
    OWN,
    OWN_WINS,
    RECORD_NOW,
    ROOT_SIGN,
    SEARCHED,
    SIGN,
    STARTED,
    UPPER,
    code_of,
    search,
)
from tictac_env.solver.knowledge import play_forced

Ints = npt.NDArray[np.int64]
Batch = Ints
"""Positions to be solved, int64 (B, 7); the columns are named below.

The score is known to be in [AT_LEAST, AT_MOST], which the search narrows, and wanted within [LEAST, MOST]: -1 and 1 ask
for its sign only. Whether it is above the guess is asked first, if that is open (NO_VALUE never is).
"""
FIELDS = 7
STONES, THEIRS, AT_LEAST, AT_MOST, LEAST, MOST, GUESS = range(FIELDS)

FORCED_PLIES = (13, 21)
"""Quick wins and losses are looked for first, within so many plies: such a search is small."""
LEAST_SCORE, LEAST_SCORE_BEYOND = 4, 8
"""Such a search pays if the score it asks about is at least so large, that is, the game is not nearly over.

Where that score lies beyond what is wanted, as when only the sign is, it must be larger, and one such search is enough.
"""


def settled(batch: Batch) -> npt.NDArray[np.bool_]:
    """Which positions are known as exactly as is wanted; bool (B,)."""
    lower = np.maximum(batch[:, AT_LEAST], batch[:, LEAST])
    done: npt.NDArray[np.bool_] = lower >= np.minimum(batch[:, AT_MOST], batch[:, MOST])
    return done


@kernel
def next_alpha(lower: int, upper: int, least: int, most: int, left: int) -> int:
    """The next question about a score in [lower, upper] that is wanted within [least, most]: is it above alpha?

    First whether there is a quick win or loss, then who wins if anybody, then how soon: with the very last stone, as is
    usual early in a game, else from the slow end.
    """
    if most - least > 1:
        for plies in FORCED_PLIES:
            far = (left - plies) // 2
            if far < LEAST_SCORE:
                continue
            if far >= most and (far < LEAST_SCORE_BEYOND or plies > FORCED_PLIES[0]):
                continue
            if lower < -far < upper:
                return -far
            if lower < far < upper:
                return far
    lower = max(lower, least)
    upper = min(upper, most)
    if lower < 0 < upper or lower == 0:
        return 0
    if upper == 0:
        return -1
    if lower == 1 or upper == -1:
        return 1 if lower == 1 else -2
    return lower + (upper - lower) // 3 if lower > 0 else upper - 1 - (upper - lower - 1) // 3


@kernel
def set_up(game: KInARow, own: int, opp: int, bits: int, stack: Ints, state: Ints) -> None:
    """Makes a position the root of the search, or finds its score at once; narrows LOWER and UPPER accordingly."""
    left = game.cells - (own | opp).bit_count()
    state[ROOT_SIGN] = 1
    state[STARTED] = 1
    state[BEFORE] = state[SEARCHED]
    state[RECORD_NOW] = -1
    score = NO_VALUE
    own_wins = game.threats(own)
    opp_wins = game.threats(opp)
    sign, moves = 1, 0
    if game.has_line(opp):
        score = -((left + 2) // 2)
    elif own_wins & game.playable(own, opp):
        score = (left + 1) // 2
    else:
        sign, own, opp, own_wins, opp_wins, moves = play_forced(game, own, opp, own_wins, opp_wins)
        left = game.cells - (own | opp).bit_count()
        if moves == 0:
            score = -sign * (left // 2)
    if score != NO_VALUE:
        state[LOWER] = score
        state[UPPER] = score
        return
    lower = state[LOWER] if sign == 1 else -state[UPPER]
    upper = state[UPPER] if sign == 1 else -state[LOWER]
    state[LOWER] = max(lower, -((left - 2) // 2))
    state[UPPER] = min(upper, (left - 1) // 2)
    state[ROOT_SIGN] = sign
    stack[OWN] = own
    stack[OPP] = opp
    stack[OWN_WINS] = own_wins
    stack[OPP_WINS] = opp_wins
    stack[MOVES] = moves
    stack[SIGN] = 1
    stack[CODE] = code_of(game, own, opp, bits)


@kernel
def solve_batch(
    game: KInARow, columns: Ints, table: Ints, bits: int, tag_bits: int, stack: Ints, state: Ints, batch: Batch
) -> bool:
    """Narrows the bounds of the positions of a batch to one score each; False if it pauses before the end.

    Called again with the same arguments it goes on.
    """
    while state[INDEX] < len(batch):
        index = state[INDEX]
        if state[STARTED] == 0:
            state[LOWER] = batch[index, AT_LEAST]
            state[UPPER] = batch[index, AT_MOST]
            set_up(game, batch[index, STONES], batch[index, THEIRS], bits, stack, state)
        left = game.cells - (stack[OWN] | stack[OPP]).bit_count()
        alpha = batch[index, GUESS]
        least = batch[index, LEAST]
        most = batch[index, MOST]
        if state[ROOT_SIGN] == -1:
            alpha = -alpha - 1
            least, most = -most, -least
        while max(state[LOWER], least) < min(state[UPPER], most):
            if state[RECORD_NOW] < 0:
                if not max(state[LOWER], least) <= alpha < min(state[UPPER], most):
                    alpha = next_alpha(state[LOWER], state[UPPER], least, most, left)
                state[ALPHA_NOW] = alpha
                state[ASKED] = alpha
                state[RECORD_NOW] = 0
                state[FRAME_NOW] = 0
            value = search(game, columns, table, bits, tag_bits, stack, state)
            if value != NO_VALUE:
                if value > state[ASKED]:
                    state[LOWER] = value
                else:
                    state[UPPER] = value
            report(state, batch)
            if value == NO_VALUE:
                return False
        report(state, batch)
        state[STARTED] = 0
        state[INDEX] = index + 1
    return True


@kernel
def report(state: Ints, batch: Batch) -> None:
    """Writes what is known of the score of the position that is being searched into its row of the batch."""
    sign = state[ROOT_SIGN]
    batch[state[INDEX], AT_LEAST] = state[LOWER] if sign == 1 else -state[UPPER]
    batch[state[INDEX], AT_MOST] = state[UPPER] if sign == 1 else -state[LOWER]
