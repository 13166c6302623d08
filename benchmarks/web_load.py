"""Response times of `tictac serve`, with 20 visitors playing at once against every policy.

    python benchmarks/web_load.py [--visitors 20] [--seconds 20] [--output FOLDER]

The server is a process of its own with its usual limits. Visitors think for half a second to one and a half before
each move, play by the rule of thumb, and begin a new game when one is over. Timed is the answer to `POST /api/reply`,
from the sending of the request to the last byte. The visitors run on the same machine. Before the clock runs, two moves
load the machine code. Some eight minutes.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np

from benchmarks.records import add_output, parser_of, positive, save
from tictac_agents.bench.records import Row, show
from tictac_env.policies import make_policy
from tictac_env.position import Position

GAMES = {"TicTacToe-v0": "tic-tac-toe", "ConnectFour-v0": "Connect Four"}
POLICIES = (
    *("random", "rule", "minimax", "minimax-first", "mcts", "perfect", "ntuple", "ntuple:4"),
    *("level:5", "level:10"),
)
THINKING = (0.5, 1.5)
LIMIT = 60.0


@contextmanager
def served() -> Iterator[tuple[str, int]]:
    """A server on a free port: its address and process id."""
    command = [sys.executable, "-m", "tictac_env", "serve", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    try:
        if server.stdout is None:
            raise RuntimeError("the server has no output")
        yield urlsplit(server.stdout.readline().split()[0]).netloc, server.pid
    finally:
        server.terminate()
        server.communicate()


class Visitor(threading.Thread):
    """Plays until the time is over, and keeps how long each answer took."""

    def __init__(self, address: str, game: str, opponent: str, number: int, end: float) -> None:
        super().__init__(daemon=True)
        self.address, self.game, self.opponent, self.end = address, game, opponent, end
        self.rng = random.Random(number)
        self.seconds: list[float] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            with closing(http.client.HTTPConnection(self.address, timeout=LIMIT)) as self.connection:
                time.sleep(self.rng.uniform(0, THINKING[1]))
                while time.monotonic() < self.end:
                    self.play()
        except BaseException as error:
            self.error = error

    def play(self) -> None:
        """One game, each side first in turn."""
        rule, seed = make_policy("rule", self.game), self.rng.randrange(2**53)
        position = Position.start(self.game)
        mine = self.rng.randrange(2)
        while not position.is_over and time.monotonic() < self.end:
            if position.seat == mine:
                time.sleep(self.rng.uniform(*THINKING))
                position = position.play(rule.act(position, self.rng.randrange(2**53)))
                self.ask("GET", f"/api/position?{urlencode({'game': self.game, 'moves': position.to_moves()})}")
                continue
            fields = {"game": self.game, "moves": position.to_moves(), "opponent": self.opponent, "seed": seed}
            began = time.perf_counter()
            answer = self.ask("POST", "/api/reply", fields)
            self.seconds.append(time.perf_counter() - began)
            position = position.play(answer["action"])

    def ask(self, method: str, path: str, fields: Any = None) -> Any:
        """The server's answer, which must be one."""
        body = None if fields is None else json.dumps(fields)
        self.connection.request(method, path, body, {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise RuntimeError(f"{method} {path} {fields}: {response.status} {content!r}")
        return json.loads(content)


def cpu_seconds(process: int) -> float:
    """The CPU time of a process so far; nan if the system does not say."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def warm_up(address: str, game: str, opponent: str) -> None:
    """Has the server load what this opponent needs."""
    visitor = Visitor(address, game, opponent, -1, 0)
    with closing(http.client.HTTPConnection(address, timeout=LIMIT)) as visitor.connection:
        for moves in ("", "1"):
            visitor.ask("POST", "/api/reply", {"game": game, "moves": moves, "opponent": opponent})


def measure(address: str, process: int, game: str, opponent: str, visitors: int, seconds: float) -> Row:
    """One policy: the answers of all visitors together."""
    before, end = cpu_seconds(process), time.monotonic() + seconds
    playing = [Visitor(address, game, opponent, number, end) for number in range(visitors)]
    for visitor in playing:
        visitor.start()
    for visitor in playing:
        visitor.join(seconds + LIMIT)
        if visitor.error is not None:
            raise visitor.error
    took = 1000 * np.array([one for visitor in playing for one in visitor.seconds])
    p50, p95 = np.percentile(took, [50, 95]) if len(took) else (float("nan"),) * 2
    return {
        "game": GAMES[game],
        "opponent": opponent,
        "answers": len(took),
        "p50, ms": round(float(p50), 1),
        "p95, ms": round(float(p95), 1),
        "slowest, ms": round(float(took.max(initial=0)), 1),
        "server's CPU a move, ms": round(1000 * (cpu_seconds(process) - before) / max(1, len(took)), 1),
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--visitors", type=positive, default=20, help="how many play at once (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=positive, default=20, help="of play against each policy (default: %(default)s)"
    )
    parser.add_argument("--policies", nargs="+", default=POLICIES, help="default: all, at their usual strength")
    add_output(parser)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with served() as (address, process):
        for game in GAMES:
            for opponent in options.policies:
                warm_up(address, game, opponent)
        rows = [
            measure(address, process, game, opponent, options.visitors, options.seconds)
            for game in GAMES
            for opponent in options.policies
        ]
    show(f"Answers to a move, {options.visitors} visitors at once", rows)
    settings = {"visitors": options.visitors, "seconds": options.seconds, "load_before": round(load, 2)}
    save("web-load", settings, {"replies": rows}, options.output)


if __name__ == "__main__":
    main()
