"""Alpha-beta search over the values of an n-tuple network, compiled."""

from __future__ import annotations

import functools

import numpy as np

from tictac_agents.ntuple.kernels import ILLEGAL, WIN, Tables, place, show, sum_after
from tictac_agents.ntuple.self_play import sensible
from tictac_agents.ntuple.tuples import Ints
from tictac_env.compiled import borrowing_kernel, kernel
from tictac_env.games.k_in_a_row import KInARow

MAX_PLIES = 20
UNKNOWN = ILLEGAL

OWN, OPP, MINE, THEIRS, DEPTH, ALPHA, BETA, BEST, CELLS, NEXT, BIT, SEAT = range(12)
"""What the stack has of a position: the stones and threats of the side to move and of the other, the plies left, the
window, the best score so far, the cells still to be tried, the next span, the stone that led to it, the seat."""


@kernel
def look_ahead(
    game: KInARow, tables: Tables, own: Ints, opp: Ints, plies: int, spans: Ints, exact: bool, actions: Ints,
    scores: Ints,
) -> None:  # fmt: skip
    """Searches B positions `plies` deep, the action being the first.

    Args:
        game: the rule book.
        tables: the network.
        own: int64 (B,), the stones of the sides to move.
        opp: the other sides'.
        plies: how far to look.
        spans: see `spans_of`.
        exact: whether all scores are wanted, rather than upper bounds of all but the best.
        actions: int64 (B,), to be filled with the best action, that in the middle among equals.
        scores: int64 (B, num_actions), to be filled as by `score_actions`.
    """
    stack = np.empty((game.cells + 2, 12), np.int64)
    for i in range(len(own)):
        show(game, tables, own[i], opp[i])
        seat = game.seat(own[i], opp[i])
        mine, theirs = game.threats(own[i], seat), game.threats(opp[i], 1 - seat)
        ply = (own[i] | opp[i]).bit_count() + 1
        best = UNKNOWN
        scores[i, :] = ILLEGAL
        for rank in range(len(spans)):
            stone = game.playable(own[i], opp[i]) & spans[rank]
            if not stone:
                continue
            after = own[i] | stone
            if mine & stone:
                score = WIN - ply
            else:
                place(tables, (stone - 1).bit_count(), seat)
                score = -search(
                    game, tables, opp[i], after, theirs, game.threats(after, seat), 1 - seat, plies - 1,
                    UNKNOWN, -UNKNOWN if exact else -best, spans, stack,
                )  # fmt: skip
                place(tables, (stone - 1).bit_count(), seat)
            action = action_at(game, rank, spans)
            scores[i, action] = score
            if score > best:
                best, actions[i] = score, action


@borrowing_kernel
def search(
    game: KInARow, tables: Tables, own: int, opp: int, mine: int, theirs: int, seat: int, depth: int, alpha: int,
    beta: int, spans: Ints, stack: Ints,
) -> int:  # fmt: skip
    """The score of a position, which the board shows, after a search of `depth` plies; outside (alpha, beta) a bound.

    Forced replies take none of the depth. The positions between the root and the one looked at stand on a stack, as
    Numba's machine code must not call itself.
    """
    level = 0
    score = enter(game, tables, own, opp, mine, theirs, seat, depth, alpha, beta, stack[0])
    while True:
        while score != UNKNOWN:
            if level == 0:
                return score
            at = stack[level - 1]
            place(tables, stack[level, BIT], at[SEAT])
            level -= 1
            at[BEST] = max(at[BEST], -score)
            done = at[BEST] >= at[BETA] or not at[CELLS]
            score = at[BEST] if done else UNKNOWN
        at = stack[level]
        while not at[CELLS] & spans[at[NEXT]]:
            at[NEXT] += 1
        stone = at[CELLS] & spans[at[NEXT]]
        at[CELLS] ^= stone
        stack[level + 1, BIT] = (stone - 1).bit_count()
        place(tables, stack[level + 1, BIT], at[SEAT])
        after = at[OWN] | stone
        score = enter(
            game, tables, at[OPP], after, at[THEIRS], game.threats(after, at[SEAT]), 1 - at[SEAT], at[DEPTH],
            -at[BETA], -max(at[ALPHA], at[BEST]), stack[level + 1],
        )  # fmt: skip
        level += 1


@borrowing_kernel
def enter(
    game: KInARow, tables: Tables, own: int, opp: int, mine: int, theirs: int, seat: int, depth: int, alpha: int,
    beta: int, at: Ints,
) -> int:  # fmt: skip
    """The score of a position if it is known without a search, else `UNKNOWN`; then `at` is made its row."""
    cells, result = sensible(game, own, opp, mine, theirs, True)
    ply = (own | opp).bit_count() + 1
    if cells == 0:
        return result * (WIN - ply - (result < 0))
    if depth == 0:
        return -int(tables.sums[1 - seat])
    if depth == 1:
        return best_of(game, tables, own, opp, theirs, seat, cells, beta)
    at[OWN], at[OPP], at[MINE], at[THEIRS], at[SEAT] = own, opp, mine, theirs, seat
    at[DEPTH] = depth - (theirs & cells == 0)
    at[ALPHA], at[BETA], at[BEST], at[CELLS], at[NEXT] = alpha, beta, UNKNOWN, cells, 0
    return UNKNOWN


@borrowing_kernel
def best_of(game: KInARow, tables: Tables, own: int, opp: int, theirs: int, seat: int, cells: int, beta: int) -> int:
    """The score of the best of some cells, as the network or the next ply tells; at least beta, a bound."""
    best = UNKNOWN
    ply = (own | opp).bit_count() + 1
    while cells and best < beta:
        rest = cells & cells - 1
        cell = cells ^ rest
        after = own | cell
        left, result = sensible(game, opp, after, theirs, game.threats(after, seat), True)
        over = -result * (WIN - ply - 1 - (result < 0))
        best = max(best, sum_after(tables, (cell - 1).bit_count(), seat) if left else over)
        cells = rest
    return best


@borrowing_kernel
def action_at(game: KInARow, rank: int, spans: Ints) -> int:
    """The action whose stone lies in a span."""
    for action in range(game.num_actions):
        if game.choice(action) & spans[rank]:
            return action
    return -1


@functools.lru_cache(maxsize=64)
def spans_of(game: KInARow) -> Ints:
    """The cells in which the stone of each action can lie, the middle ones first, which tend to be better: int64."""
    middle = (game.num_actions - 1) / 2
    actions = sorted(range(game.num_actions), key=lambda action: abs(action - middle))
    spans = [game.column << action * game.stride if game.gravity else game.choice(action) for action in actions]
    return np.array(spans, np.int64)
