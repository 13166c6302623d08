"""An exam: the positions of a game and their truth, and what a submission has answered, each asked once."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_apps.grading.process import Gone, Process, Reply
from tictac_apps.grading.rubric import THEOREMS, Rubric
from tictac_apps.grading.submissions import scratch_copy
from tictac_env.arena.auditing import REPORTING
from tictac_env.arena.suites import suite
from tictac_env.arena.verdicts import SeatVerdict, seat_verdict, walked
from tictac_env.checks import Floats, Ints
from tictac_env.games import UNFINISHED, Game, game_name
from tictac_env.observation import action_masks, legal_sets
from tictac_env.position import canonical
from tictac_env.position_batch import PositionBatch
from tictac_env.solver.enumerate import NO_SCORE, GameTable, TooManyPositions, tabulate

BATCH = 512
"""Positions asked at a time."""
Bools = npt.NDArray[np.bool_]


class Questions:
    """The positions of a game that submissions are asked about, and their truth.

    Args:
        game: the rules. Of a game that is too large to tabulate the positions of its suite are taken.

    Raises:
        TooManyPositions: the game is too large, and has no suite.

    Attributes:
        batch: the N positions.
        over: bool (N,), whether the game is over there.
        scores: int16 (N, num_actions), the exact score of each action, `NO_SCORE` if it is illegal.
        legal: bool (N, num_actions), none once the game is over.
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
            known = suite(name)
            self.table, self.batch, self.scores = None, known.positions, known.scores
            self.over = np.zeros(len(known), np.bool_)
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
        """The actions with which the other side would win, were it to move, bool (N, num_actions)."""
        return self._wins(PositionBatch(self.game, self.batch.opp, self.batch.own))

    @functools.cached_property
    def different(self) -> Bools:
        """One position of those that are images of each other, bool (N,)."""
        stones = zip(self.batch.own.tolist(), self.batch.opp.tolist(), strict=True)
        return np.array([canonical(self.game, *both)[:2] == both for both in stones], np.bool_)

    def _wins(self, batch: PositionBatch) -> Bools:
        wins = np.zeros(self.legal.shape, np.bool_)
        for action in range(self.game.num_actions):
            rows = np.flatnonzero(self.legal[:, action])
            choice = self.game.choice(action)
            stones = zip(batch.own[rows].tolist(), batch.opp[rows].tolist(), strict=True)
            wins[rows, action] = [self.game.result(*self.game.play_choice(*both, choice)) == -1 for both in stones]
        return wins

    def arguments(self, names: Sequence[str], rows: Ints) -> list[list[Any]]:
        """The arguments of a function in some positions, as JSON has them: a list for each."""
        some = self.batch.where(rows)
        columns: list[list[Any]] = []
        for name in names:
            if name == "cells":
                columns.append(some.observations("board").reshape(len(rows), self.game.cells).tolist())
            elif name in ("mask", "legal"):
                masks = action_masks(self.game, np.where(self.over[rows], 0, legal_sets(self.game, some.own, some.opp)))
                columns.append([np.flatnonzero(one).tolist() for one in masks] if name == "legal" else masks.tolist())
            else:
                columns.append(some.observations(name).tolist())
        return [list(given) for given in zip(*columns, strict=True)] if columns else [[] for _ in rows]


@functools.lru_cache(maxsize=8)
def questions_of(game: Game) -> Questions:
    """The `Questions` of a game, made once."""
    return Questions(game)


class Exam:
    """A submission under examination.

    Args:
        rubric: what is asked for.
        handed_in: the submission: a file or a folder.
        unconfined, stopped: see `Process`.

    Raises:
        ValueError: the game is too large for what the rubric wants proven.
        ImportError: a package that the rubric allows is not installed.

    Attributes:
        setup_trouble: the error of the function that comes first; empty if there was none.
        given_up: why it was asked no more; empty if it was asked everything.
        printed: what it has printed.
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
        known = self._replies.setdefault((function, arguments), {})
        new = np.array([row for row in dict.fromkeys(rows.tolist()) if row not in known], np.int64)
        calls = self.questions.arguments(arguments, new)
        for row, reply in zip(new.tolist(), self._ask(function, calls), strict=True):
            known[row] = reply
        return [known[row] for row in rows.tolist()]

    def moves(self, rows: Ints) -> Ints:
        """int64 (len(rows),): the submission's action in some unfinished positions, -1 if it has no legal one."""
        found = self.replies(self.rubric.function, self.rubric.arguments, rows)
        moves = []
        for row, reply in zip(rows.tolist(), found, strict=True):
            value, legal = reply.value, self.questions.legal[row]
            is_action = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(legal)
            moves.append(value if is_action and legal[value] else -1)
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
        """The exact results of a seat; without a legal action it loses."""
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
        """As of `tictac_env.exploitability`."""
        return (self.verdict(0).gain + self.verdict(1).gain) / 2

    def all_moves(self) -> dict[int, int]:
        """Its actions by the number of the position, in all that it was asked about."""
        rows = np.array(sorted(self._replies.get((self.rubric.function, self.rubric.arguments), {})), np.int64)
        return dict(zip(rows.tolist(), self.moves(rows).tolist(), strict=True))

    def _ask(self, function: str, calls: list[list[Any]]) -> Iterable[Reply]:
        """Replies to all calls. A process that has ended is begun anew for the next one, a few times."""
        replies: list[Reply] = []
        while len(replies) < len(calls):
            if self.given_up:
                return [*replies, *[Reply(trouble=self.given_up)] * (len(calls) - len(replies))]
            try:
                process = self._running()
                if self.given_up:
                    continue
                for reply in process.ask(function, calls[len(replies) :][:BATCH], self.rubric.limits.seconds_a_move):
                    replies.append(reply)
                    if self._count(reply):
                        break
            except Gone as error:
                reply = Reply(trouble=str(error), slow=True)
                replies.append(reply)
                self._count(reply)
                self._end()
        return replies

    def _count(self, reply: Reply) -> bool:
        """Counts slow replies; True if there were too many, or the time is over."""
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
