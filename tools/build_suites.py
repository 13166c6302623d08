"""Makes the suites of Connect Four: C4-Exact-v1, to report on, and C4-Choose-v1, to choose by.

    python tools/build_suites.py              # makes what is missing
    python tools/build_suites.py --check      # makes both again from their seeds and compares; changes nothing

Stopped at any moment (Ctrl-C, a kill, a power cut) it goes on where it was: the scores are kept in `--folder` as they
are found. A suite that is there is never overwritten, as results refer to it by its name: a better one gets a new name.
The table of what is in them goes to benchmarks/results.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.report import RESULTS, save, show
from tictac_env.arena.suite_making import Games, make_suite
from tictac_env.arena.suites import FOLDER, PHASES, Suite, suite
from tictac_env.cli.arguments import add_workers, chosen_workers
from tictac_env.jobs import Workers, joined

GAME = "ConnectFour-v0"
SOURCES = (
    Games("random", random_plies=0),
    Games("rule"),
    Games("minimax:4"),
    Games("mcts:100"),
    Games("rule", "mcts:100"),
)
"""Beginners, players that see one move ahead, players that see four, players that search; and unequal games."""
RECIPES = {"C4-Exact-v1": (9_000, 2026), "C4-Choose-v1": (3_000, 2027)}
"""How many positions, and the seed. Each has no position in common with those before it."""


def build(name: str, before: list[Suite], cache: Path, workers: Workers) -> Suite:
    count, seed = RECIPES[name]
    with joined(workers):
        return make_suite(name, SOURCES, count, seed, GAME, exclude=before, cache=cache, progress=True, workers=workers)


def rows(found: Suite) -> list[dict[str, Any]]:
    """What is in a suite, phase by phase."""
    out = []
    for number, phase in enumerate(PHASES):
        among = found.phases == number
        best = found.scores[among].max(axis=1)
        values = Counter((best > 0).astype(int) - (best < 0))
        sources = {source: counts[phase] for source, counts in found.about.get("sources", {}).items()}
        out.append(
            {
                "suite": found.name,
                "phase": phase,
                "plies": f"{found.plies[among].min()}-{found.plies[among].max()}",
                "positions": int(among.sum()),
                "won": values[1],
                "drawn": values[0],
                "lost": values[-1],
                "from": ", ".join(f"{source} {count}" for source, count in sources.items()) or "all positions",
            }
        )
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="make them again and compare with those that are there")
    parser.add_argument("--folder", type=Path, default=RESULTS / "suites", help="where the scores are kept")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where the suites go (default: into the package)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the table (default: %(default)s)")
    add_workers(parser)
    options = parser.parse_args()
    workers = chosen_workers(options)
    options.folder.mkdir(parents=True, exist_ok=True)
    made: list[Suite] = []
    for name in RECIPES:
        path = options.out / f"{name}.npz"
        began = time.process_time()
        if options.check or not path.is_file():
            made.append(build(name, made, options.folder / "scores.sqlite", workers))
            print(f"{made[-1]}; {time.process_time() - began:.0f} CPU-s", flush=True)
            if not options.check:
                made[-1].save(path)
                print(f"{path}: {path.stat().st_size:,} bytes, sha256 {made[-1].sha256}", flush=True)
            elif made[-1].sha256 != Suite.load(path).sha256:
                raise SystemExit(f"{path} is not what its seed gives")
        else:
            made.append(Suite.load(path))
    if not options.check:
        table = [row for found in [*made, suite("TTT-Exact-v1")] for row in rows(found)]
        show("Suites", table)
        save("suites", {"game": GAME, "recipes": str(RECIPES)}, {"phases": table}, options.output)


if __name__ == "__main__":
    main()
