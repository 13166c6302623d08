"""The addresses of tournaments: stores, ratings and cross table, games."""

from __future__ import annotations

from typing import Any

from starlette.routing import Route

from tictac_env.web.asking import Fields, Refused, text, whole
from tictac_env.web.json_routes import json_route
from tictac_env.web.results import Results
from tictac_env.web.work import Workers

MAX_NAME = 200


def result_routes(results: Results, workers: Workers) -> list[Route]:
    """The routes.

    Args:
        results: the stores.
        workers: threads that read them.
    """

    async def listed(fields: Fields) -> Any:
        return {"stores": await workers.do(lambda: _told(results.listed))}

    async def table(fields: Fields) -> Any:
        store, game = text(fields, "store", longest=MAX_NAME), text(fields, "game", longest=MAX_NAME)
        return await workers.do(lambda: _told(lambda: results.table(store, game)))

    async def games(fields: Fields) -> Any:
        store, game = text(fields, "store", longest=MAX_NAME), text(fields, "game", longest=MAX_NAME)
        first, second = (text(fields, seat, "", MAX_NAME) for seat in ("first", "second"))
        page = whole(fields, "page", 0, 0, 10**6)
        return await workers.do(lambda: _told(lambda: results.games(store, game, first, second, page)))

    return [
        json_route("/api/tournament", "GET", listed),
        json_route("/api/tournament/table", "GET", table),
        json_route("/api/tournament/games", "GET", games),
    ]


def _told(job: Any) -> Any:
    """What a job finds; a store that cannot be read is told as such."""
    try:
        return job()
    except (OSError, ValueError) as error:
        raise Refused(f"the store cannot be shown: {type(error).__name__}", 409) from error
