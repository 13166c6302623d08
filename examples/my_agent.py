# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env"]
# ///
"""An agent of your own: it wins if it can, else blocks, else plays in the middle; and the benchmark, which judges it.

python examples/my_agent.py
tictac bench examples/my_agent.py:player --game ConnectFour-v0 --quick
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Planes = npt.NDArray[np.int8]


def player(observation: Planes, mask: Planes) -> int:
    """Chooses a column of Connect Four; the observation has the player's own stones, then the opponent's."""
    columns = sorted(np.flatnonzero(mask).tolist(), key=lambda column: abs(column - 3))
    heights = observation.sum(axis=(0, 1))
    winning = [c for stones in observation for c in columns if has_four(stones, 5 - int(heights[c]), c)]
    return (winning or columns)[0]


def has_four(stones: Planes, row: int, column: int) -> bool:
    """True if another stone there makes four in a row."""
    board = np.pad(stones, 3)  # so that lines may begin outside
    board[row + 3, column + 3] = 1
    lines = ([board[row + 3 + down * i, column + 3 + right * i] for i in range(-3, 4)] for down, right in LINES)
    return any("1111" in "".join(map(str, line)) for line in lines)


LINES = (0, 1), (1, 0), (1, 1), (1, -1)

if __name__ == "__main__":
    from tictac_apps.benchmark import benchmark

    benchmark(player, "ConnectFour-v0").print()
