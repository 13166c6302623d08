"""The arrays that a step of many boards is written to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.envs.vector.boards import Bytes, Floats, Ints
from tictac_env.games import Game
from tictac_env.observation import observation_type

Bools = npt.NDArray[np.bool_]


class StepArrays(NamedTuple):
    """The arrays that kernels write a step of N boards to; see `StepBuffers`.

    Attributes:
        cells: the observations of a type that the kernels write as int8 (planes, boards), one after another; else
            empty.
        codes: those of a type that they write as int64 (codes); else empty.
        masks: int8, the action masks, one after another.
        rewards: float64 (N,).
        ended: int8 (N,), 1 where a game has ended.
        finals: int64 (4, N), seat, opponent's action, outcome and illegal action (or -1) of games that have ended, or
            (4, 0). Where there are such, cells, codes and masks have N more rows, for their last observations.
    """

    cells: Bytes
    codes: Ints
    masks: Bytes
    rewards: Floats
    ended: Bytes
    finals: Ints


class StepBuffers:
    """What a step of N boards is written to.

    Args:
        game: the rule book.
        obs_type: the type of the observations.
        num_envs: N.
        with_finals: whether a step also tells how games ended that it has begun anew.

    Attributes:
        arrays: for the kernels.
        rewards: float64 (N,).
        terminated: bool (N,), where a game has ended.
        finals: as in `StepArrays`.
        observations: what the environment returns: (N, ...).
        action_masks: int8 (N, num_actions).
        last_observations: of games that have ended; (N, ...) or (0, ...).
    """

    def __init__(self, game: Game, obs_type: str, num_envs: int, with_finals: bool) -> None:
        rows = num_envs * (1 + with_finals)
        kind = observation_type(obs_type)
        every: Any = np.empty((rows, *kind.shape(game)), kind.dtype)
        written = kind.kernel is not None
        cells = every.reshape(-1) if written and kind.dtype is np.int8 else np.empty(0, np.int8)
        codes = every.reshape(-1) if written and kind.dtype is np.int64 else np.empty(0, np.int64)
        masks = np.empty(rows * game.num_actions, np.int8)
        ended = np.empty(num_envs, np.int8)
        self.rewards = np.empty(num_envs)
        self.finals = np.zeros((4, num_envs if with_finals else 0), np.int64)
        self.arrays = StepArrays(cells, codes, masks, self.rewards, ended, self.finals)
        self.terminated: Bools = ended.view(np.bool_)
        self.observations: Any = every[:num_envs]
        self.last_observations: Any = every[num_envs:]
        self.action_masks = masks.reshape(rows, game.num_actions)[:num_envs]
