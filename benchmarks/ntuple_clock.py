"""How long whole runs of `learned_ntuple.py` take by the clock on two threads, and what they have learned then.

    python benchmarks/ntuple_clock.py [ROW ...] [--seeds 1] [--threads 2]

That benchmark counts CPU seconds of one thread, as its runs take hours. This one has a person's view of a few: the time
from a new learner to a network, by the clock, and the exact shares of its games as first player against perfect play.
The networks are those of the same seeds there. A quarter of an hour on an idle machine; on a busy one it says little.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.learned_ntuple import GAME, POSITIONS, ROWS, against
from benchmarks.report import RESULTS, Row, positive, save, show
from tictac_agents import NTupleTD
from tictac_env.policies import make_policy

THREADS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"some of {', '.join(ROWS)} (default: all)")
    parser.add_argument("--seeds", type=positive, default=1, help="runs of each row (default: %(default)s)")
    parser.add_argument("--threads", type=positive, default=THREADS, help="(default: %(default)s)")
    parser.add_argument("--games", type=positive, help="games of each run (default: those of the row)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    if unknown := set(options.rows) - set(ROWS):
        parser.error(f"unknown rows: {', '.join(unknown)}; there are {', '.join(ROWS)}")
    perfect = make_policy("perfect", GAME)
    rows: list[Row] = []
    for name in options.rows or ROWS:
        most, settings, _ = ROWS[name]
        games = options.games or most
        NTupleTD(GAME, **settings, threads=options.threads, seed=0).learn(2, progress_bar=False)  # compiled
        for seed in range(options.seeds):
            began = time.perf_counter()
            agent = NTupleTD(GAME, **settings, threads=options.threads, seed=seed).learn(games, progress_bar=False)
            network = agent.network
            seconds = time.perf_counter() - began
            shares = against(network, perfect, 0, POSITIONS["perfect"])
            ends = {f"{end}, %": round(shares[end], 2) for end in ("won", "drawn", "lost")}
            speed = {"seconds": round(seconds, 1), "games/s": round(games / seconds)}
            rows.append({"run": name, "seed": seed, "tuples": settings["tuples"], "games": games, **speed, **ends})
            show("Whole runs by the clock", rows)
    save("ntuple-clock", {"game": GAME, "threads": options.threads}, {"runs": rows}, options.output)


if __name__ == "__main__":
    main()
