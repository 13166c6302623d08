"""The action mask as a part of the observation, where other libraries look for it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, overload

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from tictac_env.checks import flag
from tictac_env.games import shown

KEYS = ("observation", "action_mask")
INFO_KEY = "action_mask"
"""Where an info has the mask."""
SB3_WRAPPER = ("tictac_agents.deep.masked_vec_env", "MaskedVecEnv")
"""Module and class of the wrapper of Stable-Baselines3's environments, imported when it is used."""

Keys: TypeAlias = Sequence[str]


@overload
def MaskedObservation(
    env: gym.Env[Any, Any], keys: Keys = KEYS, dtype: npt.DTypeLike = np.int8, ones_when_over: bool = False
) -> MaskedEnv: ...
@overload
def MaskedObservation(
    env: VectorEnv[Any, Any, Any], keys: Keys = KEYS, dtype: npt.DTypeLike = np.int8, ones_when_over: bool = False
) -> MaskedVectorEnv: ...
@overload
def MaskedObservation(
    env: Any, keys: Keys = KEYS, dtype: npt.DTypeLike = np.int8, ones_when_over: bool = False
) -> Any: ...
def MaskedObservation(env: Any, keys: Keys = KEYS, dtype: npt.DTypeLike = np.int8, ones_when_over: bool = False) -> Any:
    """Wraps an environment so that each observation is a dict of the plain observation and the action mask.

    The mask is the one in `info["action_mask"]`, which stays there: 1 where an action is legal, (num_actions,), on many
    boards (num_envs, num_actions); once a game is over all 0, or where the next action is ignored all 1 (see
    `BoardVectorEnv`). Other wrappers fit below, such as Gymnasium's `DtypeObservation` and `FlattenObservation`.

    Args:
        env: a Gymnasium environment, single or vector, whose infos have an action mask, as those of this package and
            `OpponentPolicyEnv`; or a `VecEnv` of Stable-Baselines3 whose boards have `action_masks`, as `SB3VecEnv`.
        keys: the names of observation and mask: PettingZoo's by default; RLlib looks for `("observations",
            "action_mask")`.
        dtype: of the mask; numbers or bool. TorchRL needs bool, RLlib float32.
        ones_when_over: whether the mask in the observation is all 1 once a game is over, not all 0. Some code draws an
            action even there, or makes a distribution of the masked actions: TorchRL's `check_env_specs` does.

    Returns:
        A `MaskedEnv`, `MaskedVectorEnv`, or for Stable-Baselines3 a `tictac_agents.deep.masked_vec_env.MaskedVecEnv`.

    Raises:
        ValueError: an argument is not one of these; or, at `reset`, the infos have no mask.
        gymnasium.error.DependencyNotInstalled: Stable-Baselines3 is missing.

    Example:
        >>> env = MaskedObservation(gym.make("tictac_env:ConnectFour-v0"), dtype=bool)
        >>> observation, info = env.reset(seed=0)
        >>> observation["observation"].shape, observation["action_mask"].all()
        ((2, 6, 7), np.True_)
        >>> envs = MaskedObservation(gym.make_vec("TicTacToe-v0", num_envs=8))
        >>> {key: array.shape for key, array in envs.reset(seed=0)[0].items()}
        {'observation': (8, 2, 3, 3), 'action_mask': (8, 9)}
    """
    if isinstance(env, gym.Env):
        return MaskedEnv(env, keys, dtype, ones_when_over)
    if isinstance(env, VectorEnv):
        return MaskedVectorEnv(env, keys, dtype, ones_when_over)
    if not hasattr(env, "step_wait"):
        raise ValueError(f"env must be an environment of Gymnasium or a VecEnv of Stable-Baselines3, not {shown(env)}")
    module, name = SB3_WRAPPER
    return getattr(importlib.import_module(module), name)(env, keys, dtype, ones_when_over)


