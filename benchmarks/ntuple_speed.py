"""How many games a second `NTupleTD` plays and learns on Connect Four, by threads, and what memory it takes.

    python benchmarks/ntuple_speed.py [--games 1000000] [--rounds 5]

Each round learns from the same games, once on every number of threads, and fails if the networks differ in a bit. The
time is that by the clock for everything: self-play, updates and averaging. Two threads write to each other's memory all
the time, so how much they bring depends on where the two cores are, and on an idle machine. Five minutes.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.report import RESULTS, Row, positive, save, show
from tictac_agents import NTupleTD

GAME, THREADS = "ConnectFour-v0", (1, 2)


def learned(games: int, tuples: int, threads: int) -> tuple[float, NTupleTD]:
    """The seconds by the clock that so many games of self-play take, and the learner then."""
    NTupleTD(GAME, tuples=tuples, threads=threads, seed=0).learn(2, progress_bar=False)  # compiled
    learner = NTupleTD(GAME, tuples=tuples, threads=threads, seed=0)
    began = time.perf_counter()
    learner.learn(games, progress_bar=False)
    return time.perf_counter() - began, learner


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=positive, default=1_000_000, help="of each run (default: %(default)s)")
    parser.add_argument("--tuples", type=positive, default=70, help="of the network (default: %(default)s)")
    parser.add_argument("--rounds", type=positive, default=5, help="how often each is done (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    seconds = defaultdict[int, list[float]](list)
    weights: list[np.ndarray] = []
    for _ in range(options.rounds):
        for threads in THREADS:
            spent, learner = learned(options.games, options.tuples, threads)
            seconds[threads].append(spent)
            weights = [*weights[:1], learner.network.weights]
            if not np.array_equal(weights[0], weights[-1]):
                raise SystemExit(f"{threads} threads learned another network than one")
    rows: list[Row] = [
        {
            "threads": threads,
            "games/s": round(options.games / median(spent)),
            "slowest": round(options.games / max(spent)),
            "fastest": round(options.games / min(spent)),
        }
        for threads, spent in seconds.items()
    ]
    show("Games of self-play that are learned a second", rows)
    peak = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    settings = {"game": GAME, "games": options.games, "tuples": options.tuples, "rounds": options.rounds}
    save("ntuple-speed", {**settings, "peak memory, MiB": peak}, {"threads": rows}, options.output)
    print(f"at most {peak:,} MiB of memory")


if __name__ == "__main__":
    main()
