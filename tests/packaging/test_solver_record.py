"""The solver's page shows what its benchmarks have measured; the sets of openings are what they are called."""

from __future__ import annotations

import csv
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
PAGE = (ROOT / "docs" / "solver.md").read_text()
SPEED = ("positions", "mean_ms", "median_ms", "sign_only_ms", "one_call_ms", "bitbully_ms", "ratio", "nodes")
PER_MILLE = 1000.0


def record(name: str) -> list[dict[str, str]]:
    with (BENCHMARKS / "results" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def shown(after: str) -> list[list[str]]:
    """The rows of the first table on the page after some words."""
    table = PAGE[PAGE.index(after) :].split("\n\n| ", 1)[1].split("\n\n", 1)[0]
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


def is_shown(number: str, value: float) -> bool:
    """Whether a number on the page is this value, rounded to as many digits as it has."""
    decimals = len(number.partition(".")[2])
    return abs(float(number.replace(",", "")) - value) <= 0.5000001 * 10**-decimals


def assert_shown(page: list[list[str]], measured: list[list[Any]]) -> None:
    assert len(page) == len(measured) > 0
    for row, (name, *values) in zip(page, measured, strict=True):
        assert row[0] == name
        assert len(row) == len(values) + 1
        for number, value in zip(row[1:], values, strict=True):
            assert is_shown(number, float(value)), (name, number, value)


def test_the_speed_is_the_record() -> None:
    assert_shown(
        shown("Speed (`benchmarks/solver.py"), [[row["set"], *map(row.get, SPEED)] for row in record("solver-speed")]
    )


def test_the_ablation_is_the_record() -> None:
    assert_shown(
        shown("Without one technique at a time"), [list(row.values()) for row in record("solver-ablation-techniques")]
    )


def test_the_early_positions_are_the_record_and_within_the_promise() -> None:
    """At every ply a median below 0.2 s and a 99th percentile below 3 s, for the score and for all columns."""
    rows = record("early-positions-plies")
    names = [f"{what} {which} ms" for what in ("score", "columns") for which in ("median", "p99", "max")]
    measured = [[row["ply"], row["positions"], *(float(row[name]) / PER_MILLE for name in names)] for row in rows]
    assert_shown(shown("With the book (`benchmarks/early"), [row for row in measured if not 1 <= int(row[0]) <= 7])
    assert [row["ply"] for row in rows] == [str(ply) for ply in range(13)]
    for _, _, median, p99, _, columns_median, columns_p99, _ in measured:
        assert max(median, columns_median) < 0.2
        assert max(p99, columns_p99) < 3


def test_the_sizes_are_counted() -> None:
    [count] = re.findall(r"found within a minute for (\d+) sizes", " ".join(PAGE.split()))
    assert int(count) == sum(bool(row["seconds"]) for row in record("solver-sizes"))


def test_sets_of_openings_are_of_the_wanted_difficulties() -> None:
    pytest.importorskip("bitbully")
    benchmark = importlib.import_module("benchmarks.solver")
    sets = benchmark.opening_sets({"easy": 2, "medium": 1})
    assert {name: len(positions) for name, positions in sets.items()} == {"easy": 2, "medium": 1}
    for name, positions in sets.items():
        for position in positions:
            score = benchmark.Solver("ConnectFour-v0").score(position)
            assert benchmark.difficulty(position.ply, score) == name
