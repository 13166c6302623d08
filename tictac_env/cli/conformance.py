"""Plays somebody else's environment side by side with ours, and tells every difference with its position.

Compared are who is to move, the legal actions, when a game ends, who has won by the rewards that both sides see,
whether observations change with the board, and what illegal moves do. The exit status is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import inspect
from typing import Any

import gymnasium as gym

from tictac_env.arena.conformance import conformance
from tictac_env.cli.arguments import add_game, add_json, add_seed, print_json, whole_number
from tictac_env.lazy import import_named

EXAMPLES = """examples:

  tictac conformance pettingzoo.classic.connect_four_v3:env --game ConnectFour-v0
  tictac conformance pettingzoo.classic.tictactoe_v3:env --actions 0 3 6 1 4 7 2 5 8
  tictac conformance my_envs:MyEnv --json > differences.json
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument(
        "environment",
        help='"module:name" of an environment (PettingZoo AEC, Gymnasium, OpenSpiel, pgx), of a function or class that '
        "makes one, or of a function from actions to a dict; or an id of Gymnasium's. A Gymnasium environment that "
        "answers within step needs a maker with a parameter `opponent`; in all others each step is one ply",
    )
    add_game(parser)
    parser.add_argument("--games", type=whole_number(1), default=100, help="random games (default: %(default)s)")
    parser.add_argument(
        "--actions", type=int, nargs="+", metavar="ACTION", help="its action for each of ours, in our order"
    )
    add_seed(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Compares, and prints what differs."""
    env = find_environment(options.environment)
    report = conformance(env, options.game, options.games, options.seed, options.actions, name=options.environment)
    if options.json:
        print_json(report.to_dict())
    else:
        print(report)
    return int(bool(report.differences))


def find_environment(text: str) -> Any:
    """The environment of a "module:name" or of Gymnasium's registry; what makes one without arguments is called.

    Raises:
        ValueError: there is no such module, name or id; the message names it.
    """
    module, colon, name = text.partition(":")
    if text in gym.registry:
        return gym.make(text)
    if not colon:
        raise ValueError(f'{text!r} is no id of Gymnasium\'s, and no "module:name"')
    try:
        found = getattr(import_named(module, text), name)
    except AttributeError:
        raise ValueError(f"{text!r}: the module {module!r} has no {name!r}") from None
    return found() if _makes(found) else found


def _makes(found: Any) -> bool:
    """Whether something is called without arguments to make an environment."""
    if not (inspect.isroutine(found) or inspect.isclass(found)):
        return False
    parameters = inspect.signature(found).parameters.values()
    optional = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    needed = [one for one in parameters if one.default is one.empty and one.kind not in optional]
    return not needed and "opponent" not in [one.name for one in parameters]
