"""Games a second and memory of 64 `TextSession`s at once against a server of a language model.

    python benchmarks/text_sessions.py [--sessions 64] [--games 10000] [--output FOLDER]

The server is a process of its own on this machine, and answers `/chat/completions` by a script: a legal move, drawn by
the prompt, or no move in one of 25 answers. Each session is a task of one event loop, keeps its connection, and begins
the next game when one is over. Each row is a process of its own, so none finds what the solver has kept for another.
No game may be lost, and a sample of the games is played again one by one: it must be the same. CPU time and memory
(resident) are those of the process that holds the sessions. Some ten minutes.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection

from benchmarks.records import add_output, parser_of, positive, save
from benchmarks.web_load import megabytes
from tictac_apps.bench.records import Row, show
from tictac_apps.language_models import BoardHarness, TextSession, Turn
from tictac_env.progress import track

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"
CASES = (
    (TTT, "perfect:0.5", "outcome"),
    (TTT, "perfect:0.5", "regret"),
    (C4, "rule", "outcome"),
    (C4, "rule", "regret"),
    (C4, "perfect:0.5", "regret"),
)
"""The game, the opponent and the reward of each row."""
WRONG = 25
"""One answer in this number names no move."""
ALONE = 50
"""Games that are played again, one after the other."""
Case = tuple[str, str, str]
Ended = tuple[tuple[int, ...], tuple[int, int] | None, float]
"""The moves of a game, its outcomes, and what the seat that is asked has earned."""


def legal_moves(prompt: str) -> list[str]:
    """The legal moves that a prompt lists; if it lists none, the empty cells of its board of tic-tac-toe."""
    _, listed, moves = prompt.rpartition("The legal moves: ")
    if listed:
        return moves.splitlines()[0].split()
    cells = "".join(re.findall(r"^ [.XO]  [.XO]  [.XO]$", prompt, re.MULTILINE)).replace(" ", "")
    return [str(number) for number, cell in enumerate(cells, 1) if cell == "."]


def scripted(prompt: str) -> str:
    """The answer of the server, which depends on the prompt alone."""
    draw, legal = zlib.crc32(prompt.encode()), legal_moves(prompt)
    return "I cannot decide." if draw % WRONG == 0 else f"This one.\nMove: {legal[draw // WRONG % len(legal)]}"


async def read_message(reader: asyncio.StreamReader) -> bytes:
    """The body of the next HTTP message; empty if the other side has ended the connection."""
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [line.partition(b":")[2] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
    return await reader.readexactly(int(lengths[0]))


async def answer_requests(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers the requests of a connection until it ends."""
    try:
        while True:
            asked = json.loads(await read_message(reader))
            message = {"role": "assistant", "content": scripted(asked["messages"][-1]["content"])}
            completion = {"id": "scripted", "object": "chat.completion", "created": 0, "model": asked["model"]}
            completion["choices"] = [{"index": 0, "message": message, "finish_reason": "stop"}]
            body = json.dumps(completion).encode()
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
            writer.write(head + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def serve(port: Connection) -> None:
    """Runs the server until it is ended; its port is sent first."""

    async def run() -> None:
        server = await asyncio.start_server(answer_requests, "127.0.0.1", 0)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


@contextmanager
def served() -> Iterator[int]:
    """A server in a process of its own: its port."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(there,), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        process.terminate()
        process.join()


@dataclass
class Endpoint:
    """A connection to the server, which asks for one answer after another."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    @asynccontextmanager
    async def at(cls, port: int) -> AsyncIterator[Endpoint]:
        """A connection to the server on a port of this machine."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            yield cls(reader, writer)
        finally:
            writer.close()
            await writer.wait_closed()

    async def answer(self, turn: Turn) -> str:
        """The answer to the conversation of a turn."""
        body = json.dumps({"model": "scripted", "messages": turn.messages}).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        self.writer.write(head.encode() + body)
        await self.writer.drain()
        found = json.loads(await read_message(self.reader))["choices"][0]["message"]["content"]
        return str(found)


@dataclass
class Tally:
    """Counts of the ends of each game, by its seed, the first game, and the memory after each half of them."""

    times: bytearray
    games: int = 0
    first: dict[int, Ended] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)
    memory: list[float] = field(default_factory=list)

    def add(self, seed: int, session: TextSession, turn: Turn) -> None:
        self.times[seed] += 1
        self.games += 1
        if seed < ALONE:
            self.first[seed] = turn.position.moves, turn.outcomes, session.returns[turn.seat]
        if self.games in (len(self.times) // 2, len(self.times)):
            self.memory.append(megabytes(os.getpid()))


def new_session(case: Case) -> TextSession:
    """A session with the defaults for training, but for the prompt's list of legal moves, which the script needs."""
    game, opponent, reward = case
    return TextSession(game, opponent, reward=reward, harness=BoardHarness())


async def play(port: int, case: Case, sessions: int, games: int) -> Tally:
    """Plays the games of the seeds from 0 on, in some sessions at once."""
    tally, waiting = Tally(bytearray(games)), iter(range(games))

    async def take_games() -> None:
        session = new_session(case)
        async with Endpoint.at(port) as endpoint:
            for seed in waiting:
                turn = await session.async_reset(seed)
                while not turn.done:
                    turn = await session.async_answer(await endpoint.answer(turn))
                    tally.statuses[turn.status] += 1
                tally.add(seed, session, turn)

    await asyncio.gather(*(take_games() for _ in range(sessions)))
    return tally


def play_alone(case: Case, seed: int) -> Ended:
    """The game of a seed, without a server and without other games at the same time."""
    session = new_session(case)
    turn = session.reset(seed)
    while not turn.done:
        turn = session.answer(scripted(turn.prompt))
    return turn.position.moves, turn.outcomes, session.returns[turn.seat]


def measure(port: int, case: Case, sessions: int, games: int) -> Row:
    """The figures of a row.

    Raises:
        SystemExit: games are missing, or are others than those that are played alone.
    """
    asyncio.run(play(port, case, sessions, sessions))  # loads the machine code
    load, before = os.getloadavg()[0], megabytes(os.getpid())
    cpu, began = time.process_time(), time.perf_counter()
    tally = asyncio.run(play(port, case, sessions, games))
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    differ = [seed for seed, ended in sorted(tally.first.items()) if ended != play_alone(case, seed)]
    lost = tally.times.count(0)
    if differ or any(times != 1 for times in tally.times):
        raise SystemExit(f"{case}: {lost} of {games} games lost; seeds that differ alone: {differ}")
    answers = sum(tally.statuses.values())
    return {
        **dict(zip(("game", "opponent", "reward"), case, strict=True)),
        "load": round(load, 2),
        "games/s": round(games / seconds, 1),
        "games/CPU s": round(games / cpu, 1),
        "answers": answers,
        "wrong answers": answers - tally.statuses["legal"],
        "lost": lost,
        "MB before": before,
        "MB after half": tally.memory[0],
        "MB after all": tally.memory[-1],
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--sessions", type=positive, default=64, help="sessions at once (default: %(default)s)")
    parser.add_argument("--games", type=positive, default=10_000, help="of each row (default: %(default)s)")
    parser.add_argument("--game", choices=(TTT, C4), help="the rows of one game (default: of both)")
    add_output(parser)
    options = parser.parse_args()
    cases = [case for case in CASES if options.game in (None, case[0])]
    rows, spawned = list[Row](), get_context("spawn")
    with served() as port, ProcessPoolExecutor(1, spawned, max_tasks_per_child=1) as processes:
        for case in track(cases, "rows"):
            rows.append(processes.submit(measure, port, case, options.sessions, options.games).result())
    show(f"{options.sessions} sessions at once", rows)
    settings = {"sessions": options.sessions, "games": options.games}
    save("text-sessions", settings, {"sessions": rows}, options.output)


if __name__ == "__main__":
    main()
