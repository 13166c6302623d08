"""Trains two n-tuple networks in rounds, each from where it was refuted; neither comes with the package.

    python tools/learn_where_refuted.py 6x5       # 3 minutes of CPU time
    python tools/learn_where_refuted.py second    # 55 minutes of CPU time

`6x5` learns the game on 6 rows and 5 columns, a draw, until it holds the draw from both seats against every game of
perfect play. `second` learns to win on Connect Four as second player, from perfect play that errs in some of its moves;
errors are looked for in games against it. Both search nothing. The networks are written to the folder of the
checkpoints, their judgement to benchmarks/results. A run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.report import RESULTS, Row, save, show
from tictac_agents import NTupleNetwork, NTupleTD
from tictac_env.arena import exact_results
from tictac_env.arena.exact.walk import seat_result
from tictac_env.policies import make_policy
from tictac_env.progress import progress_bar
from tools.refutation_rounds import Files, Find, Found, Rounds, kept, learned, refined
from tools.refutations import errors_in_games, refutations

ERRING = ("perfect:0.1", "perfect:0.2", "perfect:0.3")
SAMPLED = 600
"""How many games are played against each of these in a round."""
ALL = 1 << 62
"""More positions than there are."""
JUDGED = {1: 1e-5, 8: 3e-5, 12: 3e-4}
"""How far the network looks ahead where it is judged as second player, and how likely a position must be to be followed
there; the deeper it looks, the longer each position takes."""
GAMES = 2_000
"""So many games tell about the others."""


def where_it_gives_the_draw_away(network: NTupleNetwork, number: int) -> Found:
    """Positions in which perfect play gets the better of the network: all that it can lead to."""
    found, row = list[list[str]](), dict[str, int]()
    for seat, name in enumerate(("first", "second")):
        games, plies = refutations(network, network.game, seat, most=None, best=True)
        found.append(games)
        row |= {f"positions as {name}": sum(ply["positions"] for ply in plies), f"draw lost as {name}": len(games)}
    return found, row


def where_it_errs_as_second(network: NTupleNetwork, number: int) -> Found:
    """Positions in which the network, as second player, does not play what is worth most."""
    found, row = list[str](), dict[str, float]()
    for opponent in ERRING:
        errors, won = errors_in_games(network, network.game, 1, opponent, SAMPLED, seed=number * SAMPLED)
        found += errors
        row |= {f"errors v {opponent}": len(errors), f"won v {opponent}, %": round(100 * won / SAMPLED, 1)}
    return [found], row


def judged_exactly(network: NTupleNetwork, files: Files) -> Iterator[Row]:
    """What the network gets against perfect play from either seat, of all games."""
    found = exact_results(network, "perfect", game=network.game)
    for name, seat in (("first", found.as_first), ("second", found.as_second)):
        shares = zip(("won", "drawn", "lost"), seat.shares, strict=True)
        yield {"seat": name} | {f"{end}, %": round(100 * share, 2) for end, share in shares}


def judged_as_second(network: NTupleNetwork, files: Files) -> Iterator[Row]:
    """What the network wins as second player against perfect play that errs; each result is kept in a file."""
    for plies, chance in JUDGED.items():
        row: dict[str, Any] = {"plies looked ahead": plies}
        for opponent in ERRING:
            name = f"judged-{plies}-{opponent.partition(':')[2]}"
            won, low, high, followed = kept(files, name, partial(won_as_second, network, plies, opponent, chance))
            row[f"won v {opponent}, %"] = f"{100 * won:.1f} ({100 * low:.1f}-{100 * high:.1f})"
            row[f"followed v {opponent}, %"] = round(100 * followed, 1)
        yield row


def won_as_second(network: NTupleNetwork, plies: int, opponent: str, chance: float) -> tuple[float, ...]:
    """The share of games that it wins, looking so far ahead, and the interval; and how many games were followed.

    They are exact for the likely games; the rest is sampled.
    """
    player, other, game = network.looking_ahead(plies), make_policy(opponent, network.game), network.game
    limits = {"max_positions": ALL, "games": GAMES}
    with progress_bar(game.cells, f"{plies} plies v {opponent}") as update:
        found = seat_result(player, other, game, 1, **limits, update=update, min_chance=chance)
    return found.shares.wins, *found.intervals[0], found.followed


class Run(NamedTuple):
    """How a network is made, and judged."""

    game: str
    settings: dict[str, Any]
    games: int
    rounds: Rounds
    find: Find
    judged: Callable[[NTupleNetwork, Files], Iterator[Row]]


RUNS = {
    "6x5": Run(
        "KInARow-v0:6x5-4",
        {"tuples": 150, "erring": 0.3, "final_step": 0.02, "margin": 0.02, "seed": 0},
        games=300_000,
        rounds=Rounds(40, 60_000, step=0.06, chance=0.6, fall=0.97, repeated=True),
        find=where_it_gives_the_draw_away,
        judged=judged_exactly,
    ),
    "second": Run(
        "ConnectFour-v0",
        {"tuples": 300, "erring": 1.0, "step": 0.2, "seed": 0},
        games=2_000_000,
        rounds=Rounds(8, 250_000, step=0.06, chance=0.4, fall=0.96),
        find=where_it_errs_as_second,
        judged=judged_as_second,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", choices=list(RUNS))
    parser.add_argument("--threads", type=int, default=1, help="they change nothing but the time (default: 1)")
    parser.add_argument("--models", type=Path, default=Path("models"), help="folder for the checkpoints")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    run, name = RUNS[options.run], f"refuted-{options.run}"
    files = Files(options.models, name, options.threads)
    options.models.mkdir(parents=True, exist_ok=True)
    agent = learned(NTupleTD(run.game, **run.settings), run.games, files, 0)
    network, rows = refined(agent, run.rounds, run.find, files)
    network.save(options.models / f"{name}.npz")
    judged = list(run.judged(network, files))
    show("Against perfect play", judged)
    settings = {"game": run.game, **run.settings, "games": run.games, "rounds": run.rounds._asdict()}
    save(name, settings, {"rounds": rows, "judged": judged}, options.output)
    print(f"written: {options.models / name}.npz")


if __name__ == "__main__":
    main()
