"""What workers are worth: the overhead of a job on processes and on Ray, and a tournament by one worker and by two.

    python benchmarks/workers.py [--rounds 2] [--games 60] [--no-ray] [--output FOLDER]

Overhead: jobs that sleep, so that other load does not count, are done by one worker, sent one by one ("alone") and as
`map_jobs` sends them ("together"). What is left of the time by the clock after the jobs' own is the overhead. "start"
is the time to the first result, a Ray cluster of one machine started included.

Tournaments: the games of two searches, and of two players that wait 0.02 s for each move, which other load on the
machine does not slow; in rounds, by one worker and by two in turn. "busy" is the part of the workers' time by the clock
in which players thought about moves. Of the rounds the one with the least time is shown. One process is this one. Ten
minutes.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import RESULTS, Row, positive, save, show
from tictac_env.arena import round_robin
from tictac_env.jobs import Cluster, Workers, joined, map_jobs
from tictac_env.policies import RandomPolicy
from tictac_env.position import Position

GAME = "ConnectFour-v0"
WAIT = 0.02
JOB_SECONDS = (0.0, 0.001, 0.01, 0.1)
MOST = 4000
"""So many jobs tell an overhead at most."""


def slept(seconds: float) -> float:
    """Sleeps so long, and says how long it took."""
    began = time.perf_counter()
    if seconds:
        time.sleep(seconds)
    return time.perf_counter() - began


def overhead(title: str, workers: Workers, seconds: float, measured: float) -> Row:
    """The overhead of jobs that take so many seconds, on one worker, from so many seconds of jobs."""
    jobs = [seconds] * (min(MOST, max(1, int(measured / seconds))) if seconds else MOST)
    row: dict[str, object] = {"workers": title, "a job takes, ms": 1000 * seconds}
    for name, batch in (("alone", 1), ("together", None)):
        spent = []
        for _ in range(3):
            results = map_jobs(slept, [0.0, *jobs], workers, batch=batch)
            next(results)  # the worker is there
            began = time.perf_counter()
            own = sum(result for _, result in results)
            spent.append((time.perf_counter() - began, own))
        over = median(whole - own for whole, own in spent)
        row[f"{name}, ms a job"] = round(1000 * over / len(jobs), 4)
        row[f"{name}, %"] = round(100 * median(1 - own / whole for whole, own in spent), 2) if seconds else ""
    return row


def first_result(workers: Workers) -> float:
    """The seconds to the first result."""
    began = time.perf_counter()
    list(map_jobs(slept, [0.0], workers))
    return time.perf_counter() - began


class Waiting(RandomPolicy):
    """Random play that waits before each move, as one does that asks a server."""

    def act(self, position: Position, seed: int) -> int:
        time.sleep(WAIT)
        return super().act(position, seed)


TOURNAMENTS: dict[str, tuple[dict[str, Any], int]] = {
    "two searches": ({"mcts:10000": "mcts:10000", "mcts:5000": "mcts:5000"}, 3),
    "two that wait": ({"one": Waiting(), "other": Waiting()}, 1),
}
"""Their players, and how many times the games."""


def tournament(players: str, by: str, workers: Workers, count: int, games: int) -> Row:
    """A tournament by so many workers."""
    entered, times = TOURNAMENTS[players]
    began, before = time.perf_counter(), cpu_of_processes()
    played = round_robin(entered, GAME, games * times, openings=2, workers=workers)
    seconds = time.perf_counter() - began
    thought = sum(sum(record.seconds) for record in played)
    cpu = round(cpu_of_processes() - before, 2) if isinstance(workers, int) else ""
    busy = round(100 * thought / seconds / count, 1)
    return {"players": players, "by": by, "workers": count, "s": round(seconds, 2), "CPU-s": cpu, "busy %": busy}


def cpu_of_processes() -> float:
    """The CPU seconds of this process and of those it has started that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def best(rounds: Sequence[Row]) -> list[Row]:
    """Of each kind and number of workers the round that took the least time, and how much faster it was than one."""
    found: dict[tuple[str, str, int], Row] = {}
    for row in sorted(rounds, key=lambda row: -row["s"]):
        found[row["players"], row["by"], row["workers"]] = row
    return [
        {**row, "speed-up": round(found[players, by, 1]["s"] / row["s"], 2)}
        for (players, by, _), row in sorted(found.items())
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=positive, default=2, help="of each tournament (default: %(default)s)")
    parser.add_argument(
        "--games", type=positive, default=60, help="of players that wait, of searches 3 times (default: %(default)s)"
    )
    parser.add_argument("--seconds", type=float, default=4, help="of jobs to tell an overhead by (default: 4)")
    parser.add_argument("--no-ray", action="store_true", help="processes only")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    _warm(0)
    starts, overheads, rounds = list[Row](), list[Row](), list[Row]()
    kinds: dict[str, Callable[[int], Workers]] = {"processes": lambda count: count}
    if not options.no_ray:
        kinds["Ray"] = lambda count: Cluster(None, count)
    for by, workers in kinds.items():
        starts.append({"workers": by, "start, s": round(min(first_result(workers(1)) for _ in range(3)), 2)})
        with joined(workers(1)):
            overheads += [overhead(by, workers(1), seconds, options.seconds) for seconds in JOB_SECONDS]
        with joined(workers(2)):
            list(map_jobs(_warm, range(2), workers(2), batch=1))
            for _ in range(options.rounds):
                for players in TOURNAMENTS:
                    rounds += [tournament(players, by, workers(count), count, options.games) for count in (1, 2)]
    show("The first result", starts)
    show("The overhead of a job", overheads)
    show("Rounds", rounds)
    table = best(rounds)
    show("Tournaments", table)
    settings = {
        "rounds": options.rounds,
        "games": options.games,
        "seconds": options.seconds,
        "game": GAME,
        "wait": WAIT,
    }
    tables = {"start": starts, "overhead": overheads, "tournament": table, "rounds": rounds}
    save("workers", settings, tables, options.output)


def _warm(job: int) -> None:
    """Has a worker load what the searches are compiled to."""
    round_robin(["mcts:1", "mcts:2"], GAME, 2)


if __name__ == "__main__":
    main()
