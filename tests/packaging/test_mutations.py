"""The list of edits that break the code stays true, and each of them was noticed."""

from __future__ import annotations

import csv
from collections import Counter

from benchmarks.report import RESULTS
from benchmarks.run_store import RunStore
from tools.mutations import NAME, ROOT, edits, rows_of

RENAMED = "an edit is new, or has changed: run tools/mutations.py"


def test_each_edit_changes_one_place_and_names_tests_that_are_there() -> None:
    for edit in edits():
        before = (ROOT / edit.file).read_text(encoding="utf-8")
        assert edit.applied(before) != before
        assert all((ROOT / test).exists() for test in edit.tests.split())


def test_there_are_enough_of_each_kind() -> None:
    parts = Counter(edit.part for edit in edits())
    assert sum(parts.values()) >= 100 and min(parts.values()) >= 5
    assert len(set(edits())) == len(edits())


def test_each_edit_was_noticed() -> None:
    rows = rows_of(RunStore(RESULTS / f"{NAME}-runs.jsonl"))
    assert len(rows) == len(edits()), RENAMED
    assert all(row["caught by"] for row in rows)
    with (RESULTS / f"{NAME}-edits.csv").open(newline="") as file:
        assert [{key: str(value) for key, value in row.items()} for row in rows] == list(csv.DictReader(file))
