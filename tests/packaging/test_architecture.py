"""The counts of docs/architecture.md: files and lines of each layer, and the files that some calls pass through."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import gymnasium as gym
import pytest

import tictac_env
from tests.packaging.test_imports import LAYERS, MODULES, ROOTS
from tests.packaging.test_repository import ROOT
from tictac_agents import QLearning

NAMES = "rules", "shared parts", "players and exact values", "environments and measures", "programs"
TABLE = re.compile(r"^\| ([^|]+) \| ([\d,]+) \|(?: ([\d,]*) \|)?$", re.MULTILINE)


def sizes() -> dict[str, tuple[int, int]]:
    """The files of each layer, of the agents and of both packages, and their lines in hundreds."""
    counts = {name: [0, 0] for name in (*NAMES, "`tictac_agents`", "both packages")}
    for module, path in MODULES.items():
        package, *parts = module.split(".")
        rows = ["both packages"]
        if package == "tictac_agents":
            rows.append("`tictac_agents`")
        elif parts:
            rows += [name for name, layer in zip(NAMES, LAYERS, strict=True) if parts[0] in layer]
        for row in rows:
            counts[row][0] += 1
            counts[row][1] += len(path.read_text(encoding="utf-8").splitlines())
    return {row: (files, round(lines, -2)) for row, (files, lines) in counts.items()}


def files_of(call: Callable[[], Any]) -> int:
    """The number of files of both packages with a function that the call runs."""
    call()  # the first call imports and compiles
    found = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            found.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return sum(name.startswith(tuple(f"{root}/" for root in ROOTS.values())) for name in found)


def walks() -> dict[str, tuple[int]]:
    env: gym.Env[Any, int] = gym.make("ConnectFour-v0", opponent="rule").unwrapped
    env.reset(seed=0)
    learner = QLearning("TicTacToe-v0", seed=0)
    learner.compiled = False
    return {
        '`env.step(3)`, opponent "rule"': (files_of(lambda: env.step(3)),),
        "one interpreted game of `QLearning`": (files_of(lambda: learner.learn(1, progress_bar=False)),),
        '`audit("rule")`': (files_of(lambda: tictac_env.audit("rule")),),
    }


@pytest.mark.parametrize("count", [sizes, walks])
def test_the_counts_of_the_page_are_true(count: Callable[[], dict[str, tuple[int, ...]]]) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    stated = {row: [int(n.replace(",", "")) for n in numbers if n] for row, *numbers in TABLE.findall(page)}
    counted = count()
    rows = "\n".join(f"| {row} | {' | '.join(f'{n:,}' for n in numbers)} |" for row, numbers in counted.items())
    for row, numbers in counted.items():
        assert stated.get(row, []) == pytest.approx(numbers, rel=0.1, abs=1), f"architecture.md should say:\n{rows}"
