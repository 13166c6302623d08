"""Plies per CPU-second of the environments, beside the peers that are installed; ratios taken in one run.

    python benchmarks/throughput.py [--seconds 1] [--repeats 5] [--output FOLDER]

A ply is one move of either side. User and system time are counted, with resets and the random draw. The cases take
turns within a repeat, so that a machine that slows down slows all of them; quote the median ratios.
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
import minimal_env
from peers import Run, aec_cases
from report import RESULTS, Row, positive, save, show

import tictac_env  # noqa: F401  # registers the environments
from tictac_agents import ValueTD

GAMES = {
    "Connect Four": ("ConnectFour-v0", minimal_env.CONNECT_FOUR),
    "tic-tac-toe": ("TicTacToe-v0", minimal_env.TIC_TAC_TOE),
}
YARDSTICK = "minimal environment"


def main() -> None:
    options = parse_arguments()
    rows: list[Row] = []
    turns: list[Row] = []
    for game, (ours, minimal) in GAMES.items():
        cases = {YARDSTICK: stepping(gym.make(minimal))}
        cases |= {"ours, opponent=None": stepping(gym.make(ours, opponent=None))}
        cases |= {"ours, opponent='random'": stepping(gym.make(ours))}
        cases |= {"ours, obs_type='board'": stepping(gym.make(ours, opponent=None, obs_type="board"))}
        rows += measure(game, cases, dict.fromkeys(cases, YARDSTICK), options.seconds, options.repeats)
        turns += measure(game, *aec_cases(game), options.seconds, options.repeats)
    show("Plies per CPU-second through gym.make, one environment", rows)
    show("Plies per CPU-second of the PettingZoo environments", turns)
    cases = {"random games": games_of(None), "S0 learning": games_of("S0")}
    learning = measure(
        "tic-tac-toe", cases, dict.fromkeys(cases, "random games"), options.seconds, options.repeats, "games"
    )
    show("Games per CPU-second of a learner, beside stepping the environment alone", learning)
    settings = {"seconds": options.seconds, "repeats": options.repeats}
    save("throughput", settings, {"single": rows, "aec": turns, "learning": learning}, options.output)
    print(f"written to {options.output}")


def measure(
    game: str, cases: Mapping[str, Run], compared: Mapping[str, str], seconds: float, repeats: int, unit: str = "plies"
) -> list[Row]:
    """Every case in turn, `repeats` times after a warm-up; medians of the speeds and of the ratios.

    `compared` says with which case each one is compared.
    """
    speeds: dict[str, list[float]] = {name: [] for name in cases}
    for run in cases.values():
        run(seconds / 10)
    for _ in range(repeats):
        for name, run in cases.items():
            plies, spent = run(seconds)
            speeds[name].append(plies / spent)
    rows: list[Row] = []
    for name, found in speeds.items():
        ratios = [speed / yardstick for speed, yardstick in zip(found, speeds[compared[name]], strict=True)]
        median, ratio = statistics.median(found), statistics.median(ratios)
        rows.append({"game": game, "case": name, f"{unit} / CPU-s": round(median), "ratio": round(ratio, 3)})
    return rows


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


def games_of(preset: str | None) -> Run:
    """Games of tic-tac-toe against random play, from each seat in turn: random ones, or those a ValueTD learns from."""
    learner = ValueTD.preset(preset or "S0", seed=0)  # kept between runs: a run of S0's is half a million games long
    learner.block = 100  # else a short run would see one seat only
    draw = random.Random(0).random

    def run(seconds: float) -> tuple[int, float]:
        games, began = 0, time.process_time()
        while True:
            if preset:
                learner.learn(total_episodes=200, progress_bar=False)
            else:
                play_randomly(learner.env, draw, 200)
            games += 200
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
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
