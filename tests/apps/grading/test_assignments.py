"""The assignments: each solution gets all points, each starter file few."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from teaching import NAMES, TEACHING, solution, starter

from tictac_apps.grading import assignments, grade, load_rubric

pytestmark = pytest.mark.bubblewrap

QUICK = ("minimax",)
LEARNED = [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in NAMES]


def test_all_six_are_there() -> None:
    assert assignments() == NAMES == ["dqn", "mcts", "minimax", "monte_carlo", "q_learning", "rules"]
    for name in NAMES:
        files = {file.name for file in (TEACHING / "assignments" / name).iterdir()}
        assert files == {"handout.md", "rubric.toml", "starter.py"}
        assert load_rubric(name).points == 100


@pytest.mark.parametrize("name", LEARNED)
def test_a_solution_gets_all_points(name: str) -> None:
    found = grade(solution(name), name)
    assert found.score == found.points and found.trouble == "", str(found)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "rules" else [pytest.mark.slow]) for name in NAMES]
)
def test_a_starter_file_gets_few_points(name: str, tmp_path: Path) -> None:
    found = grade(starter(name), name)
    assert found.score <= 0.2 * found.points, str(found)
    assert "cannot be loaded" not in str(found)


@pytest.mark.parametrize("name", NAMES)
def test_a_starter_file_begins_without_an_error(name: str, tmp_path: Path) -> None:
    """It is loaded, trains, and plays, on a rubric with its setup, its packages and limits, and little to prove."""
    rubric = load_rubric(name)
    (test,) = [one for one in rubric.tests if one.theorem == "never-illegal"][:1] or rubric.tests[:1]
    found = grade(starter(name), replace(rubric, tests=(test,)))
    assert found.trouble == "" and "Error" not in str(found), str(found)


@pytest.mark.slow
def test_what_knows_the_truth_is_withheld(tmp_path: Path) -> None:
    """A learner may use the environments, and nothing that could tell it how to play."""
    source = """
import gymnasium as gym
import tictac_env

TRICKS = (
    "from tictac_env import verdict",
    "from tictac_env.solver import solve",
    "tictac_env.make_policy('perfect').act(tictac_env.Position.start('TicTacToe-v0'), 0)",
    "gym.make('TicTacToe-v0', opponent='minimax').reset(seed=0)[0].step(0)",
    "import tictac_agents",
    "from tictac_apps.grading import grade",
    "open(tictac_env.__path__[0] + '/solver/players.py')",
    "open(tictac_env.__path__[0] + '/../docs/teaching/solutions/minimax.py')",
)


def train():
    for trick in TRICKS:
        try:
            exec(trick)
        except Exception as error:
            print(type(error).__name__)
        else:
            print("knows the truth:", trick)


def choose(observation, mask):
    return mask.argmax()
"""
    (tmp_path / "submission.py").write_text(source)
    found = grade(tmp_path / "submission.py", "q_learning")
    assert found.trouble == "" and found.results[0].passed
    assert found.printed.count("Error") == 8 and "knows" not in found.printed, found.printed
