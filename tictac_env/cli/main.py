"""The command line: which commands there are, how errors are told, and how a run ends.

A command is a module of this package, imported when it is asked for, so that `tictac --help` stays quick. It has:

- a docstring, which its `--help` begins with, and `EXAMPLES`, with which it ends;
- `add(parser)`, which adds its arguments;
- `run(options) -> int`, which does the work and returns the exit status.
"""

from __future__ import annotations

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
from tictac_env.cli.parser import WRONG, CommandParser

COMMANDS: dict[str, str] = {
    "play": "play against any player, in the terminal or in a window",
    "serve": "the page in the browser: play, look inside, train",
    "export-page": "the page as a folder that needs no server",
    "export-agent": "a player as one file that needs NumPy only, for Kaggle",
    "train": "train an agent, and say how good it has become",
    "audit": "one record of how good a player is",
    "grade": "grade what others have written, by a rubric of theorems",
    "prove": "every reply to a player: a proof that it never loses, or wins",
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

STOPPED, BROKEN_PIPE = 130, 141
"""Exit statuses: Ctrl-C or SIGTERM; nobody reads the output any more."""


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status: 0, 2 after an error, 130 after Ctrl-C, and 1 if a limit was reached.

    SIGTERM, with which batch systems and containers end programs, does what Ctrl-C does: what is learned or played so
    far is kept wherever Ctrl-C keeps it.

    Raises:
        SystemExit: the words are no command line (status 2), or ask for help or the version (0).

    Example:
        >>> from tictac_env.cli import main
        >>> main(["render", "15", "--game", "TicTacToe-v0"])
        TicTacToe-v0
         X  2  3
         4 [O] 6
         7  8  9
        X to move
        0
    """
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # a player may be a function in a file of the current folder
    try:
        with _terminable():
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


@contextmanager
def _terminable() -> Iterator[None]:
    """Has SIGTERM do within the block what Ctrl-C does; in the main thread, as signals are heard only there."""

    def stop(number: int, frame: FrameType | None) -> None:
        pressed = signal.getsignal(signal.SIGINT)  # a shell has what it starts in the background ignore it
        (pressed if callable(pressed) else signal.default_int_handler)(number, frame)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def make_parser() -> CommandParser:
    """The parser of the command line, with the commands empty until they are asked for."""
    parser = CommandParser(
        prog="tictac",
        description="Tic-tac-toe and Connect Four: play, train, judge and solve.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"tictac-env {tictac_env.__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")
    for name, told in COMMANDS.items():
        fill = functools.partial(_fill, f"{__package__}.{name.replace('-', '_')}")
        commands.add_parser(name, help=told, aliases=ALIASES.get(name, []), fill=fill)
    return parser


def _fill(home: str, parser: CommandParser) -> None:
    """Has the module of a command add what it has to add."""
    module = importlib.import_module(home)
    parser.description, parser.epilog = inspect.getdoc(module), module.EXAMPLES
    parser.set_defaults(run=module.run)
    module.add(parser)
