"""Alpha-beta search over the values of an n-tuple network, by iterative deepening, compiled.

Each iteration searches a ply deeper and uses the results of the one before: the best move of a position (from the
transposition table), and the moves that caused most cutoffs (the history heuristic). So the best move is nearly always
tried first, and most others are cut off.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np

from tictac_agents.ntuple.self_play import sensible
from tictac_agents.ntuple.values import ILLEGAL, WIN, Ints, Tables, place, set_board, sum_after
from tictac_env.compiled import borrowing_kernel, kernel
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.rng import mix

OWN, OPP = 0, 1
"""The first columns of a row of the stack and of the table: the stones of the side to move, and of the other side."""
MINE, THEIRS, SEAT, DEPTH, LEFT, ALPHA, BETA, BEST, CHOICE, COUNT, NEXT = range(2, 13)
"""The other columns of the stack: the threats of both sides, the seat to move, the plies to search from here and from
the next position, the window, the best score so far, 1 more than the bit of its move (0 for none), the number of moves,
and the number of the one that is searched."""
COLUMNS = 13
SCORE, INFO = 2, 3
"""The other columns of the table; `store_row` draws the last one."""
LOWER, UPPER = 1, 2
"""Bits of a bound: the score is at least this high, at most this high, or with both bits exact."""
LEVEL, NODES, SEARCHED = range(3)
"""The `state`: the distance from the root, the positions visited, and the plies of the last finished iteration."""
PROVEN = WIN >> 1
"""Scores above this are proven wins, scores below its negative proven losses."""
UNKNOWN = ILLEGAL
MAX_ROWS = 1 << 20
"""32 MB; the operating system gives memory as rows are filled."""
MAX_PLIES = 20
ROWS_A_MS = 1024
"""About the number of positions that a millisecond stores in the table."""
CHUNK = 1 << 17
"""The most positions between two looks at the clock and for Ctrl-C: less than a tenth of a second."""
ALL = 1 << 62
"""More positions than any search visits."""

Clock = Callable[[], float]


class Search(NamedTuple):
    """A search of one position at a time, and its memory, which no two threads may share."""

    table: Ints
    """(a power of two, 4): the transposition table; see `store_row`."""
    stack: Ints
    """(cells + 2, 13): the positions from the root to the current one."""
    moves: Ints
    """(cells + 2, num_actions): the bits of the moves of each position on the stack, in the order in which they are
    tried; the last row is for positions one ply before the horizon, which are not on the stack."""
    history: Ints
    """(2, 64): the history heuristic, for each seat and cell the depth**2 of its cutoffs."""
    ranks: Ints
    """(64,): for each cell the number of actions nearer to the middle than its own; moves in the middle tend to be
    better."""
    scores: Ints
    """(64,): the score of a stone in each cell at the root, by the current iteration."""
    finished_scores: Ints
    """(64,): by the last finished iteration."""
    state: Ints
    """(3,): `LEVEL`, `NODES` and `SEARCHED`."""
    exact: bool
    """True for the exact scores of all moves at the root, False for upper bounds of all but the best."""
    timed: bool
    """True to stop as soon as the choice is clear."""


def new_search(game: KInARow, rows: float, exact: bool, timed: bool) -> Search:
    """A search with an empty table of at least `rows` rows, rounded up to a power of two from 2**4 to `MAX_ROWS`."""
    size = 1 << (int(min(max(rows, 16), MAX_ROWS)) - 1).bit_length()
    return Search(
        table=np.zeros((size, 4), np.int64),
        stack=np.zeros((game.cells + 2, COLUMNS), np.int64),
        moves=np.zeros((game.cells + 2, game.num_actions), np.int64),
        history=np.zeros((2, 64), np.int64),
        ranks=distances(game),
        scores=np.full(64, ILLEGAL, np.int64),
        finished_scores=np.full(64, ILLEGAL, np.int64),
        state=np.zeros(3, np.int64),
        exact=exact,
        timed=timed,
    )


@functools.lru_cache(maxsize=64)
def distances(game: KInARow) -> Ints:
    """For each cell the number of actions nearer to the middle than its own: int64 (64,)."""
    middle = (game.num_actions - 1) / 2
    ranks = np.zeros(64, np.int64)
    for rank, action in enumerate(sorted(range(game.num_actions), key=lambda action: abs(action - middle))):
        span = game.column << action * game.stride if game.gravity else game.choice(action)
        ranks[[bit for bit in range(64) if span >> bit & 1]] = rank
    return ranks


def look_ahead(
    game: KInARow, tables: Tables, own: Ints, opp: Ints, plies: int, milliseconds: float | None, exact: bool
) -> tuple[Ints, Ints]:
    """Searches each of B unfinished positions, own and opp int64 (B,), `plies` deep (at least 2) or for a time.

    A search by plies depends only on the position. Without `exact` all scores but the best are upper bounds.

    Returns:
        int64 (B, num_actions): the scores as `values.score_afterstates` gives them; int64 (B,): the best actions, those
        in the middle among equals.
    """
    scores, actions = np.empty((len(own), game.num_actions), np.int64), np.empty(len(own), np.int64)
    # By plies all positions share one table, whose size grows with the depth; by time each has a search of its own.
    if milliseconds is None:
        search = new_search(game, 2 ** (plies + 3), exact, timed=False)
        search_plies(game, tables, search, own, opp, plies, actions, scores)
        return scores, actions
    for i in range(len(own)):
        search, _ = search_for(game, tables, own[i], opp[i], milliseconds, exact)
        actions[i] = chosen_action(game, search, scores[i])
    return scores, actions


@kernel
def search_plies(
    game: KInARow, tables: Tables, search: Search, own: Ints, opp: Ints, plies: int, actions: Ints, scores: Ints
) -> None:
    """Fills actions and scores for `look_ahead`."""
    for i in range(len(own)):
        set_root(game, tables, search, own[i], opp[i])
        deepen(game, tables, search, plies, ALL)
        actions[i] = chosen_action(game, search, scores[i])


def search_for(
    game: KInARow, tables: Tables, own: int, opp: int, milliseconds: float, exact: bool, clock: Clock = perf_counter
) -> tuple[Search, bool]:
    """Searches a position for `milliseconds`, but at least two plies; looks at the clock five times or more.

    It ends early if a move is a proven win, or all moves but one are proven losses.

    Returns:
        The search, and True if it ended early.
    """
    seconds = milliseconds / 1000
    search = new_search(game, ROWS_A_MS * milliseconds, exact, timed=True)
    set_root(game, tables, search, own, opp)
    deepen(game, tables, search, 2, ALL)  # before the clock: this takes no time, but may compile
    began, before, nodes = clock(), int(search.state[NODES]), 64
    while not deepen(game, tables, search, game.cells, nodes):
        elapsed = clock() - began
        if elapsed >= seconds:
            return search, False
        # The next look comes when the remaining time should be over, but after a fifth of the whole time at the latest.
        rate = (int(search.state[NODES]) - before) / max(elapsed, 1e-6)
        nodes = max(1, min(CHUNK, int(rate * min(seconds - elapsed, seconds / 5))))
    return search, True


@kernel
def set_root(game: KInARow, tables: Tables, search: Search, own: int, opp: int) -> None:
    """Sets a search to an unfinished position, and clears all but its table, which is valid for any position."""
    set_board(game, tables, own, opp)
    seat = game.seat(own, opp)
    root, state = search.stack[0], search.state
    root[OWN], root[OPP], root[SEAT] = own, opp, seat
    root[MINE], root[THEIRS] = game.threats(own, seat), game.threats(opp, 1 - seat)
    root[CHOICE] = 0
    state[NODES], state[SEARCHED] = 0, 1
    # Without a history yet, moves in the middle come first.
    for bit in range(64):
        search.history[0, bit] = search.history[1, bit] = -search.ranks[bit]
    start_iteration(game, search, 2)


@borrowing_kernel
def start_iteration(game: KInARow, search: Search, depth: int) -> None:
    """Begins to search the root `depth` plies deep, the best move so far first."""
    root = search.stack[0]
    root[DEPTH], root[LEFT] = depth, depth - 1
    root[ALPHA], root[BETA], root[BEST], root[NEXT] = UNKNOWN, -UNKNOWN, UNKNOWN, 0
    playable = game.playable(root[OWN], root[OPP])
    root[COUNT] = order_moves(search, search.moves[0], playable, root[SEAT], root[CHOICE])
    search.state[LEVEL] = 0


@kernel
def deepen(game: KInARow, tables: Tables, search: Search, plies: int, nodes: int) -> bool:
    """Searches deeper and deeper, until about `nodes` more positions are visited.

    Returns:
        True if it is done: after a search of `plies`, or of as many plies as there are empty cells.
    """
    # The first search is two plies deep; none need be deeper than there are empty cells.
    state, root = search.state, search.stack[0]
    most = min(plies, max(2, game.cells - (root[OWN] | root[OPP]).bit_count()))
    end = state[NODES] + nodes
    while state[SEARCHED] < most and not (search.timed and is_clear(search)):
        if not search_root(game, tables, search, end):
            return False  # paused: the stack stays as it is, and the next call continues there
        state[SEARCHED] = root[DEPTH]
        for bit in range(64):
            search.finished_scores[bit] = search.scores[bit]
        start_iteration(game, search, state[SEARCHED] + 1)
    return True


@borrowing_kernel
def is_clear(search: Search) -> bool:
    """True if a move is a proven win, or all moves but at most one are proven losses."""
    if search.state[SEARCHED] < 2:
        return False
    # Proven losses need no further look: with one other move there is nothing left to choose.
    root, not_lost = search.stack[0], 0
    for i in range(root[COUNT]):
        score = search.finished_scores[search.moves[0, i]]
        if score > PROVEN:
            return True
        not_lost += score > -PROVEN
    return not_lost <= 1


@kernel
def chosen_action(game: KInARow, search: Search, scores: Ints) -> int:
    """The best action so far; fills scores, int64 (num_actions,), with those of the last finished iteration.

    An unfinished iteration counts as soon as it has the score of a move. If that is a loss, a move that it has not yet
    searched is better.
    """
    # The first of the moves not yet searched (the loop goes backward, so it is the last one assigned) that was not lost
    # in the finished iteration.
    root = search.stack[0]
    bit = root[CHOICE] - 1
    if UNKNOWN < root[BEST] < -PROVEN:
        for i in range(root[COUNT] - 1, root[NEXT] - 1, -1):
            if search.finished_scores[search.moves[0, i]] > -PROVEN:
                bit = search.moves[0, i]
    chosen = -1
    for action in range(game.num_actions):
        stone = game.stone(root[OWN], root[OPP], action)
        scores[action] = search.finished_scores[(stone - 1).bit_count()] if stone else ILLEGAL
        if stone == 1 << bit:
            chosen = action
    return chosen


@borrowing_kernel
def search_root(game: KInARow, tables: Tables, search: Search, end: int) -> bool:
    """Continues the search of the root until it is finished, or `end` positions are visited; True if finished."""
    # Numba's machine code must not call itself, so this loop has a stack; so it can also pause at any position while
    # Python looks at the clock. As a recursion it would be
    #
    #     def search(position, depth, alpha, beta):
    #         if the position is over, lost at once or in the table: return its score          # `visit`
    #         if depth == 1: return the best value by the network                              # `best_at_horizon`
    #         best = -infinity
    #         for move in the order of the history:                                            # `order_moves`
    #             left = depth if the move is forced else depth - 1
    #             best = max(best, -search(position after the move, left, -beta, -max(alpha, best)))
    #             if best >= beta: break                                                       # a cutoff
    #         store best in the table                                                          # `store_row`
    #         return best
    #
    # A row of the stack has the variables of one call. Each pass of the loop makes a step in the call at the top:
    #
    #     level 0  root              NEXT of COUNT moves, ALPHA, BETA, BEST
    #           1  after its move    ...
    #           2  after the reply   ...      <- `at`: tries its next move (a call, which either has a score at once or
    #                                            gets level 3), or has tried all and returns its BEST to level 1
    stack, moves, state = search.stack, search.moves, search.state
    level = int(state[LEVEL])
    while state[NODES] < end:
        at = stack[level]
        best = int(at[BEST])
        if at[NEXT] < at[COUNT] and best < at[BETA]:
            # Try the next move. At the root the window has no upper end: with `exact` no move is cut off, else one has
            # to beat the best (or, nearer to the middle, to be as good).
            bit, seat, low = int(moves[level, at[NEXT]]), int(at[SEAT]), max(int(at[ALPHA]), best)
            if level == 0:
                low = UNKNOWN if search.exact else best - wins_ties(search, bit)
            # Scores are for the side to move after the stone; a win of this side is a loss of that one.
            after = at[OWN] | 1 << bit
            if at[MINE] >> bit & 1:
                score = after.bit_count() + at[OPP].bit_count() - WIN
            else:
                score = visit(
                    game, tables, search, level + 1, at[OPP], after, at[THEIRS], game.threats(after, seat), 1 - seat,
                    at[LEFT], -at[BETA], -low, bit,
                )  # fmt: skip
            if score == UNKNOWN:
                level += 1  # the call: its position is on the stack
            else:
                record_score(search, level, -score)
        elif level == 0:
            return True
        else:
            # The return: all moves are tried, or one caused a cutoff, which the history rewards by the depth it saved.
            if best >= at[BETA]:
                search.history[at[SEAT], at[CHOICE] - 1] += at[DEPTH] * at[DEPTH]
            store_row(search.table, at[OWN], at[OPP], at[DEPTH], at[ALPHA], at[BETA], best, at[CHOICE])
            # Remove the stone that led here from the network's board, and give the score to the position before.
            level -= 1
            place(tables, moves[level, stack[level, NEXT]], 1 - at[SEAT])
            record_score(search, level, -best)
    state[LEVEL] = level
    return False


@borrowing_kernel
def wins_ties(search: Search, bit: int) -> int:
    """1 if a move at the root is nearer to the middle than the best so far, so that it only has to be as good; else 0.

    So the choice among equals does not depend on the order in which they were tried.
    """
    root = search.stack[0]
    return int(root[BEST] != UNKNOWN and search.ranks[bit] < search.ranks[root[CHOICE] - 1])


@borrowing_kernel
def record_score(search: Search, level: int, score: int) -> None:
    """Records the score of the move that was tried in a position on the stack."""
    # Only at the root does a move nearer to the middle win a tie; elsewhere the first of equal moves stays.
    at = search.stack[level]
    bit = int(search.moves[level, at[NEXT]])
    at[NEXT] += 1
    better = score > at[BEST]
    if level == 0:
        search.scores[bit] = score
        better = better or (score == at[BEST] and wins_ties(search, bit) == 1)
    if better:
        at[BEST], at[CHOICE] = score, bit + 1


@borrowing_kernel
def visit(
    game: KInARow, tables: Tables, search: Search, level: int, own: int, opp: int, mine: int, theirs: int, seat: int,
    depth: int, alpha: int, beta: int, bit: int,
) -> int:  # fmt: skip
    """The score of the position after the stone `bit`, not yet on the board; a bound if it is outside the window.

    Forced replies do not count towards the depth. If the score needs a search, it is `UNKNOWN`; then the position is on
    the stack at `level`, and on the network's board.
    """
    search.state[NODES] += 1
    # The one-move rule may decide the game. A win takes one more stone; a loss one more, and the other side's.
    cells, result = sensible(game, own, opp, mine, theirs, True)
    stones = (own | opp).bit_count()
    if cells == 0:
        return result * (WIN - stones - 1 - (result < 0))
    depth = min(depth, game.cells - stones)  # after the last cell the game is over
    # The table may have the score, and otherwise the best move of a search that was less deep.
    score, move = UNKNOWN, 0
    if depth > 1:
        score, move = look_up(search.table, own, opp, depth, alpha, beta)
        if score != UNKNOWN:
            return score
    # One ply before the horizon the network values the moves, and nothing is put on the stack.
    place(tables, bit, 1 - seat)
    if depth == 1:
        score = best_at_horizon(game, tables, search, own, opp, theirs, seat, cells, beta)
        place(tables, bit, 1 - seat)
        return score
    # Otherwise a row of the stack is filled: the call begins. A single sensible cell that blocks a win is forced.
    at = search.stack[level]
    at[OWN], at[OPP], at[MINE], at[THEIRS], at[SEAT] = own, opp, mine, theirs, seat
    at[DEPTH], at[LEFT] = depth, depth - (theirs & cells == 0)
    at[ALPHA], at[BETA], at[BEST], at[CHOICE], at[NEXT] = alpha, beta, UNKNOWN, 0, 0
    at[COUNT] = order_moves(search, search.moves[level], cells, seat, move)
    return UNKNOWN


@borrowing_kernel
def best_at_horizon(
    game: KInARow, tables: Tables, search: Search, own: int, opp: int, theirs: int, seat: int, cells: int, beta: int
) -> int:
    """The score of the best of some cells, by the network or by the one-move rule; a lower bound if it reaches beta."""
    best = UNKNOWN
    stones = (own | opp).bit_count() + 1
    moves = search.moves[len(search.moves) - 1]
    for i in range(order_moves(search, moves, cells, seat, 0)):
        bit = int(moves[i])
        # The one-move rule sees a ply further: without a sensible reply the game is decided.
        after = own | 1 << bit
        replies, result = sensible(game, opp, after, theirs, game.threats(after, seat), True)
        over = -result * (WIN - stones - 1 - (result < 0))
        best = max(best, sum_after(tables, bit, seat) if replies else over)
        if best >= beta:
            search.history[seat, bit] += 1
            break
    return best


@borrowing_kernel
def order_moves(search: Search, moves: Ints, cells: int, seat: int, first: int) -> int:
    """Writes the bits of some cells to `moves`, bit `first` - 1 first, then by their history; returns the number."""
    # Insertion sort, as moves are few. The cells come one by one, the lowest bit first: x & (x - 1) clears
    # it, and (1 << n) - 1 has n bits.
    history = search.history[seat]
    count = 0
    while cells:
        higher = cells & cells - 1
        bit = ((cells ^ higher) - 1).bit_count()
        cells = higher
        # Moves that come after this one make room; none passes the stored best move.
        i = count
        while i > 0 and moves[i - 1] != first - 1 and (bit == first - 1 or history[moves[i - 1]] < history[bit]):
            moves[i] = moves[i - 1]
            i -= 1
        moves[i] = bit
        count += 1
    return count


@borrowing_kernel
def look_up(table: Ints, own: int, opp: int, depth: int, alpha: int, beta: int) -> tuple[int, int]:
    """The entry of a position that is to be searched `depth` plies deep with the window (alpha, beta).

    Only a search of the same depth has the score that this one would have: so no score depends on the table's content.

    Returns:
        The score or a bound that decides it, or `UNKNOWN`; 1 more than the bit of the best move, 0 if none is stored.
    """
    # `& len(table) - 2` gives an even row: it and the next one are the two rows of the position.
    place = int(mix(own ^ mix(opp)) & len(table) - 2)
    for number in range(place, place + 2):
        row = table[number]
        if row[OWN] == own and row[OPP] == opp:
            score, info = int(row[SCORE]), int(row[INFO])
            bounds = info >> 6 & 3
            # A lower bound at or above beta, and an upper bound at or below alpha, are as good as the score.
            decides = (bounds & LOWER and score >= beta) or (bounds & UPPER and score <= alpha) or bounds == 3
            return score if decides and info & 63 == depth else UNKNOWN, info >> 8
    return UNKNOWN, 0


@borrowing_kernel
def store_row(table: Ints, own: int, opp: int, depth: int, alpha: int, beta: int, score: int, move: int) -> None:
    """Stores the result of a search in the table.

    A position has two rows to choose from, side by side in one line of the processor's cache: the first keeps the
    deeper search, the second the latest of all others. The last number of a row has three parts:

        | own | opp | score | 1 + bit of the best move | bounds (2 bits) | depth (6 bits) |
    """
    place = int(mix(own ^ mix(opp)) & len(table) - 2)
    row = table[place]
    if (row[OWN] != own or row[OPP] != opp) and row[INFO] & 63 > depth:
        row = table[place + 1]
    # A score above alpha is at least what the search found, one below beta at most that; within the window it is exact.
    bounds = (LOWER if score > alpha else 0) | (UPPER if score < beta else 0)
    row[OWN], row[OPP], row[SCORE], row[INFO] = own, opp, score, move << 8 | bounds << 6 | depth
