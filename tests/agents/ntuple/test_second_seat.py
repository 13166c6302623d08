"""The tool that learns to win as second player from a first player that errs."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import pytest

from tictac_agents import NTupleNetwork, NTupleTD
from tictac_env.arena import exact_results
from tictac_env.games import get_game
from tictac_env.position import Position
from tictac_env.solver import Solver
from tools import learn_second_seat
from tools.kept_runs import PerfectRemembered
from tools.learn_second_seat import Stage, positions_met


def test_positions_are_those_in_which_the_network_moves_in_its_games() -> None:
    game = get_game("KInARow-v0:4x4-3")
    network = NTupleTD(game, tuples=3, length=3, seed=2).learn(40).network
    met = positions_met(network, 20, seed=0)
    assert met == positions_met(network, 20, seed=0)
    assert met and met != positions_met(network, 20, seed=20)
    for moves in met:
        position = Position.from_moves(game, moves)
        assert position.seat == 1 and not position.is_over
        before = Position.from_moves(game, moves[:-2])
        assert network.act(before, 0) == int(moves[-2]) - 1, "its own moves led there"


def test_the_tool_learns_judges_and_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stages = (Stage(1_000, None, 0.2, 0.1), Stage(500, 0, 0.1, 0.05), Stage(500, 0, 0.1, 0.05, met=3))
    settings = {"tuples": 3, "length": 4, "erring": 1.0, "seed": 0}
    for name, value in {"GAME": "KInARow-v0:4x4-3", "STAGES": stages, "SETTINGS": settings}.items():
        monkeypatch.setattr(learn_second_seat, name, value)
    words = ["--models", str(tmp_path / "models"), "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["learn_second_seat.py", *words])
    learn_second_seat.main()
    path = tmp_path / "learned-second-seat.json"
    record = json.loads(path.read_text())
    assert [row["games"] for row in record["tables"]["stages"]] == [1_000] * 3 + [1_500] * 3 + [2_000] * 3
    network = NTupleNetwork.load(tmp_path / "models" / "learned-second-seat.npz")
    assert len(network.tuples) == record["settings"]["tuples"]
    for row, error in zip(record["tables"]["exactly"], learn_second_seat.ERRORS, strict=True):
        found = exact_results(network, f"perfect:{error}", network.game, max_positions=1 << 30).as_second
        assert found.exact and row["opponent"] == f"perfect:{error}"
        shares = [round(100 * share, 2) for share in found.shares]
        assert [row["won, %"], row["drawn, %"], row["lost, %"]] == shares
        assert row["positions"] == found.positions

    def again(*_: object) -> None:
        raise AssertionError("a result that is kept is worked out again")

    monkeypatch.setattr(learn_second_seat, "as_second", again)
    monkeypatch.setattr(learn_second_seat, "positions_met", again)
    learn_second_seat.main()
    assert json.loads(path.read_text())["tables"] == record["tables"]


def test_what_was_answered_once_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game = get_game("KInARow-v0:4x4-3")
    solver = Solver(game)
    truth = exact_results("rule", "perfect:0.3", game, max_positions=1 << 30).as_second
    remembered = partial(PerfectRemembered, solver=solver, folder=tmp_path)
    exact_results("rule", remembered(0.1), game, max_positions=1 << 30)

    def again(*_: object) -> None:
        raise AssertionError("asked again")

    monkeypatch.setattr(solver, "best_masks", again)
    found = exact_results("rule", remembered(0.3), game, max_positions=1 << 30).as_second
    assert found.shares == truth.shares
