"""Grades: what is proven of a submission is what the library proves of the same player."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from oracle import Oracle
from teaching import BLOCKER, FIRST, LAST, SMALL

from tictac_apps.grading import grade, load_rubric, points, submissions
from tictac_apps.grading.classes import grade_class
from tictac_apps.grading.exam import questions_of
from tictac_apps.grading.rubric import THEOREMS
from tictac_apps.grading.theorems import FINDERS
from tictac_env import Position, verdict
from tictac_env.games import get_game


def written(folder: Path, text: str, name: str = "submission.py") -> Path:
    (folder / name).write_text(text)
    return folder / name


@pytest.fixture
def rubric(tmp_path: Path) -> Path:
    return written(tmp_path, SMALL, "small.toml")


def test_a_grade_says_what_the_verdict_says(tmp_path: Path) -> None:
    def first(observation: object, mask: np.ndarray) -> int:
        return int(mask.argmax())

    wanted = verdict(first)
    found = grade(written(tmp_path, FIRST), "minimax")
    assert found.exploitability == wanted.exploitability and found.submission == "submission"
    lines = {result.cell: result.moves for result in found.results}
    assert lines["never-beaten-first"] == wanted.as_first.losing_line
    assert lines["never-beaten-second"] == wanted.as_second.losing_line
    board = next(result.board for result in found.results if result.cell == "never-beaten-first")
    assert board == str(Position.from_moves("TicTacToe-v0", wanted.as_first.losing_line))
    assert "no function value" in next(result.why for result in found.results if result.name == "agrees")


def test_a_failed_test_shows_the_game_as_a_board_and_a_link(tmp_path: Path, rubric: Path) -> None:
    found = grade(written(tmp_path, FIRST), rubric, page="https://play.example/")
    failed = [result for result in found.results if not result.passed]
    assert failed
    for result in failed:
        position = Position.from_moves("KInARow-v0:2x3-3,gravity=False", result.moves)
        assert (
            result.board == str(position)
            and result.board in result.output
            and result.board.splitlines()[0] in str(found)
        )
        assert result.link.startswith("https://play.example/#view=play&game=KInARow-v0:2x3-3,gravity%3DFalse&moves=")
        assert f"moves={result.moves}&" in result.link and result.link in str(found)


def test_links_have_the_fields_that_the_page_reads() -> None:
    from tictac_apps.grading.grading import PAGE, replay_link

    script = (Path(__file__).parents[3] / "apps" / "tictac_apps" / "web" / "static" / "base.js").read_text()
    known = json.loads(re.search(r"KNOWN = (\[.*?\])", script)[1])
    fields = dict(one.split("=") for one in replay_link(PAGE, "TicTacToe-v0", "15").partition("#")[2].split("&"))
    assert set(fields) <= set(known) and fields["opponent"] == re.search(r'NOBODY = "(\w+)"', script)[1]


def test_points_are_those_of_the_share(tmp_path: Path, rubric: Path) -> None:
    found = grade(written(tmp_path, BLOCKER), rubric)
    assert (found.score, found.points, found.exploitability) == (10 - 2 + found.results[1].earned, 10, 0)
    half = written(tmp_path, SMALL.replace("points = 2", "points = 2\nstarts = 0.9\nat_least = 0.95"), "half.toml")
    source = written(tmp_path, FIRST)
    share = grade(source, rubric).results[1].share
    assert 0.9 < share < 0.95
    assert grade(source, half).results[1].earned == pytest.approx(2 * (share - 0.9) / 0.05, abs=0.01)
    assert points(source, rubric, "never-illegal") == 1
    with pytest.raises(ValueError, match="has no cell 'nothing'; it has never-illegal, keeps-value"):
        points(source, rubric, "nothing")


def test_mistakes_are_moves_that_give_value_away_or_are_illegal(tmp_path: Path, rubric: Path) -> None:
    oracle = Oracle(load_rubric(rubric).game)
    boards = [board for board in oracle.boards() if not oracle.over(board)]
    erring = [min(oracle.moves(board)) not in oracle.keeping(board) for board in boards]
    assert grade(written(tmp_path, FIRST), rubric).mistakes == pytest.approx(np.mean(erring))
    assert grade(written(tmp_path, "def choose(cells, legal):\n    return -1\n"), rubric).mistakes == 1


def test_wins_and_threats_are_those_of_the_rules() -> None:
    questions = questions_of(get_game("TicTacToe-v0"))
    random = np.random.default_rng(0)
    for row in random.choice(np.flatnonzero(~questions.over), 200):
        position = questions.batch[int(row)]
        other = Position(position.game, position.opp, position.own)
        for action in range(9):
            legal = action in position.legal_actions
            assert questions.wins_at_once[row, action] == (legal and position.play(action).result == -1)
            after = other.game.play(other.own, other.opp, action) if legal else None
            assert questions.threats[row, action] == (legal and other.game.result(*after) == -1)
    assert questions.different[~questions.over].sum() == 627


def test_notebooks_and_folders_are_handed_in_too(tmp_path: Path, rubric: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# mine"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "weights = 0"]},
        {"cell_type": "code", "source": "def choose(cells, legal):\n    return legal[weights]"},
    ]
    notebook = tmp_path / "anna.ipynb"
    notebook.write_text(json.dumps({"cells": cells}))
    folder = tmp_path / "bert"
    folder.mkdir()
    (folder / "weights.txt").write_text("0")
    written(folder, "def choose(cells, legal):\n    return legal[int(open('weights.txt').read())]\n", "main.py")
    (folder / "link").symlink_to("/etc")
    wanted = grade(written(tmp_path, FIRST), rubric)
    for path, name in ((notebook, "anna"), (folder, "bert")):
        found = grade(path, rubric)
        assert found.submission == name and found.results == wanted.results


@pytest.mark.parametrize(
    ("name", "source", "told"),
    [
        ("submission.txt", "x", "submission.txt is neither Python nor a notebook"),
        ("submission.ipynb", "[]", "submission.ipynb is not a notebook"),
        ("submission.py", "", "there is no function choose"),
    ],
)
def test_what_cannot_be_run_gets_nothing(name: str, source: str, told: str, tmp_path: Path, rubric: Path) -> None:
    found = grade(written(tmp_path, source, name), rubric)
    assert found.score == 0 and all(told in result.why for result in found.results)
    assert grade(tmp_path / "nobody.py", rubric).trouble == "there is no file nobody.py"


def test_training_comes_first_and_may_fail(tmp_path: Path) -> None:
    rubric = written(tmp_path, f'setup = "train"\n{SMALL}\n[limits]\nsetup_seconds = 0.5\n', "trained.toml")
    learner = "best = []\ndef train():\n    best.append(0)\ndef choose(cells, legal):\n    return legal[best[0]]\n"
    assert grade(written(tmp_path, learner), rubric).results[0].passed
    for training, told in (("1 / 0", "train: ZeroDivisionError"), ("while True: pass", "train: took more than 0.5 s")):
        found = grade(written(tmp_path, f"def train():\n    {training}\n{FIRST}"), rubric)
        assert found.trouble.startswith(told) and found.results[0].passed


def test_arguments_are_what_the_rubric_says(tmp_path: Path) -> None:
    arrays = 'arrays = true\narguments = ["planes", "board", "code", "mask"]\npackages = ["numpy"]\n'
    rubric = written(tmp_path, arrays + SMALL, "arrays.toml")
    source = """
