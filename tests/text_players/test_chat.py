"""Chat completions over HTTP, against a small server of this test's own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tictac_env import cli
from tictac_env.position import Position
from tictac_env.text_players import ChatEndpoint, ChatError, TextPolicy


class Stub(ThreadingHTTPServer):
    """Answers every request with `status` and `reply`; `asked` holds the requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.status, self.headers_sent = 200, {"Content-Type": "application/json"}
        self.reply: Any = None  # None: plays the first legal move

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Stub

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, dict(self.headers), body))
        reply = self.server.reply
        if reply is None:
            first = body["messages"][-1]["content"].rpartition("The legal moves: ")[2].split()[0]
            reply = completion(f"Fine.\nMove: {first}")
        raw = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        self.send_response(self.server.status)
        for name, value in self.server.headers_sent.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


def completion(content: Any) -> dict[str, Any]:
    return {"id": "1", "choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]}


@pytest.fixture
def server() -> Iterator[Stub]:
    with Stub() as stub:
        thread = threading.Thread(target=stub.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield stub
        stub.shutdown()
        thread.join()


def test_what_is_sent_is_a_chat_completion(server: Stub) -> None:
    ask = ChatEndpoint(server.url, "tiny", system="Play well.", temperature=0.5, max_tokens=9, api_key="secret")
    server.reply = completion("Move: 5")
    assert ask("Which?", seed=2**62 + 2**31 + 7) == "Move: 5"
    ((path, headers, body),) = server.asked
    assert path == "/v1/chat/completions" and headers["Authorization"] == "Bearer secret"
    assert body == {
        "model": "tiny",
        "messages": [{"role": "system", "content": "Play well."}, {"role": "user", "content": "Which?"}],
        "temperature": 0.5,
        "max_tokens": 9,
        "seed": 7,
    }
    assert ChatEndpoint(f"{server.url}/chat/completions/")("Which?") == "Move: 5"
    path, headers, body = server.asked[1]
    assert path == "/v1/chat/completions" and "Authorization" not in headers and "seed" not in body
    server.reply = completion(None)
    assert ask("Which?") == ""
    server.reply = None
    player = TextPolicy(ChatEndpoint(server.url, "tiny"))
    assert player.act(Position.from_moves("TicTacToe-v0", "12"), 5) == 2
    assert str(player) == "tiny" and server.asked[-1][2]["seed"] == 5


def test_the_command_judges_it(
    server: Stub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TICTAC_CHAT_API_KEY", "secret")
    words = ["tournament", f"low={server.url}#tiny", "random", "--games", "4", "--json"]
    assert cli.main(words) == 0
    assert '"games": 4' in capsys.readouterr().out
    assert server.asked and all(headers["Authorization"] == "Bearer secret" for _, headers, _ in server.asked)


@pytest.mark.parametrize(
    ("status", "reply", "told"),
    [
        (503, b"too busy", "answered 503 .*: too busy"),
        (302, b"", "answered 302"),
        (200, b"<html>", "no chat completion, but '<html>'"),
        (200, {"choices": []}, "no chat completion"),
        (200, {"error": "no such model"}, "no such model"),
        (200, b" " * ((1 << 20) + 1), "more than 1,048,576 bytes"),
    ],
)
def test_other_answers_are_errors_that_name_the_server(server: Stub, status: int, reply: Any, told: str) -> None:
    server.status, server.reply = status, reply
    server.headers_sent = {"Location": "http://127.0.0.1:9/elsewhere"} if status == 302 else {}
    with pytest.raises(ChatError, match=f"^{server.url}/chat/completions {'.*'}{told}") as raised:
        ChatEndpoint(server.url, api_key="secret")("Which?")
    assert "secret" not in str(raised.value) and len(server.asked) == 1


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "localhost:80", "ftp://x/v1", "http://", "http://me:pw@x/v1", "http://x/v1?key=1", ""]
)
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"the address") as raised:
        ChatEndpoint(url)
    assert "pw" not in str(raised.value).replace(repr("file:///etc/passwd"), "")
