"""Deep agents while they learn, over seeds: strength against CPU seconds, on tic-tac-toe or on Connect Four.

    python benchmarks/learning.py                             # tic-tac-toe: 5 seeds, about 20 minutes on one core
    python benchmarks/learning.py DQN --seeds 3               # some agents
    python benchmarks/learning.py --game ConnectFour-v0       # 3 seeds, about 35 minutes

What a run is, and what is measured, `learned_tic_tac_toe.py` and `learned_connect_four.py` say. Every finished run is
kept in learning-runs.jsonl or connect-four-runs.jsonl, and what is there is not run again. Seconds are those of the
process on one thread of torch, without the judging.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks import learned_connect_four, learned_tic_tac_toe
from benchmarks.learned_runs import add_options, complete, publish, runs_in

LEARNED: dict[str, Any] = {
    learned_tic_tac_toe.GAME: learned_tic_tac_toe,
    learned_connect_four.GAME: learned_connect_four,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", choices=list(LEARNED), default="TicTacToe-v0", help="(default: %(default)s)")
    add_options(parser, names(), "5, on Connect Four 3")
    options = parser.parse_args()
    learned = LEARNED[options.game]
    if unknown := set(options.rows) - set(learned.ROWS):
        parser.error(f"unknown rows: {', '.join(unknown)}; there are {names()}")
    seeds = range(options.seeds or learned.SEEDS)
    jobs = [learned.settings_of(name, seed) for name in options.rows or learned.ROWS for seed in seeds]
    store = complete(learned, jobs, options)
    publish(learned, runs_in(store, learned), {"torch threads": 1}, options.output)


def names() -> str:
    """The rows of each game."""
    return "; ".join(f"{', '.join(learned.ROWS)} ({game})" for game, learned in LEARNED.items())


if __name__ == "__main__":
    main()
