"""Alpha-beta search over the values of an n-tuple network, by iterative deepening, compiled.

Each iteration begins with what the one before has learned: the best move of a position, and the moves that refuted
others most. So nearly always the best is tried first, and much of the rest need not be searched. The positions between
the root and the current one are on a stack, as Numba's machine code must not call itself; so the search can pause at
any of them and continue later, when Python has looked at the clock.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np

from tictac_agents.ntuple.kernels import ILLEGAL, WIN, Ints, Tables, place, show, sum_after
from tictac_agents.ntuple.self_play import sensible
from tictac_env.compiled import borrowing_kernel, kernel
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.rng import mix

OWN, OPP, MINE, THEIRS, SEAT, DEPTH, LEFT, ALPHA, BETA, BEST, CHOICE, COUNT, NEXT, BIT = range(14)
"""A row of the stack: the stones and threats of the side to move and of the other, the seat, the plies to search from
here and from the next position, the window, the best score so far, 1 more than the bit of its move, the number of
moves, the next one, and the bit of the stone that led to the position."""
LEVEL, NODES, SEARCHED = range(3)
"""The `state`: the distance from the root, the positions looked at, and the plies finished."""
SURE = WIN >> 1
"""Scores beyond this, and below its opposite, are certain wins and losses."""
UNKNOWN = ILLEGAL
SCORE, INFO = 2, 3
"""The last two numbers of a row of the table, after `OWN` and `OPP`."""
LOWER, UPPER = 1, 2
"""Bits: the score is at least so high, or at most."""
MAX_ROWS = 1 << 20
"""32 MB; memory is taken as rows are filled."""
MAX_PLIES = 20
ROWS_A_MS = 1024
"""About as many positions as are entered into the table in a millisecond."""
CHUNK = 1 << 17
"""The most positions between two looks at the clock, when Ctrl-C is heard: less than a tenth of a second."""
ALL = 1 << 62
"""More positions than any search looks at."""

Clock = Callable[[], float]


class Search(NamedTuple):
    """A search of one position at a time, and its memory, which no two threads may share."""

    table: Ints
    """See `new_table`."""
    stack: Ints
    """(cells + 2, 14)."""
    moves: Ints
    """(cells + 2, num_actions): the bits of the moves in each of these positions, in the order in which they are tried;
    the last row is for the positions before the horizon, which are not on the stack."""
    history: Ints
    """(2, 64): how much was saved by each seat's stone in each cell when it refuted what led to it."""
    ranks: Ints
    """(64,): how far each cell's action is from the middle, where the better ones tend to be."""
    now: Ints
    """(64,): the score of a stone in each cell at the root, as far as the search under way has found it."""
    found: Ints
    """(64,): as the last finished search has found it."""
    state: Ints
    exact: bool
    """True if all scores at the root are wanted, rather than upper bounds of all but the best."""
    timed: bool
    """True if a deeper search may replace a shallower one, and if to stop once the choice is clear."""


@kernel
def begin(game: KInARow, tables: Tables, search: Search, own: int, opp: int) -> None:
    """Sets a search to an unfinished position. All but its table, which holds for any position, is forgotten."""
    show(game, tables, own, opp)
    seat = game.seat(own, opp)
    at, state = search.stack[0], search.state
    at[OWN], at[OPP], at[SEAT] = own, opp, seat
    at[MINE], at[THEIRS] = game.threats(own, seat), game.threats(opp, 1 - seat)
    at[CHOICE] = 0
    state[NODES], state[SEARCHED] = 0, 1
    for bit in range(64):
        search.history[0, bit] = search.history[1, bit] = -search.ranks[bit]
    start(game, search, 2)


@borrowing_kernel
def start(game: KInARow, search: Search, depth: int) -> None:
    """Begins to search the root `depth` plies deep, the best move so far first."""
    at = search.stack[0]
    at[DEPTH], at[LEFT] = depth, depth - 1
    at[ALPHA], at[BETA], at[BEST], at[NEXT] = UNKNOWN, -UNKNOWN, UNKNOWN, 0
    at[COUNT] = arrange(search, search.moves[0], game.playable(at[OWN], at[OPP]), at[SEAT], at[CHOICE])
    search.state[LEVEL] = 0


