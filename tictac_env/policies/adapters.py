"""Players that see observations, functions and models, as policies."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from tictac_env.canvas import action_masks, legal_sets
from tictac_env.games import Game
from tictac_env.observation import Observer, fit, observation_type_of
from tictac_env.policies.policy import Policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

WITHOUT_MASKS = (
    "its predict takes no action_masks, so it may choose any action; tictac_agents.Snapshot(model) leaves out the "
    "illegal ones of a Stable-Baselines3 model"
)


class FunctionPolicy(Policy):
    """A function `(observation, action_mask) -> action` as a policy. Copies share the function.

    Args:
        function: gets the observation of the side to move, and the mask int8 (num_actions,). If it has a parameter
            `seed`, it gets the seed too, an int in [0, 2**63): what draws should draw from it alone.
        obs_type: which observation it gets; see `tictac_env.observation`.
    """

    def __init__(self, function: Callable[..., Any], obs_type: str = "planes") -> None:
        self.function = function
        self.obs_type = obs_type
        self.name = getattr(function, "__name__", type(function).__name__)
        self.seeded = _takes_seed(function)

    def act(self, position: Position, seed: int) -> int:
        return self._act(position, self.obs_type, seed)

    def _act(self, position: Position, obs_type: str, seed: int) -> int:
        observer = observer_of(position.game, obs_type)
        mask = observer.mask(position.game.legal(position.own, position.opp))
        action: int = self.ask(observer.observe(position.own, position.opp, position.seat), mask, seed)
        return action

    def ask(self, observation: Any, mask: npt.NDArray[np.int8], seed: int) -> Any:
        """What the function answers, be it an action or not; it gets the seed only if it takes one."""
        return self.function(observation, mask, seed=seed) if self.seeded else self.function(observation, mask)

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
        if not self._masked:
            self.illegal_hint = WITHOUT_MASKS

    def act(self, position: Position, seed: int) -> int:
        return self._act(position, self._obs_type_of(position.game), seed)

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """int64 (B,); Stable-Baselines3's models are asked for all positions at once."""
        space = self._space
        if space is None or not hasattr(getattr(self.model, "policy", self.model), "is_vectorized_observation"):
            return super().act_many(batch, seeds)
        observations = fit(batch.observations(self._obs_type_of(batch.game)), space, many=True, who=self)
        masks = {}
        if self._masked:
            masks["action_masks"] = action_masks(batch.game, legal_sets(batch.game, batch.own, batch.opp))
        actions, _ = self.model.predict(observations, deterministic=True, **masks)
        return np.asarray(actions, np.int64)

    @property
    def _space(self) -> spaces.Space[Any] | None:
        """The model's observation space, if it has one."""
        return getattr(self.model, "observation_space", None)

    def _obs_type_of(self, game: Game) -> str:
        """Which observations of the game the model gets."""
        return self.obs_type if self._space is None else observation_type_of(game, self._space).name

    def _predict(self, observation: Any, mask: npt.NDArray[np.int8]) -> int:
        masks = {"action_masks": mask} if self._masked else {}
        action, _ = self.model.predict(fit(observation, self._space, who=self), deterministic=True, **masks)
        return int(action)


def _takes_seed(function: Callable[..., Any]) -> bool:
    """Whether a function has a parameter `seed` that can be given by its name."""
    try:
        parameter = inspect.signature(function).parameters.get("seed")
    except (TypeError, ValueError):  # some functions written in C do not say
        return False
    return parameter is not None and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)


@functools.lru_cache(maxsize=64)
def observer_of(game: Game, obs_type: str) -> Observer:
    """The `Observer` of a game, made once."""
    return Observer(game, obs_type)
