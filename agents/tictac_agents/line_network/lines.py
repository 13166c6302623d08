"""The lines of a board, as arrays: what `LineFeatures` and the compiled network look at."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tictac_env.games.k_in_a_row import KInARow


def cell_bits(game: KInARow) -> list[int]:
    """The bit of each cell, row by row from the top left."""
    return [game.cell(row, col) for row in range(game.rows) for col in range(game.cols)]


def window_bits(game: KInARow) -> list[int]:
    """The cells of each line of a game; there are 69 on Connect Four."""
    lines = [
        sum(begin << step * place for place in range(game.connect))
        for step in game.steps
        for begin in cell_bits(game)
        if game.runs(game.full, step) & begin
    ]
    return list(dict.fromkeys(lines))  # a line of one cell runs in every direction


def windows(game: KInARow) -> npt.NDArray[np.float32]:
    """All lines of a game, each as the cells that make it up: float32 (windows, cells) of 0 and 1; (69, 42) on Connect
    Four.
    """
    cells = cell_bits(game)
    return np.array([[line & cell != 0 for cell in cells] for line in window_bits(game)], np.float32)


def cells_beneath(game: KInARow) -> npt.NDArray[np.int64]:
    """For each cell the number of the one beneath; the number of cells if there is none. int64 (cells,)."""
    cells = cell_bits(game)
    number = {cell: i for i, cell in enumerate(cells)}
    return np.array([number.get(game.beneath(cell), len(cells)) for cell in cells], np.int64)


def num_features(game: KInARow) -> int:
    """How many features `LineFeatures` has; 474 on Connect Four."""
    lacking = sum(count < game.connect for count in (2, 1))
    return 2 * (2 * game.cells + lacking * len(window_bits(game)) + 1 + 2 * game.cols * game.gravity)
