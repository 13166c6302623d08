"""What a reader of other people's players is told where the player does not say it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tictac_env.checks import number, one_of
from tictac_env.observation import OBSERVATION_TYPES

PLANES_LAST = "planes-last"
"""Flattened planes in PettingZoo's order: both planes of a cell side by side."""
ACTIVATIONS = ("relu", "tanh", "elu", "leaky_relu", "silu", "gelu", "sigmoid")
"""The activation functions that weights may be read with: the names of `torch.nn.functional`."""


@dataclass(frozen=True)
class Reading:
    """How to read a player, where it does not say so itself.

    Args:
        observation: what a function or a network sees: a name of `OBSERVATION_TYPES`; of a network whose input is flat
            also "planes-last". None for "planes" of functions, and for what fits its input of a network.
        activation: between the layers of a network of which only the weights are known; None for what CleanRL uses.
        time_limit: how many seconds a program may take for a move, its start included, and a network in an ONNX file
            for up to 64.

    Raises:
        ValueError: one of them is not known, or out of its range.

    Example:
        >>> from tictac_env.policies import Reading
        >>> Reading(observation="board", time_limit=2.0).observation
        'board'
    """

    observation: str | None = None
    activation: str | None = None
    time_limit: float = 10.0

    def __post_init__(self) -> None:
        if self.observation is not None:
            one_of("observation", self.observation, (*OBSERVATION_TYPES, PLANES_LAST))
        if self.activation is not None:
            one_of("activation", self.activation, ACTIVATIONS)
        if number("time_limit", self.time_limit, 0, math.inf) in (0, math.inf):
            raise ValueError(f"time_limit must be a finite number of seconds above 0, not {self.time_limit}")

    @property
    def of_function(self) -> str:
        """The observation type of a function.

        Raises:
            ValueError: it is one of networks only.
        """
        if self.observation == PLANES_LAST:
            raise ValueError(f'observation "{PLANES_LAST}" is for networks; an agent that sees them: "pettingzoo:..."')
        return self.observation or "planes"
