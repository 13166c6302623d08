"""The search of the exact solver for k-in-a-row games: null windows, forced replies played out, static bounds.

A search asks one question: is the score of a position above `alpha`? Its answer v is a lower bound if v > alpha,
otherwise an upper bound; `engine.next_alpha` chooses the questions that find a score. At a node all moves are expanded
first:

- Moves that lose at once are left out (`Game.beneath`, `Game.threats`), and if one move is left, it is played: only
  positions with a choice become nodes. (Pons, "Solving Connect Four", 2015-; Steininger's c4 plays forced replies out.)
- Static bounds may decide a child: how soon a side can win, whether a side has a line left, what the follow-up strategy
  holds (Allis, "A knowledge-based approach of Connect-Four", 1988).
- The transposition table may decide a child. It is read for all children before any of them is searched, after their
  entries have been prefetched.
- The children left are searched in the order of the threats they make, central ones first.

The search keeps its own stack, so it can pause at any node and continue later: between, Python checks the clock, reacts
to Ctrl-C, and lets the table grow.

The kernels borrow their arrays: with counted references, `push_moves` in parts would cost a fifth of the speed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tictac_env.compiled import borrowing_kernel, kernel
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.solver.transposition_table import fetch, find, lower_of, scramble, store, upper_of

UNKNOWN = 32
"""More than any score."""


@kernel
def play_forced(game: KInARow, own: int, opp: int, own_wins: int, opp_wins: int) -> tuple[int, int, int, int, int, int]:
    """Plays forced moves, while the side to move cannot win at once and has only one move that does not lose at once.

    `own_wins` are the cells that complete a line of `own`, `opp_wins` those of `opp`.

    Returns:
        sign (1 if the same side is to move as before, otherwise -1), own, opp, own_wins, opp_wins and the moves that do
        not lose at once, as cells: two or more, or none, and then the next stone of the other side wins (if the board
        is full, the game is drawn).
    """
    sign = 1
    while True:
        moves = game.playable(own, opp)
        threats = moves & opp_wins
        if threats:
            if threats & threats - 1:
                return sign, own, opp, own_wins, opp_wins, 0
            moves = threats
        losing = moves & game.beneath(opp_wins)
        moves ^= losing
        if moves & moves - 1 or moves == 0:
            return sign, own, opp, own_wins, opp_wins, moves
        own |= moves
        own, opp, own_wins, opp_wins = opp, own, opp_wins, game.threats(own)
        sign = -sign


@kernel
def follow_up_bound(game: KInARow, own: int, opp: int, opp_wins: int) -> int:
    """An upper bound of the score of the side to move if the other one always answers in the same column, or UNKNOWN.

    With an even number of empty cells in a column, the follower gets the top cell and every second one below it (F),
    the leader the others (L). With an odd number, the lowest cell is left over (o). Two such columns form a pair: as
    soon as the leader takes one of these cells, the follower takes the other.

        F  F  F
        L  L  L       the leader can only get a line within its stones, L and o;
        F  F  F       the follower certainly gets F (except o)
        L  o  L
        x     o
        x     x

    If the follower has a threat on an L cell of an odd column, the column needs no pair: the follower gets L there, as
    the leader must not play the cell below the threat until it has no other move.
    """
    full = game.full
    follower = 0
    for row in range(game.rows - 1, -1, -2):
        follower |= game.bottom << row
    leader = full ^ follower
    stones = own | opp
    empty = full ^ stones
    odd = stones + game.bottom & follower
    threats = opp_wins & leader & empty
    if threats and odd:
        below_top = follower & full >> 1
        up = odd
        for _ in range(2, game.rows, 2):
            up |= (up & below_top) << 2 & follower
        down = (threats & up << 1) >> 1
        for _ in range(2, game.rows, 2):
            down |= (down ^ down & game.bottom) >> 2 & follower
        waiting = odd & down  # the lowest empty cells of the odd columns in which the leader must not play
        if (odd ^ waiting).bit_count() & 1:
            waiting &= waiting - 1
        if waiting and (odd ^ waiting).bit_count() & 1 == 0:
            up = waiting
            for _ in range(2, game.rows, 2):
                up |= (up & below_top) << 2 & follower
            taken = (up & full >> 1) << 1
            if not game.has_line(own | empty & leader & (full ^ taken) | up | odd ^ waiting):
                return -1
    if odd.bit_count() & 1:
        return UNKNOWN
    if game.has_line(own | empty & leader | odd):
        return UNKNOWN
    return -1 if game.has_line(opp | empty & follower & (full ^ odd)) else 0


@kernel
def static_bounds(game: KInARow, own: int, opp: int, opp_wins: int, alpha: int) -> tuple[int, int]:
    """A lower and an upper bound of the score, improved until they decide whether it is above `alpha`.

    The side to move cannot win at once and has a move that does not lose at once. So neither side wins with its next
    stone; and a side that has no line left cannot win at all.
    """
    left = game.cells - (own | opp).bit_count()
    upper = (left - 1) // 2
    lower = -((left - 2) // 2)
    if lower <= alpha < upper:
        if alpha >= 0:
            if not game.has_line(game.full ^ opp):
                upper = 0
        elif not game.has_line(game.full ^ own):
            lower = 0
    if lower <= alpha < upper and alpha >= -1 and game.gravity:
        upper = min(upper, follow_up_bound(game, own, opp, opp_wins))
    return lower, upper


Ints = npt.NDArray[np.int64]

# A record is a position waiting to be searched. Its side to move cannot win at once and has two moves or more that do
# not lose at once.
OWN, OPP, OWN_WINS, OPP_WINS, MOVES, SIGN, ORDER, CODE = range(8)
RECORD = 8

# A frame is a node whose children are being searched; their records follow it.
ALPHA, BEST, COUNT, NEXT, NODES, NODE, BELOW = range(7)
FRAME = 8

# The state of a search between two calls, in one array.
(
    INDEX,  # the number of the position in the batch
    SEARCHED,  # nodes so far
    PAUSE,  # the number of nodes at which to stop; another thread may set it
    LOWER,  # the bounds of the root's score
    UPPER,
    ROOT_SIGN,  # -1 if the root of the search is the other side's position
    FRAME_NOW,  # the frame, the record and alpha where the search paused; the record -1 between two searches
    RECORD_NOW,
    ALPHA_NOW,
    ASKED,  # alpha at the root
    STARTED,  # whether the root of this position is set up
    BEFORE,  # nodes before this position
) = range(12)
STATE = 12

NO_VALUE = -99
MIRRORED_PLIES = 14
"""Up to this ply a position and its mirror image share an entry; later, both occur too rarely to pay for mirroring."""


@borrowing_kernel
def code_of(game: KInARow, own: int, opp: int, bits: int) -> int:
    """The scrambled key of a position; up to MIRRORED_PLIES its mirror image has the same key."""
    key = game.key(own, opp)
    if (own | opp).bit_count() <= MIRRORED_PLIES:
        key = min(key, game.key(game.mirror(own), game.mirror(opp)))
    return scramble(key, bits)


@borrowing_kernel
def push_moves(
    game: KInARow, columns: Ints, table: Ints, bits: int, tag_bits: int, stack: Ints, node: int, alpha: int, base: int
) -> tuple[int, int, int]:
    """Writes the records of the children of `node` that must be searched to `base`, the most promising first.

    `columns` are the moves, as masks of the cells each may fill, in the order to try them; `node` is the index of the
    node's record in `stack`.

    Returns:
        The node's value if it is decided, otherwise NO_VALUE; the best value of the children that need no search; the
        number of children that do.
    """
    value, best, end = write_children(game, columns, table, bits, tag_bits, stack, node, alpha, base)
    if value != NO_VALUE:
        return value, best, 0
    return drop_decided(game, table, tag_bits, stack, alpha, best, base, end)


@borrowing_kernel
def write_children(
    game: KInARow, columns: Ints, table: Ints, bits: int, tag_bits: int, stack: Ints, node: int, alpha: int, base: int
) -> tuple[int, int, int]:
    """Plays each move of `node`, and the forced moves after it, and writes the resulting records to `base`, in order.

    Games that end this way need no record. The table's entries for the others are prefetched.

    Returns:
        A value above `alpha` if a game that ends has it, otherwise NO_VALUE; the best value of such a game; the end of
        the records.
    """
    own = stack[node + OWN]
    opp = stack[node + OPP]
    opp_wins = stack[node + OPP_WINS]
    moves = stack[node + MOVES]
    empty = game.full ^ (own | opp)
    best = NO_VALUE
    end = base
    for column in columns:
        stone = moves & column
        if stone == 0:
            continue
        played = own | stone
        wins = game.threats(played)
        sign, own2, opp2, own_wins2, opp_wins2, moves2 = play_forced(game, opp, played, opp_wins, wins)
        if moves2 == 0:
            value = sign * ((game.cells - (own2 | opp2).bit_count()) // 2)
            if value > alpha:
                return value, best, end
            best = max(best, value)
            continue
        code = code_of(game, own2, opp2, bits)
        fetch(table, code, tag_bits)
        order = (wins & empty).bit_count()
        place = open_place(stack, base, end, order)
        stack[place + OWN] = own2
        stack[place + OPP] = opp2
        stack[place + OWN_WINS] = own_wins2
        stack[place + OPP_WINS] = opp_wins2
        stack[place + MOVES] = moves2
        stack[place + SIGN] = -sign
        stack[place + ORDER] = order
        stack[place + CODE] = code
        end += RECORD
    return NO_VALUE, best, end


@borrowing_kernel
def open_place(stack: Ints, base: int, end: int, order: int) -> int:
    """Moves the records from `base` to `end` with fewer threats than `order` up by one; returns the free place."""
    place = end
    while place > base and stack[place - RECORD + ORDER] < order:
        for i in range(RECORD):
            stack[place + i] = stack[place - RECORD + i]
        place -= RECORD
    return place


@borrowing_kernel
def drop_decided(
    game: KInARow, table: Ints, tag_bits: int, stack: Ints, alpha: int, best: int, base: int, end: int
) -> tuple[int, int, int]:
    """Drops the records from `base` to `end` that static bounds or the table decide. Returns what `push_moves` does.

    `best` is the best value of the children so far.
    """
    kept = base
    for child in range(base, end, RECORD):
        sign = stack[child + SIGN]
        below = alpha if sign == 1 else -alpha - 1
        lower, upper = static_bounds(game, stack[child + OWN], stack[child + OPP], stack[child + OPP_WINS], below)
        if lower <= below < upper:
            entry = find(table, stack[child + CODE], tag_bits)
            if entry:
                lower = max(lower, lower_of(entry))
                upper = min(upper, upper_of(entry))
        if lower <= below < upper:
            if kept != child:
                for i in range(RECORD):
                    stack[kept + i] = stack[child + i]
            kept += RECORD
            continue
        value = sign * (upper if upper <= below else lower)
        if value > alpha:
            return value, best, 0
        best = max(best, value)
    return NO_VALUE, best, (kept - base) // RECORD


@borrowing_kernel
def search(game: KInARow, columns: Ints, table: Ints, bits: int, tag_bits: int, stack: Ints, state: Ints) -> int:
    """A bound that decides whether the root, the record at 0, has a score above alpha; NO_VALUE if the search pauses.

    It begins or continues with the record RECORD_NOW, whose parent is FRAME_NOW (0: none), for ALPHA_NOW.
    """
    node = state[RECORD_NOW]
    frame = state[FRAME_NOW]
    alpha = state[ALPHA_NOW]
    nodes = state[SEARCHED]
    cells = game.cells
    while True:
        if nodes >= state[PAUSE]:
            state[RECORD_NOW] = node
            state[FRAME_NOW] = frame
            state[ALPHA_NOW] = alpha
            state[SEARCHED] = nodes
            return NO_VALUE
        nodes += 1
        base = frame + FRAME + stack[frame + COUNT] * RECORD if frame else RECORD
        value, best, count = push_moves(game, columns, table, bits, tag_bits, stack, node, alpha, base + FRAME)
        if count and value == NO_VALUE:
            stack[base + ALPHA] = alpha
            stack[base + BEST] = best
            stack[base + COUNT] = count
            stack[base + NEXT] = 0
            stack[base + NODES] = nodes
            stack[base + NODE] = node
            stack[base + BELOW] = frame
            frame = base
            node = base + FRAME
            alpha = alpha if stack[node + SIGN] == 1 else -alpha - 1
            continue
        work = 1
        value = max(value, best)
        while True:  # the position at `node` is decided; the last child of a frame may decide its parent
            left = cells - (stack[node + OWN] | stack[node + OPP]).bit_count()
            lower = value if value > alpha else -((left - 2) // 2)
            upper = (left - 1) // 2 if value > alpha else value
            store(table, stack[node + CODE], tag_bits, lower, upper, work)
            if frame == 0:
                state[SEARCHED] = nodes
                state[RECORD_NOW] = -1
                return value
            alpha = stack[frame + ALPHA]
            value = max(stack[frame + BEST], value * stack[node + SIGN])
            following = stack[frame + NEXT] + 1
            if value <= alpha and following < stack[frame + COUNT]:
                stack[frame + BEST] = value
                stack[frame + NEXT] = following
                node = frame + FRAME + following * RECORD
                alpha = alpha if stack[node + SIGN] == 1 else -alpha - 1
                break
            work = nodes - stack[frame + NODES] + 1
            node = stack[frame + NODE]
            frame = stack[frame + BELOW]
