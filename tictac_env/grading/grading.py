"""Grades a submission: runs it apart, asks it for its moves, and proves what the rubric wants proven."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import tictac_env
from tictac_env.grading.exam import Exam
from tictac_env.grading.files import Unusable, clean
from tictac_env.grading.process import GUARDS, Unprotected
from tictac_env.grading.report import PAGE, Grade, Result, replay_link
from tictac_env.grading.rubric import Criterion, Rubric, load_rubric
from tictac_env.grading.theorems import FINDERS, Finding, mistakes
from tictac_env.position import Position

LONGEST_PRINT = 2000
"""So many characters of what a submission prints are kept."""


def grade(
    submission: str | os.PathLike[str],
    assignment: str | os.PathLike[str] | Rubric,
    *,
    name: str = "",
    page: str = PAGE,
    guards: tuple[str, ...] = GUARDS,
    unconfined: bool = False,
    stopped: threading.Event | None = None,
) -> Grade:
    r"""Grades a submission by a rubric of theorems.

    The submission is run in a process of its own, within limits, and only asked what it plays; everything else is
    computed here. What it can do to this machine is told in docs/teaching/README.md. What goes wrong with it costs its
    points, and raises nothing.

    Args:
        submission: a Python file, a notebook, or a folder with one of them.
        assignment: the name of an assignment, the path of a rubric, or a rubric.
        name: whose it is; the name of the file unless given.
        page: the address of the page that links lead to.
        guards: what of Linux to confine it by; fewer are for tests.
        unconfined: whether to run it also where this system cannot keep it from other files, processes and the network.
        stopped: for grading in a thread: once it is set, this soon ends with `KeyboardInterrupt`.

    Raises:
        ValueError: the rubric is wrong, or wants more than can be proven of its game.
        FileNotFoundError: there is no such rubric.
        ImportError: a package that the rubric allows is not installed.
        Unprotected: an OSError: this system cannot confine it, and `unconfined` is False; nothing was run.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "submission.py")
        ...     _ = file.write_text("def choose(cells, legal):\n    return legal[0]\n")
        ...     found = grade(file, "minimax")
        >>> found.exploitability, found.results[0].told
        (1.0, '4,520 of 4,520 legal moves')
    """
    rubric = assignment if isinstance(assignment, Rubric) else load_rubric(assignment)
    path, begun = Path(submission), time.monotonic()
    results: list[Result] = []
    exploitable = erring = None
    trouble = printed = ""
    layers: tuple[str, ...] = ()
    moves: dict[int, int] = {}
    try:
        with Exam(rubric, path, guards, unconfined, stopped) as exam:
            results = [_result(exam, test, page) for test in rubric.tests]
            if rubric.function and any(test.theorem != "agrees" for test in rubric.tests):
                erring = mistakes(exam)
                exploitable = None if exam.questions.table is None else exam.exploitability
                moves = exam.all_moves()
        trouble, printed, layers = exam.given_up or exam.setup_trouble, exam.printed, exam.layers
    except Unprotected:
        raise
    except (Unusable, OSError) as error:  # the latter so that no submission ends the grading of others
        trouble = clean(str(error))
        results = [_of(test, Finding(0.0, "not found out", None, trouble), rubric, page) for test in rubric.tests]
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
        layers=layers,
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

    In a pupil's folder its files may be imported instead of this package; nbgrader's cells therefore run `tictac grade
    --cell` in another process, see `tictac_env.grading.formats.nbgrader`.

    Args:
        submission: as of `grade`.
        assignment: as of `grade`.
        cell: the line's `cell`; unless the rubric names it, the theorem's name, with "-first" or "-second".
        unconfined: as of `grade`.

    Raises:
        ValueError: the rubric has no such line; and as `grade`.

    Example:
        >>> import tempfile
        >>> from tictac_env.grading import load_rubric, points
        >>> file = Path(tempfile.mkdtemp(), "submission.py")
        >>> _ = file.write_text("def choose(cells, legal): return legal[0]")
        >>> points(file, "minimax", load_rubric("minimax").tests[0].cell)
        5.0
    """
    found = {result.cell: result.earned for result in grade(submission, assignment, unconfined=unconfined).results}
    if cell not in found:
        raise ValueError(f"the rubric has no cell {cell!r}; it has {', '.join(found)}")
    return found[cell]


def _result(exam: Exam, test: Criterion, page: str) -> Result:
    return _of(test, FINDERS[test.theorem](exam, test), exam.rubric, page)


def _of(test: Criterion, found: Finding, rubric: Rubric, page: str) -> Result:
    moves, board, link = _shown(found.example, rubric, page)
    return Result(
        name=test.theorem,
        title=test.title,
        points=test.points,
        earned=test.earned(found.share),
        share=found.share,
        told=found.told,
        why=found.why,
        moves=moves,
        board=board,
        link=link,
        cell=test.cell,
        visibility=test.visibility,
    )


def _shown(example: Position | None, rubric: Rubric, page: str) -> tuple[str | None, str, str]:
    """The game that leads to an example, the board, and the link to replay it."""
    if example is None:
        return None, "", ""
    moves = example.to_moves()
    shown = Position.from_moves(rubric.game, moves)
    return moves, str(shown), replay_link(page, rubric.game_name, moves)
