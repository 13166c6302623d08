"""Compiles beforehand what first uses of the games would wait for.

Makes a short first use of everything that is compiled, so that no later one waits for the compiler: for an image of a
class-room, say. The machine code is kept in your cache folder, or in the folder that the variable TICTAC_CACHE_DIR
names; it serves this version of the package, on processors like this one.
"""

from __future__ import annotations

import argparse
import time

from tictac_env.checks import one_of
from tictac_env.cli.arguments import complete_words, game_named
from tictac_env.compiled.announcement import unkept
from tictac_env.compiled.cache import CACHE_FOLDER, KEPT, WARNING
from tictac_env.first_uses import first_uses, make_first_uses
from tictac_env.games.registry import known_names

EXAMPLES = """examples:

  tictac warm                                      all games, all uses
  tictac warm KInARow-v0:5x6-4 --only vector       one game, one use
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    told = f"any of {', '.join(known_names())}, with sizes if wanted, or module:Name-v0; none: all"
    games = parser.add_argument("games", nargs="*", type=game_named, metavar="GAME", help=told)
    complete_words(games, "games", known_names())
    parser.add_argument(
        "--only", nargs="+", metavar="USE", help="any of vector, minimax, solver, mcts, tables, networks"
    )


def run(options: argparse.Namespace) -> int:
    """Compiles, and says how long it took."""
    if not KEPT:
        raise ValueError(WARNING)
    began = time.monotonic()
    games, uses = options.games or known_names(), list(first_uses())
    names = [one_of("--only", name, uses) for name in options.only or uses]
    make_first_uses(games, names)
    if told := unkept():
        raise OSError(told)
    print(f"{', '.join(names)} of {', '.join(games)}: compiled in {time.monotonic() - began:.0f} s, in {CACHE_FOLDER}")
    return 0