@kernel
def deepen(game: KInARow, tables: Tables, search: Search, plies: int, nodes: int) -> bool:
    """Searches deeper and deeper, until some `nodes` more positions were looked at; True if it is done, after a search
    of `plies`, or of as many as there are empty cells.
    """
    state, root = search.state, search.stack[0]
    most = min(plies, max(2, game.cells - (root[OWN] | root[OPP]).bit_count()))
    end = state[NODES] + nodes
    while state[SEARCHED] < most and not (search.timed and is_clear(search)):
        if not go_on(game, tables, search, end):
            return False
        state[SEARCHED] = root[DEPTH]
        for bit in range(64):
            search.found[bit] = search.now[bit]
        start(game, search, state[SEARCHED] + 1)
    return True


@borrowing_kernel
def is_clear(search: Search) -> bool:
    """True if a move surely wins, or all others surely lose."""
    if search.state[SEARCHED] < 2:
        return False
    root, hopes = search.stack[0], 0
    for i in range(root[COUNT]):
        score = search.found[search.moves[0, i]]
        if score > SURE:
            return True
        hopes += score > -SURE
    return hopes <= 1


@kernel
def answer(game: KInARow, search: Search, scores: Ints) -> int:
    """The best action so far; fills scores, int64 (num_actions,), with those of the last finished search.

    An unfinished search counts as soon as it has found something. If that is a loss, a move that it has not come to is
    better.
    """
    root = search.stack[0]
    bit = root[CHOICE] - 1
    if UNKNOWN < root[BEST] < -SURE:
        for i in range(root[COUNT] - 1, root[NEXT] - 1, -1):
            if search.found[search.moves[0, i]] > -SURE:
                bit = search.moves[0, i]
    chosen = -1
    for action in range(game.num_actions):
        stone = game.stone(root[OWN], root[OPP], action)
        scores[action] = search.found[(stone - 1).bit_count()] if stone else ILLEGAL
        if stone == 1 << bit:
            chosen = action
    return chosen


@borrowing_kernel
def go_on(game: KInARow, tables: Tables, search: Search, end: int) -> bool:
    """Continues the search of the root until it is finished, or `end` positions were looked at; True if finished."""
    stack, moves, state = search.stack, search.moves, search.state
    level = int(state[LEVEL])
    while state[NODES] < end:
        at = stack[level]
        best = int(at[BEST])
        if at[NEXT] < at[COUNT] and best < at[BETA]:
            bit, seat, low = int(moves[level, at[NEXT]]), int(at[SEAT]), max(int(at[ALPHA]), best)
            if level == 0:
                low = UNKNOWN if search.exact else best - prefers(search, at, bit)
            after = at[OWN] | 1 << bit
            if at[MINE] >> bit & 1:
                score = after.bit_count() + at[OPP].bit_count() - WIN
            else:
                score = visit(
                    game, tables, search, level + 1, at[OPP], after, at[THEIRS], game.threats(after, seat), 1 - seat,
                    at[LEFT], -at[BETA], -low, bit,
                )  # fmt: skip
            if score == UNKNOWN:
                level += 1
            else:
                take(search, level, -score)
        elif level == 0:
            return True
        else:
            if best >= at[BETA]:
                search.history[at[SEAT], at[CHOICE] - 1] += at[DEPTH] * at[DEPTH]
            enter(search.table, at[OWN], at[OPP], at[DEPTH], at[ALPHA], at[BETA], best, at[CHOICE])
            place(tables, at[BIT], 1 - at[SEAT])
            level -= 1
            take(search, level, -best)
    state[LEVEL] = level
    return False


@borrowing_kernel
def prefers(search: Search, at: Ints, bit: int) -> int:
    """1 if a move at the root is nearer to the middle than the best so far, so that it only has to be as good; or 0. So
    the choice among equals does not depend on the order in which they were tried.
    """
    return int(at[BEST] != UNKNOWN and search.ranks[bit] < search.ranks[at[CHOICE] - 1])


@borrowing_kernel
def take(search: Search, level: int, score: int) -> None:
    """Records the score of the next move of a position on the stack."""
    at = search.stack[level]
    bit = int(search.moves[level, at[NEXT]])
    at[NEXT] += 1
    better = score > at[BEST]
    if level == 0:
        search.now[bit] = score
        better = better or (score == at[BEST] and prefers(search, at, bit) == 1)
    if better:
        at[BEST], at[CHOICE] = score, bit + 1


