"""Chat completions over HTTP, against a small server of the tests' own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from chat_server import Stub, completion, serving

from tictac_apps import cli
from tictac_apps.language_models import ChatEndpoint, ChatError, TextPolicy
from tictac_env.position import Position


@pytest.fixture
def server() -> Iterator[Stub]:
    with serving() as stub:
        yield stub


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


def test_by_default_the_likeliest_answer_is_asked_for(server: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TICTAC_CHAT_API_KEY", raising=False)
    server.reply = completion("Move: 5")
    for address, model in ((server.url, "default"), (f"{server.url}#tiny", "tiny")):
        endpoint = ChatEndpoint.from_address(address)
        assert endpoint("Which?", seed=2**31 - 2) == "Move: 5" and endpoint.timeout == 120
        _, headers, body = server.asked[-1]
        question = {"messages": [{"role": "user", "content": "Which?"}], "temperature": 0.0, "max_tokens": 1024}
        assert body == question | {"model": model, "seed": 2**31 - 2} and "Authorization" not in headers
        assert endpoint.__name__ == (model if model == "tiny" else server.url.split("/")[2])
        assert repr(endpoint) == f"ChatEndpoint('{server.url}/chat/completions', {model!r})"


def test_numbers_have_a_range() -> None:
    url = "http://localhost:1/v1"
    ChatEndpoint(url, temperature=0, max_tokens=1, timeout=0)
    ChatEndpoint(url, temperature=100, max_tokens=10**6, timeout=86_400)
    for name, wrong in (("temperature", -0.1), ("temperature", 100.1), ("timeout", -1), ("timeout", 86_401)):
        with pytest.raises(ValueError, match=name):
            ChatEndpoint(url, **{name: wrong})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_tokens"):
        ChatEndpoint(url, max_tokens=0)


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
        (200, b"<html>", "not answer with a chat completion, but with '<html>'"),
        (200, {"choices": []}, "not answer with a chat completion"),
        (200, {"error": "no such model"}, "no such model"),
        (200, {"choices": [None]}, "not answer with a chat completion"),
        (200, {"choices": [{"message": {}}]}, "not answer with a chat completion"),
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