import numpy as np
def choose(planes, board, code, mask):
    assert planes.dtype == mask.dtype == np.int8 and planes.shape == (2, 2, 3) and isinstance(code, int)
    assert (planes[0] - planes[1] == board).all() and (board == 0).sum() == mask.sum()
    return mask.argmax()
"""
    assert grade(written(tmp_path, source), rubric).results[0].passed


pytestmark = pytest.mark.bubblewrap


def test_what_needs_a_smaller_game_is_refused(tmp_path: Path) -> None:
    text = 'game = "ConnectFour-v0"\n[[test]]\ntheorem = "exploitability"\npoints = 1\n'
    rubric = written(tmp_path, text, "large.toml")
    with pytest.raises(ValueError, match="exploitability needs a smaller game than ConnectFour-v0"):
        grade(written(tmp_path, FIRST), rubric)


@pytest.mark.slow
def test_a_large_game_is_graded_on_its_suite(tmp_path: Path) -> None:
    tests = [f'[[test]]\ntheorem = "{name}"\npoints = 1\n' for name in ("takes-wins", "keeps-value")]
    rubric = written(tmp_path, "".join(['game = "ConnectFour-v0"\n', *tests]), "large.toml")
    found = grade(written(tmp_path, FIRST), rubric)
    assert found.exploitability is None and 0.3 < found.mistakes < 0.9 and 0 < found.results[0].share < 1


def test_every_theorem_can_be_found_out() -> None:
    assert set(FINDERS) == set(THEOREMS)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "a rubric needs tests, each under a line [[test]]"),
        ("test = 3", "a rubric needs tests"),
        ("gaem = 3\n" + SMALL, "there is no field 'gaem'; did you mean game"),
        ('file = "../x.py"\n' + SMALL, "file must be the name of a Python file"),
        ('arguments = ["cels"]\n' + SMALL, "arguments must be one of 'cells'"),
        ("arrays = 1\n" + SMALL, "arrays must be True or False, not 1"),
        (SMALL + "\n[limits]\nseconds = -1\n", "limits: seconds must be a number"),
        (SMALL + "\n[limits]\nsecond = 1\n", "limits: RubricLimits has no 'second'; did you mean seconds"),
        (SMALL + '\n[[test]]\ntheorem = "nevr-illegal"\n', "test 5: theorem must be one of"),
        (SMALL + '\n[[test]]\ntheorem = "blocks"\n', "test 5: points must be a number"),
        (SMALL + '\n[[test]]\ntheorem = "blocks"\npoints = 1\nseat = "first"\n', "test 5: there is no field 'seat'"),
        (SMALL + '\n[[test]]\ntheorem = "never-beaten"\npoints = 1\n', "test 5: never-beaten needs seat"),
        (SMALL + '\n[[test]]\ntheorem = "never-illegal"\npoints = 1\n', "test 5: the cell 'never-illegal' is another"),
        (
            SMALL.replace("points = 1", "points = 1\nat_least = 0.9\nstarts = 0.9"),
            "test 1: starts must be less than at_least",
        ),
        ('function = ""\n' + SMALL, "test 1: never-illegal needs a function that plays"),
        ("points = = 1", "Invalid value (at line 1"),
        (SMALL.replace("KInARow-v0:2x3-3,gravity=False", "Go-v0"), "Go-v0"),
    ],
)
def test_a_wrong_rubric_is_told_with_its_place(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(text)
    with pytest.raises(ValueError, match=re.escape(told)) as error:
        load_rubric(tmp_path / "wrong.toml")
    assert str(error.value).startswith(f"{tmp_path / 'wrong.toml'}: ")


def test_last_and_first_play_otherwise(tmp_path: Path, rubric: Path) -> None:
    """Should answers be mixed up between positions, this would show it."""
    one, other = (grade(written(tmp_path, source), rubric).moves for source in (FIRST, LAST))
    legal = questions_of(get_game("KInARow-v0:2x3-3,gravity=False")).legal
    for row in one:
        assert (one[row], other[row]) == (legal[row].argmax(), 5 - legal[row][::-1].argmax())


FORMS = (
    "%matplotlib inline\n%config InlineBackend.figure_format = 'retina'\nmove = 0",
    "    move = 0\n    other = 1",
    "%%time\nmove = 0",
    "%%capture output\n%time move = 0",
    "if True:\n    !pip install numpy\n    move = 0",
    "files = !ls\nmove = len(files)",
    "?len\nlen?\nmove = 0",
    "%%bash\nls -l",
    "display('hello')\nmove = 0;",
    "get_ipython().system('ls')\nmove = 0",
    "move = %timeit -o 1\nmove = 0",
    'text = """\n%not a magic\n!nor this\n"""\nmove = text.count(\'pass\')',
)


@pytest.mark.parametrize("cell", FORMS)
def test_cells_are_read_as_a_notebook_reads_them(cell: str, tmp_path: Path, rubric: Path) -> None:
    pytest.importorskip("IPython")
    cells = ["move = 0", cell, "def choose(cells, legal):\n    return legal[move]"]
    notebook = {"cells": [{"cell_type": "code", "source": source} for source in cells]}
    found = grade(written(tmp_path, json.dumps(notebook), "anna.ipynb"), rubric)
    assert found.trouble == "" and found.results[0].passed, str(found)


def test_a_notebook_without_ipython_is_an_error_of_the_grader(tmp_path: Path, rubric: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython.core.inputtransformer2", None)
    submissions.transformer.cache_clear()
    notebook = written(tmp_path, json.dumps({"cells": []}), "anna.ipynb")
    with pytest.raises(ImportError, match=r"tictac-env\[notebook\]"):
        grade_class({"anna": notebook, "bert": written(tmp_path, FIRST)}, load_rubric(rubric))
    with pytest.raises(ImportError, match=r"tictac-env\[notebook\]"):
        grade(notebook, rubric)
    many = written(tmp_path, json.dumps({"cells": [{"cell_type": "code", "source": "x" * 200_000}]}), "many.ipynb")
    monkeypatch.setattr(submissions, "transformer", lambda: str)
    assert "100,000 characters" in grade(many, rubric).trouble


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x = 1\ndef choose(", "cannot be loaded: SyntaxError: '(' was never closed (submission.py, line 2)"),
        ("import numpy", "ModuleNotFoundError: No module named 'numpy'; allowed here: the standard library (line 1)"),
        ("raise ValueError('first\\nsecond -> None')", "cannot be loaded: ValueError: first (line 1)"),
        ("import os\ndef choose(c, l): os._exit(0)", "was given up after 3 times: it ended the process, with status 0"),
        ("def choose(c, l): raise KeyError('x')", "there it KeyError: 'x' (line 1)"),
        ("def choose(cells, legal): return legal[0]", "there it plays 2 (returned as 1); a position that is drawn is"),
    ],
)
def test_every_grade_below_all_points_has_a_reason(source: str, reason: str, tmp_path: Path, rubric: Path) -> None:
    found = grade(written(tmp_path, source), rubric)
    assert found.score < found.points and reason in found.reason, found.reason
