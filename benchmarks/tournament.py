"""Every kind of agent on both games: trains the learners, judges everybody by the exact truth, and has all play all.

    python benchmarks/tournament.py                   # the quick setting, what `make bench` runs
    python benchmarks/tournament.py --full            # more agents, games, positions and seeds
    python benchmarks/tournament.py --no-deep         # without networks, so without torch
    python benchmarks/tournament.py --agents ConnectFour-v0 usual mine.npz mcts:4000

`--agents GAME PLAYER ...` says who plays a game: learners by name, whatever `load_player` accepts (names of policies,
files of agents, "module:name"), or "usual" for the usual players.

In the folder of the results are report.html, the page; results.json (its schema is benchmarks/results.schema.json); and
what makes a killed run go on where it was: games.sqlite, trainings-runs.jsonl, audits-runs.jsonl, and agents, the files
of those that were trained.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

# Before torch is imported: networks this small are the fastest on one thread, and a process that is forked from one in
# which torch has several waits for ever.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import tictac_env
from benchmarks.contestants import (
    DEEP,
    FULL,
    LEARNERS,
    QUICK,
    TITLES,
    Contestant,
    contestants,
    one_move_rule,
    train,
    untrained,
    without_networks,
)
from benchmarks.report import RESULTS, machine, positive, show
from benchmarks.report_page import page
from benchmarks.run_store import RunStore, Settings
from benchmarks.tournament_record import (
    SCHEMA_VERSION,
    game_record,
    percent,
    rating_rows,
    training_text,
    truth_rows,
    truth_text,
)
from tictac_env.arena import Suite, Tournament, audit, ratings, round_robin, suite
from tictac_env.arena.auditing import REPORTING
from tictac_env.arena.play import entrant_of
from tictac_env.cli.arguments import add_workers, chosen_workers
from tictac_env.games import get_game
from tictac_env.jobs import Workers
from tictac_env.policies import load_player
from tictac_env.position_batch import PositionBatch
from tictac_env.storage import save_text

FOLDER = RESULTS / "tournament"
KEPT = ("games.sqlite", "trainings-runs.jsonl", "audits-runs.jsonl", "agents")
OPENING_PLIES = 2


@dataclass(frozen=True)
class Scale:
    """How much is done on a game.

    Attributes:
        games: how many a pair plays, the seats swapped after each.
        positions: how many of the reporting suite moves are judged on.
        max_positions: how many are followed for an exact result against perfect play; beyond it is sampled.
        exact_games: how many games are sampled then.
        seeds: how many times each learner is trained.
        shorter: the part of its usual training that a learner gets.
    """

    games: int
    positions: int
    max_positions: int
    exact_games: int
    seeds: int
    shorter: float = 1


QUICKLY = {
    "TicTacToe-v0": Scale(40, 10_000, 100_000, 10_000, 1),
    "ConnectFour-v0": Scale(20, 1_500, 1_000, 200, 1),
}
FULLY = {
    "TicTacToe-v0": Scale(144, 10_000, 100_000, 10_000, 5),
    "ConnectFour-v0": Scale(98, 10_000, 100_000, 10_000, 5),
}


def main() -> None:
    parser, options = parse_arguments()
    began, folder = time.monotonic(), options.output
    scales = {game: scale_of(game, options) for game in TITLES}
    if options.fresh:
        for name in KEPT:
            shutil.rmtree(folder / name, ignore_errors=True)
            (folder / name).unlink(missing_ok=True)
    agents = folder / "agents"
    agents.mkdir(parents=True, exist_ok=True)
    try:
        players = {game: entered(game, names, agents, scales[game], options.seed) for game, names in names_of(options)}
        networks = any(one.training and one.training.algorithm in DEEP for all_ in players.values() for one in all_)
        if networks and importlib.util.find_spec("sb3_contrib") is None:
            raise ValueError('networks need pip install "tictac-env[rl]"; without them: --no-deep')
    except (ValueError, FileNotFoundError) as error:
        parser.error(str(error))
    workers = chosen_workers(options)
    learned = trained(players, folder, workers)
    records = []
    for game, found in players.items():
        judged = audited(game, found, folder, scales[game], options.seed, workers)
        tournament = played(game, found, folder, scales[game].games, options.seed, workers)
        rules = {one.name: one_move_rule(load_player(one.source, game), get_game(game)) for one in found}
        record = game_record(TITLES[game], tournament, ratings(tournament), judged, learned, rules)
        records.append(record | {"settings": vars(scales[game])})
    settings = {"setting": "full" if options.full else "quick", "seed": options.seed, "opening_plies": OPENING_PLIES}
    content = {"schema": SCHEMA_VERSION, "settings": settings, "machine": machine(), "games": records}
    save_text(folder / "results.json", json.dumps(content, indent=1, allow_nan=False) + "\n")
    save_text(folder / "report.html", page(content))
    for record in records:
        show(f"{record['title']}: ratings, {record['games']:,} games", rating_rows(record))
        show(f"{record['title']}: the exact truth, and mistakes on {record['suite']['name']}", truth_rows(record))
    print(f"{time.monotonic() - began:.0f} s. The report: {folder / 'report.html'}")


def entered(game: str, names: Sequence[str], agents: Path, scale: Scale, seed: int) -> list[Contestant]:
    """The contestants of a game; the errors are those of `contestants`."""
    return contestants(names, game, agents, range(seed, seed + scale.seeds), scale.shorter)


def trained(players: dict[str, list[Contestant]], folder: Path, workers: Workers) -> dict[str, dict[str, Any]]:
    """The trainings of the learners by their names; those that are not kept are done."""
    runs = RunStore(folder / "trainings-runs.jsonl")
    trainings = [one.training for found in players.values() for one in found if one.training]
    runs.remove([job for job in untrained(trainings, runs, folder / "agents") if job in runs])
    names = {str(one.job()): one.name for one in trainings}

    def tell(job: Settings, run: Any) -> None:
        reached = f", exploitability {run['curve'][-1]['value']:.3f}" if run["curve"] else ""
        print(f"{names[str(job)]}: {training_text(run)}{reached}", flush=True)

    jobs = [one.job() for one in trainings]
    # What takes longest first, so that no worker is left with it at the end.
    jobs.sort(key=lambda job: job["algorithm"] not in DEEP)
    runs.complete(jobs, partial(train, folder=folder / "agents"), workers, "trainings", tell)
    return {one.name: runs[one.job()] for one in trainings}


def audited(
    game: str, players: Sequence[Contestant], folder: Path, scale: Scale, seed: int, workers: Workers
) -> dict[str, dict[str, Any]]:
    """The audits of a game's players by their names; those that are not kept are made."""
    runs = RunStore(folder / "audits-runs.jsonl")
    sources = {one.name: str(one.source) for one in players}
    jobs = {one.name: audit_job(game, one, scale, seed) for one in players}

    def tell(job: Settings, found: Any) -> None:
        mistakes = next(m["value"] for m in found["measures"] if (m["name"], m["among"]) == ("mistakes", "all"))
        truth = ", ".join(f"as {seat} {truth_text(found, seat)}" for seat in ("first", "second"))
        print(f"{TITLES[game]}, {job['player']['name']}: {truth}; mistakes {percent(mistakes)} %", flush=True)

    hardest_first = sorted(jobs.values(), key=lambda job: "perfect" not in job["player"]["name"])
    runs.complete(hardest_first, partial(judge, sources=sources), workers, f"{TITLES[game]}: audits", tell)
    return {name: runs[job] for name, job in jobs.items()}


