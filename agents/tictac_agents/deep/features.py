"""What a network is shown of a board: lines under way and threats, or the output of convolutions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import DependencyNotInstalled

from tictac_env.games import Game, game_of, shown
from tictac_env.games.k_in_a_row import KInARow

try:
    import torch
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
except ImportError as error:
    raise DependencyNotInstalled('Stable-Baselines3 is missing: pip install "tictac-env[rl]"') from error


class LineFeatures(BaseFeaturesExtractor):
    """Fixed features that see what is a step or two from a line; nothing in them is learned.

    A window is a set of `connect` cells in a line. It is live for a side while the other side has no stone in it. A
    threat of a side is an empty cell whose stone would complete a line of this side. In this order, each first for the
    side that the observation is of ("own") and then for the other:

    - the stones, 2 x cells;
    - for each window whether it is live and lacks just two stones, then whether it lacks just one, 2 x 2 x windows
      (for a window of two cells the first is left out);
    - whether there is a line, 2;
    - the threats, 2 x cells;
    - on boards with gravity, for each column whether its lowest empty cell is a threat, then whether the cell above
      that is, 2 x 2 x cols.

    So a network over them sees immediate wins and blocks, and by a weight for each cell on which rows threats stand,
    which decides who runs out of other moves. On Connect Four there are 474 features of 69 windows.

    The windows, and what lies beneath a cell, are the game's own answers.

    Args:
        observation_space: of planes (2, rows, cols) or boards (rows, cols).
        game: a game of the `KInARow` family, by its name, by its "id" and sizes, or its rule book.

    Raises:
        ValueError: the game is of another family, or the observations are not of its boards.
    """

    _windows: torch.Tensor
    _beneath: torch.Tensor

    def __init__(self, observation_space: spaces.Space[Any], game: str | Mapping[str, Any] | Game) -> None:
        rules = game_of(game) if isinstance(game, (str, Mapping)) else game
        if not isinstance(rules, KInARow):
            raise ValueError(f"LineFeatures needs a game of the KInARow family, not {shown(game)}")
        shape = observation_space.shape or ()
        if shape not in ((2, rules.rows, rules.cols), (rules.rows, rules.cols)):
            raise ValueError(f"LineFeatures needs planes or boards of {rules!r}, not {observation_space}")
        in_windows = windows(rules)
        self._lacking = [count for count in (2, 1) if count < rules.connect]
        levels = 2 * rules.cols * rules.gravity
        count = 2 * (2 * rules.cells + len(self._lacking) * len(in_windows) + 1 + levels)
        super().__init__(observation_space, count)
        self.game = rules
        # Constants of the game, made afresh with the network: a checkpoint need not hold them.
        self._keep("_windows", in_windows)
        self._keep("_beneath", cells_beneath(rules))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """The features of planes (B, 2, rows, cols) or boards (B, rows, cols), whichever they are: float32
        (B, features_dim), each 0 or 1.
        """
        game, count, levels = self.game, len(observations), 2 * self.game.gravity
        sizes = [game.cells, *[len(self._windows)] * len(self._lacking), 1, game.cells, *[game.cols] * levels]
        # Everything is written where it belongs, comparisons as floats: that takes a fifth of the time of making
        # parts, of bools first, and joining them.
        found = torch.empty(count, self.features_dim, device=observations.device)
        parts = [part.view(count, 2, -1) for part in torch.split(found, [2 * size for size in sizes], dim=1)]
        stones, lines, threats = parts[0], parts[1 + len(self._lacking)], parts[2 + len(self._lacking)]
        stones.copy_(sides(observations).flatten(2))
        # The other side's stones weigh so much that the sum over a window tells how many there are of either.
        weights = (1, game.connect + 1)
        weighed = weights[0] * stones[:, 0] + weights[1] * stones[:, 1]
        empty = weighed.eq(0).float()
        sums = weighed @ self._windows.T
        full = torch.empty_like(sums)
        for side, weight in enumerate(weights):
            for part, less in zip(parts[1:], self._lacking, strict=False):
                torch.eq(sums, weight * (game.connect - less), out=part[:, side])
            lines[:, side, 0] = torch.eq(sums, weight * game.connect, out=full).amax(dim=1)
            one_less = parts[len(self._lacking)][:, side]
            completed = (one_less @ self._windows).clamp_(max=1) if self._lacking else 1
            torch.mul(empty, completed, out=threats[:, side])
        if game.gravity:
            lowest = empty * (1 - self._at_beneath(empty))
            for part, cells in zip(parts[-2:], (lowest, self._at_beneath(lowest)), strict=True):
                in_columns = (threats * cells[:, None]).view(count, 2, game.rows, game.cols)
                torch.sum(in_columns, dim=2, out=part)
        return found

    def _at_beneath(self, cells: torch.Tensor) -> torch.Tensor:
        """For each cell what `cells` (B, cells) has for the one beneath; 0 where there is none."""
        return torch.nn.functional.pad(cells, (0, 1)).index_select(1, self._beneath)

    def _keep(self, name: str, constant: npt.NDArray[Any]) -> None:
        self.register_buffer(name, torch.as_tensor(constant), persistent=False)


class ConvFeatures(BaseFeaturesExtractor):
    """Learned features: three convolutions of 3 x 3 without loss of size, each followed by ReLU.

    Stable-Baselines3's own network of convolutions is for images of at least 36 x 36.

    Args:
        observation_space: of planes (2, rows, cols) or boards (rows, cols).
        channels: of each convolution.
    """

    def __init__(self, observation_space: spaces.Space[Any], channels: int = 32) -> None:
        shape = observation_space.shape or ()
        super().__init__(observation_space, channels * shape[-2] * shape[-1])
        layers: list[torch.nn.Module] = []
        for inputs in (2, channels, channels):
            layers += [torch.nn.Conv2d(inputs, channels, 3, padding=1), torch.nn.ReLU()]
        self.layers = torch.nn.Sequential(*layers, torch.nn.Flatten())

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """float32 (B, channels * rows * cols)."""
        found: torch.Tensor = self.layers(sides(observations))
        return found


def sides(observations: torch.Tensor) -> torch.Tensor:
    """The planes of either side, float32 (B, 2, rows, cols), of planes or of boards (B, rows, cols)."""
    if observations.dim() == 4:
        return observations.float()
    return torch.stack([observations > 0, observations < 0], dim=1).float()


def boards(observations: torch.Tensor) -> torch.Tensor:
    """The boards, float32 (B, rows, cols) of 1, 0 and -1, of planes (B, 2, rows, cols) or of boards."""
    if observations.dim() == 3:
        return observations.float()
    return observations[:, 0].float() - observations[:, 1].float()


def afterstates(now: torch.Tensor, num_actions: int) -> torch.Tensor:
    """The board after each action of the side whose stones are 1: float32 (B, num_actions, rows, cols).

    Args:
        now: boards, float32 (B, rows, cols). Where their columns are the actions, stones fall.
        num_actions: how many there are. The board after an illegal one is meaningless.
    """
    rows, cols = now.shape[1:]
    one_each = torch.eye(num_actions, device=now.device)
    if num_actions == rows * cols:
        stones = one_each.view(-1, rows, cols)
    else:
        lowest = now.eq(0).sum(dim=1, keepdim=True) - 1  # the stones of a column lie below its empty cells
        lands = torch.arange(rows, device=now.device)[:, None] == lowest
        stones = one_each[:, None, :] * lands[:, None]
    return now[:, None] + stones


def windows(game: KInARow) -> npt.NDArray[np.float32]:
    """The lines of a game, each as the cells that make it up: float32 (windows, cells) of 0 and 1; (69, 42) on Connect
    Four.
    """
    cells = _cell_bits(game)
    lines = [
        sum(begin << step * place for place in range(game.connect))
        for step in game.steps
        for begin in cells
        if game.runs(game.full, step) & begin
    ]
    different = dict.fromkeys(lines)  # a line of one cell runs in every direction
    return np.array([[line & cell != 0 for cell in cells] for line in different], np.float32)


def cells_beneath(game: KInARow) -> npt.NDArray[np.int64]:
    """The number of the cell beneath each cell, the number of cells if there is none: int64 (cells,)."""
    cells = _cell_bits(game)
    number = {cell: i for i, cell in enumerate(cells)}
    return np.array([number.get(game.beneath(cell), len(cells)) for cell in cells], np.int64)


def _cell_bits(game: KInARow) -> list[int]:
    """The bit of each cell, row by row from the top left."""
    return [game.cell(row, col) for row in range(game.rows) for col in range(game.cols)]
