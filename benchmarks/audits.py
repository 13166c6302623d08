"""Players by name, judged on the reporting suite of Connect Four: mistakes by phase, regret, resistance.

    python benchmarks/audits.py                              # the players of the table on the page; minutes
    python benchmarks/audits.py --players mcts:200 level:3   # others, which the record keeps too

Each is an `audit` without the verdict. Finished audits are kept, so a run that was stopped goes on where it was; with
another suite, sample or seed it is another run.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.report import RESULTS, positive, save, show
from benchmarks.run_store import RunStore, Settings
from tictac_env.arena import Audit, audit, suite
from tictac_env.cli.arguments import add_workers, chosen_workers

GAME, SUITE, SAMPLE, SEED = "ConnectFour-v0", "C4-Exact-v1", 150, 0
PLAYERS = (
    *("random", "rule", "minimax:2", "minimax:4", "minimax:8"),
    *("mcts:40", "mcts:100", "mcts:300", "mcts:1000", "mcts:4000"),
)


def job(player: str, sample: int) -> Settings:
    """What tells a run from all others."""
    return {"player": player, "suite": SUITE, "sha256": suite(SUITE).sha256, "sample": sample, "seed": SEED}


def judge(settings: Settings) -> dict[str, Any]:
    """The audit of a player, as JSON has it."""
    found = audit(
        settings["player"], GAME, SUITE, settings["sample"], exact=False, seed=settings["seed"], progress=False
    )
    content: dict[str, Any] = json.loads(found.to_json())
    return content


def row(results: dict[str, Any]) -> dict[str, Any]:
    """A player's row of the table."""
    found = Audit.from_json(json.dumps(results))
    mistakes = found.measure("mistakes")
    values = {"mistakes": mistakes.value, "low": mistakes.low, "high": mistakes.high}
    values |= {phase: found.measure("mistakes", phase).value for phase in ("opening", "middle", "end")}
    others = ("regret", "perfect", "wins", "speed", "resistance")
    values |= {name: found.measure(name).value for name in others}
    return {"player": found.player["name"]} | {name: round(value or 0, 5) for name, value in values.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--players", nargs="+", default=PLAYERS, help="names of policies")
    parser.add_argument("--sample", type=positive, default=SAMPLE, help="positions to play on (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    add_workers(parser)
    options = parser.parse_args()
    store = RunStore(options.output / "audits-runs.jsonl")
    jobs = [job(player, options.sample) for player in options.players]
    store.complete(jobs, judge, chosen_workers(options), "audits")
    rows = [row(store[settings]) for settings in jobs]
    show("Players on Connect Four", rows)
    if tuple(options.players) == PLAYERS or options.output != RESULTS:
        save("audits", {"suite": SUITE, "sample": options.sample, "seed": SEED}, {"players": rows}, options.output)


if __name__ == "__main__":
    main()
