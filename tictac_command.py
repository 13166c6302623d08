"""The program `tictac`. It stands apart from the packages, so that Ctrl-C while they are imported is no traceback."""

import sys

STOPPED = 130
"""The exit status after Ctrl-C, as shells have it."""


def main() -> int:
    """Runs the command line; returns the exit status."""
    try:
        from tictac_env.cli import main as run

        return run()
    except KeyboardInterrupt:
        print("tictac: stopped", file=sys.stderr)
        return STOPPED
