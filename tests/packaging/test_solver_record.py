"""The solver's record keeps what was promised; the sets of openings are what they are called."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"


def record(name: str) -> list[dict[str, str]]:
    with (BENCHMARKS / "results" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_early_positions_are_solved_as_soon_as_promised() -> None:
    """At every ply a median below 0.2 s and a 99th percentile below 3 s, for the score and for all columns."""
    rows = record("early-positions-plies")
    assert [row["ply"] for row in rows] == [str(ply) for ply in range(13)]
    for row in rows:
        for what in ("score", "columns"):
            assert float(row[f"{what} median ms"]) < 200
            assert float(row[f"{what} p99 ms"]) < 3000


def test_the_outcomes_of_sizes_are_found_within_a_minute() -> None:
    rows = record("solver-sizes")
    assert len(rows) >= 24 and all(float(row["seconds"]) < 60 for row in rows)


def test_sets_of_openings_are_of_the_wanted_difficulties() -> None:
    pytest.importorskip("bitbully")
    benchmark = importlib.import_module("benchmarks.solver")
    sets = benchmark.opening_sets({"easy": 2, "medium": 1})
    assert {name: len(positions) for name, positions in sets.items()} == {"easy": 2, "medium": 1}
    for name, positions in sets.items():
        for position in positions:
            score = benchmark.Solver("ConnectFour-v0").score(position)
            assert benchmark.difficulty(position.ply, score) == name
