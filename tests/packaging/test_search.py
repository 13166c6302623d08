"""The search benchmark counts what it says and resumes; its record keeps what was promised."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from tictac_agents import MCTS
from tictac_env.arena import move_accuracy

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
TABLES: dict[str, list[dict[str, Any]]] = json.loads((BENCHMARKS / "results" / "search.json").read_text())["tables"]
HEADER = "moves,score,column_1,column_2,column_3,column_4,column_5,column_6,column_7\n"
LABELLED = "475774457522754657214321516462111,5,,-4,5,,,5,\n47577445752275465721432151646211,5,-5,-5,5,,,-5,\n"


@pytest.fixture
def script() -> Any:
    """The benchmark as a module."""
    return importlib.import_module("benchmarks.search")


@pytest.fixture
def options(tmp_path: Path) -> argparse.Namespace:
    (tmp_path / "connect_four_two.csv").write_text(HEADER + LABELLED)
    return argparse.Namespace(
        data=tmp_path, sets=["two"], budgets=["5", "1ms"], players=["ours"], seeds=2, workers=1, output=tmp_path
    )


def test_runs_are_those_of_the_arena_and_are_kept(script: Any, options: argparse.Namespace) -> None:
    runs = script.run_all(options)
    assert set(runs) == {"two|5|ours", "two|1ms|ours"} and runs["two|1ms|ours"]["simulations"] > 5
    for seed in range(2):
        found = move_accuracy(MCTS(5), options.data / "connect_four_two.csv", seed=seed)
        one = runs["two|5|ours"]["seeds"][str(seed)]
        assert len(one["wrong"]) == found.mistake_shares.sum() and one["positions"] == 2
        assert len(one["imperfect"]) == 2 - found.perfect_shares.sum()
    path = options.output / "search-runs.json"
    runs["two|5|ours"]["seeds"]["0"]["wrong"] = [0]
    path.write_text(json.dumps(runs))
    assert script.run_all(options) == runs, "what was there was run again"
    rows = {row["budget"]: row for row in script.mistake_table(runs, options.data)}
    assert rows["5"]["seeds"] == 2 and rows["5"]["mistakes %"] >= 25 and rows["5"]["of random's"] > 0


@pytest.mark.slow
def test_the_second_process_does_not_compile(script: Any) -> None:
    empty, filled = script.first_searches("tic-tac-toe")
    assert (empty["cache"], filled["cache"]) == ("empty", "filled")
    assert empty["first"] > 3 * filled["first"]


def test_the_speed_is_as_promised() -> None:
    ratios = {
        (row["game"], row["simulations"]): row["ratio"]
        for row in TABLES["speed"]
        if row["player"] == "ours, random games"
    }
    assert len(ratios) == 6
    for (game, _), ratio in ratios.items():
        assert ratio >= (10 if game == "Connect Four" else 3)
    assert all(row["ratio"] >= 1.7 for row in TABLES["threads"] if row["threads"] == 2)


def test_the_first_search_of_a_process_is_as_promised() -> None:
    for row in TABLES["compiling"]:
        assert row["first"] < (0.5 if row["cache"] == "filled" else 5)


def test_the_mistakes_are_as_promised() -> None:
    """At equal time at most half of OpenSpiel's, at equal simulations no more."""
    times = {
        (row["set"], row["budget"]): (float(row["of the better OpenSpiel"].split()[0]), row["seeds"])
        for row in TABLES["mistakes"]
        if row["player"] == "ours"
    }
    for name in ("middle_easy", "middle_medium"):
        for budget in ("10ms", "100ms"):
            assert times[name, budget][0] <= 0.5 and times[name, budget][1] == 5
    for name in ("middle_easy", "middle_medium", "end_easy"):
        assert times[name, "1000"][0] <= 1 and times[name, "1000"][1] == 5
