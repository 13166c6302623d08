"""Players that see observations, functions and models, as policies."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from tictac_env.games import Game
from tictac_env.observation import OBS_TYPES, Observer
from tictac_env.policies.policy import Policy
from tictac_env.position import Position, PositionBatch


class FunctionPolicy(Policy):
    """A function `(observation, action_mask) -> action` as a policy. Copies share the function.

    Args:
        function: gets the observation of the side to move, and the mask int8 (num_actions,).
        obs_type: which observation it gets; see `tictac_env.observation`.
    """

    def __init__(self, function: Callable[[Any, npt.NDArray[np.int8]], Any], obs_type: str = "planes") -> None:
        self.function = function
        self.obs_type = obs_type
        self.name = getattr(function, "__name__", type(function).__name__)

    def act(self, position: Position, seed: int) -> int:
        return self._act(position, self.obs_type)

    def _act(self, position: Position, obs_type: str) -> int:
        observer = observer_of(position.game, obs_type)
        mask = observer.mask(position.game.legal(position.own, position.opp))
        action: int = self.function(observer.observe(position.own, position.opp, position.seat), mask)
        return action

    def __deepcopy__(self, memo: dict[int, Any]) -> FunctionPolicy:
        return self


class ModelPolicy(FunctionPolicy):
    """A model with `predict`, Stable-Baselines3's or one of `tictac_agents`, as a policy that copies share.

    Args:
        model: its `predict(observation, deterministic=True)` returns `(action, state)`. If `predict` has a parameter
            `action_masks`, it gets the mask.
        obs_type: which observation it gets where it does not say so itself by an `observation_space`, whose shape the
            observations of a game then have to have, as they are, flattened, or with the planes last as in PettingZoo;
            they come in its dtype, and have to lie within its bounds.

    Raises:
        ValueError: at the first move, if no type of observation of the game fits the model's observation space.
    """

    def __init__(self, model: Any, obs_type: str = "planes") -> None:
        super().__init__(self._predict, obs_type)
        self.model = model
        self.name = type(model).__name__
        self._masked = "action_masks" in inspect.signature(model.predict).parameters

    def act(self, position: Position, seed: int) -> int:
        space = getattr(self.model, "observation_space", None)
        obs_type = self.obs_type if space is None else fitting_obs_type(position.game, space)
        return self._act(position, obs_type)

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """int64 (B,); Stable-Baselines3's models are asked for all positions at once."""
        space = getattr(self.model, "observation_space", None)
        if space is None or not hasattr(getattr(self.model, "policy", self.model), "is_vectorized_observation"):
            return super().act_many(batch, seeds)
        game = batch.game
        observer = observer_of(game, fitting_obs_type(game, space))
        stones = list(zip(batch.own.tolist(), batch.opp.tolist(), strict=True))
        planes = observer.planes_of(batch.own, batch.opp)
        if space.shape in (planes.shape[1:], (planes[0].size,)):
            observations = planes.reshape(-1, *space.shape).astype(space.dtype, copy=False)
        else:
            observations = np.stack([self._fit(observer.observe(*both, game.seat(*both))) for both in stones])
        masks = {}
        if self._masked:
            masks["action_masks"] = np.stack([observer.mask(game.legal(*both)) for both in stones])
        actions, _ = self.model.predict(observations, deterministic=True, **masks)
        return np.asarray(actions, np.int64)

    def _predict(self, observation: Any, mask: npt.NDArray[np.int8]) -> int:
        masks = {"action_masks": mask} if self._masked else {}
        action, _ = self.model.predict(self._fit(observation), deterministic=True, **masks)
        return int(action)

    def _fit(self, observation: Any) -> Any:
        """The observation in the shape and dtype of the model's observation space."""
        space = getattr(self.model, "observation_space", None)
        if not isinstance(space, spaces.Box):
            return observation
        if np.shape(observation) != space.shape:
            if planes_last(np.shape(observation)) == space.shape:
                observation = np.moveaxis(observation, 0, -1)
            elif space.shape == (np.size(observation),):
                observation = np.reshape(observation, space.shape)
            else:
                raise ValueError(f"{self} expects observations of shape {space.shape}, not {np.shape(observation)}")
        return np.asarray(observation, space.dtype)


def fitting_obs_type(game: Game, space: spaces.Space[Any]) -> str:
    """The type of the game's observations that belong to `space`, flattened or with the planes last or neither, in
    whatever dtype.

    Raises:
        ValueError: there is none.
    """
    for obs_type in OBS_TYPES:
        try:
            own = observer_of(game, obs_type).space
        except ValueError:  # no codes of large boards
            continue
        if space == own:
            return obs_type
        if (
            isinstance(own, spaces.Box)
            and isinstance(space, spaces.Box)
            and space.shape in (own.shape, (math.prod(own.shape),), planes_last(own.shape))
            and (space.low <= own.low.min()).all()
            and (space.high >= own.high.max()).all()
        ):
            return obs_type
    raise ValueError(f"no observation of {game!r} fits the model's observation space {space}")


def planes_last(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """PettingZoo's (rows, cols, 2) for planes of `shape` (2, rows, cols); None for anything else."""
    return (*shape[1:], 2) if len(shape) == 3 and shape[0] == 2 else None


@functools.lru_cache(maxsize=64)
def observer_of(game: Game, obs_type: str) -> Observer:
    """The `Observer` of a game, made once."""
    return Observer(game, obs_type)