@borrowing_kernel
def visit(
    game: KInARow, tables: Tables, search: Search, level: int, own: int, opp: int, mine: int, theirs: int, seat: int,
    depth: int, alpha: int, beta: int, bit: int,
) -> int:  # fmt: skip
    """The score of the position after the stone `bit`, not yet on the board; a bound if it is outside the window.

    Forced replies take none of the depth. Where the score needs a search, it is `UNKNOWN`; then the stack has the
    position at `level`, and the board shows it.
    """
    search.state[NODES] += 1
    cells, result = sensible(game, own, opp, mine, theirs, True)
    stones = (own | opp).bit_count()
    if cells == 0:
        return result * (WIN - stones - 1 - (result < 0))
    depth = min(depth, game.cells - stones)  # beyond the last cell there is nothing to see
    score, move = UNKNOWN, 0
    if depth > 1:
        score, move = look_up(search.table, own, opp, depth, alpha, beta, search.timed)
        if score != UNKNOWN:
            return score
    place(tables, bit, 1 - seat)
    if depth == 1:
        score = best_value(game, tables, search, own, opp, theirs, seat, cells, beta)
        place(tables, bit, 1 - seat)
        return score
    at = search.stack[level]
    at[OWN], at[OPP], at[MINE], at[THEIRS], at[SEAT], at[BIT] = own, opp, mine, theirs, seat, bit
    at[DEPTH], at[LEFT] = depth, depth - (theirs & cells == 0)
    at[ALPHA], at[BETA], at[BEST], at[CHOICE], at[NEXT] = alpha, beta, UNKNOWN, 0, 0
    at[COUNT] = arrange(search, search.moves[level], cells, seat, move)
    return UNKNOWN


@borrowing_kernel
def best_value(
    game: KInARow, tables: Tables, search: Search, own: int, opp: int, theirs: int, seat: int, cells: int, beta: int
) -> int:
    """The score of the best of some cells, by the network or the next ply; at least beta, a bound."""
    best = UNKNOWN
    stones = (own | opp).bit_count() + 1
    moves = search.moves[len(search.moves) - 1]
    for i in range(arrange(search, moves, cells, seat, 0)):
        bit = int(moves[i])
        after = own | 1 << bit
        left, result = sensible(game, opp, after, theirs, game.threats(after, seat), True)
        over = -result * (WIN - stones - 1 - (result < 0))
        best = max(best, sum_after(tables, bit, seat) if left else over)
        if best >= beta:
            search.history[seat, bit] += 1
            break
    return best


@borrowing_kernel
def arrange(search: Search, moves: Ints, cells: int, seat: int, first: int) -> int:
    """Writes the bits of some cells to `moves`, bit `first` - 1 first, then what refuted most; returns the number."""
    history = search.history[seat]
    count = 0
    while cells:
        rest = cells & cells - 1
        bit = ((cells ^ rest) - 1).bit_count()
        cells = rest
        i = count
        while i > 0 and moves[i - 1] != first - 1 and (bit == first - 1 or history[moves[i - 1]] < history[bit]):
            moves[i] = moves[i - 1]
            i -= 1
        moves[i] = bit
        count += 1
    return count


def look_plies(game: KInARow, tables: Tables, own: Ints, opp: Ints, plies: int, exact: bool) -> tuple[Ints, Ints]:
    """Searches B positions, own and opp int64 (B,), `plies` deep, at least 2. The result depends on nothing else.

    Without `exact` all scores but the best are upper bounds.

    Returns:
        int64 (B, num_actions): the scores as `kernels.score_actions` gives them; int64 (B,): the best actions, those in
        the middle among equals.
    """
    scores, actions = np.empty((len(own), game.num_actions), np.int64), np.empty(len(own), np.int64)
    search = new_search(game, 2 ** (plies + 3), exact, timed=False)
    search_all(game, tables, search, own, opp, plies, actions, scores)
    return scores, actions


@kernel
def search_all(
    game: KInARow, tables: Tables, search: Search, own: Ints, opp: Ints, plies: int, actions: Ints, scores: Ints
) -> None:
    """Fills actions and scores for `look_plies`."""
    for i in range(len(own)):
        begin(game, tables, search, own[i], opp[i])
        deepen(game, tables, search, plies, ALL)
        actions[i] = answer(game, search, scores[i])


