"""How few positions have to be listed, with a move each, so that a rule wins all the rest.

Where the rule wins every line by itself nothing is listed. Else one of the moves is played: the rule's, which costs
nothing, or another, which costs an entry; and to it come the entries of all replies. The least sum is searched for
with a budget that grows from nothing, position by position, as in iterative deepening: what exceeds the budget is not
looked at, and what a position is known to need at least is remembered. With a small budget all moves are tried. With a
larger one only those that keep the win, which the solver says, and of these the fewer, the larger it is: the ones that
a learned network likes best. So the least sum is found where few entries are needed, and else a small one.

From the empty board so many are needed that no budget is large enough. There the list is made from the top: in a
position that needs more than `most` entries, that move is played whose replies need the fewest together, none of them
counted for more than that, and those that are met on another way for nothing.

The sums count a position as often as there are ways to it, the list has it once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tictac_agents import NTupleNetwork
from tictac_env.compiled import borrowing_kernel
from tictac_env.games import LOST, UNFINISHED
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.position import Position
from tictac_env.progress import progress_bar
from tictac_env.solver import Solver
from tools.certificate_rule import WHOLE, column_of, rule_cell
from tools.certificate_tables import (
    AT_LEAST,
    KEY_OWN,
    LEAST,
    MANY,
    Ints,
    advise,
    grown,
    look_up,
    new_table,
    place_of,
    remember,
)
from tools.reply_tree import keeps_win, lesser

Listed = dict[tuple[int, int], int]
"""The cell to fill by position, of mirror images the lesser one."""

COMPILED_AS = "the search for a small certificate"
PAUSE = 1 << 19
"""So many positions are looked at before the search comes back for a moment, fewer than the half of a large table."""

OWN, OPP, BUDGET, TRIED, RULE, ADVISED, NEXT, MOVED_OWN, MOVED_OPP, REPLIES, SUM = range(11)
"""The columns of the stack: a position, the entries it may need, how many it is tried with now, the rule's cell, the
moves to try (see `advise`), which is next; the position after the move under way (-1: none), the replies that are left,
and the entries that move needs so far."""
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
        moves: how many moves are tried at most with budgets up to 16, and beyond.
        table_bits: the table of small budgets has two to that power rows of 40 bytes.
        progress: whether to show progress (only on a terminal).

    Attributes:
        asked: of how many positions the moves were sorted by the network and the solver.
    """

    def __init__(
        self,
        game: KInARow,
        network: NTupleNetwork,
        parts: int = WHOLE,
        moves: tuple[int, int] = (7, 3),
        table_bits: int = 22,
        progress: bool = True,
    ) -> None:
        self.game, self.network, self.parts, self.progress = game, network, parts, progress
        self.solver = Solver(game)
        self.moves = np.array(moves, np.int64)
        self.small, self.large, self.advice = (new_table(bits) for bits in (table_bits, 21, 18))
        self.stack = np.zeros((game.cells, 11), np.int64)
        self.asked = 0

    def entries(self, own: int, opp: int, most: int = MANY) -> int:
        """How many entries an unfinished position needs, each way to a position counted; `most + 1` if more."""
        own, opp = lesser(self.game, own, opp)
        state = np.array([-1, 0, 0], np.int64)
        tables = self.small, self.large, self.advice
        found = PAUSED
        while found < 0:
            found = search(self.game, own, opp, most, self.parts, self.moves, *tables, self.stack, state)
            if found == ASKING:
                self._advise(*self.stack[state[LEVEL], :2].tolist())
            else:
                self._make_room()
        return int(found)

    def listed(self, own: int, opp: int, most: int = MANY) -> tuple[Listed, int]:
        """The positions to be listed for an unfinished position, and how many there are that the rule does not win.

        Of the latter the rule itself plays well in those that are not listed.

        Args:
            own: the stones of the side to move.
            opp: the other side's.
            most: how many entries a position may need for the least sum to be searched for.

        Raises:
            ValueError: no win is known.
        """
        found: Listed = {}
        layer, decided = {lesser(self.game, own, opp)}, 0
        with progress_bar(self.game.cells, "lists", self.progress) as update:
            while layer:
                following: set[tuple[int, int]] = set()
                for position in sorted(layer):
                    if self.entries(*position, most) == 0:
                        continue
                    decided += 1
                    cell = self._chosen(position, following, most)
                    if cell != rule_cell(self.game, *position, self.parts):
                        found[position] = cell
                    following.update(self._replies(*position, cell))
                    update(
                        (position[0] | position[1]).bit_count(), f"{len(found):,} listed, {len(layer):,} side by side"
                    )
                layer = following
        return found, decided

    def _chosen(self, position: tuple[int, int], following: set[tuple[int, int]], most: int) -> int:
        """The cell to fill in a position that the rule does not win; some replies may already be among those to follow.

        Raises:
            ValueError: no win is known.
        """
        at_least, at_most, cell = look_up(*position, self.small, self.large)
        if at_least == at_most:
            return int(cell)
        best, least = 0, MANY
        for action in self._winning(*position)[: self.moves[1]]:
            cell = self.game.stone(*position, action)
            replies = set(self._replies(*position, cell)) - following
            needs = sum(self.entries(*reply, most) for reply in replies)
            needs += cell != rule_cell(self.game, *position, self.parts)
            if needs < least:
                best, least = cell, needs
        if not best:
            raise ValueError(f"no win is known from {Position(self.game, *position)}")
        return best

    def _replies(self, own: int, opp: int, cell: int) -> Iterator[tuple[int, int]]:
        """The positions after a move and every reply that does not end the game."""
        after = Position(self.game, opp, own | cell)
        if not after.is_over:
            for reply in map(after.play, after.legal_actions):
                if not reply.is_over:
                    yield lesser(self.game, reply.own, reply.opp)

    def _advise(self, own: int, opp: int) -> None:
        """Enters the moves to try in a position."""
        moves = enumerate(self._winning(own, opp))
        advise(own, opp, self.advice, sum(action + 1 << 4 * i for i, action in moves))
        self.asked += 1
        if 2 * self.asked > len(self.advice):
            self.advice = grown(self.advice)

    def _winning(self, own: int, opp: int) -> list[int]:
        """The moves that keep the win, sorted by what the network thinks of them."""
        position, values = Position(self.game, own, opp), self.network.values(own, opp)
        order = sorted(position.legal_actions, key=values.__getitem__, reverse=True)
        return [action for action in order if keeps_win(position.play(action), self.solver)]

    def _make_room(self) -> None:
        """Lets the table of large budgets, of which nothing is ever lost, grow."""
        if 2 * np.count_nonzero(self.large[:, KEY_OWN] >= 0) > len(self.large):
            self.large = grown(self.large)


@borrowing_kernel
def next_cell(game: KInARow, at: Ints, moves: Ints) -> int:
    """The cell of the next move to try in the position of a row of the stack; 0 if there is none left."""
    playable = game.playable(at[OWN], at[OPP])
    if at[TRIED] >= LEAST:
        tried, i = at[TRIED], at[NEXT]
        at[NEXT] += 1
        most = moves[0] if tried <= 16 else moves[1]
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
