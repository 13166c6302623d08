"""Monte Carlo tree search: simulations per CPU-second, and mistakes at equal time, beside OpenSpiel's where installed.

    python benchmarks/search.py [--data FOLDER] [--budgets 1000 10ms ...] [--seeds 5] [--workers 2] [--output FOLDER]

A mistake is a move of a strictly worse win/draw/loss value than another. A budget is a number of simulations, or a CPU
time a move: then each player gets the simulations that it plays in that time, measured first, one after the other, on
100 positions of the set. A player that proves the position stops earlier. Finished runs are kept in search-runs.json,
and what is there is not run again. The sets are Pascal Pons', not part of this project; without them only speed is
measured. `pip install open-spiel` for the peer.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from report import RESULTS, Row, positive, save, show

from tictac_agents import MCTS
from tictac_env.position import Position
from tictac_env.progress import progress_bar
from tictac_env.storage import save_text

try:
    import pyspiel
except ImportError:
    pyspiel = None

GAMES = {"Connect Four": ("ConnectFour-v0", "connect_four"), "tic-tac-toe": ("TicTacToe-v0", "tic_tac_toe")}
SETS = ("middle_easy", "middle_medium", "end_easy")
DATA = Path(__file__).parents[2] / "shared" / "data"
Player = Callable[[Position, int, int], tuple[int, int]]
"""From a position, a number of simulations and a seed to the action, and how many simulations were played."""


def ours(**settings: Any) -> Player:
    def play(position: Position, simulations: int, seed: int) -> tuple[int, int]:
        found = MCTS(simulations, **settings).search(position, seed)
        return found.action, found.simulations

    return play


def open_spiel(solve: bool) -> Player:
    """OpenSpiel's C++ MCTSBot with one random game a leaf and the exploration constant of its examples, 2."""

    def play(position: Position, simulations: int, seed: int) -> tuple[int, int]:
        game = pyspiel.load_game(next(theirs for name, theirs in GAMES.values() if is_of(position, name)))
        state = game.new_initial_state()
        for action in position.moves:
            state.apply_action(action)
        evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
        root = pyspiel.MCTSBot(game, evaluator, 2.0, simulations, 4096, solve, seed, False).mcts_search(state)
        return root.best_child().action, root.explore_count

    return play


def is_of(position: Position, name: str) -> bool:
    return position.game == Position.start(name).game


PLAYERS: dict[str, Player] = {
    "ours": ours(),
    "ours, no solver": ours(solver=False),
    "ours, random games": ours(rollout="random"),
    "ours, random games, no solver": ours(rollout="random", solver=False),
}
PEERS = {"OpenSpiel": open_spiel(False), "OpenSpiel, solver": open_spiel(True)}
if pyspiel is not None:
    PLAYERS |= PEERS


def acting(**settings: Any) -> Player:
    """Ours without the explanation; for positions that are not proven within the simulations."""

    def play(position: Position, simulations: int, seed: int) -> tuple[int, int]:
        return MCTS(simulations, **settings).act(position, seed), simulations

    return play


FASTEST = {
    "ours, random games": acting(rollout="random"),
    "ours, random games, no solver": acting(rollout="random", solver=False),
} | (PEERS if pyspiel is not None else {})


def main() -> None:
    options = parse_arguments()
    speed = [row for game in GAMES for row in speeds(game, options.repeats)]
    show("Simulations per CPU-second from the empty board", speed)
    threads = [row for rollout in ("random", "rule") for row in scaling(rollout, options.repeats)]
    show("Simulations per second by the clock, Connect Four's empty board", threads)
    tables = {"speed": speed, "threads": threads}
    if options.data.is_dir():
        mistakes = mistake_table(run_all(options))
        show("Mistakes in per cent", mistakes)
        tables["mistakes"] = mistakes
    else:
        print(f"no sets of positions in {options.data}: mistakes are left out")
    settings = {"seeds": options.seeds, "budgets": options.budgets, "repeats": options.repeats}
    save("search", settings, tables, options.output)
    print(f"written to {options.output}")


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
    """One thread and two, in turn."""
    position, simulations = Position.start("ConnectFour-v0"), 400_000
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


