"""The throughput benchmark runs, in small, with peers and without; its C reference plays by the rule book."""

from __future__ import annotations

import csv
import importlib
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pettingzoo.env_registry.exceptions import FailedToImport

from tictac_env.position import Position

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
IDS = {"Connect Four": "ConnectFour-v0", "tic-tac-toe": "TicTacToe-v0"}
SMALL = ("--seconds", "0.01", "--repeats", "1", "--boards", "8", "16")


def fail(*arguments: Any) -> None:
    raise FailedToImport("no pygame")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def script() -> Any:
    """The benchmark as a module."""
    return importlib.import_module("benchmarks.throughput")


@pytest.fixture
def reference(script: Any) -> Any:
    """The module of the C reference, with no compiler found before."""
    module = importlib.import_module("benchmarks.c_reference")
    module.compiled.cache_clear()
    importlib.import_module("benchmarks.vector_peers").left_out.cache_clear()
    return module


def boards_in_c(reference: Any, game: str, num_envs: int) -> Any:
    try:
        return reference.CReference(game, num_envs, seed=1)
    except reference.NoCompiler as error:
        pytest.skip(str(error))


def test_what_is_not_here_is_left_out(
    script: Any,
    reference: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Neither pygame, which PettingZoo's games need, nor a C compiler."""
    monkeypatch.setattr("pettingzoo.make", fail)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["throughput.py", *SMALL, "--only", "aec", "vector", "--output", str(tmp_path)])
    script.main()
    told = capsys.readouterr().out
    assert "PettingZoo's tic-tac-toe is left out" in told
    assert "the C reference is left out: there is no C compiler" in told
    found = rows(tmp_path / "throughput-aec.csv")
    assert {row["case"] for row in found} == {"ours, raw_env", "ours, env", "ours, env, documented loop"}
    assert {row["ratio"] for row in found if row["case"] == "ours, raw_env"} == {"1.0"}
    many = rows(tmp_path / "throughput-vector.csv")
    assert {"ours, copy=False", "ours, copy=True", "SyncVectorEnv"} <= {row["case"] for row in many}
    assert not any("times C reference" in row for row in many)


@pytest.mark.slow
def test_speeds_are_compared_with_those_of_peers(
    script: Any, reference: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boards_in_c(reference, "tic-tac-toe", 1)
    pytest.importorskip("pygame")
    words = ["--only", "aec", "vector", "threads", "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["throughput.py", *SMALL, *words])
    script.main()
    ratios = {row["case"]: row["ratio"] for row in rows(tmp_path / "throughput-aec.csv")}
    assert len(ratios) == 6 and ratios["PettingZoo, env"] == "1.0"
    for row in rows(tmp_path / "throughput-vector.csv"):
        assert int(row["plies / CPU-s"]) > 100 and row["a ply builds"]
        assert (row["times C reference"] == "1.0") is (row["case"] == "C reference")
    threads = rows(tmp_path / "throughput-threads.csv")
    assert [(row["game"], row["boards"], row["case"]) for row in threads] == [
        (game, "16", f"threads={count}") for game in IDS for count in (1, 2)
    ]


def test_a_part_does_not_replace_a_whole_run(
    script: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["throughput.py", *SMALL, "--only", "threads"])
    with pytest.raises(SystemExit):
        script.main()
    assert "--output" in capsys.readouterr().err


@pytest.mark.slow
def test_two_checkouts_are_compared_case_by_case(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["--only", "single", "learning", "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["throughput.py", *SMALL, *words, "--against", str(BENCHMARKS.parent)])
    script.main()
    found = rows(tmp_path / "before-after-rows.csv")
    assert len(found) == 2 * 3 + 3
    assert all(int(row["before"]) > 100 < int(row["after"]) for row in found)
    assert all(float(row["lowest"]) <= float(row["ratio"]) <= float(row["highest"]) for row in found)
    monkeypatch.setattr(sys, "argv", ["throughput.py", *SMALL, *words, "--against", str(tmp_path)])
    with pytest.raises(ValueError, match="does not hold the package"):
        script.main()


@pytest.mark.parametrize("game", IDS)
def test_the_c_reference_plays_by_the_rule_book(game: str, reference: Any) -> None:
    """Ply by ply: legality, reward, end, and what the next player sees; every other board is kept from being won."""
    boards = boards_in_c(reference, game, 40)
    start = Position.start(IDS[game])
    positions = [start] * 40
    ends = {-1: 0, 0: 0}
    generator = random.Random(0)
    for _ in range(250):
        boards.draw()
        for i, position in enumerate(positions):
            if i % 2:
                quiet = [action for action in position.legal_actions if position.play(action).result != -1]
                boards.actions[i] = generator.choice(quiet or position.legal_actions)
            positions[i] = position.play(int(boards.actions[i]))
        boards.step()
        for i, position in enumerate(positions):
            assert boards.done[i] == position.is_over
            assert boards.rewards[i] == (position.result == -1)
            if position.is_over:
                ends[position.result] += 1
                positions[i] = position = start
            cells = position.to_array()
            np.testing.assert_array_equal(boards.planes[i], [cells == 1 + position.seat, cells == 2 - position.seat])
            mask = [action in position.legal_actions for action in range(len(boards.masks[i]))]
            np.testing.assert_array_equal(boards.masks[i], mask)
    assert min(ends.values()) > 5


@pytest.mark.parametrize("game", IDS)
def test_the_c_reference_draws_every_legal_action_alike(game: str, reference: Any) -> None:
    boards = boards_in_c(reference, game, 50)
    counts = np.zeros_like(boards.masks, np.int64)
    for _ in range(25 if game == "Connect Four" else 6):
        boards.draw()
        boards.step()
    draws = 2000
    for _ in range(draws):
        boards.draw()
        counts[np.arange(50), boards.actions] += 1
    legal = boards.masks != 0
    chance = legal / legal.sum(1, keepdims=True)
    assert len(np.unique(legal.sum(1))) > 2  # some boards have fewer legal actions than others
    deviation = np.sqrt(draws * chance * (1 - chance))
    assert (np.abs(counts - draws * chance) <= 5 * deviation).all()


def test_a_compiler_that_fails_is_named(reference: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false")
    if not shutil.which("false"):
        pytest.skip("no such program here")
    with pytest.raises(reference.NoCompiler, match="false failed"):
        reference.CReference("tic-tac-toe", 1)


def test_the_pettingzoo_environments_are_as_fast_as_promised() -> None:
    ratios = {
        (row["game"], row["case"]): float(row["ratio"]) for row in rows(BENCHMARKS / "results" / "throughput-aec.csv")
    }
    assert ratios["Connect Four", "ours, raw_env"] >= 4
    assert ratios["tic-tac-toe", "ours, raw_env"] >= 2
