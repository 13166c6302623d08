"""The command line: which commands there are, how errors are told, and how a run ends.

A command is a module of this package, imported when it is asked for, so that `tictac --help` stays quick. It has:

- a docstring, which its `--help` begins with, and `EXAMPLES`, with which it ends;
- `add(parser)`, which adds its arguments;
- `run(options) -> int`, which does the work and returns the exit status.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from gymnasium.error import DependencyNotInstalled

import tictac_env

COMMANDS: dict[str, str] = {
    "play": "play against any player, in the terminal or in a window",
    "serve": "the page in the browser: play, look inside, train",
    "audit": "one record of how good a player is",
    "tournament": "everybody against everybody, with ratings",
    "solve": "the exact score of a position and of each move",
    "render": "a position or a game as text, SVG, PNG or GIF",
    "warm": "compile beforehand what first uses would wait for",
    "info": "versions, games, policies, the cache, the machine",
    "completion": "a script for the completion of words by your shell",
}
"""The commands, and what `tictac --help` says of each. The module of one has its name, with _ for -."""
EPILOG = """examples:

  tictac play level:3 --game TicTacToe-v0
  tictac solve 4453

A command explains itself: tictac solve --help
"""
ALIASES = {"warm": ["compile"]}

FAILED, WRONG, STOPPED, BROKEN_PIPE = 1, 2, 130, 141
"""Exit statuses: a limit was reached; wrong arguments or files; Ctrl-C; nobody reads the output any more."""


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status: 0, 1 if a limit was reached, 2 after an error, 130 after Ctrl-C.

    Raises:
        SystemExit: the words are no command line (status 2), or ask for help or the version (0).
    """
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # a player may be a function in a file of the current folder
    try:
        options = make_parser().parse_args(words)
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


def make_parser(whole: bool = False) -> CommandParser:
    """The parser of the command line; unless `whole`, commands are empty until they are asked for."""
    parser = CommandParser(
        prog="tictac",
        description="Tic-tac-toe and Connect Four: play, train, judge and solve.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"tictac-env {tictac_env.__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")
    for name, told in COMMANDS.items():
        home = f"{__package__}.{name.replace('-', '_')}"
        command = commands.add_parser(name, help=told, aliases=ALIASES.get(name, []), home=home)
        if whole:
            command.fill()
    return parser


class CommandParser(argparse.ArgumentParser):
    """A parser that tells errors in one line, and that the module of its command fills when it is first used.

    Args:
        home: the module of the command, None where there is none.
        keywords: those of `argparse.ArgumentParser`.
    """

    def __init__(self, *, home: str | None = None, **keywords: Any) -> None:
        super().__init__(formatter_class=_Formatter, **keywords)
        self._home = home

    def fill(self) -> None:
        """Adds what the module of the command has to add, once."""
        if self._home is None:
            return
        module, self._home = importlib.import_module(self._home), None
        self.description, self.epilog = inspect.getdoc(module), module.EXAMPLES
        self.set_defaults(run=module.run)
        module.add(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As the base class's, but words that nothing stands for are told by the parser they were given to."""
        self.fill()
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> Any:
        """Tells what is wrong in one line, and ends the program with status 2."""
        self.exit(WRONG, f"{self.prog}: {message}; see {self.prog} --help\n")


class _Formatter(argparse.HelpFormatter):
    """Wraps paragraphs to the width of the terminal, but leaves indented ones (examples) as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip("\n").split("\n\n")
        return "\n\n".join(
            paragraph if paragraph.startswith(" ") else textwrap.fill(paragraph, width) for paragraph in paragraphs
        )
