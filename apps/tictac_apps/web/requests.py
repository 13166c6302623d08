"""Requests: the checks before they are answered, their fields, and the threads that answer them."""

from __future__ import annotations

import asyncio
import html
import ipaddress
import json
import math
import re
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from typing import Any, TypeVar

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tictac_apps.web.limits import ServerLimits
from tictac_env.games import Game, get_game
from tictac_env.position import IllegalMove, Position
from tictac_env.storage import read_json

Result = TypeVar("Result")

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
"""Sent with every answer."""
UNKNOWN_NAME = (
    '<!doctype html><html lang="en"><title>Another name is needed</title><h1>This page has another name</h1><p>'
    "{reason}.</p><p>The numeric address of the machine works, too, such as http://192.168.1.7:8000/.</p></html>"
)
"""The page for a browser that uses a host name that is not allowed."""
MAX_ADDRESSES = 10_000
"""The number of addresses whose rate is kept; beyond it, the address that was silent for longest is forgotten."""
MAX_GAME, MAX_MOVES, MAX_WORD = 64, 256, 96
"""The most characters of a field."""
MAX_SEED = 2**53
"""Integers below this are exact in JavaScript."""


class JSONAnswer(JSONResponse):
    """JSON in ASCII, so that it can repeat any string of a request, even half a surrogate pair; of dataclasses, too."""

    def render(self, content: object) -> bytes:
        return json.dumps(content, default=asdict, allow_nan=False, separators=(",", ":")).encode("ascii")


class Refused(HTTPException):
    """Raised to refuse a request, with a reason and a status of 4xx."""

    def __init__(self, reason: str, status: int = 400, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, reason, headers)


class Rates:
    """Limits the requests of each address by a token bucket: it holds `burst` tokens and gets `rate` a second."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self._clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """Takes a token from the bucket of an address, and returns 0; if there is none, the seconds until there is."""
        now = self._clock()
        left, seen = self._buckets.get(address, (float(self.burst), now))
        left = min(self.burst, left + (now - seen) * self.rate)
        allowed = left >= 1
        self._buckets[address] = (left - 1 if allowed else left, now)
        self._buckets.move_to_end(address)
        if len(self._buckets) > MAX_ADDRESSES:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self.rate


def host_names(names: Iterable[str]) -> frozenset[str]:
    """The host names that requests may use besides numeric addresses: "localhost" and some names.

    Raises:
        ValueError: one of the names is not a host name.
    """
    for name in names:
        if not re.fullmatch(r"[\w-]+(\.[\w-]+)*\.?", name, re.ASCII) and not _is_number(name):
            raise ValueError(
                f"an allowed host must be a name such as 'games.example.org', without a port, not {name!r}"
            )
    return frozenset({"localhost", *(name.lower().removesuffix(".") for name in names)})


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host[1:-1] if host.startswith("[") and host.endswith("]") else host)
    except ValueError:
        return False
    return True


class Guard:
    """Middleware: refuses requests for other host names and requests that come too fast, and adds the headers.

    A page of another site could have its own name resolve to this machine (DNS rebinding) and would then read the
    server's answers. Its requests still carry that name in the header "Host", and such a name is never numeric.
    Starlette's `TrustedHostMiddleware` is not enough here: it cannot allow all numeric addresses.

    Args:
        app: the application.
        limits: `rate` and `burst` are enforced here.
        hosts: as of `host_names`.
    """

    def __init__(self, app: ASGIApp, limits: ServerLimits, hosts: frozenset[str]) -> None:
        self.app = app
        self.hosts = hosts
        self.rates = Rates(limits.rate, limits.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in (HEADERS | {"cache-control": "no-cache"}).items():
                    headers.setdefault(name, value)
            await send(message)

        await (self._refusal(Request(scope)) or self.app)(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> Response | None:
        host = re.sub(r":\d*$", "", request.headers.get("host", "")).lower().removesuffix(".")
        if host not in self.hosts and not _is_number(host):
            reason = (
                f"this server is not called {host!r}; whoever runs it may allow it: tictac serve --allowed-host NAME"
            )
            if "text/html" in request.headers.get("accept", ""):  # a person typed the name
                return HTMLResponse(UNKNOWN_NAME.format(reason=html.escape(reason)), 400)
            return JSONAnswer({"error": reason}, 400)
        wait = self.rates.wait(address_of(request))
        if wait:
            reason = f"too many requests; come back in {wait:.1f} s"
            return JSONAnswer({"error": reason}, 429, {"retry-after": str(math.ceil(wait))})
        return None


def address_of(request: Request) -> str:
    """The address of the visitor; "" if there is none, as on a socket of the file system."""
    return request.client.host if request.client else ""


class WorkerThreads:
    """Threads for work that takes longer than a moment, and a bounded queue of jobs for them.

    Addresses take turns, so a visitor with many requests delays only itself. If too many jobs wait, the last job of the
    address with the most of them is refused. Compiled searches release the GIL, so several run at the same time, beside
    the event loop.
    """

    def __init__(self, limits: ServerLimits, name: str) -> None:
        self._pool = ThreadPoolExecutor(limits.threads, thread_name_prefix=name)
        self._free, self._max_waiting = limits.threads, limits.waiting
        # The jobs that wait, by address, and the futures of their callers. Used in the event loop only, so without a
        # lock. The address whose turn it is comes first.
        self._waiting: OrderedDict[str, deque[tuple[Callable[[], Any], asyncio.Future[Any]]]] = OrderedDict()

    async def do(self, job: Callable[[], Result], address: str = "") -> Result:
        """Returns or raises what the job does. A job that is cancelled while it waits is never started.

        Args:
            job: called in a thread.
            address: the visitor's.

        Raises:
            Refused: too many jobs are waiting.
        """
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(address, deque()).append((job, answer))
        self._begin()
        # Only after those have begun that can: a queue of length 0 still allows one job for each free thread.
        if sum(map(len, self._waiting.values())) > self._max_waiting:
            _, refused = max(self._waiting.values(), key=len).pop()
            if not refused.done():
                refused.set_exception(Refused("the server is busy; try again in a moment", 429, {"retry-after": "1"}))
        return await answer

    def _begin(self) -> None:
        """Starts jobs while there are free threads, one of each address in turn."""
        while self._free and self._waiting:
            address, jobs = self._waiting.popitem(last=False)
            if len(jobs) > 1:  # its next job waits until all other addresses have had a turn
                self._waiting[address] = jobs
            if jobs:
                job, answer = jobs.popleft()
                if not answer.done():
                    self._free -= 1
                    asyncio.wrap_future(self._pool.submit(job)).add_done_callback(partial(self._ended, answer))

    def _ended(self, answer: asyncio.Future[Any], done: asyncio.Future[Any]) -> None:
        """Passes the result of a job to its caller, and starts the next job."""
        # In the event loop again: asyncio calls it there, whichever thread did the job.
        self._free += 1
        error = None if done.cancelled() else done.exception()
        if not answer.done():  # else its visitor has left
            if done.cancelled():
                answer.cancel()
            elif error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(done.result())
        self._begin()

    def close(self) -> None:
        """Starts no further jobs; those that run end by themselves."""
        for jobs in self._waiting.values():
            for _, answer in jobs:
                answer.cancel()
        self._waiting.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)


async def unless_left(request: Request, work: Awaitable[Result]) -> Result:
    """Awaits some work for a request, and cancels it as soon as its visitor has left.

    Raises:
        Refused: the visitor has left.
    """

    async def left() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(left())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Refused("the connection ended before the answer", 499)
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()


async def _body(request: Request, most: int) -> bytes:
    """The body of a request, which must be JSON by its header and have at most `most` bytes."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # without CORS, a page of another site cannot send this type
        raise Refused(f"the content type must be application/json, not {kind[:MAX_WORD]!r}", 415)
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > most:
                raise Refused(f"a request may send at most {most:,} bytes", 413)
    except ClientDisconnect:
        raise Refused("the connection ended before the request did") from None
    return body


