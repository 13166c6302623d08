"""A small server of chat completions for tests: scripted answers over real HTTP."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Stub(ThreadingHTTPServer):
    """Answers every request with `status` and `reply`, or by `script`; `asked` holds the requests."""

    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.status, self.headers_sent = 200, {"Content-Type": "application/json"}
        self.failures: list[int | str] = []  # statuses, "cut", "error cut", or 0 for none, each for one request
        self.resets = 0  # the connections that are dropped before anything is read
        self.reply: Any = None  # None: the answer is that of the script
        self.script: Callable[[str], str] = first_legal

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def prompts(self) -> list[str]:
        return [body["messages"][-1]["content"] for _, _, body in self.asked]

    def process_request(self, request: Any, client_address: Any) -> None:
        if self.resets:
            self.resets -= 1
            reset(request)
        else:
            super().process_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed does not wait for its answer."""


class Handler(BaseHTTPRequestHandler):
    server: Stub

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, dict(self.headers), body))
        if self.server.failures and (failure := self.server.failures.pop(0)):
            self.fail(failure)
            return
        reply = self.server.reply
        if reply is None:
            reply = completion(self.server.script(body["messages"][-1]["content"]))
        raw = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        self.send_response(self.server.status)
        for name, value in self.server.headers_sent.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def fail(self, failure: int | str) -> None:
        if failure == "cut":
            self.close_connection = True
            return
        cut = failure == "error cut"
        self.send_response(500 if cut else int(failure))
        for name, value in self.server.headers_sent.items():
            self.send_header(name, value)
        if cut:
            self.send_header("Content-Length", "400")
        self.end_headers()
        if cut:
            self.wfile.write(b"so much is sent")
            self.close_connection = True
            reset(self.connection)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


def reset(connection: socket.socket) -> None:
    """Drops a connection so that its other end gets an error, not an end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def completion(content: Any) -> dict[str, Any]:
    return {"id": "1", "choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]}


def legal_in(prompt: str) -> list[str]:
    """The legal moves that a prompt lists; else those that its board shows."""
    _, listed, moves = prompt.rpartition("The legal moves: ")
    if listed:
        return moves.splitlines()[0].split()
    lines = prompt.split("\n\n")[1].splitlines()
    cells = lines[0] if lines[-1].split()[0] == "1" else " ".join(lines)  # below columns are their numbers
    return [str(number) for number, cell in enumerate(cells.split(), 1) if cell == "."]


def first_legal(prompt: str) -> str:
    return f"Fine.\nMove: {legal_in(prompt)[0]}"


def drawn(prompt: str, *, seed: int) -> str:
    legal = legal_in(prompt)
    return f"Move: {legal[seed % len(legal)]}"


@contextmanager
def serving() -> Iterator[Stub]:
    """A server that runs within the block."""
    with Stub() as stub:
        stub.daemon_threads = True
        thread = threading.Thread(target=stub.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield stub
        finally:
            stub.shutdown()
            thread.join()
