"""Makes the results of the benchmark's opponents that come with the package.

    python tools/ship_opponents.py                         # both games: two minutes on two cores
    python tools/ship_opponents.py --game ConnectFour-v0
    python tools/ship_opponents.py --store build/opponents # its folder, from which a stopped run continues

The opponents are those that need no training (`OPPONENTS` of `apps/tictac_apps/bench/cast.py`). They are judged and
play a round robin as in `tictac bench --fresh`, from openings of two plies and with seed 0, so the benchmark takes
these results over. Each player's settings and the hash of its content are in the file: results of a player that has
changed since do not count. Run it again when a test says so.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import tictac_env
from benchmarks.records import parser_of
from tictac_apps.bench.bench_record import Machine
from tictac_apps.bench.cast import OPPONENTS, cast, scale_of
from tictac_apps.bench.guard import TIME_LIMIT
from tictac_apps.bench.judging import PlayerJob
from tictac_apps.bench.records import machine, record_json
from tictac_apps.bench.run import OPENING_PLIES, judged_and_played
from tictac_apps.bench.shipped import FOLDER, ShippedGame, ShippedJudgement, ShippedResults
from tictac_apps.cli.arguments import add_workers, chosen_workers
from tictac_env.arena import Entrant
from tictac_env.games import get_game
from tictac_env.storage import save_text


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--game", choices=list(OPPONENTS), action="append", help="may be repeated (default: both)")
    parser.add_argument("--store", type=Path, default=Path("build/opponents"), help="default: %(default)s")
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder of the results (default: the package's)")
    add_workers(parser, 2)
    options = parser.parse_args()
    for game in options.game or OPPONENTS:
        players = cast(OPPONENTS[game], game, str(options.store), scale_of(game, False), 0, {})
        rules, scales, workers = {game: get_game(game)}, {game: scale_of(game, False)}, chosen_workers(options)
        job = PlayerJob({game: players}, rules, scales, options.store, 0, TIME_LIMIT, workers, os.getpid())
        results = results_of(job, game)
        save_text(options.output / f"{game}.json", record_json(asdict(results)))
        print(f"{game}: {len(results.games):,} games of {len(results.players)} opponents")


def results_of(job: PlayerJob, game: str) -> ShippedResults:
    """The results of a job of opponents.

    Raises:
        ValueError: an opponent forfeited a game.
    """
    judged, tournament = judged_and_played(job, game)
    if tournament.forfeits:
        raise ValueError(f"{tournament.forfeits[0].forfeited_by} forfeited: {tournament.forfeits[0].forfeit}")
    numbers: dict[Entrant, int] = {}
    games = []
    for record in tournament.games:
        first, second = (
            numbers.setdefault(side, len(numbers)) for side in (record.fixture.first, record.fixture.second)
        )
        games.append(ShippedGame(first, second, record.moves, record.result))
    judgements = (
        ShippedJudgement(json.loads(json.dumps(job.settings_of(game, player))), judged[player.name])
        for player in job.players[game]
    )
    return ShippedResults(
        version=tictac_env.__version__,
        machine=Machine(**machine()),
        game=game,
        seed=job.seed,
        opening_plies=OPENING_PLIES,
        players=tuple(numbers),
        games=tuple(games),
        judgements=tuple(judgements),
    )


if __name__ == "__main__":
    main()