def audit_job(game: str, one: Contestant, scale: Scale, seed: int) -> dict[str, Any]:
    """What tells an audit from all others; where the player's file lies is no part of it."""
    who = entrant_of(load_player(one.source, game), one.name)
    player = {"name": who.name, "settings": json.loads(who.settings), "checkpoint": who.checkpoint}
    limits = {name: getattr(scale, name) for name in ("positions", "max_positions", "exact_games")}
    version = {"sha256": suite(REPORTING[game]).sha256, "version": tictac_env.__version__}
    return {"player": player, "game": game, "seed": seed} | limits | version


def judge(job: Settings, sources: dict[str, str]) -> dict[str, Any]:
    """The audit of a player, as JSON has it."""
    limits = {name: job[name] for name in ("seed", "max_positions", "exact_games")}
    scored = part_of(suite(REPORTING[job["game"]]), job["positions"])
    found = audit(sources[job["player"]["name"]], job["game"], scored, progress=False, **limits)
    content: dict[str, Any] = json.loads(found.to_json())
    return content


def part_of(whole: Suite, count: int) -> Suite:
    """So many positions of a suite, evenly spread over it; the suite itself if it has no more."""
    if len(whole) <= count:
        return whole
    rows = np.linspace(0, len(whole) - 1, count).round().astype(np.int64)
    some = PositionBatch(whole.game, whole.positions.own[rows], whole.positions.opp[rows])
    return Suite(f"{count:,} of {whole.name}", some, whole.scores[rows])


