"""Trains an n-tuple network to win as second player of Connect Four from a first player that errs.

    python tools/learn_second_seat.py      # three quarters of an hour of CPU time

Perfect play wins as first player, so the second wins only by errors of the other side. First the network learns what
positions are worth in best play, one side or the other erring to show it more of them. Then the first player errs in
all games, and what a position is worth counts these errors: so the second player learns to lead it into errors. The
network does not come with the package. It is written to the folder of the checkpoints, its judgement to
benchmarks/results. A run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.report import RESULTS, Row, save, show
from tictac_agents import NTupleNetwork, NTupleTD
from tictac_env.arena.exact.walk import seat_result
from tictac_env.policies import make_policy
from tictac_env.progress import progress_bar
from tools.kept_runs import Files, kept, learned

GAME, NAME = "ConnectFour-v0", "learned-second-seat"
SETTINGS: dict[str, Any] = {"tuples": 300, "erring": 1.0, "seed": 0}
ERRING = ("perfect:0.1", "perfect:0.2", "perfect:0.3")
ALL = 1 << 62
"""More positions than there are."""


class Stage(NamedTuple):
    """A part of the run."""

    games: int
    erring_seat: int | None
    step: float
    final_step: float


STAGES = (
    Stage(2_000_000, None, step=0.2, final_step=0.08),
    Stage(2_000_000, 0, step=0.2, final_step=0.02),
    Stage(2_000_000, 0, step=0.1, final_step=0.01),
)


class Judgement(NamedTuple):
    """How the games of a network are counted: likely ones exactly, and so many tell about the others."""

    plies: int
    """How far it looks ahead."""
    min_chance: float
    """How likely a position must be to be followed."""
    games: int


IN_BETWEEN = Judgement(1, 1e-3, 500)
JUDGED = (Judgement(1, 1e-5, 4_000), Judgement(8, 3e-5, 2_000))


def won_as_second(network: NTupleNetwork, opponent: str, how: Judgement) -> tuple[float, ...]:
    """The share of games that it wins, the 95 % interval, and the share that was followed exactly."""
    player, other, game = network.looking_ahead(how.plies), make_policy(opponent, network.game), network.game
    with progress_bar(game.cells, f"{how.plies} plies v {opponent}") as update:
        limits = {"max_positions": ALL, "games": how.games}
        found = seat_result(player, other, game, 1, **limits, update=update, min_chance=how.min_chance)
    return found.shares.wins, *found.intervals[0], found.followed


def judged(network: NTupleNetwork, files: Files, name: str, how: Judgement) -> Row:
    """A row of results against each opponent; each is kept in a file."""
    row: Row = {"plies looked ahead": how.plies}
    for opponent in ERRING:
        file = f"{name}-{how.plies}-{opponent.partition(':')[2]}"
        won, low, high, followed = kept(files, file, partial(won_as_second, network, opponent, how))
        row[f"won v {opponent}, %"] = f"{100 * won:.1f} ({100 * low:.1f}-{100 * high:.1f})"
        row[f"followed v {opponent}, %"] = round(100 * followed, 1)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1, help="they change nothing but the time (default: 1)")
    parser.add_argument("--models", type=Path, default=Path("models"), help="folder for the checkpoints")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    files = Files(options.models, NAME, options.threads)
    options.models.mkdir(parents=True, exist_ok=True)
    agent, rows = NTupleTD(GAME, **SETTINGS), list[Row]()
    for number, stage in enumerate(STAGES):
        agent.erring_seat, agent.step, agent.final_step = stage.erring_seat, stage.step, stage.final_step
        agent = learned(agent, stage.games, files, number)
        rows.append({"games": agent.num_games, **judged(agent.network, files, f"stage-{number}", IN_BETWEEN)})
        show("Won as second player", rows)
    network = agent.network
    network.save(options.models / f"{NAME}.npz")
    found = [judged(network, files, "judged", how) for how in JUDGED]
    show("Won as second player", found)
    settings = {"game": GAME, **SETTINGS, "stages": [stage._asdict() for stage in STAGES]}
    save(NAME, settings, {"stages": rows, "judged": found}, options.output)
    print(f"written: {options.models / NAME}.npz")


if __name__ == "__main__":
    main()
