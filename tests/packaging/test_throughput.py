"""The throughput benchmark runs, in small, with peers and without; its C reference plays by the rules."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pettingzoo.env_registry.exceptions import FailedToImport

from benchmarks import c_reference, throughput, throughput_cases
from benchmarks.c_reference import CReference, NoCompiler, search
from benchmarks.throughput_cases import IDS
from tictac_env.position import Position

RESULTS = Path(throughput.__file__).parent / "results"


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    small = ("--seconds", "0.01", "--repeats", "1", "--boards", "8", "16")
    monkeypatch.setattr("sys.argv", ["throughput.py", *small, *words])
    throughput.main()


def tables(folder: Path, name: str = "throughput") -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads((folder / f"{name}.json").read_text())["tables"]
    return found


@pytest.fixture(autouse=True)
def no_compiler_found_before() -> None:
    c_reference.compiled.cache_clear()
    throughput_cases.left_out.cache_clear()


def boards_in_c(game: str, num_envs: int) -> CReference:
    try:
        return CReference(game, num_envs, seed=1)
    except NoCompiler as error:
        pytest.skip(str(error))


def test_missing_peers_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither pygame, which PettingZoo's games need, nor a C compiler."""

    def fail(*arguments: Any) -> None:
        raise FailedToImport("no pygame")

    monkeypatch.setattr("pettingzoo.make", fail)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    run(monkeypatch, "--only", "aec", "vector", "--output", str(tmp_path))
    told = capsys.readouterr().out
    assert "PettingZoo's tic-tac-toe is left out" in told
    assert "the C reference is left out: there is no C compiler" in told
    found = tables(tmp_path)
    assert {row["case"] for row in found["aec"]} == {"ours, raw_env", "ours, env", "ours, env, documented loop"}
    assert {row["ratio"] for row in found["aec"] if row["case"] == "ours, raw_env"} == {1.0}
    assert {"ours, copy=False", "ours, copy=True", "SyncVectorEnv"} <= {row["case"] for row in found["vector"]}
    assert not any("times C reference" in row for row in found["vector"])


@pytest.mark.slow
def test_two_checkouts_are_compared_case_by_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--only", "single", "learning", "--output", str(tmp_path)]
    run(monkeypatch, *words, "--against", str(RESULTS.parents[1]))
    found = tables(tmp_path, "before-after")["rows"]
    assert len(found) == 2 * 3 + 3 and all(row["before"] > 100 < row["after"] for row in found)
    assert all(row["lowest"] <= row["ratio"] <= row["highest"] for row in found)
    with pytest.raises(ValueError, match="does not hold the package"):
        run(monkeypatch, *words, "--against", str(tmp_path))


@pytest.mark.parametrize("game", IDS)
def test_the_c_reference_plays_by_the_rules_and_draws_every_legal_action_alike(game: str) -> None:
    """Legality, reward, end, and the next player's view, ply by ply; every other board is kept from being won."""
    boards = boards_in_c(game, 40)
    start = Position.start(IDS[game])
    positions, ends, generator = [start] * 40, {-1: 0, 0: 0}, random.Random(0)
    drawn, expected = np.zeros(boards.masks.shape[1]), np.zeros(boards.masks.shape[1])
    for _ in range(250):
        legal = boards.masks != 0
        boards.draw()
        drawn += np.bincount(boards.actions, minlength=len(drawn))
        expected += (legal / legal.sum(1, keepdims=True)).sum(0)
        for i, position in enumerate(positions):
            if i % 2:
                quiet = [action for action in position.legal_actions if position.play(action).result != -1]
                boards.actions[i] = generator.choice(quiet or position.legal_actions)
            positions[i] = position.play(int(boards.actions[i]))
        boards.step()
        for i, position in enumerate(positions):
            assert boards.done[i] == position.is_over and boards.rewards[i] == (position.result == -1)
            if position.is_over:
                ends[position.result] += 1
                positions[i] = position = start
            cells = position.to_array()
            assert np.array_equal(boards.planes[i], [cells == 1 + position.seat, cells == 2 - position.seat])
            assert tuple(np.flatnonzero(boards.masks[i])) == position.legal_actions and boards.masks[i].max() == 1
    assert min(ends.values()) > 5
    assert (np.abs(drawn - expected) <= 5 * np.sqrt(expected)).all()


@pytest.mark.parametrize(("game", "moves", "best"), [("Connect Four", "414243", 3), ("tic-tac-toe", "1425", 2)])
def test_the_tree_search_in_c_finds_what_is_best(game: str, moves: str, best: int) -> None:
    boards_in_c(game, 1)  # skips without a compiler
    position = Position.from_moves(IDS[game], moves)
    visits = search(game, position, 2000, 1.0, seed=0)
    assert visits.sum() == 2000 and set(np.flatnonzero(visits)) == set(position.legal_actions)
    assert visits.argmax() == best
    assert np.array_equal(visits, search(game, position, 2000, 1.0, seed=0))
