"""Trains a Q-table on tic-tac-toe, judges it by the exact truth, and plays every policy against every other.

python benchmarks/tournament.py [--games 200] [--episodes 14000] [--seed 0] [--output FOLDER]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import tictac_env  # noqa: F401  # registers the environments
from benchmarks.report import RESULTS, Row, positive, save, show
from tictac_agents import QLearning
from tictac_agents.plotting import new_figure, save_figure
from tictac_env.arena import Tournament, Verdict, round_robin, verdict
from tictac_env.policies import make_policy

TIC_TAC_TOE = ("random", "rule", "minimax:2", "minimax", "minimax-first")
DEFAULT_EPISODES = 14_000
CONNECT_FOUR = ("random", "rule", "minimax:2", "minimax:4")


def main() -> None:
    options = parse_arguments()
    agents = train(options.seeds, options.seed, options.episodes)
    tic_tac_toe = {name: make_policy(name) for name in TIC_TAC_TOE} | agents
    verdicts = [verdict_row(name, verdict(policy)) for name, policy in tic_tac_toe.items()]
    show("Tic-tac-toe: the exact truth (W/D/L in per cent)", verdicts)
    tables: dict[str, list[Row]] = {"verdicts": verdicts}
    tournaments = {
        "tic-tac-toe": round_robin(tic_tac_toe, "TicTacToe-v0", options.games, options.seed, progress=True),
        "connect-four": round_robin(CONNECT_FOUR, "ConnectFour-v0", options.games, options.seed, progress=True),
    }
    for game, tournament in tournaments.items():
        tables[game] = match_rows(tournament)
        show(
            f"{game}: wins / draws / losses of the row's player, {options.games} games a pair", cross_table(tournament)
        )
    settings = {"games": options.games, "episodes": options.episodes, "seeds": options.seeds, "seed": options.seed}
    save("tournament", settings, tables, options.output)
    plot(tournaments, options.output / "tournament.png")
    print(f"written to {options.output}")


def train(seeds: int, seed: int, episodes: int) -> dict[str, QLearning]:
    """Q-tables trained through plain reset and step, from both seats, against random play."""
    agents = {}
    for number in range(seed, seed + seeds):
        env = gym.make("TicTacToe-v0", opponent="random", play_as="alternate")
        began = time.process_time()
        agents[f"Q-table, seed {number}"] = QLearning(env, seed=number).learn(total_episodes=episodes)
        print(f"Q-table, seed {number}: {episodes:,} games in {time.process_time() - began:.1f} CPU-s")
    began = time.process_time()
    games = QLearning.PRESETS["infallible"].episodes * episodes // DEFAULT_EPISODES
    agents["Q-table, cured"] = QLearning.preset("infallible", seed=seed).learn(total_episodes=max(games, 1))
    print(f"Q-table, cured (a loss counts ten times): {games:,} games in {time.process_time() - began:.1f} CPU-s")
    return agents


def verdict_row(name: str, found: Verdict) -> Row:
    row: dict[str, Any] = {"policy": name, "exploitability": found.exploitability}
    for title, seat in (("first", found.as_first), ("second", found.as_second)):
        row[f"as {title}"] = "infallible" if seat.infallible else f"loses {seat.losing_line}"
        row[f"v random, {title}"] = "/".join(f"{100 * share:.2f}" for share in seat.against_random)
        row[f"v minimax, {title}"] = "/".join(f"{100 * share:.1f}" for share in seat.against_best)
    return row


def match_rows(tournament: Tournament) -> list[Row]:
    rows: list[Row] = []
    for (player, opponent), match in tournament.matches.items():
        for seat, tally in (("first", match.as_first), ("second", match.as_second)):
            low, high = tally.interval(tally.wins)
            counts = {"wins": tally.wins, "draws": tally.draws, "losses": tally.losses}
            interval = {"win share, low": round(low, 4), "win share, high": round(high, 4)}
            rows.append({"player": player, "opponent": opponent, "seat": seat, **counts, **interval})
    return rows


def cross_table(tournament: Tournament) -> list[Row]:
    rows: list[Row] = []
    names = tournament.standings()
    for name in names:
        row: dict[str, Any] = {"player": name, "score": round(tournament.total(name).score, 3)}
        for other in names:
            row[other] = "" if other == name else "/".join(map(str, tournament.matches[name, other].total))
        rows.append(row)
    return rows


def plot(tournaments: dict[str, Tournament], path: Path) -> None:
    """Each tournament as a heat map of scores."""
    figure = new_figure(6.5 * len(tournaments), 5.6)
    axes = figure.subplots(1, len(tournaments))
    for axis, (game, tournament) in zip(axes, tournaments.items(), strict=True):
        names = tournament.standings()
        scores = [[tournament.matches[a, b].total.score if a != b else np.nan for b in names] for a in names]
        image = axis.imshow(scores, cmap="RdYlGn", vmin=0, vmax=1)
        axis.set_title(f"{game}: mean result of the row's player")
        axis.set_xticks(range(len(names)), names, rotation=35, ha="right")
        axis.set_yticks(range(len(names)), names)
        for row, column in np.argwhere(~np.isnan(scores)):
            axis.text(column, row, f"{scores[row][column]:.2f}", ha="center", va="center", fontsize=9)
    figure.colorbar(image, ax=axes, shrink=0.8, label="1 won, 0.5 drawn, 0 lost")
    save_figure(figure, path)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=positive, default=200, help="games a pair plays (default: %(default)s)")
    parser.add_argument(
        "--episodes", type=positive, default=DEFAULT_EPISODES, help="training games (default: %(default)s)"
    )
    parser.add_argument("--seeds", type=positive, default=3, help="how many Q-tables to train (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
