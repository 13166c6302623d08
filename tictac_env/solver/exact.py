"""The exact solver: scores of positions and of their actions, optionally within limits; and the regret of moves."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.arrays import Bools, Ints
from tictac_env.checks import flag, number, positive
from tictac_env.games import UNFINISHED, Game, KInARow, get_game, shown
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.progress import progress_bar
from tictac_env.solver.book import Book, opening_book_of
from tictac_env.solver.connect_k import NO_VALUE
from tictac_env.solver.engine import (
    AT_LEAST,
    AT_MOST,
    FIELDS,
    GUESS,
    LEAST,
    MOST,
    STONES,
    THEIRS,
    Budget,
    Engine,
    GenericEngine,
    solved,
)
from tictac_env.solver.enumerate import loss_score
from tictac_env.solver.outcome_table import OutcomeTable, outcome_table_of


class Solution(NamedTuple):
    """The exact scores of a position and of its actions.

    Scores are exact distances: with +n the player to move wins with their n-th stone, counted back from the last one
    they could ever place; with -n the opponent does; 0 is a draw. A finished game that is not drawn has -n if the
    winner won with their n-th stone.

    Example:
        >>> from tictac_env import Position, solve
        >>> solve(Position.from_moves("TicTacToe-v0", "1524"))
        Solution(score=3, action_scores=(None, None, 3, None, None, 0, -2, -2, -2), best_actions=(2,))
    """

    score: int
    """The score of the position."""
    action_scores: tuple[int | None, ...]
    """The score of each action, None if it is illegal."""
    best_actions: tuple[int, ...]
    """The actions of the best score, in ascending order; empty once the game is over."""


class Bounds(NamedTuple):
    """The bounds of a score that a search has found, and its cost.

    Example:
        >>> from tictac_env import Position, Solver
        >>> bounds = Solver("TicTacToe-v0").bounds(Position.from_moves("TicTacToe-v0", "12"), weak=True)
        >>> bounds.lower, bounds.upper, bounds.proven
        (1, 1, True)
    """

    lower: int
    """The score is at least this."""
    upper: int
    """The score is at most this."""
    nodes: int
    """The number of positions expanded."""
    seconds: float
    """The wall-clock time of the search."""

    @property
    def proven(self) -> bool:
        """True if the score is known."""
        return self.lower == self.upper


def bounds_in_words(bounds: Bounds) -> str:
    """The meaning of unequal bounds to the side to move, as in "a win" or "at least a draw"; "" if they say nothing."""
    if bounds.lower > 0 or bounds.upper < 0:
        return "a win" if bounds.lower > 0 else "a loss"
    if bounds.lower == 0 or bounds.upper == 0:
        return f"at {'least' if bounds.lower == 0 else 'most'} a draw"
    return ""


class NotProven(Exception):
    """A limit ended the search before the score was known; `bounds` has the bounds found so far.

    Example:
        >>> from tictac_env import Position, Solver
        >>> Solver("TicTacToe-v0").score(Position.start("TicTacToe-v0"), node_limit=0)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        tictac_env.solver.exact.NotProven: not proven: the score is in [-5, 5] a...
    """

    def __init__(self, position: Position, bounds: Bounds) -> None:
        super().__init__(
            f"not proven: the score is in [{bounds.lower}, {bounds.upper}] after {bounds.nodes:,} nodes and "
            f"{bounds.seconds:.2f} s: {position!r}"
        )
        self.position = position
        self.bounds = bounds


def check_is_position(position: object) -> Position:
    """`position`, if it is a `Position`.

    Raises:
        ValueError: `position` is anything else.
    """
    if not isinstance(position, Position):
        example = 'Position.from_moves("ConnectFour-v0", "4453")'
        raise ValueError(f"a position must be a Position, such as {example}, not {shown(position)}")
    return position


def _no_move_in(position: Position) -> ValueError:
    return ValueError(f"no side is to move in the finished position {position!r}")


FEW = 16
"""Up to this number of positions Python prepares a search faster than NumPy."""
PLAIN_CELLS = 12
"""Games of up to this number of cells are searched by Python, which is faster than loading machine code."""
MAX_KEY_BITS = 63
MAX_MEGABYTES = 1 << 20


class Solver:
    """An exact solver for one game, with its own table, which makes further positions cheaper.

    One compiled search handles all games of the k-in-a-row family, with or without gravity; without, boards of up to 31
    cells. Every other game, larger boards without gravity, and boards of up to 12 cells, for which compiling does not
    pay, are searched by a plain alpha-beta in Python, which is slow. Ctrl-C stops any search at any time; the solver
    can be used again.

    Several threads of a program may use one solver; they wait for each other. A copied or unpickled solver has the same
    settings and an empty table.

    Args:
        game: a game or its name.
        table_megabytes: the most memory the compiled search's table may take, in MiB up to 2**20; the largest power of
            two in it is used.
        threads: the number of threads of the compiled search, which share one position or many.
        opening_book: True to look up early positions of Connect Four, for which the package has a book.

    Attributes:
        nodes: the number of positions the last call expanded.
        seconds: the time the last call took.

    Raises:
        ValueError: an argument is out of its range.

    Example:
        >>> solver = Solver("TicTacToe-v0")
        >>> solver.solve(Position.from_moves("TicTacToe-v0", "15"))
        Solution(score=0, action_scores=(None, 0, 0, 0, None, 0, 0, 0, 0), best_actions=(1, 2, 3, 5, 6, 7, 8))
        >>> solver.score(Position.from_moves("TicTacToe-v0", "12"), weak=True)
        1
    """

    def __init__(
        self,
        game: str | Game = "ConnectFour-v0",
        table_megabytes: float = 64,
        threads: int = 1,
        opening_book: bool = True,
    ) -> None:
        self.game = get_game(game)
        positive("threads", threads, 64)
        number("table_megabytes", table_megabytes, 0, MAX_MEGABYTES)
        flag("opening_book", opening_book)
        self._arguments = self.game, table_megabytes, threads, opening_book
        self._lock = threading.Lock()
        self.engine: Engine | GenericEngine
        small = self.game.cells <= PLAIN_CELLS
        if type(self.game) is KInARow and self.game.key_bits <= MAX_KEY_BITS and not small:
            self.engine = Engine(self.game, table_megabytes, threads)  # not for a subclass, which may have other rules
        else:
            self.engine = GenericEngine(self.game)
        self.book: Book | None = opening_book_of(self.game) if opening_book else None
        self.outcomes: OutcomeTable | None = outcome_table_of(self.game) if opening_book else None
        self.nodes = 0
        self.seconds = 0.0

    def __reduce__(self) -> tuple[type[Solver], tuple[Game, float, int, bool]]:
        return type(self), self._arguments

    def clear(self) -> None:
        """Forgets the results of earlier searches."""
        with self._lock:
            self.engine.clear()

    def bounds(
        self, position: Position, weak: bool = False, node_limit: int | None = None, time_limit: float | None = None
    ) -> Bounds:
        """The score of a position, or bounds of it if a limit is reached.

        Args:
            position: a position of this game.
            weak: bounds of the sign of the score (the outcome) only, which are faster to find.
            node_limit: the most nodes; each thread may use an equal part.
            time_limit: the most seconds (the search may take a few hundredths more).

        Raises:
            ValueError: the position is of another game, or a limit is negative.
        """
        return self._bounds([position], weak, Budget(node_limit, time_limit))[0]

    def score(
        self, position: Position, weak: bool = False, node_limit: int | None = None, time_limit: float | None = None
    ) -> int:
        """The exact score of a position (see `Solution`), or with `weak` its sign; the arguments are those of `bounds`.

        Raises:
            ValueError: as `bounds` does.
            NotProven: a limit was reached.
        """
        bounds = self.bounds(position, weak, node_limit, time_limit)
        if not bounds.proven:
            raise NotProven(position, bounds)
        return bounds.lower

    def solve(
        self, position: Position, weak: bool = False, node_limit: int | None = None, time_limit: float | None = None
    ) -> Solution:
        """The score of a position and of each action; with `weak` their signs. The arguments are those of `bounds`.

        Raises:
            ValueError: as `bounds` does.
            NotProven: a limit was reached; its bounds are those of the position's own score.
        """
        return self.solve_many([position], weak, node_limit, time_limit, progress=False)[0]

    def best_actions(self, position: Position, time_limit: float | None = None) -> tuple[int, ...]:
        """The actions of the best score, in ascending order: less work than `solve`, which scores the others exactly.

        It raises what `best_masks` does.
        """
        budget, legal = Budget(None, time_limit), self._check(position).legal_actions
        [(score, most)], nodes, seconds = self._narrow([(position.own, position.opp, *self._window(False))], budget)
        # An action is best if the position after it has the negated score, its least possible one: a question for each.
        after = [self.game.play(position.own, position.opp, action) for action in legal]
        answers, more_nodes, more_seconds = self._narrow([(*stones, -score, 1 - score) for stones in after], budget)
        self.nodes, self.seconds = nodes, seconds = nodes + more_nodes, seconds + more_seconds
        if score < most or any(low < high for low, high in answers):
            raise NotProven(position, Bounds(score, most, nodes, seconds))
        return tuple(action for action, (low, _) in zip(legal, answers, strict=True) if low == -score)

    def best_masks(self, batch: PositionBatch, time_limit: float | None = None) -> Bools:
        """`best_actions` for B positions: bool (B, num_actions), all False where the game is over.

        They are solved in parallel on the solver's threads; the limit is for all together.

        Raises:
            ValueError: as `bounds` does.
            NotProven: the limit was reached; the error has the first position that is not solved, and its bounds.
        """
        if batch.game != self.game:
            raise ValueError(f"a solver of {self.game!r} cannot solve positions of {batch.game!r}")
        budget = Budget(None, time_limit)
        scores, most, nodes, seconds = self._narrowed(batch, *self._window(False), budget)
        for row in np.flatnonzero(scores < most)[:1]:
            raise NotProven(batch[row], Bounds(int(scores[row]), int(most[row]), nodes, seconds))
        # An action is best if the position after it has the negated score, its least possible one: a question for each.
        best: Bools = batch.action_masks() != 0
        rows, actions = np.nonzero(best)
        least = -scores[rows]
        low, high, more_nodes, more_seconds = self._narrowed(batch.where(rows).play(actions), least, least + 1, budget)
        self.nodes, self.seconds = nodes, seconds = nodes + more_nodes, seconds + more_seconds
        for row in rows[low < high][:1]:
            raise NotProven(batch[row], Bounds(int(scores[row]), int(most[row]), nodes, seconds))
        best[rows, actions] = low == least
        return best

    def action_bounds(
        self, position: Position, node_limit: int | None = None, time_limit: float | None = None
    ) -> tuple[Bounds | None, ...]:
        """The bounds of the score of each action, None if it is illegal; the arguments are those of `bounds`.

        The limits are for all actions together; each gets an equal share of what is left.

        Raises:
            ValueError: as `bounds` does.
        """
        budget = Budget(node_limit, time_limit)
        legal = self._check(position).legal_actions
        bounds: list[Bounds | None] = [None] * self.game.num_actions
        nodes, seconds = 0, 0.0
        for done, action in enumerate(legal):
            after = self.game.play(position.own, position.opp, action)
            part = budget.part(len(legal) - done)
            [(lower, upper)], searched, spent = self._narrow([(*after, *self._window(False))], part)
            bounds[action] = Bounds(-upper, -lower, searched, spent)
            budget.nodes -= searched
            nodes += searched
            seconds += spent
        self.nodes, self.seconds = nodes, seconds
        return tuple(bounds)

    def regret(self, position: Position, action: int | None, time_limit: float | None = None) -> int:
        """The outcome value that a move gives away in an unfinished position, 0, 1 or 2; arguments as of `move_regret`.

        Raises:
            ValueError: the position is of another game, or finished.
            NotProven: the limit was reached.
        """
        own, opp, game, budget = self._check(position).own, position.opp, self.game, Budget(None, time_limit)
        if game.result(own, opp) != UNFINISHED:
            raise _no_move_in(position)
        # As in `regrets`, which see.
        played = -1
        if action is not None and 0 <= action < game.num_actions and game.legal(own, opp) & game.choice(action):
            played = -self._outcome(game.play(own, opp, action), -1, budget)
        return (1 if played == 1 else self._outcome((own, opp), played, budget)) - played

    def _outcome(self, stones: tuple[int, int], least: int, budget: Budget) -> int:
        """The outcome of a position that is at least `least`, which narrows its search."""
        [(low, high)], nodes, seconds = self._narrow([(*stones, least, 1)], budget)
        if low < high:
            raise NotProven(Position(self.game, *stones), Bounds(low, high, nodes, seconds))
        return low

    def regrets(
        self, positions: PositionBatch, actions: npt.NDArray[np.integer[Any]], time_limit: float | None = None
    ) -> Ints:
        """The outcome value that each of B moves gives away, in unfinished positions: int64 (B,), each 0, 1 or 2.

        All are found together, each distinct position once. This is the fastest way to reward many games at once:
        thousands a second.

        Args:
            positions: positions of this game.
            actions: (B,), the move of the side to move in each; an illegal action, such as -1, counts as a loss.
            time_limit: the most seconds for all together.

        Raises:
            ValueError: the positions are of another game, one is finished, or there are not as many actions.
            NotProven: the limit was reached.

        Example:
            >>> positions = [Position.from_moves("TicTacToe-v0", moves) for moves in ("1", "15", "12")]
            >>> Solver("TicTacToe-v0").regrets(PositionBatch.of(positions), np.array([1, 1, 0])).tolist()
            [1, 0, 2]
        """
        actions, budget = np.asarray(actions), Budget(None, time_limit)
        if positions.game != self.game:
            raise ValueError(f"a solver of {self.game!r} cannot solve positions of {positions.game!r}")
        if actions.shape != (len(positions),) or not np.issubdtype(actions.dtype, np.integer):
            raise ValueError(f"actions must be {len(positions)} integers, not {actions.dtype} {actions.shape}")
        masks = positions.action_masks()
        for row in np.flatnonzero(~masks.any(axis=1))[:1]:
            raise _no_move_in(positions[row])
        inside = (actions >= 0) & (actions < self.game.num_actions)
        legal = inside & (masks[np.arange(len(masks)), np.where(inside, actions, 0)] != 0)
        # The outcome of a move is that of the position after it, negated. A move that wins gives nothing away; for the
        # others, the best outcome is at least theirs, which narrows its search.
        played = np.full(len(positions), -1, np.int64)
        played[legal] = -self._proven(positions.where(legal).play(actions[legal]), -1, 1, budget)
        open_ = played < 1
        best = np.ones(len(positions), np.int64)
        best[open_] = self._proven(positions.where(open_), played[open_], 1, budget)
        return best - played

    def _proven(self, positions: PositionBatch, least: int | Ints, most: int, budget: Budget) -> Ints:
        """The score of each position, clipped to [least, most]: int64 (B,), each distinct position searched once."""
        distinct, which = positions.distinct()
        if isinstance(least, np.ndarray):
            lowest = np.full(len(distinct), most, np.int64)
            np.minimum.at(lowest, which, least)
            least, floor = lowest, least
        else:
            floor = np.full(len(positions), least, np.int64)
        low, high, nodes, seconds = self._narrowed(distinct, least, most, budget)
        for row in np.flatnonzero(low < high)[:1]:
            raise NotProven(distinct[row], Bounds(int(low[row]), int(high[row]), nodes, seconds))
        return np.maximum(low[which], floor)

    def solve_many(
        self,
        positions: Iterable[Position],
        weak: bool = False,
        node_limit: int | None = None,
        time_limit: float | None = None,
        progress: bool = True,
    ) -> list[Solution]:
        """`solve` for many positions, in parallel on the solver's threads; the limits are for all of them together.

        With `progress` a progress bar is shown.

        Raises:
            ValueError: as `bounds` does.
            NotProven: a limit was reached; the error has the first position that is not solved.
        """
        budget = Budget(node_limit, time_limit)
        positions = list(positions)
        actions = [self._check(position).legal_actions for position in positions]
        # All children of all positions are solved together; a finished position stands for itself.
        after = [
            child
            for position, legal in zip(positions, actions, strict=True)
            for child in ([position.play(action) for action in legal] or [position])
        ]
        child_bounds = self._bounds(after, weak, budget, progress, of_children=len(positions) == 1)
        solutions, remaining = [], iter(child_bounds)
        for position, legal in zip(positions, actions, strict=True):
            part = list(islice(remaining, max(1, len(legal))))
            if not all(bounds.proven for bounds in part):
                low, high = max(-bounds.upper for bounds in part), max(-bounds.lower for bounds in part)
                raise NotProven(position, Bounds(low, high, self.nodes, self.seconds))
            scores = {action: -bounds.lower for action, bounds in zip(legal, part, strict=False)}
            best = max(scores.values(), default=part[0].lower)
            action_scores = tuple(scores.get(action) for action in range(self.game.num_actions))
            solutions.append(Solution(best, action_scores, tuple(a for a in legal if scores[a] == best)))
        return solutions

    def score_many(
        self,
        positions: Iterable[Position],
        weak: bool = False,
        node_limit: int | None = None,
        time_limit: float | None = None,
        progress: bool = True,
    ) -> list[int]:
        """`score` for many positions; arguments and errors are those of `solve_many`."""
        positions = list(positions)
        all_bounds = self._bounds(positions, weak, Budget(node_limit, time_limit), progress)
        for position, bounds in zip(positions, all_bounds, strict=True):
            if not bounds.proven:
                raise NotProven(position, bounds)
        return [bounds.lower for bounds in all_bounds]

    def _bounds(
        self,
        positions: Sequence[Position],
        weak: bool,
        budget: Budget,
        progress: bool = False,
        of_children: bool = False,
    ) -> list[Bounds]:
        """The bounds of each score, or with `weak` of its sign; nodes and seconds are totals.

        The bar of `progress` has the bounds of the parent's score if the positions are all children of one.
        """
        least, most = self._window(weak)
        if len(positions) <= FEW and not progress:
            questions = [(self._check(position).own, position.opp, least, most) for position in positions]
            answers, nodes, seconds = self._narrow(questions, budget)
            return [Bounds(*both, nodes, seconds) for both in answers]
        with progress_bar(len(positions), "solving", progress) as update:

            def report(done: float, batch: Ints) -> None:
                low, high = -batch[:, [AT_MOST, AT_LEAST]].min(axis=0) if of_children else (0, 0)
                update(done, f"{f'in [{low}, {high}], ' if of_children else ''}{self.engine.nodes:,} nodes")

            low, high, nodes, seconds = self._narrowed(self._batch(positions), least, most, budget, report)
        return [Bounds(*both, nodes, seconds) for both in zip(low.tolist(), high.tolist(), strict=True)]

    def _narrowed(
        self,
        positions: PositionBatch,
        least: int | Ints,
        most: int | Ints,
        budget: Budget,
        report: Callable[[float, Ints], None] | None = None,
    ) -> tuple[Ints, Ints, int, float]:
        """A lower and an upper bound of each score, int64 (B,), clipped to [least, most] (one window, or one for each);
        and the total nodes and seconds. `report` is called with the number done and the batch.
        """
        # Bounds from the cheapest source first. Without any, a score lies between a loss and a win with the first
        # stone.
        began = time.perf_counter()
        far = (self.game.cells + 1) // 2
        batch = np.full((len(positions), FIELDS), NO_VALUE, np.int64)
        batch[:, STONES], batch[:, THEIRS] = positions.own, positions.opp
        batch[:, AT_LEAST], batch[:, AT_MOST], batch[:, LEAST], batch[:, MOST] = -far, far, least, most
        # The table of outcomes says who wins at best: a bound on the sign of the score.
        if self.outcomes:
            low, high = self.outcomes.bounds(positions.own, positions.opp).T
            batch[:, AT_LEAST] = np.where(low > -1, low, -far)
            batch[:, AT_MOST] = np.where(high < 1, high, far)
        if self.book:
            for index in np.flatnonzero(~solved(batch)).tolist():
                batch[index, [AT_LEAST, AT_MOST, GUESS]] = self._by_book(*batch[index, : AT_MOST + 1].tolist())
        nodes, seconds = self._search(
            batch, budget, began, None if report is None else lambda done: report(done, batch)
        )
        low, high = np.clip(batch[:, [AT_LEAST, AT_MOST]], batch[:, [LEAST]], batch[:, [MOST]]).T
        return low, high, nodes, seconds

    def _narrow(
        self, questions: Iterable[tuple[int, int, int, int]], budget: Budget
    ) -> tuple[list[tuple[int, int]], int, float]:
        """`_narrowed` for a few positions, each as own, opp, least and most: a tenth of its time if tables know all."""
        began, far, rows, is_open = time.perf_counter(), (self.game.cells + 1) // 2, [], False
        for own, opp, least, most in questions:
            low, high, guess = -far, far, NO_VALUE
            if self.outcomes:
                outcome_low, outcome_high = self.outcomes.bounds_of(own, opp)
                low, high = outcome_low if outcome_low > -1 else low, outcome_high if outcome_high < 1 else high
            if self.book and max(low, least) < min(high, most):
                low, high, guess = self._by_book(own, opp, low, high)
            rows.append((own, opp, low, high, least, most, guess))
            is_open |= max(low, least) < min(high, most)
        if is_open:
            batch = np.array(rows, np.int64)
            nodes, seconds = self._search(batch, budget, began)
            rows = batch.tolist()
        else:
            self.nodes, self.seconds = nodes, seconds = 0, time.perf_counter() - began
        bounds = [(min(max(low, least), most), min(max(high, least), most)) for _, _, low, high, least, most, _ in rows]
        return bounds, nodes, seconds

    def _by_book(self, own: int, opp: int, low: int, high: int) -> tuple[int, int, int]:
        """The bounds of a score, narrowed by the book, and the first question, for which its lower bound is good."""
        if self.book is None or (own | opp).bit_count() > self.book.plies + 1:
            return low, high, NO_VALUE
        lower, upper = self.book.bounds(Position(self.game, own, opp))
        low = max(low, lower)
        return low, min(high, upper), low

    def _search(
        self, batch: Ints, budget: Budget, began: float, update: Callable[[float], None] | None = None
    ) -> tuple[int, float]:
        """Narrows the bounds in a batch (see `engine.Batch`); the nodes, and the seconds since `began`."""
        # One search at a time: the engine has one table, and its stacks are scratch.
        with self._lock:
            try:
                self.engine.run(batch, budget, update)
            finally:
                self.nodes = nodes = self.engine.nodes
                self.seconds = seconds = time.perf_counter() - began
        return nodes, seconds

    def _batch(self, positions: Sequence[Position]) -> PositionBatch:
        stones = np.array([(self._check(p).own, p.opp) for p in positions], np.int64).reshape(-1, 2)
        return PositionBatch(self.game, stones[:, 0], stones[:, 1])

    def _window(self, weak: bool) -> tuple[int, int]:
        most = 1 if weak else (self.game.cells + 1) // 2
        return -most, most

    def _check(self, position: Position) -> Position:
        if check_is_position(position).game != self.game:
            raise ValueError(f"a solver of {self.game!r} cannot solve {position!r}")
        return position


@functools.lru_cache(maxsize=4)
def shared_solver(game: Game) -> Solver:
    """The solver of `solve` and the policies, one for each game, so that they share a table."""
    return Solver(game)


def solve(position: Position, weak: bool = False) -> Solution:
    """The exact score of a position and of each of its actions; with `weak` their signs (the outcomes).

    Searches of a game share a table, so the same position or a later one is cheap. For limits, threads or a table of
    another size, make a `Solver`.

    Raises:
        ValueError: `position` is not a `Position`.

    Example:
        >>> solve(Position.from_moves("TicTacToe-v0", "152")).best_actions
        (2,)
    """
    return shared_solver(check_is_position(position).game).solve(position, weak)


class Regret(NamedTuple):
    """The loss by a move, under perfect play of both sides from there on."""

    outcome: int
    """In outcome value (win 1, draw 0, loss -1): that of the best move minus that of the move, in {0, 1, 2}. A move
    with more than 0 is a mistake."""
    score: int | None
    """In exact score (see `Solution`): how many stones later it wins or sooner it loses, a change of the outcome
    included; 0 for the best moves only. None with `weak`."""


def move_regret(
    position: Position,
    action: int | None,
    solver: Solver | None = None,
    weak: bool = False,
    time_limit: float | None = None,
) -> Regret:
    """The outcome value and the exact score that a move gives away.

    Over a game the regrets add up: for the first player, the value of the start, minus the sum of its regrets, plus the
    sum of the other side's, is the value of the end. The same holds for scores.

    Args:
        position: an unfinished position.
        action: the move of the side to move. An illegal action, or None for no action, counts as an immediate loss: the
            value -1, and the score as if the other side had won with this stone.
        solver: the solver to use, None for the shared one.
        weak: only the outcome, which is found much faster.
        time_limit: the most seconds.

    Raises:
        ValueError: `position` is not a `Position`, or the game is over there.
        NotProven: the limit was reached.

    Example:
        >>> position = Position.from_moves("TicTacToe-v0", "15")
        >>> move_regret(position, 1), move_regret(Position.from_moves("TicTacToe-v0", "1"), 1)
        (Regret(outcome=0, score=0), Regret(outcome=1, score=2))
    """
    solver = solver or shared_solver(check_is_position(position).game)
    if weak:
        return Regret(solver.regret(position, action, time_limit), None)
    if position.is_over:
        raise _no_move_in(position)
    solution = solver.solve(position, time_limit=time_limit)
    legal = action is not None and 0 <= action < len(solution.action_scores)
    played = solution.action_scores[action] if legal and action is not None else None
    if played is None:
        played = loss_score(position.game, position.ply + 1)
    best, signs = solution.score, [(score > 0) - (score < 0) for score in (solution.score, played)]
    return Regret(signs[0] - signs[1], best - played)
