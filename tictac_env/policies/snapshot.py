"""A frozen copy of a Stable-Baselines3 model, as a policy."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.arrays import Ints
from tictac_env.games import Game
from tictac_env.policies.adapters import as_seen, check_normalizer, normalizer_of, scorer, scores_of, seen_type
from tictac_env.policies.loading import own_game
from tictac_env.policies.policy import Policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch


class Snapshot(Policy):
    """A frozen copy of a Stable-Baselines3 model's policy, which plays greedily while the model continues to learn.

    It plays what `predict(..., deterministic=True)` returns with illegal actions left out, but answers many positions
    at a time and computes only what the choice needs, in a fifth of the time. The statistics of a `VecNormalize` are
    frozen too.

    Args:
        model: a DQN, QR-DQN, PPO, A2C, TRPO, ARS or MaskablePPO, with the observations of `ModelPolicy`.
        name: its name in tables.

    Raises:
        ValueError: the model is of another algorithm, such as RecurrentPPO, or has lost its `VecNormalize`; or it sees
            something else (if the model does not know its game, at the first move).

    Example:
        >>> from tictac_agents import MaskablePPO, SB3VecEnv, Snapshot
        >>> from tictac_env import Position
        >>> envs = SB3VecEnv("TicTacToe-v0", num_envs=4, illegal="raise")
        >>> model = MaskablePPO("MlpPolicy", envs, n_steps=8, batch_size=32, seed=0, device="cpu")
        >>> Snapshot(model).act(Position.from_moves("TicTacToe-v0", "12345687"), seed=0)  # one cell is left
        8
    """

    budget = "no search; one evaluation of a network"

    def __init__(self, model: Any, name: str = "snapshot") -> None:
        if scorer(model.policy) is None:
            raise ValueError(
                f"{type(model).__name__} has no scores of single actions from which illegal ones can be left out; DQN, "
                "QR-DQN, PPO, A2C, TRPO, ARS and MaskablePPO have"
            )
        check_normalizer(model)
        if (game := own_game(model)) is not None:
            seen_type(game, model.observation_space, model.env)
        # Play needs neither the optimiser nor the last distribution, which holds a graph that cannot be copied.
        parts = vars(model.policy)
        left_out = {name: parts[name] for name in ("optimizer", "action_dist") if name in parts}
        try:
            parts.update(dict.fromkeys(left_out))
            self._policy: Any = copy.deepcopy(model.policy)
        finally:
            parts.update(left_out)
        self._policy.set_training_mode(False)
        self._normalizer = copy.deepcopy(normalizer_of(model))  # without its boards
        self._space = model.observation_space
        self._obs_types: dict[Game, str] = {}
        self.name = name

    @property
    def batched(self) -> bool:
        return True

    def act(self, position: Position, seed: int) -> int:
        return int(self.act_many(PositionBatch.of([position]), np.array([seed]))[0])

    def act_many(self, batch: PositionBatch, seeds: Ints) -> Ints:
        actions: Ints = self.scores_many(batch).argmax(axis=1)
        return actions

    @property
    def gives_values(self) -> bool:
        """True if the scores are Q-values; otherwise they are logits."""
        return hasattr(self._policy, "q_net") or hasattr(self._policy, "quantile_net")

    def scores_many(self, batch: PositionBatch) -> npt.NDArray[np.float32]:
        """The Q-values or logits in B positions: float32 (B, num_actions), -inf for illegal actions."""
        masks = batch.legal_masks()
        observations = batch.observations(self._obs_type_of(batch.game))
        shown = as_seen(observations, masks, self._space, self._normalizer, many=True, who=self)
        return np.where(masks, scores_of(self._policy, shown), np.float32(-np.inf))

    def _obs_type_of(self, game: Game) -> str:
        if game not in self._obs_types:
            self._obs_types[game] = seen_type(game, self._space)
        return self._obs_types[game]
