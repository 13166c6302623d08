"""Grades a submission: runs it confined, asks it for its moves, and proves the tests of a rubric.

A grade is a record that JSON can hold; `gradescope` and `nbgrader` write it as these services for teaching read it.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import quote

import tictac_env
from tictac_apps.grading.exam import Exam
from tictac_apps.grading.process import Unprotected
from tictac_apps.grading.rubric import Criterion, Rubric, load_rubric
from tictac_apps.grading.submissions import Unusable, clean
from tictac_apps.grading.theorems import FINDERS, Finding, mistakes_of
from tictac_env.position import Position

LONGEST_PRINT = 2000
"""Characters that are kept of what a submission prints."""

PAGE = "http://127.0.0.1:8000/"
"""The page of `tictac serve`, which shows games."""
UNCONFINED = "it was run unconfined, with the rights of the grader"


@dataclass(frozen=True)
class Result:
    """The result of one line of a rubric.

    Attributes:
        name: the theorem.
        title: its statement.
        points: the most it can earn.
        earned: the points of this submission.
        share: in [0, 1], the share of cases in which it holds.
        summary: its figures as a phrase.
        why: what is wrong in the example, or why the theorem could not be tested.
        moves: the game that leads to the example, as a move string; None if there is no example.
        board: the example as text.
        link: the address where the game can be replayed.
        cell: the `grade_id` of nbgrader's cell.
        visibility: Gradescope's.

    Example:
        >>> from tictac_apps.grading import Result
        >>> summary = "it loses 12437"
        >>> result = Result("unbeaten", "no reply beats it", 15, 0, 0.0, summary, "", "12437", "", "", "", "visible")
        >>> result.moves
        '12437'
    """

    name: str
    title: str
    points: float
    earned: float
    share: float
    summary: str
    why: str
    moves: str | None
    board: str
    link: str
    cell: str
    visibility: str

    @property
    def passed(self) -> bool:
        """True if it earned all points."""
        return self.earned >= self.points

    @property
    def output(self) -> str:
        """The whole result in lines."""
        return "\n".join([self.summary, *filter(None, (self.why, self.board, self.link))])


@dataclass(frozen=True)
class Grade:
    """The result of grading a submission. JSON can hold everything in it.

    Attributes:
        submission: whose it is, or the name of its file.
        assignment: the name of the assignment.
        game: the name of the game.
        version: the version of this package.
        score: the points earned.
        points: the points there are.
        results: one for each line of the rubric, in its order.
        exploitability: the gain of the best replies, see `tictac_env.exploitability`; None if no function plays or the
            game is too large.
        mistakes: the share of positions in which its move gives value away or is illegal; None if no function plays.
        trouble: why it could not be run, was given up, or failed to train; empty if none of these happened.
        confined: True if bubblewrap confined it; False if it ran with the rights of the grader.
        seconds: wall-clock time.
        printed: the beginning of what it has printed.
        moves: its actions by the number of the position, -1 if the answer was not legal; not part of the JSON.

    Example:
        >>> from tictac_apps.grading import Grade
        >>> graded = Grade("ann.py", "rules", "TicTacToe-v0", "0.1.0", 12.0, 20.0, (), None, None, "", True, 0.5, "")
        >>> f"{graded.submission}: {graded.score:g} of {graded.points:g} points"
        'ann.py: 12 of 20 points'
    """

    submission: str
    assignment: str
    game: str
    version: str
    score: float
    points: float
    results: tuple[Result, ...]
    exploitability: float | None
    mistakes: float | None
    trouble: str
    confined: bool
    seconds: float
    printed: str
    moves: dict[int, int] = field(default_factory=dict, repr=False, compare=False)

    @property
    def reason(self) -> str:
        """The reason for missing points: the trouble, or the first error found; empty if none are missing."""
        if self.score >= self.points:
            return self.trouble
        return self.trouble or next((result.why for result in self.results if not result.passed and result.why), "")

    def to_dict(self) -> dict[str, object]:
        """The record as JSON has it."""
        record = asdict(self)
        del record["moves"]
        return record

    def to_json(self) -> str:
        """The record as JSON: an object with the attributes above, but for `moves`."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.submission}: {self.assignment}, {self.score:g} of {self.points:g} points"
        if self.trouble:
            yield f"  {self.trouble}"
        for result in self.results:
            mark = "+" if result.passed else "-"
            yield f"  {mark} {result.earned:g}/{result.points:g}  {result.title}: {result.summary}"
            if not result.passed:
                shown = [result.why, *result.board.splitlines(), result.link]
                yield from (f"        {line}" for line in shown if line)
        if self.mistakes is not None:
            exploitability = "" if self.exploitability is None else f"exploitability {self.exploitability:.5f}, "
            yield f"  {exploitability}mistakes {100 * self.mistakes:.2f} %"
        yield f"  {self.seconds:.1f} s{'' if self.confined else f'; {UNCONFINED}'}"


