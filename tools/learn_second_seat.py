"""Trains an n-tuple network to win as second player of Connect Four from a first player that errs.

    python tools/learn_second_seat.py      # an hour of CPU time

Perfect play wins as first player, so the second wins only by errors of the other side. At first the network learns what
positions are worth in best play, one side or the other erring to show it more of them. Then the first player errs in
all games, and what a position is worth counts these errors: so the second player learns to lead it into errors. In the
end half of the games begin with positions that perfect play, erring in two moves of ten, has led the network to; it is
told where, never what would have been right. The network searches nothing, and does not come with the package. It is
written to the folder of the checkpoints, its judgement to benchmarks/results. A run that was stopped goes on where it
was.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.report import RESULTS, Row, save, show
from tictac_agents import NTupleNetwork, NTupleTD
from tictac_env.arena.exact.walk import seat_result
from tictac_env.arena.tournaments.play import BOARDS, Job, play_games
from tictac_env.notation import format_moves
from tictac_env.policies import make_policy
from tictac_env.position import Position
from tictac_env.progress import progress_bar
from tictac_env.rng import new_state
from tools.kept_runs import Files, kept, learned

GAME, NAME = "ConnectFour-v0", "learned-second-seat"
SETTINGS: dict[str, Any] = {"tuples": 300, "erring": 1.0, "seed": 0}
ERRING = ("perfect:0.1", "perfect:0.2", "perfect:0.3")
ALL = 1 << 62
"""More positions than there are."""
FAR_APART = 1_000_000
"""The seeds of a stage's games follow each other."""


class Stage(NamedTuple):
    """A part of the run."""

    games: int
    erring_seat: int | None
    step: float
    final_step: float
    margin: float = 0.05
    met: int = 0
    """How many games against perfect play that errs tell where half of its games begin."""


WITH_ERRORS = Stage(2_000_000, 0, step=0.1, final_step=0.01)
WHERE_LED = Stage(1_500_000, 0, step=0.1, final_step=0.01, margin=0.02, met=1_500)
STAGES = (
    Stage(2_000_000, None, step=0.2, final_step=0.08),
    WITH_ERRORS._replace(step=0.2, final_step=0.02),
    *[WITH_ERRORS] * 2,
    *[WHERE_LED] * 4,
)


class Judgement(NamedTuple):
    """How the games of a network are counted: likely ones exactly, and so many tell about the others."""

    min_chance: float
    """How likely a position must be to be followed."""
    games: int


IN_BETWEEN, IN_THE_END = Judgement(1e-3, 500), Judgement(1e-5, 4_000)


def positions_met(network: NTupleNetwork, games: int, seed: int) -> list[str]:
    """What games have come to in which the network was second: a move string for each of its turns, less the last ones.

    The seeds are others than those with which it is judged.
    """
    game, first = network.game, make_policy("perfect:0.2", network.game)
    jobs = [Job((first, network), new_state(seed + number), Position.start(game)) for number in range(games)]
    played = [one.final.moves for _, one in play_games(jobs, BOARDS)]
    return [format_moves(game, moves[:ply]) for moves in played for ply in range(3, len(moves) - 4, 2)]


def won_as_second(network: NTupleNetwork, opponent: str, how: Judgement) -> tuple[float, ...]:
    """The share of games that it wins, the 95 % interval, and the share that was followed exactly."""
    other, game = make_policy(opponent, network.game), network.game
    with progress_bar(game.cells, f"games v {opponent}") as update:
        limits = {"max_positions": ALL, "games": how.games}
        found = seat_result(network, other, game, 1, **limits, update=update, min_chance=how.min_chance)
    return found.shares.wins, *found.intervals[0], found.followed


def judged(network: NTupleNetwork, files: Files, name: str, how: Judgement) -> Iterator[Row]:
    """A row of results for each opponent; each is kept in a file."""
    for opponent in ERRING:
        make = partial(won_as_second, network, opponent, how)
        won, low, high, followed = (round(100 * share, 1) for share in kept(files, f"{name}-{opponent[-3:]}", make))
        yield {"opponent": opponent, "won, %": won, "from": low, "to": high, "followed exactly, %": followed}


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
        if stage.met:
            seed = number * FAR_APART
            starts = kept(files, f"starts-{number}", partial(positions_met, agent.network, stage.met, seed))
            agent.start_from(starts, 0.5)
        agent.erring_seat, agent.margin = stage.erring_seat, stage.margin
        agent.step, agent.final_step = stage.step, stage.final_step
        agent = learned(agent, stage.games, files, number)
        rows += [
            {"games": agent.num_games, **row} for row in judged(agent.network, files, f"stage-{number}", IN_BETWEEN)
        ]
        show("Won as second player after each stage", rows)
    network = agent.network
    network.save(options.models / f"{NAME}.npz")
    results = list(judged(network, files, "judged", IN_THE_END))
    show("Won as second player", results)
    settings = {"game": GAME, **SETTINGS, "stages": [stage._asdict() for stage in STAGES]}
    save(NAME, settings, {"stages": rows, "judged": results}, options.output)
    print(f"written: {options.models / NAME}.npz")


if __name__ == "__main__":
    main()
