"""The tool that learns to win as second player from a first player that errs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tictac_agents import NTupleNetwork
from tools import learn_second_seat
from tools.learn_second_seat import Judgement, Stage


@pytest.mark.slow
def test_the_tool_learns_judges_and_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stages = (Stage(1_000, None, step=0.2, final_step=0.1), Stage(500, 0, step=0.1, final_step=0.05))
    monkeypatch.setattr(learn_second_seat, "STAGES", stages)
    monkeypatch.setattr(learn_second_seat, "IN_BETWEEN", Judgement(1, 0.1, 3))
    monkeypatch.setattr(learn_second_seat, "JUDGED", (Judgement(1, 0.1, 4), Judgement(2, 0.2, 3)))
    words = ["--models", str(tmp_path / "models"), "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["learn_second_seat.py", *words])
    learn_second_seat.main()
    path = tmp_path / "learned-second-seat.json"
    record = json.loads(path.read_text())
    assert [row["games"] for row in record["tables"]["stages"]] == [1_000, 1_500]
    assert [row["plies looked ahead"] for row in record["tables"]["judged"]] == [1, 2]
    network = NTupleNetwork.load(tmp_path / "models" / "learned-second-seat.npz")
    assert len(network.tuples) == record["settings"]["tuples"]

    def again(*_: object) -> None:
        raise AssertionError("a result that is kept is worked out again")

    monkeypatch.setattr(learn_second_seat, "won_as_second", again)
    learn_second_seat.main()
    assert json.loads(path.read_text())["tables"] == record["tables"]
