"""The list of edits that break the code fits the code; `tools/mutations.py` sees whether each is noticed."""

from __future__ import annotations

from collections import Counter

from tools.mutations import ROOT, edits


def test_each_edit_changes_one_place_and_names_tests_that_are_there() -> None:
    for edit in edits():
        before = (ROOT / edit.file).read_text(encoding="utf-8")
        assert edit.applied(before) != before
        assert all((ROOT / test).exists() for test in edit.tests.split())


def test_there_are_enough_of_each_kind() -> None:
    parts = Counter(edit.part for edit in edits())
    assert sum(parts.values()) >= 100 and min(parts.values()) >= 5
    assert len(set(edits())) == len(edits())
