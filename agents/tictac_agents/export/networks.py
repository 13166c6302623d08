"""PyTorch's networks of the deep agents, as arrays that NumPy evaluates. It runs in the exported file, too."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


class LineWeights(NamedTuple):
    """What is needed to find the features of lines."""

    cells: Ints
    """(cells,): the bit of each cell, row by row from the top left."""
    lines: Ints
    """(windows,): the cells of each window."""
    active: Ints
    """(features + 1,): scratch, the numbers of the features that are 1."""


def find_features(game: Any, net: LineWeights, own: int, opp: int) -> int:
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


class Layer(NamedTuple):
    """A layer of a network, and the function after it."""

    weights: Floats
    """(outputs, inputs); of a convolution (outputs, inputs, 3, 3)."""
    biases: Floats
    """(outputs,)."""
    activation: str
    """The name of PyTorch's class, "" for none."""

    def forward(self, x: Floats) -> Floats:
        """The outputs for the inputs (inputs,), or (inputs, rows, cols) of a convolution."""
        if self.weights.ndim == 4:
            rows, cols = x.shape[1:]
            padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
            total: Any = np.zeros((len(self.weights), rows, cols), np.float32) + self.biases[:, None, None]
            for down in range(3):
                for right in range(3):
                    seen = padded[:, down : down + rows, right : right + cols]
                    total += np.tensordot(self.weights[:, :, down, right], seen, axes=1)
        else:
            total = self.weights @ x.reshape(-1) + self.biases
        return activated(self.activation, total)


def activated(name: str, x: Floats) -> Floats:
    """The function of that name, of each element."""
    y: Any = x
    if name == "ReLU":
        y = np.maximum(x, 0)
    elif name == "LeakyReLU":
        y = np.where(x > 0, x, np.float32(0.01) * x)
    elif name == "ELU":
        y = np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
    elif name == "SiLU":
        y = x / (1 + np.exp(-x))
    elif name == "Sigmoid":
        y = 1 / (1 + np.exp(-x))
    elif name == "Tanh":
        y = np.tanh(x)
    found: Floats = y
    return found


class DeepNetwork(NamedTuple):
    """A network of Stable-Baselines3's, as a player."""

    sees: str
    """"planes", "planes last" or "board"."""
    after: bool
    """Whether it is shown the position that each action leads to, and has one output; else it has one an action."""
    lines: LineWeights | None
    """Finds the features of lines and threats, if it is these that the first layer sees."""
    layers: tuple[Layer, ...]

    def choose(self, game: Any, own: int, opp: int, seed: int, end: float) -> int:
        """The legal action of the highest output, the lowest among equals."""
        legal = [action for action in range(game.num_actions) if game.legal(own, opp) & game.choice(action)]
        if self.after:
            outputs = {action: self.evaluate(game, game.play(own, opp, action)[1], opp)[0] for action in legal}
        else:
            found = self.evaluate(game, own, opp)
            outputs = {action: found[action] for action in legal}
        return max(legal, key=lambda action: outputs[action])

    def evaluate(self, game: Any, own: int, opp: int) -> Floats:
        """The outputs for a position: float32 (outputs,)."""
        if self.lines is not None:
            x = np.zeros(self.layers[0].weights.shape[1], np.float32)
            x[self.lines.active[: find_features(game, self.lines, own, opp)]] = 1
        else:
            x = self.picture(game, own, opp)
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def picture(self, game: Any, own: int, opp: int) -> Floats:
        """What the first layer sees: planes float32 (2, rows, cols), with the planes last, or a board (rows, cols)."""
        planes = np.zeros((2, game.rows, game.cols), np.float32)
        for row in range(game.rows):
            for col in range(game.cols):
                bit = game.cell(row, col)
                planes[0, row, col], planes[1, row, col] = own & bit != 0, opp & bit != 0
        if self.layers[0].weights.ndim == 4:
            return planes
        if self.after or self.sees == "board":
            board: Floats = planes[0] - planes[1]
            return board
        return np.moveaxis(planes, 0, 2) if self.sees == "planes last" else planes
