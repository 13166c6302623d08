"""Scores are found once and kept: whatever stops the work takes nothing away, and nothing is done twice."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import HEX, breadth, playout

from tictac_apps.labels import LabelStore, label
from tictac_env.games import GAMES, KInARow
from tictac_env.position import Position
from tictac_env.solver import Solver
from tictac_env.solver.enumerate import NO_SCORE, tabulate

TTT = GAMES["TicTacToe-v0"]
SMALL = KInARow.make(3, 4, 3)


def unfinished(game: object, count: int) -> list[Position]:
    found = [position for seed in range(count) for position in playout(game, seed)]  # type: ignore[arg-type]
    return [position for position in found if not position.is_over][:count]


def counting(game: object) -> tuple[Solver, list[int]]:
    """A solver, and how many positions it was asked about."""
    solver, asked = Solver(game), [0]  # type: ignore[arg-type]
    solve_many = solver.solve_many

    def ask(positions: object, **kwargs: object) -> object:
        asked[0] += len(positions)  # type: ignore[arg-type]
        return solve_many(positions, **kwargs)  # type: ignore[arg-type]

    solver.solve_many = ask  # type: ignore[method-assign, assignment]
    return solver, asked


def test_labels_are_the_scores_of_the_tabulated_game() -> None:
    table = tabulate(HEX)
    positions = unfinished(HEX, 60)
    rows = [table.index[position.own, position.opp] for position in positions]
    assert (label(positions) == table.action_scores(rows)).all()


def test_images_under_symmetries_are_solved_once_and_scored_each_by_itself(tmp_path: Path) -> None:
    table = tabulate(TTT)
    images = [image for position in unfinished(TTT, 12) for image in position.symmetric()]
    solver, asked = counting(TTT)
    found = label(images, tmp_path / "scores.sqlite", solver)
    assert (found == table.action_scores([table.index[image.own, image.opp] for image in images])).all()
    assert asked[0] == len(LabelStore(tmp_path / "scores.sqlite", TTT)) <= 12


def test_what_is_kept_is_not_solved_again(tmp_path: Path) -> None:
    path, positions = tmp_path / "scores.sqlite", unfinished(HEX, 100)
    first = label(positions[:70], path)
    solver, asked = counting(HEX)
    assert (label(positions, path, solver)[:70] == first).all()
    assert 0 < asked[0] <= 30
    solver, asked = counting(HEX)
    label(positions, path, solver)
    assert asked[0] == 0


def test_a_store_of_another_game_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "scores.sqlite"
    label(unfinished(TTT, 5), path)
    content = path.read_bytes()
    with pytest.raises(ValueError, match=r"scores\.sqlite has the scores of \"TicTacToe-v0\", not of"):
        label([Position.start(SMALL)], path)
    assert path.read_bytes() == content


def test_a_score_changed_behind_its_back_is_noticed(tmp_path: Path) -> None:
    path, positions = tmp_path / "scores.sqlite", unfinished(TTT, 5)
    label(positions, path)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE scores SET scores = zeroblob(18)")
    database.close()
    with pytest.raises(ValueError, match=r"scores\.sqlite is damaged"):
        label(positions, path)


def test_finished_positions_have_no_scores() -> None:
    with pytest.raises(ValueError, match="the game is over"):
        label([Position.from_moves(TTT, "14253")])


LABELLING = """
import sys
sys.path.insert(0, sys.argv[2])
from test_labels import slow_label
slow_label(sys.argv[1])
"""


def slow_label(path: str) -> None:
    """Labels as a user does, a few positions at a time so that there are many moments to be killed at."""
    from tictac_apps import labels as labelling

    labelling.CHUNK = 3
    print("begun", flush=True)
    labelling.label(unfinished(HEX, 300), path)
    print("done", flush=True)


@pytest.mark.parametrize("times", breadth([1], [20]))
def test_killed_at_any_moment_it_loses_nothing_and_does_nothing_twice(times: int, tmp_path: Path) -> None:
    path, rng = tmp_path / "scores.sqlite", random.Random(times)
    script = [sys.executable, "-c", LABELLING, str(path), str(Path(__file__).parent)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parents[2])])}
    kept: dict[tuple[int, int], bytes] = {}
    for _ in range(times):
        with subprocess.Popen(script, stdout=subprocess.PIPE, env=env) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            time.sleep(rng.uniform(0, 0.4))
            process.send_signal(signal.SIGKILL)
        if path.exists() and path.stat().st_size:
            with sqlite3.connect(path) as database:
                tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master")]
                rows = database.execute("SELECT own, opp, scores FROM scores").fetchall() if "scores" in tables else []
            database.close()
            found = {row[:2]: row[2] for row in rows}
            assert len(found) == len(rows) and kept.items() <= found.items()
            kept = found
    positions = unfinished(HEX, 300)
    solver, asked = counting(HEX)
    table = tabulate(HEX)
    truth = table.action_scores([table.index[position.own, position.opp] for position in positions])
    assert (label(positions, path, solver) == truth).all()
    assert asked[0] + len(kept) == len(LabelStore(path, HEX)) == len(label_keys(positions))
    assert (truth != NO_SCORE).any() and isinstance(truth, np.ndarray)


def label_keys(positions: list[Position]) -> set[tuple[int, int]]:
    from tictac_env.position import canonical

    return {canonical(position.game, position.own, position.opp)[:2] for position in positions}
