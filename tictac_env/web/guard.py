"""What every request passes: the name it asks for, its rate, its size, and the headers of every answer."""

from __future__ import annotations

import ipaddress
import json
import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tictac_env.web.limits import Limits

HEADERS = {
    "content-security-policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
MAX_ADDRESSES = 10_000
"""Of how many addresses the rate is known; beyond, those not heard of for longest are forgotten."""


class Answer(Response):
    """JSON in ASCII, so that whatever a request said can be told back."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


class Rates:
    """How many requests each address may still send: a bucket of `burst`, filled at `rate` a second."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self._clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """Takes one out of the bucket of an address; 0 if there was one, else in how many seconds there will be."""
        now = self._clock()
        left, seen = self._buckets.get(address, (float(self.burst), now))
        left = min(self.burst, left + (now - seen) * self.rate)
        allowed = left >= 1
        self._buckets[address] = (left - 1 if allowed else left, now)
        self._buckets.move_to_end(address)
        if len(self._buckets) > MAX_ADDRESSES:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self.rate


class Hosts:
    """The names under which a server may be asked: "localhost", any address in numbers, and the names given.

    A page of somebody else's could have its own name lead to this machine (DNS rebinding), and would then read what the
    server answers. Its requests still come under that name, in the header "Host". Such names are never numbers.

    Args:
        names: further names, without a port.

    Raises:
        ValueError: one of them cannot be a name.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = {"localhost", *(_host_name(name) for name in names)}

    def refusal(self, header: str) -> str:
        """Why a request with this header is refused; empty if it is not."""
        host = re.sub(r":\d*$", "", header).lower().removesuffix(".")
        if host in self.names or _is_number(host):
            return ""
        return f"this server is not called {host!r}; whoever runs it may say so: tictac serve --allowed-host NAME"


def _host_name(name: str) -> str:
    if not re.fullmatch(r"[\w-]+(\.[\w-]+)*\.?", name, re.ASCII) and not _is_number(name):
        raise ValueError(f"an allowed host must be a name such as 'games.example.org', without a port, not {name!r}")
    return name.lower().removesuffix(".")


def _is_number(host: str) -> bool:
    """Whether it is an address in numbers; in a request one of IPv6 stands in brackets."""
    try:
        ipaddress.ip_address(host[1:-1] if host.startswith("[") and host.endswith("]") else host)
    except ValueError:
        return False
    return True


class Guard:
    """An ASGI application around another: refuses what comes under another name, is too large or comes too fast, and
    adds the headers.
    """

    def __init__(self, app: ASGIApp, limits: Limits, hosts: Hosts) -> None:
        self.app = app
        self.limits = limits
        self.hosts = hosts
        self.rates = Rates(limits.rate, limits.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                more = [
                    (name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in given
                ]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        if reason := self.hosts.refusal(host):
            await Answer({"error": reason}, 400)(scope, receive, send_with_headers)
            return
        client = scope.get("client")
        wait = self.rates.wait(client[0] if client else "")
        if wait:
            retry = {"retry-after": str(math.ceil(wait))}
            refusal = Answer({"error": f"too many requests; come back in {wait:.1f} s"}, 429, retry)
            await refusal(scope, receive, send_with_headers)
            return
        body = await self._body(scope, receive)
        if body is None:
            refusal = Answer({"error": f"a request may send at most {self.limits.body_bytes:,} bytes"}, 413)
            await refusal(scope, receive, send_with_headers)
            return
        told = False

        async def receive_body() -> Message:
            nonlocal told
            if told:
                return await receive()
            told = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, receive_body, send_with_headers)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The whole body; None if it is too large, of which no more is read than is allowed."""
        most = self.limits.body_bytes
        said = dict(scope["headers"]).get(b"content-length", b"0")
        if said.isdigit() and (len(said) > 9 or int(said) > most):
            return None
        body: bytes = b""
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return body
            body += message.get("body", b"")
            if len(body) > most:
                return None
            if not message.get("more_body", False):
                return body
