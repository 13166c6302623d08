"""What is measured of n-tuple networks while they learn is what the package says of the same networks."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import learned_ntuple
from tictac_agents import NTupleTD
from tictac_env.arena import exact_results

GAMES = 6_400


@pytest.fixture(scope="module")
def run() -> dict[str, Any]:
    settings = {
        **learned_ntuple.settings_of("NTupleTD 3 min", 5, GAMES, 5_000),
        "settings": {"tuples": 12, "length": 5},
    }
    learner, points = learned_ntuple.learned(settings, settings["points"])
    return {"learner": learner, "points": points}


def test_the_points_are_those_of_the_run(run: dict[str, Any]) -> None:
    games = [point["games"] for point in run["points"]]
    points = (*learned_ntuple.EARLY, *learned_ntuple.LATE)
    for share, game in zip(points, games, strict=True):
        assert share * GAMES <= game <= share * GAMES + 64
    assert games[-1] == run["learner"].num_games == GAMES
    assert sum(game > 0.8 * GAMES for game in games) == len(learned_ntuple.LATE)
    seconds = [point["CPU-s"] for point in run["points"]]
    assert seconds == sorted(seconds) and seconds[-1] > 0


def test_the_figures_are_those_of_the_same_learner_made_in_python(run: dict[str, Any]) -> None:
    agent = NTupleTD(tuples=12, length=5, seed=5).learn(GAMES)
    exact = exact_results(agent, "perfect", progress=False).as_first
    assert exact.exact
    found = run["points"][-1]["perfect, first"]
    assert [found[end] for end in ("won", "drawn", "lost")] == pytest.approx([100 * s for s in exact.shares], abs=1e-3)


def test_means_are_over_the_points_of_the_last_fifth_and_over_the_seeds() -> None:
    def made(seed: int, end: float) -> dict[str, Any]:
        shares = [{"won": won, "drawn": 0.0, "lost": 100 - won, "within": 0.0} for won in (10.0, 50.0, end)]
        curve = [{"games": g, "CPU-s": g / 5, "perfect, first": s} for g, s in zip((80, 90, 100), shares, strict=True)]
        costs = {"CPU-s": 20.0, "games": 100, "games per CPU-s": 5}
        return {"agent": "one", "seed": seed, "curve": curve, "perfect, first": shares[-1], **costs}

    runs = [made(seed, end) for seed, end in enumerate((0.0, 60.0, 62.0, 100.0))]
    assert learned_ntuple.last_fifth(runs[1]["curve"], "won") == 55
    rows = {row["measure"]: row for row in learned_ntuple.tables(runs)["summary"]}
    assert rows["as first v perfect, W/D/L %"]["one"] == "55.50 / 0.00 / 44.50"
    middle, _, interval = rows["as first v perfect, W/D/L %"]["one, IQM of wins"].partition(" ")
    assert middle == "61.00"
    low, high = map(float, interval.strip("()").split("-"))
    assert 0 <= low < 61 < high <= 100
    assert rows["games"]["one"] == "100"