def grade(
    submission: str | os.PathLike[str],
    assignment: str | os.PathLike[str] | Rubric,
    *,
    name: str = "",
    page: str = PAGE,
    unconfined: bool = False,
    stopped: threading.Event | None = None,
) -> Grade:
    r"""Grades a submission by a rubric of theorems.

    The submission runs in a process of its own, within limits, and is only asked for its moves; everything else is
    computed here. docs/teaching/README.md says what it can do to this machine. An error of the submission costs points,
    and is not raised.

    Args:
        submission: a Python file, a notebook, or a folder with one of them.
        assignment: the name of an assignment, the path of a rubric, or a rubric.
        name: whose it is; by default the name of the file.
        page: the address of the page that links lead to.
        unconfined: run it without bubblewrap, with the rights of this process; for a container of its own that holds
            nothing of value.
        stopped: for grading in a thread: once it is set, grading soon ends with `KeyboardInterrupt`.

    Raises:
        ValueError: the rubric is wrong, or its game is too large for one of its theorems.
        FileNotFoundError: there is no such rubric.
        ImportError: a package that the rubric allows is not installed.
        Unprotected: an OSError: bubblewrap does not work here, and `unconfined` is False; nothing was run.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "submission.py")
        ...     _ = file.write_text("def choose(cells, legal):\n    return legal[0]\n")
        ...     graded = grade(file, "minimax")
        >>> graded.exploitability, graded.results[0].summary
        (1.0, '4,520 of 4,520 legal moves')
    """
    rubric = assignment if isinstance(assignment, Rubric) else load_rubric(assignment)
    path, begun = Path(submission), time.monotonic()
    results: list[Result] = []
    exploitable = erring = None
    trouble = printed = ""
    moves: dict[int, int] = {}
    try:
        with Exam(rubric, path, unconfined, stopped) as exam:
            results = [_result(test, FINDERS[test.theorem](exam, test), rubric, page) for test in rubric.tests]
            if rubric.function and any(test.theorem != "agrees" for test in rubric.tests):
                erring = mistakes_of(exam)
                exploitable = None if exam.questions.table is None else exam.exploitability
                moves = exam.all_moves()
        trouble, printed = exam.given_up or exam.setup_trouble, exam.printed
    except Unprotected:
        raise
    except (Unusable, OSError) as error:  # the latter so that no submission ends the grading of others
        trouble = clean(str(error))
        results = [_result(test, Finding(0.0, "not tested", None, trouble), rubric, page) for test in rubric.tests]
    return Grade(
        submission=clean(name or (path.name if path.is_dir() else path.stem)),
        assignment=rubric.name,
        game=rubric.game_name,
        version=tictac_env.__version__,
        score=round(sum(result.earned for result in results), 2),
        points=rubric.points,
        results=tuple(results),
        exploitability=exploitable,
        mistakes=erring,
        trouble=trouble,
        confined=not unconfined,
        seconds=round(time.monotonic() - begun, 3),
        printed=printed[:LONGEST_PRINT],
        moves=moves,
    )


def points(
    submission: str | os.PathLike[str],
    assignment: str | os.PathLike[str] | Rubric,
    cell: str,
    *,
    unconfined: bool = False,
) -> float:
    """The points for one line of a rubric.

    In a pupil's folder the pupil's files may be imported instead of this package, so nbgrader's cells run `tictac grade
    --cell` in another process (see `nbgrader`).

    Args:
        submission: as of `grade`.
        assignment: as of `grade`.
        cell: the line's `cell`; unless the rubric names it, the theorem's name, with "-first" or "-second".
        unconfined: as of `grade`.

    Raises:
        ValueError: the rubric has no such cell; and as `grade`.

    Example:
        >>> import tempfile
        >>> from tictac_apps.grading import load_rubric, points
        >>> file = Path(tempfile.mkdtemp(), "submission.py")
        >>> _ = file.write_text("def choose(cells, legal): return legal[0]")
        >>> points(file, "minimax", load_rubric("minimax").tests[0].cell)
        5.0
    """
    earned = {result.cell: result.earned for result in grade(submission, assignment, unconfined=unconfined).results}
    if cell not in earned:
        raise ValueError(f"the rubric has no cell {cell!r}; it has {', '.join(earned)}")
    return earned[cell]


