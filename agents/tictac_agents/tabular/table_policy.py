"""A policy that plays by a table: how it looks values up, and how the table grows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tictac_agents.tabular.exploring import draw, explores
from tictac_agents.tabular.loops import best_actions, evaluate
from tictac_agents.tabular.states import Ints, new_rows
from tictac_env.games import Game, describe_game
from tictac_env.observation import read_observation
from tictac_env.policies import Policy
from tictac_env.position import Position, PositionBatch

Schedule = float | Sequence[float]


class TablePolicy(Policy):
    """Plays by an `ActionTable` or a `ValueTable`, and explores in training."""

    ROW_ARRAYS: ClassVar[dict[str, int]] = {}
    """The arrays of the table with an entry for each row, and along which axis."""
    game: Game
    epsilon: Schedule
    _core: Any  # the table; a NamedTuple's _replace keeps its class, which mypy does not know
    _random_state: Ints

    def __len__(self) -> int:
        """How many positions have values (in both tables together if there are two)."""
        return int(self._core.rows.used[0])

    @property
    def _random(self) -> int:
        """The state of its own randomness."""
        return int(self._random_state[0])

    @property
    def positions(self) -> Ints:
        """int64 (N, 3), the stones (own, opp) of each row, and which of several tables it belongs to; a view."""
        positions: Ints = self._core.rows.positions[: len(self)]
        return positions

    @property
    def table(self) -> Any:
        """The `ActionTable` or `ValueTable`."""
        return self._core

    @property
    def capacity(self) -> int:
        """For how many positions there is room."""
        return len(self._core.rows.positions)

    def values(self, own: int, opp: int) -> dict[int, float]:
        """The value of each legal action in a position, for the side to move."""
        values = np.empty(self.game.num_actions)
        evaluate(self.game, self._core, own, opp, values)
        return {action: value for action, value in enumerate(values.tolist()) if value == value}

    def best_action(self, own: int, opp: int, allowed: Sequence[int]) -> int:
        """The best of the `allowed` actions in a position, by what has been learned; the lowest among equals."""
        return max(allowed, key=self.values(own, opp).__getitem__)

    @abstractmethod
    def scheduled(self, schedule: Schedule) -> float:
        """What a schedule says now."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        action_masks: npt.ArrayLike | None = None,
    ) -> tuple[int, None]:
        """The action for an observation, and None, as Stable-Baselines3 returns a pair.

        Args:
            observation: of any type of the game's.
            state: not used.
            episode_start: not used.
            deterministic: whether to play the best action known; otherwise explore as in training.
            action_masks: (num_actions,), 1 where an action may be chosen; by default what is legal.

        Raises:
            ValueError: the observation is none of the game's, or the masks allow no legal action.
        """
        own, opp = read_observation(self.game, observation)
        legal = Position(self.game, own, opp).legal_actions
        mask = np.ones(self.game.num_actions) if action_masks is None else np.asarray(action_masks).reshape(-1)
        if len(mask) != self.game.num_actions:
            raise ValueError(f"action_masks must have {self.game.num_actions} elements, not {len(mask)}")
        allowed = [action for action in legal if mask[action]]
        if not allowed:
            raise ValueError(f"no legal action is allowed in {Position(self.game, own, opp)!r}; masks: {mask}")
        if not deterministic and explores(self._random_state, self.scheduled(self.epsilon)):
            return allowed[draw(self._random_state) % len(allowed)], None
        return self.best_action(own, opp, allowed), None

    def act(self, position: Position, seed: int) -> int:
        """The best action known; the seed does not matter.

        Raises:
            ValueError: the position is of another game, or finished.
        """
        self._check(position.game)
        if position.is_over:
            raise ValueError(f"the game is over, there is nothing to play: {position!r}")
        return self.best_action(position.own, position.opp, position.legal_actions)

    def act_many(self, batch: PositionBatch, seeds: Ints) -> Ints:
        """The best actions known in B unfinished positions: int64 (B,).

        Raises:
            ValueError: the positions are of another game.
        """
        self._check(batch.game)
        best = np.full(len(batch), -1, np.int64)
        best_actions(self.game, self._core, batch.own, batch.opp, np.empty(self.game.num_actions), best)
        return best

    def _check(self, game: Game) -> None:
        if game != self.game:
            raise ValueError(f"{self} has learned {describe_game(self.game)}, and nothing of {describe_game(game)}")

    def make_room(self, count: int) -> bool:
        """Sees to it that there is room for so many more positions. Returns whether the table had to be moved."""
        known = len(self)
        if known + count <= self.capacity:
            return False
        rows = new_rows(known + count, self.positions)
        grown = {}
        for name, axis in self.ROW_ARRAYS.items():
            array = getattr(self._core, name)
            more = list(array.shape)
            more[axis] = len(rows.positions) - self.capacity
            filling = np.full(more, np.nan if array.dtype == np.float64 else 0, array.dtype)
            grown[name] = np.concatenate([array, filling], axis)
        self._core = self._core._replace(rows=rows, **grown)
        return True
