"""A learner's own randomness, kept in an array so that compiled code can draw from it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tictac_env.compiled import borrowing_kernel
from tictac_env.rng import UNIT, advance, mix


@borrowing_kernel
def draw(random: npt.NDArray[np.int64]) -> int:
    """A number in [0, 2**63); `random` (1,) is the state of the randomness."""
    random[0] = advance(random[0])
    return mix(random[0])


@borrowing_kernel
def explores(random: npt.NDArray[np.int64], epsilon: float) -> bool:
    """True with probability epsilon."""
    return draw(random) * UNIT < epsilon
