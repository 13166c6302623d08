"""verifiers: games as a task set, and an environment in which one model plays a policy, or two models each other.

verifiers finds a plugin by the name of a module that is in no package: `tictac_verifiers` has the names of this one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

from tictac_apps.language_models.ladder import of_process
from tictac_apps.language_models.session import OPPONENT, TextSession
from tictac_env.games import get_game
from tictac_env.lazy import needing
from tictac_env.storage import JsonObject

with needing("verifiers is missing", package="verifiers>=0.4,<0.5"):
    import verifiers.v1 as vf
    from httpx import AsyncClient
    from openai import APIConnectionError, APIStatusError, AsyncOpenAI
    from verifiers.v1.dialects.chat import message_to_wire
    from verifiers.v1.errors import MODEL_TRANSPORT_ERROR_EXIT_CODE
    from verifiers.v1.harnesses.utils.compaction import is_context_overflow

__all__ = ["BoardGameEnv", "BoardGameHarness", "BoardGameTaskset"]


class BoardGameHarness(vf.Harness[vf.HarnessConfig]):  # type: ignore[misc]  # verifiers has no type annotations
    """A player that only converses, in this process; verifiers' own "null" starts a process for every answer.

    It asks verifiers' interception server like any other harness, so traces, limits and retries are the same. It is the
    default of the task set, as it lies in the same plugin; `--env.player.harness.id` names another.

    Example:
        >>> BoardGameHarness(vf.HarnessConfig(id="tictac-verifiers")).EXECUTES_CODE
        False
    """

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: Any,
        trace: Any,
        runtime: Any,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: Any,
    ) -> Any:
        """Asks for one answer to the conversation in `data`; the trace gets it from the interception server."""
        system, conversation = self.resolve_prompt(data)
        messages = [{"role": "system", "content": system}] if system else []
        messages += [message_to_wire(message) for message in conversation or ()]
        # The server is on this machine: without certificates to load, a client costs less than a millisecond.
        http = AsyncClient(verify=False, timeout=None, trust_env=False)
        try:
            async with AsyncOpenAI(base_url=endpoint, api_key=secret, http_client=http) as client:
                await client.chat.completions.create(model=ctx.model, messages=messages)
        except APIConnectionError as error:
            return vf.ProgramResult(MODEL_TRANSPORT_ERROR_EXIT_CODE, "", str(error))
        except APIStatusError as error:
            # A conversation that is too long for the model ends the game, like any other limit.
            return vf.ProgramResult(0 if is_context_overflow(error) else 1, "", str(error))
        return vf.ProgramResult(0, "", "")


class BoardGameConfig(vf.TasksetConfig):  # type: ignore[misc]  # verifiers has no type annotations
    """Settings of the task set; `TextSession` explains them. An empty `opponent` gives the other seat to a model."""

    game: str = "TicTacToe-v0"
    opponent: str = OPPONENT
    seat: str | None = None
    start: str | None = "random:2"
    reward: str = "regret"
    retries: int = 2
    history: bool = False
    rules_once: bool = True
    size: int = 1000
    seed: int = 0


class BoardGameData(vf.TaskData):  # type: ignore[misc]
    """A game: the arguments of its session, and its seed."""

    session: JsonObject
    seed: int


class BoardGameTask(vf.Task[BoardGameData, vf.State, vf.TaskConfig]):  # type: ignore[misc]
    """One game."""


class BoardGameTaskset(vf.Taskset[BoardGameTask, BoardGameConfig]):  # type: ignore[misc]
    """The games with the seeds `seed` to `seed + size - 1`; load it by the id "tictac-verifiers".

    Settings, under `--env.taskset.`: game, opponent (a player's name or address, "ladder" for the ladder that all games
    of the process climb, "" for a second model), seat, start, reward, retries, history, rules_once, size and seed.

    Raises:
        ValueError: a setting is out of its range.

    Example:
        >>> tasks = BoardGameTaskset(BoardGameConfig(id="tictac-verifiers", opponent="minimax", size=3, seed=7))
        >>> [(task.data.name, task.data.seed) for task in tasks]
        [('TicTacToe-v0 7', 7), ('TicTacToe-v0 8', 8), ('TicTacToe-v0 9', 9)]
    """

    def __init__(self, config: BoardGameConfig) -> None:
        super().__init__(config)
        names = ("game", "seat", "start", "reward", "retries", "history", "rules_once")
        self._session = {name: getattr(config, name) for name in names} | {"opponent": config.opponent or None}
        TextSession(**self._session)

    def load(self) -> Iterator[BoardGameTask]:
        """The games, in the order of their seeds."""
        for seed in range(self.config.seed, self.config.seed + self.config.size):
            data = BoardGameData(name=f"{self.config.game} {seed}", session=self._session, seed=seed)
            yield BoardGameTask(data, self.config.task)


class BoardGameEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """The two seats: `player`, and `rival`, who plays only if the task set's opponent is ""."""

    player: vf.AgentConfig = vf.AgentConfig(runtime={"type": "subprocess"})  # of this machine; nothing runs in it
    rival: vf.AgentConfig = vf.AgentConfig(runtime={"type": "subprocess"})


