"""Grades as services for teaching read them: Gradescope's results, and points for nbgrader's cells."""

from __future__ import annotations

from typing import Any

from tictac_env.grading.report import Grade

NBGRADER_SCHEMA = 3
"""The version of nbgrader's metadata that `nbgrader` writes."""
CELL = """import subprocess, sys

words = ["-I", "-m", "tictac_env", "grade", "submission.py", "--assignment", {assignment!r}, "--cell", {cell!r}]
float(subprocess.run([sys.executable, *words], check=True, stdout=subprocess.PIPE).stdout)"""
"""The source of a cell, whose last value is its points."""


def gradescope(found: Grade) -> dict[str, Any]:
    """What Gradescope reads from `/autograder/results/results.json`, with a leaderboard that ranks by exploitability.

    See "Autograder specifications" in its documentation
    (https://gradescope-autograders.readthedocs.io/en/latest/specs/).
    """
    board: list[dict[str, Any]] = []
    if found.exploitability is not None:
        board.append({"name": "exploitability", "value": round(found.exploitability, 5), "order": "asc"})
    if found.mistakes is not None:
        board.append({"name": "mistakes, %", "value": round(100 * found.mistakes, 2), "order": "asc"})
    return {
        "score": found.score,
        "execution_time": found.seconds,
        "output": "\n".join(filter(None, [f"{found.assignment}, by tictac-env {found.version}", found.trouble])),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"assignment": found.assignment, "game": found.game, "layers": list(found.layers)},
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
            for number, result in enumerate(found.results, 1)
        ],
        "leaderboard": board,
    }


def nbgrader(found: Grade) -> dict[str, Any]:
    """The points of nbgrader's cells: for each its metadata, its source, and what this submission gets.

    A cell of autograder tests gives partial credit by its last value, a number
    (https://nbgrader.readthedocs.io/en/stable/user_guide/autograding_resources.html). Its source grades in another
    process, isolated (`-I`), which imports nothing from the pupil's folder.
    """
    return {
        "student": found.submission,
        "assignment": found.assignment,
        "score": found.score,
        "max_score": found.points,
        "layers": list(found.layers),
        "cells": [
            {
                "grade_id": result.cell,
                "points": result.earned,
                "max_points": result.points,
                "message": result.output,
                "source": CELL.format(assignment=found.assignment, cell=result.cell),
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
            for result in found.results
        ],
    }
