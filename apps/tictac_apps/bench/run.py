"""The run of the main job: trains and judges all players, plays a round robin, and writes the results.

The folder of the results gets report.html, the page; results.json and results.csv, its figures; log.txt, what players
printed; and what a stopped run continues from: judged-runs.jsonl, games.sqlite, and agents, the files of learners.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

# Before torch is imported: networks this small are the fastest on one thread, and a process that is forked from one in
# which torch has several waits for ever.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import tictac_env
from tictac_agents.judge import part_of
from tictac_apps.bench.cast import (
    FULL,
    NEEDING_TORCH,
    QUICK,
    Contestant,
    RunScale,
    cast,
    most_positions,
    one_move_rule,
    scale_of,
    without_networks,
)
from tictac_apps.bench.guard import TIME_LIMIT, Guarded, guarded
from tictac_apps.bench.learning import train_player
from tictac_apps.bench.page import page
from tictac_apps.bench.records import RunStore, machine, record_json, show
from tictac_apps.bench.results import SCHEMA, as_csv, game_record, own_lines, rating_rows, truth_rows, truth_text
from tictac_env.arena import SeatVerdict, Tournament, audit, exact_results, ratings, round_robin, suite
from tictac_env.arena.auditing import REPORTING
from tictac_env.arena.play import Clock, TimeUp, entrant_of, raised
from tictac_env.checks import SEATS
from tictac_env.compiled import seconds_compiling
from tictac_env.games import Game, game_name, get_game
from tictac_env.games.registry import TITLES
from tictac_env.jobs import WorkerLost, Workers, map_jobs
from tictac_env.policies import Player, load_player
from tictac_env.progress import lines_every, progress_bar
from tictac_env.solver.enumerate import SMALL_CELLS
from tictac_env.storage import save_text

FOLDER = Path("build/bench")
KEPT = ("games.sqlite", "judged-runs.jsonl", "agents", "log.txt")
OPENING_PLIES = 2
SECONDS = 10.0
"""The time between two lines of progress where there is no terminal."""


def bench(
    yours: Mapping[str, str] | None = None,
    games: Sequence[str] = tuple(TITLES),
    output: Path = FOLDER,
    *,
    names: Sequence[str] | None = None,
    full: bool = False,
    deep: bool = True,
    seed: int = 0,
    time_limit: float = TIME_LIMIT,
    workers: Workers = 1,
    fresh: bool = False,
    began: float | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """Trains the learners of the cast, judges all players exactly, plays a round robin, and writes the results.

    What is kept from an earlier run is not done again.

    Args:
        yours: players that join the cast, by their names: whatever `load_player` accepts as a string. A player that
            raises an error, plays an illegal move, hangs, or ends or forks its process loses by it what it was asked
            for then.
        games: the names of the games.
        output: the folder of the results.
        names: the players instead of the usual cast; "usual" stands for these.
        full: the full setting, an hour or more.
        deep: False leaves out what needs torch.
        seed: of the first training of each learner, and of the games.
        time_limit: the seconds that a move may take (wall-clock).
        workers: the number of processes, or a cluster (see `map_jobs`).
        fresh: delete what is kept, and begin again.
        began: the time (`time.time()`) at which the installation began, which the clock then includes.
        changes: of the amount of work (see `RunScale`).

    Returns:
        The content of results.json.

    Raises:
        ValueError: a player does not play, two have the same name, or a game has fewer than two.
        FileNotFoundError: a player's file is not there.
        KeyboardInterrupt: Ctrl-C was pressed. Jobs that were begun are finished first, unless it was pressed twice.
    """
    clock, yours = _Phases(began), yours or {}
    if deep and importlib.util.find_spec("sb3_contrib") is None:
        deep = False
        left_out = ", ".join(NEEDING_TORCH)
        print(f'left out: {left_out}; for these pip install "tictac-env[rl]"', file=sys.stderr)
    if fresh:
        for name in KEPT:
            shutil.rmtree(output / name, ignore_errors=True)
            (output / name).unlink(missing_ok=True)
    rules = {game: get_game(game) for game in games}
    scales = {game: scale_of(game, full, **changes) for game in games}
    players: dict[str, list[Contestant]] = {}
    for game in games:
        usual = (FULL if full else QUICK).get(game, ("random", "rule"))
        chosen = [one for name in names or ["usual"] for one in (usual if name == "usual" else [name])]
        chosen = chosen if deep else without_networks(chosen)
        players[game] = cast(chosen, game, str(output / "agents"), scales[game], seed, yours)
        if len(players[game]) < 2:
            raise ValueError(f"a tournament needs two players or more; {game} has {len(players[game])}")
    (output / "agents").mkdir(parents=True, exist_ok=True)
    job = PlayerJob(players, rules, scales, output, seed, time_limit, os.getpid())
    judged = _judged(job, workers, clock)
    records = []
    for game, found in players.items():
        with clock.phase("play"):
            tournament, out = _played(job, game, judged[game], workers)
        with clock.phase("page"):
            record = game_record(tournament, ratings(tournament), found, judged[game], out)
        records.append(record | {"settings": vars(scales[game])})
    setting = {"setting": "full" if full else "quick", "seed": seed, "time_limit": time_limit}
    setting |= {"opening_plies": OPENING_PLIES}
    content = {"$schema": SCHEMA.name, "schema": 2, "settings": setting, "machine": machine()}
    content |= {"seconds": clock.seconds(), "games": records}
    with clock.phase("page"):
        save_text(output / "report.html", page(content))
    content["seconds"] = clock.seconds()
    save_text(output / "results.json", record_json(content))
    save_text(output / "results.csv", as_csv(content))
    save_text(output / SCHEMA.name, SCHEMA.read_text(encoding="utf-8"))
    for record in records:
        show(f"{record['title']}: ratings, {record['games']:,} games", rating_rows(record))
        suite_of = f"{record['suite']['positions']:,} positions of {record['suite']['name']}"
        show(f"{record['title']}: the exact truth, and mistakes on {suite_of}", truth_rows(record))
        print("\n".join(own_lines(record)), end="\n" * any(agent["role"] == "yours" for agent in record["agents"]))
    print(clock)
    print(f"The page: {output / 'report.html'}")
    return content


@dataclass(frozen=True)
class PlayerJob:
    """The whole job, as its workers know it; `bench` explains its parts, which are by game or for all games."""

    players: Mapping[str, Sequence[Contestant]]
    rules: Mapping[str, Game]
    scales: Mapping[str, RunScale]
    output: Path
    seed: int
    time_limit: float
    program: int

    def contestants(self) -> dict[tuple[str, str], Contestant]:
        """All players, by game and name."""
        return {(game, one.name): one for game, found in self.players.items() for one in found}

    def guarded(self, game: str, one: Contestant) -> Player:
        """A user's player under guard."""
        return guarded(one.source, one.name, self.rules[game], self.time_limit, self.program)

    def settings_of(self, game: str, one: Contestant) -> dict[str, Any]:
        """All that decides how a player is judged; the place of its file is no part of it."""
        if one.training is None:
            who = entrant_of(load_player(one.source, game), one.name)
            player = {"settings": json.loads(who.settings), "checkpoint": who.checkpoint}
        else:
            player = {"training": one.training.file}
        scale = vars(self.scales[game])
        limits = {key: value for key, value in scale.items() if key not in ("pair_games", "seeds", "shorter")}
        version = {"version": tictac_env.__version__, "time_limit": self.time_limit if one.yours else None}
        if game in REPORTING:
            version["sha256"] = suite(REPORTING[game]).sha256
        return {"name": one.name, "player": player, "game": game, "seed": self.seed} | limits | version


