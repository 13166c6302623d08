"""The benchmarks run, in small, and write what can be read back."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "tournament.py"

pytest.importorskip("matplotlib")


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The script, started from a folder of its own as a user may do."""
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(
        command, cwd=folder, env=os.environ | {"MPLCONFIGDIR": str(folder)}, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    output = folder / "new" / "folder"
    done = run(
        "--games", "2", "--episodes", "60", "--seeds", "2", "--seed", "5", "--output", str(output), folder=folder
    )
    assert done.returncode == 0, done.stderr
    assert "exploitability" in done.stdout and "Q-table, seed 5" in done.stdout and str(output) in done.stdout
    return output


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def content(results: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((results / "tournament.json").read_text())
    return found


def test_the_settings_and_the_machine_are_recorded(results: Path) -> None:
    found = content(results)
    assert {"games": 2, "episodes": 60, "seeds": 2, "seed": 5}.items() <= found["settings"].items()
    assert found["machine"]["cores"] >= 1
    assert found["machine"]["packages"]["numpy"] == np.__version__


@pytest.mark.parametrize("game", ["tic-tac-toe", "connect-four"])
def test_every_policy_met_every_other_in_both_seats(game: str, results: Path) -> None:
    matches = rows(results / f"tournament-{game}.csv")
    players = {row["player"] for row in matches}
    assert {"random", "rule", "minimax:2"} <= players
    if game == "tic-tac-toe":
        assert {"minimax", "minimax-first", "Q-table, seed 5", "Q-table, seed 6"} <= players
    assert {(row["player"], row["opponent"], row["seat"]) for row in matches} == {
        (one, two, seat) for one in players for two in players if one != two for seat in ("first", "second")
    }
    results_of = {
        (row["player"], row["opponent"], row["seat"]): [int(row[key]) for key in ("wins", "draws", "losses")]
        for row in matches
    }
    for (one, two, seat), counts in results_of.items():
        assert sum(counts) == 1
        assert counts == results_of[two, one, "second" if seat == "first" else "first"][::-1]


def test_csv_and_json_say_the_same(results: Path) -> None:
    tables = content(results)["tables"]
    assert set(tables) == {"verdicts", "tic-tac-toe", "connect-four"}
    for name, table in tables.items():
        assert rows(results / f"tournament-{name}.csv") == [
            {key: str(value) for key, value in row.items()} for row in table
        ]


def test_the_verdicts_are_the_exact_truth(results: Path) -> None:
    verdicts = {row["policy"]: row for row in rows(results / "tournament-verdicts.csv")}
    assert float(verdicts["random"]["exploitability"]) == pytest.approx(0.95983, abs=5e-6)
    assert float(verdicts["minimax"]["exploitability"]) == 0
    assert verdicts["minimax"]["as first"] == verdicts["minimax"]["as second"] == "infallible"
    assert verdicts["random"]["v random, first"] == "58.49/12.70/28.81"


def test_the_picture_can_be_read(results: Path) -> None:
    from matplotlib import image

    pixels = image.imread(results / "tournament.png")
    assert pixels.ndim == 3 and min(pixels.shape[:2]) > 300
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 20  # something is drawn


def test_nothing_else_is_written(results: Path) -> None:
    assert {path.name for path in results.iterdir()} == {
        "tournament.json",
        "tournament.png",
        "tournament-verdicts.csv",
        "tournament-tic-tac-toe.csv",
        "tournament-connect-four.csv",
    }


@pytest.mark.parametrize("arguments", [("--games", "0"), ("--episodes", "-3"), ("--seeds", "0"), ("--games", "many")])
def test_impossible_sizes_are_refused_by_name(arguments: tuple[str, str], tmp_path: Path) -> None:
    small = {"--games": "2", "--episodes": "5", "--seeds": "1"} | {arguments[0]: arguments[1]}
    done = run(*(word for pair in small.items() for word in pair), "--output", str(tmp_path / "out"), folder=tmp_path)
    assert done.returncode == 2
    assert f"argument {arguments[0]}" in done.stderr
    assert not (tmp_path / "out").exists()


def test_reproduce_keeps_what_is_finished(tmp_path: Path) -> None:
    """The picture and the tables are written; a second call runs nothing again."""
    script = SCRIPT.with_name("reproduce.py")
    command = [
        sys.executable,
        str(script),
        "--system",
        "S1",
        "--seeds",
        "1",
        "--workers",
        "1",
        "--output",
        str(tmp_path),
    ]
    spent = []
    for _ in range(2):
        subprocess.run(command, env=os.environ | {"MPLCONFIGDIR": str(tmp_path)}, capture_output=True, check=True)
        runs = json.loads((tmp_path / "reproduce-runs.json").read_text())
        spent.append([found["CPU-s"] for seeds in runs.values() for found in seeds.values()])
    assert len(spent[0]) == 3
    assert spent[0] == spent[1]
    assert "two value vectors, 10,000 games" in (tmp_path / "reproduce-summary.csv").read_text()
    assert (tmp_path / "reproduce.png").stat().st_size > 1000
