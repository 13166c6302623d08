"""Plays against any player, in the terminal or in a window.

Type the number of a column or, where stones do not fall, of a cell; on a 3 x 3 board also q w e, a s d, z x c, which
lie like the cells. "hint" shows the exact value of every move, "undo" takes your last move back, "quit" ends the game.

In the window click a column or a cell, or press its key; backspace takes back, F1 shows the values in the title, Enter
begins a new game, Esc closes the window.
"""

from __future__ import annotations

import argparse

from tictac_env.cli.arguments import add_game, add_player, add_seed, chosen_game
from tictac_env.cli.series import Series
from tictac_env.cli.terminal import TerminalTable
from tictac_env.policies import load_player
from tictac_env.position import Position

SEATS = ("first", "second", "alternate")

EXAMPLES = """examples:

  tictac play                                      Connect Four against level:5
  tictac play level:3 --game TicTacToe-v0 --seat second
  tictac play q.npz                                against an agent you have trained, at its game
  tictac play perfect --window --position 4453
  tictac play human --game KInARow-v0:5x6-4        two people at one keyboard
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    add_player(
        parser, "opponent", nargs="?", default="level:5", told="; or human, for two people (default: %(default)s)"
    )
    add_game(parser, "ConnectFour-v0", of="opponent")
    parser.add_argument(
        "--seat", choices=SEATS, default="alternate", help="yours; alternate: first, and the other in each further game"
    )
    parser.add_argument("--position", metavar="MOVES", default="", help="begin with these moves, as in 4453")
    parser.add_argument("--hints", action="store_true", help="show the exact values before each of your moves")
    parser.add_argument("--window", action="store_true", help="play by clicks in a window (needs the extra human)")
    add_seed(parser, None)


def run(options: argparse.Namespace) -> int:
    """Plays games until the person has had enough."""
    start = Position.from_moves(chosen_game(options, options.opponent), options.position)
    opponent = None if options.opponent == "human" else load_player(options.opponent, start.game)
    series = Series([start], opponent, options.seat, options.seed)
    if options.window:
        from tictac_env.cli.window_table import WindowTable

        table: TerminalTable | WindowTable = WindowTable(options.hints)
    else:
        table = TerminalTable(options.hints)
    while table.play(series.begin()):
        pass
    return 0
