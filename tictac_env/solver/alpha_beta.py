"""Compiled parts of the players: alpha-beta search to a fixed depth, and safe moves.

Importing this module loads Numba. The first search on a machine compiles, which takes about two seconds.
"""

from __future__ import annotations

import functools

import numpy as np

from tictac_env.arrays import Ints
from tictac_env.compiled import borrowing_kernel, kernel
from tictac_env.games import UNFINISHED, Game
from tictac_env.policies.heuristics import safe_choices
from tictac_env.rng import mix
from tictac_env.solver.enumerate import NO_SCORE, loss_score

COMPILED_AS = "minimax"

OWN, OPP, HORIZON, LOW, HIGH = range(5)
"""The columns of a transposition table: a position, the last ply its search reached, and the bounds of its score."""
ALPHA, BETA, BEST, MOVES, NEXT = range(5, 10)
"""The other columns of the stack: a position's window, the best score so far, and the moves still to try."""
UNKNOWN = int(NO_SCORE)
"""Less than any score."""
MAX_TABLE_BITS = 18
"""2**18 entries of 40 bytes."""
PIECE = 64
"""Number of positions searched between two chances to react to Ctrl-C."""


def action_scores(game: Game, own: int, opp: int, depth: int) -> list[int | None]:
    """The score of each action in an unfinished position after a search of `depth` plies, None if it is illegal.

    A pure function: the entries of the transposition table hold for every search that reads them.
    """
    scores = scores_many(game, np.array([own], np.int64), np.array([opp], np.int64), depth)[0]
    return [None if score == NO_SCORE else score for score in scores.tolist()]


def scores_many(game: Game, own: Ints, opp: Ints, depth: int) -> Ints:
    """The scores of the actions in B unfinished positions, as in `action_scores`: int64 (B, num_actions).

    An illegal action has `NO_SCORE`. No search looks further ahead than the game can last.
    """
    depth = min(depth, game.cells)
    scores, table = np.full((len(own), game.num_actions), NO_SCORE, np.int64), new_table(depth)
    for begin in range(0, len(own), PIECE):
        some = slice(begin, begin + PIECE)
        score_actions(game, own[some], opp[some], depth, middle_out(game), table, scores[some])
    return scores


def new_table(depth: int) -> Ints:
    """An empty transposition table for searches of `depth` plies: int64 (a power of two, 5).

    Clearing a larger table would take longer than a shallow search.
    """
    return np.zeros((1 << min(max(2 * depth - 4, 1), MAX_TABLE_BITS), 5), np.int64)


@functools.lru_cache(maxsize=64)
def middle_out(game: Game) -> Ints:
    """The `choice` bits of the actions, central ones first: they tend to be better and so prune more."""
    middle = (game.num_actions - 1) / 2
    actions = sorted(range(game.num_actions), key=lambda action: abs(action - middle))
    return np.array([game.choice(action) for action in actions], np.int64)


compiled_loss_score = kernel(loss_score)


@kernel
def score_actions(game: Game, own: Ints, opp: Ints, depth: int, order: Ints, table: Ints, scores: Ints) -> None:
    """Writes the score of each legal action in each of B positions into `scores`, int64 (B, num_actions)."""
    # One stack serves all searches: each fills its rows before it reads them.
    stack = np.empty((depth + 1, 10), np.int64)
    for i in range(len(own)):
        # A window of all scores: each action gets its exact score, not only the best one.
        plies = min(depth, game.cells - (own[i] | opp[i]).bit_count())
        for action in range(game.num_actions):
            after = game.play(own[i], opp[i], action)
            if after[0] != own[i] or after[1] != opp[i]:
                scores[i, action] = -search_depth(
                    game, after[0], after[1], plies - 1, -game.cells, game.cells, order, table, stack
                )


