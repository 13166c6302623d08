"""A whole class: all submissions of a folder, graded side by side, ranked, and compared by the moves they choose."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tictac_apps.grading.exam import questions_of
from tictac_apps.grading.grading import PAGE, UNCONFINED, Grade, grade
from tictac_apps.grading.rubric import Rubric
from tictac_apps.grading.submissions import NOTEBOOK, Unusable, main_file, transformer
from tictac_env.arena.game_record import sampled_openings
from tictac_env.arena.outcomes import aligned_columns
from tictac_env.arena.tournament import Tournament, round_robin
from tictac_env.games import Game
from tictac_env.policies import Policy
from tictac_env.position import IllegalMove, Position, canonical
from tictac_env.progress import progress_bar
from tictac_env.storage import csv_of

OPENINGS, PLIES = 8, 2
"""Positions that a class tournament begins from, and plies before them."""
ALIKE = 0.98
"""Pairs that choose the same move in this share of the positions are shown."""
MOST_PAIRS = 20
WIDEST = 80
"""Characters of a reason that the table shows."""


class Likeness(NamedTuple):
    """The shares of positions in which two submissions play the same move."""

    submission: str
    other: str
    same: float
    """Share of positions in which both choose the same move. Counted are positions with several legal moves in which at
    least one of the two has chosen a legal move.
    """
    same_mistakes: float | None
    """The same share over the positions in which both give value away; None if there are none."""


@dataclass(frozen=True)
class ClassReport:
    """The grades of a class.

    Attributes:
        rubric: the rubric.
        grades: one for each submission: by points, then by exploitability and mistakes, best first.
        likenesses: one for each pair that plays, the most alike first.
    """

    rubric: Rubric
    grades: tuple[Grade, ...]
    likenesses: tuple[Likeness, ...]

    def to_dict(self) -> dict[str, object]:
        """The report as JSON has it."""
        return {
            "assignment": self.rubric.name,
            "grades": [graded.to_dict() for graded in self.grades],
            "likeness": [pair._asdict() for pair in self.likenesses],
        }

    def to_csv(self) -> str:
        """The report as CSV: a line for each submission, with the points of each test."""
        cells = [f"points: {test.cell}" for test in self.rubric.tests]
        columns = ["submission", "score", "of", "exploitability", "mistakes", *cells, "trouble", "confined"]
        rows = []
        for graded in self.grades:
            measured = ["" if value is None else f"{value:.5f}" for value in (graded.exploitability, graded.mistakes)]
            earned = [f"{result.earned:g}" for result in graded.results]
            row = [_safe(graded.submission), f"{graded.score:g}", f"{graded.points:g}", *measured, *earned]
            rows.append(dict(zip(columns, [*row, _safe(graded.reason), str(graded.confined).lower()], strict=True)))
        return csv_of(columns, rows)

    def __str__(self) -> str:
        rows = [["submission", "points", "exploitability", "mistakes", "tests passed"]]
        for graded in self.grades:
            passed = "".join("+" if result.passed else "-" for result in graded.results)
            exploitable = "" if graded.exploitability is None else f"{graded.exploitability:.5f}"
            erring = "" if graded.mistakes is None else f"{100 * graded.mistakes:.2f} %"
            rows.append([graded.submission, f"{graded.score:g}/{graded.points:g}", exploitable, erring, passed])
        reasons = (" ".join(graded.reason.split()) for graded in self.grades)
        shown = ["why", *(reason if len(reason) <= WIDEST else f"{reason[: WIDEST - 3]}..." for reason in reasons)]
        lines = [f"{line}  {why}".rstrip() for line, why in zip(aligned_columns(rows), shown, strict=True)]
        if not all(graded.confined for graded in self.grades):
            lines += ["", f"of each: {UNCONFINED}"]
        alike = [pair for pair in self.likenesses if pair.same >= ALIKE]
        if alike:
            lines += ["", f"the same move in {100 * ALIKE:.0f} % of the positions or more ({len(alike)} pairs):"]
        for pair in alike[:MOST_PAIRS]:
            errors = "" if pair.same_mistakes is None else f", {100 * pair.same_mistakes:.1f} % of common mistakes"
            lines.append(f"  {pair.submission} and {pair.other}: {100 * pair.same:.1f} %{errors}")
        return "\n".join(lines)


def grade_class(
    submissions: Mapping[str, Path],
    rubric: Rubric,
    jobs: int | None = None,
    page: str = PAGE,
    progress: bool = False,
    unconfined: bool = False,
) -> ClassReport:
    """Grades many submissions, several at a time.

    Args:
        submissions: the files or folders by their names.
        rubric: the rubric.
        jobs: number graded at a time; by default the number of cores.
        page: the address of the page that links lead to.
        progress: if true, shows a progress bar (only on a terminal).
        unconfined: as of `grade`.

    Raises:
        ValueError, ImportError, Unprotected: as of `grade`.
    """
    questions_of(rubric.game)  # once, before several ask for it
    for path in submissions.values():
        with contextlib.suppress(Unusable):
            if main_file(path, rubric.file).suffix == NOTEBOOK:
                transformer()  # or an error now, and not after an hour
    with (
        progress_bar(len(submissions), f"grading {rubric.name}", progress) as update,
        ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool,
    ):
        stopped, grades = threading.Event(), []
        try:
            waiting = [
                pool.submit(grade, path, rubric, name=name, page=page, unconfined=unconfined, stopped=stopped)
                for name, path in submissions.items()
            ]
            for done, future in enumerate(waiting, 1):
                grades.append(future.result())
                update(done, grades[-1].submission)
        except BaseException:
            stopped.set()  # else Ctrl-C would wait for all who are being asked
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    grades.sort(key=_rank)
    return ClassReport(rubric, tuple(grades), tuple(likenesses(grades, rubric)))


def likenesses(grades: list[Grade], rubric: Rubric) -> list[Likeness]:
    """Compares every two submissions that have played at all; the most alike come first."""
    playing = [graded for graded in grades if any(move >= 0 for move in graded.moves.values())]
    if len(playing) < 2:
        return []
    # A row for each submission: its move in every position, -1 if it has none.
    questions = questions_of(rubric.game)
    moves = np.full((len(playing), len(questions.batch)), -1, np.int64)
    for place, graded in enumerate(playing):
        moves[place, list(graded.moves)] = list(graded.moves.values())
    # In positions with one legal move all agree, so these say nothing. An error is a move of less than the best value.
    chooses = questions.legal.sum(axis=1) > 1
    values = questions.values
    worth = np.take_along_axis(values[None], np.maximum(moves, 0)[:, :, None], axis=2)[:, :, 0]
    errs = (moves >= 0) & (worth < values.max(axis=1))
    # Common mistakes say more than common good moves: there is one way to be right, and many to be wrong.
    pairs = []
    for first, second in combinations(range(len(playing)), 2):
        played = chooses & ((moves[first] >= 0) | (moves[second] >= 0))
        same = moves[first] == moves[second]
        wrong = chooses & errs[first] & errs[second]
        share = float(same[played].mean())
        mistaken = float(same[wrong].mean()) if wrong.any() else None
        pairs.append(Likeness(playing[first].submission, playing[second].submission, share, mistaken))
    return sorted(pairs, key=lambda pair: (-pair.same, -(pair.same_mistakes or 0), pair.submission, pair.other))


def class_tournament(report: ClassReport, seed: int = 0, progress: bool = False) -> Tournament:
    """Plays a round robin from the recorded answers: no submission is run again.

    Raises:
        ValueError: fewer than two have played, or the game is too large to ask about all of its positions.
    """
    game = report.rubric.game
    if questions_of(game).table is None:
        raise ValueError(
            f"a class tournament needs a game whose positions were all asked; {report.rubric.game_name} is too large"
        )
    players = {grade.submission: ByAnswers(game, grade.moves, grade.reason) for grade in report.grades if grade.moves}
    openings = sampled_openings(game, PLIES, OPENINGS, seed)
    return round_robin(players, game, seed=seed, openings=openings, progress=progress)


class ByAnswers(Policy):
    """A policy that plays the answers of a submission.

    Args:
        game: the game.
        moves: the action by the number of the position, -1 if the answer was not legal. A position that was not asked
            is answered by its image.
        reason: why it forfeits a game in which it had no legal answer.
    """

    name = "answers"

    def __init__(self, game: Game, moves: Mapping[int, int], reason: str = "") -> None:
        self.reason = reason
        self.answers = np.full(len(questions_of(game).batch), -2, np.int64)
        self.answers[list(moves)] = list(moves.values())

    def act(self, position: Position, seed: int) -> int:
        table = questions_of(position.game).table
        assert table is not None, "checked by who makes one"
        action = int(self.answers[table.index[position.own, position.opp]])
        if action == -2:  # not asked: with `symmetric`, one of the images of each position was
            own, opp, symmetry = canonical(position.game, position.own, position.opp)
            image = int(self.answers[table.index[own, opp]])
            action = symmetry.actions.index(image) if image >= 0 else image
        if action < 0:
            raise IllegalMove(self.reason or f"it had no legal answer to {position!r}")
        return action


def _rank(grade: Grade) -> tuple[float, float, float, str]:
    unknown = float("inf")
    measured = (unknown if value is None else value for value in (grade.exploitability, grade.mistakes))
    return (-grade.score, *measured, grade.submission)  # type: ignore[return-value]


def _safe(text: str) -> str:
    """A table cell that no spreadsheet takes for a formula."""
    line = " ".join(text.split())
    return f"'{line}" if line.startswith(("=", "+", "-", "@")) else line