@dataclass(frozen=True)
class DictForm:
    """How observation and mask make a dict; see `MaskedObservation`."""

    keys: tuple[str, str]
    dtype: np.dtype[Any]
    ones_when_over: bool

    @classmethod
    def check(cls, keys: Keys, dtype: npt.DTypeLike, ones_when_over: bool) -> Self:
        """The form with these arguments.

        Raises:
            ValueError: the keys are not two names, or the dtype cannot be a mask's.
        """
        names = () if isinstance(keys, str) else tuple(keys)
        if len(names) != 2 or not all(isinstance(name, str) for name in names) or names[0] == names[1]:
            raise ValueError(f"keys must be two different names, of observation and mask, not {shown(keys)}")
        kind = np.dtype(dtype)
        if kind.kind not in "biuf":
            raise ValueError(f"dtype must be one of whole numbers, floats or bool, not {kind}")
        return cls((names[0], names[1]), kind, flag("ones_when_over", ones_when_over))

    def space(self, observations: Any, actions: Any) -> spaces.Dict:
        """The space of such dicts.

        Raises:
            ValueError: the actions are not Discrete from 0.
        """
        if not isinstance(actions, spaces.Discrete) or actions.start != 0:
            raise ValueError(f"only Discrete actions from 0 have such masks, not {actions}")
        mask = spaces.Box(0, 1, (int(actions.n),), self.dtype.type)
        return spaces.Dict({self.keys[0]: observations, self.keys[1]: mask})

    def join(self, observation: Any, mask: npt.NDArray[Any]) -> dict[str, Any]:
        """An observation, or many, and the mask as a dict."""
        mask = mask.astype(self.dtype, copy=False)
        if self.ones_when_over:
            mask = np.where(mask.any(axis=-1, keepdims=True), mask, self.dtype.type(1))
        return {self.keys[0]: observation, self.keys[1]: mask}


class MaskedEnv(gym.Wrapper[dict[str, Any], Any, Any, Any], RecordConstructorArgs):
    """One board with dict observations; see `MaskedObservation`, which makes it."""

    def __init__(
        self,
        env: gym.Env[Any, Any],
        keys: Keys = KEYS,
        dtype: npt.DTypeLike = np.int8,
        ones_when_over: bool = False,
    ) -> None:
        self._form = form = DictForm.check(keys, dtype, ones_when_over)
        # Text, as a spec is to be JSON.
        given: dict[str, Any] = {"keys": list(form.keys), "dtype": form.dtype.name, "ones_when_over": ones_when_over}
        RecordConstructorArgs.__init__(self, **given)
        gym.Wrapper.__init__(self, env)
        self.observation_space = form.space(env.observation_space, env.action_space)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], Any]:
        """As the environment's, with the mask in the observation."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._form.join(observation, mask_in(info, self.env)), info

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """As the environment's, with the mask in the observation."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._form.join(observation, mask_in(info, self.env)), reward, terminated, truncated, info


class MaskedVectorEnv(VectorWrapper):  # older Gymnasiums know no parameters here
    """Many boards with dict observations; see `MaskedObservation`, which makes it.

    The observations in `final_obs` are such dicts, too.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        keys: Keys = KEYS,
        dtype: npt.DTypeLike = np.int8,
        ones_when_over: bool = False,
    ) -> None:
        super().__init__(env)
        self._form = DictForm.check(keys, dtype, ones_when_over)
        space = self._form.space(env.single_observation_space, env.single_action_space)
        self.single_observation_space = space
        self.observation_space = batch_space(space, env.num_envs)
        self._masks: npt.NDArray[Any] | None = None

    @property
    def autoreset_mode(self) -> AutoresetMode:
        """Gymnasium's; TorchRL looks for it here."""
        mode: AutoresetMode = self.metadata["autoreset_mode"]
        return mode

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """As the environment's, with the masks in the observations."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._joined(observations, infos), infos

    def step(self, actions: Any) -> tuple[dict[str, Any], Any, Any, Any, dict[str, Any]]:
        """As the environment's, with the masks in the observations."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        if "final_obs" in infos:
            last, masks = infos["final_obs"].copy(), mask_in(infos["final_info"], self.env)
            for i in np.flatnonzero(infos["_final_obs"]).tolist():
                last[i] = self._form.join(last[i], masks[i].copy())
            infos = infos | {"final_obs": last}
        return self._joined(observations, infos), rewards, terminations, truncations, infos

    def _joined(self, observations: Any, infos: dict[str, Any]) -> dict[str, Any]:
        masks, given = mask_in(infos, self.env), infos[f"_{INFO_KEY}"]
        if self._masks is not None and not given.all():  # only some boards were reset
            masks = np.where(given[:, None], masks, self._masks)
        self._masks = masks
        return self._form.join(observations, masks)


def mask_in(info: dict[str, Any], env: Any) -> npt.NDArray[Any]:
    """The mask in an info.

    Raises:
        ValueError: there is none.
    """
    if INFO_KEY not in info:
        raise ValueError(f"{env} gives no action mask: its info must have {INFO_KEY!r}; it has {sorted(info)}")
    mask: npt.NDArray[Any] = info[INFO_KEY]
    return mask
