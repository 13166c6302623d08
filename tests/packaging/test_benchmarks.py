"""Every benchmark and every tool runs, in small, and writes what can be read back; what is kept is not run again."""

from __future__ import annotations

import csv
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

from benchmarks.run_store import RunStore
from tictac_env.arena import move_accuracy, play_match

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(
    f"{path.parent.name}.{path.stem}"
    for folder in ("benchmarks", "tools")
    for path in (ROOT / folder).glob("*.py")
    if "__main__" in path.read_text()
)
SMALL = {
    "benchmarks.reproduce": "--system S3 --seeds 1 --workers 1",
    "benchmarks.throughput": "--seconds 0.01 --repeats 1 --boards 8 16",
    "benchmarks.game_tree": "--games 200 --frozen 100 --matches 5",
    "benchmarks.s2_network": "--games 40 --seeds 1 --workers 1",
    "benchmarks.s4_network": "--games 4 --seeds 1 --workers 1",
    "benchmarks.learning": "--seeds 1",
    "benchmarks.learned_ntuple": "--seeds 2 --games 300 --positions 50",
    "benchmarks.ntuple_speed": "--games 200 --tuples 3 --rounds 1",
    "benchmarks.solver": "--count 3 --random 3 --openings 1 1 0",
    "benchmarks.exact_results": "--policies rule level:6 --maps 2",
    "benchmarks.web_load": "--visitors 2 --seconds 3 --policies rule",
    "benchmarks.differential": "--games 20000",
    "tools.build_suites": "",
    "tools.calibrate_levels": "--games 10 --seed 3",
    "tools.tune": "--seconds 1 --seeds 1 --eval-freq 4096 --trials 1",
}
NAMED = {
    "benchmarks.learning": ["SB3's own DQN"],
    "benchmarks.learned_ntuple": ["NTupleTD 3 min"],
    "tools.tune": ["MaskablePPO"],
}
"""Arguments that stand before the others."""
QUICK = ["benchmarks.reproduce", "benchmarks.exact_results"]
NEEDS = {
    "learning": "sb3_contrib",
}
NEEDS |= {
    "s4_network": "torch",
    "tune": "optuna",
    "solver": "bitbully",
    "openings": "bitbully",
    "web_load": "starlette",
    "differential": "pyspiel",
}


def load(name: str) -> ModuleType:
    pytest.importorskip("matplotlib")
    if need := NEEDS.get(name.rpartition(".")[2]):
        pytest.importorskip(need)
    return importlib.import_module(name)


WRITE_NO_RESULTS = {
    "benchmarks.check_proof",
    "tools.build_book",
    "tools.check_wheel",
    "tools.openings",
    "tools.refutations",
    "tools.results_tables",
}


def call(name: str, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [name, *words])
    load(name).main()


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_says_what_it_does(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        call(name, ["--help"], monkeypatch)
    words = capsys.readouterr().out
    assert str(load(name).__doc__).splitlines()[0] in words
    assert "--output" in words or name in WRITE_NO_RESULTS


@pytest.mark.parametrize("script", ["benchmarks/reproduce.py", "tools/calibrate_levels.py"])
def test_a_script_starts_in_any_folder(script: str, tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / script, "--help"], cwd=tmp_path, capture_output=True, check=True)


