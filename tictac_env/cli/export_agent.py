"""Writes a player as one Python file that needs NumPy only, as Kaggle's ConnectX takes it.

The file is plain Python that can be read, with the player's weights. It chooses the moves that the player chooses here.
A search that does not end within the time for a move (actTimeout) answers by what it has found so far. Tree search
(mcts, level:5 and above) and the exact solver (perfect) cannot be exported.
"""

from __future__ import annotations

import argparse
import importlib

from tictac_env.cli.arguments import add_file, add_game, add_player, add_seed, chosen_game
from tictac_env.games import game_name

EXPORT = "tictac_agents.export"
"""What writes the file; imported when used, as this package imports no agents."""

EXAMPLES = """examples:

  tictac export-agent ntuple:4 --output submission.py
  tictac export-agent models/dqn.zip --output submission.py
  tictac export-agent minimax:6 --game KInARow-v0:5x6-4 --output small.py
  tictac export-agent q.npz --output tictactoe.py         of tic-tac-toe, as the file says
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    add_player(parser, "player")
    add_file(parser, "--output", "-o", required=True, metavar="FILE", help="the Python file, which is replaced")
    add_game(parser, default="ConnectFour-v0", of="player")
    add_seed(parser)


def run(options: argparse.Namespace) -> int:
    """Writes the file, and says where and how large."""
    game = chosen_game(options, options.player)
    size = importlib.import_module(EXPORT).export_agent(options.player, options.output, game, options.seed)
    print(f"{options.output} ({size / 1000:,.0f} kB), plays {game_name(game) or game}")
    return 0
