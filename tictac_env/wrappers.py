"""Any two-player, turn-taking PettingZoo environment, with an opponent, as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.pool import Mixture, OpponentPool

__all__ = ["Mixture", "OpponentPool"]

Player = Callable[[Any, npt.NDArray[np.int8], int], Any]
"""What answers: a function of observation, mask and seed."""
