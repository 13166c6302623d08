"""Exact results of policies against perfect play on Connect Four, from both seats; `level:6` to `level:10` by default.

    python benchmarks/exact_results.py                                # some minutes
    python benchmarks/exact_results.py --policies rule minimax-first:4

A policy that states its probabilities has one result. Any other is judged as a fixed map for each of some seeds, and
the mean of their results is given: each is exact, but another seed gives another map. If more positions are met than
`--max-positions`, a result is sampled; the record says how many are, and half the width of the widest 95 % interval,
the mean over the maps ("within", 0 where all are exact). CPU-s is what one map takes, both seats together.
Finished policies are kept in exact-results-runs.jsonl and not repeated.
"""

from __future__ import annotations

import time
from statistics import fmean

from benchmarks.records import add_output, parser_of, positive, save
from tictac_apps.bench.records import Row, RunSettings, RunStore, show
from tictac_apps.cli.arguments import add_workers, chosen_workers
from tictac_env.arena import SeatResult, exact_results
from tictac_env.games import get_game
from tictac_env.policies import make_policy
from tictac_env.policies.pool import Setting, level_settings
from tictac_env.position import Position

GAME = "ConnectFour-v0"
LEVELS = tuple(f"level:{number}" for number in range(6, 11))
DIGITS = 6


def described(setting: Setting) -> str:
    """The player of a level."""
    return f"{setting.policy}, {100 * setting.random:g} % random" if setting.random else setting.policy


def played_by(name: str) -> str:
    """The player of a level, or the policy's name."""
    base, _, number = name.partition(":")
    return described(level_settings(get_game(GAME))[int(number) - 1]) if base == "level" else name


def judged(settings: RunSettings) -> Row:
    """The policy's results against perfect play, the mean over its maps."""
    policy = make_policy(settings["policy"], GAME)
    policy.act(Position.start(get_game(GAME)), 0)  # compiled
    maps = 1 if policy.probabilities(Position.start(get_game(GAME))) is not None else settings["maps"]
    limits = settings["max_positions"], settings["games"]
    began = time.process_time()
    results = [exact_results(policy, "perfect", GAME, seed, *limits, progress=False) for seed in range(maps)]
    seconds = (time.process_time() - began) / maps
    row: dict[str, object] = {"policy": settings["policy"], "plays": settings["plays"], "maps": maps}
    for seat, found in (("first", [r.as_first for r in results]), ("second", [r.as_second for r in results])):
        row |= {f"{seat}, {what}": value for what, value in seat_columns(found).items()}
    return row | {"CPU-s": round(seconds, 3)}


def seat_columns(found: list[SeatResult]) -> dict[str, float]:
    shares = zip(("wins", "draws", "losses"), *(result.shares for result in found), strict=True)
    return {
        **{name: round(fmean(each), DIGITS) for name, *each in shares},
        "sampled": sum(not result.exact for result in found),
        "within": round(fmean(max(high - low for low, high in result.intervals) / 2 for result in found), DIGITS),
        "positions": round(fmean(result.positions for result in found)),
        "plies": round(fmean(result.plies for result in found), 3),
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--policies", nargs="+", default=LEVELS, help="names of policies (default: %(default)s)")
    parser.add_argument("--maps", type=positive, default=100, help="seeds of a fixed map (default: %(default)s)")
    parser.add_argument("--max-positions", type=positive, default=200_000, help="exact up to this number (%(default)s)")
    parser.add_argument("--games", type=positive, default=10_000, help="sampled beyond (default: %(default)s)")
    add_workers(parser)
    add_output(parser)
    options = parser.parse_args()
    shared = {name: getattr(options, name) for name in ("maps", "max_positions", "games")}
    jobs = [{"policy": name, "plays": played_by(name), **shared} for name in options.policies]
    store = RunStore(options.output / "exact-results-runs.jsonl")
    store.complete(jobs, judged, chosen_workers(options), "policies against perfect play")
    rows = [store[settings] for settings in jobs]
    show("Connect Four: results against perfect play", rows)
    save("exact-results", shared, {"perfect": rows}, options.output)


if __name__ == "__main__":
    main()