class _Phases:
    """The clock by phases. Training, judging and compiling overlap, so theirs are the seconds of all processes."""

    def __init__(self, began: float | None) -> None:
        self._began = time.monotonic()
        self._install = None if began is None else max(0.0, time.time() - began)
        self._spent = dict.fromkeys(("compile", "train", "judge", "play", "page"), 0.0)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        begin = time.monotonic()
        try:
            yield
        finally:
            self._spent[name] += time.monotonic() - begin

    def add(self, seconds: Mapping[str, float | None]) -> None:
        for name, spent in seconds.items():
            self._spent[name] += spent or 0.0

    def seconds(self) -> dict[str, float | None]:
        total = time.monotonic() - self._began + (self._install or 0)
        found = {name: round(spent, 1) for name, spent in self._spent.items()}
        return {"install": self._install and round(self._install, 1), **found, "total": round(total, 1)}

    def __str__(self) -> str:
        found = self.seconds()
        parts = ", ".join(
            f"{name} {spent:.0f}" for name, spent in found.items() if spent is not None and name != "total"
        )
        return f"{found['total']:.0f} s. Seconds by phase, of all processes: {parts}"


def _judged(job: PlayerJob, workers: Workers, clock: _Phases) -> dict[str, dict[str, Any]]:
    """The judgements of all players, by game and name; those that are not kept are made now."""
    store, of = RunStore(job.output / "judged-runs.jsonl"), job.contestants()
    jobs = {key: job.settings_of(key[0], one) for key, one in of.items()}
    if lost := [
        jobs[key] for key, one in of.items() if one.training and jobs[key] in store and not Path(one.source).exists()
    ]:
        store.remove(lost)
    todo = sorted((key for key in jobs if jobs[key] not in store), key=lambda key: -of[key].seconds)
    whole, done = sum(of[key].seconds for key in todo), list[tuple[str, str]]()
    begun = dict[tuple[str, str], float]()

    def next_jobs() -> Iterator[tuple[str, str]]:
        for key in todo:
            begun[key] = time.monotonic()
            yield key

    with lines_every(SECONDS), progress_bar(whole, "train and judge") as update:

        def tell() -> None:
            now, under_way = time.monotonic(), list(begun.items())
            part = sum(min(now - since, 0.9 * of[key].seconds) for key, since in under_way)
            names = ", ".join(f"{name} ({TITLES.get(game, game)})" for (game, name), _ in under_way)
            told = f"{len(done)} of {len(todo)} players; under way: {names}"
            update(sum(of[key].seconds for key in done) + part, told)

        with _each_second(tell):
            for key, found in _each(partial(prepare, job), next_jobs(), workers, of):
                store.add(jobs[key], found)
                done.append(key)
                begun.pop(key, None)
                clock.add(found["seconds"])
                tell()
                print(_line(key, found), flush=True)
    return {game: {one.name: store[jobs[game, one.name]] for one in found} for game, found in job.players.items()}


