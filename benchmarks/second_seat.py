"""What players win as second player on Connect Four against perfect play that errs in some of its moves.

    python benchmarks/second_seat.py [PLAYER ...] [--games 1000] [--workers 2]

Perfect play loses nothing to the second player, so one wins only by what the other side's errors give away, and by
playing perfectly from then on. That is mostly in positions which self-play seldom meets. Published agents are judged so
(Thill 2026). The games are drawn at random, as all would take too long. Finished runs are kept in
second-seat-runs.jsonl. An hour on one core, most of it by the deepest search.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from benchmarks.report import RESULTS, positive, save, show
from benchmarks.run_store import RunStore, Settings
from tictac_env.arena.exact.walk import seat_result
from tictac_env.cli.arguments import add_workers, chosen_workers
from tictac_env.games import get_game
from tictac_env.policies import make_policy

GAME, NAME = "ConnectFour-v0", "second-seat"
PLAYERS = ("perfect", "ntuple", "ntuple:4", "ntuple:8", "ntuple:10", "ntuple:12")
OPPONENTS = ("perfect:0.1", "perfect:0.2", "perfect:0.3")
PUBLISHED = {"perfect:0.1": 48.8, "perfect:0.2": 85.8, "perfect:0.3": 90.2}
"""What the published agents win, in per cent."""
GAMES = 1_000


def settings_of(player: str, opponent: str, games: int) -> Settings:
    """All that decides a run."""
    return {"game": GAME, "player": player, "opponent": opponent, "games": games, "seed": 0}


def run(settings: Settings) -> dict[str, Any]:
    """The games of one player as second against one opponent: shares in per cent, with 95 % intervals."""
    player, opponent = (make_policy(settings[side], GAME) for side in ("player", "opponent"))
    limits = {"max_positions": settings["games"], "games": settings["games"]}
    begun = time.process_time()
    found = seat_result(player, opponent, get_game(GAME), 1, settings["seed"], **limits)
    shares = {end: round(100 * share, 2) for end, share in zip(("won", "drawn", "lost"), found.shares, strict=True)}
    low, high = (round(100 * end, 2) for end in found.intervals[0])
    return {**shares, "won, from": low, "won, to": high, "CPU-s": round(time.process_time() - begun, 1)}


def table(store: RunStore, games: int) -> list[dict[str, str]]:
    """A line for each player that has played all opponents, and a first one for the published agents."""
    rows = [{"player": "published"} | {f"won v {name}, %": f"{won}" for name, won in PUBLISHED.items()}]
    players = dict.fromkeys([*PLAYERS, *(settings["player"] for settings, _ in store)])
    for player in players:
        jobs = {name: settings_of(player, name, games) for name in OPPONENTS}
        if not store.missing(jobs.values()):
            row = {"player": player}
            for name, job in jobs.items():
                found = store[job]
                row[f"won v {name}, %"] = f"{found['won']:.1f} ({found['won, from']:.1f}-{found['won, to']:.1f})"
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("players", nargs="*", metavar="PLAYER", help=f"policies (default: {', '.join(PLAYERS)})")
    parser.add_argument("--games", type=positive, default=GAMES, help="of each pair (default: %(default)s)")
    add_workers(parser)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    jobs = [settings_of(one, other, options.games) for one in options.players or PLAYERS for other in OPPONENTS]
    store = RunStore(options.output / f"{NAME}-runs.jsonl")
    store.complete(jobs, run, chosen_workers(options))
    rows = table(store, options.games)
    show("Won as second player against perfect play that errs", rows)
    save(NAME, {"game": GAME, "games": options.games}, {"players": rows}, options.output)


if __name__ == "__main__":
    main()
