"""What each technique of the exact solver brings: the same positions without it, one at a time.

    python benchmarks/ablation.py --positions 200

Each row is a process of its own with a cache of its own, in which one part of the search is replaced before it is
compiled. Node counts are exact and repeatable, CPU times are of this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.report import RESULTS, positive, save, show
from benchmarks.solver import DATA, GAME, TABLE_MB, opening_sets, public_set
from tictac_env.position import Position

VARIANTS = {
    "everything": "",
    "quick wins not looked for first": "windows.FORCED_PLIES = (1000,)",
    "forced replies not played out": """
@kernel
def play_forced(game, own, opp, own_wins, opp_wins):
    moves = game.playable(own, opp)
    threats = moves & opp_wins
    if threats:
        moves = 0 if threats & threats - 1 else threats
    return 1, own, opp, own_wins, opp_wins, moves ^ moves & game.beneath(opp_wins)
connect_k.play_forced = play_forced
""",
    "no follow-up bound": """
@kernel
def follow_up_bound(game, own, opp, opp_wins):
    return knowledge.UNKNOWN
knowledge.follow_up_bound = follow_up_bound
""",
    "columns from left to right": "engine.columns_of = lambda game, number: numpy.sort(columns_of(game, number))",
    "no mirrored keys": "connect_k.MIRRORED_PLIES = -1",
    "no prefetching": """
@kernel
def fetch(table, code, tag_bits):
    pass
connect_k.fetch = fetch
""",
    "whole table from the start": "table.SMALLEST = 99",
}

SCRIPT = """
import json, sys, time
import numpy
from tictac_env.compiled import kernel
from tictac_env.position import Position
from tictac_env.solver import connect_k, engine, knowledge, table, windows
columns_of = engine.columns_of
{patch}
from tictac_env.solver import Solver
solver = Solver({game!r}, {megabytes}, opening_book=False)
rows = []
for number, moves in enumerate(["4453", *json.load(sys.stdin)]):
    position = Position.from_moves({game!r}, moves)
    solver.clear()
    began = time.process_time()
    if number == 0:
        solver.bounds(position, node_limit=1000)  # compiled
        continue
    score = solver.score(position)
    rows.append((score, solver.nodes, time.process_time() - began))
print(json.dumps(rows))
"""


def run(patch: str, positions: list[Position]) -> list[tuple[int, int, float]]:
    """Score, nodes and CPU-seconds of each position."""
    with tempfile.TemporaryDirectory() as cache:
        script = Path(cache) / "variant.py"  # a file, as only functions in files are cached
        script.write_text(SCRIPT.format(patch=patch, game=GAME, megabytes=TABLE_MB), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(script)],
            input=json.dumps([position.to_moves() for position in positions]),
            env={**os.environ, "TICTAC_CACHE_DIR": cache},
            capture_output=True,
            text=True,
            check=True,
        )
    return [tuple(row) for row in json.loads(done.stdout)]  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--positions", type=positive, default=300, help="of middle_medium (default: %(default)s)")
    parser.add_argument("--openings", type=int, nargs=2, default=(50, 10), metavar="N", help="easy and medium ones")
    parser.add_argument("--data", type=Path, default=DATA, help="the public positions (default: ../shared/data)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    sets = {"middle_medium": public_set("middle_medium", options.data, options.positions)[0]}
    openings = opening_sets(dict(zip(("easy", "medium"), options.openings, strict=True)))
    sets.update({f"opening {name}": positions for name, positions in openings.items()})
    everything = [position for positions in sets.values() for position in positions]
    rows = []
    scores: list[int] = []
    for name, patch in VARIANTS.items():
        found = run(patch, everything)
        scores = scores or [score for score, _, _ in found]
        assert [score for score, _, _ in found] == scores, name
        row: dict[str, str | float] = {"technique": name}
        for title, positions in sets.items():
            part, found = found[: len(positions)], found[len(positions) :]
            row[f"{title}, nodes"] = sum(nodes for _, nodes, _ in part) // len(part)
            row[f"{title}, ms"] = 1000 * sum(seconds for _, _, seconds in part) / len(part)
        rows.append(row)
    show("Without one technique at a time", rows)
    settings = {"positions": options.positions, "openings": str(options.openings), "table_megabytes": TABLE_MB}
    save("solver-ablation", settings, {"techniques": rows}, options.output)


if __name__ == "__main__":
    main()
