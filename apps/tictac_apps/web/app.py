"""The application: the routes of the server, and their answers."""

from __future__ import annotations

import io
import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tictac_apps.warm import use_solver
from tictac_apps.web.insight import (
    MoveValues,
    Review,
    board_view,
    exact_values,
    own_solver,
    page_scores,
    review,
    seed_of,
    telling_position,
    thoughts,
    title,
)
from tictac_apps.web.kept import KeptAgents
from tictac_apps.web.league import League
from tictac_apps.web.limits import ServerLimits
from tictac_apps.web.opponents import NamedOpponents
from tictac_apps.web.requests import (
    MAX_MOVES,
    Fields,
    Guard,
    JSONAnswer,
    Refused,
    WorkerThreads,
    host_names,
    unless_left,
)
from tictac_apps.web.results import StoreResults
from tictac_apps.web.trainings import Trainings
from tictac_apps.web.value_display import Explanation
from tictac_env.games import GAMES, get_game
from tictac_env.games.registry import import_game, known_names
from tictac_env.policies.policy import action_of
from tictac_env.position import IllegalMove, Position
from tictac_env.solver.enumerate import SMALL_CELLS

HERE = ("localhost", "127.0.0.1", "::1")
"""The names of every machine for itself."""
STATIC = Path(__file__).parent / "static"
IMPORTED = re.compile(r'^import .*? from "\./(\w+\.js)";$', re.MULTILINE | re.DOTALL)
"""The names of the modules that a module of the page imports."""


