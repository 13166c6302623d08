"""Every benchmark and every tool runs, in small, and writes what can be read back; kept runs are not repeated."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from conftest import breadth

from benchmarks import differential, ntuple
from benchmarks.records import RunStore
from tictac_agents import NTupleTD
from tictac_env.arena import exact_results, move_accuracy

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(
    f"{folder}.{path.stem}"
    for folder in ("benchmarks", "tools")
    for path in (ROOT / folder).glob("*.py")
    if "__main__" in path.read_text()
)
SMALL = {
    "benchmarks.reproduce": "--system S3 --seeds 1 --workers 1",
    "benchmarks.throughput": "--seconds 0.01 --repeats 1 --boards 8 16",
    "benchmarks.learning": "SB3's_own_DQN --seeds 1",
    "benchmarks.ntuple": "learn NTupleTD_3_min --seeds 2 --games 300 --positions 50",
    "benchmarks.solver": "--count 3 --random 3 --openings 1 1 0",
    "benchmarks.exact_results": "--policies rule level:6 --maps 2",
    "benchmarks.web_load": "--visitors 2 --seconds 3 --policies rule",
    "benchmarks.differential": "--games 20000",
    "tools.build_suites": "",
    "tools.calibrate_levels": "--games 10 --seed 3",
    "tools.tune": "MaskablePPO --seconds 1 --seeds 1 --eval-freq 4096 --trials 1",
}
QUICK = ["benchmarks.reproduce", "benchmarks.exact_results"]
NEEDS = {"learning": "sb3_contrib", "tune": "optuna", "solver": "bitbully", "web_load": "starlette"}
NEEDS |= {"differential": "pyspiel"}


def load(name: str) -> ModuleType:
    pytest.importorskip("matplotlib")
    if need := NEEDS.get(name.rpartition(".")[2]):
        pytest.importorskip(need)
    return importlib.import_module(name)


def call(name: str, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [name, *words])
    load(name).main()


def table(path: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["tables"][name]
    return found


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_says_what_it_does(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        call(name, ["--help"], monkeypatch)
    assert str(load(name).__doc__).splitlines()[0] in capsys.readouterr().out


def test_a_script_starts_in_any_folder(tmp_path: Path) -> None:
    for script in ("benchmarks/reproduce.py", "tools/calibrate_levels.py"):
        subprocess.run([sys.executable, ROOT / script, "--help"], cwd=tmp_path, capture_output=True, check=True)


@pytest.mark.parametrize("name", breadth(QUICK, SMALL))
def test_in_small(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [*(word.replace("_", " ") for word in SMALL[name].split()), "--output", str(tmp_path)]
    # Ten games a pair cannot show that a level scores within 0.6 to 0.8, and the script says so.
    unproven = partial(pytest.raises, SystemExit, match=r"level 4 scores 0\.")
    ends = unproven if name == "tools.calibrate_levels" else nullcontext
    with ends():
        call(name, words, monkeypatch)
    (path,) = (path for path in tmp_path.glob("*.json") if not path.name.startswith("."))
    content = json.loads(path.read_text())
    assert content["settings"] and content["machine"]["packages"]["numpy"] == np.__version__
    assert all(content["tables"].values())
    for picture in tmp_path.glob("*.png"):
        pixels = importlib.import_module("matplotlib.image").imread(picture)
        assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 20, "nothing is drawn"
    for runs in tmp_path.glob("*-runs.jsonl"):
        before = runs.read_bytes()
        with ends():
            call(name, words, monkeypatch)
        assert runs.read_bytes() == before, "a run was repeated"


@pytest.mark.parametrize("words", ["--games 0", "--positions -3", "--seeds many"])
def test_impossible_sizes_are_refused_by_name(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        call("benchmarks.tournament", [*words.split(), "--output", str(tmp_path / "out")], monkeypatch)
    assert f"argument {words.split()[0]}" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_the_reproduction_is_compared_with_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--check", "--system", "S3", "--seeds", "1", "--output", str(tmp_path)]
    call("benchmarks.reproduce", words, monkeypatch)
    assert "3 runs: the same to the bit" in capsys.readouterr().out
    runs = tmp_path / "reproduce-runs.jsonl"
    runs.write_text(runs.read_text().replace('"infallible":false', '"infallible":true', 1))
    with pytest.raises(SystemExit, match="infallible is True, recorded False"):
        call("benchmarks.reproduce", words, monkeypatch)
    call("benchmarks.reproduce", words[1:], monkeypatch)
    assert {row["system"] for row in table(tmp_path / "reproduce.json", "summary")} == {"S3"}


def test_runs_that_contradict_a_claim_are_counted() -> None:
    script = load("benchmarks.reproduce")

    def found(first: float, second: float) -> dict[str, Any]:
        seats = {"first": first, "second": second}
        return {f"{seat}: v minimax": [0, 1 - lost, lost] for seat, lost in seats.items()} | {"infallible": not first}

    runs = [found(0, 0), found(0.1, 0), found(0, 0.444)]
    assert script.failures("never loses to minimax", runs) == "2 of 3: up to 44 % lost, 40 % or more in 1"
    assert script.failures("unbeatable", runs) == "1 of 3"
    assert script.failures("beatable", runs) == "2 of 3"


LABELLED = """moves,score,column_1,column_2,column_3,column_4,column_5,column_6,column_7
475774457522754657214321516462111,5,,-4,5,,,5,
47577445752275465721432151646211,5,-5,-5,5,,,-5,
"""


def test_mistakes_of_searches_are_those_of_the_arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = load("benchmarks.search")
    (path := tmp_path / "connect_four_two.csv").write_text(LABELLED)
    words = f"--data {tmp_path} --sets two --budgets 5 1ms --players ours --seeds 2 --workers 1 --output {tmp_path}"
    monkeypatch.setattr(sys, "argv", ["search.py", *words.split()])
    options = script.parse_arguments()
    cases = script.runs_in(script.run_all(options))
    assert set(cases) == {("two", "5", "ours"), ("two", "1ms", "ours")}
    assert cases["two", "1ms", "ours"][0][0] >= 1  # simulations
    for seed, (simulations, one) in enumerate(cases["two", "5", "ours"]):
        found = move_accuracy(script.MCTS(simulations), path, seed=seed)
        assert len(one["wrong"]) == found.mistake_shares.sum() and one["positions"] == 2
        assert len(one["imperfect"]) == 2 - found.perfect_shares.sum()
    store = RunStore(tmp_path / "search-runs.jsonl")
    for settings, results in list(store):
        if settings["budget"] == "5":
            store.add(settings, results | {"wrong": [0]})
    row = next(row for row in script.mistake_table(script.run_all(options), tmp_path) if row["budget"] == "5")
    assert row["seeds"] == 2 and row["mistakes %"] == 50 and row["of random's"] > 0


@pytest.mark.slow
def test_a_search_for_settings_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for trials in (1, 2):
        call("tools.tune", [*SMALL["tools.tune"].split(), "--output", str(tmp_path)], monkeypatch)
        found = table(tmp_path / "tune-MaskablePPO.json", "trials")
        assert {row["trial"] for row in found} == set(range(trials))
    tuned = next(row for row in found if row["trial"] == 0)
    assert (tuned["num_envs"], tuned["n_steps"], tuned["learning_rate"]) == (512, 16, 0.002)
    assert 1 <= tuned["score"] <= 3  # not proven within a second


def test_an_ntuple_run_is_judged_at_its_points_and_is_that_of_the_package() -> None:
    settings = {
        **ntuple.Learning(6_400, 5_000).settings_of("NTupleTD 3 min", 5),
        "settings": {"tuples": 12, "length": 5},
    }
    learner, points = ntuple.learned(settings, settings["points"])
    games = [point["games"] for point in points]
    for share, game in zip((*ntuple.EARLY, *ntuple.LATE), games, strict=True):
        assert share * 6_400 <= game <= share * 6_400 + 64
    assert games[-1] == learner.num_games == 6_400
    agent = NTupleTD(tuples=12, length=5, seed=5).learn(6_400)
    exact = exact_results(agent, "perfect", progress=False).as_first
    shares = [points[-1]["perfect, first"][end] for end in ("won", "drawn", "lost")]
    assert exact.exact and shares == pytest.approx([100 * share for share in exact.shares], abs=1e-3)


def test_ntuple_means_are_over_the_last_fifth_and_over_the_seeds() -> None:
    def made(seed: int, end: float) -> dict[str, Any]:
        shares = [{"won": won, "drawn": 0.0, "lost": 100 - won, "within": 0.0} for won in (10.0, 50.0, end)]
        curve = [{"games": g, "CPU-s": g / 5, "perfect, first": s} for g, s in zip((80, 90, 100), shares, strict=True)]
        costs = {"CPU-s": 20.0, "games": 100, "games per CPU-s": 5}
        return {"agent": "one", "seed": seed, "curve": curve, "perfect, first": shares[-1], **costs}

    runs = [made(seed, end) for seed, end in enumerate((0.0, 60.0, 62.0, 100.0))]
    assert ntuple.last_fifth(runs[1]["curve"], "won") == 55
    row = {row["measure"]: row for row in ntuple.Learning().tables(runs)["summary"]}["as first v perfect, W/D/L %"]
    assert row["one"] == "55.50 / 0.00 / 44.50" and row["one, IQM of wins"].startswith("61.00 (")


@pytest.mark.parametrize("game", differential.SHAPES)
def test_random_games_are_the_same_on_all_implementations(game: str) -> None:
    pytest.importorskip("pyspiel")
    rows = differential.compare(game, 100, seed=1, boards=16)
    assert [row["implementation"] for row in rows] == list(differential.KINDS)
    assert all(row["games"] >= 100 and row["plies"] >= 500 for row in rows)


@pytest.mark.parametrize(("place", "label"), [("legal", "legal moves"), ("play", "result")])
def test_a_difference_is_reported_with_its_position(place: str, label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspiel")
    right, calls = getattr(differential.SpielBoards, place), list[int]()

    def wrong(self: Any, *words: Any) -> Any:
        calls.append(1)
        said = right(self, *words)
        if len(calls) == 5:
            said[3] = 0
        return said

    monkeypatch.setattr(differential.SpielBoards, place, wrong)
    with pytest.raises(SystemExit, match=rf"ConnectFour-v0 after '[1-7]+': {label}: arrays .*, OpenSpiel "):
        differential.compare("ConnectFour-v0", 100, boards=16)
