"""A learner's own randomness, kept in an array so that compiled code can draw from it too."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tictac_env.rng import UNIT, advance, mix


def draw(random: npt.NDArray[np.int64]) -> int:
    """A number in [0, 2**63); `random` (1,) is the state of the randomness."""
    state = advance(int(random[0]))
    random[0] = state
    return mix(state)


def explores(random: npt.NDArray[np.int64], epsilon: float) -> bool:
    """True with probability epsilon."""
    return draw(random) * UNIT < epsilon
