"""Engines: the compiled search of batches of positions, in slices between which it can stop; and a plain search."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import numpy as np

from tictac_env.arrays import Bools, Ints
from tictac_env.checks import number, whole
from tictac_env.compiled import kernel, machine_code
from tictac_env.games import UNFINISHED, Game, KInARow
from tictac_env.progress import Background
from tictac_env.solver import connect_k
from tictac_env.solver.connect_k import (
    ALPHA_NOW,
    ASKED,
    BEFORE,
    CODE,
    FRAME_NOW,
    INDEX,
    LOWER,
    MOVES,
    NO_VALUE,
    OPP,
    OPP_WINS,
    OWN,
    OWN_WINS,
    RECORD_NOW,
    ROOT_SIGN,
    SEARCHED,
    SIGN,
    STARTED,
    UPPER,
    code_of,
    play_forced,
    search,
)
from tictac_env.solver.enumerate import loss_score
from tictac_env.solver.transposition_table import TranspositionTable

Batch = Ints
"""Positions to be solved, int64 (B, 7); the columns are named below.

The score lies in [AT_LEAST, AT_MOST], which the search narrows until it is exact within [LEAST, MOST]: -1 and 1 ask for
its sign only. The first question is "is it above GUESS?", if that is open (with NO_VALUE it never is).
"""
FIELDS = 7
STONES, THEIRS, AT_LEAST, AT_MOST, LEAST, MOST, GUESS = range(FIELDS)

FORCED_PLIES = (13, 21)
"""The search first looks for quick wins and losses within these numbers of plies, which takes few nodes."""
LEAST_SCORE, LEAST_SCORE_BEYOND = 4, 8
"""The least score worth such a search: with a lower one the game is nearly over.

