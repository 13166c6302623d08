"""Where the assignments lie, and submissions and rubrics that several tests use."""

from __future__ import annotations

from pathlib import Path

TEACHING = Path(__file__).parents[3] / "docs" / "teaching"
NAMES = sorted(folder.name for folder in (TEACHING / "assignments").iterdir())

FIRST = "def choose(cells, legal):\n    return legal[0]\n"
LAST = "def choose(cells, legal):\n    return legal[-1]\n"
BLOCKER = """
def choose(cells, legal):
    for move in legal:  # two of the other's in its row
        if sum(cells[move // 3 * 3 : move // 3 * 3 + 3]) == -2:
            return move
    return legal[0]
"""
SMALL = """
game = "KInARow-v0:2x3-3,gravity=False"

[[test]]
theorem = "never-illegal"
points = 1

[[test]]
theorem = "keeps-value"
points = 2

[[test]]
theorem = "never-beaten"
seat = "first"
points = 3
visibility = "after_published"

[[test]]
theorem = "exploitability"
at_most = 0.25
points = 4
"""
"""A rubric of a game of a few hundred positions."""


def solution(name: str) -> Path:
    """The solution of an assignment: a file, or a folder."""
    file = TEACHING / "solutions" / f"{name}.py"
    return file if file.exists() else TEACHING / "solutions" / name


def starter(name: str) -> Path:
    """What pupils begin with."""
    return TEACHING / "assignments" / name / "starter.py"
