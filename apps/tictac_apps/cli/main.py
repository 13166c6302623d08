"""The command `tictac`: the table of its commands, the reports of errors, and the exit status.

A command is a function `run_NAME(options) -> int` of one of this package's modules, which is imported when the command
is used, so that `tictac --help` stays quick. The function's docstring is the text of `--help`, `add_NAME(parser)` adds
the arguments, and the function returns the exit status.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import inspect
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from gymnasium.error import DependencyNotInstalled

import tictac_env
from tictac_apps.cli.arguments import CommandParser
from tictac_apps.exit_statuses import STOPPED, WRONG
from tictac_env.lazy import see_current_folder

COMMANDS: dict[str, tuple[str, str]] = {
    "play": ("play", "play against any player, in the terminal or in a window"),
    "serve": ("make", "serve a web page: play games, analyse them, train agents"),
    "train": ("train", "train an agent and report how well it plays"),
    "bench": ("judge", "run the benchmark: all kinds of agents, and yours"),
    "audit": ("judge", "measure how well a player plays"),
    "tournament": ("judge", "let players play each other, and rate them"),
    "solve": ("show", "find the exact value of a position and of each move"),
    "export page": ("make", "write the web page as a folder that needs no server"),
    "export agent": ("make", "write a player as one Python file, for Kaggle"),
    "board": ("judge", "make a page that compares audited players"),
    "grade": ("grade", "grade submitted players by exact proofs"),
    "prove": ("judge", "prove that a player never loses, or always wins"),
    "render": ("show", "draw a position or a game as text, SVG, PNG or GIF"),
    "dataset prompts": ("make", "write positions as prompts, with the exact value of each move"),
    "warm": ("make", "compile everything now, so that nothing waits later"),
    "info": ("show", "list versions, games, players, the cache and the machine"),
    "completion": ("make", "print a script that lets your shell complete words"),
}
"""The commands: the module of each, and its line in `tictac --help`."""
IN_FRONT = 7
"""The number of commands that `tictac --help` shows first."""

BROKEN_PIPE = 141
"""The exit status if the reader of the output has closed it."""


def main(words: Sequence[str] | None = None) -> int:
    """Runs a command line, by default the program's own; without a command it prints the help.

    SIGTERM, with which batch systems and containers end programs, does the same as Ctrl-C: results so far are kept
    wherever Ctrl-C keeps them.

    Returns:
        The exit status: 0, 1 if a limit was reached, 2 after an error, 130 after Ctrl-C.

    Raises:
        SystemExit: the command line is wrong (status 2), or asks for help or the version (0).

    Example:
        >>> from tictac_apps.cli import main
        >>> main(["render", "15", "--game", "TicTacToe-v0"])
        TicTacToe-v0
         X  2  3
         4 [O] 6
         7  8  9
        X to move
        0
    """
    see_current_folder()  # a player may be a function in a file there
    try:
        with _terminable():
            parser = make_parser()
            options = parser.parse_args(words)
            if "run" not in options:
                parser.print_help()
                return 0
            status: int = options.run(options)
            sys.stdout.flush()
    except BrokenPipeError:  # as in `tictac solve | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at the end
        return BROKEN_PIPE
    except (ValueError, OSError, ImportError, DependencyNotInstalled) as error:
        print(f"tictac: {error}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        print("\n" * sys.stderr.isatty() + "tictac: stopped", file=sys.stderr)  # below the ^C that a terminal shows
        return STOPPED
    return status


@contextmanager
def _terminable() -> Iterator[None]:
    """Handles SIGTERM like Ctrl-C; in the main thread only, as other threads receive no signals."""

    def stop(number: int, frame: FrameType | None) -> None:
        on_ctrl_c = signal.getsignal(signal.SIGINT)  # a shell makes its background jobs ignore it
        (on_ctrl_c if callable(on_ctrl_c) else signal.default_int_handler)(number, frame)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _Overview(CommandParser):
    """The parser of `tictac` itself, whose help fits on one screen."""

    def format_help(self) -> str:
        lines = [f"  {name:17}{title}" for name, (_, title) in COMMANDS.items()]
        front, more = "\n".join(lines[:IN_FRONT]), "\n".join(lines[IN_FRONT:])
        begin = "Tic-tac-toe and Connect Four: play, train, judge and solve. To begin, type\n  tictac play"
        ask = "tictac COMMAND --help explains a command; tictac --version"
        return f"{begin}\n\ncommands ({ask}):\n{front}\n\nmore commands:\n{more}\n"


def make_parser() -> CommandParser:
    """The parser of the command line; each command's arguments are added when the command is used."""
    parser = _Overview(prog="tictac")
    parser.add_argument("--version", action="version", version=f"tictac-env {tictac_env.__version__}")
    commands = {"": _add_commands(parser, required=False)}
    for name, (module, title) in COMMANDS.items():
        group, _, own = name.rpartition(" ")
        if group not in commands:
            commands[group] = _add_commands(
                commands[""].add_parser(group, help=title, description=f"For more: tictac {name} --help")
            )
        fill = functools.partial(_fill, f"{__package__}.{module}", name.replace(" ", "_"))
        commands[group].add_parser(own, help=title, fill=fill)
    return parser


def _add_commands(parser: CommandParser, required: bool = True) -> argparse._SubParsersAction[CommandParser]:
    return parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=required, parser_class=CommandParser
    )


def _fill(module: str, name: str, parser: CommandParser) -> None:
    home = importlib.import_module(module)
    run = getattr(home, f"run_{name}")
    parser.description, _, examples = (inspect.getdoc(run) or "").partition("Examples:\n")
    parser.epilog = "examples:\n\n" + examples.lstrip("\n")
    parser.set_defaults(run=run)
    getattr(home, f"add_{name}")(parser)
