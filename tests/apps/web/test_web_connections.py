"""Connections from an address that holds too many, or sends half a request; and what a proxy may say."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection

import pytest

pytest.importorskip("starlette")

import uvicorn

from tictac_apps.web.app import Server
from tictac_apps.web.connections import configured
from tictac_apps.web.limits import ServerLimits

HEAD = b"POST /api/reply HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n"
HALF = (b"", b"GET /api/server HT", HEAD, HEAD + b"\r\n{")
ATTACKER, OTHER = "127.0.0.1", "127.0.0.2"


@contextmanager
def listening(limits: ServerLimits, proxies: tuple[str, ...] = ()) -> Iterator[int]:
    """A server in a thread of its own; its port."""
    server = uvicorn.Server(configured(Server(limits).app(), limits, proxies))
    with socket.create_server((ATTACKER, 0), backlog=512) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def asked(port: int, visitor: str, **headers: str) -> int:
    """The status that a visitor with this address is answered."""
    connection = HTTPConnection(ATTACKER, port, timeout=20, source_address=(visitor, 0))
    try:
        connection.request("GET", "/api/server", headers={**headers, "connection": "close"})
        return connection.getresponse().status
    finally:
        connection.close()


def send(port: int, data: bytes) -> socket.socket:
    """Sends the attacker's data, and leaves the connection open."""
    connection = socket.create_connection((ATTACKER, port), timeout=20)
    connection.sendall(data)
    return connection


def test_half_sent_requests_of_one_address_disturb_nobody_else() -> None:
    """600 are more than the server's connections: their address is refused, another is answered each time."""
    with listening(ServerLimits(read_seconds=60)) as port, ExitStack() as held:
        for number in range(600):
            try:
                held.enter_context(send(port, HALF[number % len(HALF)]))
            except ConnectionError:  # refused before all was sent
                assert number >= ServerLimits().connections
        assert asked(port, ATTACKER) == 429
        begin = time.monotonic()
        assert [asked(port, OTHER) for _ in range(20)] == [200] * 20
        assert time.monotonic() - begin < 5


@pytest.mark.parametrize("half", HALF)
def test_a_request_that_does_not_arrive_in_time_is_ended(half: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    with listening(ServerLimits(read_seconds=0.5, connections=1)) as port, send(port, half) as connection:
        assert asked(port, ATTACKER) == 429
        begin = time.monotonic()
        assert connection.recv(1) == b""
        assert time.monotonic() - begin < 5
        assert asked(port, ATTACKER) == 200
    assert "Traceback" not in capfd.readouterr().err


def test_parts_that_keep_coming_gain_no_time_and_whole_requests_keep_their_connection() -> None:
    with listening(ServerLimits(read_seconds=1)) as port:
        with send(port, b"GET /api/server HTTP/1.1\r\nx: ") as connection:
            begin = time.monotonic()
            connection.settimeout(0.1)
            while time.monotonic() - begin < 10:
                with suppress(TimeoutError):
                    assert connection.recv(1) == b""
                    break
                connection.sendall(b"x")
            assert time.monotonic() - begin < 5
        kept = HTTPConnection(ATTACKER, port, timeout=20)
        for _ in range(4):
            kept.request("GET", "/api/server", headers={"connection": "keep-alive"})
            local = kept.sock.getsockname()
            response = kept.getresponse()
            assert (response.status, kept.sock.getsockname()) == (200, local) and response.read()
            assert response.getheader("server") is None
            time.sleep(0.5)
        kept.close()


@pytest.mark.parametrize(("proxies", "statuses"), [((), [200, 429, 429]), (("127.0.0.0/30",), [200, 200, 429])])
def test_only_a_trusted_proxy_names_its_visitors(
    proxies: tuple[str, ...], statuses: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else anybody could pretend to be many visitors, each with a rate of its own."""
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # which uvicorn would believe
    with listening(ServerLimits(rate=0.01, burst=1), proxies) as port:
        visitors = ("192.0.2.1", "192.0.2.2", "192.0.2.2")
        assert [asked(port, OTHER, **{"x-forwarded-for": visitor}) for visitor in visitors] == statuses


def test_a_trusted_proxy_holds_the_connections_of_many() -> None:
    limits = ServerLimits(connections=1)
    with listening(limits, (ATTACKER,)) as port, send(port, HEAD), send(port, HEAD):
        assert asked(port, ATTACKER) == 200
