"""The programs `tictac` and `tictac-env`.

This module imports the commands within a function, so that Ctrl-C during the import does not show a traceback.
"""

import os
import sys
from collections.abc import Sequence

from tictac_apps.exit_statuses import STOPPED, WRONG


def main(words: Sequence[str] | None = None) -> int:
    """Runs a command line, by default the program's own; returns the exit status."""
    try:
        _fill_standard_streams()
        _check_current_folder()
    except OSError as error:
        print(f"tictac: {error}", file=sys.stderr)
        return WRONG
    try:
        from tictac_apps.cli import main as run

        return run(words)
    except KeyboardInterrupt:
        print("tictac: stopped", file=sys.stderr)
        return STOPPED


def _fill_standard_streams() -> None:
    """Opens the standard streams that the shell closed, as by `2>&-`: the next file that is opened would become one.

    Raises:
        OSError: the standard output is closed, so the result cannot be printed.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)  # workers need it, too
    os.close(number)
    sys.stdin, sys.stderr = sys.stdin or open(os.devnull), sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        raise OSError("the standard output is closed")


def _check_current_folder() -> None:
    """Raises OSError if the current folder was deleted: libraries ask for it when they are imported."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise FileNotFoundError("the current folder is gone") from None


def play() -> int:
    """Runs the command line like `main`, but without a command starts a game: `uvx tictac-env` is enough to play."""
    return main(sys.argv[1:] or ["play"])