def _result(test: Criterion, finding: Finding, rubric: Rubric, page: str) -> Result:
    moves, board, link = None, "", ""
    if finding.example is not None:
        moves = finding.example.to_moves()
        board, link = str(Position.from_moves(rubric.game, moves)), replay_link(page, rubric.game_name, moves)
    earned, shown = test.earned(finding.share), (finding.summary, finding.why, moves, board, link)
    return Result(test.theorem, test.title, test.points, earned, finding.share, *shown, test.cell, test.visibility)


def replay_link(page: str, game: str, moves: str) -> str:
    """The address at which the page of `tictac serve` replays a game."""
    return f"{page}#view=play&game={quote(game, safe=':,')}&moves={moves}&opponent=nobody"


NBGRADER_SCHEMA = 3
CELL = """import subprocess, sys

words = ["-I", "-m", "tictac_apps", "grade", "submission.py", "--assignment", {assignment!r}, "--cell", {cell!r}{more}]
float(subprocess.run([sys.executable, *words], check=True, stdout=subprocess.PIPE).stdout)"""
"""The source of a cell: the value of its last expression is its points."""


def gradescope(graded: Grade) -> dict[str, object]:
    """A grade as Gradescope reads it, with a leaderboard that ranks by exploitability.

    See "Autograder specifications" in its documentation
    (https://gradescope-autograders.readthedocs.io/en/latest/specs/).
    """
    board: list[dict[str, object]] = []
    if graded.exploitability is not None:
        board.append({"name": "exploitability", "value": round(graded.exploitability, 5), "order": "asc"})
    if graded.mistakes is not None:
        board.append({"name": "mistakes, %", "value": round(100 * graded.mistakes, 2), "order": "asc"})
    return {
        "score": graded.score,
        "execution_time": graded.seconds,
        "output": "\n".join(filter(None, [f"{graded.assignment}, by tictac-env {graded.version}", graded.trouble])),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"assignment": graded.assignment, "game": graded.game, "confined": graded.confined},
        "tests": [
            {
                "score": result.earned,
                "max_score": result.points,
                "status": "passed" if result.passed else "failed",
                "name": result.title,
                "number": str(number),
                "output": result.output,
                "output_format": "text",
                "tags": [result.name],
                "visibility": result.visibility,
                "extra_data": {"share": result.share, "moves": result.moves, "link": result.link},
            }
            for number, result in enumerate(graded.results, 1)
        ],
        "leaderboard": board,
    }


def nbgrader(graded: Grade) -> dict[str, object]:
    """The points of nbgrader's cells: for each its metadata, its source, and the points of this submission.

    A cell of autograder tests gives partial credit by its last value, a number
    (https://nbgrader.readthedocs.io/en/stable/user_guide/autograding_resources.html). Its source grades in another
    process, which is isolated (`-I`), so that it imports nothing from the pupil's folder; it runs the submission
    unconfined if this grade did.
    """
    return {
        "student": graded.submission,
        "assignment": graded.assignment,
        "score": graded.score,
        "max_score": graded.points,
        "confined": graded.confined,
        "cells": [
            {
                "grade_id": result.cell,
                "points": result.earned,
                "max_points": result.points,
                "message": result.output,
                "source": CELL.format(
                    assignment=graded.assignment,
                    cell=result.cell,
                    more="" if graded.confined else ', "--unconfined"',
                ),
                "metadata": {
                    "nbgrader": {
                        "schema_version": NBGRADER_SCHEMA,
                        "cell_type": "code",
                        "grade": True,
                        "solution": False,
                        "task": False,
                        "locked": True,
                        "grade_id": result.cell,
                        "points": result.points,
                    }
                },
            }
            for result in graded.results
        ],
    }
