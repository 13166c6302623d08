"""Routes that answer with JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tictac_env.web.asking import Fields, fields_of
from tictac_env.web.guard import Answer

Handler = Callable[[Fields], Awaitable[Any]]


def json_route(path: str, method: str, handler: Handler) -> Route:
    """A route whose answer is what `handler` returns for the fields of the request."""

    async def answer(request: Request) -> Response:
        return Answer(await handler(await fields_of(request)), headers={"cache-control": "no-store"})

    return Route(path, answer, methods=[method])
