"""Response times of `tictac serve`, with 30 visitors playing at once against every policy, and under attack.

    python benchmarks/web_load.py [--visitors 30] [--seconds 20] [--output FOLDER]

The server is a process of its own with its usual limits. Visitors think for half a second to one and a half before
each move, play by the rule of thumb, and begin a new game when one is over. Timed is the answer to `POST /api/reply`,
from the sending of the request to the last byte. The visitors run on the same machine. Before the clock runs, two moves
load the machine code. An attack comes from a process of its own, and from other addresses than the visitors. Some 12
minutes.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing, contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np

from benchmarks.records import add_output, parser_of, positive, save
from tictac_apps.bench.records import Row, show
from tictac_env.policies import make_policy
from tictac_env.position import Position

GAMES = {"TicTacToe-v0": "tic-tac-toe", "ConnectFour-v0": "Connect Four"}
POLICIES = (
    *("random", "rule", "minimax", "minimax-first", "mcts", "perfect", "ntuple", "ntuple:4"),
    *("level:5", "level:10"),
)
THINKING = (0.5, 1.5)
LIMIT = 60.0
HELD = 600
"""Half-sent requests that are held at a time, more than the server's connections for one address."""
REQUESTS = (
    ("GET", "/api/position?game=ConnectFour-v0&moves=4453", None),
    ("GET", "/solve?pos=4453", None),
    ("POST", "/api/reply", {"game": "ConnectFour-v0", "moves": "44", "opponent": "rule", "seed": 3}),
    ("POST", "/api/exact", {"game": "TicTacToe-v0", "moves": "159"}),
    ("POST", "/api/review", {"game": "ConnectFour-v0", "moves": "4444"}),
    ("POST", "/api/training/begin", {"agent": "QLearning", "total": 0, "settings": {"epsilon": [0.1]}}),
    ("POST", "/api/training/look", {"token": "A" * 22, "since": 0}),
)
"""The requests that are made malformed."""
VALUES = ("", None, True, -1, 2**70, 1e308, [], {}, "\ud800", "٣", "9" * 300, "../../etc/passwd", "KInARow-v0:99x99-3")


@contextmanager
def served() -> Iterator[tuple[str, int]]:
    """A server on a free port: its address and process id."""
    command = [sys.executable, "-P", "-m", "tictac_apps", "serve", "--port", "0"]
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

    def __init__(self, address: str, game: str, opponent: str, number: int, over: threading.Event) -> None:
        super().__init__(daemon=True)
        self.address, self.game, self.opponent, self.over = address, game, opponent, over
        self.rng = random.Random(number)
        self.seconds: list[float] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            with closing(http.client.HTTPConnection(self.address, timeout=LIMIT)) as self.connection:
                time.sleep(self.rng.uniform(0, THINKING[1]))
                while not self.over.is_set():
                    self.play()
        except BaseException as error:
            self.error = error

    def play(self) -> None:
        """One game, each side first in turn."""
        rule, seed = make_policy("rule", self.game), self.rng.randrange(2**53)
        position = Position.start(self.game)
        mine = self.rng.randrange(2)
        while not position.is_over and not self.over.is_set():
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


