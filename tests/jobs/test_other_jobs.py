"""Labels, proofs and suites by several processes are those by one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from some_players import Deadly, raising

from tictac_env.arena import prove, sampled_openings
from tictac_env.arena.suite_making import Games, LabelStore, label, make_suite
from tictac_env.games import get_game
from tictac_env.solver import Solver

posix = pytest.mark.skipif(os.name != "posix", reason="processes are killed by SIGKILL")
CONNECT_FOUR = get_game("ConnectFour-v0")


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_labels(tmp_path: Path) -> None:
    positions = sampled_openings(CONNECT_FOUR, 30, 200)
    cache = tmp_path / "scores.sqlite"
    by_workers = label(positions, cache, workers=2)
    assert (by_workers == label(positions)).all()
    assert len(LabelStore(cache, CONNECT_FOUR)) == len(positions)
    with pytest.raises(ValueError, match="workers have solvers of their own"):
        label(positions, solver=Solver(CONNECT_FOUR, 1), workers=2)


def test_suites() -> None:
    sources = [Games("random", random_plies=0), Games("rule")]
    made = [make_suite("ours", sources, 60, 3, "TicTacToe-v0", workers=workers) for workers in (1, 2)]
    assert made[0].sha256 == made[1].sha256 and made[0].about == made[1].about


@posix
def test_proofs_though_a_worker_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tictac_env.arena.proof.CHUNK", 32)
    by_workers = _prove(tmp_path / "workers", Deadly(tmp_path / "killed"), workers=2)
    assert (tmp_path / "killed").exists(), "nobody was killed"
    alone = _prove(tmp_path / "alone", Deadly(tmp_path / "killed"))
    assert by_workers == alone and alone.positions > 100
    assert files(tmp_path / "workers") == files(tmp_path / "alone")


def _prove(folder: Path, player: Any, **how: Any) -> Any:
    return prove(player, 1, "TicTacToe-v0", refutations=None, folder=folder, **how)


def test_an_error_of_a_player_is_that_of_one_process(tmp_path: Path) -> None:
    for workers in (1, 2):
        with pytest.raises(ZeroDivisionError, match="a bug"):
            _prove(tmp_path / str(workers), raising, workers=workers)


def test_a_proof_begun_by_workers_goes_on_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tictac_env.arena.proof.CHUNK", 32)
    begun = prove("minimax", 1, "TicTacToe-v0", folder=tmp_path, max_positions=300, workers=2)
    assert not begun.complete and 0 < begun.positions <= 300
    ended = prove("minimax", 1, "TicTacToe-v0", folder=tmp_path)
    assert ended == prove("minimax", 1, "TicTacToe-v0") and ended.holds
    assert np.sum([ply.positions for ply in ended.plies]) == ended.positions
