"""What the tests of the page share: a client of the server, without a network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from tictac_env.web.app import Server
from tictac_env.web.requests import Limits

PATIENT = Limits(rate=1e6, burst=1_000_000, exact_seconds=10, review_seconds=20)
"""For tests that ask faster than a person does, on a slow machine."""


def visited(server: Server, name: str = "127.0.0.1:8000") -> TestClient:
    """A server that is asked under a name, by default as `tictac serve` shows it."""
    return TestClient(server.app(), base_url=f"http://{name}")


class Client:
    """Asks the server as the page does."""

    def __init__(self, client: TestClient) -> None:
        self.http = client

    def get(self, path: str, **fields: Any) -> Any:
        response = self.http.get(path, params=fields)
        assert response.status_code == 200, response.text
        return response.json()

    def post(self, path: str, **fields: Any) -> Any:
        response = self.http.post(path, json=fields)
        assert response.status_code == 200, response.text
        return response.json()

    def refused(self, method: str, path: str, status: int | None = None, **fields: Any) -> str:
        """Why a request is refused."""
        response = self.http.get(path, params=fields) if method == "GET" else self.http.post(path, json=fields)
        assert 400 <= response.status_code < 500, response.text
        assert status is None or response.status_code == status, response.text
        reason: str = response.json()["error"]
        assert reason
        return reason


@pytest.fixture(scope="session", name="client")
def shared_client() -> Iterator[Client]:
    with visited(Server(PATIENT)) as http:
        yield Client(http)
