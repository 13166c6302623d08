"""tinker-cookbook: groups of environments, in which a model plays a policy or itself, for its training by messages."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tictac_apps.language_models.ladder import of_process
from tictac_apps.language_models.session import OPPONENT, TextSession, Turn
from tictac_env.checks import positive, whole
from tictac_env.games import get_game
from tictac_env.lazy import needing

with needing("tinker-cookbook is missing", package="tinker-cookbook>=0.5"):
    from tinker_cookbook.renderers.base import get_text_content
    from tinker_cookbook.rl.message_env import EnvFromMessageEnv, MessageEnv, MessageStepResult
    from tinker_cookbook.rl.types import EnvGroupBuilder, InitialObservationOverflow, RLDataset, StepResult

__all__ = ["BoardGameGroup", "BoardGameGroups", "BoardGameSeat"]


class SharedGame:
    """A game that one or two seats play, each in a task of its own.

    Args:
        session: the game.
        seed: its seed.
    """

    def __init__(self, session: TextSession, seed: int) -> None:
        self.session, self.seed = session, seed
        self.changed = asyncio.Condition()
        self.begun = False

    async def begin(self) -> None:
        """Begins the game, at the first call."""
        async with self.changed:
            if not self.begun:
                await self.session.async_reset(self.seed)
                self.begun = True

    async def play(self, answer: str | None) -> None:
        """Reads an answer, None for a forfeit, and tells the other seat."""
        async with self.changed:
            if answer is not None:
                await self.session.async_answer(answer)
            elif not self.session.turn.done:
                self.session.forfeit()
            self.changed.notify_all()

    async def wait_for(self, seat: int) -> Turn:
        """The turn in which a seat is to answer, or the last one."""
        async with self.changed:
            await self.changed.wait_for(lambda: self.session.turn.done or self.session.turn.seat == seat)
            return self.session.turn


class BoardGameSeat(MessageEnv):  # type: ignore[misc]  # it has no type annotations that hold without its library
    """A seat of a game, with a conversation and rewards of its own.

    Args:
        game: the game, which may be shared with the other seat.
        seat: the seat, 0 or 1; None for the one that the session draws.

    Example:
        >>> game = SharedGame(TextSession(opponent=None, start=None), seed=0)
        >>> messages = asyncio.run(BoardGameSeat(game, 0).initial_observation())
        >>> [message["role"] for message in messages]
        ['user']
    """

    def __init__(self, game: SharedGame, seat: int | None = None) -> None:
        self.game, self.seat = game, seat
        self._paid = 0.0

    async def initial_observation(self) -> list[dict[str, str]]:
        """The first question of this seat; if the game ended before it, its result."""
        await self.game.begin()
        if self.seat is None:
            self.seat = self.game.session.turn.seat
        return self._conversation(await self.game.wait_for(self.seat))

    async def step(self, message: Any) -> MessageStepResult:
        """Reads an answer, and waits for the next question of this seat or the end of the game."""
        if not self.game.session.turn.done:
            await self.game.play(get_text_content(message))
        return await self.result()

    async def forfeit(self) -> MessageStepResult:
        """Loses the game, if it is not over: the answer of this seat was cut off."""
        await self.game.play(None)
        return await self.result()

    async def result(self) -> MessageStepResult:
        """The reward since the last step, with the next question or, at the end, the metrics of the game."""
        session, seat = self.game.session, self.seat or 0
        turn = await self.game.wait_for(seat)
        reward, self._paid = session.returns[seat] - self._paid, session.returns[seat]
        metrics: dict[str, float] = {}
        if turn.outcomes is not None:
            metrics = {"outcome": turn.outcomes[seat], "regret": session.regrets[seat], "score": session.score(seat)}
            metrics |= {} if session.rung is None else {"rung": session.rung}
        return MessageStepResult(reward, turn.done, self._conversation(turn), metrics)

    def _conversation(self, turn: Turn) -> list[dict[str, str]]:
        return [*turn.messages] if turn.seat == self.seat else [{"role": "user", "content": turn.prompt}]


class SeatEnv(EnvFromMessageEnv):  # type: ignore[misc]
    """A seat by tokens: an answer that is cut off or has no end loses the game, so the other seat does not wait."""

    async def initial_observation(self) -> Any:
        """The first question; a prompt that is too long loses the game."""
        observation = await super().initial_observation()
        if isinstance(observation, InitialObservationOverflow):
            await self.message_env.forfeit()
        return observation

    async def step(self, action: list[int], *, extra: Any = None) -> StepResult:
        """Reads an answer."""
        result = await super().step(action, extra=extra)
        if not result.episode_done or "outcome" in result.metrics:  # the metrics of a game that is over
            return result
        lost = await self.message_env.forfeit()
        return replace(result, reward=lost.reward, metrics=result.metrics | lost.metrics)


@dataclass(frozen=True)
class BoardGameGroup(EnvGroupBuilder):  # type: ignore[misc]
    """The games of one seed: they begin in the same position, so their rewards can be compared.

    Attributes:
        renderer: makes tokens of conversations.
        seed: the seed of all games.
        games: the number of games. Each is an environment; if the model plays itself, each seat is one.
        options: arguments of `TextSession`. By default a game pays its score once and says the rules once. "ladder" as
            opponent stands for one ladder of the process; None lets the model play itself, each seat with a
            conversation and a reward of its own.
        limits: arguments of `EnvFromMessageEnv`, such as max_trajectory_tokens. A limit of turns in the loop itself
            would leave the other seat waiting.

    Raises:
        ValueError: an argument is out of its range.

    Example:
        >>> group = BoardGameGroup(renderer=None, seed=0, options={"opponent": "rule"})
        >>> str(group.session().opponent)
        'rule'
    """

    renderer: Any
    seed: int
    games: int = 8
    options: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole("seed", self.seed)
        positive("games", self.games)
        self.session()

    def session(self) -> TextSession:
        """A new session with the options."""
        defaults = {"game": "TicTacToe-v0", "opponent": OPPONENT, "reward": "regret"}
        options = defaults | {"scaled": True, "rules_once": True} | self.options
        options["opponent"] = of_process(options["opponent"], get_game(options["game"]), options["reward"])
        return TextSession(**options)

    async def make_envs(self) -> list[SeatEnv]:
        """The environments of all games; two for each if the model plays itself."""
        envs = []
        for _ in range(self.games):
            game = SharedGame(self.session(), self.seed)
            seats = (None,) if game.session.opponent is not None else (0, 1)
            envs += [SeatEnv(self.renderer, BoardGameSeat(game, seat), **self.limits) for seat in seats]
        return envs

    def logging_tags(self) -> list[str]:
        """The tag of the metrics."""
        return ["tictac"]


@dataclass(frozen=True)
class BoardGameGroups(RLDataset):  # type: ignore[misc]
    """A data set for tinker-cookbook's training loops: batches of groups, each with a seed of its own.

    Attributes:
        renderer: makes tokens of conversations.
        batches: the number of batches.
        batch_size: the number of groups in a batch.
        seed: the seed of the first group.
        group: further arguments of `BoardGameGroup`: games, options, limits.

    Raises:
        ValueError: an argument is out of its range.

    Example:
        >>> data = BoardGameGroups(renderer=None, batches=3, batch_size=2, group={"games": 4})
        >>> len(data), [group.seed for group in data.get_batch(1)]
        (3, [2, 3])
    """

    renderer: Any
    batches: int
    batch_size: int = 16
    seed: int = 0
    group: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        positive("batches", self.batches)
        positive("batch_size", self.batch_size)
        BoardGameGroup(self.renderer, self.seed, **self.group)

    def get_batch(self, index: int) -> Sequence[BoardGameGroup]:
        """The groups of a batch."""
        first = self.seed + whole("index", index, self.batches - 1) * self.batch_size
        return [BoardGameGroup(self.renderer, seed, **self.group) for seed in range(first, first + self.batch_size)]

    def __len__(self) -> int:
        return self.batches
