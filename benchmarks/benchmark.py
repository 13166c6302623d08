"""Judges your players, then trains the learners, judges them all, and lets them play each other.

    python benchmarks/benchmark.py my_agent.py:player --game ConnectFour-v0
    python benchmarks/benchmark.py my_agent.py:player --game ConnectFour-v0 --quick    # trains nothing: seconds

This is the command `tictac bench`, with the same options. In Python, `tictac_apps.benchmark.benchmark` is a function.
"""

from __future__ import annotations

import sys

from tictac_apps.cli import main as tictac


def main() -> None:
    raise SystemExit(tictac(["bench", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
