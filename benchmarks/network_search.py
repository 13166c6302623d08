"""Tree search on Connect Four with the shipped network's values or with rollouts, at equal CPU time a move.

    python benchmarks/network_search.py                 # about ten minutes on one core

How many simulations a player makes in a CPU time is measured first, move by move in turn, on positions of the choosing
suite. There the network's exploration constant was chosen too, of 0.15, 0.3, 0.6 and 1. The reported mistakes are on
other positions: the reporting suite by phase, and, where it is there, the set middle_medium over several seeds.
"""

from __future__ import annotations

import argparse
import functools
import json
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.learned_connect_four import CHOOSE, GAME, PHASES, REPORT
from benchmarks.learned_runs import DATA
from benchmarks.report import RESULTS, positive, save, show
from benchmarks.run_store import RunStore, Settings
from tictac_agents import MCTS, LineNetwork
from tictac_env.arena import move_accuracy
from tictac_env.arena.suites.suite import suite

SET = "middle_medium"
PLAYERS: dict[str, dict[str, Any]] = {"rollouts": {"exploration": 1.0}, "network": {"exploration": 0.15}}
BUDGETS = (1, 3, 10)
"""Milliseconds of CPU time a move."""
SAMPLE = 60
"""On how many positions speeds are measured."""


def searcher(player: str, simulations: int) -> MCTS:
    """A player with a number of simulations."""
    evaluator = LineNetwork.shipped(GAME) if player == "network" else None
    return MCTS(simulations, evaluator=evaluator, **PLAYERS[player])


def simulations_a_ms() -> dict[str, float]:
    """How many simulations each player makes in a millisecond of CPU time, on the mean over positions."""
    positions = [position for position, _ in suite(CHOOSE)]
    chosen = positions[:: len(positions) // SAMPLE]
    made, seconds = dict.fromkeys(PLAYERS, 0), dict.fromkeys(PLAYERS, 0.0)
    for turn in range(2):  # the first turn compiles
        for position in chosen:
            for player in PLAYERS:
                agent = searcher(player, 4_000)
                began = time.process_time()
                found = agent.search(position, 0)
                if turn:
                    seconds[player] += time.process_time() - began
                    made[player] += found.simulations
    return {player: made[player] / seconds[player] / 1000 for player in PLAYERS}


def job(player: str, budget: int, speeds: Mapping[str, float], seeds: int) -> Settings:
    """All that decides a run."""
    simulations = round(budget * speeds[player])
    settings = {"player": player, "search": PLAYERS[player], "ms": budget, "simulations": simulations, "seeds": seeds}
    found: Settings = json.loads(json.dumps(settings))
    return found


def run(settings: Settings, data: Path) -> dict[str, Any]:
    """Mistakes in per cent."""
    player = searcher(settings["player"], settings["simulations"])
    accuracy = move_accuracy(player, REPORT)
    found: dict[str, Any] = {REPORT: round(100 * accuracy.overall.mistakes.value, 2)}
    found |= {phase: round(100 * one.mistakes.value, 2) for phase, one in accuracy.by_phase.items()}
    path = data / f"connect_four_{SET}.csv"
    if path.exists():
        each = [
            100 * move_accuracy(player, path, seed=seed).overall.mistakes.value for seed in range(settings["seeds"])
        ]
        found |= {SET: round(mean(each), 2), "least": round(min(each), 2), "most": round(max(each), 2)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", nargs="+", type=positive, default=BUDGETS, help="ms a move (default: %(default)s)")
    parser.add_argument("--seeds", type=positive, default=3, help=f"passes of {SET} (default: %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the set (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    store = RunStore(options.output / "network-search-runs.jsonl")
    measured: Settings = {"measured": "simulations a ms", "players": json.loads(json.dumps(PLAYERS))}
    if measured not in store:
        store.add(measured, simulations_a_ms())
    jobs = [job(player, budget, store[measured], options.seeds) for budget in options.budgets for player in PLAYERS]
    store.complete(jobs, functools.partial(run, data=options.data))
    columns = (REPORT, *PHASES, SET, "least", "most")
    rows = [
        {"ms a move": settings["ms"], "leaves": settings["player"], "simulations": settings["simulations"]}
        | {name: store[settings][name] for name in columns if name in store[settings]}
        for settings in jobs
    ]
    show("Mistakes in per cent", rows)
    save("network-search", {"seeds": options.seeds}, {"mistakes": rows}, options.output)


if __name__ == "__main__":
    main()
