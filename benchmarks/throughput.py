"""Plies per CPU-second of the environments, beside the peers that are installed; ratios taken in one run.

    python benchmarks/throughput.py [--seconds 1] [--repeats 5] [--boards 1024 8192] [--output FOLDER] [--only TABLE]

A ply is one move of either side. User and system time are counted, with resets and the random draw; only `threads`
goes by the clock on the wall. The cases take turns within a repeat, so that a machine that slows down slows all of
them; quote the median ratios. The tables are

    single    one environment through gym.make
    aec       the PettingZoo environments
    learning  a learner beside stepping alone
    vector    many boards at once on one thread, beside C on the same boards
    threads   two threads beside one
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym

import tictac_env  # noqa: F401  # registers the environments
from benchmarks import minimal_env
from benchmarks.peers import Run, aec_cases, open_spiel_cases
from benchmarks.report import RESULTS, Row, positive, save, show
from benchmarks.vector_peers import BUILDS, PGX, C, thread_cases, vector_cases
from tictac_agents import ValueTD

GAMES = {
    "Connect Four": ("ConnectFour-v0", minimal_env.CONNECT_FOUR),
    "tic-tac-toe": ("TicTacToe-v0", minimal_env.TIC_TAC_TOE),
}
YARDSTICK = "minimal environment"


def main() -> None:
    options = parse_arguments()
    tables: dict[str, list[Row]] = {}
    for name in options.only:
        title, table = TABLES[name]
        tables[name] = table(options)
        show(title, tables[name])
    settings = {"seconds": options.seconds, "repeats": options.repeats, "boards": options.boards}
    save("throughput", settings, tables, options.output)
    print(f"written to {options.output}")


def single(options: argparse.Namespace) -> list[Row]:
    rows: list[Row] = []
    for game, (ours, minimal) in GAMES.items():
        cases = {YARDSTICK: stepping(gym.make(minimal))}
        cases |= {"ours, opponent=None": stepping(gym.make(ours, opponent=None))}
        cases |= {"ours, opponent='random'": stepping(gym.make(ours))}
        cases |= {"ours, obs_type='board'": stepping(gym.make(ours, opponent=None, obs_type="board"))}
        cases |= open_spiel_cases(game)
        rows += measure(game, cases, dict.fromkeys(cases, YARDSTICK), options)
    return rows


def aec(options: argparse.Namespace) -> list[Row]:
    return [row for game in GAMES for row in measure(game, *aec_cases(game), options)]


def learning(options: argparse.Namespace) -> list[Row]:
    cases = {
        "random games": games_of(None),
        "S0 learning": games_of("S0"),
        "S0 learning, compiled": games_of("S0", compiled=True),
    }
    return measure("tic-tac-toe", cases, dict.fromkeys(cases, "random games"), options, "games / CPU-s")


def vector(options: argparse.Namespace) -> list[Row]:
    """Every case beside the C reference and beside pgx, where they are here."""
    rows: list[Row] = []
    for game in GAMES:
        for boards in options.boards:
            found = speeds(vector_cases(game, boards), options)
            for case, plies in found.items():
                row = {"game": game, "boards": boards, "case": case, "plies / CPU-s": round(statistics.median(plies))}
                row |= {f"times {peer}": times(plies, found[peer]) for peer in (C, PGX) if peer in found}
                rows.append(row | {"a ply builds": BUILDS[case]})
    return rows


def threads(options: argparse.Namespace) -> list[Row]:
    rows: list[Row] = []
    boards = max(options.boards)
    for game in GAMES:
        cases = thread_cases(game, boards)
        found = measure(game, cases, dict.fromkeys(cases, "threads=1"), options, "plies / s")
        rows += [{"boards": boards, **row} for row in found]
    return rows


TABLES: dict[str, tuple[str, Callable[[argparse.Namespace], list[Row]]]] = {
    "single": ("Plies per CPU-second, one environment", single),
    "aec": ("Plies per CPU-second of the PettingZoo environments", aec),
    "learning": ("Games per CPU-second of a learner, beside stepping the environment alone", learning),
    "vector": ("Plies per CPU-second, many boards at once on one thread", vector),
    "threads": ("Plies per second of wall-clock time of the vector environment", threads),
}


def speeds(cases: Mapping[str, Run], options: argparse.Namespace) -> dict[str, list[float]]:
    """Every case in turn, as often as asked for, after a warm-up."""
    found: dict[str, list[float]] = {name: [] for name in cases}
    for run in cases.values():
        run(options.seconds / 10)
    for _ in range(options.repeats):
        for name, run in cases.items():
            plies, spent = run(options.seconds)
            found[name].append(plies / spent)
    return found


def times(found: list[float], yardstick: list[float]) -> float:
    """The median of the ratios taken in the same repeat."""
    ratio = statistics.median(speed / other for speed, other in zip(found, yardstick, strict=True))
    return round(ratio, 3) if ratio >= 0.1 else float(f"{ratio:.3g}")


def measure(
    game: str,
    cases: Mapping[str, Run],
    compared: Mapping[str, str],
    options: argparse.Namespace,
    unit: str = "plies / CPU-s",
) -> list[Row]:
    """Medians of the speeds and of the ratios; `compared` says with which case each one is compared."""
    found = speeds(cases, options)
    return [
        {"game": game, "case": name, unit: round(statistics.median(mine)), "ratio": times(mine, found[compared[name]])}
        for name, mine in found.items()
    ]


def stepping(env: gym.Env[Any, Any]) -> Run:
    """Random legal play through reset and step."""

    def run(seconds: float) -> tuple[int, float]:
        draw = random.Random(0).random
        plies, began = 0, time.process_time()
        _, info = env.reset(seed=0)
        while True:
            for _ in range(200):
                legal = info["action_mask"].tobytes()
                action = int(draw() * len(legal))
                while not legal[action]:
                    action = int(draw() * len(legal))
                _, _, terminated, _, info = env.step(action)
                plies += 2 if info.get("opponent_action", -1) >= 0 else 1
                if terminated:
                    _, info = env.reset()
                    plies += info.get("opponent_action", -1) >= 0
            spent = time.process_time() - began
            if spent > seconds:
                return plies, spent

    return run


def games_of(preset: str | None, compiled: bool = False) -> Run:
    """Games of tic-tac-toe against random play, from each seat in turn: random ones, or those a ValueTD learns from.

    Those are played through reset and step, or in the compiled loop.
    """
    games_at_once = 20_000 if compiled else 200
    learner = ValueTD.preset(preset or "S0", seed=0)  # kept between runs: a run of S0's is half a million games long
    learner.block = 100  # else a short run would see one seat only
    learner.compiled = compiled
    draw = random.Random(0).random

    def run(seconds: float) -> tuple[int, float]:
        games, began = 0, time.process_time()
        while True:
            if preset:
                learner.learn(total_episodes=games_at_once, progress_bar=False)
            else:
                play_randomly(learner.env, draw, games_at_once)
            games += games_at_once
            spent = time.process_time() - began
            if spent > seconds:
                return games, spent

    return run


def play_randomly(env: gym.Env[Any, Any], draw: Callable[[], float], games: int) -> None:
    for game in range(games):
        _, info = env.reset(options={"play_as": ("first", "second")[game // 100 % 2]})
        terminated = False
        while not terminated:
            legal = info["action_mask"].tobytes()
            action = int(draw() * len(legal))
            while not legal[action]:
                action = int(draw() * len(legal))
            _, _, terminated, _, info = env.step(action)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU-seconds a measurement (default: %(default)s)")
    parser.add_argument("--repeats", type=positive, default=5, help="measurements of each case (default: %(default)s)")
    parser.add_argument(
        "--boards", type=positive, nargs="+", default=[1024, 8192], help="boards at once (default: %(default)s)"
    )
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES), help="tables to measure")
    options = parser.parse_args()
    if set(options.only) != set(TABLES) and options.output == RESULTS:
        parser.error(f"some tables only would replace a whole run in {RESULTS}; name another folder with --output")
    return options


if __name__ == "__main__":
    main()
