"""How long the exact score of an early position of Connect Four takes, and those of all its columns, with the book.

    python benchmarks/early_positions.py                        # plies 0 to 12, 1,000 random positions each
    python benchmarks/early_positions.py --plies 8 --threads 2  # what is known of other plies and threads stays
    python benchmarks/early_positions.py --no-check             # without bitbully and bitbully-databases

Positions are those of random games, unfinished and all different; where there are fewer than wanted, all of them. Each
is solved from a cleared table. One thread's time is CPU time; that of several is by the clock, so the machine should be
idle. Every score is checked against BitBully's with its book of 12 plies.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.report import RESULTS, Row, positive, save, show
from tictac_env.position import Position
from tictac_env.progress import track
from tictac_env.solver import Solver

GAME = "ConnectFour-v0"
MOST_PLIES = 12
Times = list[tuple[float, float]]


def random_positions(ply: int, count: int, seed: int) -> list[Position]:
    """`count` unfinished positions of random games, all different; all there are, if those are fewer."""
    layer = {Position.start(GAME)}
    for _ in range(ply):
        layer = {after for position in layer for a in position.legal_actions if not (after := position.play(a)).is_over}
        if len(layer) > count:
            break
    else:
        return sorted(layer, key=lambda position: position.stones)
    rng = random.Random(f"{seed} {ply}")
    found: dict[Position, None] = {}
    while len(found) < count:
        position = Position.start(GAME)
        while position.ply < ply and not position.is_over:
            position = position.play(rng.choice(position.legal_actions))
        if not position.is_over:
            found[position] = None
    return list(found)


def measure(positions: Sequence[Position], table_megabytes: float, threads: int, check: bool) -> Times:
    """The seconds for the score of each position, and for the scores of all its columns."""
    clock = time.process_time if threads == 1 else time.perf_counter
    solver = Solver(GAME, table_megabytes, threads)
    solver.solve(Position.from_moves(GAME, "444444"))  # compiled
    times, answers = [], []
    for position in positions:
        solver.clear()
        began = clock()
        score = solver.score(position)
        one = clock() - began
        solver.clear()
        began = clock()
        solution = solver.solve(position)
        times.append((one, clock() - began))
        if solution.score != score:
            raise SystemExit(f"two scores, {score} and {solution.score}: {position!r}")
        answers.append(solution.action_scores)
    if check:
        compare(positions, answers)
    return times


def compare(positions: Sequence[Position], answers: Sequence[Sequence[int | None]]) -> None:
    from bitbully import BitBully, Board

    peer = BitBully(opening_book="12-ply-dist")
    for position, scores in zip(positions, answers, strict=True):
        theirs = peer.score_all_moves(Board([int(move) - 1 for move in position.to_moves()]))
        if [theirs.get(column) for column in range(7)] != list(scores):
            raise SystemExit(f"BitBully says {theirs}, we say {scores}: {position!r}")


def row_of(ply: int, threads: int, times: Times, checked: bool) -> Row:
    ours = 1000 * np.array(times)
    row: dict[str, object] = {"ply": ply, "threads": threads, "positions": len(ours)}
    for name, column in zip(("score", "columns"), ours.T, strict=True):
        for statistic, value in (
            ("mean", column.mean()),
            ("median", np.median(column)),
            ("p99", np.percentile(column, 99)),
            ("max", column.max()),
        ):
            row[f"{name} {statistic} ms"] = float(value)
    return row | {"equal to BitBully's": checked}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plies", type=int, nargs="+", choices=range(MOST_PLIES + 1), default=range(MOST_PLIES + 1))
    parser.add_argument("--count", type=positive, default=1000, help="positions of each ply (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--table", type=float, default=64, metavar="MB", help="the solver's table (default: 64)")
    parser.add_argument("--threads", type=positive, default=1, help="the solver's (default: %(default)s)")
    parser.add_argument("--workers", type=positive, default=1, help="processes side by side (default: %(default)s)")
    parser.add_argument("--no-check", dest="check", action="store_false", help="do not compare with BitBully")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    settings = {name: getattr(options, name) for name in ("count", "seed", "table")}
    settings["book plies"] = book.plies if (book := Solver(GAME).book) else None
    path = options.output / "early-positions.json"
    rows = {}
    if path.is_file():
        known = json.loads(path.read_text())
        if known["settings"] != settings:
            parser.error(f"{path} is of {known['settings']}, not {settings}; delete it, or name a folder with --output")
        rows = {(row["ply"], row["threads"]): row for row in known["tables"]["plies"]}
    with ProcessPoolExecutor(options.workers) as pool:
        for ply in track(options.plies, "plies"):
            positions = random_positions(ply, options.count, options.seed)
            parts = [positions[n :: options.workers] for n in range(options.workers)]
            jobs = [pool.submit(measure, part, options.table, options.threads, options.check) for part in parts if part]
            times = [pair for job in jobs for pair in job.result()]
            rows[ply, options.threads] = row_of(ply, options.threads, times, options.check)
            save("early-positions", settings, {"plies": [rows[key] for key in sorted(rows)]}, options.output)
    show(
        "Early positions: seconds for the exact score and for all columns' scores", [rows[key] for key in sorted(rows)]
    )


if __name__ == "__main__":
    main()