@borrowing_kernel
def search_depth(
    game: Game, own: int, opp: int, depth: int, alpha: int, beta: int, order: Ints, table: Ints, stack: Ints
) -> int:
    """The score of a position after a search of `depth` plies: exact if the game is decided by then, otherwise 0.

    Scores outside (alpha, beta) are bounds: at most alpha, an upper bound; at least beta, a lower bound (fail-soft
    negamax; Knuth and Moore, "An analysis of alpha-beta pruning", 1975). The transposition table keeps the bounds for
    positions that come up again.

    The positions between the root and the current one are on a stack, a row each. Recursion would be shorter, but
    recursive machine code of Numba crashes when a later process loads it.

    `order`, int64 (num_actions,), has the `choice` bits of the actions in the order in which they are tried; `stack`,
    int64 (depth + 1, 10), is scratch. Other searches of the same game may have used the `table` (see `new_table`).
    """
    # The loop stands for this recursion, with a row of the stack for each call that has not returned:
    #
    #     search(position, alpha, beta):
    #         if look(position) knows the score: return it    # the game is over, the horizon, a quick win, the table
    #         for move in the order of `order`:
    #             best = max(best, -search(position after move, -beta, -max(alpha, best)))
    #             if best >= beta, or no score can be better: break
    #         store the bounds in the table
    #         return best
    #
    # The horizon is a ply, so that positions reached in several ways have one entry: it holds for this horizon only.
    horizon = (own | opp).bit_count() + depth
    score = look(game, own, opp, horizon, alpha, beta, table, stack[0])
    if score != UNKNOWN:
        return score
    level = 0
    while True:
        # Select the next move of the row: MOVES is not empty, otherwise `take` would have decided the position.
        at = stack[level]
        while not at[MOVES] & order[at[NEXT]]:
            at[NEXT] += 1
        choice = order[at[NEXT]]
        at[MOVES] ^= choice
        # Call: the child's window is the parent's, seen by the other side and narrowed by the best score so far.
        next_own, next_opp = game.play_choice(at[OWN], at[OPP], choice)
        alpha, beta = -at[BETA], -max(at[ALPHA], at[BEST])
        score = look(game, next_own, next_opp, horizon, alpha, beta, table, stack[level + 1])
        level += 1
        # Return: the score goes to the position before, which may then be decided too.
        while score != UNKNOWN:
            level -= 1
            if level < 0:
                return score
            score = take(-score, table, stack[level])


@borrowing_kernel
def look(game: Game, own: int, opp: int, horizon: int, alpha: int, beta: int, table: Ints, at: Ints) -> int:
    """The score of a position if it is known without trying moves; otherwise `UNKNOWN`, and `at` becomes its row."""
    ply = (own | opp).bit_count()
    result = game.result(own, opp)
    if result != UNFINISHED:
        return -result * compiled_loss_score(game, ply)
    # At best the side to move wins with its next stone, at worst the other side does with the one after.
    low, high = compiled_loss_score(game, ply + 2), -compiled_loss_score(game, ply + 1)
    if not game.knows_wins:
        low = -high  # or its own next stone loses
        if horizon <= ply:
            return 0
    else:
        # A win with the next stone is the best possible score, so no move need be tried. Without one, nothing can
        # happen within a horizon of one ply.
        if horizon > ply and game.winning_choices(own, opp, game.seat(own, opp)):
            return high
        if horizon <= ply + 1:
            return 0
    # The entry holds the whole position, so it is exact. Bounds that meet, or leave the window, decide.
    entry = table[slot(own, opp, table)]
    if entry[OWN] == own and entry[OPP] == opp and entry[HORIZON] == horizon:
        low, high = int(entry[LOW]), int(entry[HIGH])
        if low >= beta or low == high:
            return low
        if high <= alpha:
            return high
    # Moves must be tried: fill the row.
    at[OWN], at[OPP], at[HORIZON], at[LOW], at[HIGH] = own, opp, horizon, low, high
    at[ALPHA], at[BETA], at[BEST], at[NEXT] = alpha, beta, -game.cells, 0
    # A win of the other side must be blocked: any other move is no better than a block that fails.
    blocks = game.winning_choices(opp, own, 1 - game.seat(own, opp)) if game.knows_wins else 0
    at[MOVES] = blocks or game.legal(own, opp)
    return UNKNOWN


@borrowing_kernel
def take(score: int, table: Ints, at: Ints) -> int:
    """Records the score of a move in the position of row `at`; returns its score if that is decided, or `UNKNOWN`."""
    # Another move is worth trying while there is one, the window is open, and a better score is possible at all.
    best = at[BEST] = max(int(at[BEST]), score)
    if at[MOVES] and best < at[BETA] and best < at[HIGH]:
        return UNKNOWN
    # Fail-soft: above alpha the score is at least `best`, below beta at most `best`, and between both it is exact.
    if best > at[ALPHA]:
        at[LOW] = best
    if best < at[BETA]:
        at[HIGH] = best
    # The newest entry replaces the one that was there.
    entry = table[slot(at[OWN], at[OPP], table)]
    for column in (OWN, OPP, HORIZON, LOW, HIGH):
        entry[column] = at[column]
    return best


@borrowing_kernel
def slot(own: int, opp: int, table: Ints) -> int:
    """The row of a transposition table for a position."""
    return int(mix(own ^ mix(opp)) & len(table) - 1)


@kernel
def find_safe(game: Game, own: Ints, opp: Ints, safe: Ints) -> None:
    """Writes `safe_choices` of B positions into `safe`, int64 (B,)."""
    for i in range(len(own)):
        safe[i] = safe_choices(game, own[i], opp[i])