def look_for(
    game: KInARow, tables: Tables, own: Ints, opp: Ints, milliseconds: float, exact: bool, clock: Clock = perf_counter
) -> tuple[Ints, Ints]:
    """Searches each of B positions for `milliseconds`, but two plies at least; see `look_plies`.

    A search ends sooner when a move surely wins, or all others surely lose. The iteration that the time cuts short
    counts for the action, not for the scores.
    """
    scores, actions = np.empty((len(own), game.num_actions), np.int64), np.empty(len(own), np.int64)
    for i in range(len(own)):
        search = new_search(game, ROWS_A_MS * milliseconds, exact, timed=True)
        begin(game, tables, search, own[i], opp[i])
        deepen(game, tables, search, 2, ALL)  # takes no time, but what is called first may have to be compiled
        deepen_until(game, tables, search, milliseconds / 1000, clock)
        actions[i] = answer(game, search, scores[i])
    return scores, actions


def deepen_until(game: KInARow, tables: Tables, search: Search, seconds: float, clock: Clock) -> bool:
    """Searches deeper and deeper, looking at the clock five times or more; True if done before the time is over."""
    began, before, nodes = clock(), int(search.state[NODES]), 64
    while not deepen(game, tables, search, game.cells, nodes):
        elapsed = clock() - began
        if elapsed >= seconds:
            return False
        rate = (int(search.state[NODES]) - before) / max(elapsed, 1e-6)
        nodes = max(1, min(CHUNK, int(rate * min(seconds - elapsed, seconds / 5))))
    return True


def new_table(rows: float) -> Ints:
    """An empty transposition table of at least N rows, a power of two from 2**4 to `MAX_ROWS`: int64 (R, 4).

    A row is a position, a score, and in one number the plies that were searched, which bound the score is, and the best
    move. Two rows stand side by side: the first keeps the deeper search, the second takes whatever else comes.
    """
    wanted = int(min(max(rows, 16), MAX_ROWS))
    return np.zeros((1 << (wanted - 1).bit_length(), 4), np.int64)


@borrowing_kernel
def look_up(table: Ints, own: int, opp: int, depth: int, alpha: int, beta: int, mixed: bool) -> tuple[int, int]:
    """The entry of a position that is to be searched `depth` plies deep with the window (alpha, beta).

    Only a search as deep has the score that this one would find; `mixed` also takes deeper ones, and wins and losses
    that are certain at any depth.

    Returns:
        The score or a bound that decides it, or `UNKNOWN`; 1 more than the bit of the best move, 0 if none is known.
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
    """Enters the result of a search: see `look_up`."""
    place = int(mix(own ^ mix(opp)) & len(table) - 2)
    row = table[place]
    if (row[OWN] != own or row[OPP] != opp) and row[INFO] & 63 > depth:
        row = table[place + 1]
    bounds = (LOWER if score > alpha else 0) | (UPPER if score < beta else 0)
    row[OWN], row[OPP], row[SCORE], row[INFO] = own, opp, score, move << 8 | bounds << 6 | depth


def new_search(game: KInARow, rows: float, exact: bool, timed: bool) -> Search:
    """A search with an empty table of about N rows."""
    return Search(
        table=new_table(rows),
        stack=np.zeros((game.cells + 2, 14), np.int64),
        moves=np.zeros((game.cells + 2, game.num_actions), np.int64),
        history=np.zeros((2, 64), np.int64),
        ranks=ranks_of(game),
        now=np.full(64, ILLEGAL, np.int64),
        found=np.full(64, ILLEGAL, np.int64),
        state=np.zeros(3, np.int64),
        exact=exact,
        timed=timed,
    )


@functools.lru_cache(maxsize=64)
def ranks_of(game: KInARow) -> Ints:
    """For each cell the number of actions nearer to the middle than its own: int64 (64,)."""
    middle = (game.num_actions - 1) / 2
    ranks = np.zeros(64, np.int64)
    for rank, action in enumerate(sorted(range(game.num_actions), key=lambda action: abs(action - middle))):
        span = game.column << action * game.stride if game.gravity else game.choice(action)
        ranks[[bit for bit in range(64) if span >> bit & 1]] = rank
    return ranks
