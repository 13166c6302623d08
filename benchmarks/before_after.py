"""This package beside the same package in another folder: every case of ours in turn, each in a process of its own.

Used by `throughput.py --against FOLDER`. Each repeat starts both processes anew, as the speed of compiled code and of
dictionaries depends a little on where they happen to lie in memory.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import tictac_env
from benchmarks.our_cases import Run, all_cases
from benchmarks.report import Row
from tictac_env.progress import track

HERE = Path(__file__).parent
SERVE = """
import sys, types
package = sys.modules["benchmarks"] = types.ModuleType("benchmarks")  # these scripts, whatever the folder has
package.__path__ = [sys.argv[1]]
from benchmarks.before_after import serve
serve(*sys.argv[2:])
"""
SLICES = 10
"""A measurement is made in so many parts, in turn with the other's, so that both meet the same state of the machine."""
Case = tuple[str, str, int, str]
"""Table, game, boards and name."""
Pair = tuple[list[float], list[float]]
"""Speeds before and after, part by part."""


def compare(folder: Path, tables: list[str], boards: list[int], seconds: float, repeats: int) -> list[Row]:
    """A row a case: the median speeds before (`folder`) and after (here), in plies or games per CPU-second.

    A repeat's ratio is the median of those of parts measured one after the other. The table has the median of the
    repeats' ratios, the lowest and the highest.

    Raises:
        ValueError: `folder` does not hold the package.
    """
    speeds: dict[Case, list[Pair]] = {}
    for repeat in track(range(repeats), "repeats"):
        with server(folder, tables, boards) as (cases, before), server(HERE.parent, tables, boards) as (_, after):
            for number, case in enumerate(cases):
                turn = [before, after] if (repeat + number) % 2 else [after, before]
                found: dict[Any, list[float]] = {before: [], after: []}
                for measure in turn:
                    measure(case, seconds / SLICES)  # warm
                for _ in range(SLICES):
                    for measure in turn:
                        found[measure].append(measure(case, seconds / SLICES))
                    turn.reverse()
                speeds.setdefault(case, []).append((found[before], found[after]))
    return [row_of(case, pairs) for case, pairs in speeds.items()]


def row_of(case: Case, pairs: list[Pair]) -> Row:
    table, game, boards, name = case
    before, after = (round(statistics.median(chain(*speeds))) for speeds in zip(*pairs, strict=True))
    ratios = [statistics.median(new / old for old, new in zip(*pair, strict=True)) for pair in pairs]
    row: dict[str, Any] = {"table": table, "game": game, "boards": boards, "case": name, "before": before}
    row |= {"after": after, "ratio": round(statistics.median(ratios), 3)}
    return row | {"lowest": round(min(ratios), 3), "highest": round(max(ratios), 3)}


@contextmanager
def server(folder: Path, tables: list[str], boards: list[int]) -> Iterator[tuple[list[Case], Any]]:
    """A process that has the package of `folder`: its cases, and a function that measures one of them."""
    folder = folder.resolve()
    paths = os.pathsep.join([str(folder), str(folder / "agents")])
    arguments = [str(HERE), json.dumps(tables), json.dumps(boards)]
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", SERVE, *arguments],
        env=os.environ | {"PYTHONPATH": paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    requests, answers = process.stdin, process.stdout

    def answer() -> Any:
        line = answers.readline()
        if not line:
            raise RuntimeError(f"the process for {folder} ended; its message stands above")
        return json.loads(line)

    def measure(case: Case, seconds: float) -> float:
        print(json.dumps([case, seconds]), file=requests, flush=True)
        speed: float = answer()
        return speed

    try:
        package, cases = answer()
        if not Path(package).is_relative_to(folder):
            raise ValueError(f"{folder} does not hold the package tictac_env: {package} was imported")
        yield [(table, game, count, name) for table, game, count, name in cases], measure
    finally:
        requests.close()
        answers.close()
        process.wait()


def serve(tables: str, boards: str) -> None:
    """Tells its cases, then answers each line, a case and seconds, by the plies (or games) per CPU-second."""
    answers, sys.stdout = sys.stdout, sys.stderr
    runs: dict[Case, Run] = {}
    for table in json.loads(tables):
        runs |= {(table, *case): run for case, run in all_cases(table, json.loads(boards)).items()}
    print(json.dumps([tictac_env.__file__, list(runs)]), file=answers, flush=True)
    for line in sys.stdin:
        case, seconds = json.loads(line)
        played, spent = runs[tuple(case)](seconds)
        print(json.dumps(float(played / spent)), file=answers, flush=True)
