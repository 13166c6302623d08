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
import functools
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks import learned_connect_four, learned_tic_tac_toe
from benchmarks.learning_curves import draw
from benchmarks.report import RESULTS, positive, save, show
from benchmarks.run_store import RunStore

LEARNED: dict[str, Any] = {
    learned_tic_tac_toe.GAME: learned_tic_tac_toe,
    learned_connect_four.GAME: learned_connect_four,
}
DATA = Path(__file__).parents[2] / "shared" / "data"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", default=[], metavar="ROW", help=f"some of {names()}")
    parser.add_argument("--game", choices=list(LEARNED), default="TicTacToe-v0", help="(default: %(default)s)")
    parser.add_argument("--seeds", type=positive, help="runs of each row (default: 5, on Connect Four 3)")
    parser.add_argument("--workers", type=positive, default=1, help="processes (default: %(default)s)")
    parser.add_argument("--fresh", action="store_true", help="run again what is there")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of sets to judge on (default: %(default)s)")
    parser.add_argument("--models", type=Path, default=Path("models"), help="folder for them (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    learned = LEARNED[options.game]
    if unknown := set(options.rows) - set(learned.ROWS):
        parser.error(f"unknown rows: {', '.join(unknown)}; there are {names()}")
    store = RunStore(options.output / f"{learned.NAME}-runs.jsonl")
    seeds = range(options.seeds or learned.SEEDS)
    jobs = [learned.settings_of(name, seed) for name in options.rows or learned.ROWS for seed in seeds]
    if options.fresh:
        store.remove(jobs)
    work = functools.partial(learned.run, data=options.data, models=options.models)
    store.complete(jobs, work, options.workers)
    publish(learned, runs_in(store, learned), options.output)


def names() -> str:
    """The rows of each game."""
    return "; ".join(f"{', '.join(learned.ROWS)} ({game})" for game, learned in LEARNED.items())


def runs_in(store: RunStore, learned: Any) -> list[dict[str, Any]]:
    """The runs of the rows as they are now, in their order."""
    found = [
        {"agent": settings["agent"], "seed": settings["seed"], **results}
        for settings, results in store
        if settings["agent"] in learned.ROWS and settings == learned.settings_of(settings["agent"], settings["seed"])
    ]
    return sorted(found, key=lambda run: (list(learned.ROWS).index(run["agent"]), run["seed"]))


def publish(learned: Any, runs: list[dict[str, Any]], folder: Path) -> None:
    """Writes and prints the tables, and draws the curves."""
    tables = learned.tables(runs)
    save(learned.NAME, {"game": learned.GAME, "torch threads": 1}, tables, folder)
    show(f"Deep agents on {learned.GAME}", tables["summary"])
    if panels := learned.panels(runs):
        draw(panels, folder / f"{learned.NAME}.png")


if __name__ == "__main__":
    main()
