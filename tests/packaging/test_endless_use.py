"""The soak tells what grows from what does not, and the differential run tells the first difference."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
import pytest

from benchmarks import differential, soak
from benchmarks.report import RESULTS


def samples(memory: Any, files: Any = 10.0) -> np.ndarray:
    return np.stack(np.broadcast_arrays(memory, files, np.zeros(soak.SAMPLES))[:2], axis=1).astype(float)


MINUTES = np.arange(soak.SAMPLES)
NOISE = np.random.default_rng(0).normal(0, 3, soak.SAMPLES)


@pytest.mark.parametrize(
    ("found", "flat"),
    [
        (samples(300 + NOISE), True),
        (samples(np.minimum(300, 100 + 10 * MINUTES) + NOISE), True),  # caches fill in the first half
        (samples(300 + 0.3 * MINUTES + NOISE), False),
        (samples(300 - 0.3 * MINUTES + NOISE), True),
        (samples(300, 10 + MINUTES % 3), True),
        (samples(300, 10 + MINUTES // 20), False),
    ],
    ids=["flat", "fills", "leaks", "shrinks", "connections", "leaks files"],
)
def test_what_goes_on_growing_is_found(found: np.ndarray, flat: bool) -> None:
    assert soak.row_of("some", "1 thing", 1.0, found)["flat"] is flat


def test_an_hour_was_flat() -> None:
    with (RESULTS / "soak-processes.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["process"] for row in rows] == [*soak.WORKS, "serving"]
    assert all(row["flat"] == "True" for row in rows)
    with (RESULTS / "soak-samples.csv").open(newline="") as file:
        assert float(list(csv.DictReader(file))[-1]["minute"]) == 60


def test_the_recorded_games_were_the_same() -> None:
    with (RESULTS / "differential-games.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["game"], row["implementation"]) for row in rows} == {
        (game, kind) for game in differential.SHAPES for kind in differential.KINDS
    }
    assert all(int(row["games"]) >= 10**6 and row["differences"] == "0" for row in rows)


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
