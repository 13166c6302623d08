"""Trains the n-tuple networks that come with the package, the policy "ntuple".

    python tools/ship_ntuple.py TicTacToe-v0      # seconds
    python tools/ship_ntuple.py ConnectFour-v0    # 13 minutes of CPU time

On Connect Four the run is followed by rounds. In each, replies are looked for that refute the network as first player
(`refutations.py`), and it learns on, a part of the games beginning with the positions of these: it is told where it
failed, never what would have been right. The network of the round that failed least is the one that is shipped. The
same seed gives the same network, to the bit. A run that was stopped goes on from its checkpoint, one for each round.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.report import save
from tictac_agents import NTupleNetwork, NTupleTD
from tictac_agents.ntuple.network import SHIPPED
from tictac_env.games import get_game
from tools.kept_runs import Files, learned
from tools.refutation_rounds import Found, Rounds, refined
from tools.refutations import refutations


class Run(NamedTuple):
    """How a network is made."""

    settings: dict[str, Any]
    games: int
    bits: int
    """Of a weight in the file."""
    rounds: Rounds | None = None


RUNS = {
    "TicTacToe-v0": Run({"tuples": 12, "length": 6, "seed": 0}, games=20_000, bits=8),
    "ConnectFour-v0": Run(
        {"seed": 0}, games=3_000_000, bits=12, rounds=Rounds(10, 500_000, step=0.1, chance=0.3, repeated=True)
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", choices=list(RUNS))
    parser.add_argument("--threads", type=int, default=1, help="they change nothing but the time (default: 1)")
    parser.add_argument("--models", type=Path, default=Path("models"), help="folder for the checkpoints")
    parser.add_argument("--output", type=Path, default=SHIPPED, help="folder for the network (default: the package's)")
    options = parser.parse_args()
    run, files = RUNS[options.game], Files(options.models, f"ntuple-{options.game}", options.threads)
    options.models.mkdir(parents=True, exist_ok=True)
    agent = learned(NTupleTD(get_game(options.game), **run.settings), run.games, files, 0)
    network = agent.network
    if run.rounds:
        network, rows = refined(agent, run.rounds, where_it_throws_its_win_away, files)
        settings = {"game": options.game, **run._asdict(), "rounds": run.rounds._asdict()}
        save("ship-ntuple", settings, {"rounds": rows})
    network.rounded(run.bits).save(options.output / f"{options.game}.npz")
    print(f"written: {options.output / options.game}.npz")


def where_it_throws_its_win_away(network: NTupleNetwork, number: int) -> Found:
    """Positions in which the network, as first player, errs after the round of that number."""
    games, row = list[str](), dict[str, int]()
    for replies in ("all", "best"):
        found, plies = refutations(network, network.game, seed=number + 1, best=replies == "best")
        games += found
        row |= {f"positions, {replies} replies": sum(ply["positions"] for ply in plies)}
        row |= {f"win lost, {replies} replies": len(found)}
    return [games], row


if __name__ == "__main__":
    main()
