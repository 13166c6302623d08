"""Trains an n-tuple network to win as second player of Connect Four from a first player that errs.

    python tools/learn_second_seat.py --threads 2      # two and a half hours of CPU time, most of it to judge

Perfect play wins as first player, so the second wins only by errors of the other side. At first the network learns what
positions are worth in best play, one side or the other erring to show it more of them. Then the first player errs in
all games, and what a position is worth counts these errors: so the second player learns to lead it into errors. In the
end half of the games begin with positions that perfect play, erring in two moves of ten, has led the network to; it is
told where, never what would have been right. The network searches nothing, and does not come with the package. It is
written to the folder of the checkpoints, its judgement to benchmarks/results. In the end all games are followed that it
can play, 240 million positions, so the result is exact. A run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.report import RESULTS, Row, save, show
from tictac_agents import NTupleNetwork, NTupleTD
from tictac_env.arena import SeatResult
from tictac_env.arena.play import BOARDS, Job, play_games
from tictac_env.arena.results import seat_result
from tictac_env.games import Game
from tictac_env.policies import Policy, make_policy
from tictac_env.position import Position, format_moves
from tictac_env.progress import progress_bar
from tictac_env.rng import new_state
from tictac_env.solver import Solver
from tictac_env.solver.perfect import Perfect
from tools.kept_runs import Files, PerfectRemembered, Remembered, kept, learned

GAME, NAME = "ConnectFour-v0", "learned-second-seat"
SETTINGS: dict[str, Any] = {"tuples": 300, "erring": 1.0, "seed": 0}
ERRORS = (0.1, 0.2, 0.3)
"""How often the perfect players err that it is judged against."""
ENDS = ("won", "drawn", "lost")
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


MIN_CHANCE, GAMES = 1e-3, 500
"""After a stage, positions at least so likely are followed exactly, and so many games tell about the others."""
MEGABYTES = 2048
"""The most memory for the solver's table: 78 million positions would outgrow a small one."""


def positions_met(network: NTupleNetwork, games: int, seed: int) -> list[str]:
    """What games have come to in which the network was second: a move string for each of its turns, less the last ones.

    The seeds are others than those with which it is judged.
    """
    game, first = network.game, make_policy("perfect:0.2", network.game)
    jobs = [Job((first, network), new_state(seed + number), Position.start(game)) for number in range(games)]
    played = [one.final.moves for _, one in play_games(jobs, BOARDS)]
    return [format_moves(game, moves[:ply]) for moves in played for ply in range(3, len(moves) - 4, 2)]


def as_second(player: Policy, first: Policy, game: Game, games: int = 1, min_chance: float = 0.0) -> SeatResult:
    """How its games as second player end; exactly, if no chance is too small."""
    with progress_bar(game.cells, f"games v {first}") as update:
        return seat_result(player, first, game, 1, 0, ALL, games, update, min_chance)


def about(network: NTupleNetwork, first: Policy) -> tuple[float, ...]:
    """The share of games that it wins as second, the 95 % interval, and the share that was followed exactly."""
    found = as_second(network, first, network.game, games=GAMES, min_chance=MIN_CHANCE)
    return found.shares.wins, *found.intervals[0], found.followed


def judged_about(network: NTupleNetwork, files: Files, name: str) -> Iterator[Row]:
    """A row of results for each opponent; each is kept in a file."""
    for error in ERRORS:
        first = Perfect(error)
        shares = kept(files, f"{name}-{error}", partial(about, network, first))
        won, low, high, followed = (round(100 * share, 1) for share in shares)
        yield {"opponent": str(first), "won, %": won, "from": low, "to": high, "followed exactly, %": followed}


def judged_exactly(network: NTupleNetwork, files: Files, name: str) -> Iterator[Row]:
    """The same, exactly. What was played and solved is kept, too: it does not depend on how often there are errors."""
    answers, game = files.folder / f"{files.name}-{name}-answers", network.game
    player, solver = Remembered(network, answers / "network"), Solver(game, MEGABYTES, files.threads)

    def exactly(first: Policy) -> tuple[float, ...]:
        found = as_second(player, first, game)
        return *found.shares, found.positions

    for error in ERRORS:
        first = PerfectRemembered(error, solver, answers / "perfect")
        *shares, positions = kept(files, f"{name}-{error}", partial(exactly, first))
        ends = {f"{end}, %": round(100 * share, 2) for end, share in zip(ENDS, shares, strict=True)}
        yield {"opponent": str(first), **ends, "positions": positions}


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
        rows += [{"games": agent.num_games, **row} for row in judged_about(agent.network, files, f"stage-{number}")]
        show("Won as second player after each stage", rows)
    network = agent.network
    network.save(options.models / f"{NAME}.npz")
    results = list(judged_exactly(network, files, "exactly"))
    show("As second player, exactly", results)
    settings = {"game": GAME, **SETTINGS, "stages": [stage._asdict() for stage in STAGES]}
    save(NAME, settings, {"stages": rows, "exactly": results}, options.output)
    print(f"written: {options.models / NAME}.npz")


if __name__ == "__main__":
    main()
