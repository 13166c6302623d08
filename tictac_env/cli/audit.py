"""Judges a player, and prints one record of how good it is.

The record has the exact verdict (can it be beaten, and by which game, board by board), its mistakes on positions of
known value next to those of random play, and matches, if wanted.

The player may be anybody's: docs/audit.md tells what each kind looks like. Python files and programs are run, with your
rights; agents' files, models, weights and networks are only read.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

from tictac_env.arena.auditing import RECORD, REPLIES, audit, save_card
from tictac_env.cli.arguments import (
    add_file,
    add_game,
    add_json,
    add_player,
    add_seed,
    chosen_game,
    decimal,
    whole_number,
)
from tictac_env.observation import OBSERVATION_TYPES
from tictac_env.policies.loading import ACTIVATIONS, PLANES_LAST, Reading
from tictac_env.storage import check_writable

BESIDE = Path("beside the player's file")
"""What --card is without a folder."""

EXAMPLES = """examples:

  tictac audit rule
  tictac audit q.npz --opponent minimax --opponent random
  tictac audit ppo.zip --game TicTacToe-v0 --card
  tictac audit mcts:1000 --game ConnectFour-v0 --json > audit.json
  tictac audit bots.py:act --observation board
  tictac audit submission.py --game ConnectFour-v0 --quick
  tictac audit "program:./bot --depth 4" --game ConnectFour-v0 --time-limit 2
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    add_player(parser, "player")
    add_game(parser, of="player")
    parser.add_argument(
        "--suite", help="the positions to judge its moves on: a suite's name or file (default: the game's own)"
    )
    parser.add_argument(
        "--replies",
        type=whole_number(),
        default=REPLIES,
        metavar="POSITIONS",
        help="how far the shortest lost game of a large game is sought, 0 for not at all (default: %(default)s)",
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
    reading = parser.add_argument_group("how to read a player that does not say it")
    reading.add_argument(
        "--observation",
        choices=(*OBSERVATION_TYPES, PLANES_LAST),
        help="what a function or a network sees (default: planes, or what fits the network's input)",
    )
    reading.add_argument("--activation", choices=ACTIVATIONS, help="between the layers of weights of PyTorch")
    reading.add_argument(
        "--time-limit",
        type=decimal(),
        default=Reading.time_limit,
        metavar="SECONDS",
        help="what a program may take for a move, an ONNX network for up to 64 (default: %(default)g)",
    )
    add_seed(parser)
    add_json(parser)
    add_file(
        parser,
        "--card",
        folder=True,
        nargs="?",
        const=BESIDE,
        metavar="FOLDER",
        help="also write README.md and verdict.json (default: next to the player's file)",
    )


def run(options: argparse.Namespace) -> int:
    """Judges the player, prints the record, and writes what is wanted."""
    folder: Path | None = options.card
    if folder == BESIDE:
        if not Path(options.player).is_file():
            raise ValueError(f"--card: {options.player!r} is no file, so say into which folder: --card FOLDER")
        folder = Path(options.player).parent
    if folder is not None:
        check_writable(folder / RECORD)  # now, and not after minutes
    with contextlib.redirect_stdout(sys.stderr):  # what a player prints is no part of the record
        record = audit(
            options.player,
            chosen_game(options, options.player),
            options.suite,
            options.opponent,
            options.games,
            exact=not options.quick,
            seed=options.seed,
            replies=options.replies,
            reading=Reading(options.observation, options.activation, options.time_limit),
        )
    print(record.to_json() if options.json else record, flush=True)  # first, in case that nothing can be written
    if folder is not None:
        save_card(record, folder)
    return 0
