"""The command `tictac grade`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tictac_apps.cli.arguments import (
    add_file,
    add_forms,
    add_number,
    as_json,
    complete_words,
    game_named,
    print_result,
    whole_number,
)
from tictac_apps.grading.classes import class_tournament, grade_class
from tictac_apps.grading.grading import PAGE, Grade, grade, gradescope, nbgrader, points
from tictac_apps.grading.rubric import assignment_folder, assignments, load_rubric
from tictac_apps.grading.submissions import handed_in_by_all, is_class
from tictac_env.arena.game_record import games_as_csv
from tictac_env.games import get_game
from tictac_env.storage import save_text

FORMATS = ("gradescope", "nbgrader")


def add_grade(parser: argparse.ArgumentParser) -> None:
    add_file(parser, "submissions", nargs="*", metavar="SUBMISSION", help="a file, a folder, or a folder of these")
    assignment = parser.add_argument(
        "--assignment", metavar="NAME", help=f"the assignment: {', '.join(assignments())}, or a rubric's path (.toml)"
    )
    complete_words(assignment, "assignments", assignments(), files=True)
    parser.add_argument(
        "--game",
        type=game_named,
        metavar="GAME",
        help="the rubric's game; needed if the game is your own, as module:Name-v0",
    )
    forms = add_forms(parser, "the points of all submissions", "the games of --tournament")
    forms.add_argument("--format", choices=FORMATS, help="print the result in the format of this platform")
    parser.add_argument("--cell", metavar="NAME", help="print only the points of this line of the rubric")
    parser.add_argument("--tournament", action="store_true", help="also let all submissions play each other")
    add_number(parser, "--workers", whole_number(1), "grade N submissions at once (default: one for each core)")
    parser.add_argument(
        "--unconfined", action="store_true", help="run submissions with your own rights, without bubblewrap"
    )
    parser.add_argument(
        "--page", default=PAGE, metavar="URL", help="the page that links lead to (default: %(default)s)"
    )
    parser.add_argument("--list", action="store_true", help="list the assignments")
    add_file(parser, "--hand-out", folder=True, help="copy the pupils' files of the assignment to this folder")
    parser.add_argument("--make-zip", metavar="NAME", help="make a Gradescope autograder for this assignment")
    add_file(parser, "--wheels", folder=True, help="wheels in this folder, so that the autograder needs no network")


def run_grade(options: argparse.Namespace) -> int:
    """Grades submissions by proof: each line of a rubric is an exact statement about how a submission plays.

    A submission is a Python file, a notebook, or a folder with one of these. It runs in its own process, confined by
    bubblewrap, and is asked for its moves. A folder of submissions is graded as a class: you get a table of points, a
    list of similar submissions, and a tournament if you ask for one. docs/teaching/README.md explains the details.

    Examples:
      tictac grade --list
      tictac grade --assignment minimax --hand-out work        (the pupils' files)
      tictac grade work/submission.py --assignment minimax
      tictac grade class/ --assignment minimax --tournament --csv -o grades.csv
      tictac grade submission.py --assignment mine.toml --format gradescope
      tictac grade --make-zip minimax --wheels wheels/         (for Gradescope)
    """
    path = sys.path[:]
    sys.path[:] = [folder for folder in path if folder not in ("", os.getcwd())]  # hand-ins may lie there
    try:
        return _run(options)
    finally:
        sys.path[:] = path


def _run(options: argparse.Namespace) -> int:
    if options.list:
        for name in assignments():
            print(f"{name}: {load_rubric(name).title}")
        return 0
    if options.make_zip is not None:
        from tictac_apps.grading.autograder_zip import make_zip

        path = options.output or Path(f"{load_rubric(options.make_zip).name}.zip")
        print(f"{path} ({make_zip(options.make_zip, path, options.wheels):,} bytes)")
        return 0
    if options.assignment is None:
        raise ValueError(f"--assignment is needed: {', '.join(assignments())}, or the path of a rubric")
    if options.hand_out is not None:
        return _hand_out(options.assignment, options.hand_out)
    rubric = load_rubric(options.assignment)
    if options.game is not None and get_game(options.game) != rubric.game:
        raise ValueError(f"--game: the rubric {rubric.name} is of {rubric.game_name}, not of {options.game}")
    if not options.submissions:
        raise ValueError("give a submission: a file, a folder, or a folder of submissions")
    for path in options.submissions:
        if not path.exists():
            raise ValueError(f"there is no submission {str(path)!r}")
    if options.csv_games and not options.tournament:
        raise ValueError("--csv-games needs --tournament: without one there are no games")
    alone = len(options.submissions) == 1 and not is_class(options.submissions[0], rubric.file)
    if alone or options.cell is not None or options.format == "gradescope":
        if len(options.submissions) > 1 or options.tournament or options.csv or options.csv_games:
            raise ValueError("a single submission has no table and no tournament; --cell and gradescope take only one")
        if options.cell is not None:
            print(points(options.submissions[0], rubric, options.cell, unconfined=options.unconfined))
            return 0
        graded = grade(options.submissions[0], rubric, page=options.page, unconfined=options.unconfined)
        _print(options, str(graded), {"json": lambda: as_json(graded.to_dict())}, [graded])
        return 0
    class_ = handed_in_by_all(options.submissions, rubric.file)
    report = grade_class(class_, rubric, options.workers, options.page, progress=True, unconfined=options.unconfined)
    text, forms = str(report), {"json": lambda: as_json(report.to_dict()), "csv": report.to_csv}
    if options.tournament:
        tournament = class_tournament(report)
        text = f"{text}\n\n{tournament}\n\n{tournament.ratings()}"
        forms["csv_games"] = lambda: games_as_csv(tournament)
    _print(options, text, forms, report.grades)
    return 0


def _print(
    options: argparse.Namespace, text: str, forms: Mapping[str, Callable[[], str]], grades: Sequence[Grade]
) -> None:
    """Prints or writes a report in the form of the options: one of `forms`, or the one of a platform."""

    def of_platform() -> str:
        if options.format == "gradescope":
            return as_json(gradescope(grades[0]))
        records = [nbgrader(grade) for grade in grades]
        return as_json(records[0] if len(records) == 1 else records)

    print_result(options, text, {**forms, "format": of_platform})


def _hand_out(assignment: str, folder: Path) -> int:
    """Copies the hand-out, and the starter file under the name to hand in; nothing is overwritten."""
    home, rubric = assignment_folder(assignment), load_rubric(assignment)
    for name, target in (("handout.md", folder / "handout.md"), ("starter.py", folder / rubric.file)):
        if target.exists():
            raise ValueError(f"{target} exists already")
        save_text(target, (home / name).read_text(encoding="utf-8"))
        print(target)
    return 0
