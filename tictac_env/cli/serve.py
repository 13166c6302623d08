"""Serves the page on which people play, look inside agents, and train them, in a browser.

It works without a network, and listens to this machine alone unless told otherwise. There are no accounts and no
passwords: whoever reaches the address can use it, within limits on what one visitor may ask for.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tictac_env.web.serve import HOST, PORT, serve

EXAMPLES = """examples:

  tictac serve                                    http://127.0.0.1:8000/
  tictac serve --checkpoints models --store results.sqlite
  tictac serve --game examples.hex:Hex-v0:4       and a game of your own
  tictac serve --host 0.0.0.0 --no-training       for a class, without trainings
  tictac serve --host 0.0.0.0 --allowed-host games.school.example
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("--host", default=HOST, help="the address to listen on (default: %(default)s)")
    parser.add_argument(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name under which people reach it, beside localhost and addresses in numbers; may be repeated",
    )
    parser.add_argument("--port", type=int, default=PORT, help="the port, 0 for any free one (default: %(default)s)")
    parser.add_argument("--checkpoints", type=Path, metavar="FOLDER", help="agents to play against, .npz and .zip")
    parser.add_argument("--store", type=Path, metavar="PATH", help="a tournament's result store, or a folder of them")
    parser.add_argument(
        "--game",
        action="append",
        default=[],
        help="also offer this game: one of your own as module:Name-v0, or a size, KInARow-v0:5x6-4; may be repeated",
    )
    parser.add_argument("--no-training", action="store_true", help="do not let visitors train agents")


def run(options: argparse.Namespace) -> int:
    """Serves until Ctrl-C."""
    if not 0 <= options.port < 1 << 16:
        raise ValueError(f"--port must be from 0 to 65535, not {options.port}")
    serve(
        options.host,
        options.port,
        options.checkpoints,
        options.store,
        not options.no_training,
        allowed_hosts=options.allowed_host,
        games=options.game,
    )
    return 0
