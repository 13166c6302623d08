"""An exam: the positions of a game with their exact values, and the answers of a submission, each asked for once."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tictac_apps.grading.process import Gone, Process, Reply
from tictac_apps.grading.rubric import THEOREMS, Rubric
from tictac_apps.grading.submissions import scratch_copy
from tictac_env.arena.auditing import REPORTING
from tictac_env.arena.records import SeatVerdict
from tictac_env.arena.suites import suite
from tictac_env.arena.verdicts import seat_verdict, walked
from tictac_env.arrays import Floats, Ints
from tictac_env.games import UNFINISHED, Game, game_name
from tictac_env.observation import action_masks, legal_sets
from tictac_env.position import canonical
from tictac_env.position_batch import PositionBatch
from tictac_env.solver.enumerate import NO_SCORE, GameTable, TooManyPositions, tabulate

if TYPE_CHECKING:
    from tictac_apps.grading.examinee import Json  # Windows cannot import it

BATCH = 512
"""Positions asked at a time."""
Bools = npt.NDArray[np.bool_]


class Questions:
    """The positions of a game that submissions are asked about, and their exact values.

    Args:
        game: the rules. If the game is too large to tabulate, the positions are those of its suite.

    Raises:
        TooManyPositions: the game is too large, and has no suite.

    Attributes:
        batch: the N positions.
        over: bool (N,), true if the game is over.
        scores: int16 (N, num_actions), the exact score of each action, `NO_SCORE` if it is illegal.
        legal: bool (N, num_actions), all false once the game is over.
        values: int8 (N, num_actions), the value of each action, 1, 0 or -1; -2 if it is illegal.
        table: the table of the game, whose positions these are; None for a large game.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.table: GameTable | None
        try:
            self.table = tabulate(game)
        except TooManyPositions:
            name = REPORTING.get(game_name(game) or "")
            if name is None:
                raise
            positions = suite(name)
            self.table, self.batch, self.scores = None, positions.positions, positions.scores
            self.over = np.zeros(len(positions), np.bool_)
        else:
            self.batch = PositionBatch(game, self.table.own, self.table.opp)
            self.scores = self.table.action_scores(slice(None))
            self.over = self.table.result != UNFINISHED
        self.legal: Bools = np.asarray(self.scores != NO_SCORE)
        self.values = np.where(self.legal, np.sign(self.scores), -2).astype(np.int8)

    @functools.cached_property
    def wins_at_once(self) -> Bools:
        """The actions that win at once, bool (N, num_actions)."""
        return self._wins(self.batch)

    @functools.cached_property
    def threats(self) -> Bools:
        """The actions that would win at once if the other side were to move, bool (N, num_actions)."""
        return self._wins(PositionBatch(self.game, self.batch.opp, self.batch.own))

    @functools.cached_property
    def different(self) -> Bools:
        """True for one position of each set of images under the symmetries, bool (N,)."""
        stones = zip(self.batch.own.tolist(), self.batch.opp.tolist(), strict=True)
        return np.array([canonical(self.game, *both)[:2] == both for both in stones], np.bool_)

    def _wins(self, batch: PositionBatch) -> Bools:
        wins = np.zeros(self.legal.shape, np.bool_)
        for action in range(self.game.num_actions):
            rows = np.flatnonzero(self.legal[:, action])
            choice = self.game.choice(action)
            # After the move the other side is to move, so a win of the side that moved is -1.
            stones = zip(batch.own[rows].tolist(), batch.opp[rows].tolist(), strict=True)
            wins[rows, action] = [self.game.result(*self.game.play_choice(*both, choice)) == -1 for both in stones]
        return wins

    def arguments(self, names: Sequence[str], rows: Ints) -> list[list[Json]]:
        """The arguments of a function in some positions, as JSON has them: a list for each position."""
        batch = self.batch.where(rows)
        columns: list[Sequence[Json]] = []
        for name in names:
            if name == "cells":
                columns.append(batch.observations("board").reshape(len(rows), self.game.cells).tolist())
            elif name in ("mask", "legal"):
                legal = np.where(self.over[rows], 0, legal_sets(self.game, batch.own, batch.opp))
                masks = action_masks(self.game, legal)
                columns.append([np.flatnonzero(mask).tolist() for mask in masks] if name == "legal" else masks.tolist())
            else:
                columns.append(batch.observations(name).tolist())
        return [list(arguments) for arguments in zip(*columns, strict=True)] if columns else [[] for _ in rows]


@functools.lru_cache(maxsize=8)
def questions_of(game: Game) -> Questions:
    """The `Questions` of a game, made once."""
    return Questions(game)