class Server:
    """The state that the routes share: threads, agents and trainings. It holds no games of visitors.

    Args:
        limits: of time, strength and size.
        checkpoints: a folder of agents to play against; None for none.
        store: a result store to show, or a folder of them; None for none.
        training: True if visitors may train agents.
        allowed_hosts: host names under which the page may be requested, besides "localhost" and numeric addresses.
        games: further games to offer, each as `import_game` takes it: "module:Hex-v0", "KInARow-v0:5x6-4".
        league: the folder of the agents that visitors keep, and of their games; None for one that ends with the server.

    Attributes:
        link: the page's address for other machines in the network; "" if it is for this machine alone.

    Raises:
        ValueError: a path is not a folder, a host name is invalid, or a game is unknown.
        OSError: the store cannot be read, or the folder of the league cannot be made.
    """

    def __init__(
        self,
        limits: ServerLimits | None = None,
        checkpoints: Path | None = None,
        store: Path | None = None,
        training: bool = True,
        allowed_hosts: Iterable[str] = (),
        games: Sequence[str] = (),
        league: Path | None = None,
    ) -> None:
        self.link = ""
        self.games = GAMES | {name: get_game(name) for name in map(import_game, games)}
        self.hosts = host_names(tuple(allowed_hosts))
        self.limits = limits or ServerLimits()
        self.trainings = trainings = Trainings(self.limits, games) if training else None
        training_file = (lambda token: trainings.get(token).file) if trainings else None
        agents = KeptAgents(self.limits, league) if training or league else None
        self.league = League(agents, games) if agents else None
        self.opponents = NamedOpponents(self.limits, checkpoints, training_file, self.games.values(), agents)
        self.results = StoreResults(store) if store is not None else None
        self.players = WorkerThreads(self.limits, "player")
        self.searchers = WorkerThreads(self.limits, "searcher")
        self.raters = WorkerThreads(self.limits, "rater")

    def warm(self) -> None:
        """Loads or compiles the code that the first visitors would wait for."""
        for name, game in self.games.items():
            start = Position.start(game)
            for opponent in ("mcts:10", "minimax:2", "rule", "perfect", "ntuple", "ntuple:2"):
                with suppress(Refused):  # not every game comes with a network
                    self.opponents.get(opponent, game).act(start, 0)
            use_solver(name)

    def close(self) -> None:
        """Stops the worker threads and the trainings."""
        self.players.close()
        self.searchers.close()
        self.raters.close()
        if self.trainings:
            self.trainings.close()
        if self.league:
            self.league.close()

    def app(self) -> Starlette:
        """The ASGI application."""

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            yield
            self.close()

        text = page_text()

        async def page(request: Request) -> Response:
            return HTMLResponse(text)

        solve = self._route("GET", "/solve", self.solve, self.searchers)
        static = Mount("/", StaticFiles(directory=STATIC))
        return Starlette(
            routes=[Route("/", page), Mount("/api", routes=self._api()), solve, static],
            middleware=[Middleware(Guard, limits=self.limits, hosts=self.hosts)],
            exception_handlers={HTTPException: _refuse},
            lifespan=lifespan,
        )

    def _api(self) -> list[Route]:
        """The routes of the page's requests; those of features that are switched off are missing."""
        route, players, searchers, raters = self._route, self.players, self.searchers, self.raters
        api = [
            route("GET", "/server", self.offer),
            route("GET", "/qr", self.qr),
            route("GET", "/opponents", lambda fields: self.opponents.menu(fields.game), players),
            route("GET", "/position", lambda fields: board_view(fields.position())),
            route("POST", "/reply", self.reply, players),
            route("POST", "/thoughts", self.thoughts, players),
            route("POST", "/exact", self.exact, searchers),
            route("POST", "/review", self.review, searchers),
        ]
        tables: dict[str, StoreResults | None] = {"/tournament": self.results, "/league": self.league}
        for path, results in tables.items():
            if results:
                api.append(route("GET", path, results.listed, raters))
                api.append(route("GET", f"{path}/table", results.table, raters))
                api.append(route("GET", f"{path}/csv", results.csv, raters))
                api.append(route("GET", f"{path}/games", results.games, raters))
        if league := self.league:
            api.append(route("GET", "/league/agent", league.agents.download, players))
            api.append(route("GET", "/league/training", league.agents.training, players))
        if trainings := self.trainings:
            api.append(route("GET", "/training/menu", trainings.menu, players))
            api.append(route("GET", "/training/position", self.telling, searchers))
            api.append(route("POST", "/training/begin", partial(trainings.begin, self.opponents), players))
            api.append(route("POST", "/training/look", trainings.look))
            api.append(route("POST", "/training/stop", trainings.stop, players))
            api.append(route("POST", "/training/lesson", trainings.lesson))
            if league:
                api.append(route("POST", "/training/keep", partial(league.keep, trainings), players))
        return api

    def _route(
        self, method: str, path: str, handler: Callable[[Fields], object], workers: WorkerThreads | None = None
    ) -> Route:
        """A route that answers with the result of `handler`, which is called in a thread of `workers` if there are any.

        The result is a response, or data that JSON can hold.
        """

        async def answer(request: Request) -> Response:
            fields = await Fields.of(request, self.limits.body_bytes)
            if workers:
                result = await unless_left(request, workers.do(lambda: handler(fields), fields.address))
            else:
                result = handler(fields)
            return result if isinstance(result, Response) else JSONAnswer(result, headers={"cache-control": "no-store"})

        return Route(path, answer, methods=[method])

    def offer(self, fields: Fields) -> dict[str, object]:
        """The games, which of them are small enough for exact verdicts, and what this server offers."""
        return {
            "games": [
                {
                    "name": name,
                    "title": title(game),
                    "small": game.cells <= SMALL_CELLS,
                }
                for name, game in self.games.items()
            ],
            "families": [name for name in known_names() if name not in self.games],
            "training": self.trainings is not None,
            "tournament": self.results is not None,
            "league": self.league is not None,
            "address": self._address(fields) if self.link else None,
            "qr": bool(self.link and qr_code(self.link)),
        }

    def _address(self, fields: Fields) -> str:
        """The page's address for other machines: that of this request, unless that is for this machine alone."""
        return self.link if urlsplit(fields.site).hostname in HERE else fields.site

    def qr(self, fields: Fields) -> Response:
        """A QR code in SVG of the page's address for other machines."""
        code = qr_code(self._address(fields)) if self.link else None
        if code is None:
            raise Refused("this server shows no QR code", 404)
        picture = io.BytesIO()
        code.save(picture, kind="svg", light="#fff", omitsize=True)
        return Response(picture.getvalue(), media_type="image/svg+xml", headers={"cache-control": "no-store"})

    def reply(self, fields: Fields) -> dict[str, object]:
        """The opponent's move, and the position after it."""
        position, opponent, seed = self._to_play(fields), fields.words("opponent"), fields.seed
        policy = self.opponents.get(opponent, position.game, fields.waited)
        try:
            action = action_of(policy, position, seed_of(position, seed))
            after = position.play(action)
        except (IllegalMove, ValueError) as error:
            raise Refused(f"{opponent} cannot play here: {error}", 422) from None
        return {"action": action, "seconds": fields.waited, "position": board_view(after)}

    def thoughts(self, fields: Fields) -> Explanation:
        """The thoughts of a player about each move."""
        position, opponent, seed = self._to_play(fields), fields.words("opponent"), fields.seed
        policy = self.opponents.get(opponent, position.game, fields.waited)
        try:
            return thoughts(policy, position, seed)
        except ValueError as error:
            raise Refused(f"{opponent} has no thoughts here: {error}", 422) from None

    def exact(self, fields: Fields) -> MoveValues:
        """The exact value of each move."""
        position = self._to_play(fields)
        left = max(0.0, self.limits.exact_seconds - fields.waited)
        return exact_values(own_solver(position.game), position, left)

    def telling(self, fields: Fields) -> dict[str, str]:
        """The moves to the position of a game that shows most of what there is to learn."""
        self.opponents.admit(fields.game)
        return {"moves": telling_position(fields.game).to_moves()}

    def review(self, fields: Fields) -> Review:
        """The exact value of each position of a game."""
        final = self._to_play(fields, unfinished=False)
        left = max(0.0, self.limits.review_seconds - fields.waited)
        return review(own_solver(final.game), final, left)

    def solve(self, fields: Fields) -> JSONAnswer:
        """The scores of a Connect Four position, in the form of the well-known solver page."""
        moves = fields.text("pos", "", MAX_MOVES)
        position = Fields({"game": "ConnectFour-v0", "moves": moves}).position()
        limit = self.limits.exact_seconds
        scores = page_scores(own_solver(position.game), position, max(0.0, limit - fields.waited))
        any_origin = {"access-control-allow-origin": "*"}  # pages of other sites may ask
        if scores is None:
            reason = f"not solved within {limit:g} s; the search continues from there, so ask again"
            return JSONAnswer({"pos": moves, "error": reason}, 503, {"retry-after": "1", **any_origin})
        return JSONAnswer({"pos": moves, "score": scores}, headers=any_origin)

    def _to_play(self, fields: Fields, unfinished: bool = True) -> Position:
        position = fields.position(unfinished)
        self.opponents.admit(position.game)
        return position


def page_text() -> str:
    """The page, whose head names every module and the first request of its script.

    So the browser requests all of them at once. Otherwise it would learn of a module only from the one that imports it.
    """
    names = imported_modules("main.js")
    links = [f'  <link rel="modulepreload" href="{name}">\n' for name in names]
    links.append('  <link rel="preload" href="api/server" as="fetch" crossorigin>\n')
    text = (STATIC / "index.html").read_text(encoding="utf-8")
    return text.replace("</head>", f"{''.join(links)}</head>")


def imported_modules(name: str) -> list[str]:
    """The names of all modules that a module of the page imports, directly or through others, each once."""
    modules = [name]
    for module in modules:  # the list grows during the loop
        text = (STATIC / module).read_text(encoding="utf-8")
        modules += [imported for imported in dict.fromkeys(IMPORTED.findall(text)) if imported not in modules]
    return modules[1:]


def qr_code(text: str) -> Any:
    """The QR code of a text, a `segno.QRCode`; None without that library: then the address alone is shown."""
    try:
        import segno
    except ImportError:
        return None
    return segno.make(text, micro=False)


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONAnswer({"error": str(error.detail)}, error.status_code, error.headers)
