"""The networks of `FittedQ`: S4's, which is told one action at a time, and the same with all actions in one pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import DependencyNotInstalled

from tictac_env.games import Game

try:
    import torch
    from torch import nn
except ImportError as error:
    raise DependencyNotInstalled('PyTorch is missing: pip install "tictac-env[rl]"') from error

SLOPE = 0.3
"""Of the LeakyReLUs: plain ReLUs died on the many labels that are 0."""
AT_ONCE = 512
"""How many positions a network sees together."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


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


Sizes = tuple[int, ...]
Convolutions = tuple[tuple[int, int], ...]
"""How many filters each convolution has, and how wide they are."""


def layers(rows: int, cols: int, outputs: int, convolutions: Convolutions, dense: Sizes) -> nn.Sequential:
    """The layers for a picture of that size; the published ones have 138,773 weights for 7 x 7 and one output."""
    parts: list[nn.Module] = []
    channels = 1
    for filters, width in convolutions:
        parts += [SameConv(channels, filters, width), nn.LeakyReLU(SLOPE)]
        channels = filters
    parts.append(nn.Flatten())
    size = channels * rows * cols
    for units in dense:
        parts += [nn.Linear(size, units), nn.LeakyReLU(SLOPE)]
        size = units
    parts.append(nn.Linear(size, outputs))
    # With the channels last in memory PyTorch's convolutions take a third of the time on a processor.
    return nn.Sequential(*parts).to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


class AllActionsNetwork(nn.Module):
    """Sees the board, 1 for own stones and -1 for the other side's, and has an output for each action."""

    def __init__(self, game: Game, convolutions: Convolutions, dense: Sizes) -> None:
        super().__init__()
        self.layers = layers(game.rows, game.cols, game.num_actions, convolutions, dense)

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

    def __init__(self, game: Game, convolutions: Convolutions, dense: Sizes) -> None:
        super().__init__()
        if game.num_actions != game.cols:
            raise ValueError(f"all_actions=False needs a game whose actions are its columns, not {game!r}")
        self.layers = layers(game.rows + 1, game.cols, 1, convolutions, dense)

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


def new_network(
    game: Game, all_actions: bool, convolutions: Convolutions, dense: Sizes, rng: np.random.Generator, device: str
) -> Network:
    """A network with weights as Keras draws them, and biases of 0.

    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010. (PyTorch draws
    smaller ones, which leave hardly anything of the input after eleven layers.)

    Raises:
        ValueError: the network cannot be told the game's actions.
    """
    network: Any = (AllActionsNetwork if all_actions else OneActionNetwork)(game, convolutions, dense)
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


class FittedNetwork:
    """A network and its optimiser, Adam; all that goes in and comes out are NumPy's arrays.

    Boards are float32 (B, rows, cols), actions int64 (B,).
    """

    def __init__(self, network: Network, learning_rate: float, device: str) -> None:
        self.network = network
        self.device = device
        self._optimizer = torch.optim.Adam(network.parameters(), learning_rate)

    def values(self, boards: Floats) -> Floats:
        """The value of each action: float32 (B, num_actions)."""
        with torch.no_grad():
            return _joined([self.network(some) for some in torch.split(self._tensor(boards), AT_ONCE)])

    def values_of(self, boards: Floats, actions: Ints) -> Floats:
        """The value of one action on each board: float32 (B,)."""
        pieces = (torch.split(self._tensor(given), AT_ONCE) for given in (boards, actions))
        with torch.no_grad():
            return _joined(list(map(self.network.of_actions, *pieces)))

    def fit(self, boards: Floats, actions: Ints, targets: Floats, order: Ints, minibatch: int) -> None:
        """Goes once through all boards, in that order, and fits the actions' values to `targets`, float32 (B,)."""
        seen, chosen, wanted = self._tensor(boards), self._tensor(actions), self._tensor(targets)
        for rows in torch.split(self._tensor(order), minibatch):
            loss = nn.functional.mse_loss(self.network.of_actions(seen[rows], chosen[rows]), wanted[rows])
            self._optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimizer.step()

    def _tensor(self, array: npt.NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(array).to(self.device)

    @property
    def steps(self) -> int:
        """How many gradient steps it has taken."""
        return max((int(known["step"]) for known in self._optimizer.state.values()), default=0)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All weights, and Adam's averages where there are any."""
        found = {}
        for number, weights in enumerate(self.network.parameters()):
            found[f"weights_{number}"] = weights.detach().cpu().numpy()
            if known := self._optimizer.state.get(weights):
                found[f"means_{number}"] = known["exp_avg"].cpu().numpy()
                found[f"squares_{number}"] = known["exp_avg_sq"].cpu().numpy()
        return found

    def read(self, arrays: dict[str, npt.NDArray[Any]], steps: int) -> None:
        """Takes over `arrays` and `steps` of another.

        Raises:
            KeyError: an array is missing.
            ValueError: one has another shape.
        """
        state = {}
        for number, weights in enumerate(self.network.parameters()):

            def tensor(what: str, name: str = f"_{number}", shape: Any = tuple(weights.shape)) -> torch.Tensor:
                array = arrays[what + name]
                if array.shape != shape:
                    raise ValueError(f"{what}{name} must be {shape}, not {array.shape}")
                return torch.from_numpy(array)

            with torch.no_grad():
                weights.copy_(tensor("weights"))
            if steps:
                averages = {"exp_avg": tensor("means"), "exp_avg_sq": tensor("squares")}
                state[number] = {"step": torch.tensor(float(steps)), **averages}
        groups = self._optimizer.state_dict()["param_groups"]
        self._optimizer.load_state_dict({"state": state, "param_groups": groups})


def _joined(pieces: list[torch.Tensor]) -> Floats:
    found: Floats = torch.cat(pieces).cpu().numpy()
    return found
