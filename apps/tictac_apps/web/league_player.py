"""The process that plays the games of a league: `python -P -m tictac_apps.web.league_player STORE [GAME...]`.

It reads jobs from its input, a line of JSON each (`JobRequest`), and writes a line of JSON for each (`JobAnswer`). A
job with two players is to play their games, which the store keeps; a job with one player is to judge it. The process
ends when its input does, and so with the program that started it. The games are those of the server; of
"module:Name-v0" the module is imported.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path

from tictac_env.arena import move_accuracy, round_robin, sampled_openings, suite, verdict
from tictac_env.arena.auditing import REPORTING
from tictac_env.arena.typed_json import read_as
from tictac_env.checks import number
from tictac_env.games import Game, game_name, get_game
from tictac_env.games.registry import import_game
from tictac_env.lazy import see_current_folder
from tictac_env.policies import load_player
from tictac_env.solver.enumerate import SMALL_CELLS
from tictac_env.storage import read_json

PAIR_GAMES = 10
"""The games of a pair: five openings, each from both seats."""
OPENINGS = 24
"""The openings from which those of all pairs are drawn: ratings count an opening as one sample."""


@dataclass(frozen=True)
class JobRequest:
    """A job: a game, and the names or files of one or two players by their names in the league."""

    game: str
    players: dict[str, str]


@dataclass(frozen=True)
class Truth:
    """The exact truth about a player; what is not known, or cannot be computed for its game, is None.

    Attributes:
        unbeatable: on a small game True if no legal replies beat it.
        beaten_first: on a small game the shortest game that beats it as the first player.
        beaten_second: as the second player.
        mistakes: of a game with a suite the share of its positions in which the player errs.

    Raises:
        ValueError: the share is not in [0, 1].
    """

    unbeatable: bool | None = None
    beaten_first: str | None = None
    beaten_second: str | None = None
    mistakes: float | None = None

    def __post_init__(self) -> None:
        if self.mistakes is not None:
            number("mistakes", self.mistakes, 0, 1)


@dataclass(frozen=True)
class JobAnswer:
    """The answer to a job: the truth about its one player, None after games; or the reason why it `failed`."""

    truth: Truth | None = None
    failed: str = ""


@functools.cache
def openings(game: Game) -> tuple[str, ...]:
    """The openings of a game: the empty board, and some after random moves, fewer if there are fewer."""
    moves = [""]
    for plies in (2, 4) if game.cells <= SMALL_CELLS else (4, 6):
        with contextlib.suppress(ValueError):  # so small a board has fewer
            moves += [position.to_moves() for position in sampled_openings(game, plies, OPENINGS // 2)]
    return tuple(moves)


def judged(player: str, game: Game) -> Truth:
    """The exact truth about a player."""
    policy = load_player(player, game).policy
    if game.cells <= SMALL_CELLS:
        exact = verdict(policy, game)
        return Truth(exact.unbeatable, exact.as_first.losing_line, exact.as_second.losing_line)
    name = REPORTING.get(game_name(game) or "")
    return Truth(mistakes=move_accuracy(policy, suite(name), game).overall.mistakes[0] if name else None)


def do_job(job: JobRequest, store: Path) -> JobAnswer:
    """Does a job, and returns its answer."""
    game = get_game(job.game)
    try:
        if len(job.players) == 1:
            (player,) = job.players.values()
            return JobAnswer(judged(player, game))
        seed = zlib.crc32("\n".join(job.players).encode())  # draws the openings of the pair
        round_robin(job.players, game, PAIR_GAMES, seed, openings=openings(game), store=store)
    except (Exception, SystemExit) as error:  # a player may raise anything
        return JobAnswer(failed=f"{type(error).__name__}: {error}"[:300])
    return JobAnswer()


def main() -> int:
    """Does the jobs of the input, until it ends; returns the exit status."""
    store, *games = sys.argv[1:]
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)  # visitors who play come before the league
    output, sys.stdout = sys.stdout, sys.stderr  # what agents print must not come between the answers
    see_current_folder()
    for game in games:
        import_game(game)
    for line in sys.stdin:
        output.write(json.dumps(asdict(do_job(read_as(JobRequest, read_json(line)), Path(store)))) + "\n")
        output.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
