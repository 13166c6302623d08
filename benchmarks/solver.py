"""The exact solver: its scores and its speed, compared with BitBully's.

    python benchmarks/solver.py                  # sets, opening sets, labels; some minutes
    python benchmarks/solver.py --empty          # the empty board too: minutes more
    python benchmarks/solver.py --peer PYTHON    # the interpreter that has bitbully (pip install bitbully)

One thread each, in turn on the same position sets, CPU time. Each position starts from a cleared table; clearing is
outside the timing. BitBully's table takes 96 MB, ours 64. The public sets are read from ../shared/data and left
out if they are missing.
"""

from __future__ import annotations

import csv
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.records import DATA, add_output, parser_of, save
from tictac_apps.bench.records import show
from tictac_env.arena import read_scored_positions
from tictac_env.arena.game_record import random_opening
from tictac_env.games import GAMES, KInARow
from tictac_env.position import Position
from tictac_env.progress import track
from tictac_env.solver import Solver
from tictac_env.solver.enumerate import moves_to_win

GAME = "ConnectFour-v0"
PUBLIC = ("end_easy", "middle_easy", "middle_medium")
SEED = 2026
TABLE_MB = 64

PEER = """
import sys, time
from bitbully.bitbully_core import BitBullyCore, BoardCore
solver = BitBullyCore()
for line in sys.stdin:
    board = BoardCore()
    board.setBoard([int(move) - 1 for move in line.strip()])
    solver.resetTranspositionTable()
    began = time.process_time()
    score = solver.mtdf(board, 0)
    print(score, time.process_time() - began, flush=True)
"""


def random_position(rng: random.Random, plies: int) -> Position | None:
    """A random game of a number of plies, None if it ended before or the side to move can win at once."""
    position = random_opening(GAMES[GAME], plies, rng)
    return None if position is None or any(position.play(a).is_over for a in position.legal_actions) else position


def difficulty(ply: int, score: int) -> str:
    """By how long perfect play lasts from an opening of Connect Four."""
    game = GAMES[GAME]
    left = 2 * moves_to_win(game, ply, score) - (score > 0) if score else game.cells - ply
    return "easy" if left < 14 else "medium" if left < 28 else "hard"


def opening_sets(counts: dict[str, int]) -> dict[str, list[Position]]:
    """Random games of 1 to 13 plies by difficulty; of the hard ones those of 6 and more, to be measured in minutes."""
    rng = random.Random(SEED)
    solver = Solver(GAME, 256)
    sets: dict[str, list[Position]] = {name: [] for name in counts}
    while any(len(sets[name]) < counts[name] for name in counts):
        position = random_position(rng, rng.randint(1, 13))
        if position is None:
            continue
        name = difficulty(position.ply, solver.score(position))
        if name in sets and len(sets[name]) < counts[name] and (name != "hard" or position.ply >= 6):
            sets[name].append(position)
    return sets


def time_ours(positions: Sequence[Position], **kwargs: Any) -> tuple[list[int], list[float], int]:
    """The scores, the CPU-seconds of each position, and the nodes of all."""
    solver = Solver(GAME, TABLE_MB, opening_book=False)
    solver.score(positions[0], **kwargs)
    scores, seconds, nodes = [], [], 0
    for position in positions:
        solver.clear()
        began = time.process_time()
        scores.append(solver.score(position, **kwargs))
        seconds.append(time.process_time() - began)
        nodes += solver.nodes
    return scores, seconds, nodes


def time_peer(python: str, positions: Sequence[Position]) -> tuple[list[int], list[float]]:
    """BitBully's scores and CPU-seconds."""
    lines = "".join(f"{position.to_moves()}\n" for position in positions)
    done = subprocess.run([python, "-c", PEER], input=lines, capture_output=True, text=True, check=True)
    pairs = [line.split() for line in done.stdout.splitlines()]
    return [int(score) for score, _ in pairs], [float(seconds) for _, seconds in pairs]


def compare(name: str, positions: Sequence[Position], truth: Sequence[int] | None, peer: str) -> dict[str, Any]:
    scores, ours, nodes = time_ours(positions)
    signs, weak, _ = time_ours(positions, weak=True)
    batch = Solver(GAME, TABLE_MB, opening_book=False)
    batch.score_many(positions[:1], progress=False)
    batch.clear()
    began = time.process_time()
    assert batch.score_many(positions, progress=False) == scores
    together = time.process_time() - began
    theirs_scores, theirs = time_peer(peer, positions)
    assert scores == theirs_scores, name
    assert signs == [(score > 0) - (score < 0) for score in scores], name
    assert truth is None or scores == list(truth), name
    count = len(positions)
    return {
        "set": name,
        "positions": count,
        "mean_ms": 1000 * sum(ours) / count,
        "median_ms": 1000 * statistics.median(ours),
        "sign_only_ms": 1000 * sum(weak) / count,
        "one_call_ms": 1000 * together / count,  # all in one call, the table kept
        "bitbully_ms": 1000 * sum(theirs) / count,
        "ratio": sum(ours) / sum(theirs),
        "nodes": nodes // count,
        "M_nodes_per_s": nodes / sum(ours) / 1e6,
    }