If the score lies beyond [LEAST, MOST], as when only the sign is asked for, the second number is the least, and only the
first of FORCED_PLIES is tried.
"""


def solved(batch: Batch) -> Bools:
    """True for positions whose score is exact within [LEAST, MOST]: bool (B,)."""
    lower = np.maximum(batch[:, AT_LEAST], batch[:, LEAST])
    done: Bools = lower >= np.minimum(batch[:, AT_MOST], batch[:, MOST])
    return done


@kernel
def next_alpha(lower: int, upper: int, least: int, most: int, left: int) -> int:
    """The next alpha to ask "is the score above alpha?", for a score in [lower, upper], exact within [least, most].

    The questions are in order: is there a quick win or loss, which side wins, how soon: with the very last stone, as is
    usual early in a game, otherwise from the slow end.
    """
    if most - least > 1:
        # Quick wins and losses: `far` is the score of a game that ends after these plies. So far from 0, static bounds
        # decide most positions, and the question takes few nodes.
        for plies in FORCED_PLIES:
            far = (left - plies) // 2
            if far < LEAST_SCORE:
                continue
            if far >= most and (far < LEAST_SCORE_BEYOND or plies > FORCED_PLIES[0]):
                continue
            if lower < -far < upper:
                return -far
            if lower < far < upper:
                return far
    # Who wins: is it more than 0? If it is at most 0, is it more than -1?
    lower = max(lower, least)
    upper = min(upper, most)
    if lower < 0 < upper or lower == 0:
        return 0
    if upper == 0:
        return -1
    # The winner is proven. Is it more than the slowest win (1, the very last stone), or the slowest loss?
    if lower == 1 or upper == -1:
        return 1 if lower == 1 else -2
    # Then a third into the range, from its slow end.
    return lower + (upper - lower) // 3 if lower > 0 else upper - 1 - (upper - lower - 1) // 3


@kernel
def set_up(game: KInARow, own: int, opp: int, bits: int, stack: Ints, state: Ints) -> None:
    """Makes a position the root of the search, or finds its score at once; narrows LOWER and UPPER accordingly."""
    # A position without a choice cannot be a record (see `connect_k`): its score is found here, or its forced moves are
    # played, and the root is the position after them.
    left = game.cells - (own | opp).bit_count()
    state[ROOT_SIGN] = 1
    state[STARTED] = 1
    state[BEFORE] = state[SEARCHED]
    state[RECORD_NOW] = -1
    score = NO_VALUE
    own_wins = game.threats(own)
    opp_wins = game.threats(opp)
    sign, moves = 1, 0
    if game.has_line(opp):
        score = -((left + 2) // 2)
    elif own_wins & game.playable(own, opp):
        score = (left + 1) // 2
    else:
        sign, own, opp, own_wins, opp_wins, moves = play_forced(game, own, opp, own_wins, opp_wins)
        left = game.cells - (own | opp).bit_count()
        if moves == 0:
            score = -sign * (left // 2)
    if score != NO_VALUE:
        state[LOWER] = score
        state[UPPER] = score
        return
    # The bounds so far are for the side to move before the forced moves. If the other side is to move at the root, they
    # change places and signs. In the root neither side wins with its next stone.
    lower = state[LOWER] if sign == 1 else -state[UPPER]
    upper = state[UPPER] if sign == 1 else -state[LOWER]
    state[LOWER] = max(lower, -((left - 2) // 2))
    state[UPPER] = min(upper, (left - 1) // 2)
    state[ROOT_SIGN] = sign
    stack[OWN] = own
    stack[OPP] = opp
    stack[OWN_WINS] = own_wins
    stack[OPP_WINS] = opp_wins
    stack[MOVES] = moves
    stack[SIGN] = 1
    stack[CODE] = code_of(game, own, opp, bits)


@kernel
def solve_batch(
    game: KInARow, columns: Ints, table: Ints, bits: int, tag_bits: int, stack: Ints, state: Ints, batch: Batch
) -> bool:
    """Narrows the bounds of the positions of a batch to one score each; False if it pauses before the end.

    A call with the same arguments continues.
    """
    while state[INDEX] < len(batch):
        # Begin the next position, or continue the one that was interrupted.
        index = state[INDEX]
        if state[STARTED] == 0:
            state[LOWER] = batch[index, AT_LEAST]
            state[UPPER] = batch[index, AT_MOST]
            set_up(game, batch[index, STONES], batch[index, THEIRS], bits, stack, state)
        left = game.cells - (stack[OWN] | stack[OPP]).bit_count()
        # Guess and range as the side to move at the root sees them.
        alpha = batch[index, GUESS]
        least = batch[index, LEAST]
        most = batch[index, MOST]
        if state[ROOT_SIGN] == -1:
            alpha = -alpha - 1
            least, most = -most, -least
        # One question after the other, until the bounds meet within the range.
        while max(state[LOWER], least) < min(state[UPPER], most):
            # No search is under way (it was not interrupted): choose alpha, the guess first, and begin at the root.
            if state[RECORD_NOW] < 0:
                if not max(state[LOWER], least) <= alpha < min(state[UPPER], most):
                    alpha = next_alpha(state[LOWER], state[UPPER], least, most, left)
                state[ALPHA_NOW] = alpha
                state[ASKED] = alpha
                state[RECORD_NOW] = 0
                state[FRAME_NOW] = 0
            # The answer bounds the score from below or above; the bounds may jump over several scores at once
            # (fail-soft).
            value = search(game, columns, table, bits, tag_bits, stack, state)
            if value != NO_VALUE:
                if value > state[ASKED]:
                    state[LOWER] = value
                else:
                    state[UPPER] = value
            report(state, batch)
            if value == NO_VALUE:
                return False
        report(state, batch)
        state[STARTED] = 0
        state[INDEX] = index + 1
    return True


@kernel
def report(state: Ints, batch: Batch) -> None:
    """Writes the bounds of the score of the current position into its row of the batch."""
    sign = state[ROOT_SIGN]
    batch[state[INDEX], AT_LEAST] = state[LOWER] if sign == 1 else -state[UPPER]
    batch[state[INDEX], AT_MOST] = state[UPPER] if sign == 1 else -state[LOWER]


SLICE = 1 << 15
"""Number of nodes searched between two checks of the clock: a few milliseconds."""
CHUNKS = 8
"""A thread takes its share of the remaining positions, divided by this, so that all end at about the same time."""

Update = Callable[[float], None]
UNLIMITED = 1 << 62


class Budget:
    """The nodes and the time that a search may use.

    Args:
        nodes: the most nodes, None for any number.
        seconds: the most seconds from now on, None for any number.

    Raises:
        ValueError: an argument is less than 0.
    """

    def __init__(self, nodes: int | None = None, seconds: float | None = None) -> None:
        self.nodes = UNLIMITED if nodes is None else whole("node_limit", nodes)
        self.end = None if seconds is None else time.monotonic() + number("time_limit", seconds, 0, math.inf)

    def part(self, count: int) -> Budget:
        """The first of `count` equal parts of what is left, to be used one after the other."""
        now = time.monotonic()
        return Budget(self.nodes // count, None if self.end is None else max(0.0, self.end - now) / count)

    @property
    def is_late(self) -> bool:
        return self.end is not None and time.monotonic() >= self.end


class Worker:
    """One thread's part of a search: its stack, its state, and the order in which it tries the columns."""

    def __init__(self, game: KInARow, table: TranspositionTable, number: int) -> None:
        self.game = game
        self.table = table
        self.columns = columns_of(game, number)
        # Room for the root and, for each ply, a frame with a record for each move. Forced moves are played within a
        # node, so a line has at most as many nodes as cells.
        frame = connect_k.FRAME + game.num_actions * connect_k.RECORD
        self.stack = np.zeros(connect_k.RECORD + (game.cells + 2) * frame, np.int64)
        self.state = np.zeros(connect_k.STATE, np.int64)
        ints = self.stack
        self.solve_batch = machine_code(solve_batch, game, ints, ints, 0, 0, ints, ints, ints.reshape(-1, 1))
        self.nodes = 0

    def begin(self, batch: Batch) -> None:
        """Begins a batch of positions, whose bounds the worker will narrow in place."""
        self.batch = batch
        self.state.fill(0)
        self.state[connect_k.SEARCHED] = self.nodes
        self.state[connect_k.BEFORE] = self.nodes

    def search(self, most_nodes: int) -> bool:
        """Searches for a slice, until the table should grow or `most_nodes` are reached; True if all are solved."""
        # The slice ends early where the table should grow, but has at least one node: with no node between, two calls
        # would see the same table and never get on.
        table, state = self.table, self.state
        cramped = max(self.nodes + 1, state.item(connect_k.BEFORE) + table.room)
        state[connect_k.PAUSE] = min(self.nodes + SLICE, most_nodes, cramped)
        of_table = table.entries, table.bits, table.tag_bits
        done: bool = self.solve_batch(self.game, self.columns, *of_table, self.stack, state, self.batch)
        self.nodes = state.item(connect_k.SEARCHED)
        return done

    @property
    def index(self) -> int:
        return int(self.state[connect_k.INDEX])

    @property
    def is_cramped(self) -> bool:
        """True if the search of this position has outgrown the table."""
        return self.nodes - int(self.state[connect_k.BEFORE]) >= self.table.room


