"""A client of the server, without a network."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from tictac_apps.web.app import Server
from tictac_apps.web.limits import ServerLimits

PATIENT = ServerLimits(rate=1e6, burst=1_000_000, exact_seconds=10, review_seconds=20)
"""For tests that ask faster than a person does, on a slow machine."""


def waited_for(found: Callable[[], Any], seconds: float = 120) -> Any:
    """The answer of `found` once it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if seen := found():
            return seen
        time.sleep(0.05)
    raise TimeoutError


def visited(server: Server, name: str = "127.0.0.1:8000") -> TestClient:
    """A client that asks a server under a name, by default as `tictac serve` shows it."""
    return TestClient(server.app(), base_url=f"http://{name}")


class Client:
    """Asks the server as the page does."""

    def __init__(self, client: TestClient) -> None:
        self.http = client

    def get(self, path: str, **fields: Any) -> Any:
        return self._asked("GET", path, 200, 200, fields)

    def post(self, path: str, **fields: Any) -> Any:
        return self._asked("POST", path, 200, 200, fields)

    def refused(self, method: str, path: str, status: int | None = None, **fields: Any) -> str:
        """The reason for which a request is refused."""
        reason: str = self._asked(method, path, status or 400, status or 499, fields)["error"]
        assert reason
        return reason

    def _asked(self, method: str, path: str, least: int, most: int, fields: dict[str, Any]) -> Any:
        response = self.http.request(method, path, **{"params" if method == "GET" else "json": fields})
        assert least <= response.status_code <= most, response.text
        return response.json()


@pytest.fixture(scope="session", name="client")
def shared_client() -> Iterator[Client]:
    with visited(Server(PATIENT)) as http:
        yield Client(http)
