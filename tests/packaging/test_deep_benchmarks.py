"""The benchmarks of the deep agents: the search for settings in small, and tables that are those of the runs."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sb3_contrib")
pytest.importorskip("optuna")

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"


def test_a_search_for_settings_goes_on_where_it_was(tmp_path: Path) -> None:
    script = str(ROOT / "tools" / "tune.py")
    words = ["MaskablePPO", "--seconds", "1", "--seeds", "1", "--eval-freq", "4096", "--trials", "1", "--output"]
    for trials in (1, 2):
        done = subprocess.run(
            [sys.executable, script, *words, str(tmp_path)], env=os.environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        with (tmp_path / "tune-MaskablePPO-trials.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == trials and {row["trial"] for row in rows} == set(map(str, range(trials)))
    tuned = next(row for row in rows if row["trial"] == "0")
    assert (tuned["num_envs"], tuned["n_steps"], tuned["learning_rate"]) == ("512", "16", "0.002")
    assert 1 <= float(tuned["score"]) <= 3  # not proven within a second
    command = done.stdout.strip().splitlines()[-1]
    assert command.startswith("python -m tictac_agents.train MaskablePPO --learning-rate ")


@pytest.mark.parametrize("opponent", ["random", "pool", "naive"])
def test_the_cost_of_self_play_is_measured(opponent: str) -> None:
    import self_play

    assert opponent in self_play.OPPONENTS
    assert self_play.seconds("MaskablePPO", "TicTacToe-v0", opponent, 2_048) > 0


def test_the_cost_of_self_play_is_as_promised() -> None:
    """At most one and a half times as long as against random play."""
    with (BENCHMARKS / "results" / "self-play-cost.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 and all(float(row["pool, times random"]) <= 1.5 for row in rows)


def test_the_table_of_the_deep_agents_is_that_of_the_runs() -> None:
    import learning

    runs = json.loads((BENCHMARKS / "results" / "learning-runs.json").read_text())["runs"]
    lines = learning.summary(runs)
    with (BENCHMARKS / "results" / "learning-summary.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    assert [{key: str(value) for key, value in line.items()} for line in lines] == written
    assert [line["agent"] for line in lines] == list(learning.ROWS)
