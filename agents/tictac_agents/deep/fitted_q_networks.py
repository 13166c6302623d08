"""The networks of `FittedQ`: S4's, which is told one action at a time, and the same with all actions in one pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled

from tictac_env.games import Game

try:
    import torch
    from torch import nn
except ImportError as error:
    raise DependencyNotInstalled('PyTorch is missing: pip install "tictac-env[rl]"') from error

CONVOLUTIONS = ((20, 5), (20, 4), (20, 4), (30, 4), (30, 4), (30, 4), (30, 4))
"""Channels and width of each filter."""
DENSE = (49, 7, 7)
SLOPE = 0.3
"""Of the LeakyReLUs: plain ReLUs died on the many labels that are 0."""


class SameConv(nn.Module):
    """A convolution whose output is as large as its input: zeros are added, one more at the end where it must be."""

    def __init__(self, channels: int, filters: int, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, filters, width)
        before, after = (width - 1) // 2, width // 2
        self.padding = (before, after, before, after)

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.conv(nn.functional.pad(planes, self.padding))
        return out


def layers(rows: int, cols: int, outputs: int) -> nn.Sequential:
    """The published layers for a picture of that size; of 7 x 7 and with one output they have 138,773 weights."""
    parts: list[nn.Module] = []
    channels = 1
    for filters, width in CONVOLUTIONS:
        parts += [SameConv(channels, filters, width), nn.LeakyReLU(SLOPE)]
        channels = filters
    parts.append(nn.Flatten())
    size = channels * rows * cols
    for units in DENSE:
        parts += [nn.Linear(size, units), nn.LeakyReLU(SLOPE)]
        size = units
    parts.append(nn.Linear(size, outputs))
    # With the channels last in memory PyTorch's convolutions take a third of the time on a processor.
    return nn.Sequential(*parts).to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


class AllActionsNetwork(nn.Module):
    """Sees the board, 1 for own stones and -1 for the other side's, and has an output for each action."""

    def __init__(self, game: Game) -> None:
        super().__init__()
        self.layers = layers(game.rows, game.cols, game.num_actions)

    def forward(self, boards: torch.Tensor) -> torch.Tensor:
        """The value of each action: float32 (B, num_actions), of boards float32 (B, rows, cols)."""
        values: torch.Tensor = self.layers(boards[:, None])
        return values

    def of_actions(self, boards: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """The value of one action on each board: float32 (B,); `actions` int64 (B,)."""
        values: torch.Tensor = self(boards).gather(1, actions[:, None])
        return values.squeeze(1)


class OneActionNetwork(nn.Module):
    """Sees one action too, as a row of its own above the board with a 1 in the action's column: one pass an action.

    Raises:
        ValueError: the game's actions are not its columns.
    """

    def __init__(self, game: Game) -> None:
        super().__init__()
        if game.num_actions != game.cols:
            raise ValueError(f"all_actions=False needs a game whose actions are its columns, not {game!r}")
        self.layers = layers(game.rows + 1, game.cols, 1)

    def forward(self, boards: torch.Tensor) -> torch.Tensor:
        """The value of each action: float32 (B, num_actions), of boards float32 (B, rows, cols)."""
        count, cols = len(boards), boards.shape[2]
        actions = torch.arange(cols, device=boards.device).repeat(count)
        return self.of_actions(boards.repeat_interleave(cols, dim=0), actions).reshape(count, cols)

    def of_actions(self, boards: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """The value of one action on each board: float32 (B,); `actions` int64 (B,)."""
        marks = nn.functional.one_hot(actions, boards.shape[2]).to(boards.dtype)
        values: torch.Tensor = self.layers(torch.cat([marks[:, None], boards], dim=1)[:, None])
        return values.squeeze(1)


Network = AllActionsNetwork | OneActionNetwork


def new_network(game: Game, all_actions: bool, rng: np.random.Generator, device: str) -> Network:
    """A network with weights as Keras draws them, and biases of 0.

    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010. (PyTorch draws
    smaller ones, which leave hardly anything of the input after eleven layers.)

    Raises:
        ValueError: the network cannot be told the game's actions.
    """
    network: Any = (AllActionsNetwork if all_actions else OneActionNetwork)(game)
    with torch.no_grad():
        for weights in network.parameters():
            if weights.dim() == 1:
                weights.zero_()
                continue
            field = weights[0, 0].numel() if weights.dim() == 4 else 1
            bound = math.sqrt(6 / (field * (weights.shape[0] + weights.shape[1])))
            drawn = rng.uniform(-bound, bound, tuple(weights.shape)).astype(np.float32)
            weights.copy_(torch.from_numpy(drawn))
    made: Network = network.to(device)
    return made
