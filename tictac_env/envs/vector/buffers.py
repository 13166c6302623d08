"""The arrays that a step of many boards is written to."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.games import Game
from tictac_env.observation import observation_type

Bools = npt.NDArray[np.bool_]


class StepBuffers:
    """The arrays that a step of N boards is written to.

    Attributes:
        cells: the observations of a type that the kernels write as int8 (planes, boards), one after another; else
            empty.
        codes: those of a type that they write as int64 (codes); else empty.
        masks: int8, the action masks, one after another.
        rewards: float64 (N,).
        ended: int8 (N,), 1 where a game has ended.
        terminated: the same as bool (N,).
        finals: int64 (3, N), seat, answer and outcome of games that have ended, with `with_finals`; else (3, 0). Cells,
            codes and masks then have N more rows, for their last observations.
        observations: what the environment returns: (N, ...).
        action_masks: int8 (N, num_actions).
        last_observations: of games that have ended; (N, ...) or (0, ...).
    """

    def __init__(self, game: Game, obs_type: str, num_envs: int, with_finals: bool) -> None:
        rows = num_envs * (1 + with_finals)
        kind = observation_type(obs_type)
        every: Any = np.empty((rows, *kind.shape(game)), kind.dtype)
        written = kind.kernel is not None
        self.cells = every.reshape(-1) if written and every.dtype == np.int8 else np.empty(0, np.int8)
        self.codes = every.reshape(-1) if written and every.dtype == np.int64 else np.empty(0, np.int64)
        self.masks = np.empty(rows * game.num_actions, np.int8)
        self.rewards = np.empty(num_envs)
        self.ended = np.empty(num_envs, np.int8)
        self.terminated = self.ended.view(np.bool_)
        self.finals = np.zeros((3, num_envs if with_finals else 0), np.int64)
        self.observations: Any = every[:num_envs]
        self.last_observations: Any = every[num_envs:]
        self.action_masks = self.masks.reshape(rows, game.num_actions)[:num_envs]
