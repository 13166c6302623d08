"""What the exact solver knows of a position without searching it: forced replies, and bounds of its score."""

from __future__ import annotations

from tictac_env.compiled import kernel
from tictac_env.games.k_in_a_row import KInARow

UNKNOWN = 32
"""More than any score."""


@kernel
def play_forced(game: KInARow, own: int, opp: int, own_wins: int, opp_wins: int) -> tuple[int, int, int, int, int, int]:
    """Plays on while the side to move, which cannot win at once, has only one move that does not lose at once.

    `own_wins` are the cells that complete a line of `own`, `opp_wins` those of `opp`.

    Returns:
        sign (1 if the same side is to move as before, else -1), own, opp, own_wins, opp_wins and the moves that do not
        lose at once, as cells: two or more, or none, and then the next stone of the other side wins (if the board is
        full, the game is drawn).
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
    """What the side to move can reach at most if the other one always answers in the same column, or UNKNOWN.

    With an even number of empty cells in a column the follower gets the top one and every second below it (F), the
    leader the others (L). With an odd number the lowest one is left over (o). Two such columns are made a pair: as
    soon as the leader takes one of these cells, the follower takes the other.

        F  F  F
        L  L  L       the leader can only get a line within its stones, L and o;
        F  F  F       the follower gets F (but o) for sure
        L  o  L
        x     o
        x     x

    If the follower has a threat on an L cell of an odd column, it need not be paired: there the follower gets L, and
    the leader must not play the cell below the threat. Once nothing else is left it has to.
    """
    full = game.full
    follower = 0
    for row in range(game.rows - 1, -1, -2):
        follower |= game.bottom << row
    leader = full ^ follower
    stones = own | opp
    empty = full ^ stones
    odd = stones + game.bottom & follower
    waiting = 0  # the odd columns in which the leader must not play on, by their lowest empty cell
    threats = opp_wins & leader & empty
    if threats and odd:
        below_top = follower & full >> 1
        up = odd
        for _ in range(2, game.rows, 2):
            up |= (up & below_top) << 2 & follower
        down = (threats & up << 1) >> 1
        for _ in range(2, game.rows, 2):
            down |= (down ^ down & game.bottom) >> 2 & follower
        waiting = odd & down
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
    """A lower and an upper bound of the score, looked for until they decide whether it is above `alpha`.

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
