"""Policies and values by a small residual network of PyTorch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_agents.base_learner import Arrays, as_numbers
from tictac_agents.mcts.evaluators import Evaluation
from tictac_env.games import Game
from tictac_env.lazy import needing
from tictac_env.position import symmetries
from tictac_env.position_batch import PositionBatch

Floats = npt.NDArray[np.float32]
MINIBATCH = 128
"""Positions between two updates."""


class ResidualNetwork:
    """A convolution, residual blocks, and two heads: a logit for each action, and a value by tanh.

    Its input are the planes of a position, int8 (B, 2, rows, cols), in any game. It learns by Adam from the
    cross-entropy to the target policy and the squared error of the value; each minibatch is seen under a random
    symmetry of the board. There is no batch normalisation, so that an output does not depend on the other positions of
    its batch: the last convolution of each block begins with zeros instead (Zhang, Dauphin and Ma, "Fixup
    initialization", 2019).

    Args:
        game: the rule book.
        blocks: the number of residual blocks.
        channels: of the convolutions.
        step: Adam's step size.
        symmetric: False to leave the symmetries out.
        rng: of the first weights.

    Raises:
        DependencyNotInstalled: PyTorch is missing.
    """

    priors = True

    def __init__(
        self, game: Game, blocks: int, channels: int, step: float, symmetric: bool, rng: np.random.Generator
    ) -> None:
        with needing("PyTorch is missing", "rl"):
            import torch
        self.game, self.step = game, step
        nn = torch.nn

        def convolution(inputs: int, outputs: int, width: int = 3) -> Any:
            return nn.Conv2d(inputs, outputs, width, padding=width // 2)

        class Block(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layers = nn.Sequential(convolution(channels, channels), nn.ReLU(), convolution(channels, channels))

            def forward(self, x: Any) -> Any:
                return torch.relu(x + self.layers(x))

        def head(width: int, *last: Any) -> Any:
            return nn.Sequential(convolution(channels, width, 1), nn.ReLU(), nn.Flatten(), *last)

        cells = game.rows * game.cols
        self.trunk: Any = nn.Sequential(convolution(2, channels), nn.ReLU(), *(Block() for _ in range(blocks)))
        self.policy: Any = head(8, nn.Linear(8 * cells, game.num_actions))
        self.value: Any = head(4, nn.Linear(4 * cells, channels), nn.ReLU(), nn.Linear(channels, 1), nn.Tanh())
        self.parameters = [*self.trunk.parameters(), *self.policy.parameters(), *self.value.parameters()]
        zeros = {id(block.layers[-1].weight) for block in self.trunk if isinstance(block, Block)}
        for weights in self.parameters:
            deviation = 0.0 if weights.dim() == 1 or id(weights) in zeros else (2 / weights[0].numel()) ** 0.5
            drawn = rng.normal(0, deviation, tuple(weights.shape))
            weights.data.copy_(torch.from_numpy(drawn))
        self.optimizer = torch.optim.Adam(self.parameters, step)
        self._images = [images(game, symmetry) for symmetry in symmetries(game)[: None if symmetric else 1]]

    def evaluate(self, batch: PositionBatch) -> Evaluation:
        """Values float32 (B,) and priors float32 (B, num_actions) of B unfinished positions."""
        import torch

        with torch.inference_mode(), single_threaded():
            hidden = self.trunk(torch.from_numpy(batch.observations("planes").astype(np.float32)))
            legal = torch.from_numpy(batch.action_masks() != 0)
            priors = self.policy(hidden).masked_fill(~legal, -torch.inf).softmax(1)
            return Evaluation(self.value(hidden)[:, 0].numpy(), priors.numpy())

    def learn(
        self, batch: PositionBatch, policies: Floats, results: Floats, decay: float, rng: np.random.Generator
    ) -> None:
        """Learns from B unfinished positions, in minibatches.

        Args:
            batch: the positions.
            policies: (B, num_actions), the target policies; zeros for a position of which only the value is learned.
            results: (B,), the target values, in [-1, 1].
            decay: the factor of the step size.
            rng: draws the symmetries.
        """
        import torch

        planes = batch.observations("planes").astype(np.float32).reshape(len(batch), 2, -1)
        legal = batch.action_masks() != 0
        self.optimizer.param_groups[0]["lr"] = self.step * decay
        with single_threaded():
            for begin in range(0, len(batch), MINIBATCH):
                # Planes, masks and policies of the minibatch under a random symmetry; values are the same under all.
                rows = slice(begin, begin + MINIBATCH)
                cells, actions = self._images[rng.integers(len(self._images))]
                seen = torch.from_numpy(planes[rows][:, :, cells].reshape(-1, 2, self.game.rows, self.game.cols))
                hidden = self.trunk(seen)
                logits = self.policy(hidden).masked_fill(~torch.from_numpy(legal[rows][:, actions]), -1e9)
                # The losses. A policy of zeros, of a quick search, adds nothing to the cross-entropy.
                targets = torch.from_numpy(policies[rows][:, actions])
                cross_entropy = -(targets * logits.log_softmax(1)).sum(1).mean()
                error = (self.value(hidden)[:, 0] - torch.from_numpy(results[rows])).square().mean()
                self.optimizer.zero_grad()
                (cross_entropy + error).backward()
                self.optimizer.step()

    def arrays(self) -> Arrays:
        """Copies of all weights, and of Adam's averages if there are any."""
        arrays = {}
        for number, weights in enumerate(self.parameters):
            arrays[f"weights_{number}"] = weights.detach().numpy().copy()
            if moments := self.optimizer.state.get(weights):
                for name in ("exp_avg", "exp_avg_sq", "step"):
                    arrays[f"{name}_{number}"] = moments[name].numpy().copy()
        return arrays

    def read(self, arrays: Arrays) -> None:
        """Restores the `arrays` of another network of this shape.

        Raises:
            KeyError: an array is missing.
            ValueError: an array has another type or shape, or a number that is not possible.
        """
        import torch

        state = {}
        for number, weights in enumerate(self.parameters):
            like = weights.detach().numpy()
            weights.data.copy_(torch.from_numpy(as_numbers("weights", arrays[f"weights_{number}"], like)))
            if f"step_{number}" in arrays:
                least = {"exp_avg": (like, -np.inf), "exp_avg_sq": (like, 0), "step": (np.zeros((), np.float32), 0)}
                state[number] = {
                    name: torch.from_numpy(as_numbers(name, arrays[f"{name}_{number}"], shape, low).copy())
                    for name, (shape, low) in least.items()
                }
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """A block in which PyTorch uses one thread, the fastest for networks this small."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def images(game: Game, symmetry: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each cell (row by row from the top left), and for each action, the one that a symmetry moves to its place."""
    # As indices: `planes[..., cells]` is the image of planes, `policies[:, actions]` that of policies.
    number_of = {game.cell(*divmod(cell, game.cols)): cell for cell in range(game.cells)}
    cells = np.empty(game.cells, np.int64)
    for source, target in symmetry.bits:
        cells[number_of[target]] = number_of[source]
    return cells, np.argsort(symmetry.actions)