def played(
    game: str, players: Sequence[Contestant], folder: Path, games: int, seed: int, workers: Workers
) -> Tournament:
    """The tournament of a game, played by all workers."""
    sources = {one.name: str(one.source) for one in players}
    began, store = time.monotonic(), folder / "games.sqlite"
    tournament = round_robin(
        sources, game, games, seed, progress=True, openings=OPENING_PLIES, store=store, workers=workers
    )
    print(f"{TITLES[game]}: {len(tournament.games):,} games in {time.monotonic() - began:.1f} s", flush=True)
    return tournament


def names_of(options: argparse.Namespace) -> list[tuple[str, list[str]]]:
    """Who plays each game.

    Raises:
        ValueError: `--agents` names no game of the tournament.
    """
    usual = FULL if options.full else QUICK
    named: dict[str, list[str]] = {game: list(names) for game, names in usual.items()}
    for game, *names in options.agents:
        if game not in TITLES:
            raise ValueError(f"--agents: there is no game {game!r}; there are {', '.join(TITLES)}")
        named[game] = [one for name in names for one in (usual[game] if name == "usual" else [name])]
    if options.no_deep:
        named = {game: without_networks(names) for game, names in named.items()}
    return list(named.items())


def scale_of(game: str, options: argparse.Namespace) -> Scale:
    """How much is to be done on a game: the setting, and what other options change of it."""
    given = {name: getattr(options, name) for name in ("games", "positions", "seeds", "shorter")}
    return replace((FULLY if options.full else QUICKLY)[game], **{k: v for k, v in given.items() if v is not None})


def parse_arguments() -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="learners: "
        + "; ".join(f"{game}: {', '.join(names) or 'none yet'}" for game, names in LEARNERS.items()),
    )
    parser.add_argument("--full", action="store_true", help="the full setting: an hour or more")
    parser.add_argument("--no-deep", action="store_true", help="leave out what needs torch")
    parser.add_argument("--agents", nargs="+", action="append", default=[], metavar="GAME PLAYER", help="who plays")
    parser.add_argument("--games", type=positive, help="games a pair plays")
    parser.add_argument("--positions", type=positive, help="positions of the reporting suite to judge moves on")
    parser.add_argument("--seeds", type=positive, help="how many times each learner is trained")
    parser.add_argument("--shorter", type=float, metavar="PART", help="the part of its training that a learner gets")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: %(default)s)")
    add_workers(parser, min(2, os.cpu_count() or 1))
    parser.add_argument("--fresh", action="store_true", help="begin anew, and forget what is kept")
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder for the results (default: %(default)s)")
    return parser, parser.parse_args()


if __name__ == "__main__":
    main()
