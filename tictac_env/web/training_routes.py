"""The addresses of trainings: what may be trained, begin, look, stop, and a game walked through."""

from __future__ import annotations

from typing import Any

from starlette.routing import Route

from tictac_env.web.asking import Fields, Refused, game_in, text, whole
from tictac_env.web.json_routes import json_route
from tictac_env.web.opponents import FILE, TRAINING, Opponents
from tictac_env.web.trainings import MOST_POINTS, Trainings, training_menu
from tictac_env.web.work import Workers


def training_routes(trainings: Trainings, opponents: Opponents, workers: Workers) -> list[Route]:
    """The routes.

    Args:
        trainings: all there are.
        opponents: what checks the opponent and the size of the board.
        workers: threads that load what a training needs.
    """

    async def menu(fields: Fields) -> Any:
        return await workers.do(training_menu)

    async def begin(fields: Fields) -> Any:
        game = game_in(fields)
        opponents.admit(game)
        if fields.get("opponent") is not None:
            opponent = text(fields, "opponent")
            if opponent.startswith((FILE, TRAINING)):
                raise Refused("in a training the opponent must be a policy's name, not a file")
            await workers.do(lambda: opponents.get(opponent, game))
        return {"token": await workers.do(lambda: trainings.start(fields))}

    async def look(fields: Fields) -> Any:
        since = whole(fields, "since", 0, 0, MOST_POINTS)
        return trainings.get(text(fields, "token")).told(since)

    async def stop(fields: Fields) -> Any:
        training = trainings.get(text(fields, "token"))
        await workers.do(training.stop)
        return training.told(MOST_POINTS)

    async def lesson(fields: Fields) -> Any:
        number = whole(fields, "number", 0, 0, MOST_POINTS)
        return trainings.get(text(fields, "token")).lesson(number)

    return [
        json_route("/api/training/menu", "GET", menu),
        json_route("/api/training/begin", "POST", begin),
        json_route("/api/training/look", "POST", look),
        json_route("/api/training/stop", "POST", stop),
        json_route("/api/training/lesson", "POST", lesson),
    ]
