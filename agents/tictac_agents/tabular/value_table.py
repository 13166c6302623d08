"""The table of state values, and how TD(lambda) changes it as games go on. Compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.tabular.draws import draw, explores
from tictac_agents.tabular.rows import Ints, Rows
from tictac_env.compiled import kernel_methods
from tictac_env.games import DRAWN, LOST, UNFINISHED, WON, Game
from tictac_env.policies.policy import pick

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class Entry(NamedTuple):
    """One position in a table, as the owner of the table sees it."""

    key: tuple[int, int]
    """The owner's stones, the other side's."""
    final: bool
    value: float
    visits: int


class Backup(NamedTuple):
    """A change of one value."""

    seat: int
    """Whose table."""
    own: int
    """The stones of that seat in the position."""
    opp: int
    """The other side's."""
    before: float
    after: float


@kernel_methods
class ValueTable(NamedTuple):
    """The values of positions, each as the player in one seat sees it, and the games under way on N boards.

    On each board a seat that learns has a route: the positions it has passed in the game.
    """

    random: Ints
    epsilon: float
    rate: float
    """The step size; 0 for 1 / N(s)."""
    rows: Rows
    values: Floats
    """float64 (capacity,)."""
    visits: Ints
    """int64 (capacity,), N(s)."""
    finals: Bools
    """bool (capacity,), whether the game is over there."""
    routes: Ints
    """int64 (N, 2, cells + 2), for each board and seat the rows passed."""
    skips: Bools
    """bool (N, 2, cells + 2), which steps from one position of a route to the next are not to be learned."""
    lengths: Ints
    """int64 (N, 2), of the routes."""
    over: Bools
    """bool (N,), whether the position after the last move is final."""
    results: Ints
    """int64 (3,), how many games the first player has won, how many were drawn, how many the second has won."""
    gamma: float
    trace_decay: float
    """Lambda."""
    win: float
    draw: float
    loss: float
    step: float
    """The reward of a ply that does not end the game."""
    initial_value: float
    parts: Ints
    """int64 (2,), for each seat which part of the rows holds its values: 0 and 1, or 0 for both."""
    self_play: bool
    """Whether both sides step, and learn."""
    every_ply: bool
    online: bool
    learn_exploring: bool
    learn_explored: bool
    set_last: bool
    know_results: bool

    def begin_game(self, game: Game, i: int, seat: int, own: int, opp: int) -> None:
        """A game begins on board i, as `seat` sees it."""
        self.lengths[i, 0] = self.lengths[i, 1] = 0
        self.over[i] = False
        if self.every_ply:
            self.append(i, seat, self.reach(game, seat, own, opp), False)
            if self.self_play:
                self.append(i, 1 - seat, self.reach(game, 1 - seat, opp, own), False)

    def choose_action(self, game: Game, i: int, seat: int, own: int, opp: int) -> int:
        """Epsilon-greedy: a random move with probability epsilon, else one to a position of highest value."""
        self.row_of(game, seat, own, opp)
        choices = game.legal(own, opp)
        explored = explores(self.random, self.epsilon)
        if not explored:
            choices = self.greedy_moves(game, seat, own, opp)
        action = pick(game, choices, draw(self.random))
        self.move(game, i, seat, own, opp, action, explored)
        return action

    def move(self, game: Game, i: int, seat: int, own: int, opp: int, action: int, explored: bool) -> None:
        """Adds the position after a move to the routes of the seats that learn from it."""
        other, mine = game.play(own, opp, action)
        reached = self.reach(game, seat, mine, other)
        final = self.finals[reached]
        self.append(i, seat, reached, explored)
        if self.self_play and (self.every_ply or final):
            self.append_reply(i, 1 - seat, self.reach(game, 1 - seat, other, mine))
        self.over[i] = final
        if final:
            self.count_result(game, seat, mine, other)

    def learn_from_result(
        self, game: Game, i: int, seat: int, own: int, opp: int, reward: float, terminated: bool, truncated: bool
    ) -> bool:
        """Learns from the position that the move on board i led to. Returns whether the game there is over for it."""
        if not self.over[i] and not self.self_play:
            reached = self.reach(game, seat, own, opp)
            if self.every_ply or self.finals[reached]:
                self.append_reply(i, seat, reached)
            self.over[i] = self.finals[reached]
            if self.over[i]:
                self.count_result(game, seat, own, opp)
        if self.over[i] or terminated or truncated:
            self.learn_backward(i)
            return True
        return False

    def count_result(self, game: Game, seat: int, own: int, opp: int) -> None:
        """Counts the result of a game that is over, as `seat` sees its end."""
        outcome = self.outcome(game, own, opp)
        self.results[1 + outcome if seat else 1 - outcome] += 1

    def append_reply(self, i: int, seat: int, row: int) -> None:
        """Adds a position after the other side's move to a route; at the end it may set the last position's value."""
        length = self.lengths[i, seat]
        if not self.set_last:
            self.append(i, seat, row, False)
        elif length > 0:
            last = self.routes[i, seat, length - 1]
            self.visits[last] += 1
            self.assign(seat, last, self.values[row])

    def append(self, i: int, seat: int, row: int, explored: bool) -> None:
        """Adds a position to a route; online, learns the step that led to it, unless that is to be skipped."""
        route, skips, length = self.routes[i, seat], self.skips[i, seat], self.lengths[i, seat]
        skips[length] = explored and not self.learn_explored
        if length > 0:
            skips[length - 1] |= explored and not self.learn_exploring
            if self.online and not skips[length - 1]:
                td_error = self.update_value(seat, route[length - 1], row)
                weight = self.gamma * self.trace_decay
                step = length - 2
                while weight > 0 and step >= 0 and not skips[step]:
                    self.correct(seat, route[step], weight * td_error)
                    weight *= self.gamma * self.trace_decay
                    step -= 1
        route[length] = row
        self.lengths[i, seat] = length + 1

    def learn_backward(self, i: int) -> None:
        """At the end of a game learns its steps, the last one first, unless they were learned online."""
        if not self.online:
            for seat in range(2):
                for step in range(self.lengths[i, seat] - 2, -1, -1):
                    if not self.skips[i, seat, step]:
                        self.update_value(seat, self.routes[i, seat, step], self.routes[i, seat, step + 1])

    def update_value(self, seat: int, row: int, next_row: int) -> float:
        """Moves v(s) towards its target, the result or r + gamma * v(s'), and returns the TD error."""
        self.visits[row] += 1
        td_error = self.step + self.gamma * self.values[next_row] - self.values[row]
        if self.finals[next_row]:
            td_error = self.values[next_row] - self.values[row]
        self.correct(seat, row, td_error)
        return float(td_error)

    def correct(self, seat: int, row: int, td_error: float) -> None:
        """Moves v(s) by a step of the size that the learning rate, or N(s), gives."""
        rate = self.rate if self.rate > 0 else 1 / self.visits[row]
        self.assign(seat, row, self.values[row] + rate * td_error)

    def assign(self, seat: int, row: int, value: float) -> None:
        """Sets v(s) in the table of `seat`."""
        self.values[row] = value

    def greedy_moves(self, game: Game, seat: int, own: int, opp: int) -> int:
        """The moves to positions of highest value, as a set of `choice` bits."""
        legal, best, choices = game.legal(own, opp), -np.inf, 0
        for action in range(game.num_actions):
            choice = game.choice(action)
            if legal & choice:
                other, mine = game.play(own, opp, action)
                value = self.values[self.row_of(game, seat, mine, other)]
                if value > best:
                    best, choices = value, 0
                if value == best:
                    choices |= choice
        return choices

    def row_of(self, game: Game, seat: int, own: int, opp: int) -> int:
        """The row of a position in the table of `seat`, which gets one if it has none."""
        known = self.rows.used[0]
        row = self.rows.get_or_add(own, opp, self.parts[seat])
        if row == known:
            self.finals[row], self.values[row] = self.status(game, own, opp)
            self.visits[row] = 0
            if not self.know_results:
                self.values[row] = self.initial_value
        return row

    def reach(self, game: Game, seat: int, own: int, opp: int) -> int:
        """The row of a position that a game has come to; if the game is over there, its value is now the result."""
        row = self.row_of(game, seat, own, opp)
        if self.finals[row]:
            self.values[row] = self.status(game, own, opp)[1]
        return row

    def value_of(self, game: Game, seat: int, own: int, opp: int) -> float:
        """What a position is worth to the player in `seat`; no row is added."""
        row = self.rows.find(own, opp, self.parts[seat])
        if row >= 0:
            return float(self.values[row])
        return self.status(game, own, opp)[1] if self.know_results else self.initial_value

    def evaluate(self, game: Game, own: int, opp: int, values: Floats) -> None:
        """Writes the value of each legal action to `values` (num_actions,), nan elsewhere; no row is added."""
        legal = game.legal(own, opp)
        for action in range(game.num_actions):
            values[action] = np.nan
            if legal & game.choice(action):
                other, mine = game.play(own, opp, action)
                values[action] = self.value_of(game, game.seat(own, opp), mine, other)

    def status(self, game: Game, own: int, opp: int) -> tuple[bool, float]:
        """Whether a position is final, and what it is worth when it is met for the first time."""
        outcome = self.outcome(game, own, opp)
        if outcome == UNFINISHED:
            return False, self.initial_value
        return True, self.win if outcome == WON else self.loss if outcome == LOST else self.draw

    def outcome(self, game: Game, own: int, opp: int) -> int:
        """The result for the owner of the stones `own`, whoever is to move."""
        result, theirs = game.result(own, opp), game.result(opp, own)
        if result == LOST or theirs == WON:
            return LOST
        if theirs == LOST or result == WON:
            return WON
        return DRAWN if result == DRAWN else UNFINISHED
