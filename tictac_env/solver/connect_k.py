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

from tictac_env.arrays import Ints
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
    # Sets of cells in use below: x & x - 1 drops the lowest cell of x, so it is not 0 if x has two or more.
    sign = 1
    while True:
        moves = game.playable(own, opp)
        threats = moves & opp_wins
        if threats:
            # Two cells where the other side wins next: only one can be taken.
            if threats & threats - 1:
                return sign, own, opp, own_wins, opp_wins, 0
            moves = threats
        # A stone just below a winning cell of the other side gives that cell away; this holds for a forced reply too.
        losing = moves & game.beneath(opp_wins)
        moves ^= losing
        if moves & moves - 1 or moves == 0:
            return sign, own, opp, own_wins, opp_wins, moves
        # One move is left. Only the threats of the side that plays it change; the sides then swap.
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
        F  F  F       the follower gets all of F (except o)
        L  o  L
        x     o
        x     x

    If the follower has a threat on an L cell of an odd column, the column needs no pair: the follower gets L there, as
    the leader must not play the cell below the threat until it has no other move.
    """
    full = game.full
    # Every second row, the top one first: the follower's cells in every column, whatever is filled below.
    follower = 0
    for row in range(game.rows - 1, -1, -2):
        follower |= game.bottom << row
    leader = full ^ follower
    stones = own | opp
    empty = full ^ stones
    # Adding the bottom row turns each column's stones into its lowest empty cell. If that is a cell of the follower,
    # the number of empty cells is odd: it is the column's o.
    odd = stones + game.bottom & follower
    threats = opp_wins & leader & empty
    if threats and odd:
        # F cells below the top row: from these a step of two rows up stays on the board.
        below_top = follower & full >> 1
        # Fill the F cells upwards from each o; one above each of them is an L cell of the same column.
        up = odd
        for _ in range(2, game.rows, 2):
            up |= (up & below_top) << 2 & follower
        # From the F cell below a threat, fill downwards to find the o of its column. The bottom row has nothing below:
        # its bits must not reach the column before.
        down = (threats & up << 1) >> 1
        for _ in range(2, game.rows, 2):
            down |= (down ^ down & game.bottom) >> 2 & follower
        waiting = odd & down  # the lowest empty cells of the odd columns in which the leader must not play
        # The columns without a threat are paired, so their number must be even: one with a threat may make it so.
        if (odd ^ waiting).bit_count() & 1:
            waiting &= waiting - 1
        if waiting and (odd ^ waiting).bit_count() & 1 == 0:
            # In a waiting column the leader begins when it has no other move: it gets the F cells, the follower the L.
            up = waiting
            for _ in range(2, game.rows, 2):
                up |= (up & below_top) << 2 & follower
            taken = (up & full >> 1) << 1
            # The most that the leader can get: no line in it means that it cannot win, and the threat decides for the
            # follower.
            if not game.has_line(own | empty & leader & (full ^ taken) | up | odd ^ waiting):
                return -1
    # Without such threats all odd columns are paired, so their number must be even.
    if odd.bit_count() & 1:
        return UNKNOWN
    # The leader gets L and, at worst for the follower, all of o. If that holds a line, the strategy promises nothing.
    if game.has_line(own | empty & leader | odd):
        return UNKNOWN
    # The follower gets all of F: a line in it wins, otherwise the strategy holds a draw.
    return -1 if game.has_line(opp | empty & follower & (full ^ odd)) else 0


@kernel
def static_bounds(game: KInARow, own: int, opp: int, opp_wins: int, alpha: int) -> tuple[int, int]:
    """A lower and an upper bound of the score, improved until they decide whether it is above `alpha`.

    The side to move cannot win at once and has a move that does not lose at once. So neither side wins with its next
    stone; and a side that has no line left cannot win at all.
    """
    # The soonest win is with the second stone from now, the soonest loss with the other side's second one.
    left = game.cells - (own | opp).bit_count()
    upper = (left - 1) // 2
    lower = -((left - 2) // 2)
    # Fill all empty cells with one side's stones: without a line even then, that side cannot win.
    if lower <= alpha < upper:
        if alpha >= 0:
            if not game.has_line(game.full ^ opp):
                upper = 0
        elif not game.has_line(game.full ^ own):
            lower = 0
    # The follow-up strategy bounds the score by 0 or -1, which decides nothing for a lower alpha.
    if lower <= alpha < upper and alpha >= -1 and game.gravity:
        upper = min(upper, follow_up_bound(game, own, opp, opp_wins))
    return lower, upper


# The stack of a search is one array. A frame, then the records of its children that must be searched; the child under
# search (NEXT) has the next frame after the last record:
#
#     root   frame            children           frame             children
#     +----+ +--------------+ +----+----+----+   +--------------+ +----+----+
#     |    | | ALPHA BEST ..| |    | *  |    |   | ALPHA BEST ..| | *  |    |
#     +----+ +--------------+ +----+----+----+   +--------------+ +----+----+
#     0      RECORD           + FRAME              BELOW: the frame before
#                               NEXT = 1           NODE: the record *
#
# A record is a position waiting to be searched. Its side to move cannot win at once and has two moves or more that do
# not lose at once. SIGN is 1 if the side to move is that of the parent (an even number of forced moves came between).
OWN, OPP, OWN_WINS, OPP_WINS, MOVES, SIGN, ORDER, CODE = range(8)
RECORD = 8

# A frame is a node whose children are being searched: what a call of the recursion would hold in its variables. NODES
# is the number of nodes when it began, from which the work of its subtree follows.
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
    STARTED,  # 1 if the root of this position is set up
    BEFORE,  # nodes before this position
) = range(12)
STATE = 12

NO_VALUE = -99
MIRRORED_PLIES = 14
"""Up to this ply a position and its mirror image share an entry; later, both occur too rarely to pay for mirroring."""


@borrowing_kernel
def code_of(game: KInARow, own: int, opp: int, bits: int) -> int:
    """The scrambled key of a position; up to MIRRORED_PLIES its mirror image has the same key."""
    # Scrambling comes last: the smaller of two scrambled keys would cost a second multiplication.
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
        # A column holds at most one of the moves; without gravity a "column" is a single cell.
        stone = moves & column
        if stone == 0:
            continue
        # Play the move and whatever it forces. `sign` is 1 if the other side is then to move, as after the move itself.
        played = own | stone
        wins = game.threats(played)
        sign, own2, opp2, own_wins2, opp_wins2, moves2 = play_forced(game, opp, played, opp_wins, wins)
        # The game ends with the next stone, or the board is full: the score is exact, and counts stones left in
        # pairs.
        if moves2 == 0:
            value = sign * ((game.cells - (own2 | opp2).bit_count()) // 2)
            if value > alpha:
                return value, best, end
            best = max(best, value)
            continue
        # The bucket is needed in `drop_decided`, when all children are written: by then it has arrived.
        code = code_of(game, own2, opp2, bits)
        fetch(table, code, tag_bits)
        # The more empty cells would complete a line of the mover, the earlier. Equal ones keep the order of `columns`.
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
    # A step of insertion sort: a node has at most as many children as columns, mostly two to five.
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
    # The records that stay close up to the front; `free` is the place of the next one.
    free = base
    for child in range(base, end, RECORD):
        # For the other side the question "is my score above alpha?" is "is its score at most -alpha - 1?".
        sign = stack[child + SIGN]
        below = alpha if sign == 1 else -alpha - 1
        # Static bounds first: they cost a few operations, the table may cost a miss of the cache.
        lower, upper = static_bounds(game, stack[child + OWN], stack[child + OPP], stack[child + OPP_WINS], below)
        if lower <= below < upper:
            entry = find(table, stack[child + CODE], tag_bits)
            if entry:
                lower = max(lower, lower_of(entry))
                upper = min(upper, upper_of(entry))
        if lower <= below < upper:
            if free != child:
                for i in range(RECORD):
                    stack[free + i] = stack[child + i]
            free += RECORD
            continue
        # Decided. A value above alpha decides the node as well, and no other child need be looked at.
        value = sign * (upper if upper <= below else lower)
        if value > alpha:
            return value, best, 0
        best = max(best, value)
    return NO_VALUE, best, (free - base) // RECORD


@borrowing_kernel
def search(game: KInARow, columns: Ints, table: Ints, bits: int, tag_bits: int, stack: Ints, state: Ints) -> int:
    """A bound that decides whether the root, the record at 0, has a score above alpha; NO_VALUE if the search pauses.

    It begins or continues with the record RECORD_NOW, whose parent is FRAME_NOW (0: none), for ALPHA_NOW.
    """
    # The loop stands for this recursion, with a frame for each call that has not returned:
    #
    #     search(node, alpha):
    #         value, best, children = push_moves(node, alpha)   # forced replies, static bounds, the table
    #         if value is not decided:
    #             value = best                                  # of the children that need no search
    #             for child in children:                        # the most promising first
    #                 below = alpha if SIGN of child is 1, otherwise -alpha - 1
    #                 value = max(value, SIGN of child * search(child, below))
    #                 if value > alpha: break                   # a cutoff: the question is answered
    #         store(node, lower bound if value > alpha, otherwise upper bound)
    #         return value
    #
    # The outer loop calls (down the tree), the inner one returns (up the tree) until a frame has another child to try.
    node = state[RECORD_NOW]
    frame = state[FRAME_NOW]
    alpha = state[ALPHA_NOW]
    nodes = state[SEARCHED]
    cells = game.cells
    while True:
        # Between two nodes the stack is complete, so the search can stop here and continue from `state`.
        if nodes >= state[PAUSE]:
            state[RECORD_NOW] = node
            state[FRAME_NOW] = frame
            state[ALPHA_NOW] = alpha
            state[SEARCHED] = nodes
            return NO_VALUE
        # Call: expand the node. Its frame will begin after the last record of the frame above, or after the root.
        nodes += 1
        base = frame + FRAME + stack[frame + COUNT] * RECORD if frame else RECORD
        value, best, count = push_moves(game, columns, table, bits, tag_bits, stack, node, alpha, base + FRAME)
        # Children are left: push a frame and go down to the first.
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
        # Return: the position at `node` is decided, and as the last child of a frame it may decide its parent.
        work = 1
        value = max(value, best)
        while True:
            # Neither side can win with its next stone: that bounds the score on the side which the search left open.
            left = cells - (stack[node + OWN] | stack[node + OPP]).bit_count()
            lower = value if value > alpha else -((left - 2) // 2)
            upper = (left - 1) // 2 if value > alpha else value
            store(table, stack[node + CODE], tag_bits, lower, upper, work)
            if frame == 0:
                state[SEARCHED] = nodes
                state[RECORD_NOW] = -1
                return value
            # Back in the parent, in whose view the child's value has the sign of the child.
            alpha = stack[frame + ALPHA]
            value = max(stack[frame + BEST], value * stack[node + SIGN])
            # No cutoff and another child: down again. Otherwise the parent is decided too.
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
