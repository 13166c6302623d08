"""The least a Connect Four or tic-tac-toe environment can do in plain Python: the yardstick for ours.

Nothing is checked, one seat's stones are a bitboard with the win test unrolled by hand, the planes are kept up to date
and copied. This is a second copy of the rules on purpose: it shows what our one rule book for all sizes costs.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

CONNECT_FOUR, TIC_TAC_TOE = "MinimalConnectFour-v0", "MinimalTicTacToe-v0"


class MinimalConnectFour(gym.Env[Any, int]):
    """Both sides step; the observation is the next player's, int8 (2, 6, 7), with the mask in info."""

    observation_space = spaces.Box(0, 1, (2, 6, 7), np.int8)
    action_space = spaces.Discrete(7)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.bits = [0, 0]
        self.heights = [0] * 7
        self.turn = 0
        self.plies = 0
        self.planes = np.zeros((2, 6, 7), np.int8)
        self.mask = np.ones(7, np.int8)
        return self.planes.copy(), {"action_mask": self.mask.copy()}

    def step(self, action: int) -> Any:
        turn, height = self.turn, self.heights[action]
        bits = self.bits[turn] = self.bits[turn] | 1 << 7 * action + height
        self.planes[turn, 5 - height, action] = 1
        self.heights[action] = height + 1
        if height == 5:
            self.mask[action] = 0
        self.plies += 1
        self.turn = 1 - turn
        won = False
        pairs = bits & bits >> 1
        if pairs & pairs >> 2:
            won = True
        else:
            pairs = bits & bits >> 7
            if pairs & pairs >> 14:
                won = True
            else:
                pairs = bits & bits >> 6
                if pairs & pairs >> 12:
                    won = True
                else:
                    pairs = bits & bits >> 8
                    won = pairs & pairs >> 16 != 0
        observation = self.planes.copy() if turn else self.planes[::-1].copy()
        info = {"action_mask": self.mask.copy()}
        return observation, 1.0 if won else 0.0, won or self.plies == 42, False, info


class MinimalTicTacToe(gym.Env[Any, int]):
    """Both sides step; the observation is the next player's, int8 (2, 3, 3), with the mask in info."""

    observation_space = spaces.Box(0, 1, (2, 3, 3), np.int8)
    action_space = spaces.Discrete(9)
    lines = (7, 56, 448, 73, 146, 292, 273, 84)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.bits = [0, 0]
        self.turn = 0
        self.plies = 0
        self.planes = np.zeros((2, 9), np.int8)
        self.mask = np.ones(9, np.int8)
        return self.planes.reshape(2, 3, 3).copy(), {"action_mask": self.mask.copy()}

    def step(self, action: int) -> Any:
        turn = self.turn
        bits = self.bits[turn] = self.bits[turn] | 1 << action
        self.planes[turn, action] = 1
        self.mask[action] = 0
        self.plies += 1
        self.turn = 1 - turn
        won = False
        for line in self.lines:
            if bits & line == line:
                won = True
                break
        observation = (self.planes if turn else self.planes[::-1]).copy().reshape(2, 3, 3)
        info = {"action_mask": self.mask.copy()}
        return observation, 1.0 if won else 0.0, won or self.plies == 9, False, info


for _id, _class in ((CONNECT_FOUR, MinimalConnectFour), (TIC_TAC_TOE, MinimalTicTacToe)):
    gym.register(_id, entry_point=_class, order_enforce=False, disable_env_checker=True)
