"""The tool that learns to win as second player from a first player that errs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tictac_agents import NTupleNetwork, NTupleTD
from tictac_env.games import get_game
from tictac_env.position import Position
from tools import learn_second_seat
from tools.learn_second_seat import Judgement, Stage, positions_met


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


@pytest.mark.slow
def test_the_tool_learns_judges_and_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stages = (Stage(1_000, None, 0.2, 0.1), Stage(500, 0, 0.1, 0.05), Stage(500, 0, 0.1, 0.05, met=3))
    monkeypatch.setattr(learn_second_seat, "STAGES", stages)
    monkeypatch.setattr(learn_second_seat, "IN_BETWEEN", Judgement(0.1, 3))
    monkeypatch.setattr(learn_second_seat, "IN_THE_END", Judgement(0.05, 4))
    words = ["--models", str(tmp_path / "models"), "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["learn_second_seat.py", *words])
    learn_second_seat.main()
    path = tmp_path / "learned-second-seat.json"
    record = json.loads(path.read_text())
    assert [row["games"] for row in record["tables"]["stages"]] == [1_000] * 3 + [1_500] * 3 + [2_000] * 3
    assert [row["opponent"] for row in record["tables"]["judged"]] == list(learn_second_seat.ERRING)
    network = NTupleNetwork.load(tmp_path / "models" / "learned-second-seat.npz")
    assert len(network.tuples) == record["settings"]["tuples"]

    def again(*_: object) -> None:
        raise AssertionError("a result that is kept is worked out again")

    monkeypatch.setattr(learn_second_seat, "won_as_second", again)
    monkeypatch.setattr(learn_second_seat, "positions_met", again)
    learn_second_seat.main()
    assert json.loads(path.read_text())["tables"] == record["tables"]
