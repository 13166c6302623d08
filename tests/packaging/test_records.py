"""The records on the disk are of the settings in the code, their tables are those of their runs, and they keep what was
promised.
"""

from __future__ import annotations

import csv
import importlib
import itertools
from pathlib import Path
from typing import Any

import pytest

from benchmarks.report import RESULTS
from benchmarks.run_store import RunStore
from tictac_env.arena import WinDrawLoss, exploitability
from tictac_env.policies.levels import LEVELS

RENAMED = "a setting has another value: run the benchmark again; or only another name: rename it in the record"
GAMES = {"tic-tac-toe": "TicTacToe-v0", "connect-four": "ConnectFour-v0"}


def record(name: str) -> list[dict[str, str]]:
    with (RESULTS / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def store(name: str) -> RunStore:
    return RunStore(RESULTS / f"{name}-runs.jsonl")


def text(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [{key: str(value) for key, value in row.items()} for row in rows]


def test_the_reproduction() -> None:
    script = importlib.import_module("benchmarks.reproduce")
    runs = store("reproduce")
    assert runs.missing(script.jobs_of(script.SYSTEMS, 20)) == [], RENAMED
    assert text([script.summary(case, script.runs_of(case, runs)) for case in script.SYSTEMS]) == record(
        "reproduce-summary"
    )


def test_the_published_networks() -> None:
    """The tables of S2's and S4's networks are those of the runs."""
    script = importlib.import_module("benchmarks.s2_network")
    runs = store("s2-network")
    assert runs.missing(script.jobs_of(script.GAMES, 3)) == [], RENAMED
    assert text(script.table(runs, script.GAMES)) == record("s2-network-variants")
    script = importlib.import_module("benchmarks.s4_network")
    curve, tree = script.tables(store("reproduce"), 2_000, script.S4_SEEDS)
    assert text(curve) == record("s4-network-curve")
    assert text(tree) == record("s4-network-tree")


def test_the_deep_agents() -> None:
    pytest.importorskip("sb3_contrib")
    script = importlib.import_module("benchmarks.learning")
    for learned in script.LEARNED.values():
        runs = store(learned.NAME)
        jobs = [learned.settings_of(name, seed) for name in learned.ROWS for seed in range(learned.SEEDS)]
        assert runs.missing(jobs) == [], RENAMED
        for table, rows in learned.tables(script.runs_in(runs, learned)).items():
            assert text(rows) == record(f"{learned.NAME}-{table}")
    costs = record("self-play-cost")
    assert len(costs) == 4 and all(float(row["pool, times random"]) <= 1.5 for row in costs)


def test_the_deep_agents_on_connect_four() -> None:
    """Each seed wins at its end what was promised, from both seats against random play, over both against the others;
    and neither it nor the model chosen errs more often.
    """
    promised = {"DQN": ((99, 95, 80, 60), 12), "MaskablePPO": ((97, 95, 75, 60), 20)}
    rows = record("connect-four-runs")
    kinds = [(agent, f"{seed}", model) for agent in promised for seed in range(3) for model in ("best", "last")]
    assert [(row["agent"], row["seed"], row["model"]) for row in rows] == kinds
    for row in rows:
        wins, mistakes = promised[row["agent"]]
        assert float(row["mistakes on middle_medium, %"]) <= mistakes and float(row["CPU-s"]) <= 600
        for name, least in zip(("random", "rule", "minimax:2", "minimax:4"), wins, strict=True):
            won = [float(row[f"won against {name} {seat}, %"]) for seat in ("first", "second")]
            assert row["model"] == "best" or (min(won) if name == "random" else sum(won) / 2) >= least


def test_the_n_tuple_networks() -> None:
    script = importlib.import_module("benchmarks.learned_ntuple")
    runs = store(script.NAME)
    jobs = [script.settings_of(name, seed) for name, row in script.ROWS.items() for seed in range(row[2])]
    assert runs.missing(jobs) == [], RENAMED
    for table, rows in script.tables(script.runs_in(runs, script)).items():
        assert text(rows) == record(f"{script.NAME}-{table}")
    won = [float(row["as first v perfect, won, %"]) for row in record(f"{script.NAME}-runs")]
    assert sum(won) / len(won) > 95
    script = importlib.import_module("benchmarks.ntuple_ablation")
    runs = store(script.NAME)
    changes = {name: script.settings_of(name, script.GAMES, None, 0) for name in script.ROWS}
    assert runs.missing(changes.values()) == [], RENAMED
    assert text(script.table(runs, changes)) == record(f"{script.NAME}-rows")


def test_the_second_seat() -> None:
    script = importlib.import_module("benchmarks.second_seat")
    runs = store(script.NAME)
    jobs = [script.settings_of(one, other, script.GAMES) for one in script.PLAYERS for other in script.OPPONENTS]
    assert runs.missing(jobs) == [], RENAMED
    assert text(script.table(runs, script.GAMES)) == record(f"{script.NAME}-players")


def test_the_ceilings() -> None:
    """The networks of the learners, taught by the solver, err less than they do by themselves."""
    pytest.importorskip("sb3_contrib")
    script, rows = importlib.import_module("benchmarks.ceilings"), record("ceilings-networks")
    assert text(script.table(store("ceilings"), 0, script.GAMES)) == rows, RENAMED
    taught = {row["network"].partition(":")[0]: float(row["C4-Exact-v1"]) for row in reversed(rows)}
    for row in record("connect-four-runs"):
        assert taught[row["agent"]] < float(row["mistakes on C4-Exact-v1, %"])


def test_the_search() -> None:
    """At equal time at most half of OpenSpiel's mistakes, at equal simulations no more."""
    script = importlib.import_module("benchmarks.search")
    found = text(script.mistake_table(store("search"), Path()))
    rows = record("search-mistakes")
    for row in (*found, *rows):
        row.pop("of random's")  # the sets of positions may not be here
    assert found == rows
    times = {(row["set"], row["budget"]): row for row in rows if row["player"] == "ours"}
    halves = itertools.product(("middle_easy", "middle_medium"), ("10ms", "100ms"))
    equals = itertools.product(("middle_easy", "middle_medium", "end_easy"), ("1000",))
    for most, cases in ((0.5, halves), (1, equals)):
        for case in cases:
            assert float(times[case]["of the better OpenSpiel"].split()[0]) <= most
            assert times[case]["seeds"] == "5"


def test_the_speed_of_the_search() -> None:
    ours = [row for row in record("search-speed") if row["player"] == "ours, random games"]
    assert len(ours) == 6
    assert all(float(row["ratio"]) >= (10 if row["game"] == "Connect Four" else 3) for row in ours)
    assert all(float(row["ratio"]) >= 1.7 for row in record("search-threads") if row["threads"] == "2")
    for row in record("search-compiling"):
        assert float(row["first"]) < (0.5 if row["cache"] == "filled" else 5)


def test_early_positions() -> None:
    """At every ply a median below 0.2 s and a 99th percentile below 3 s, for the score and for all columns."""
    rows = record("early-positions-plies")
    assert text([results for _, results in store("early-positions")]) == rows
    assert [row["ply"] for row in rows] == [str(ply) for ply in range(13)]
    for row, what in itertools.product(rows, ("score", "columns")):
        assert float(row[f"{what} median ms"]) < 200 and float(row[f"{what} p99 ms"]) < 3000


def test_the_audits() -> None:
    """Those of the suite as it is, in the order of their strength."""
    script, runs = importlib.import_module("benchmarks.audits"), store("audits")
    jobs = [script.job(player, script.SAMPLE) for player in script.PLAYERS]
    assert runs.missing(jobs) == [], RENAMED
    rows = record("audits-players")
    assert text([script.row(runs[job]) for job in jobs]) == rows
    searches = [float(row["mistakes"]) for row in rows if row["player"].startswith("mcts")]
    assert searches == sorted(searches, reverse=True) and searches[0] < float(rows[0]["mistakes"])


def test_board_sizes_are_solved_within_a_minute() -> None:
    rows = record("solver-sizes")
    assert len(rows) >= 24 and all(float(row["seconds"]) < 60 for row in rows)


@pytest.mark.parametrize("name", GAMES)
def test_the_levels_have_the_settings_they_were_measured_with(name: str) -> None:
    described = [s.policy + (f", {100 * s.random:g} % random" if s.random else "") for s in LEVELS[GAMES[name]]]
    assert [(row["level"], row["setting"]) for row in record(f"levels-{name}")] == [
        (str(number), setting) for number, setting in enumerate(described, 1)
    ]


def test_the_levels_are_as_strong_as_promised() -> None:
    for row in record("levels-tic-tac-toe"):
        assert float(exploitability(f"level:{row['level']}")) == pytest.approx(float(row["exploitability"]))
    script, runs = importlib.import_module("tools.calibrate_levels"), store("levels")
    rows = record("levels-connect-four")
    assert text([runs[script.job(GAMES["connect-four"], number, 1000, 0)] for number in range(1, 11)]) == rows
    for row in rows[1:]:
        tally = WinDrawLoss(*(int(row[key]) for key in ("wins", "draws", "losses")))
        low, high = tally.score_interval()
        assert tally.games >= 1000 and 0.6 <= low < high <= 0.8
        assert [float(row[key]) for key in ("score", "low", "high")] == pytest.approx(
            [tally.score, low, high], abs=1e-4
        )


def test_the_levels_meet_perfect_play_as_recorded() -> None:
    """With the settings they have now; as second they lose every game, as anybody does."""
    script = importlib.import_module("benchmarks.exact_results")
    rows, runs = record("exact-results-perfect"), store("exact-results")
    assert text([results for _, results in runs]) == rows
    assert [row["policy"] for row in rows] == list(script.LEVELS)
    assert [row["plays"] for row in rows] == [script.described(row["policy"]) for row in rows]
    for row in rows:
        assert [float(row[f"second, {end}"]) for end in ("wins", "draws", "losses")] == [0, 0, 1]
        assert sum(float(row[f"first, {end}"]) for end in ("wins", "draws", "losses")) == pytest.approx(1, abs=1e-5)


def test_the_tutorial() -> None:
    pytest.importorskip("sb3_contrib")
    script = importlib.import_module("benchmarks.pettingzoo_tutorial")
    rows = [row for _, results in store("pettingzoo-tutorial") for row in results["rows"]]
    assert text(rows) == record("pettingzoo-tutorial-seeds")
    assert text(script.summary(rows)) == record("pettingzoo-tutorial-summary")


def test_sets_of_openings_are_of_the_wanted_difficulties() -> None:
    pytest.importorskip("bitbully")
    benchmark = importlib.import_module("benchmarks.solver")
    sets = benchmark.opening_sets({"easy": 2, "medium": 1})
    assert {name: len(positions) for name, positions in sets.items()} == {"easy": 2, "medium": 1}
    for name, positions in sets.items():
        for position in positions:
            score = benchmark.Solver("ConnectFour-v0").score(position)
            assert benchmark.difficulty(position.ply, score) == name
