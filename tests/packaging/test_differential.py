"""The differential run compares implementations, and reports the first difference with its position."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import differential


@pytest.mark.parametrize("game", differential.SHAPES)
def test_random_games_are_the_same_on_all_implementations(game: str) -> None:
    pytest.importorskip("pyspiel")
    rows = differential.compare(game, 100, seed=1, boards=16)
    assert [row["implementation"] for row in rows] == list(differential.KINDS)
    assert all(row["games"] >= 100 and row["plies"] >= 500 for row in rows)


@pytest.mark.parametrize(
    ("place", "told"), [("legal", "legal moves: arrays .*, OpenSpiel "), ("play", "result: arrays .*, OpenSpiel ")]
)
def test_a_difference_is_told_with_its_position(place: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspiel")
    right = getattr(differential.SpielBoards, place)
    calls = []

    def wrong(self: Any, *words: Any) -> Any:
        calls.append(1)
        said = right(self, *words)
        if len(calls) == 5:
            said[3] = 0
        return said

    monkeypatch.setattr(differential.SpielBoards, place, wrong)
    with pytest.raises(SystemExit, match=rf"ConnectFour-v0 after '[1-7]+': {told}"):
        differential.compare("ConnectFour-v0", 100, boards=16)
