"""The ladder's benchmark: it measures what it says, and what it recorded is what the levels still are."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tictac_env.arena import WinDrawLoss, exploitability, play_match
from tictac_env.policies.levels import LEVELS

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "calibrate_levels.py"
RESULTS = ROOT / "benchmarks" / "results"
TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def described(game: str) -> list[str]:
    return [s.policy + (f", {100 * s.random:g} % random" if s.random else "") for s in LEVELS[game]]


@pytest.mark.slow
def test_it_measures_what_it_says(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--games", "10", "--seed", "3", "--output", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1, "ten games a pair cannot show that a score is within 0.6 to 0.8"
    assert "Connect Four: level 4 scores 0." in done.stderr and "Traceback" not in done.stderr
    found = rows(tmp_path / "levels-connect-four.csv")
    match = play_match("level:4", "level:3", C4, 10, seed=3)
    assert tuple(int(found[3][key]) for key in ("wins", "draws", "losses")) == match.total
    assert json.loads((tmp_path / "levels.json").read_text())["settings"] == {"games": 10, "seed": 3}
    assert {path.name for path in tmp_path.iterdir()} == {
        "levels.json",
        "levels-tic-tac-toe.csv",
        "levels-connect-four.csv",
    }


def test_the_record_is_of_the_settings_as_they_are() -> None:
    for game, name in ((TTT, "tic-tac-toe"), (C4, "connect-four")):
        recorded = rows(RESULTS / f"levels-{name}.csv")
        assert [row["setting"] for row in recorded] == described(game)
        assert [int(row["level"]) for row in recorded] == list(range(1, 11))
    for row in rows(RESULTS / "levels-tic-tac-toe.csv"):
        assert float(exploitability(f"level:{row['level']}", TTT)) == pytest.approx(float(row["exploitability"]))


def test_recorded_scores_are_within_the_bounds_with_their_intervals() -> None:
    for row in rows(RESULTS / "levels-connect-four.csv")[1:]:
        tally = WinDrawLoss(*(int(row[key]) for key in ("wins", "draws", "losses")))
        low, high = tally.score_interval()
        assert tally.games >= 1000 and 0.6 <= low < high <= 0.8
        assert [float(row[key]) for key in ("score", "low", "high")] == pytest.approx(
            [tally.score, low, high], abs=1e-4
        )
