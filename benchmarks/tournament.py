"""Trains the learners, compares all players with exact solutions, and lets them play each other.

    python benchmarks/tournament.py                              # what `make bench` runs
    python benchmarks/tournament.py my_agent.py:player --game ConnectFour-v0

It is the command `tictac bench`; `--help` has its options.
"""

import sys

from tictac_env.cli import main as tictac


def main() -> None:
    sys.exit(tictac(["bench", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
