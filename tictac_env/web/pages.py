"""The files of the page, read once: what is not among them cannot be asked for."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

STATIC = Path(__file__).parent / "static"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class StaticFile(NamedTuple):
    """A file of the page."""

    content: bytes
    kind: str
    tag: str
    """Changes with the content."""


def page_routes() -> list[Route]:
    """A route for each file of the page, and "/" for the page itself."""
    routes = []
    for path in sorted(STATIC.rglob("*")):
        if path.suffix in KINDS:
            content = path.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
            found = StaticFile(content, KINDS[path.suffix], tag)
            name = path.relative_to(STATIC).as_posix()
            routes.append(_route("/" if name == "index.html" else f"/static/{name}", found))
    return routes


def _route(address: str, found: StaticFile) -> Route:
    async def show(request: Request) -> Response:
        headers = {"etag": found.tag, "cache-control": "no-cache"}  # kept by the browser, and asked for anew
        if request.headers.get("if-none-match") == found.tag:
            return Response(status_code=304, headers=headers)
        return Response(found.content, headers=headers, media_type=found.kind)

    return Route(address, show, methods=["GET"])
