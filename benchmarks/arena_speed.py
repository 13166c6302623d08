"""How many games a minute the arena plays between policies that take no time, with and without a store.

    python benchmarks/arena_speed.py [--games 10000] [--output FOLDER]

A tournament of random play and the rule of thumb from all openings of two plies, on both games; the time is that of one
core, from naming the players to the tournament's tables. Ratings of the same games are timed apart. About ten seconds.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from benchmarks.report import RESULTS, Row, positive, save, show
from tictac_env.arena import ratings, round_robin

GAMES = ("TicTacToe-v0", "ConnectFour-v0")


def measure(game: str, games: int) -> Row:
    """Games a minute of one game, and what a game takes in a store."""
    row: dict[str, object] = {"game": game, "games": games}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "games.sqlite"
        for title, store in (("games a minute", None), ("with a store", path), ("resumed from it, s", path)):
            began = time.perf_counter()
            tournament = round_robin(["random", "rule"], game, games=games, openings=2, store=store)
            str(tournament)
            seconds = time.perf_counter() - began
            row[title] = round(seconds, 3) if title.startswith("resumed") else round(60 * games / seconds)
        row["bytes a game"] = round(os.path.getsize(path) / games)
        ratings(tournament)  # imports SciPy
        began = time.perf_counter()
        ratings(tournament)
        row["ratings, s"] = round(time.perf_counter() - began, 3)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=positive, default=10_000, help="of each game (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    rows = [measure(game, options.games) for game in GAMES]
    show("The arena with policies that take no time", rows)
    save("arena-speed", {"games": options.games}, {"games": rows}, options.output)


if __name__ == "__main__":
    main()
