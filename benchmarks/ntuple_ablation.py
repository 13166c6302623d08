"""What each choice of `NTupleTD` brings on Connect Four: one seed, the same number of games, one change at a time.

    python benchmarks/ntuple_ablation.py                       # about 40 minutes on one core
    python benchmarks/ntuple_ablation.py "trace 0" --games 100000

A run and its points are those of `learned_ntuple.py`. Speed and resistance say how soon a network wins what is won, and
how long it holds what is lost, against perfect play (`tictac_env.arena.resistance`). Finished runs are kept in
ntuple-ablation-runs.jsonl.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.learned_ntuple import CHOSEN, ENDS, GAME, LATE, POSITIONS, SUITE, last_fifth, learned
from benchmarks.report import RESULTS, positive, save, show
from benchmarks.run_store import RunStore, Settings
from tictac_env.arena import resistance
from tictac_env.cli.arguments import add_workers, chosen_workers

NAME = "ntuple-ablation"
GAMES = 1_000_000
ROWS: dict[str, dict[str, Any]] = {
    "the defaults": {},
    "35 tuples": {"tuples": 35},
    "150 tuples": {"tuples": 150},
    "tuples of 6 cells": {"length": 6},
    "trace 0": {"trace": 0.0},
    "trace 0.9": {"trace": 0.9},
    "epsilon 0.01": {"epsilon": 0.01},
    "epsilon 0.1": {"epsilon": 0.1},
    "one side errs in 0.3 of the games": {"erring": 0.3},
    "no margin": {"margin": 0.0},
    "no discount": {"discount": 1.0},
    "squared error": {"logistic": False},
    "temporal coherence": {"coherence": True},
    "not averaged": {"averaging": 0.0},
    "no rule in self-play": {"rule": False},
    "no symmetry": {"symmetric": False},
    "step to 0.03": {"final_step": 0.03},
    "constant step 0.2": {"step": 0.2, "final_step": 0.2},
}
"""What differs from the defaults: 70 tuples of 8 cells, trace 0.7, discount 0.995, epsilon 0.04, margin 0.05, a step
from 0.25 to 0.08, the last two fifths averaged."""


def settings_of(row: str, games: int, positions: int | None, seed: int) -> Settings:
    """All that decides a run of a row."""
    most = POSITIONS["perfect"]
    limits = {"perfect": min(positions or most, most)}
    return {"game": GAME, "games": games, "settings": CHOSEN | ROWS[row], "seed": seed, "positions": limits}


def run(settings: Settings) -> dict[str, Any]:
    """Trains one network, and judges it at the points; and at the end, how it plays won and lost positions."""
    learner, points = learned(settings, LATE)
    found = resistance(learner.network, SUITE).overall
    return {"curve": points, "speed": found.speed.value, "resistance": found.resistance.value}


def table(store: RunStore, jobs: dict[str, Settings]) -> list[dict[str, Any]]:
    """A line for each row that was run: the games as first player against perfect play, and the cost."""
    lines = []
    for name, job in jobs.items():
        if job in store:
            points = store[job]["curve"]
            end = points[-1]
            line: dict[str, Any] = {"learner": name}
            line |= {f"{what}, last fifth, %": f"{last_fifth(points, what):.2f}" for what in ENDS}
            line |= {f"{what}, end, %": f"{end['perfect, first'][what]:.2f}" for what in ENDS}
            line |= {f"{name}, %": f"{100 * store[job][name]:.1f}" for name in ("speed", "resistance")}
            line |= {"CPU-s": round(end["CPU-s"]), "games per CPU-s": round(end["games"] / end["CPU-s"], -2)}
            lines.append(line)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", default=[], metavar="ROW", help=f"some of {', '.join(ROWS)}")
    parser.add_argument("--games", type=positive, default=GAMES, help="of each run (default: %(default)s)")
    parser.add_argument("--positions", type=positive, help="that a result is made of at most (default: many)")
    parser.add_argument("--seed", type=int, default=0, help="(default: %(default)s)")
    add_workers(parser)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    if unknown := set(options.rows) - set(ROWS):
        parser.error(f"unknown rows: {', '.join(unknown)}; there are {', '.join(ROWS)}")
    jobs = {name: settings_of(name, options.games, options.positions, options.seed) for name in ROWS}
    store = RunStore(options.output / f"{NAME}-runs.jsonl")
    store.complete([jobs[name] for name in options.rows or ROWS], run, chosen_workers(options))
    rows = table(store, jobs)
    show("As first player against perfect play, one change at a time", rows)
    save(
        NAME, {"game": GAME, "games": options.games, "seed": options.seed, "threads": 1}, {"rows": rows}, options.output
    )


if __name__ == "__main__":
    main()
