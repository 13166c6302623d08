"""Plies per CPU-second of the environments and of the peers that are installed; ratios taken in one run.

    python benchmarks/throughput.py [--seconds 1] [--repeats 5] [--boards 1024 8192] [--output FOLDER] [--only TABLE]
    python benchmarks/throughput.py --against FOLDER    # this code and an older checkout, each case of ours in turn

A ply is one move of either side. User and system time are counted, with resets and the random draw; only `threads`
measures wall-clock time. The cases take turns within a repeat, so that a machine that slows down slows all of them;
quote the median ratios. The tables are

    single    one environment through gym.make
    aec       the PettingZoo environments
    learning  a learner, and stepping alone
    vector    many boards at once on one thread, and C on the same boards
    threads   two threads, and one

With --against the rows are our cases only, threads too by CPU time, and nothing is written unless --output names a
folder. Each repeat then starts two new processes, as the speed of compiled code and of dictionaries depends a little on
their place in memory.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import gymnasium as gym

from benchmarks.records import RESULTS, add_output, parser_of, positive, save
from benchmarks.throughput_cases import (
    BUILDS,
    CONNECT_FOUR,
    IDS,
    PGX,
    TIC_TAC_TOE,
    C,
    Run,
    aec_cases,
    learning_cases,
    open_spiel_cases,
    single_cases,
    stepping,
    thread_cases,
    vector_cases,
)
from tictac_apps.bench.records import Row, show
from tictac_env.progress import track

MINIMAL = {"Connect Four": CONNECT_FOUR, "tic-tac-toe": TIC_TAC_TOE}
YARDSTICK = "minimal environment"


HERE = Path(__file__).parent
SERVE = """
import sys, types
package = sys.modules["benchmarks"] = types.ModuleType("benchmarks")  # these scripts, whatever the folder has
package.__path__ = [sys.argv[1]]
from benchmarks.throughput_cases import serve
serve(*sys.argv[2:])
"""
SLICES = 10
"""The parts of a measurement, in turn with the other's, so that both meet the same state of the machine."""
Case = tuple[str, str, int, str]
"""Table, game, boards and name."""
Pair = tuple[list[float], list[float]]
"""Speeds before and after, part by part."""


def main() -> None:
    options = parse_arguments()
    settings = {"seconds": options.seconds, "repeats": options.repeats, "boards": options.boards}
    if options.against:
        rows = compare(options.against, options.only, options.boards, options.seconds, options.repeats)
        show(f"Plies (learning: games) per CPU-second in {options.against} and here", rows)
        if options.output != RESULTS:
            save("before-after", settings, {"rows": rows}, options.output)
        return
    tables: dict[str, list[Row]] = {}
    for name in options.only:
        title, table = TABLES[name]
        tables[name] = table(options)
        show(title, tables[name])
    save("throughput", settings, tables, options.output)
    print(f"written to {options.output}")


def single(options: argparse.Namespace) -> list[Row]:
    rows: list[Row] = []
    for game, minimal in MINIMAL.items():
        cases = {YARDSTICK: stepping(gym.make(minimal))}
        cases |= single_cases(game) | open_spiel_cases(game)
        rows += measure(game, cases, dict.fromkeys(cases, YARDSTICK), options)
    return rows


def aec(options: argparse.Namespace) -> list[Row]:
    return [row for game in IDS for row in measure(game, *aec_cases(game), options)]


def learning(options: argparse.Namespace) -> list[Row]:
    cases = learning_cases()
    return measure("tic-tac-toe", cases, dict.fromkeys(cases, "random games"), options, "games / CPU-s")


def vector(options: argparse.Namespace) -> list[Row]:
    """Every case compared with the C reference and with pgx, if they are here."""
    rows: list[Row] = []
    for game in IDS:
        for boards in options.boards:
            found = speeds(vector_cases(game, boards), options)
            for case, plies in found.items():
                row = {"game": game, "boards": boards, "case": case, "plies / CPU-s": round(statistics.median(plies))}
                row |= {f"times {peer}": times(plies, found[peer]) for peer in (C, PGX) if peer in found}
                rows.append(row | {"a ply builds": BUILDS[case]})
    return rows


def threads(options: argparse.Namespace) -> list[Row]:
    rows: list[Row] = []
    boards = max(options.boards)
    for game in IDS:
        cases = thread_cases(game, boards, time.perf_counter)
        found = measure(game, cases, dict.fromkeys(cases, "threads=1"), options, "plies / s")
        rows += [{"boards": boards, **row} for row in found]
    return rows


TABLES: dict[str, tuple[str, Callable[[argparse.Namespace], list[Row]]]] = {
    "single": ("Plies per CPU-second, one environment", single),
    "aec": ("Plies per CPU-second of the PettingZoo environments", aec),
    "learning": ("Games per CPU-second of a learner, and of stepping the environment alone", learning),
    "vector": ("Plies per CPU-second, many boards at once on one thread", vector),
    "threads": ("Plies per second of wall-clock time of the vector environment", threads),
}


def speeds(cases: Mapping[str, Run], options: argparse.Namespace) -> dict[str, list[float]]:
    """Every case in turn, as often as asked for, after a warm-up."""
    found: dict[str, list[float]] = {name: [] for name in cases}
    for run in cases.values():
        run(options.seconds / 10)
    for _ in range(options.repeats):
        for name, run in cases.items():
            plies, spent = run(options.seconds)
            found[name].append(plies / spent)
    return found


def times(found: list[float], yardstick: list[float]) -> float:
    """The median of the ratios taken in the same repeat."""
    ratio = statistics.median(speed / other for speed, other in zip(found, yardstick, strict=True))
    return round(ratio, 3) if ratio >= 0.1 else float(f"{ratio:.3g}")


def measure(
    game: str,
    cases: Mapping[str, Run],
    compared: Mapping[str, str],
    options: argparse.Namespace,
    unit: str = "plies / CPU-s",
) -> list[Row]:
    """Medians of the speeds and of the ratios; `compared` says with which case each one is compared."""
    found = speeds(cases, options)
    return [
        {"game": game, "case": name, unit: round(statistics.median(mine)), "ratio": times(mine, found[compared[name]])}
        for name, mine in found.items()
    ]


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
    paths = os.pathsep.join([str(folder), str(folder / "agents"), str(folder / "apps")])
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
            raise RuntimeError(f"the process for {folder} ended; see its message above")
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


def parse_arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU-seconds a measurement (default: %(default)s)")
    parser.add_argument("--repeats", type=positive, default=5, help="measurements of each case (default: %(default)s)")
    parser.add_argument(
        "--boards", type=positive, nargs="+", default=[1024, 8192], help="boards at once (default: %(default)s)"
    )
    add_output(parser)
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES), help="tables to measure")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="a checkout of an older version to compare with")
    options = parser.parse_args()
    if not options.against and set(options.only) != set(TABLES) and options.output == RESULTS:
        parser.error(f"some tables only would replace a whole run in {RESULTS}; name another folder with --output")
    return options


if __name__ == "__main__":
    main()