def check_sizes(data: Path, seconds: float) -> list[dict[str, Any]]:
    """Every board of the public table that fits and is solved within the limit."""
    with open(data / "outcomes_by_board_size.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = []
    for row in track(rows, "board sizes"):
        try:
            game = KInARow.make(int(row["height"]), int(row["width"]), 4)
        except ValueError:
            continue
        solver = Solver(game, 512, opening_book=False)
        bounds = solver.bounds(Position.start(game), weak=True, time_limit=seconds)
        if bounds.proven:
            outcome = {0: "Draw", 1: "1st", -1: "2nd"}[bounds.lower]
            assert outcome == row["outcome"], row
            found.append({"width": game.cols, "height": game.rows, "outcome": outcome, "seconds": bounds.seconds})
    return found


def check_random(peer: str, count: int, report: Callable[[str], None]) -> None:
    """Random positions of 12 and more plies equal BitBully's, and their mirror images."""
    rng = random.Random(SEED)
    positions: list[Position] = []
    while len(positions) < count:
        position = random_position(rng, rng.randint(12, 38))
        if position is not None:
            positions.append(position)
    scores = Solver(GAME, 256, opening_book=False).score_many(positions)
    assert scores == time_peer(peer, positions)[0]
    mirrored = Solver(GAME, 256, opening_book=False).score_many([position.symmetric()[1] for position in positions])
    assert scores == mirrored
    report(f"{count:,} random positions of 12 and more plies equal BitBully's, and their mirror images")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--peer", default=sys.executable, help="the Python that has bitbully")
    parser.add_argument("--data", type=Path, default=DATA, help="the public positions (default: ../shared/data)")
    parser.add_argument("--count", type=int, default=1000, help="the most positions of a public set")
    parser.add_argument("--random", type=int, default=2000, help="how many random positions to compare")
    parser.add_argument("--sizes", type=float, default=0, metavar="SECONDS", help="solve board sizes, so long each")
    parser.add_argument("--empty", action="store_true", help="the empty board too (BitBully takes minutes)")
    parser.add_argument("--openings", type=int, nargs=3, default=(100, 30, 6), metavar="N", help="easy, medium, hard")
    add_output(parser)
    options = parser.parse_args()
    rows, tables = [], {}
    if options.data.is_dir():
        labelled, spent = 0, 0.0
        for name in PUBLIC:
            scored = read_scored_positions(options.data / f"connect_four_{name}.csv")[: options.count]
            positions, columns = map(list, zip(*scored, strict=True))
            truth = [max(score for score in scores if score is not None) for scores in columns]
            rows.append(compare(name, positions, truth, options.peer))
            solver = Solver(GAME, TABLE_MB, opening_book=False)
            began = time.process_time()
            solutions = solver.solve_many(positions, progress=False)
            spent += time.process_time() - began
            labelled += len(positions)
            assert [solution.action_scores for solution in solutions] == columns, name
        print(f"{labelled:,} positions right in every column; labelled in {spent:.1f} CPU-s", flush=True)
        tables["labels"] = [{"positions": labelled, "cpu_seconds": spent}]
    check_random(options.peer, options.random, lambda text: print(text, flush=True))
    for name, positions in opening_sets(dict(zip(("easy", "medium", "hard"), options.openings, strict=True))).items():
        if positions:
            rows.append(compare(f"opening {name}", positions, None, options.peer))
    if options.empty:
        rows.append(compare("empty board", [Position.start(GAMES[GAME])], [1], options.peer))
    show("Exact solver, CPU time a position", rows)
    tables["speed"] = rows
    settings = {key: str(value) for key, value in vars(options).items() if key not in ("peer", "data", "output")}
    settings |= {"table_megabytes": str(TABLE_MB), "seed": str(SEED)}
    save("solver", settings, tables, options.output)
    if options.sizes:
        tables["sizes"] = check_sizes(options.data, options.sizes)
        show("Board sizes: who wins", tables["sizes"])
        save("solver", settings, tables, options.output)


if __name__ == "__main__":
    main()
