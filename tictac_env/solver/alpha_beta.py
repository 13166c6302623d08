"""Alpha-beta search to a fixed depth, compiled: what a player who looks that far ahead knows.

Importing this module loads Numba. The first search of a process compiles, which takes about two seconds.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from tictac_env.compiled import kernel, unkept_kernel
from tictac_env.games import UNFINISHED, Game
from tictac_env.rng import mix
from tictac_env.solver.enumerate import NO_SCORE, loss_score

Ints = npt.NDArray[np.int64]

OWN, OPP, HORIZON, LOW, HIGH = range(5)
"""The columns of a transposition table: a position, the ply its search looked to, and the bounds found on its score."""
MAX_TABLE_BITS = 18
"""2**18 entries of 40 bytes."""


def action_scores(game: Game, own: int, opp: int, depth: int) -> list[int | None]:
    """The score of each action in an unfinished position after a search of `depth` plies, None where it is illegal.

    A pure function: what the transposition table remembers is true for any search that asks for it.
    """
    scores = np.full(game.num_actions, NO_SCORE, np.int64)
    score_actions(game, own, opp, depth, middle_out(game), new_table(depth), scores)
    return [None if score == NO_SCORE else score for score in scores.tolist()]


def new_table(depth: int) -> Ints:
    """An empty transposition table for searches of `depth` plies: int64 (a power of two, 5).

    Clearing a table that is too large would take longer than a shallow search does.
    """
    return np.zeros((1 << min(max(2 * depth - 4, 1), MAX_TABLE_BITS), 5), np.int64)


@functools.lru_cache(maxsize=64)
def middle_out(game: Game) -> Ints:
    """The `choice` bits of the actions, those in the middle first: they tend to be better and so prune more."""
    middle = (game.num_actions - 1) / 2
    actions = sorted(range(game.num_actions), key=lambda action: abs(action - middle))
    return np.array([game.choice(action) for action in actions], np.int64)


compiled_loss_score = kernel(loss_score)


@unkept_kernel
def score_actions(game: Game, own: int, opp: int, depth: int, order: Ints, table: Ints, scores: Ints) -> None:
    """Writes the score of each legal action into `scores`, int64 (num_actions,)."""
    for action in range(game.num_actions):
        next_own, next_opp = game.play(own, opp, action)
        if next_own != own or next_opp != opp:
            scores[action] = -search(game, next_own, next_opp, depth - 1, -game.cells, game.cells, order, table)


@unkept_kernel
def search(game: Game, own: int, opp: int, depth: int, alpha: int, beta: int, order: Ints, table: Ints) -> int:
    """The score of a position as far as `depth` plies tell: exact if the game is decided by then, else 0.

    Scores outside (alpha, beta) are bounds: at most alpha, an upper bound; at least beta, a lower one (fail-soft
    negamax; Knuth and Moore, "An analysis of alpha-beta pruning", 1975). Bounds on positions that come up again are
    remembered in the transposition table.

    Args:
        game: the rule book.
        own: the stones of the side to move.
        opp: the other side's.
        depth: how many plies to look ahead.
        alpha: see above.
        beta: more than alpha.
        order: int64 (num_actions,), the `choice` bits of the actions in the order in which they are tried.
        table: see `new_table`; it may have served any other searches of the same game.
    """
    ply = (own | opp).bit_count()
    result = game.result(own, opp)
    if result != UNFINISHED:
        return -result * compiled_loss_score(game, ply)
    # At best the side to move wins with its next stone, at worst the other side does with the one after.
    low, high = compiled_loss_score(game, ply + 2), -compiled_loss_score(game, ply + 1)
    if depth > 0 and game.winning_choices(own, opp):
        return high
    if depth <= 1:
        return 0
    slot = mix(own ^ mix(opp)) & len(table) - 1
    if table[slot, OWN] == own and table[slot, OPP] == opp and table[slot, HORIZON] == ply + depth:
        low, high = int(table[slot, LOW]), int(table[slot, HIGH])
        if low >= beta or low == high:
            return low
        if high <= alpha:
            return high
    best = -game.cells
    # A win of the other side's must be blocked: any other move is no better than a block that fails.
    moves = game.winning_choices(opp, own)
    if moves == 0:
        moves = game.legal(own, opp)
    for choice in order:
        if moves & choice:
            next_own, next_opp = game.play_choice(own, opp, choice)
            score = -search(game, next_own, next_opp, depth - 1, -beta, -max(alpha, best), order, table)
            best = max(best, score)
            if best >= beta or best >= high:
                break
    table[slot, OWN], table[slot, OPP], table[slot, HORIZON] = own, opp, ply + depth
    table[slot, LOW] = best if best > alpha else low
    table[slot, HIGH] = best if best < beta else high
    return best
