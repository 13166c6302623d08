"""Makes the policy "ntuple:proven": a learned player whose errors are put right until it wins every line.

    python tools/prove_ntuple.py            # a quarter of an hour on one core

A network of 150 tuples learns from 3 million games of self-play. Then every reply to it is played. Where its move
throws the win away it gets another: of the moves that the solver says keep the win, the one that the network likes
best. That is done again with what these lead to, until nothing is left to put right. Whoever wants to check the player
needs neither this tool nor the solver:

    tictac prove ntuple:proven --game ConnectFour-v0 --claim wins --folder proof
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from benchmarks.report import Row, save, show
from tictac_agents import NTupleTD
from tictac_agents.ntuple.proven_player import PROVEN, save_player
from tictac_env.games import get_game
from tictac_env.solver import Solver
from tools.kept_runs import Files, learned
from tools.reply_tree import ReplyTree

GAME = "ConnectFour-v0"
SETTINGS = {"tuples": 150, "seed": 0}
GAMES = 3_000_000
BITS = 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1, help="they change nothing but the time (default: 1)")
    parser.add_argument("--models", type=Path, default=Path("models"), help="folder for the checkpoint")
    parser.add_argument("--output", type=Path, default=PROVEN, help="folder for the player (default: the package's)")
    options = parser.parse_args()
    game, path = get_game(GAME), options.output / f"{GAME}.npz"
    options.models.mkdir(parents=True, exist_ok=True)
    files = Files(options.models, f"ntuple-proven-{GAME}", options.threads)
    network = learned(NTupleTD(game, **SETTINGS), GAMES, files, 0).network.rounded(BITS)  # type: ignore[arg-type]
    began = time.process_time()
    tree, solver, rows = ReplyTree(network, game), Solver(game), list[Row]()
    while errors := list(tree.errors(solver)):
        stones = [(error.own | error.opp).bit_count() for error in errors]
        phases = np.bincount(np.searchsorted([14, 28], stones, side="right"), minlength=3).tolist()
        rows.append({"positions asked about": tree.asked, "errors": len(errors)})
        rows[-1] |= dict(zip(("in the opening", "middle", "end"), phases, strict=True))
        rows[-1] |= {"CPU-s": round(time.process_time() - began)}
        show("Wins thrown away, and put right", rows)
        tree.correct(errors, solver)
    rows.append({"positions asked about": tree.asked, "errors": 0, "CPU-s": round(time.process_time() - began)})
    corrections = tree.needed()
    save_player(network, corrections, path)
    settings = {**SETTINGS, "games": GAMES, "bits": BITS, "corrections": len(corrections)}
    save("prove-ntuple", settings, {"rounds": rows})
    print(f"written: {path}; {len(corrections):,} corrections")


if __name__ == "__main__":
    main()
