"""The routes: what each address answers."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tictac_env.first_uses import use_solver
from tictac_env.games import GAMES, Game, get_game
from tictac_env.games.registry import import_game, known_names
from tictac_env.policies.policy import action_of
from tictac_env.position import IllegalMove, Position
from tictac_env.web.asking import MAX_MOVES, Fields, Refused, fields_of, game_in, position_in, seed_in, text
from tictac_env.web.board_view import board_view, title
from tictac_env.web.guard import Answer, Guard, Hosts
from tictac_env.web.json_routes import json_route
from tictac_env.web.limits import Limits
from tictac_env.web.opponents import DEFAULT, FILE, Opponents, menu
from tictac_env.web.pages import page_routes
from tictac_env.web.result_routes import result_routes
from tictac_env.web.results import Results
from tictac_env.web.solvers import Solvers
from tictac_env.web.thoughts import seed_of, thoughts
from tictac_env.web.training_routes import training_routes
from tictac_env.web.trainings import Trainings
from tictac_env.web.truth import exact_values, page_scores, review
from tictac_env.web.work import Workers


class Server:
    """What the routes share: threads, solvers and agents. Nothing of any visitor's.

    Args:
        limits: what it may use.
        checkpoints: a folder of agents to play against; None for none.
        store: a result store, or a folder of them, to look at; None for none.
        training: whether visitors may train agents.
        allowed_hosts: names under which it may be asked, beside "localhost" and addresses in numbers.
        games: further games to offer, each as `import_game` takes it: "module:Hex-v0", "KInARow-v0:5x6-4".

    Raises:
        ValueError: a folder is none, or a name cannot be one, or a game is not known.
        OSError: the store cannot be read.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        checkpoints: Path | None = None,
        store: Path | None = None,
        training: bool = True,
        allowed_hosts: Iterable[str] = (),
        games: Sequence[str] = (),
    ) -> None:
        more = [import_game(game) for game in games]
        self.games = GAMES | {name: get_game(name) for name in more}
        self.hosts = Hosts(allowed_hosts)
        self.limits = limits or Limits()
        self.solvers = Solvers()
        self.trainings = Trainings(self.limits, games) if training else None
        file = self.trainings.file if self.trainings else None
        self.opponents = Opponents(self.limits, self.solvers, checkpoints, file, self.games.values())
        self.results = Results(store) if store is not None else None
        self.players = Workers(self.limits.threads, self.limits.waiting, "player")
        self.searchers = Workers(self.limits.threads, self.limits.waiting, "searcher")

    def warm(self) -> None:
        """Loads, or compiles, what the first visitors would wait for."""
        for name, game in self.games.items():
            start = Position.start(game)
            for opponent in ("mcts:10", "minimax:2", "rule", "perfect", "ntuple", "ntuple:2"):
                with suppress(Refused):  # no network comes with a game of one's own
                    self.opponents.get(opponent, game).act(start, 0)
            use_solver(name)

    def close(self) -> None:
        """Ends what runs."""
        self.players.close()
        self.searchers.close()
        if self.trainings:
            self.trainings.close()

    def app(self) -> Starlette:
        """The ASGI application."""

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            yield
            self.close()

        return Starlette(
            routes=[*self._routes(), *page_routes()],
            middleware=[Middleware(Guard, limits=self.limits, hosts=self.hosts)],
            exception_handlers={HTTPException: _refuse, 404: _refuse, 405: _refuse},
            lifespan=lifespan,
        )

    def _routes(self) -> list[Route]:
        return [
            json_route("/api/about", "GET", self.about),
            json_route("/api/opponents", "GET", self.who_plays),
            json_route("/api/position", "GET", self.position),
            json_route("/api/reply", "POST", self.reply),
            json_route("/api/thoughts", "POST", self.thoughts),
            json_route("/api/exact", "POST", self.exact),
            json_route("/api/review", "POST", self.review),
            Route("/solve", self.solve, methods=["GET"]),
            *(result_routes(self.results, self.searchers) if self.results else ()),
            *(training_routes(self.trainings, self.opponents, self.players) if self.trainings else ()),
        ]

    async def about(self, fields: Fields) -> Any:
        """Which games there are, and what this server offers."""
        return {
            "games": [{"name": name, "title": title(game)} for name, game in self.games.items()],
            "families": [name for name in known_names() if name not in self.games],
            "training": self.trainings is not None,
            "tournament": self.results is not None,
        }

    async def who_plays(self, fields: Fields) -> Any:
        """The opponents for a game."""
        game = game_in(fields)
        files = [{"name": FILE + name, "shown": name} for name in self.opponents.files()]
        return {"opponents": menu(game), "files": files, "default": DEFAULT[game.cells <= 12]}

    async def position(self, fields: Fields) -> Any:
        """A position."""
        return board_view(position_in(fields))

    async def reply(self, fields: Fields) -> Any:
        """The opponent's move, and the position after it."""
        position = self._to_play(fields)
        opponent, seed, asked = text(fields, "opponent"), seed_in(fields), time.monotonic()

        def job() -> Any:
            policy = self.opponents.get(opponent, position.game, time.monotonic() - asked)
            try:
                action = action_of(policy, position, seed_of(position, seed))
                after = position.play(action)
            except (IllegalMove, ValueError) as error:
                raise Refused(f"{opponent} cannot play here: {error}", 422) from None
            return {"action": action, "seconds": time.monotonic() - asked, "position": board_view(after)}

        return await self.players.do(job)

    async def thoughts(self, fields: Fields) -> Any:
        """What a player thinks of each move."""
        position = self._to_play(fields)
        opponent, seed, asked = text(fields, "opponent"), seed_in(fields), time.monotonic()

        def job() -> Any:
            policy = self.opponents.get(opponent, position.game, time.monotonic() - asked)
            try:
                return thoughts(policy, position, seed)
            except ValueError as error:
                raise Refused(f"{opponent} has no thoughts here: {error}", 422) from None

        return await self.players.do(job)

    async def exact(self, fields: Fields) -> Any:
        """The exact value of each move."""
        position = self._to_play(fields)
        return await self._search(
            position.game,
            self.limits.exact_seconds,
            lambda seconds: exact_values(self.solvers.get(position.game), position, seconds),
        )

    async def review(self, fields: Fields) -> Any:
        """The exact value of each position of a game."""
        final = position_in(fields)
        self.opponents.admit(final.game)
        return await self._search(
            final.game,
            self.limits.review_seconds,
            lambda seconds: review(self.solvers.get(final.game), final, seconds),
        )

    async def solve(self, request: Request) -> Response:
        """The scores of a Connect Four position, in the form of the well-known solver page."""
        moves = text(await fields_of(request), "pos", "", MAX_MOVES)
        position = position_in({"game": "ConnectFour-v0", "moves": moves})
        found = await self._search(
            position.game,
            self.limits.exact_seconds,
            lambda seconds: page_scores(self.solvers.get(position.game), position, seconds),
        )
        anywhere = {"access-control-allow-origin": "*"}  # pages of other sites may ask
        if found is None:
            told = f"not solved within {self.limits.exact_seconds:g} s; what was found is kept, so ask again"
            return Answer({"pos": moves, "error": told}, 503, {"retry-after": "1", **anywhere})
        return Answer({"pos": moves, "score": found}, headers=anywhere)

    def _to_play(self, fields: Fields) -> Position:
        """The unfinished position that a request is about."""
        position = position_in(fields, unfinished=True)
        self.opponents.admit(position.game)
        return position

    async def _search(self, game: Game, seconds: float, search: Callable[[float], Any]) -> Any:
        """What a search finds in the time that is left when its turn comes."""
        asked = time.monotonic()
        return await self.searchers.do(lambda: search(max(0.0, seconds - (time.monotonic() - asked))))


async def _refuse(request: Request, error: Exception) -> Response:
    """Why a request is not answered, as JSON."""
    if not isinstance(error, HTTPException):
        raise error
    return Answer({"error": str(error.detail)}, error.status_code, dict(error.headers or {}))
