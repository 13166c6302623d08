"""OpenEnv: an environment whose actions are answers in text, its server and its client."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import uuid4

from gymnasium.error import ResetNeeded

from tictac_apps.language_models.ladder import Ladder, of_process
from tictac_apps.language_models.session import OPPONENT, TextSession, Turn
from tictac_env.games import Game, get_game
from tictac_env.lazy import needing
from tictac_env.policies.loading import PlayerLike
from tictac_env.storage import JsonObject

with needing("openenv is missing", package="openenv>=0.10"):
    from openenv.core.client_types import StepResult
    from openenv.core.env_client import EnvClient
    from openenv.core.env_server.http_server import create_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, Observation, State

__all__ = [
    "BoardGameAction",
    "BoardGameClient",
    "BoardGameEnvironment",
    "BoardGameObservation",
    "BoardGameState",
    "make_app",
]


class BoardGameAction(Action):  # type: ignore[misc]  # OpenEnv has no type annotations
    r"""The answer of a model.

    Attributes:
        answer: the whole text.

    Example:
        >>> BoardGameAction(answer="The centre.\nMove: 5").answer
        'The centre.\nMove: 5'
    """

    answer: str


class BoardGameObservation(Observation):  # type: ignore[misc]
    """The question for the next move, with the reward of the last answer and `done`.

    Attributes:
        prompt: the question; the board and the result once the game is over.
        status: "legal", "illegal" or "unparsed", of the last answer; "" after a reset.
        outcome: 1 won, 0 drawn, -1 lost for the player that answered last; None until the game is over.

    Example:
        >>> BoardGameObservation(prompt="...", reward=1.0, done=True, outcome=0).status
        ''
    """

    prompt: str
    status: str = ""
    outcome: int | None = None


class BoardGameState(State):  # type: ignore[misc]
    """The game behind an episode.

    Attributes:
        moves: the moves so far, as a move string.
        seat: the seat to answer, 0 first or 1 second.
        score: `TextSession.score` of a finished game, in [0, 1]; 0 before its end, as a game that is cut off is lost.
        rung: the rung of the opponent on the ladder; None without a ladder.

    Example:
        >>> BoardGameState(moves="15", seat=0).score
        0.0
    """

    moves: str = ""
    seat: int = 0
    score: float = 0.0
    rung: int | None = None


class BoardGameEnvironment(Environment):  # type: ignore[misc]
    """A game for each episode; its last answer earns the score of the game, in [0, 1], all answers before it earn 0.

    Sessions share nothing but a ladder, so that a server may hold many at once. The rules are said in the first
    observation of a game.

    Args:
        game: a game's name or rule book.
        opponent: as of `TextSession`; "ladder" stands for one ladder of the process, which all its sessions climb.
        reward: as of `TextSession`.
        scaled: True if a game earns one reward at its end; False if each answer earns its own, as in `TextSession`.
        **options: further arguments of `TextSession`: seat, start, harness, retries, history, rules_once.

    Raises:
        ValueError: an argument is out of its range, or `opponent` is None: one stream of rewards would pay both seats.

    Example:
        >>> env = BoardGameEnvironment(opponent="minimax")
        >>> first = env.reset(seed=0, position="1524")
        >>> last = env.step(BoardGameAction(answer="Move: 3"))
        >>> last.reward, last.done, last.outcome, env.state.score
        (1.0, True, 1, 1.0)
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self,
        game: str | Game = "TicTacToe-v0",
        opponent: PlayerLike | Ladder | None = OPPONENT,
        reward: str = "regret",
        scaled: bool = True,
        **options: Any,
    ) -> None:
        super().__init__()
        settings: dict[str, Any] = {"reward": reward, "scaled": scaled, "rules_once": True} | options
        self._session = TextSession(game, of_process(opponent, get_game(game), reward), **settings)
        if self._session.opponent is None:
            raise ValueError("opponent must be a player, not None: an episode has one seat")
        self._episode: str | None = None
        self._steps = 0

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, position: str | None = None, **_: Any
    ) -> BoardGameObservation:
        """Begins a game, at a move string if one is given.

        Raises:
            ValueError: no game can begin there.
        """
        turn = self._session.reset(seed, position)
        self._episode, self._steps = episode_id or str(uuid4()), 0
        return self._observation(turn)

    def step(self, action: BoardGameAction, timeout_s: float | None = None, **_: Any) -> BoardGameObservation:
        """Reads an answer, and plays its move and the opponent's reply; `timeout_s` is not needed.

        Raises:
            gymnasium.error.ResetNeeded: no game is under way.
        """
        turn = self._session.answer(action.answer)
        self._steps += 1
        return self._observation(turn, turn.reward)

    @property
    def state(self) -> BoardGameState:
        """The game so far; before the first reset an empty one."""
        try:
            turn = self._session.turn
        except ResetNeeded:
            return BoardGameState()
        return BoardGameState(
            episode_id=self._episode,
            step_count=self._steps,
            moves=turn.position.to_moves(),
            seat=turn.seat,
            score=self._session.score(turn.seat) if turn.done else 0.0,
            rung=self._session.rung,
        )

    def _observation(self, turn: Turn, reward: float | None = None) -> BoardGameObservation:
        outcome = None if turn.outcomes is None else turn.outcomes[turn.seat]
        return BoardGameObservation(
            prompt=turn.prompt, status=turn.status, outcome=outcome, reward=reward, done=turn.done
        )


class BoardGameClient(EnvClient):  # type: ignore[misc]
    """A client of the server: `with BoardGameClient(base_url="http://localhost:8000").sync() as env`.

    Example:
        >>> client = BoardGameClient(base_url="http://localhost:8000")
        >>> client._step_payload(BoardGameAction(answer="5"))
        {'answer': '5'}
    """

    def _step_payload(self, action: BoardGameAction) -> JsonObject:
        return {"answer": action.answer}

    def _parse_result(self, payload: JsonObject) -> Any:
        result = {name: payload[name] for name in ("reward", "done") if name in payload}
        observation = BoardGameObservation(**{**payload["observation"], **result})
        return StepResult(observation=observation, reward=observation.reward, done=observation.done)

    def _parse_state(self, payload: JsonObject) -> BoardGameState:
        return BoardGameState(**payload)


def make_app(game: str = "TicTacToe-v0", max_concurrent_envs: int = 64, **options: Any) -> Any:
    """The server as an ASGI application.

    Args:
        game: a game's name.
        max_concurrent_envs: the number of episodes that may be under way at once.
        **options: further arguments of `BoardGameEnvironment`.

    Raises:
        ValueError: an argument is out of its range.

    Example:
        >>> app = make_app("ConnectFour-v0", opponent="perfect:0.5")  # doctest: +SKIP
        >>> uvicorn.run(app, port=8000)  # doctest: +SKIP
    """
    BoardGameEnvironment(game, **options)
    return create_app(
        partial(BoardGameEnvironment, game, **options),
        BoardGameAction,
        BoardGameObservation,
        env_name="tictac",
        max_concurrent_envs=max_concurrent_envs,
        state_cls=BoardGameState,
    )