class Engine:
    """The exact search of one game of the k-in-a-row family, with its table.

    Args:
        game: the rules.
        megabytes: the most memory the table may take.
        threads: the number of threads.

    Raises:
        ValueError: the game is too large for this search, or the table too small for the game.
    """

    def __init__(self, game: KInARow, megabytes: float, threads: int) -> None:
        self.game = game
        self.table = TranspositionTable(game.key_bits, megabytes)
        self.workers = [Worker(game, self.table, number) for number in range(threads)]
        self._background = Background()

    @property
    def nodes(self) -> int:
        return sum(worker.nodes for worker in self.workers)

    def clear(self) -> None:
        self._background.wait()
        self.table.clear()

    def run(self, batch: Batch, budget: Budget, update: Update | None) -> None:
        """Narrows the bounds of the positions of a batch until they are solved or the budget ends."""
        # Several threads run beside this one, which waits for their slices and stays free to react to Ctrl-C.
        if len(self.workers) > 1:
            self._background.run(self._run_threads(batch, budget), lambda done: update and update(done))
            return
        # Otherwise the slices run here; between two of them there is time for the clock, the table and Ctrl-C.
        worker = self.workers[0]
        worker.nodes = 0
        worker.begin(batch)
        while not worker.search(budget.nodes):
            if worker.nodes >= budget.nodes or budget.is_late:
                return
            if worker.is_cramped:
                self.table.grow()
            if update:
                update(worker.index)

    def _run_threads(self, batch: Batch, budget: Budget) -> Generator[float]:
        """Searches on all threads, each with some positions at a time; an idle thread helps with a search under way.

        Yields the number of positions done after each slice. An interrupted search is closed there, and ends when the
        slices under way do: with the executor, before another search can use the same stacks and table.
        """
        for worker in self.workers:
            worker.nodes = 0
        done = solved(batch)
        most_nodes = budget.nodes // len(self.workers)
        parts = {worker: np.empty(0, np.int64) for worker in self.workers}
        begun = 0

        def next_part(worker: Worker) -> Ints:
            nonlocal begun
            # 1. The worker's part is not done: continue, in the middle of a position.
            part, at = parts[worker], worker.index
            if at < len(part) and not done[part[at]]:
                return part
            # 2. Another worker has solved the position meanwhile: continue with the next one of the part.
            part = part[at + 1 :]
            # 3. The part is done: take a share of the positions that nobody has begun. Shares become smaller, so that
            # all workers end at about the same time.
            if len(part) == 0:
                part = np.arange(begun, begun + -(-(len(done) - begun) // (CHUNKS * len(self.workers))))
                begun += len(part)
            # 4. None are left: help with a position that another worker searches. Both fill the same table, in another
            # order of the columns, so both get on faster.
            if len(part) == 0:
                searched = [parts[other][other.index : other.index + 1] for other in self.workers]
                part = next((row for row in searched if len(row) and not done[row[0]]), part)
            worker.begin(batch[part])
            return part

        with ThreadPoolExecutor(len(self.workers)) as pool:
            running: dict[Future[bool], Worker] = {}
            idle = list(self.workers)
            while True:
                # Every idle worker gets a part and a slice; without any part left, the search ends with the last slice.
                for worker in idle:
                    parts[worker] = next_part(worker)
                    if len(parts[worker]):
                        running[pool.submit(worker.search, most_nodes)] = worker
                if not running:
                    return
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                # The table grows in place, so no worker may be reading it: wait for all slices under way.
                if any(running[job].is_cramped for job in finished):
                    finished, _ = wait(running)
                    self.table.grow()
                # Two workers may have narrowed the bounds of one position: both hold, so their intersection does.
                idle = [running.pop(job) for job in finished]
                for worker in idle:
                    part = parts[worker]
                    batch[part, AT_LEAST] = np.maximum(batch[part, AT_LEAST], worker.batch[:, AT_LEAST])
                    batch[part, AT_MOST] = np.minimum(batch[part, AT_MOST], worker.batch[:, AT_MOST])
                    done[part] = solved(batch[part])
                # A worker that has used up its nodes gets no other slice, and after the time limit none does.
                idle = [worker for worker in idle if worker.nodes < most_nodes and not budget.is_late]
                yield float(done.sum())


def columns_of(game: KInARow, number: int) -> Ints:
    """The moves as masks of the cells that each may fill, central ones first; int64 (num_actions,).

    An odd `number` gives the mirrored order, so that two threads that search the same position diverge.
    """
    # Distances are in half cells, so that the middle of a board with an even number of columns is an integer. With
    # gravity there is one row of actions, and all cells of the column are a move's.
    masks = []
    for action in range(game.num_actions):
        row, col = divmod(action, game.cols)
        distance = (2 * row + 1 - game.num_actions // game.cols) ** 2 + (2 * col + 1 - game.cols) ** 2
        mask = game.column << col * game.stride if game.gravity else game.choice(action)
        masks.append((distance, -action if number & 1 else action, mask))
    return np.array([mask for _, _, mask in sorted(masks)], np.int64)


class OutOfBudget(Exception):
    """Ends a search from within."""


class GenericEngine:
    """A plain, slow alpha-beta search for any game: it needs only the game's rules."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.nodes = 0
        self._bounds: dict[tuple[int, int], tuple[int, int]] = {}
        middle = (game.num_actions - 1) / 2
        self._actions = sorted(range(game.num_actions), key=lambda action: abs(action - middle))

    def clear(self) -> None:
        self._bounds.clear()

    def run(self, batch: Batch, budget: Budget, update: Update | None) -> None:
        self.nodes = 0
        self._budget = budget
        for index, (mine, theirs, low, high, least, most, guess) in enumerate(batch.tolist()):
            if update:
                update(index)
            # The questions of `next_alpha`, without the search for quick wins: the guess, who wins, then step by step.
            low, high = max(low, least), min(high, most)
            while low < high:
                alpha = guess
                if not low <= alpha < high:
                    alpha = 0 if low <= 0 < high else -1 if high == 0 else low if low > 0 else high - 1
                try:
                    value = self._search(mine, theirs, alpha)
                except OutOfBudget:
                    return
                if value > alpha:
                    batch[index, AT_LEAST] = value
                    low = min(high, value)
                else:
                    batch[index, AT_MOST] = value
                    high = max(low, value)

    def _search(self, own: int, opp: int, alpha: int) -> int:
        """A lower bound of the score if it is above alpha, otherwise an upper bound (see `connect_k`)."""
        # The game is over: an exact score.
        game = self.game
        result = game.result(own, opp)
        if result != UNFINISHED:
            return -result * loss_score(game, (own | opp).bit_count())
        # An earlier search may have answered the question.
        limit = (game.cells + 1) // 2
        low, high = self._bounds.get((own, opp), (-limit, limit))
        if low > alpha:
            return low
        if high <= alpha:
            return high
        if self.nodes >= self._budget.nodes or (self.nodes & 255 == 0 and self._budget.is_late):
            raise OutOfBudget
        # A win with the next stone is the best score there is.
        self.nodes += 1
        ply, seat = (own | opp).bit_count(), game.seat(own, opp)
        if game.knows_wins and game.winning_choices(own, opp, seat):
            return -loss_score(game, ply + 1)
        # If the other side threatens to win at once, no move is better than one that prevents it.
        blocks = game.winning_choices(opp, own, 1 - seat) if game.knows_wins else 0
        sensible = blocks or game.legal(own, opp)
        # Negamax with a null window: stop at the first move whose score is above alpha.
        best = -limit
        for action in self._actions:
            if sensible & game.choice(action):
                after = game.play(own, opp, action)
                best = max(best, -self._search(*after, -alpha - 1))
                if best > alpha:
                    break
        # The result is a bound on one side; the bound on the other side stays.
        self._bounds[own, opp] = (max(low, best), high) if best > alpha else (low, min(high, best))
        return best
