"""What the benchmarks of learners share: their options, the runs that are kept, the tables and the curves.

A learner's module has NAME (of its files), GAME, TITLE, SEEDS, ROWS, and the functions `settings_of`, `run`, `tables`
and `panels`; `learned_connect_four.py` is one.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.learning_curves import draw
from benchmarks.report import RESULTS, positive, save, show
from benchmarks.run_store import RunStore, Settings
from tictac_env.cli.arguments import add_workers, chosen_workers

DATA = Path(__file__).parents[2] / "shared" / "data"


def add_options(parser: argparse.ArgumentParser, rows: str, seeds: str) -> None:
    """Adds the options that all have.

    Args:
        parser: the parser.
        rows: says which rows there are.
        seeds: says how many seeds each has by default.
    """
    parser.add_argument("rows", nargs="*", default=[], metavar="ROW", help=f"some of {rows}")
    parser.add_argument("--seeds", type=positive, help=f"runs of each row (default: {seeds})")
    add_workers(parser)
    parser.add_argument("--fresh", action="store_true", help="run again what is there")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of sets to judge on (default: %(default)s)")
    parser.add_argument(
        "--models", type=Path, default=Path("models"), help="folder to save them in (default: %(default)s)"
    )
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")


def complete(learned: Any, jobs: Iterable[Settings], options: argparse.Namespace) -> RunStore:
    """Makes those runs that are not there yet."""
    jobs, store = list(jobs), RunStore(options.output / f"{learned.NAME}-runs.jsonl")
    if options.fresh:
        store.remove(jobs)
    run = functools.partial(learned.run, data=options.data, models=options.models)
    store.complete(jobs, run, chosen_workers(options))
    return store


def runs_in(store: RunStore, learned: Any, **changes: Any) -> list[dict[str, Any]]:
    """The runs of the rows as they are now, or with changes that `settings_of` knows, in their order."""

    def is_asked_for(settings: Settings) -> bool:
        agent, seed = settings["agent"], settings["seed"]
        return agent in learned.ROWS and settings == learned.settings_of(agent, seed, **changes)

    found = [
        {"agent": settings["agent"], "seed": settings["seed"], **results}
        for settings, results in store
        if is_asked_for(settings)
    ]
    return sorted(found, key=lambda run: (list(learned.ROWS).index(run["agent"]), run["seed"]))


def publish(learned: Any, runs: list[dict[str, Any]], settings: dict[str, Any], folder: Path) -> None:
    """Writes and prints the tables, and draws the curves."""
    tables = learned.tables(runs)
    save(learned.NAME, {"game": learned.GAME, **settings}, tables, folder)
    show(f"{learned.TITLE} on {learned.GAME}", tables["summary"])
    if panels := learned.panels(runs):
        draw(panels, folder / f"{learned.NAME}.png")
