"""The throughput benchmark runs, in small, with PettingZoo's games and without."""

from __future__ import annotations

import csv
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
from pettingzoo.env_registry.exceptions import FailedToImport


def fail(*arguments: Any) -> None:
    raise FailedToImport("no pygame")


@pytest.mark.parametrize("peers", [True, False])
def test_throughput(
    peers: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    throughput = importlib.import_module("throughput")
    if not peers:
        monkeypatch.setattr("pettingzoo.make", fail)
    words = ["--seconds", "0.01", "--repeats", "1", "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["throughput.py", *words])
    throughput.main()
    assert ("PettingZoo's tic-tac-toe is left out" in capsys.readouterr().out) is not peers
    with (tmp_path / "throughput-aec.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    kinds = ["raw_env", "env", "env, documented loop"]
    whose = ["PettingZoo", "ours"] if peers else ["ours"]
    assert {(row["game"], row["case"]) for row in rows} == {
        (game, f"{who}, {kind}") for game in throughput.GAMES for who in whose for kind in kinds
    }
    assert all(int(row["plies / CPU-s"]) > 100 for row in rows)
    assert {row["ratio"] for row in rows if row["case"] == ("PettingZoo, env" if peers else "ours, raw_env")} == {"1.0"}