class Fields(dict[str, object]):
    """The fields of a request, each checked when it is read; a wrong one raises `Refused`, which names it.

    Attributes:
        arrived: the time of the request, by `time.monotonic`.
        address: the visitor's.
        site: the page's address in the request, such as "http://192.168.1.7:8000/".
    """

    def __init__(self, fields: Mapping[str, object], address: str = "", site: str = "") -> None:
        super().__init__(fields)
        self.arrived = time.monotonic()
        self.address, self.site = address, site

    @classmethod
    async def of(cls, request: Request, most: int) -> Fields:
        """Reads the query of a GET, or else the body, a JSON object of at most `most` bytes."""
        addresses = address_of(request), str(request.base_url)
        if request.method in ("GET", "HEAD"):
            return cls(request.query_params, *addresses)
        body = await _body(request, most)
        try:
            fields = read_json(body)
        except ValueError as error:
            raise Refused(f"the body is not JSON: {str(error)[:200]}") from None
        if not isinstance(fields, dict):
            raise Refused(f"the body must be a JSON object, not {type(fields).__name__}")
        return cls(fields, *addresses)

    @property
    def waited(self) -> float:
        """The seconds since the request came."""
        return time.monotonic() - self.arrived

    def text(self, name: str, default: str | None = None, longest: int = MAX_WORD) -> str:
        """A string of printable ASCII."""
        value = self.words(name, default, longest)
        if not value.isascii():
            raise Refused(f"{name} must be printable ASCII, not {_shown(value)}")
        return value

    def words(self, name: str, default: str | None = None, longest: int = MAX_WORD) -> str:
        """A string of printable characters of any alphabet."""
        value = self.get(name, default)
        if value is None:
            raise Refused(f"{name} is missing")
        if not isinstance(value, str):
            raise Refused(f"{name} must be a string, not {_shown(value)}")
        if len(value) > longest:
            raise Refused(f"{name} has {len(value)} characters; at most {longest} are allowed")
        if not value.isprintable():
            raise Refused(f"{name} must be printable, not {_shown(value)}")
        return value

    def integer(self, name: str, most: int) -> int:
        """An integer in [0, most], in JSON or as digits; 0 unless given."""
        value = self.get(name, 0)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 16:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise Refused(f"{name} must be an integer from 0 to {most}, not {_shown(value)}")
        return value

    @property
    def seed(self) -> int:
        """The seed of the game."""
        return self.integer("seed", MAX_SEED - 1)

    @property
    def game(self) -> Game:
        """The `game` by its name."""
        try:
            return get_game(self.text("game", "TicTacToe-v0", MAX_GAME))
        except ValueError as error:
            raise Refused(str(error)) from None

    def position(self, unfinished: bool = False) -> Position:
        """The position after the `moves` of a `game`; with `unfinished` the game must not be over."""
        game, moves = self.game, self.text("moves", "", MAX_MOVES)
        try:
            position = Position.from_moves(game, moves)
        except IllegalMove as error:
            raise Refused(str(error), 422) from None
        except ValueError as error:
            raise Refused(str(error)) from None
        if unfinished and position.is_over:
            raise Refused(f"the game {moves!r} is over", 422)
        return position


def _shown(value: object) -> str:
    """The value as error messages show it: in ASCII, and cut off."""
    if isinstance(value, float) and not math.isfinite(value):
        return "a number that is not finite"
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
