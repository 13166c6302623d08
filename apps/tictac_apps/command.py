"""The programs `tictac` and `tictac-env`.

This module imports the packages only within a function, so that Ctrl-C meanwhile is no traceback.
"""

import os
import sys
from collections.abc import Sequence

STOPPED, WRONG = 130, 2
"""The exit statuses after Ctrl-C or SIGTERM, as shells have it, and after an error."""


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command line, the program's own if no words are given; returns the exit status."""
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
    """Opens what the shell closed, as by `2>&-`: else the next file that is opened would be written to in its place.

    Raises:
        OSError: the standard output is closed, to which the answer would go.
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
    """As `main`, but without a command a game begins: `uvx tictac-env` is enough to play."""
    return main(sys.argv[1:] or ["play"])
