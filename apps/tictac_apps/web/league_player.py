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
from pathlib import Path
from typing import TypedDict

from tictac_env.arena import move_accuracy, round_robin, sampled_openings, suite, verdict
from tictac_env.arena.auditing import REPORTING
from tictac_env.games import Game, game_name, get_game
from tictac_env.games.registry import import_game
from tictac_env.lazy import see_current_folder
from tictac_env.policies import load_player
from tictac_env.solver.enumerate import SMALL_CELLS

GAMES = 10
"""The games of a pair: five openings, each from both seats."""
OPENINGS = 24
"""The openings from which those of all pairs are drawn: ratings count an opening as one sample."""


class JobRequest(TypedDict):
    """A job."""

    game: str
    players: dict[str, str]
    """By their names in the league, names or files of one or two players."""


class Truth(TypedDict, total=False):
    """The exact truth about a player; what cannot be computed for its game is missing."""

    unbeatable: bool | None
    """Small games: true if no legal replies beat it."""
    beaten_first: str | None
    """Small games: the shortest game that beats it as the first player, None if there is none."""
    beaten_second: str | None
    mistakes: float | None
    """Games with a suite: the share of its positions in which the player errs."""


class JobAnswer(Truth, total=False):
    """The answer to a job: the truth about its one player, empty after games, or an error."""

    failed: str


@functools.cache
def openings(game: Game) -> tuple[str, ...]:
    """The openings of a game: the empty board, and some after random moves, fewer if there are fewer."""
    moves = [""]
    for plies in (2, 4) if game.cells <= SMALL_CELLS else (4, 6):
        with contextlib.suppress(ValueError):  # so small a board has fewer
            moves += [position.to_moves() for position in sampled_openings(game, plies, OPENINGS // 2)]
    return tuple(moves)


def judged(player: str, game: Game) -> JobAnswer:
    """The exact truth about a player."""
    policy = load_player(player, game).policy
    if game.cells <= SMALL_CELLS:
        exact = verdict(policy, game)
        return {
            "unbeatable": exact.unbeatable,
            "beaten_first": exact.as_first.losing_line,
            "beaten_second": exact.as_second.losing_line,
        }
    name = REPORTING.get(game_name(game) or "")
    return {"mistakes": float(move_accuracy(policy, suite(name), game).overall.mistakes[0])} if name else {}


def do_job(job: JobRequest, store: Path) -> JobAnswer:
    """Does a job, and returns its answer."""
    game, players = get_game(job["game"]), job["players"]
    try:
        if len(players) == 1:
            return judged(next(iter(players.values())), game)
        seed = zlib.crc32("\n".join(players).encode())  # draws the openings of the pair
        round_robin(players, game, GAMES, seed, openings=openings(game), store=store)
    except (Exception, SystemExit) as error:  # a player may raise anything
        return {"failed": f"{type(error).__name__}: {error}"[:300]}
    return {}


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
        output.write(json.dumps(do_job(json.loads(line), Path(store))) + "\n")
        output.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
