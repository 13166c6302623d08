"""How first players fare against searches of one to eight plies: exactly, nothing sampled.

    python benchmarks/ntuple_searches.py [PLAYER ...] [--folder proofs] [--workers 2]

A shallow search plays nearly anything, so its games reach nearly every position that a player can meet; a player that
hardly ever fails does so in few of them. First `prove` asks the player about all positions, then games are followed
only where it may still fail to win (`ListedPlayer`). Five minutes and 2 GB of disk a player; --folder keeps the proofs.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.report import RESULTS, Row, save, show
from tictac_env.arena import ListedPlayer, Proof, prove
from tictac_env.arena.exact.walk import seat_result
from tictac_env.cli.arguments import add_workers, chosen_workers
from tictac_env.policies import make_policy

GAME, NAME = "ConnectFour-v0", "ntuple-searches"
PLAYERS = ("ntuple", "ntuple:proven")
DEPTHS = range(1, 9)
ENDS = ("won", "drawn", "lost")
ALL = 1 << 62
"""More positions than there are."""


def against_searches(player: ListedPlayer) -> list[Row]:
    """A row for each depth: how the player's games against it end, and how many positions decided that."""
    rows: list[Row] = []
    for depth in DEPTHS:
        opponent = make_policy(f"minimax:{depth}", player.game)
        found = seat_result(player, opponent, player.game, 0, max_positions=ALL)
        ends = {f"{end}, %": round(100 * share, 4) for end, share in zip(ENDS, found.shares, strict=True)}
        rows.append({"player": str(player), "opponent": str(opponent)} | ends | {"positions": found.positions})
    return rows


def listed(proof: Proof, player: ListedPlayer, seconds: float) -> Row:
    """What a player was asked about."""
    asked = {"positions asked about": proof.positions, "may fail": player.failing}
    ends = {end: sum(getattr(ply, end) for ply in proof.plies) for end in ENDS}
    return {"player": str(player)} | asked | ends | {"seconds": round(seconds)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("players", nargs="*", metavar="PLAYER", help=f"policies (default: {', '.join(PLAYERS)})")
    parser.add_argument("--game", default=GAME, help="(default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="where the proofs are kept (default: nowhere)")
    add_workers(parser)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    proofs: list[Row] = []
    games: list[Row] = []
    with tempfile.TemporaryDirectory() as nowhere:
        for name in options.players or PLAYERS:
            folder = (options.folder or Path(nowhere)) / Path(name).name.replace(":", "-")
            began = time.perf_counter()
            workers = chosen_workers(options)
            proof = prove(name, 0, options.game, claim="wins", to_the_end=True, folder=folder, workers=workers)
            player = ListedPlayer(folder)
            proofs.append(listed(proof, player, time.perf_counter() - began))
            games += against_searches(player)
            show("Asked about all positions", proofs)
            show("As first player against searches, exactly", games)
    save(NAME, {"game": options.game}, {"proofs": proofs, "games": games}, options.output)


if __name__ == "__main__":
    main()
