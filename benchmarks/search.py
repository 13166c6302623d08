"""Monte Carlo tree search: simulations per CPU-second, and mistakes at equal time, beside OpenSpiel's where installed.

    python benchmarks/search.py [--data FOLDER] [--budgets 1000 10ms ...] [--seeds 5] [--workers 2] [--output FOLDER]

A mistake is a move of a strictly worse win/draw/loss value than another, a perfect move has the best exact score
(`tictac_env.arena.move_accuracy`). A budget is a number of simulations, or a CPU time a move: then each player gets the
simulations that it plays in that time, measured first, move by move in turn with the others, on positions of the set. A
player that proves the position stops earlier. All of it takes hours on one core, most of them at 100 ms. Finished runs
are kept in search-runs.jsonl, and what is there is not run again. The sets are Pascal Pons', not part of this project;
without them only speed is measured. `pip install open-spiel` for the peer.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import RESULTS, Row, positive, save, show
from benchmarks.run_store import RunStore, Settings
from benchmarks.searchers import FASTEST, GAMES, PEERS, PLAYERS, SETTINGS, Searcher
from tictac_agents import MCTS
from tictac_env.arena import move_accuracy, read_scored_positions
from tictac_env.cli.arguments import add_workers, chosen_workers
from tictac_env.position import Position

SETS = ("middle_easy", "middle_medium", "end_easy")
DATA = Path(__file__).parents[2] / "shared" / "data"


def main() -> None:
    options = parse_arguments()
    compiling = [row for game in GAMES for row in first_searches(game)]
    show("CPU-seconds of a process's first searches, 1,000 simulations", compiling)
    speed = [row for game in GAMES for row in speeds(game, options.repeats)]
    show("Simulations per CPU-second from the empty board", speed)
    threads = [row for rollout in ("random", "rule") for row in scaling(rollout, options.repeats)]
    show("Simulations per second by the clock, Connect Four's empty board", threads)
    tables = {"compiling": compiling, "speed": speed, "threads": threads}
    if options.data.is_dir():
        mistakes = mistake_table(run_all(options), options.data)
        show("Mistakes in per cent", mistakes)
        tables["mistakes"] = mistakes
    else:
        print(f"no sets of positions in {options.data}: mistakes are left out")
    save("search", {"repeats": options.repeats}, tables, options.output)  # each row of mistakes says its own
    print(f"written to {options.output}")


FIRST_SEARCHES = """
import sys, time
from tictac_agents import MCTS
from tictac_env.position import Position
position, spent = Position.start(sys.argv[1]), []
for seed in range(2):
    began = time.process_time()
    MCTS(1_000).act(position, seed)
    spent.append(time.process_time() - began)
print(*spent)
"""


def first_searches(game: str) -> list[Row]:
    """What the first search of a process takes, its kernels not yet compiled and compiled by an earlier process."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for cache in ("empty", "filled"):
            command = [sys.executable, "-c", FIRST_SEARCHES, GAMES[game][0]]
            environment = os.environ | {"TICTAC_CACHE_DIR": folder}
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            first, second = map(float, done.stdout.split())
            rows.append({"game": game, "cache": cache, "first": round(first, 3), "second": round(second, 5)})
    return rows


def speeds(game: str, repeats: int) -> list[Row]:
    """Every player in turn, random games only, so that all do the same; each beside the peer with the like switch.

    Nobody proves the empty board within these simulations (OpenSpiel's count says so; ours is asked).
    """
    position = Position.start(GAMES[game][0])
    rows: list[Row] = []
    for simulations in (1_000, 10_000, 100_000):
        if MCTS(simulations, rollout="random").search(position, 0).simulations < simulations:
            raise RuntimeError(f"{game} is proven in less than {simulations:,} simulations")
        found: dict[str, list[float]] = {name: [] for name in FASTEST}
        for repeat in range(repeats + 1):
            for name, play in FASTEST.items():
                began, played = time.process_time(), 0
                while time.process_time() - began < 0.1:
                    played += play(position, simulations, 1000 * repeat + played)[1]
                if repeat:  # the first one compiles
                    found[name].append(played / (time.process_time() - began))
        for name, rates in found.items():
            peer = "OpenSpiel" if name.endswith("no solver") or name == "OpenSpiel" else "OpenSpiel, solver"
            ratio = statistics.median(a / b for a, b in zip(rates, found[peer], strict=True)) if peer in found else 0.0
            median = round(statistics.median(rates))
            row = {"game": game, "player": name, "simulations": simulations, "per CPU-s": median}
            rows.append(row | {"ratio": round(ratio, 2)})
    return rows


