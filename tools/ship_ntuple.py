"""Trains the n-tuple networks that come with the package, the policy "ntuple".

    python tools/ship_ntuple.py TicTacToe-v0      # seconds
    python tools/ship_ntuple.py ConnectFour-v0    # a minute or two on one core

The same seed gives the same network, to the bit. A run that was stopped goes on from its checkpoint.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tictac_agents import NTupleTD
from tictac_agents.ntuple.network import SHIPPED
from tictac_env.games import get_game

RUNS: dict[str, tuple[int, dict[str, Any]]] = {
    "TicTacToe-v0": (20_000, {"tuples": 12, "length": 6, "seed": 0}),
    "ConnectFour-v0": (2_000_000, {"tuples": 70, "length": 8, "seed": 0}),
}
"""The games of each run, and the settings."""
BITS = {"TicTacToe-v0": 8, "ConnectFour-v0": 12}
"""How many bits a weight has in the file."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", choices=list(RUNS))
    parser.add_argument("--threads", type=int, default=1, help="they change nothing but the time (default: 1)")
    parser.add_argument("--models", type=Path, default=Path("models"), help="folder for the checkpoint")
    parser.add_argument("--output", type=Path, default=SHIPPED, help="folder for the network (default: the package's)")
    options = parser.parse_args()
    games, settings = RUNS[options.game]
    checkpoint = options.models / f"ntuple-{options.game}.npz"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    if checkpoint.exists():
        agent = NTupleTD.load(checkpoint)
        agent.threads = options.threads
        agent.resume(checkpoint=checkpoint)
    else:
        agent = NTupleTD(get_game(options.game), threads=options.threads, **settings)
        agent.learn(games, checkpoint=checkpoint)
    if agent.num_games == games:
        options.output.mkdir(parents=True, exist_ok=True)
        agent.network.rounded(BITS[options.game]).save(options.output / f"{options.game}.npz")
        print(f"written: {options.output / options.game}.npz")


if __name__ == "__main__":
    main()