def read_set(path: Path) -> list[tuple[Position, list[int | None]]]:
    """The positions of a set, and the sign of the exact score of each action, None where it is illegal."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = []
    for row in rows:
        scores = [row[f"column_{column}"] for column in range(1, 8)]
        values = [(int(score) > 0) - (int(score) < 0) if score else None for score in scores]
        found.append((Position.from_moves("ConnectFour-v0", row["moves"]), values))
    return found


def run_all(options: argparse.Namespace) -> dict[str, Any]:
    """The runs of every set, budget, player and seed, from the file or run now."""
    path = options.output / "search-runs.json"
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    cases = [
        (name, budget, player)
        for budget in options.budgets
        for name in options.sets
        for player in PLAYERS
        if not options.players or player in options.players
    ]
    for name, budget, player in cases:
        case = f"{name}|{budget}|{player}"
        if case not in kept:
            kept[case] = {"simulations": simulations_for(options.data, name, budget, player), "seeds": {}}
            save_text(path, json.dumps(kept, indent=1) + "\n")
    todo = [
        (case, seed)
        for case in ("|".join(case) for case in cases)
        for seed in range(options.seeds)
        if str(seed) not in kept[case]["seeds"]
    ]
    with ProcessPoolExecutor(options.workers) as pool, progress_bar(len(todo), "runs") as update:
        futures = {
            pool.submit(run, options.data, *case.split("|"), kept[case]["simulations"], seed): (case, seed)
            for case, seed in todo
        }
        try:
            for done, future in enumerate(as_completed(futures), 1):
                case, seed = futures[future]
                kept[case]["seeds"][str(seed)] = future.result()
                save_text(path, json.dumps(kept, indent=1) + "\n")
                update(done, f"{case}, seed {seed}")
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    return kept


def simulations_for(data: Path, name: str, budget: str, player: str) -> int:
    """The budget as a number of simulations: so many as the player plays in that CPU time on the mean."""
    if not budget.endswith("ms"):
        return int(budget)
    seconds = float(budget[:-2]) / 1000
    positions = [position for position, _ in read_set(data / f"connect_four_{name}.csv")[:100]]
    PLAYERS[player](positions[0], 10, 0)
    simulations = 1_000
    for _ in range(3):
        began, played = time.process_time(), 0
        for i, position in enumerate(positions[: 100 if seconds < 0.05 else 40]):
            played += PLAYERS[player](position, simulations, i)[1]
        simulations = max(1, round(played / (time.process_time() - began) * seconds))
    return simulations


def run(data: Path, name: str, budget: str, player: str, simulations: int, seed: int) -> Row:
    """One pass through a set: the numbers of the positions in which the player erred, and its CPU time a move."""
    positions = read_set(data / f"connect_four_{name}.csv")
    PLAYERS[player](positions[0][0], 10, 0)
    wrong, began = [], time.process_time()
    for number, (position, values) in enumerate(positions):
        action, _ = PLAYERS[player](position, simulations, 100_003 * seed + number)
        best = max(value for value in values if value is not None)
        if (values[action] or 0) < best:
            wrong.append(number)
    spent = (time.process_time() - began) / len(positions)
    return {"wrong": wrong, "CPU-ms": round(1000 * spent, 3), "positions": len(positions)}


def mistake_table(kept: dict[str, Any]) -> list[Row]:
    """Mistakes over the seeds, and beside the better of the two peers, position by position."""
    rows: list[Row] = []
    for case, found in kept.items():
        name, budget, player = case.split("|")
        if not found["seeds"]:
            continue
        share = wrong_share(found)
        peers = [wrong_share(kept[f"{name}|{budget}|{peer}"]) for peer in PEERS if seeds_of(kept, name, budget, peer)]
        row: dict[str, Any] = {
            "set": name,
            "budget": budget,
            "player": player,
            "simulations": found["simulations"],
            "CPU-ms": round(statistics.mean(one["CPU-ms"] for one in found["seeds"].values()), 2),
            "seeds": len(found["seeds"]),
            "mistakes %": round(100 * float(share.mean()), 2),
            "of the better OpenSpiel": "",
        }
        if peers:
            peer = min(peers, key=lambda share: float(share.mean()))
            row["of the better OpenSpiel"] = ratio_with_interval(share, peer)
        rows.append(row)
    return rows


def seeds_of(kept: dict[str, Any], name: str, budget: str, player: str) -> dict[str, Any]:
    seeds: dict[str, Any] = kept.get(f"{name}|{budget}|{player}", {}).get("seeds", {})
    return seeds


def wrong_share(found: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """For each position, the share of the seeds that erred."""
    seeds = list(found["seeds"].values())
    share = np.zeros(seeds[0]["positions"])
    for one in seeds:
        share[one["wrong"]] += 1 / len(seeds)
    return share


def ratio_with_interval(share: Any, peer: Any) -> str:
    """The ratio of the mistakes, with a 95 % interval by bootstrap over positions, each with both players' mistakes."""
    if peer.sum() == 0:
        return "both 0" if share.sum() == 0 else "theirs 0"
    draws = np.random.default_rng(0).integers(0, len(share), (2_000, len(share)))
    ratios = share[draws].sum(axis=1) / np.maximum(peer[draws].sum(axis=1), 1e-9)
    low, high = np.quantile(ratios, (0.025, 0.975))
    return f"{share.sum() / peer.sum():.2f} ({low:.2f}-{f'{high:.2f}' if high < 100 else 'inf'})"  # draws without any


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the sets (default: %(default)s)")
    parser.add_argument("--sets", nargs="+", default=SETS, help="files connect_four_<name>.csv (default: %(default)s)")
    parser.add_argument("--players", nargs="+", choices=list(PLAYERS), help="only these")
    parser.add_argument("--budgets", nargs="+", default=["1000", "1ms", "10ms"], help="(default: %(default)s)")
    parser.add_argument("--seeds", type=positive, default=5, help="(default: %(default)s)")
    parser.add_argument("--repeats", type=positive, default=5, help="measurements of speed (default: %(default)s)")
    parser.add_argument("--workers", type=positive, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