def scaling(rollout: str, repeats: int) -> list[Row]:
    """One thread and two, in turn, long enough for the time it takes to start a thread not to count."""
    position, simulations = Position.start("ConnectFour-v0"), 1_000_000
    found: dict[int, list[float]] = {1: [], 2: []}
    for repeat in range(repeats + 1):
        for threads, rates in found.items():
            began = time.perf_counter()
            MCTS(simulations, threads=threads, rollout=rollout).search(position, repeat)
            if repeat:
                rates.append(simulations / (time.perf_counter() - began))
    ratio = statistics.median(two / one for one, two in zip(found[1], found[2], strict=True))
    return [
        {"rollout": rollout, "threads": n, "per second": round(statistics.median(rates)), "ratio": round(r, 2)}
        for (n, rates), r in zip(found.items(), (1.0, ratio), strict=True)
    ]


def run_all(options: argparse.Namespace) -> RunStore:
    """The runs of every set, budget, player and seed, those that are not in the file made now."""
    store = RunStore(options.output / "search-runs.jsonl")
    players = [player for player in PLAYERS if not options.players or player in options.players]
    for name, budget in itertools.product(options.sets, options.budgets):
        if budget.endswith("ms"):
            new = [player for player in players if measured(name, budget, player) not in store]
            for player, simulations in simulations_in(positions_file(options.data, name), budget, new).items():
                store.add(measured(name, budget, player), {"simulations": simulations})
    jobs = [
        settings_of(store, name, budget, player) | {"seed": seed}
        for seed in range(options.seeds)  # first, so that players who are compared run at the same time
        for budget in options.budgets
        for name in options.sets
        for player in players
    ]
    store.complete(jobs, functools.partial(run, options.data), chosen_workers(options))
    return store


def measured(name: str, budget: str, player: str) -> dict[str, Any]:
    """The settings of a measurement: how many simulations a player makes within a CPU time."""
    return {"measured": "simulations", "set": name, "budget": budget, "player": player, "search": SETTINGS[player]}


def settings_of(store: RunStore, name: str, budget: str, player: str) -> dict[str, Any]:
    """All that decides a pass through a set but for the seed."""
    simulations = store[measured(name, budget, player)]["simulations"] if budget.endswith("ms") else int(budget)
    settings = {"set": name, "budget": budget, "player": player}
    return settings | {"search": SETTINGS[player], "simulations": simulations}


def positions_file(data: Path, name: str) -> Path:
    return data / f"connect_four_{name}.csv"


def simulations_in(path: Path, budget: str, players: Sequence[str]) -> dict[str, int]:
    """How many simulations each player makes on the mean in a CPU time.

    The players take turns at each position, so that whatever else the machine does slows them alike.
    """
    seconds = float(budget[:-2]) / 1000
    positions = [position for position, _ in read_scored_positions(path)[: 100 if seconds < 0.05 else 40]]
    searchers = [Searcher(player, 1_000) for player in players]
    for searcher in searchers:
        searcher.act(positions[0], 0)  # may compile
    for _ in range(3):
        for searcher in searchers:
            searcher.forget()
        for i, position in enumerate(positions):
            for searcher in searchers:
                searcher.act(position, i)
        for searcher in searchers:
            searcher.simulations = max(1, round(searcher.games / searcher.seconds * seconds))
    return {searcher.player: searcher.simulations for searcher in searchers}


def run(data: Path, settings: Settings) -> Row:
    """One pass through a set: in which positions the player erred or was not perfect, and its CPU time a move."""
    path, player = positions_file(data, settings["set"]), settings["player"]
    Searcher(player, 10).act(read_scored_positions(path)[0].position, 0)  # may compile
    searcher = Searcher(player, settings["simulations"])
    found = move_accuracy(searcher, path, seed=settings["seed"])
    return {
        "wrong": np.flatnonzero(found.mistake_shares).tolist(),
        "imperfect": np.flatnonzero(found.perfect_shares < 1).tolist(),
        "CPU-ms": round(1000 * searcher.seconds / len(found.batch), 3),
        "positions": len(found.batch),
    }


