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
    lines = [line for line in section.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
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


def test_the_speed_of_many_boards() -> None:
    content: dict[str, Any] = json.loads((RESULTS / "throughput.json").read_text())
    shown = table_below("Speed")
    found = {(row["game"], row["boards"], row["case"]): row for row in content["tables"]["vector"]}
    for game, case in dict.fromkeys((game, case) for game, _, case in found):
        expected = []
        for boards in (1024, 8192):
            row = found.get((game, boards, case))
            if row is None:
                expected += ["", ""]
            else:
                times = row["times C reference"]
                expected += [f"{row['plies / CPU-s']:,}", f"{times:.2f}" if times >= 0.1 else f"{times:.4f}"]
        assert shown[f"{game}, {case}"] == expected, case
    threads = {row["game"]: row for row in content["tables"]["threads"] if row["case"] == "threads=2"}
    first, second = (threads[game] for game in GAMES)
    told = f"{first['plies / s']:,} plies a second by the clock on the wall, {first['ratio']:.2f} times what one"
    assert f"{told} thread does (tic-tac-toe: {second['ratio']:.2f})" in " ".join(README.split())


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