class Exam:
    """A submission under examination.

    Args:
        rubric: the functions to ask, and their limits.
        handed_in: the submission: a file or a folder.
        unconfined, stopped: see `Process`.

    Raises:
        ValueError: the game is too large for a theorem of the rubric.
        ImportError: a package that the rubric allows is not installed.

    Attributes:
        setup_trouble: the error of the rubric's `setup` function; empty if there was none.
        given_up: why questions stopped; empty if all were asked.
        printed: what the submission has printed.
    """

    def __init__(
        self,
        rubric: Rubric,
        handed_in: Path,
        unconfined: bool = False,
        stopped: threading.Event | None = None,
    ) -> None:
        self.rubric = rubric
        self.questions = questions_of(rubric.game)
        for number, test in enumerate(rubric.tests, 1):
            if THEOREMS[test.theorem].tabulated and self.questions.table is None:
                raise ValueError(f"test {number}: {test.theorem} needs a smaller game than {rubric.game_name}")
        self._handed_in = handed_in
        self._process_settings = (unconfined, stopped)
        self._until = time.monotonic() + rubric.limits.seconds
        self._process: Process | None = None
        self._scratch = contextlib.ExitStack()
        self.given_up = ""
        self._slow = 0
        self._verdicts: dict[int, SeatVerdict] = {}
        self._replies: dict[tuple[str, tuple[str, ...]], dict[int, Reply]] = {}
        self.setup_trouble = ""
        self.printed = ""

    def __enter__(self) -> Exam:
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def replies(self, function: str, arguments: tuple[str, ...], rows: Ints) -> list[Reply]:
        """The replies of a function in some positions, each asked once."""
        # Theorems ask about overlapping sets of positions, and a submission may be slow or draw its moves.
        replies = self._replies.setdefault((function, arguments), {})
        new = np.array([row for row in dict.fromkeys(rows.tolist()) if row not in replies], np.int64)
        calls = self.questions.arguments(arguments, new)
        for row, reply in zip(new.tolist(), self._ask(function, calls), strict=True):
            replies[row] = reply
        return [replies[row] for row in rows.tolist()]

    def moves(self, rows: Ints) -> Ints:
        """int64 (len(rows),): the submission's action in some unfinished positions, -1 if its answer is not legal."""
        replies = self.replies(self.rubric.function, self.rubric.arguments, rows)
        moves = []
        for row, reply in zip(rows.tolist(), replies, strict=True):
            action, legal = reply.value, self.questions.legal[row]
            if not isinstance(action, int) or isinstance(action, bool) or not 0 <= action < len(legal):
                action = -1
            moves.append(action if action >= 0 and legal[action] else -1)
        return np.array(moves, np.int64)

    def trouble(self, row: int) -> str:
        """Why the submission has no legal action in a position."""
        (reply,) = self.replies(self.rubric.function, self.rubric.arguments, np.array([row]))
        text = repr(reply.value)
        text = text if len(text) <= 60 else f"{text[:57]}..."
        return reply.trouble.removeprefix("it ") or f"answers {text}, which is not a legal move"

    @functools.cached_property
    def counted(self) -> Ints:
        """The unfinished positions over which shares are counted."""
        chosen = ~self.questions.over
        if self.rubric.symmetric:
            chosen &= self.questions.different
        return np.flatnonzero(chosen)

    def verdict(self, seat: int) -> SeatVerdict:
        """The exact results of a seat; an answer that is not legal loses the game."""
        if seat not in self._verdicts:
            table = self.questions.table
            assert table is not None, "checked by the constructor"

            def chances(rows: Ints) -> Floats:
                moves = self.moves(rows)
                return np.eye(self.rubric.game.num_actions)[moves] * (moves >= 0)[:, None]

            self._verdicts[seat] = seat_verdict(walked(table, seat, chances))
        return self._verdicts[seat]

    @property
    def exploitability(self) -> float:
        """The gain of the best replies, on average over the seats, as `tictac_env.exploitability` has it."""
        return (self.verdict(0).gain + self.verdict(1).gain) / 2

    def all_moves(self) -> dict[int, int]:
        """Its actions by the numbers of the positions that it was asked about."""
        rows = np.array(sorted(self._replies.get((self.rubric.function, self.rubric.arguments), {})), np.int64)
        return dict(zip(rows.tolist(), self.moves(rows).tolist(), strict=True))

    def _ask(self, function: str, calls: list[list[Json]]) -> list[Reply]:
        """Replies to all calls, asked a batch at a time.

        If the process ends during a call, that call has no answer and a new process gets the next one; after a few
        such calls the submission is given up.
        """
        replies: list[Reply] = []
        while len(replies) < len(calls) and not self.given_up:
            try:
                self._ask_batch(function, calls[len(replies) :][:BATCH], replies)
            except Gone as error:
                reply = Reply(trouble=str(error), slow=True)  # of the call under way; those before have theirs
                replies.append(reply)
                self._count(reply)
                self._end()
        return replies + [Reply(trouble=self.given_up)] * (len(calls) - len(replies))

    def _ask_batch(self, function: str, calls: list[list[Json]], replies: list[Reply]) -> None:
        """Appends the replies to some calls, as they come; stops if the submission is given up."""
        process = self._running()
        if self.given_up:  # the file cannot be loaded
            return
        for reply in process.ask(function, calls, self.rubric.limits.seconds_a_move):
            replies.append(reply)
            if self._count(reply):
                return

    def _count(self, reply: Reply) -> bool:
        """Counts slow replies; True if there were too many or the time is over, so that the submission is given up."""
        limits = self.rubric.limits
        self._slow += reply.slow
        if time.monotonic() >= self._until:
            self.given_up = f"was given up: the {limits.seconds:g} s for everything were used up"
        elif self._slow >= limits.slow_moves:
            self.given_up = f"was given up after {self._slow} times: it {reply.trouble.removeprefix('it ')}"
        if self.given_up:
            self._end()
        return bool(self.given_up)

    def _running(self) -> Process:
        if self._process is not None:
            return self._process
        source = self._scratch.enter_context(scratch_copy(self._handed_in, self.rubric.file))
        self._process = process = Process(source, self.rubric, self._until, *self._process_settings)
        if process.loaded.trouble:
            self.given_up = f"cannot be loaded: {process.loaded.trouble}"
            self._end()
        elif self.rubric.setup:
            (reply,) = process.ask(self.rubric.setup, [[]], self.rubric.limits.setup_seconds)
            self.setup_trouble = reply.trouble and f"{self.rubric.setup}: {reply.trouble}"
        return process

    def _end(self) -> None:
        if self._process is not None:
            self._process.stop()
            self.printed = self.printed or self._process.printed
            self._process = None
        self._scratch.close()