Case = tuple[str, str, str]
"""Set, budget and player."""


def runs_in(store: RunStore) -> dict[Case, list[tuple[int, dict[str, Any]]]]:
    """For each case of the players as they are now, the simulations and the results of its seeds."""
    cases: dict[Case, list[tuple[int, dict[str, Any]]]] = {}
    for settings, results in store:
        if "measured" not in settings:
            case = settings["set"], settings["budget"], settings["player"]
            if settings == settings_of(store, *case) | {"seed": settings["seed"]}:
                cases.setdefault(case, []).append((settings["simulations"], results))
    return cases


def mistake_table(store: RunStore, data: Path) -> list[Row]:
    """Mistakes over the seeds, beside random's and, position by position, beside those of the better of the peers."""
    rows: list[Row] = []
    cases = runs_in(store)
    random = {
        name: move_accuracy("random", positions_file(data, name)).overall.mistakes.value
        for name in dict.fromkeys(name for name, _, _ in cases)
        if positions_file(data, name).exists()
    }
    for (name, budget, player), found in cases.items():
        seeds = [results for _, results in found]
        share, imperfect = wrong_share(seeds), wrong_share(seeds, "imperfect")
        row: dict[str, Any] = {
            "set": name,
            "budget": budget,
            "player": player,
            "simulations": found[0][0],
            "CPU-ms": round(statistics.mean(one["CPU-ms"] for one in seeds), 2),
            "seeds": len(seeds),
            "mistakes %": round(100 * float(share.mean()), 2),
            "of random's": round(float(share.mean()) / random[name], 4) if name in random else "",
            "perfect %": round(100 * float(1 - imperfect.mean()), 2),
            "of the better OpenSpiel": "",
        }
        peers = [cases[name, budget, peer] for peer in PEERS if (name, budget, peer) in cases]
        if peers:
            shares = [wrong_share([results for _, results in peer]) for peer in peers]
            row["of the better OpenSpiel"] = ratio_with_interval(share, min(shares, key=lambda one: float(one.mean())))
        rows.append(row)
    return rows


def wrong_share(seeds: Sequence[dict[str, Any]], kind: str = "wrong") -> np.ndarray[Any, np.dtype[np.float64]]:
    """For each position, the share of the seeds that erred ("wrong") or were not perfect ("imperfect")."""
    share = np.zeros(seeds[0]["positions"])
    for one in seeds:
        share[one[kind]] += 1 / len(seeds)
    return share


def ratio_with_interval(share: Any, peer: Any) -> str:
    """The ratio of the mistakes, with a 95 % interval by bootstrap over positions, each with both players' mistakes."""
    if peer.sum() == 0:
        return "both 0" if share.sum() == 0 else "theirs 0"
    draws = np.random.default_rng(0).integers(0, len(share), (2_000, len(share)))
    mine, theirs = share[draws].sum(axis=1), peer[draws].sum(axis=1)
    known = (mine > 0) | (theirs > 0)  # a draw in which nobody errs says nothing of the ratio
    low, high = np.quantile(mine[known] / np.maximum(theirs[known], 1e-9), (0.025, 0.975))
    return f"{share.sum() / peer.sum():.2f} ({low:.2f}-{f'{high:.2f}' if high < 100 else 'inf'})"  # draws without any


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the sets (default: %(default)s)")
    parser.add_argument("--sets", nargs="+", default=SETS, help="files connect_four_<name>.csv (default: %(default)s)")
    parser.add_argument("--players", nargs="+", choices=list(PLAYERS), help="only these")
    parser.add_argument("--budgets", nargs="+", default=["1000", "1ms", "10ms", "100ms"], help="(default: %(default)s)")
    parser.add_argument("--seeds", type=positive, default=5, help="(default: %(default)s)")
    parser.add_argument("--repeats", type=positive, default=5, help="measurements of speed (default: %(default)s)")
    add_workers(parser, 2)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