@contextlib.contextmanager
def _each_second(tell: Callable[[], None]) -> Iterator[None]:
    """Calls a function each second within the block, from a thread."""
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(1.0):
            tell()

    teller = threading.Thread(target=go_on, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def _each(
    work: Any, jobs: Iterator[tuple[str, str]], workers: Workers, of: Mapping[tuple[str, str], Contestant]
) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    """Each job with its result. A user's player that ends its worker again and again has failed."""
    waiting = list[tuple[str, str]]()

    def cast_first() -> Iterator[tuple[str, str]]:
        for key in jobs:
            if of[key].yours:
                waiting.append(key)
            else:
                yield key

    yield from map_jobs(work, cast_first(), workers, batch=1)
    for key in waiting:
        try:
            yield from map_jobs(work, [key], 1)
        except WorkerLost:
            yield key, work(key, lost="it ended or forked its process, or did not answer and could not be interrupted")


def prepare(job: PlayerJob, key: tuple[str, str], lost: str = "") -> dict[str, Any]:
    """Trains a player (its game and name), if it learns, and judges it; done by a worker.

    Returns:
        "training", the record of `train_player`; "player", its identity; "audit", the `Audit` as JSON has it, or None
        and the reason as "failure"; "lost", whether its worker was; "v_random"; "one_move_rule"; and the CPU "seconds"
        of each phase.
    """
    one, game, scale = job.contestants()[key], job.rules[key[0]], job.scales[key[0]]
    began, compiled = time.process_time(), seconds_compiling()
    with _output_in(job.output / "log.txt"):
        training = None if one.training is None else train_player(one.training, job.output / "agents", scale)
        player = job.guarded(key[0], one) if one.yours else load_player(one.source, game)
        audited, v_random, failure = None, None, lost or None
        if not lost:
            try:
                audited, v_random = _audited(player, game, scale, job.seed)
            except (Exception, SystemExit, TimeUp) as error:
                if not one.yours:
                    raise
                late = f"no move within {job.time_limit:g} s"
                failure = late if isinstance(error, TimeUp) else raised(error, player.policy)
    compiling = seconds_compiling() - compiled
    train = training["cpu_seconds"] if training else None
    judging = max(0.0, time.process_time() - began - compiling - (train or 0))
    seconds = {"compile": compiling, "train": train, "judge": judging}
    return {
        "training": training,
        "player": asdict(player.identity) | {"name": one.name},
        "audit": audited,
        "v_random": v_random,
        "failure": failure,
        "lost": bool(lost),
        "one_move_rule": one_move_rule(load_player(one.source, game), game),
        "seconds": {name: spent and round(spent, 2) for name, spent in seconds.items()},
    }


@contextlib.contextmanager
def _output_in(file: Path) -> Iterator[None]:
    """Appends what is printed within the block to a file: lines of several processes would run into each other."""
    with file.open("a", encoding="utf-8") as log, contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        yield


def _audited(player: Player, game: Game, scale: RunScale, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The audit of a player as JSON has it, and its exact results against random play."""
    limits: dict[str, Any] = {"seed": seed, "progress": False}
    # The solver gives nothing away: no replies need be searched for its first error, only a game that it loses.
    replies = 1 if player.budget.startswith("the exact solver") else scale.replies
    reporting = REPORTING.get(game_name(game) or "")
    scored = None if reporting is None else part_of(suite(reporting), scale.positions)
    with Clock(player.policy.time_limit if isinstance(player.policy, Guarded) else None) as clock:
        if isinstance(player.policy, Guarded):
            player.policy.clock = clock
        limits["max_positions"] = most_positions(player.policy, game, scale)
        found = audit(player, game, scored, exact_games=scale.exact_games, replies=replies, **limits)
        if game.cells <= SMALL_CELLS and found.verdict is not None:
            seats = zip(SEATS, (found.verdict.as_first, found.verdict.as_second), strict=True)
            shares = {name: list(seat.against_random) for name, seat in seats if isinstance(seat, SeatVerdict)}
            return json.loads(found.to_json()), {**shares, "exact": True}
        limits["max_positions"] = scale.max_positions
        results = exact_results(player.policy, "random", game, games=scale.exact_games, **limits)
    shares = {seat: list(one.shares) for seat, one in zip(SEATS, (results.as_first, results.as_second), strict=True)}
    return json.loads(found.to_json()), {**shares, "exact": results.exact}


def _line(key: tuple[str, str], found: Mapping[str, Any]) -> str:
    """A player's exact results in a line."""
    about = {"verdict": (found["audit"] or {}).get("verdict"), "failure": found["failure"]}
    truth = ", ".join(f"as {seat} {truth_text(about, seat)}" for seat in SEATS) if found["audit"] else found["failure"]
    return f"{TITLES.get(key[0], key[0])}, {key[1]}: {truth}"


def _played(
    job: PlayerJob, game: str, judged: Mapping[str, Any], workers: Workers
) -> tuple[Tournament, dict[str, str]]:
    """The tournament of a game, and the reasons for which players of the user did not play."""
    players = job.players[game]
    sides = {one.name: job.guarded(game, one) if one.yours else one.source for one in players}
    out = {one.name: judged[one.name]["failure"] for one in players if one.yours and judged[one.name].get("lost")}

    def meet(names: Sequence[str]) -> Tournament:
        with lines_every(SECONDS):
            return round_robin(
                {name: sides[name] for name in names},
                job.rules[game],
                job.scales[game].pair_games,
                job.seed,
                progress=True,
                openings=OPENING_PLIES,
                time_limit=job.time_limit,
                store=job.output / "games.sqlite",
                workers=workers,
            )

    playing = [one for one in players if one.name not in out]
    try:
        return meet([one.name for one in playing]), out
    except (ValueError, WorkerLost) as error:
        if not any(one.yours for one in playing):
            raise
        last = error
    fit = [one.name for one in playing if not one.yours]
    for one in playing:  # each of the user's alone, to find which of them cannot play
        if one.yours:
            try:
                meet([*fit, one.name])
                fit.append(one.name)
            except (ValueError, WorkerLost) as error:
                out[one.name] = str(error)
    if not out:
        raise last
    return meet(fit), out
