"""The form of observations that are dicts of a plain observation and the action mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from tictac_env.arrays import Array
from tictac_env.checks import flag
from tictac_env.games import shown
from tictac_env.observation import Observation, Space

KEYS = ("observation", "action_mask")
INFO_KEY = "action_mask"
"""The key of the mask in an info."""

Keys: TypeAlias = Sequence[str]


@dataclass(frozen=True)
class DictForm:
    """The form of a dict of observation and mask; see `tictac_env.wrappers.MaskedObservation`."""

    keys: tuple[str, str]
    dtype: np.dtype[Any]
    ones_when_over: bool

    @classmethod
    def check(cls, keys: Keys, dtype: npt.DTypeLike, ones_when_over: bool) -> Self:
        """The form with these arguments; a ValueError names a wrong one."""
        names = () if isinstance(keys, str) else tuple(keys)
        if len(names) != 2 or not all(isinstance(name, str) for name in names) or names[0] == names[1]:
            raise ValueError(f"keys must be two different names, of observation and mask, not {shown(keys)}")
        kind = np.dtype(dtype)
        if kind.kind not in "biuf":
            raise ValueError(f"dtype must be one of integers, floats or bool, not {kind}")
        return cls((names[0], names[1]), kind, flag("ones_when_over", ones_when_over))

    def space(self, observations: Space, actions: Space) -> spaces.Dict:
        """The space of such dicts; a ValueError unless the actions are Discrete from 0."""
        if not isinstance(actions, spaces.Discrete) or actions.start != 0:
            raise ValueError(f"only Discrete actions from 0 have such masks, not {actions}")
        mask = spaces.Box(0, 1, (int(actions.n),), self.dtype.type)
        return spaces.Dict({self.keys[0]: observations, self.keys[1]: mask})

    def join(self, observation: Observation, mask: Array) -> dict[str, Observation]:
        """An observation, or many, and the mask as a dict."""
        mask = mask.astype(self.dtype, copy=False)
        if self.ones_when_over:
            mask = np.where(mask.any(axis=-1, keepdims=True), mask, self.dtype.type(1))
        return {self.keys[0]: observation, self.keys[1]: mask}
