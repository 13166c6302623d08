"""Judges a player, and prints one record of how good it is.

The record has the exact verdict (can it be beaten, and by which game), its mistakes on positions of known value beside
those of random play, how soon it wins what is won and how long it holds what is lost, and matches, if wanted.
"""

from __future__ import annotations

import argparse

from tictac_env.arena.auditing import audit
from tictac_env.cli.arguments import add_game, add_json, add_player, add_seed, chosen_game, whole_number

EXAMPLES = """examples:

  tictac audit rule
  tictac audit q.npz --opponent minimax --opponent random
  tictac audit mcts:1000 --game ConnectFour-v0 --json > audit.json
  tictac audit bots:act --game KInARow-v0:4x4-3 --quick
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    add_player(parser, "player")
    add_game(parser, of="player")
    parser.add_argument(
        "--suite", help="the positions to judge its moves on: a suite's name or file (default: the game's own)"
    )
    parser.add_argument(
        "--sample",
        type=whole_number(),
        default=150,
        metavar="POSITIONS",
        help="how many positions are played on against perfect play, 0 for none (default: %(default)s)",
    )
    parser.add_argument(
        "--opponent",
        action="append",
        default=[],
        metavar="PLAYER",
        help="also play a match; may be given several times",
    )
    parser.add_argument("--games", type=whole_number(1), default=100, help="of a match (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="leave the exact verdict out, which may take minutes")
    add_seed(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Judges the player and prints the record."""
    record = audit(
        options.player,
        chosen_game(options, options.player),
        options.suite,
        options.sample,
        options.opponent,
        options.games,
        exact=not options.quick,
        seed=options.seed,
    )
    print(record.to_json() if options.json else record)
    return 0
