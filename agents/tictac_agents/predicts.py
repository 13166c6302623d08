"""`predict` with the arguments and the pair of Stable-Baselines3."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy.typing as npt


class Predicts(ABC):
    """An agent that is asked by `predict`, as a model of Stable-Baselines3 is."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        action_masks: npt.ArrayLike | None = None,
    ) -> tuple[int, None]:
        """The action for one observation, and None, as Stable-Baselines3 returns a pair.

        Args:
            observation: of any type of the game's; for planning, also the number of a state.
            state: not used.
            episode_start: not used.
            deterministic: whether to play the best action known. A learner otherwise explores as in training, by
                `epsilon`; planners and searches do not explore.
            action_masks: (num_actions,), 1 where an action may be chosen; by default what is legal.

        Raises:
            ValueError: the agent knows no such observation, or the masks allow no legal action.
        """
        return self._predicted(observation, deterministic, action_masks), None

    @abstractmethod
    def _predicted(self, observation: Any, deterministic: bool, action_masks: npt.ArrayLike | None) -> int:
        """The action for one observation."""
