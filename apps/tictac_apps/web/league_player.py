"""The process that plays the games of a league: `python -P -m tictac_apps.web.league_player STORE [GAME...]`.

It reads jobs from its input, a line of JSON each, and answers each with a line: `{"game", "players"}` with two players,
by name, plays their games, which the store keeps; with one it judges it. The answer is what it found, or
`{"failed": why}`. It ends with its input, and so with the program that began it. The games are those of the server; of
"module:Name-v0" the module is imported.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
"""The openings that those of all pairs are drawn from: ratings count an opening as one sample."""


@functools.cache
def openings(game: Game) -> tuple[str, ...]:
    """The openings of a game: the empty board, and some after random moves, fewer if there are fewer."""
    found = [""]
    for plies in (2, 4) if game.cells <= SMALL_CELLS else (4, 6):
        with contextlib.suppress(ValueError):  # so small a board has fewer
            found += [one.to_moves() for one in sampled_openings(game, plies, OPENINGS // 2)]
    return tuple(found)


def judged(player: str, game: Game) -> dict[str, Any]:
    """The exact truth about a player, for JSON.

    Returns:
        On a small game `unbeatable`, and `beaten_first` and `beaten_second`, for each seat the shortest game that beats
        it, None if none does; on a game with a suite `mistakes`, the share of its positions in which it errs; on others
        nothing.
    """
    policy = load_player(player, game).policy
    if game.cells <= SMALL_CELLS:
        found = verdict(policy, game)
        lines = {"beaten_first": found.as_first.losing_line, "beaten_second": found.as_second.losing_line}
        return {"unbeatable": found.unbeatable, **lines}
    known = REPORTING.get(game_name(game) or "")
    return {"mistakes": float(move_accuracy(policy, suite(known), game).overall.mistakes[0])} if known else {}


def done(job: Mapping[str, Any], store: Path) -> dict[str, Any]:
    """Does a job; returns what it found."""
    game, players = get_game(job["game"]), job["players"]
    try:
        if len(players) == 1:
            return judged(next(iter(players.values())), game)
        seed = zlib.crc32("\n".join(players).encode())  # which openings the pair has
        round_robin(players, game, GAMES, seed, openings=openings(game), store=store)
    except (Exception, SystemExit) as error:  # of whatever a player does
        return {"failed": f"{type(error).__name__}: {error}"[:300]}
    return {}


def main() -> int:
    """Does the jobs of the input, until it ends; returns the exit status."""
    store, *games = sys.argv[1:]
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)  # who plays comes before what the league plays
    output, sys.stdout = sys.stdout, sys.stderr  # what agents print is no answer
    see_current_folder()
    for game in games:
        import_game(game)
    for line in sys.stdin:
        output.write(json.dumps(done(json.loads(line), Path(store))) + "\n")
        output.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
