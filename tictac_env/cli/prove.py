"""Plays every reply to a player, and so proves that it never loses, or always wins, or shows the games that refute it.

Nothing is sampled. On Connect Four a first player that is hard to beat meets some 100 million positions: this takes
minutes if it does not search. With a folder, the same command goes on where it was stopped, and leaves the certificate
there. The exit status is 1 if the claim is refuted.
"""

from __future__ import annotations

import argparse
import dataclasses

from tictac_env.arena import prove
from tictac_env.arena.proof import CLAIMS
from tictac_env.cli.arguments import (
    add_file,
    add_game,
    add_json,
    add_player,
    add_seed,
    add_workers,
    chosen_game,
    chosen_workers,
    print_json,
    whole_number,
)

EXAMPLES = """examples:

  tictac prove minimax --seat second
  tictac prove q.npz --claim wins
  tictac prove ntuple:proven --game ConnectFour-v0 --claim wins --folder proof --workers 2
"""
SEATS = ("first", "second")


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    add_player(parser, "player")
    add_game(parser, of="player")
    parser.add_argument("--seat", choices=SEATS, default="first", help="which side it plays (default: %(default)s)")
    parser.add_argument(
        "--claim", choices=list(CLAIMS), default="never loses", help="what is to be proven (default: %(default)s)"
    )
    parser.add_argument(
        "--refutations", type=whole_number(1), default=1, metavar="N", help="end once so many are found (default: 1)"
    )
    parser.add_argument(
        "--to-the-end", action="store_true", help="ask about all positions, even if so many games refute the claim"
    )
    add_file(parser, "--folder", folder=True, help="where the work and the certificate are kept (default: nowhere)")
    add_seed(parser)
    add_workers(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Proves or refutes, and prints which; 1 if refuted."""
    proof = prove(
        options.player,
        SEATS.index(options.seat),
        chosen_game(options, options.player),
        claim=options.claim,
        refutations=options.refutations,
        seed=options.seed,
        folder=options.folder,
        to_the_end=options.to_the_end,
        workers=chosen_workers(options),
    )
    if options.json:
        plies = [ply._asdict() for ply in proof.plies]
        print_json({"proven": proof.proven, "holds": proof.holds, **dataclasses.asdict(proof), "plies": plies})
    else:
        print(proof)
    return 0 if proof.holds else 1
