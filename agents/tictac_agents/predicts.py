"""`predict` with the arguments and the pair of Stable-Baselines3, and the actions that its masks allow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.position import Position


class Predicts(ABC):
    """An agent with `predict`, like a model of Stable-Baselines3."""

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
            observation: of any of the game's types; for planning, also the number of a state.
            state: not used.
            episode_start: not used.
            deterministic: True to play the best action. Otherwise a learner explores as in training, by `epsilon`;
                planners and searches do not explore.
            action_masks: (num_actions,), 1 where an action may be chosen; by default the legal ones.

        Raises:
            ValueError: it is not an observation of the agent's game, or the masks allow no legal action.
        """
        return self._predicted(observation, deterministic, action_masks), None

    @abstractmethod
    def _predicted(self, observation: Any, deterministic: bool, action_masks: npt.ArrayLike | None) -> int:
        """The action for one observation."""


def allowed_actions(position: Position, action_masks: npt.ArrayLike | None) -> list[int]:
    """The legal actions of a position that masks of shape (num_actions,) allow, at least one, in ascending order.

    Raises:
        ValueError: the masks are of another size, or allow no legal action.
    """
    size = position.game.num_actions
    mask = np.ones(size) if action_masks is None else np.asarray(action_masks).reshape(-1)
    if len(mask) != size:
        raise ValueError(f"action_masks must have {size} elements, not {len(mask)}")
    allowed = [action for action in position.legal_actions if mask[action]]
    if not allowed:
        raise ValueError(f"no legal action is allowed in {position!r}; masks: {mask}")
    return allowed