def megabytes(process: int) -> float:
    """The memory of a process; nan if the system does not say."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except OSError:
        return float("nan")
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


def warm_up(address: str, game: str, opponent: str) -> None:
    """Has the server load what this opponent needs."""
    visitor = Visitor(address, game, opponent, -1, threading.Event())
    with closing(http.client.HTTPConnection(address, timeout=LIMIT)) as visitor.connection:
        for moves in ("", "1"):
            visitor.ask("POST", "/api/reply", {"game": game, "moves": moves, "opponent": opponent})


def measure(
    address: str, process: int, game: str, opponent: str, visitors: int, until: Callable[[], object]
) -> dict[str, Any]:
    """The answers of all visitors together, who play until `until` returns."""
    before, over = cpu_seconds(process), threading.Event()
    playing = [Visitor(address, game, opponent, number, over) for number in range(visitors)]
    for visitor in playing:
        visitor.start()
    until()
    over.set()
    for visitor in playing:
        visitor.join(LIMIT)
        if visitor.error is not None:
            raise visitor.error
    took = 1000 * np.array([one for visitor in playing for one in visitor.seconds])
    p50, p95 = np.percentile(took, [50, 95]) if len(took) else (float("nan"),) * 2
    return {
        "answers": len(took),
        "p50, ms": round(float(p50), 1),
        "p95, ms": round(float(p95), 1),
        "slowest, ms": round(float(took.max(initial=0)), 1),
        "server's CPU a move, ms": round(1000 * (cpu_seconds(process) - before) / max(1, len(took)), 1),
    }


def sent(address: str, data: bytes, visitor: str, waits: bool = True) -> str:
    """The status that some bytes are answered; "none" if there is no answer. Who does not wait ends the connection at
    once, so that half a request is no reason to wait.
    """
    host, port = address.split(":")
    with suppress(ConnectionError), socket.create_connection((host, int(port)), LIMIT, (visitor, 0)) as connection:
        connection.sendall(data)
        if not waits:
            connection.shutdown(socket.SHUT_WR)
        return connection.recv(64).decode("latin-1")[9:12] or "none"
    return "none"


def request(method: str, path: str, fields: Any) -> bytes:
    """A request as it is sent."""
    body = b"" if fields is None else json.dumps(fields).encode()
    head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def malformed(rng: random.Random) -> bytes:
    """A request with some fault: a wrong value, a field too many, bytes changed or lost, JSON without an end."""
    method, path, fields = rng.choice(REQUESTS)
    fault = rng.randrange(5)
    if fields is not None and fault < 2:
        name = rng.choice([*fields, "more"])
        return request(method, path, {**fields, name: rng.choice(VALUES)})
    if fault == 2:
        head, _, _ = request(method, path, None).partition(b"content-length")
        body = rng.choice([b"[" * 8000, b'{"game":', rng.randbytes(64), b"1", b"{}" * 9000])
        return head + b"content-length: %d\r\n\r\n" % (len(body) + rng.choice([0, 0, 7, -1])) + body
    whole = bytearray(request(method, path, fields))
    for _ in range(rng.randrange(1, 6)):
        whole[rng.randrange(len(whole))] = rng.randrange(256)
    return bytes(whole[: rng.randrange(1, len(whole))] if fault == 3 else whole)


def send_malformed(address: str, number: int) -> Counter[str]:
    """Sends malformed requests, from 50 addresses as fast as it can; the statuses of the answers."""
    rng = random.Random(0)
    return Counter(sent(address, malformed(rng), f"127.0.1.{1 + one % 50}", False) for one in range(number))


def hold_half_sent(address: str, number: int) -> Counter[str]:
    """Holds half-sent requests from one address, as many as the server takes, for so many seconds; those refused."""
    host, port = address.split(":")
    found, end = Counter[str](), time.monotonic() + number
    held: list[socket.socket] = []
    while time.monotonic() < end:
        with suppress(OSError):
            connection = socket.create_connection((host, int(port)), LIMIT, ("127.0.2.1", 0))
            connection.sendall(request("POST", "/api/reply", {"game": "TicTacToe-v0"})[: 40 + len(held) % 80])
            held.append(connection)
            found["held"] += 1
        if len(held) >= HELD:
            for connection in held[: HELD // 10]:
                connection.close()
            del held[: HELD // 10]
            time.sleep(0.1)
    for connection in held:
        connection.close()
    return found


def keep_agents(address: str, number: int) -> Counter[str]:
    """Trains an agent, and keeps copies of it in the league under so many names, from 50 addresses; the statuses."""
    plan = {"agent": "QLearning", "total": 1000, "opponent": None, "settings": {}}
    visitor = Visitor(address, "TicTacToe-v0", "", -1, threading.Event())
    with closing(http.client.HTTPConnection(address, timeout=LIMIT)) as visitor.connection:
        token = visitor.ask("POST", "/api/training/begin", plan)["token"]
        while visitor.ask("POST", "/api/training/look", {"token": token})["state"] in ("waiting", "running"):
            time.sleep(0.2)
    names = [f"{random.Random(time.time_ns()).randrange(10**12)} {one}" for one in range(number)]
    return Counter(
        sent(address, request("POST", "/api/training/keep", {"token": token, "name": name}), f"127.0.3.{1 + one % 50}")
        for one, name in enumerate(names)
    )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--visitors", type=positive, default=30, help="how many play at once (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=positive, default=20, help="of play against each policy (default: %(default)s)"
    )
    parser.add_argument("--policies", nargs="+", default=POLICIES, help="default: all, at their usual strength")
    parser.add_argument("--attacks", type=positive, default=10_000, help="malformed requests (default: %(default)s)")
    add_output(parser)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with served() as (address, process):
        for game in GAMES:
            for opponent in options.policies:
                warm_up(address, game, opponent)
        rows: list[Row] = [
            {"game": GAMES[game], "opponent": opponent}
            | measure(address, process, game, opponent, options.visitors, lambda: time.sleep(options.seconds))
            for game in GAMES
            for opponent in options.policies
        ]
        attacked = []
        warm_up(address, "ConnectFour-v0", "level:4")
        for title, attack, number in (
            ("half-sent requests held", hold_half_sent, options.seconds),
            ("malformed requests", send_malformed, options.attacks),
            ("agents kept in the league", keep_agents, options.attacks // 10),
        ):
            for _ in range(2):  # what is kept once is no leak
                before = megabytes(process)
                with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                    future: Future[Counter[str]] = pool.submit(attack, address, number)
                    answers = measure(address, process, "ConnectFour-v0", "level:4", options.visitors, future.result)
                statuses = ", ".join(f"{status}: {count:,}" for status, count in sorted(future.result().items()))
                memory = {"memory before, MB": before, "after, MB": megabytes(process)}
                attacked.append({"attack": title} | answers | {"statuses": statuses} | memory)
    show(f"Answers to a move, {options.visitors} visitors at once", rows)
    show("Answers to a move meanwhile, Connect Four against level:4", attacked)
    settings = {"visitors": options.visitors, "seconds": options.seconds, "attacks": options.attacks}
    save(
        "web-load", settings | {"load_before": round(load, 2)}, {"replies": rows, "attacked": attacked}, options.output
    )


if __name__ == "__main__":
    main()
