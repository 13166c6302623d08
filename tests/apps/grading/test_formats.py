"""Grades as Gradescope and nbgrader read them, by schemas of the published fields."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from json_schema import errors
from teaching import FIRST, SMALL

from tictac_apps.grading import Grade, grade
from tictac_apps.grading.grading import gradescope, nbgrader

pytestmark = pytest.mark.bubblewrap

SCHEMAS = Path(__file__).parent / "schemas"


def schema(name: str) -> dict[str, Any]:
    return json.loads((SCHEMAS / f"{name}.json").read_text())


@pytest.fixture(scope="module")
def grades(tmp_path_factory: pytest.TempPathFactory) -> list[Grade]:
    """Of one that plays, and of one that cannot be run."""
    folder = tmp_path_factory.mktemp("formats")
    (folder / "small.toml").write_text(SMALL)
    (folder / "anna.py").write_text(FIRST)
    return [grade(folder / name, folder / "small.toml") for name in ("anna.py", "nobody.py")]


@pytest.mark.parametrize("which", [0, 1])
def test_each_format_has_the_published_fields(which: int, grades: list[Grade]) -> None:
    found = grades[which]
    for name, told in (("gradescope", gradescope(found)), ("nbgrader", nbgrader(found)), ("grade", found.to_dict())):
        assert errors(json.loads(json.dumps(told, allow_nan=False)), schema(name)) == []


def test_gradescope_ranks_by_exploitability(grades: list[Grade]) -> None:
    told = gradescope(grades[0])
    assert told["leaderboard"][0] == {"name": "exploitability", "value": grades[0].exploitability, "order": "asc"}
    assert told["score"] == sum(test["score"] for test in told["tests"]) == grades[0].score
    assert [test["visibility"] for test in told["tests"]] == ["visible", "visible", "after_published", "visible"]
    assert told["tests"][1]["status"] == "failed" and "a position that is" in told["tests"][1]["output"]
    assert gradescope(grades[1])["leaderboard"] == []


def test_nbgraders_cell_imports_nothing_of_the_pupil(tmp_path: Path) -> None:
    """Beside the submission lie modules that would forge its points in the kernel's own process."""
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "submission.py").write_text(FIRST)
    for package in ("tictac_env", "tictac_apps/grading"):
        (tmp_path / package).mkdir(parents=True)
    forged = "def points(*given): return 15.0\nprint(15.0)\nraise SystemExit"
    for name in ("tictac_env/__init__.py", "tictac_apps/grading/__init__.py", "numpy.py", "json.py"):
        (tmp_path / name).write_text(forged)
    found = grade(tmp_path / "submission.py", tmp_path / "small.toml")
    source = next(cell for cell in nbgrader(found)["cells"] if cell["grade_id"] == "never-illegal")["source"]
    *lines, last = source.replace(repr(found.assignment), repr("small.toml")).splitlines()
    script = "\n".join([*lines, f"print({last})"])
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "1.0\n", done.stderr


def test_python_m_is_refused_beside_hand_ins(tmp_path: Path) -> None:
    words = ["-m", "tictac_apps", "grade", "--list"]
    for options, status in ([], 1), (["-P"], 0):
        done = subprocess.run([sys.executable, *options, *words], capture_output=True, check=False, cwd=tmp_path)
        assert done.returncode == status and (b"python -P -m" in done.stderr) == bool(status)
