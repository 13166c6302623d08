"""How long the exact score of an early position of Connect Four takes, and those of all its columns, with the book.

    python benchmarks/early_positions.py                        # plies 0 to 12, 1,000 random positions each
    python benchmarks/early_positions.py --plies 8 --threads 2  # one ply, two threads
    python benchmarks/early_positions.py --no-check             # without bitbully and bitbully-databases

Positions are those of random games, unfinished and all different; where there are fewer than wanted, all of them. Each
is solved from a cleared table. One thread's time is CPU time; that of several is by the clock, so the machine should be
idle. Every score is checked against BitBully's with its book of 12 plies. A finished ply is kept in
early-positions-runs.jsonl and not solved again.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import RESULTS, Row, positive, save, show
from benchmarks.run_store import RunStore, Settings
from tictac_env.cli.arguments import add_workers, chosen_workers
from tictac_env.position import Position
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


def run(settings: Settings) -> Row:
    """Solves the positions of one ply; the statistics of their times."""
    positions = random_positions(settings["ply"], settings["count"], settings["seed"])
    times = measure(positions, settings["table"], settings["threads"], settings["checked"])
    ours = 1000 * np.array(times)
    row: dict[str, object] = {"ply": settings["ply"], "threads": settings["threads"], "positions": len(ours)}
    for name, column in zip(("score", "columns"), ours.T, strict=True):
        for statistic, value in (
            ("mean", column.mean()),
            ("median", np.median(column)),
            ("p99", np.percentile(column, 99)),
            ("max", column.max()),
        ):
            row[f"{name} {statistic} ms"] = float(value)
    return row | {"equal to BitBully's": settings["checked"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plies", type=int, nargs="+", choices=range(MOST_PLIES + 1), default=range(MOST_PLIES + 1))
    parser.add_argument("--count", type=positive, default=1000, help="positions of each ply (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=2026, help="of the positions (default: %(default)s)")
    parser.add_argument("--table", type=float, default=64.0, metavar="MB", help="the solver's table (default: 64)")
    parser.add_argument("--threads", type=positive, default=1, help="the solver's (default: %(default)s)")
    add_workers(parser)
    parser.add_argument("--no-check", dest="check", action="store_false", help="do not compare with BitBully")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    shared: dict[str, Any] = {name: getattr(options, name) for name in ("count", "seed", "table")}
    shared["book plies"] = book.plies if (book := Solver(GAME).book) else None
    wanted = shared | {"checked": options.check}
    store = RunStore(options.output / "early-positions-runs.jsonl")
    jobs = [{"ply": ply, "threads": options.threads, **wanted} for ply in options.plies]
    store.complete(jobs, run, chosen_workers(options), "plies")
    rows = [row for settings, row in store if settings == settings | wanted]
    rows.sort(key=lambda row: (row["ply"], row["threads"]))
    save("early-positions", shared, {"plies": rows}, options.output)
    show("Early positions: seconds for the exact score and for all columns' scores", rows)


if __name__ == "__main__":
    main()
