"""The programs `tictac` and `tictac-env`.

They stand apart from the packages, so that Ctrl-C while these are imported is no traceback.
"""

import sys
from collections.abc import Sequence

STOPPED = 130
"""The exit status after Ctrl-C, as shells have it."""


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command line, the program's own if no words are given; returns the exit status."""
    try:
        from tictac_env.cli import main as run

        return run(words)
    except KeyboardInterrupt:
        print("tictac: stopped", file=sys.stderr)
        return STOPPED


def play() -> int:
    """As `main`, but without a command a game begins: `uvx tictac-env` is enough to play."""
    return main(sys.argv[1:] or ["play"])
