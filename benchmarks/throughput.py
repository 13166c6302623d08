"""Plies per CPU-second of the environments, beside the peers that are installed; ratios taken in one run.

    python benchmarks/throughput.py [--seconds 1] [--repeats 5] [--boards 1024 8192] [--output FOLDER] [--only TABLE]
    python benchmarks/throughput.py --against FOLDER    # this code beside an older checkout, each case of ours in turn

A ply is one move of either side. User and system time are counted, with resets and the random draw; only `threads`
goes by the clock on the wall. The cases take turns within a repeat, so that a machine that slows down slows all of
them; quote the median ratios. The tables are

    single    one environment through gym.make
    aec       the PettingZoo environments
    learning  a learner beside stepping alone
    vector    many boards at once on one thread, beside C on the same boards
    threads   two threads beside one

With --against the rows are the cases of ours alone, threads too by CPU time, and nothing is written unless --output
names a folder.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import gymnasium as gym

from benchmarks import our_cases
from benchmarks.before_after import compare
from benchmarks.minimal_env import CONNECT_FOUR, TIC_TAC_TOE
from benchmarks.our_cases import Run
from benchmarks.peers import aec_cases, open_spiel_cases
from benchmarks.report import RESULTS, Row, positive, save, show
from benchmarks.vector_peers import BUILDS, PGX, C, vector_cases

MINIMAL = {"Connect Four": CONNECT_FOUR, "tic-tac-toe": TIC_TAC_TOE}
YARDSTICK = "minimal environment"


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
        cases = {YARDSTICK: our_cases.stepping(gym.make(minimal))}
        cases |= our_cases.single_cases(game) | open_spiel_cases(game)
        rows += measure(game, cases, dict.fromkeys(cases, YARDSTICK), options)
    return rows


def aec(options: argparse.Namespace) -> list[Row]:
    return [row for game in our_cases.IDS for row in measure(game, *aec_cases(game), options)]


def learning(options: argparse.Namespace) -> list[Row]:
    cases = our_cases.learning_cases()
    return measure("tic-tac-toe", cases, dict.fromkeys(cases, "random games"), options, "games / CPU-s")


def vector(options: argparse.Namespace) -> list[Row]:
    """Every case beside the C reference and beside pgx, where they are here."""
    rows: list[Row] = []
    for game in our_cases.IDS:
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
    for game in our_cases.IDS:
        cases = our_cases.thread_cases(game, boards, time.perf_counter)
        found = measure(game, cases, dict.fromkeys(cases, "threads=1"), options, "plies / s")
        rows += [{"boards": boards, **row} for row in found]
    return rows


TABLES: dict[str, tuple[str, Callable[[argparse.Namespace], list[Row]]]] = {
    "single": ("Plies per CPU-second, one environment", single),
    "aec": ("Plies per CPU-second of the PettingZoo environments", aec),
    "learning": ("Games per CPU-second of a learner, beside stepping the environment alone", learning),
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


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU-seconds a measurement (default: %(default)s)")
    parser.add_argument("--repeats", type=positive, default=5, help="measurements of each case (default: %(default)s)")
    parser.add_argument(
        "--boards", type=positive, nargs="+", default=[1024, 8192], help="boards at once (default: %(default)s)"
    )
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES), help="tables to measure")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="a checkout of an older version to compare with")
    options = parser.parse_args()
    if not options.against and set(options.only) != set(TABLES) and options.output == RESULTS:
        parser.error(f"some tables only would replace a whole run in {RESULTS}; name another folder with --output")
    return options


if __name__ == "__main__":
    main()
