"""How each of many games stands, compiled. Importing this module loads Numba."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tictac_env.compiled import kernel
from tictac_env.games import Game

COMPILED_AS = "exact results"

Ints = npt.NDArray[np.int64]


@kernel
def find_results(game: Game, own: Ints, opp: Ints, results: npt.NDArray[np.int8]) -> None:
    """Writes how each game stands into `results`, int8 (B,)."""
    for i in range(len(own)):
        results[i] = game.result(own[i], opp[i])
