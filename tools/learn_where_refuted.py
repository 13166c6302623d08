"""Trains an n-tuple network on 6 rows and 5 columns in rounds, each from where it was refuted.

    python tools/learn_where_refuted.py      # 3 minutes of CPU time

The game is a draw. The network, without search, learns until it holds the draw from both seats against every game of
perfect play. It does not come with the package. It is written to the folder of the checkpoints, its judgement to
benchmarks/results. A run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.report import RESULTS, Row, save, show
from tictac_agents import NTupleNetwork, NTupleTD
from tictac_env.arena import exact_results
from tools.kept_runs import Files, learned
from tools.refutation_rounds import Found, Rounds, refined
from tools.refutations import refutations

GAME, NAME = "KInARow-v0:6x5-4", "refuted-6x5"
SETTINGS: dict[str, Any] = {"tuples": 150, "erring": 0.3, "final_step": 0.02, "margin": 0.02, "seed": 0}
GAMES = 300_000
ROUNDS = Rounds(40, 60_000, step=0.06, chance=0.6, fall=0.97, repeated=True)


def where_it_gives_the_draw_away(network: NTupleNetwork, number: int) -> Found:
    """Positions in which perfect play gets the better of the network: all that it can lead to."""
    found, row = list[list[str]](), dict[str, int]()
    for seat, name in enumerate(("first", "second")):
        games, plies = refutations(network, network.game, seat, most=None, best=True)
        found.append(games)
        row |= {f"positions as {name}": sum(ply["positions"] for ply in plies), f"draw lost as {name}": len(games)}
    return found, row


def judged(network: NTupleNetwork) -> Iterator[Row]:
    """What the network gets against perfect play from either seat, of all games."""
    found = exact_results(network, "perfect", game=network.game)
    for name, seat in (("first", found.as_first), ("second", found.as_second)):
        shares = zip(("won", "drawn", "lost"), seat.shares, strict=True)
        yield {"seat": name} | {f"{end}, %": round(100 * share, 2) for end, share in shares}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1, help="they change nothing but the time (default: 1)")
    parser.add_argument("--models", type=Path, default=Path("models"), help="folder for the checkpoints")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    files = Files(options.models, NAME, options.threads)
    options.models.mkdir(parents=True, exist_ok=True)
    agent = learned(NTupleTD(GAME, **SETTINGS), GAMES, files, 0)
    network, rows = refined(agent, ROUNDS, where_it_gives_the_draw_away, files)
    network.save(options.models / f"{NAME}.npz")
    results = list(judged(network))
    show("Against perfect play", results)
    settings = {"game": GAME, **SETTINGS, "games": GAMES, "rounds": ROUNDS._asdict()}
    save(NAME, settings, {"rounds": rows, "judged": results}, options.output)
    print(f"written: {options.models / NAME}.npz")


if __name__ == "__main__":
    main()
