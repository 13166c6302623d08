"""Infos that have the same keys at every step, for libraries that store them as columns."""

from __future__ import annotations

from typing import Any, overload

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from tictac_env.games import shown

Infos = dict[str, Any]

AT_THE_END = {"outcome": 0, "illegal_action": -1}
"""What infos have only where a game has ended (so), and what stands for it elsewhere."""


@overload
def CompleteInfo(env: gym.Env[Any, Any]) -> CompleteInfoEnv: ...
@overload
def CompleteInfo(env: VectorEnv[Any, Any, Any]) -> CompleteInfoVectorEnv: ...
def CompleteInfo(env: Any) -> Any:
    """Wraps an environment of this package so that every info key is there at every reset and step.

    Without it `outcome` and `illegal_action` come only at the end of a game (that ended so), which Minari's recorder
    and TorchRL's readers of infos do not take. Until then `outcome` is 0, and `illegal_action` is -1 where none was;
    that a game is over is told by `terminated`.

    On many boards these are int64 (num_envs,), with `_outcome` and `_illegal_action` as ever. Where games begin anew in
    the step in which they end (SAME_STEP), `final_obs` and `final_info` are there at every step, too, and `outcome` and
    `illegal_action` are in `final_info`.

    Args:
        env: the environment, single or vector, or wrappers around it.

    Returns:
        A `CompleteInfoEnv` or `CompleteInfoVectorEnv`.

    Raises:
        ValueError: `env` is neither.

    Example:
        >>> env = CompleteInfo(gym.make("tictac_env:TicTacToe-v0"))
        >>> sorted(env.reset(seed=0)[1])
        ['action_mask', 'illegal_action', 'opponent_action', 'outcome', 'seat']
    """
    if isinstance(env, gym.Env):
        return CompleteInfoEnv(env)
    if isinstance(env, VectorEnv):
        return CompleteInfoVectorEnv(env)
    raise ValueError(f"env must be an environment of Gymnasium, single or vector, not {shown(env)}")


class CompleteInfoEnv(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """One board with complete infos; see `CompleteInfo`, which makes it."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Infos]:
        """As the environment's."""
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, info | AT_THE_END

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Infos]:
        """As the environment's."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated, truncated, AT_THE_END | info


class CompleteInfoVectorEnv(VectorWrapper):  # older Gymnasiums know no parameters here
    """Many boards with complete infos; see `CompleteInfo`, which makes it."""

    @property
    def autoreset_mode(self) -> AutoresetMode:
        """Gymnasium's; TorchRL looks for it here."""
        mode: AutoresetMode = self.metadata["autoreset_mode"]
        return mode

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, Infos]:
        """As the environment's."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return observations, self._complete(infos)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Infos]:
        """As the environment's."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        return observations, rewards, terminations, truncations, self._complete(infos)

    def _complete(self, infos: Infos) -> Infos:
        if self.autoreset_mode != AutoresetMode.SAME_STEP:
            return infos | self._at_the_end(infos)
        none = np.zeros(self.num_envs, np.bool_)
        final = infos.get("final_info") or {key: np.zeros_like(value) for key, value in infos.items()}
        return {"final_obs": np.full(self.num_envs, None, object), "_final_obs": none, "_final_info": none.copy()} | {
            **infos,
            "final_info": final | self._at_the_end(final),
        }

    def _at_the_end(self, infos: Infos) -> Infos:
        """What games that have ended have to say, for all boards."""
        found: Infos = {}
        for key, missing in AT_THE_END.items():
            given = infos.get(f"_{key}", np.zeros(self.num_envs, np.bool_))
            found |= {key: np.where(given, infos.get(key, missing), missing), f"_{key}": given}
        return found
