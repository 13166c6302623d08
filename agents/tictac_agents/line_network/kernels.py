"""A network of state values over `LineFeatures`, compiled: what it is shown of a position, and its answer."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.compiled import borrowing_kernel, kernel, kernel_methods
from tictac_env.games import UNFINISHED
from tictac_env.games.k_in_a_row import KInARow

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

SURE = np.float32(1e9)
"""The value of an action that wins at once: above every estimate."""


@kernel_methods
class LineWeights(NamedTuple):
    """The weights, and what is needed to find the features; a record of `Leaves` too, which gives a search its values.

    Few features are 1, the others 0, and after ReLU about half of a layer's units are 0. So the product of a layer's
    inputs and its matrix is a sum over a few rows of the matrix.
    """

    cells: Ints
    """(cells,): the bit of each cell, row by row from the top left."""
    lines: Ints
    """(windows,): the cells of each window."""
    inputs: Ints
    """(hidden layers,): how many inputs each hidden layer has."""
    rows: Floats
    """(R, width): for each hidden layer a row for each input, then one of its biases, filled with 0 to one width."""
    last: Floats
    """(width + 1,): the weights of the last layer, then its bias."""
    units: Floats
    """(2, width): scratch, the outputs of two layers, which no two threads may share."""
    active: Ints
    """(features or width, whichever is more): scratch, the inputs that are not 0."""

    def leaf_value(self, game: Any, own: int, opp: int, state: int) -> tuple[float, int]:
        """The value of an unfinished position for the side to move, in [-1, 1]; see `mcts.leaves`."""
        return -min(1.0, max(-1.0, state_value(game, self, opp, own))), state


@kernel
def action_values(game: KInARow, net: LineWeights, own: Ints, opp: Ints, values: Floats) -> None:
    """Fills values, (B, num_actions), with the network's value of each action in B positions, unclipped.

    An action that ends the game has its result, a win `SURE` and a loss -`SURE`; an illegal one has -inf.
    """
    for i in range(len(own)):
        for action in range(game.num_actions):
            next_own, next_opp = game.play(own[i], opp[i], action)
            if next_own == own[i] and next_opp == opp[i]:
                values[i, action] = -np.inf
                continue
            result = game.result(next_own, next_opp)
            if result == UNFINISHED:
                values[i, action] = state_value(game, net, next_opp, next_own)
            else:
                values[i, action] = -result * SURE


@borrowing_kernel
def state_value(game: KInARow, net: LineWeights, own: int, opp: int) -> float:
    """The network's value of a position for the side whose stones are `own`, which has just moved."""
    width = net.units.shape[1]
    begin = 0
    for layer in range(len(net.inputs)):
        before, after = 1 - (layer & 1), layer & 1
        bias = begin + net.inputs[layer]
        for unit in range(width):
            net.units[after, unit] = net.rows[bias, unit]
        if layer == 0:
            count = find_features(game, net, own, opp)
            _add_rows(net.rows, net.active, count, net.units[0])
        else:
            count = 0
            for source in range(width):
                net.active[count] = source
                count += net.units[before, source] > 0
            _add_scaled_rows(net.rows[begin:bias], net.active, count, net.units[before], net.units[after])
        for unit in range(width):
            net.units[after, unit] = max(net.units[after, unit], np.float32(0))
        begin = bias + 1
    after = (len(net.inputs) - 1) & 1
    value = net.last[width]
    for unit in range(width):
        value += net.units[after, unit] * net.last[unit]
    return float(value)


@borrowing_kernel
def _add_rows(rows: Floats, active: Ints, count: int, sums: Floats) -> None:
    """Adds `count` rows, those that `active` names, to `sums`: four at a time, which saves loads and stores of sums."""
    rest = count & 3
    for i in range(rest):
        row = rows[active[i]]
        for unit in range(len(sums)):
            sums[unit] += row[unit]
    for i in range(rest, count, 4):
        a, b, c, d = rows[active[i]], rows[active[i + 1]], rows[active[i + 2]], rows[active[i + 3]]
        for unit in range(len(sums)):
            sums[unit] += (a[unit] + b[unit]) + (c[unit] + d[unit])


@borrowing_kernel
def _add_scaled_rows(rows: Floats, active: Ints, count: int, scales: Floats, sums: Floats) -> None:
    """The same, each row times its element of `scales`."""
    rest = count & 3
    for i in range(rest):
        row, scale = rows[active[i]], scales[active[i]]
        for unit in range(len(sums)):
            sums[unit] += scale * row[unit]
    for i in range(rest, count, 4):
        a, b, c, d = active[i], active[i + 1], active[i + 2], active[i + 3]
        first, second, third, fourth = rows[a], rows[b], rows[c], rows[d]
        for_a, for_b, for_c, for_d = scales[a], scales[b], scales[c], scales[d]
        for unit in range(len(sums)):
            sums[unit] += (for_a * first[unit] + for_b * second[unit]) + (for_c * third[unit] + for_d * fourth[unit])


@borrowing_kernel
def find_features(game: KInARow, net: LineWeights, own: int, opp: int) -> int:
    """Fills `active` with the numbers that `LineFeatures` gives the features that are 1; returns how many there are."""
    cells, windows, active = len(net.cells), len(net.lines), net.active
    count = 0
    for cell in range(cells):
        if own & net.cells[cell]:
            active[count] = cell
            count += 1
        elif opp & net.cells[cell]:
            active[count] = cells + cell
            count += 1
    first = 2 * cells
    for lacking in (2, 1):
        if lacking < game.connect:
            wanted = game.connect - lacking
            for window in range(windows):
                ours, theirs = own & net.lines[window], opp & net.lines[window]
                if theirs == 0:
                    active[count] = first + window
                    count += ours.bit_count() == wanted
                elif ours == 0:
                    active[count] = first + windows + window
                    count += theirs.bit_count() == wanted
            first += 2 * windows
    for side in range(2):
        if game.has_won(opp if side else own, side):
            active[count] = first + side
            count += 1
    first += 2
    empty = game.full & ~(own | opp)
    own_threats, opp_threats = game.threats(own, 0) & empty, game.threats(opp, 1) & empty
    for cell in range(cells):
        if (own_threats | opp_threats) & net.cells[cell]:
            if own_threats & net.cells[cell]:
                active[count] = first + cell
                count += 1
            if opp_threats & net.cells[cell]:
                active[count] = first + cells + cell
                count += 1
    if game.gravity:
        first += 2 * cells
        lowest = game.playable(own, opp)
        for cells_of in (lowest, lowest << 1 & game.full):
            for col in range(game.cols):
                column = game.column << col * game.stride
                if own_threats & cells_of & column:
                    active[count] = first + col
                    count += 1
                if opp_threats & cells_of & column:
                    active[count] = first + game.cols + col
                    count += 1
            first += 2 * game.cols
    return count
