"""A policy that plays what has been learned, and explores in training."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_agents.action_masks import allowed_actions
from tictac_agents.predicts import Predicts
from tictac_agents.tabular.draws import draw, explores
from tictac_agents.tabular.run import Schedule
from tictac_env.games import Game, describe_game
from tictac_env.observation import read_observation
from tictac_env.policies import Policy
from tictac_env.position import Position


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
