"""Plays everybody against everybody, and prints the scores and the ratings with their 95 % intervals.

Each pair plays each opening from both seats. A player that raises an error, plays an illegal move or takes too long
loses that game. With --store every game is kept as it ends, so the same command goes on where it was stopped, and with
further players, openings or games it plays only what is missing.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from pathlib import Path
from typing import Any

import tictac_env
from tictac_env.arena import Ratings, Tournament, round_robin, sampled_openings
from tictac_env.cli.arguments import (
    add_file,
    add_game,
    add_json,
    add_player,
    add_seed,
    add_workers,
    chosen_game,
    chosen_workers,
    decimal,
    print_json,
    whole_number,
)
from tictac_env.games import did_you_mean
from tictac_env.policies.loading import FORMS, SUFFIXES

STORE = "games.sqlite"
"""The file in the folder that keeps the games."""

EXAMPLES = """examples:

  tictac tournament random rule minimax:2 mcts:100 --openings 2
  tictac tournament random mine=q.npz yours=bots:act --games 200
  tictac tournament level:3 level:4 --game ConnectFour-v0 --openings 8 --sample 50 --store results
  tictac tournament level:8 mcts:5000 --game ConnectFour-v0 --openings 2 --workers 4
  tictac tournament level:8 mcts:5000 --game ConnectFour-v0 --store results --ray auto
  tictac tournament random rule --csv > ratings.csv
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    add_player(parser, "players", nargs="+", metavar="PLAYER", told="; NAME=PLAYER to call it NAME")
    add_game(parser, of="player")
    parser.add_argument(
        "--openings",
        type=whole_number(),
        default=0,
        metavar="PLIES",
        help="begin from every position after so many plies (default: the empty board)",
    )
    parser.add_argument(
        "--sample",
        type=whole_number(1),
        metavar="COUNT",
        help="begin from so many of these openings, drawn by the seed",
    )
    parser.add_argument(
        "--games",
        type=whole_number(1),
        help="of each pair (default: each opening from both seats, 100 of a single one)",
    )
    parser.add_argument("--time-limit", type=decimal(), metavar="SECONDS", help="what a move may take, by the clock")
    add_file(parser, "--store", folder=True, metavar="FOLDER", help=f"keep the games in {STORE} there, and go on")
    parser.add_argument(
        "--anchor", metavar="NAME", help="the player whose rating is 0 (default: random, or the weakest)"
    )
    add_seed(parser)
    add_workers(parser)
    written = parser.add_mutually_exclusive_group()
    add_json(written)
    written.add_argument("--csv", action="store_true", help="print the ratings as CSV")


def run(options: argparse.Namespace) -> int:
    """Plays what is to be played, and prints the tables."""
    players = dict(map(_named, options.players))
    if len(players) < len(options.players):
        raise ValueError(f"two players have the same name among {', '.join(options.players)}; give NAME=PLAYER")
    if options.anchor is not None and options.anchor not in players:
        raise ValueError(f"--anchor: nobody is called {options.anchor!r}; {did_you_mean(options.anchor, players)}")
    game = chosen_game(options, *players.values())
    openings: Any = options.openings
    if options.sample is not None:
        openings = sampled_openings(game, options.openings, options.sample, options.seed)
    try:
        tournament = round_robin(
            players,
            game,
            options.games,
            options.seed,
            progress=True,
            openings=openings,
            time_limit=options.time_limit,
            store=None if options.store is None else options.store / STORE,
            workers=chosen_workers(options),
        )
    except KeyboardInterrupt:
        if options.store is not None:
            told = f"\nthe games played so far are in {options.store / STORE}; the same command goes on from there"
            print(told, file=sys.stderr)
        raise
    ratings = tournament.ratings(anchor=options.anchor)
    if options.json:
        print_json(_record(tournament, ratings))
    elif options.csv:
        print(_csv(ratings), end="")
    else:
        print(f"{tournament}\n\n{ratings}")
    return 0


def _named(text: str) -> tuple[str, str]:
    """The name and the player that a word gives: "mine=q.npz"; of a file alone the name without its suffix."""
    name, equals, player = text.partition("=")
    if equals and name and player and text.partition(":")[0] not in FORMS:  # "program:./bot --depth=4" has no name
        return name, player
    return (Path(text).stem if text.endswith(SUFFIXES) else text), text


def _record(tournament: Tournament, ratings: Ratings) -> dict[str, Any]:
    """All that is printed, and the games, for programs."""
    return {
        "version": tictac_env.__version__,
        "game": tournament.games[0].fixture.game,
        "games": len(tournament.games),
        "anchor": ratings.anchor,
        "ratings": ratings.table(),
        "seats": {
            name: dict(zip(("first", "second"), map(list, tournament.seats(name)), strict=True))
            for name in tournament.names
        },
        "cross_table": ratings.cross_table(),
        "first_advantage": _finite(ratings.first_advantage),
        "draws": _finite(ratings.draws),
        "forfeits": [
            {"player": game.forfeited_by, "moves": game.moves, "why": game.forfeit} for game in tournament.forfeits
        ],
    }


def _finite(estimate: Any) -> dict[str, float | None]:
    """An estimate and the ends of its interval; None where there is no bound."""
    return {name: value if abs(value) < float("inf") else None for name, value in estimate._asdict().items()}


def _csv(ratings: Ratings) -> str:
    text = io.StringIO()
    rows = ratings.table()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
