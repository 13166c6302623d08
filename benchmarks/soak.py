"""Whether long use leaves memory or open files behind: self-play, search and the page, for an hour.

    python benchmarks/soak.py [--minutes 60] [--share 0.2] [--output FOLDER]

Three processes run side by side: many boards in self-play, their environments closed and made anew now and then;
searches (the exact solver, tree search, alpha-beta) on positions of random games; and `tictac serve`, asked for moves,
values, reviews, its pages, nonsense, and a training a minute. Each works for its share of one core and sleeps for the
rest, as nothing is timed here.

Resident memory and open files of each process are sampled, once everything has been used and so compiled. A line is
fitted to the second half of the samples, and the program fails if memory grows along it by more than 3 % and 6 MB, or
open files by more than 2. The second half, as caches and tables fill in the first. Linux only.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from http.client import HTTPConnection
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import gymnasium as gym
import numpy as np

from benchmarks.report import RESULTS, Row, save, show
from benchmarks.web_load import LIMIT, cpu_seconds, served, warm_up
from tictac_env.arena import play_match
from tictac_env.policies import make_policy
from tictac_env.position import Position
from tictac_env.solver import NotProven, Solver

GROWTH, MEGABYTES, FILES = 0.03, 6.0, 2.0
"""What may be added along the line through the second half: this part of the memory or these megabytes, and files."""
SAMPLES = 120
"""How often each process is looked at, over the whole time."""
PAGES = ("/", "/static/js/main.js", "/static/base.css", "/nothing", "/static/../app.py")
OPPONENTS = ("random", "rule", "mcts:50", "perfect", "network", "ntuple", "level:5")
HARD = ("756126673", "571426744", "436725131")
"""Connect Four, beyond the opening book: millions of nodes."""
PAUSE = 0.025
"""Seconds between two requests: the server refuses more than 60 a second."""
BEGIN = "/api/training/begin"
TRAINING = {"agent": "QLearning", "game": "TicTacToe-v0", "opponent": "random", "total": 2_000}
GAMES = ("TicTacToe-v0", "ConnectFour-v0")

Work = Iterator[int]
"""Work that does a little between one `yield` and the next, and yields how much: plies, searches, answers."""


def self_play() -> Work:
    """Both sides on many boards, and against opponents that answer within a step."""
    while True:
        for game in GAMES:
            for opponent in (None, "random", "rule", "mcts:5"):
                boards = 8 if opponent == "mcts:5" else 1024
                envs: Any = gym.make_vec(game, num_envs=boards, opponent=opponent)
                envs.reset(seed=boards)
                for _ in range(40):
                    for _ in range(4):
                        envs.step(envs.unwrapped.sample_actions())
                    yield 4 * boards
                envs.close()
        play_match("rule", "random", "TicTacToe-v0", 2)


def search() -> Work:
    """The exact solver, tree search and alpha-beta, on positions of random games."""
    rng = random.Random(0)
    solver, policies = Solver(table_megabytes=16), [make_policy(name, GAMES[1]) for name in ("mcts:400", "minimax:5")]
    for number in count():
        position = Position.start(GAMES[1])
        for _ in range(rng.randrange(30)):
            if not position.is_over:
                position = position.play(rng.choice(position.legal_actions))
        if position.is_over:
            continue
        for policy in policies:
            policy.act(position, number)
            yield 1
        with suppress(NotProven):
            solver.solve_many([position], time_limit=0.2)
        yield 1
        if number % 500 == 499:
            solver.clear()


def visits(address: str, training_every: float) -> Work:
    """A visitor of the page, with a connection of its own for each game."""
    rng, trained = random.Random(1), time.monotonic() - training_every
    while True:
        with closing(HTTPConnection(address, timeout=LIMIT)) as connection:
            game, moves = rng.choice(GAMES), ""
            opponent = rng.choice(OPPONENTS)
            _ask(connection, "GET", rng.choice(PAGES))
            yield 1
            if time.monotonic() - trained >= training_every:
                trained = time.monotonic()
                _ask(connection, "POST", BEGIN, TRAINING)
                yield 1
            for _ in range(42):
                asked = {"game": game, "moves": moves, "opponent": opponent, "seed": rng.randrange(2**31)}
                _, answer = _ask(connection, "POST", "/api/reply", asked)
                yield 1
                if "action" not in answer or answer["position"]["over"]:
                    break
                moves = Position.from_moves(game, moves).play(answer["action"]).to_moves()
                _ask(connection, "POST", rng.choice(("/api/exact", "/api/thoughts")), asked | {"moves": moves})
                yield 1
            _ask(connection, "POST", "/api/review", {"game": game, "moves": moves})
            _ask(connection, "GET", f"/api/position?{urlencode({'game': game, 'moves': 'x' * rng.randrange(300)})}")
            yield 2


def _ask(connection: HTTPConnection, method: str, path: str, fields: Any = None) -> tuple[int, Any]:
    """The status and the JSON of an answer ({} for anything else): no failure of the server's, and none too many."""
    time.sleep(PAUSE)
    body = None if fields is None else json.dumps(fields)
    connection.request(method, path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    content = response.read()
    if response.status >= 429 and (response.status, path) != (429, BEGIN):  # where trainings may still be running
        raise SystemExit(f"{method} {path} {fields}: {response.status} {content[:500]!r}")
    is_json = "json" in str(response.headers.get("content-type"))
    return response.status, json.loads(content) if is_json else {}


def paced(work: Work, used: Callable[[], float], share: float, go_on: Callable[[], bool]) -> int:
    """Does work as long as it may, resting whenever more than its share of a core is used; how much was done."""
    done, began, before = 0, time.monotonic(), used()
    while go_on():
        done += next(work)
        while go_on() and used() - before > share * (time.monotonic() - began):
            time.sleep(0.02)
    return done


FIRST = 400
"""How many pieces of each work are done before the clock runs: more than one round of all there is."""
WORKS: dict[str, tuple[Callable[[], Work], str]] = {"self-play": (self_play, "plies"), "search": (search, "searches")}


def fill_tables(address: str) -> None:
    """Has every thread of the server solve hard positions, for which its solver's table grows to its full size."""

    def solve(moves: str, path: str) -> None:
        with closing(HTTPConnection(address, timeout=LIMIT)) as connection:
            _ask(connection, "POST", path, {"game": GAMES[1], "moves": moves, "opponent": "perfect"})

    paths = ("/api/exact", "/api/reply") * 4
    with ThreadPoolExecutor(2 * len(paths)) as pool:
        list(pool.map(solve, HARD * len(paths), paths * len(HARD)))


def begun(work: Work, times: int) -> Work:
    """Work that has been done so many times, with which machine code is loaded, or compiled."""
    for _ in range(times):
        next(work)
    return work


def worker(name: str, share: float, pipe: Connection) -> None:
    """The process of one kind of work: says when it is ready, goes on until it is told to stop, tells what it did."""
    work = begun(WORKS[name][0](), FIRST)
    pipe.send("ready")
    pipe.send(paced(work, time.process_time, share, lambda: not pipe.poll()))


def memory_and_files(process: int) -> tuple[float, int]:
    """The resident memory of a process, in MB, and how many files and sockets it has open."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6, len(os.listdir(f"/proc/{process}/fd"))


def grown(samples: np.ndarray) -> float:
    """What the line fitted to the second half of samples, float (n,), adds from its beginning to its end."""
    half = samples[len(samples) // 2 :]
    steps = np.arange(len(half))
    return float(np.polyfit(steps, half, 1)[0] * (len(half) - 1))


def row_of(name: str, done: str, cpu: float, samples: np.ndarray, megabytes: float = MEGABYTES) -> Row:
    """What is told of a process whose samples are float (n, 2): megabytes and files."""
    middle = len(samples) // 2
    memory, files = grown(samples[:, 0]), grown(samples[:, 1])
    most = max(megabytes, GROWTH * float(samples[middle, 0]))
    return {
        "process": name,
        "done": done,
        "CPU-s": round(cpu, 1),
        "MB at first": round(float(samples[0, 0]), 1),
        "MB half way": round(float(samples[middle, 0]), 1),
        "MB at the end": round(float(samples[-1, 0]), 1),
        "growth in the second half, MB": round(memory, 2),
        "allowed, MB": round(most, 2),
        "files half way": int(samples[middle, 1]),
        "files at the end": int(samples[-1, 1]),
        "growth in the second half, files": round(files, 2),
        "flat": memory <= most and files <= FILES,
    }


def soak(minutes: float, share: float, megabytes: float = MEGABYTES) -> tuple[list[Row], list[Row]]:
    """The rows of the processes and of the samples."""
    context, parts = multiprocessing.get_context("spawn"), len(WORKS) + 1
    workers: dict[str, tuple[Any, Connection]] = {}
    for name in WORKS:
        ours, theirs = context.Pipe()
        process = context.Process(target=worker, args=(name, share / parts, theirs), daemon=True)
        process.start()
        workers[name] = process, ours
    with served() as (address, server):
        processes = {name: process.pid for name, (process, _) in workers.items()} | {"serving": server}
        samples: dict[str, list[tuple[float, int]]] = {name: [] for name in processes}
        for game in GAMES:
            for opponent in OPPONENTS:
                warm_up(address, game, opponent)
        fill_tables(address)
        visited = begun(visits(address, training_every=min(60.0, 15 * minutes)), FIRST)
        for _, pipe in workers.values():
            pipe.recv()
        began = time.monotonic()

        def sampled() -> bool:
            """Takes the samples that are due; whether there is time left."""
            passed = (time.monotonic() - began) / (60 * minutes)
            if passed * SAMPLES >= len(samples["serving"]) + 1:
                for name, process in processes.items():
                    samples[name].append(memory_and_files(process))
            return passed < 1

        def used() -> float:
            return cpu_seconds(server)

        done = {"serving": f"{paced(visited, used, share / parts, sampled):,} answers"}
        cpu = {name: cpu_seconds(process) for name, process in processes.items()}
        for name, (process, pipe) in workers.items():
            pipe.send("stop")
            done[name] = f"{pipe.recv():,} {WORKS[name][1]}"
            process.join()
    rows = [row_of(name, done[name], cpu[name], np.array(found, float), megabytes) for name, found in samples.items()]
    table: list[Row] = [
        {"minute": round(minutes * (number + 1) / SAMPLES, 3)}
        | {f"{name}, MB": round(found[number][0], 1) for name, found in samples.items()}
        | {f"{name}, files": found[number][1] for name, found in samples.items()}
        for number in range(len(samples["serving"]))
    ]
    return rows, table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, help="default: %(default)g")
    parser.add_argument("--share", type=float, default=0.2, help="of one core, for all together (default: %(default)g)")
    parser.add_argument(
        "--megabytes",
        type=float,
        default=MEGABYTES,
        help="the growth that is allowed (default: %(default)g); in a few minutes caches still fill",
    )
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    if not sys.platform.startswith("linux"):
        raise SystemExit("memory and open files are read from /proc, which only Linux has")
    rows, samples = soak(options.minutes, options.share, options.megabytes)
    show(f"{options.minutes:g} minutes on {options.share:g} of a core", rows)
    settings = {"minutes": options.minutes, "share": options.share, "samples": SAMPLES}
    limits = {"allowed": GROWTH, "allowed_megabytes": options.megabytes, "allowed_files": FILES}
    save("soak", settings | limits, {"processes": rows, "samples": samples}, options.output)
    if grew := [str(row["process"]) for row in rows if not row["flat"]]:
        raise SystemExit(f"memory or open files grew: {', '.join(grew)}")


if __name__ == "__main__":
    main()
