"""One game through `reset` and `step`, played by an agent that chooses actions and learns from their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import gymnasium as gym


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
