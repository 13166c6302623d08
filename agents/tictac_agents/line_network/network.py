"""A learned network that plays without torch: as a policy, as a search's evaluator, and in the shipped files."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tictac_agents.action_masks import allowed_actions
from tictac_agents.line_network.kernels import LineWeights, action_values
from tictac_agents.line_network.lines import cell_bits, num_features, window_bits
from tictac_agents.predicts import Predicts
from tictac_agents.shipped import shipped_file
from tictac_env.compiled import in_one_line
from tictac_env.games import Game, describe_game, game_of, get_game, shown
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.observation import read_observation
from tictac_env.policies import Policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.storage import reading, save_arrays

KIND = "tictac_agents.LineNetwork"
SHIPPED = Path(__file__).parent / "shipped"

Layer = tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]


class LineNetwork(Predicts, Policy):
    """A network of state values over `LineFeatures`, which plays the action of the highest value, without search.

    It is what a `tictac_agents.DQN` with "AfterstatePolicy" and `LineFeatures` has learned, and plays as that model
    does, but needs no torch: an evaluation is a few microseconds of compiled code. An action that ends the game has the
    value of its result, since the rules say it.

    The policy "network" is one that comes with the package, for `TicTacToe-v0` and `ConnectFour-v0`. It is an evaluator
    for `MCTS` too.

    Args:
        game: a game of the `KInARow` family, by its name or its rule book.
        layers: for each layer its matrix, float32 (inputs, outputs), and its biases, float32 (outputs,); ReLU between
            them. The first has as many inputs as there are features, the last one output: the value of a position
            for the side that has just moved, 1 for a win and -1 for a loss.

    Raises:
        ValueError: the game is of another family, or the layers do not fit.

    Example:
        >>> from tictac_agents import MCTS, LineNetwork
        >>> from tictac_env.position import Position
        >>> network = LineNetwork.shipped("ConnectFour-v0")
        >>> position = Position.from_moves("ConnectFour-v0", "444333")
        >>> network.act(position, seed=0), MCTS(100, evaluator=network).act(position, seed=0)
        (2, 2)
    """

    name = "network"
    budget = "no search; one evaluation of a network for each action"

    def __init__(self, game: str | Game, layers: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]]) -> None:
        rules = get_game(game)
        if type(rules) is not KInARow:
            raise ValueError(f"LineNetwork needs a game of the KInARow family, not {rules!r}")
        self.game: KInARow = rules
        self.layers: tuple[Layer, ...] = tuple(
            (np.array(matrix, np.float32, order="C"), np.array(biases, np.float32)) for matrix, biases in layers
        )
        shapes = [(matrix.shape, biases.shape) for matrix, biases in self.layers]
        widths = [num_features(rules), *(biases.size for _, biases in self.layers)]
        if len(widths) < 3 or widths[-1] != 1 or shapes != [((a, b), (b,)) for a, b in itertools.pairwise(widths)]:
            raise ValueError(f"layers from {widths[0]} features by hidden ones to one value are needed, not {shapes}")
        if not all(np.isfinite(numbers).all() for layer in self.layers for numbers in layer):
            raise ValueError("the weights must be finite")
        self._weights = self._compact()

    @classmethod
    def from_model(cls, model: Any) -> Self:
        """The network of a `tictac_agents.DQN`, its averaged weights if it has them.

        Raises:
            ValueError: the model has another network, or its features are others.
        """
        network = getattr(model.policy, "q_net_ema", None)
        game = getattr(getattr(network, "features_extractor", None), "game", None)
        layers = [layer for layer in getattr(network, "q_net", ()) if hasattr(layer, "weight")]
        activations = {type(layer).__name__ for layer in getattr(network, "q_net", ())} - {"Linear"}
        if (
            network is None
            or game is None
            or activations - {"ReLU"}
            or network.squashed
            or layers[-1].out_features != 1
        ):
            raise ValueError(
                f'{shown(model)} is no DQN with "AfterstatePolicy", LineFeatures, ReLU and linear outputs'
                ", which LineNetwork needs"
            )
        return cls(game, [(one.weight.detach().cpu().numpy().T, one.bias.detach().cpu().numpy()) for one in layers])

    @classmethod
    def shipped(cls, game: str | Game = "TicTacToe-v0") -> Self:
        """The network that comes with the package.

        Raises:
            ValueError: there is none for this game; the message says for which there are.
        """
        return cls.load(shipped_file(SHIPPED, game))

    @classmethod
    def from_name(cls, game: Game, argument: str) -> Policy:
        if argument:
            raise ValueError(f"the policy 'network' takes no argument, and not {argument!r}")
        return shared(game)

    @property
    def batched(self) -> bool:
        return True

    def act(self, position: Position, seed: int) -> int:
        return int(self._action_values(PositionBatch.of([position])).argmax())

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        actions: npt.NDArray[np.int64] = self._action_values(batch).argmax(axis=1)
        return actions

    def values(self, own: int, opp: int) -> Mapping[int, float]:
        """The value of each legal action, in [-1, 1]."""
        position = Position(self.game, own, opp)
        found = self._action_values(PositionBatch.of([position]))[0].clip(-1, 1)
        return {action: float(found[action]) for action in position.legal_actions}

    def compiled(self, game: Game) -> LineWeights:
        """What a search asks, with scratch memory of its own: see `tictac_agents.mcts.evaluators.CompiledEvaluator`."""
        self._check(game)
        weights = self._weights
        return weights._replace(units=np.zeros_like(weights.units), active=np.zeros_like(weights.active))

    def _compact(self) -> LineWeights:
        """The weights as compiled code wants them."""
        width = -(-max(biases.size for _, biases in self.layers[:-1]) // 8) * 8
        rows = [
            np.pad(numbers, ((0, 0), (0, width - numbers.shape[1])))
            for i, (matrix, biases) in enumerate(self.layers[:-1])
            for numbers in (np.pad(matrix, ((0, width - len(matrix) if i else 0), (0, 0))), biases[None])
        ]
        last, bias = self.layers[-1]
        features = len(self.layers[0][0])
        return LineWeights(
            cells=np.array(cell_bits(self.game), np.int64),
            lines=np.array(window_bits(self.game), np.int64),
            inputs=np.array([features, *[width] * (len(self.layers) - 2)], np.int64),
            rows=np.ascontiguousarray(np.concatenate(rows)),
            last=np.concatenate([np.pad(last[:, 0], (0, width - len(last))), bias]),
            units=np.zeros((2, width), np.float32),
            active=np.zeros(max(features, width) + 1, np.int64),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the weights to an .npz file (see `tictac_env.storage`)."""
        arrays: dict[str, npt.NDArray[np.float32]] = {}
        for i, (matrix, biases) in enumerate(self.layers):
            arrays |= {f"matrix_{i}": matrix, f"biases_{i}": biases}
        save_arrays(path, KIND, {"game": describe_game(self.game), "layers": len(self.layers)}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The network that was saved.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged, or holds something else.
        """
        with reading(path, KIND, "file of a LineNetwork") as (meta, arrays):
            layers = [(arrays[f"matrix_{i}"], arrays[f"biases_{i}"]) for i in range(meta["layers"])]
            return cls(game_of(meta["game"]), layers)

    def _predicted(self, observation: Any, deterministic: bool, action_masks: npt.ArrayLike | None) -> int:
        position = Position(self.game, *read_observation(self.game, observation))
        values = self._action_values(PositionBatch.of([position]))[0]
        return max(allowed_actions(position, action_masks), key=lambda action: values[action])

    @in_one_line()
    def _action_values(self, batch: PositionBatch) -> npt.NDArray[np.float32]:
        """See `line_kernels.action_values`: float32 (B, num_actions)."""
        self._check(batch.game)
        values = np.empty((len(batch), self.game.num_actions), np.float32)
        action_values(self.game, self.compiled(self.game), batch.own, batch.opp, values)
        return values

    def _check(self, game: Game) -> None:
        if game != self.game:
            raise ValueError(f"the network plays {describe_game(self.game)}, not {describe_game(game)}")


@functools.cache
def shared(game: Game) -> LineNetwork:
    """The policy of the name "network", one in the whole process."""
    return LineNetwork.shipped(game)
