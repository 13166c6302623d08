"""Connections: the settings of uvicorn, the time in which a request must arrive, the connections of one address."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from tictac_apps.web.limits import ServerLimits

TOO_MANY = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def configured(app: ASGIApp, limits: ServerLimits, proxies: Iterable[str] = ()) -> uvicorn.Config:
    """The settings with which uvicorn serves an application.

    Args:
        app: the application.
        limits: `connections` and `read_seconds` are enforced here.
        proxies: addresses, or networks such as "10.0.0.0/8", of trusted proxies. The header X-Forwarded-For is believed
            if it comes from them, and they may hold any number of connections, as many visitors share them.

    Raises:
        ValueError: one of the proxies is neither an address nor a network.
    """
    trusted = [ip_network(proxy) for proxy in proxies]
    return uvicorn.Config(
        app,
        http=_bounded(limits, trusted),
        proxy_headers=bool(trusted),
        forwarded_allow_ips=list(map(str, trusted)),
        log_level="error",  # a warning for each malformed request would flood the terminal
        server_header=False,
        timeout_keep_alive=15,
        limit_concurrency=512,
        h11_max_incomplete_event_size=32_768,
        timeout_graceful_shutdown=3,
    )


def _bounded(limits: ServerLimits, trusted: Sequence[IPv4Network | IPv6Network]) -> type[H11Protocol]:
    """Uvicorn's protocol with what it lacks: a limit of connections for each address, and a read timeout."""

    class Bounded(H11Protocol):
        """A connection, closed if its next request does not arrive in time."""

        reading: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
            super().connection_made(transport)
            self._await_request()
            held = sum(isinstance(other, Bounded) and other.address == self.address for other in self.connections)
            if held > limits.connections and not any(ip_address(self.address) in network for network in trusted):
                transport.write(TOO_MANY)
                transport.close()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            state = self.conn.their_state
            if state is h11.SEND_BODY or (state is h11.IDLE and self.conn.trailing_data[0]):
                self._await_request()
            else:
                self._end_waiting()

        def connection_lost(self, exc: Exception | None) -> None:
            self._end_waiting()
            super().connection_lost(exc)

        @property
        def address(self) -> str:
            """The visitor's address, "" if it has none."""
            return self.client[0] if self.client else ""

        def _await_request(self) -> None:
            """Starts the read timeout; further parts of the same request do not extend it."""
            if self.reading is None:
                self.reading = self.loop.call_later(limits.read_seconds, self.transport.close)

        def _end_waiting(self) -> None:
            if self.reading is not None:
                self.reading.cancel()
                self.reading = None

    return Bounded