class BoardGameEnv(vf.Env[BoardGameEnvConfig]):  # type: ignore[misc]
    """A game for each task. The environment asks for moves, and each player's trace gets its reward and metrics.

    - reward "score": `TextSession.score`, in [0, 1];
    - metrics "outcome" (1, 0 or -1), "regret" (the sum, with rewards "regret" and "both"), "forfeited" (1 if a wrong
      answer or a limit lost the game), and with a ladder "rung".

    A game that a limit cuts off is lost for the player it has cut off. With two models `player` is X and `rival` is O.
    Both are the model in training, which plays itself and learns from both traces, unless `--env.rival.model` or
    `--env.rival.client` names another: then the rival is frozen, and its traces are not trained on.

    Example:
        >>> import asyncio
        >>> config = BoardGameEnvConfig(taskset={"id": "tictac-verifiers", "opponent": ""})
        >>> BoardGameEnv(config).taskset.config.game
        'TicTacToe-v0'
    """

    async def setup(self, agents: Any) -> None:
        """Marks the traces of another model's rival as not to be trained on."""
        rival = self.config.rival
        agents.rival.trainable = rival.model is None and rival.client is None

    async def run(self, task: BoardGameTask, agents: Any) -> None:
        """Plays the game of a task."""
        options = task.data.session
        opponent = of_process(options["opponent"], get_game(options["game"]), options["reward"])
        session = TextSession(**options | {"opponent": opponent})
        turn = await session.async_reset(task.data.seed)
        seats = {0: agents.player, 1: agents.rival} if session.opponent is None else {turn.seat: agents.player}
        talks: dict[int, Any] = {}
        async with AsyncExitStack() as stack:
            while not turn.done:
                if turn.seat not in talks:
                    talks[turn.seat] = await stack.enter_async_context(seats[turn.seat].interaction(task))
                segment = await talks[turn.seat].turn(turn.prompt)
                if segment.terminated:
                    turn = await asyncio.to_thread(session.forfeit)
                else:
                    turn = await session.async_answer(segment.last_reply)
        if turn.outcomes is None or turn.played is None:
            raise RuntimeError(f"a finished game has no result: {turn!r}")
        for seat, talk in talks.items():
            talk.trace.record_reward("score", session.score(seat))
            talk.trace.record_metric("outcome", float(turn.outcomes[seat]))
            talk.trace.record_metric("regret", float(session.regrets[seat]))
            talk.trace.record_metric("forfeited", float(turn.played[1] is None and seat == turn.seat))
            if session.rung is not None:
                talk.trace.record_metric("rung", float(session.rung))
            talk.trace.info["moves"] = turn.position.to_moves()
