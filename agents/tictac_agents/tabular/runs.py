"""Games that a table learns from, one after another, and the policy of what it has learned."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, Self

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from tictac_agents.predicts import Predicts, allowed_actions
from tictac_agents.tabular.draws import draw, explores
from tictac_env.checks import one_of, whole
from tictac_env.games import Game, describe_game
from tictac_env.observation import read_observation
from tictac_env.policies import Policy
from tictac_env.position import Position

Schedule = float | Sequence[float]
"""A number, or several for equal parts of a run."""
COUNTERS = ("timesteps", "episodes")
NO_LIMIT = 2**62
"""More than any counter counts; sums of two are still int64."""


class Run(NamedTuple):
    """A run of a learner, measured by one of its counters."""

    counter: str
    """What is counted: "timesteps" or "episodes"."""
    begin: int
    """What the counter said at the beginning."""
    end: int
    """What it says at the end."""

    @classmethod
    def of(cls, begins: dict[str, int], total_timesteps: int | None, total_episodes: int | None) -> Self:
        """A run of so many timesteps or episodes; `begins` is what each counter says now.

        Raises:
            ValueError: neither or both totals are given, or not a positive int.
        """
        given = {"timesteps": total_timesteps, "episodes": total_episodes}
        named = [(counter, total) for counter, total in given.items() if total is not None]
        if len(named) != 1 or type(named[0][1]) is not int or named[0][1] < 1:
            raise ValueError(f"give total_timesteps or total_episodes, a positive int, not {given}")
        counter, total = named[0]
        return cls(counter, begins[counter], begins[counter] + total)

    @classmethod
    def from_json(cls, saved: Any) -> Self:
        """The run that a file holds.

        Raises:
            ValueError, TypeError: it is none.
        """
        counter, begin, end = saved
        begin, end = whole("begin", begin, NO_LIMIT), whole("end", end, NO_LIMIT)
        return cls(one_of("counter", counter, COUNTERS), begin, whole("length", end - begin) + begin)

    def part(self, schedule: Sequence[float], now: int) -> float:
        """The number of a schedule for the part of the run that is reached."""
        return schedule[min((now - self.begin) * len(schedule) // (self.end - self.begin), len(schedule) - 1)]

    def next_change(self, schedule: Sequence[float], now: int) -> int:
        """What the counter says when the next part of a schedule begins."""
        part = (now - self.begin) * len(schedule) // (self.end - self.begin) + 1
        return self.begin - (self.begin - self.end) * part // len(schedule)  # rounded up


class LearningAgent(Protocol):
    """What plays and learns."""

    def begin_game(self, observation: Any, info: dict[str, Any]) -> None:
        """A game begins with this observation."""

    def choose_action(self, observation: Any, info: dict[str, Any]) -> int:
        """The next action."""

    def learn_from_result(
        self, observation: Any, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]
    ) -> bool | None:
        """Learns from what the action brought. True if nothing is left to learn from the game, though it goes on."""


def run_single(env: gym.Env[Any, Any], agent: LearningAgent, reset: Callable[[], tuple[Any, dict[str, Any]]]) -> int:
    """Plays one game.

    Args:
        env: the environment.
        agent: the player that learns.
        reset: begins the game: `env.reset`, with the seed and the options that this game is to have.

    Returns:
        How many steps the game had.
    """
    observation, info = reset()
    agent.begin_game(observation, info)
    steps, over = 0, False
    while not over:
        action = agent.choose_action(observation, info)
        observation, reward, terminated, truncated, info = env.step(action)
        steps += 1
        settled = agent.learn_from_result(observation, float(reward), terminated, truncated, info)
        over = terminated or truncated or bool(settled)
    return steps


class TrainedPolicy(Predicts, Policy):
    """Plays the best action known, and in training explores by randomness of its own."""

    game: Game
    budget = "no search; a table"
    _random_state: npt.NDArray[np.int64]

    @abstractmethod
    def best_action(self, own: int, opp: int, allowed: Sequence[int]) -> int:
        """The best of the `allowed` actions in a position, by what has been learned.

        Args:
            own: the stones of the side to move, as bits (see `Position`).
            opp: the other side's.
            allowed: legal actions, at least one, in ascending order.
        """

    @abstractmethod
    def scheduled(self, schedule: Schedule) -> float:
        """What a schedule says now."""

    @property
    def _random(self) -> int:
        """The state of its own randomness."""
        return int(self._random_state[0])

    def draw(self) -> int:
        """A number in [0, 2**63) of the learner's own randomness."""
        return int(draw(self._random_state))

    def explores(self, epsilon: Schedule) -> bool:
        """True with the probability that the schedule gives now."""
        return explores(self._random_state, self.scheduled(epsilon))

    def _predicted(self, observation: Any, deterministic: bool, action_masks: npt.ArrayLike | None) -> int:
        own, opp = read_observation(self.game, observation)
        allowed = allowed_actions(Position(self.game, own, opp), action_masks)
        if not deterministic and self.explores(getattr(self, "epsilon", 0.0)):
            return allowed[self.draw() % len(allowed)]
        return self.best_action(own, opp, allowed)

    def act(self, position: Position, seed: int) -> int:
        """The best action known; the seed does not matter.

        Raises:
            ValueError: the position is of another game, or finished.
        """
        self._check_game(position.game)
        if position.is_over:
            raise ValueError(f"the game is over, there is nothing to play: {position!r}")
        return self.best_action(position.own, position.opp, position.legal_actions)

    def _check_game(self, game: Game) -> None:
        if game != self.game:
            raise ValueError(f"{self} has learned {describe_game(self.game)}, and nothing of {describe_game(game)}")
