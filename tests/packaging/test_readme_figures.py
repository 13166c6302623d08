"""The README's figures are those of the recorded results."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
README = (ROOT / "README.md").read_text()
GAMES = ("Connect Four", "tic-tac-toe")


def table_below(heading: str) -> dict[str, list[str]]:
    """The rows of all tables of a section, by their first cells."""
    section = README.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return {first.strip("`"): rest for first, *rest in rows if not first.startswith("---")}


@pytest.mark.parametrize("table", ["single", "aec"])
def test_speed(table: str) -> None:
    content: dict[str, Any] = json.loads((RESULTS / "throughput.json").read_text())
    found = {(row["game"], row["case"]): row for row in content["tables"][table]}
    shown = table_below("Speed")
    for case in dict.fromkeys(case for _, case in found):
        expected = []
        for game in GAMES:
            row = found[game, case]
            expected += [f"{row['plies / CPU-s']:,}", f"{row['ratio']:.2f}"]
        assert shown[case] == expected, case


def test_the_pettingzoo_environments_are_as_fast_as_promised() -> None:
    with (RESULTS / "throughput-aec.csv").open(newline="") as file:
        ratios = {(row["game"], row["case"]): float(row["ratio"]) for row in csv.DictReader(file)}
    assert ratios["Connect Four", "ours, raw_env"] >= 4
    assert ratios["tic-tac-toe", "ours, raw_env"] >= 2


def test_the_tutorial() -> None:
    with (RESULTS / "pettingzoo-tutorial-summary.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    shown = re.findall(
        r"^\| (untrained network|PettingZoo's tutorial|OpponentPolicyEnv) \| (.*) \|$", README, re.MULTILINE
    )
    assert sorted((name, *rest.split(" | ")) for name, rest in shown) == sorted(
        (row["scheme"], f"{int(row['steps']):,}", *list(row.values())[2:]) for row in found
    )
