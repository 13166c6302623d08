"""Measures the ladder `level:1` to `level:10`: each level against the one below, and exactly where that is possible.

    python tools/calibrate_levels.py [--games 1000] [--seed 0] [--workers 1] [--output FOLDER]

The settings are in `tictac_env/policies/levels.py`. On Connect Four each level is to score 60 to 80 % against the one
below; the script names the others, by the bounds of the 95 % interval. On tic-tac-toe exploitability is to fall to 0. A
level's results are kept in levels-runs.jsonl as long as its setting and that of the level below stay.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from typing import Any

from benchmarks.exact_results import described
from benchmarks.records import add_output, parser_of, positive, save
from tictac_apps.bench.records import Row, RunSettings, RunStore, show
from tictac_apps.cli.arguments import add_workers, chosen_workers
from tictac_env.arena import play_match, verdict
from tictac_env.games import get_game
from tictac_env.policies import make_policy
from tictac_env.policies.pool import level_settings
from tictac_env.position import Position
from tictac_env.rng import position_seed

LOWEST, HIGHEST = 0.6, 0.8
"""The score of a level against the one below."""


def main() -> None:
    options = parse_arguments()
    store = RunStore(options.output / "levels-runs.jsonl")
    jobs = [job("ConnectFour-v0", number, options.games, options.seed) for number in numbers("ConnectFour-v0")]
    store.complete(jobs, match_row, chosen_workers(options), "levels of Connect Four")
    tables: dict[str, list[Row]] = {
        "tic-tac-toe": [exact_row(number) for number in numbers("TicTacToe-v0")],
        "connect-four": [store[settings] for settings in jobs],
    }
    show("Tic-tac-toe: exact exploitability", tables["tic-tac-toe"])
    show("Connect Four: each level against the one below, 95 % intervals", tables["connect-four"])
    save("levels", {"games": options.games, "seed": options.seed}, tables, options.output)
    print(f"written to {options.output}")
    if wrong := faults(tables):
        raise SystemExit("\n".join(wrong))


def numbers(game: str) -> range:
    return range(1, len(level_settings(get_game(game))) + 1)


def exact_row(number: int) -> Row:
    truth = verdict(f"level:{number}", "TicTacToe-v0")
    return {
        "level": number,
        "setting": described(level_settings(get_game("TicTacToe-v0"))[number - 1]),
        "as first": truth.as_first.gain,
        "as second": truth.as_second.gain,
        "exploitability": truth.exploitability,
    }


def job(game: str, number: int, games: int, seed: int) -> RunSettings:
    """The settings that decide a level's results against the one below."""
    names = [described(setting) for setting in level_settings(get_game(game))[max(number - 2, 0) : number]]
    return {"game": game, "level": number, "settings": names, "games": games, "seed": seed}


def match_row(settings: RunSettings) -> Row:
    """The level's results against the one below, and what a move of its costs."""
    game, number, games, seed = (settings[name] for name in ("game", "level", "games", "seed"))
    row: dict[str, Any] = {"level": number, "setting": settings["settings"][-1]}
    row["CPU-ms a move"] = round(1000 * seconds_a_move(game, number), 4)
    if number == 1:
        return row | dict.fromkeys(("score", "low", "high", "as first", "as second", "wins", "draws", "losses"), "")
    match = play_match(f"level:{number}", f"level:{number - 1}", game, games, seed)
    low, high = match.total.score_interval()
    row |= {"score": round(match.total.score, 4), "low": round(low, 4), "high": round(high, 4)}
    row |= {"as first": round(match.as_first.score, 4), "as second": round(match.as_second.score, 4)}
    wins, draws, losses = match.total
    return row | {"wins": wins, "draws": draws, "losses": losses}


def seconds_a_move(game: str, number: int) -> float:
    """The mean CPU time of a move over games against itself, after a first move that may compile."""
    policy, moves = make_policy(f"level:{number}", game), 0
    policy.act(Position.start(game), 0)
    began = time.process_time()
    for first in range(5):
        position = Position.start(game).play(first)
        while not position.is_over:
            position = position.play(policy.act(position, position_seed(position.own, position.opp, first)))
            moves += 1
    return (time.process_time() - began) / moves


def faults(tables: dict[str, list[Row]]) -> list[str]:
    """The levels that miss their targets."""
    wrong = []
    for row in tables["connect-four"][1:]:
        if not (row["low"] >= LOWEST and row["high"] <= HIGHEST):
            interval = f"{row['low']:.3f} to {row['high']:.3f}"
            wrong.append(f"Connect Four: level {row['level']} scores {interval}, which is not within 0.6 to 0.8")
    for below, above in pairwise(tables["tic-tac-toe"]):
        if not (above["exploitability"] < below["exploitability"] or below["exploitability"] == 0):
            wrong.append(f"tic-tac-toe: level {above['level']} is as exploitable as the one below")
    return wrong


def parse_arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--games", type=positive, default=1000, help="games a pair plays (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="which games (default: %(default)s)")
    add_workers(parser)
    add_output(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
