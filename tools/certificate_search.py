"""How few positions have to be listed, with a move each, so that a rule wins all the rest.

Where the rule wins every line by itself nothing is listed. Else one of the moves is played: the rule's, which costs
nothing, or another, which costs an entry; and to it come the entries of all replies. The least sum is searched for
with a budget that grows from nothing, position by position, as in iterative deepening: what exceeds the budget is not
looked at, and what a position is known to need at least is remembered. With a small budget all moves are tried. With a
larger one only those that keep the win, which the solver says, and of these the fewer, the larger it is: the ones that
a learned network likes best. So the least sum is found where few entries are needed, and else a small one.

The sums count a position as often as there are ways to it, the list has it once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tictac_agents import NTupleNetwork
from tictac_env.compiled import borrowing_kernel
from tictac_env.games import LOST, UNFINISHED
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.position import Position
from tictac_env.progress import progress_bar
from tictac_env.rng import mix
from tictac_env.solver import Solver
from tools.certificate_rule import WHOLE, column_of, rule_cell
from tools.reply_tree import keeps_win, lesser

Ints = npt.NDArray[np.int64]
Listed = dict[tuple[int, int], int]
"""The cell to fill by position, of mirror images the lesser one."""

COMPILED_AS = "the search for a small certificate"
LEAST = 3
"""From this budget on only moves that keep the win are tried."""
MANY = 1 << 40
"""More entries than there are positions: no win is known."""
PAUSE = 1 << 19
"""So many positions are looked at before the search comes back for a moment, fewer than the half of a large table."""

OWN, OPP, BUDGET, TRIED, RULE, ADVISED, NEXT, MOVED_OWN, MOVED_OPP, REPLIES, SUM = range(11)
"""The columns of the stack: a position, the entries it may need, how many it is tried with now, the rule's cell, the
moves to try (see `advise`), which is next; the position after the move under way (-1: none), the replies that are left,
and the entries that move needs so far."""
KEY_OWN, KEY_OPP, AT_LEAST, AT_MOST, CELL = range(5)
"""The columns of a table: a position, the bounds on the entries it needs, and the cell to fill once they meet."""
LEVEL, ENTERED, SEEN = range(3)
"""What a search that pauses has to know: the row of the stack (-1 to begin), what to do there, positions looked at."""
PAUSED, ASKING = -1, -2
ENTER, GO_ON = -3, -4


class CertificateSearch:
    """Finds a small list for one game, which the side that moves first must win.

    Args:
        game: one with gravity.
        network: whose moves are tried.
        parts: of the rule (`certificate_rule`).
        moves: how many moves are tried at most with budgets up to 16, to 128, to 512 and beyond.
        table_bits: the table of small budgets has two to that power rows of 40 bytes.
        progress: whether to show progress (only on a terminal).

    Attributes:
        seen: how many positions were looked at.
        asked: of how many the moves were sorted by the network and the solver.
    """

    def __init__(
        self,
        game: KInARow,
        network: NTupleNetwork,
        parts: int = WHOLE,
        moves: tuple[int, int, int, int] = (7, 3, 2, 1),
        table_bits: int = 22,
        progress: bool = True,
    ) -> None:
        self.game, self.network, self.parts, self.progress = game, network, parts, progress
        self.solver = Solver(game)
        self.moves = np.array(moves, np.int64)
        self.small, self.large, self.advice = (new_table(bits) for bits in (table_bits, 21, 18))
        self.stack = np.zeros((game.cells, 11), np.int64)
        self.seen = self.asked = 0

    def entries(self, own: int, opp: int, most: int = MANY) -> int:
        """How many entries an unfinished position needs, each way to a position counted; `most + 1` if more."""
        own, opp = lesser(self.game, own, opp)
        state = np.array([-1, 0, 0], np.int64)
        tables = self.small, self.large, self.advice
        found = PAUSED
        with progress_bar(self.game.cells, "searches", self.progress) as update:
            while found < 0:
                found = search(self.game, own, opp, most, self.parts, self.moves, *tables, self.stack, state)
                if found == ASKING:
                    self._advise(*self.stack[state[LEVEL], :2].tolist())
                else:
                    self._make_room()
                budgets = self.stack[: max(state[LEVEL], 0) + 1, TRIED]
                text = f"{self.seen + state[SEEN]:,} positions, {self.asked:,} asked about, tried with {budgets[0]:,}"
                update(len(budgets), text)
        self.seen += int(state[SEEN])
        return int(found)

    def listed(self, own: int, opp: int) -> tuple[Listed, int]:
        """The positions to be listed for an unfinished position, and how many there are that the rule does not win.

        Of the latter the rule itself plays well in those that are not listed.

        Raises:
            ValueError: no win is known.
        """
        found: Listed = {}
        layer, decided = {lesser(self.game, own, opp)}, 0
        while layer:
            following: set[tuple[int, int]] = set()
            for position in sorted(layer):
                needs = self.entries(*position)
                if needs >= MANY:
                    raise ValueError(f"no win is known from {Position(self.game, *position)}")
                if needs:
                    decided += 1
                    cell = int(look_up(*position, self.small, self.large)[2])
                    if cell != rule_cell(self.game, *position, self.parts):
                        found[position] = cell
                    following.update(self._replies(*position, cell))
            layer = following
        return found, decided

    def _replies(self, own: int, opp: int, cell: int) -> Iterator[tuple[int, int]]:
        """The positions after a move and every reply that does not end the game."""
        after = Position(self.game, opp, own | cell)
        if not after.is_over:
            for reply in map(after.play, after.legal_actions):
                if not reply.is_over:
                    yield lesser(self.game, reply.own, reply.opp)

    def _advise(self, own: int, opp: int) -> None:
        """Sorts the moves that keep the win by what the network thinks of them."""
        position, values = Position(self.game, own, opp), self.network.values(own, opp)
        order = sorted(position.legal_actions, key=values.__getitem__, reverse=True)
        winning = [action for action in order if keeps_win(position.play(action), self.solver)]
        advise(own, opp, self.advice, sum(action + 1 << 4 * i for i, action in enumerate(winning)))
        self.asked += 1
        if 2 * self.asked > len(self.advice):
            self.advice = grown(self.advice)

    def _make_room(self) -> None:
        """Lets the table of large budgets, of which nothing is ever lost, grow."""
        if 2 * np.count_nonzero(self.large[:, KEY_OWN] >= 0) > len(self.large):
            self.large = grown(self.large)


def new_table(bits: int) -> Ints:
    """An empty table: int64 (2**bits, 5)."""
    table = np.zeros((1 << bits, 5), np.int64)
    table[:, KEY_OWN] = -1
    return table


def grown(table: Ints) -> Ints:
    """A table of twice the rows with what stands in this one."""
    larger = new_table(len(table).bit_length())
    refill(table, larger)
    return larger


@borrowing_kernel
def refill(table: Ints, larger: Ints) -> None:
    """Copies what stands in a table into a larger one."""
    for i in range(len(table)):
        if table[i, KEY_OWN] >= 0:
            place = place_of(table[i, KEY_OWN], table[i, KEY_OPP], larger)
            for column in range(5):
                larger[place, column] = table[i, column]


@borrowing_kernel
def slot(own: int, opp: int, table: Ints) -> int:
    """The row that a position has in a table if no other stands there."""
    return int(mix(own ^ mix(opp)) & len(table) - 1)


@borrowing_kernel
def place_of(own: int, opp: int, table: Ints) -> int:
    """The row of a position, or the empty one that it gets."""
    place = slot(own, opp, table)
    while table[place, KEY_OWN] >= 0 and (table[place, KEY_OWN] != own or table[place, KEY_OPP] != opp):
        place = place + 1 & len(table) - 1
    return place


@borrowing_kernel
def look_up(own: int, opp: int, small: Ints, large: Ints) -> tuple[int, int, int]:
    """How many entries a position needs at least and at most, and the cell to fill once both are the same."""
    place = place_of(own, opp, large)
    if large[place, KEY_OWN] >= 0:
        return large[place, AT_LEAST], large[place, AT_MOST], large[place, CELL]
    place = slot(own, opp, small)
    if small[place, KEY_OWN] == own and small[place, KEY_OPP] == opp:
        return small[place, AT_LEAST], small[place, AT_MOST], small[place, CELL]
    return 0, MANY, 0


@borrowing_kernel
def remember(own: int, opp: int, small: Ints, large: Ints, at_least: int, at_most: int, cell: int) -> None:
    """Enters what is known of a position; in the small table it takes the place of another."""
    table = large if at_least >= LEAST else small
    place = place_of(own, opp, large) if at_least >= LEAST else slot(own, opp, small)
    table[place, KEY_OWN], table[place, KEY_OPP] = own, opp
    table[place, AT_LEAST], table[place, AT_MOST], table[place, CELL] = at_least, at_most, cell


@borrowing_kernel
def advise(own: int, opp: int, advice: Ints, moves: int) -> None:
    """Enters the moves to try in a position: action + 1 in four bits each, the first one lowest; 0 ends them."""
    place = place_of(own, opp, advice)
    advice[place, KEY_OWN], advice[place, KEY_OPP], advice[place, AT_LEAST] = own, opp, moves


@borrowing_kernel
def next_cell(game: KInARow, at: Ints, moves: Ints) -> int:
    """The cell of the next move to try in the position of a row of the stack; 0 if there is none left."""
    playable = game.playable(at[OWN], at[OPP])
    if at[TRIED] >= LEAST:
        tried, i = at[TRIED], at[NEXT]
        at[NEXT] += 1
        most = moves[0] if tried <= 16 else moves[1] if tried <= 128 else moves[2] if tried <= 512 else moves[3]
        action = (at[ADVISED] >> 4 * i & 15) - 1
        return 0 if i >= most or action < 0 else playable & game.column << action * game.stride
    while at[NEXT] <= game.cols:  # the rule's own move, then the columns
        i = at[NEXT]
        at[NEXT] += 1
        cell = playable & column_of(game, i - 1) if i else at[RULE]
        if cell and (i == 0 or cell != at[RULE]):
            return cell
    return 0


@borrowing_kernel
def begin_move(game: KInARow, at: Ints, cell: int, small: Ints, large: Ints) -> bool:
    """Plays a move in the position of a row of the stack; False if it does not win within the budget, as is known."""
    own, opp = at[OPP], at[OWN] | cell
    result = game.result(own, opp)
    cost = 0 if cell == at[RULE] else 1
    replies = 0
    if result == UNFINISHED:
        replies = game.playable(own, opp)
        if game.threats(own) & replies or (own | opp | replies == game.full and replies & replies - 1 == 0):
            return False  # the reply wins, or it is the last stone
        needs = cost
        for i in range(game.cols):
            reply = replies & column_of(game, i)
            if reply:
                needs += look_up(*lesser(game, opp, own | reply), small, large)[0]
        if needs > at[TRIED]:
            return False
    elif result != LOST:
        return False
    at[MOVED_OWN], at[MOVED_OPP], at[REPLIES], at[SUM] = own, opp, replies, cost
    return cost <= at[TRIED]


@borrowing_kernel
def hardest_reply(game: KInARow, at: Ints, small: Ints, large: Ints) -> tuple[int, int]:
    """Of the replies that are left the one known to need most, and how much all of them need at least, less this."""
    hardest, most, needs = 0, -1, 0
    for i in range(game.cols):
        reply = at[REPLIES] & column_of(game, i)
        if reply:
            known = look_up(*lesser(game, at[MOVED_OPP], at[MOVED_OWN] | reply), small, large)[0]
            needs += known
            if known > most:
                hardest, most = reply, known
    return hardest, needs - max(most, 0)


@borrowing_kernel
def search(
    game: KInARow,
    own: int,
    opp: int,
    budget: int,
    parts: int,
    moves: Ints,
    small: Ints,
    large: Ints,
    advice: Ints,
    stack: Ints,
    state: Ints,
) -> int:
    """How many entries a position needs, `budget + 1` if it needs more; `PAUSED`, or `ASKING` for advice on a position.

    Then it goes on where it was when it is called again. Positions are the lesser ones of mirror images, and the side
    that is to win moves.
    """
    if state[LEVEL] < 0:
        state[LEVEL], state[ENTERED] = 0, ENTER
        stack[0, OWN], stack[0, OPP], stack[0, BUDGET], stack[0, TRIED] = own, opp, budget, 0
    value = state[ENTERED]
    while True:
        at = stack[state[LEVEL]]
        if value == ENTER:
            at_least, at_most, _ = look_up(at[OWN], at[OPP], small, large)
            if at_least > at[BUDGET]:
                value = at[BUDGET] + 1
            elif at_least == at_most:
                value = at_most
            else:
                at[TRIED], at[NEXT], at[MOVED_OWN], at[ADVISED] = at_least, 0, -1, -1
                at[RULE] = rule_cell(game, at[OWN], at[OPP], parts)
                value = GO_ON
                state[SEEN] += 1
                if state[SEEN] % PAUSE == 0:
                    state[ENTERED] = GO_ON
                    return PAUSED
        if value >= 0:
            if state[LEVEL] == 0:
                return value
            state[LEVEL] -= 1
            at = stack[state[LEVEL]]
            at[SUM] += value
        if at[MOVED_OWN] < 0:
            if at[TRIED] >= LEAST and at[ADVISED] < 0:
                place = place_of(at[OWN], at[OPP], advice)
                if advice[place, KEY_OWN] < 0:
                    state[ENTERED] = GO_ON
                    return ASKING
                at[ADVISED] = advice[place, AT_LEAST]
            value = GO_ON
            cell = next_cell(game, at, moves)
            if cell:
                if not begin_move(game, at, cell, small, large):
                    at[MOVED_OWN] = -1
                continue
            failed = MANY if at[ADVISED] == 0 else at[TRIED]  # no move keeps the win
            remember(at[OWN], at[OPP], small, large, failed + 1, 2 * MANY, 0)
            if failed >= at[BUDGET]:
                value = at[BUDGET] + 1
            else:
                more = 0 if failed < LEAST else failed // 2 if failed <= 512 else 3 * failed
                at[TRIED], at[NEXT] = min(at[BUDGET], failed + 1 + more), 0
            continue
        reply, others = hardest_reply(game, at, small, large)
        left = at[TRIED] - at[SUM] - others
        value = GO_ON
        if left < 0:
            at[MOVED_OWN] = -1
        elif reply == 0:
            value = at[SUM]
            remember(at[OWN], at[OPP], small, large, value, value, at[MOVED_OPP] & ~at[OWN])
        else:
            at[REPLIES] ^= reply
            below = stack[state[LEVEL] + 1]
            below[OWN], below[OPP] = lesser(game, at[MOVED_OPP], at[MOVED_OWN] | reply)
            below[BUDGET], below[TRIED] = left, 0
            state[LEVEL] += 1
            value = ENTER