@pytest.mark.parametrize("name", breadth(QUICK, SMALL))
def test_in_small(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [*NAMED.get(name, []), *SMALL[name].split(), "--output", str(tmp_path)]
    # Ten games a pair cannot show that a level scores within 0.6 to 0.8, and the script says so.
    unproven = partial(pytest.raises, SystemExit, match=r"level 4 scores 0\.")
    ends = unproven if name == "tools.calibrate_levels" else nullcontext
    with ends():
        call(name, words, monkeypatch)
    (path,) = (path for path in tmp_path.glob("*.json") if not path.name.startswith("."))
    content = json.loads(path.read_text())
    assert content["settings"] and content["machine"]["packages"]["numpy"] == np.__version__
    assert {one.stem for one in tmp_path.glob("*.csv")} == {f"{path.stem}-{table}" for table in content["tables"]}
    for table, found in content["tables"].items():
        shown = [{key: "" if value is None else str(value) for key, value in row.items()} for row in found]
        assert shown and rows(tmp_path / f"{path.stem}-{table}.csv") == shown
    for picture in tmp_path.glob("*.png"):
        pixels = importlib.import_module("matplotlib.image").imread(picture)
        assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 20, "nothing is drawn"
    for runs in tmp_path.glob("*-runs.jsonl"):
        before = runs.read_bytes()
        with ends():
            call(name, words, monkeypatch)
        assert runs.read_bytes() == before, "something was run again"


@pytest.mark.parametrize("words", ["--games 0", "--positions -3", "--seeds many"])
def test_impossible_sizes_are_refused_by_name(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        call("benchmarks.tournament", [*words.split(), "--output", str(tmp_path / "out")], monkeypatch)
    assert f"argument {words.split()[0]}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_reproduction_is_compared_with_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--check", "--system", "S3", "--seeds", "1", "--output", str(tmp_path)]
    call("benchmarks.reproduce", words, monkeypatch)
    assert "3 runs: the same to the bit" in capsys.readouterr().out
    runs = tmp_path / "reproduce-runs.jsonl"
    runs.write_text(runs.read_text().replace('"infallible": false', '"infallible": true', 1))
    with pytest.raises(SystemExit, match="infallible is True, recorded False"):
        call("benchmarks.reproduce", words, monkeypatch)


def test_runs_that_contradict_a_claim_are_counted() -> None:
    script = load("benchmarks.reproduce")

    def found(first: float, second: float) -> dict[str, Any]:
        seats = {"first": first, "second": second}
        return {f"{seat}: v minimax": [0, 1 - lost, lost] for seat, lost in seats.items()} | {"infallible": not first}

    runs = [found(0, 0), found(0.1, 0), found(0, 0.444)]
    assert script.failures("never loses to minimax", runs) == "2 of 3: up to 44 % lost, 40 % or more in 1"
    assert script.failures("unbeatable", runs) == "1 of 3"
    assert script.failures("beatable", runs) == "2 of 3"


def test_only_systems_with_runs_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call("benchmarks.reproduce", ["--system", "S3", "--seeds", "1", "--output", str(tmp_path)], monkeypatch)
    assert {row["system"] for row in rows(tmp_path / "reproduce-summary.csv")} == {"S3"}
    assert "not yet" not in capsys.readouterr().out


@pytest.mark.slow
def test_the_levels_are_measured_by_matches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load("tools.calibrate_levels")
    row = module.match_row(module.job("ConnectFour-v0", 4, 10, 3))
    match = play_match("level:4", "level:3", "ConnectFour-v0", 10, seed=3)
    assert tuple(row[key] for key in ("wins", "draws", "losses")) == match.total


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
    kept = store.path.read_bytes()
    table: list[dict[str, Any]] = script.mistake_table(script.run_all(options), tmp_path)
    assert store.path.read_bytes() == kept, "what was there was run again"
    row = next(row for row in table if row["budget"] == "5")
    assert row["seeds"] == 2 and row["mistakes %"] == 50 and row["of random's"] > 0


@pytest.mark.slow
def test_the_second_process_does_not_compile() -> None:
    empty, filled = load("benchmarks.search").first_searches("tic-tac-toe")
    assert (empty["cache"], filled["cache"]) == ("empty", "filled")
    assert empty["first"] > 3 * filled["first"]


@pytest.mark.slow
def test_a_search_for_settings_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for trials in (1, 2):
        words = ["MaskablePPO", *SMALL["tools.tune"].split(), "--output", str(tmp_path)]
        call("tools.tune", words, monkeypatch)
        found = rows(tmp_path / "tune-MaskablePPO-trials.csv")
        assert {row["trial"] for row in found} == set(map(str, range(trials)))
    tuned = next(row for row in found if row["trial"] == "0")
    assert (tuned["num_envs"], tuned["n_steps"], tuned["learning_rate"]) == ("512", "16", "0.002")
    assert 1 <= float(tuned["score"]) <= 3  # not proven within a second
    command = capsys.readouterr().out.strip().splitlines()[-1]
    assert command.startswith("python -m tictac_agents.train MaskablePPO --learning-rate ")
