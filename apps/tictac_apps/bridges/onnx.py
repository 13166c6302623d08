"""Networks in ONNX files as policies."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tictac_env.arrays import Array
from tictac_env.games import Game, game_name
from tictac_env.lazy import needing
from tictac_env.observation import OBSERVATION_TYPES, planes_last
from tictac_env.policies.adapters import BatchedPolicy
from tictac_env.policies.loading import PLANES_LAST, Reading
from tictac_env.storage import JsonObject


@dataclass(frozen=True)
class NetworkInput:
    """The conversion of observations to a network's input.

    Attributes:
        obs_type: the observation type.
        last: True if the planes are the last axis, as in PettingZoo.
        shape: the shape of the input for one position.
    """

    obs_type: str
    last: bool
    shape: tuple[int, ...]

    def arrays(self, observations: Array) -> npt.NDArray[np.float32]:
        """The input for B observations, (B, ...): float32 (B, *shape)."""
        ordered = np.moveaxis(observations, 1, -1) if self.last else observations
        return np.ascontiguousarray(ordered, np.float32).reshape(len(observations), *self.shape)

    def __str__(self) -> str:
        return PLANES_LAST if self.last else self.obs_type


def network_input(game: Game, shape: tuple[int, ...], observation: str | None = None) -> NetworkInput:
    """The conversion of observations of a game to a network's input, by the shape of the input for one position.

    The input may be the observation unchanged, flattened, with a leading axis (1, rows, cols), or with its planes last,
    (rows, cols, 2). A flat input may have the planes in either order; "planes-last" puts them last.

    Args:
        game: the game.
        shape: the shape of the input for one position.
        observation: "planes", "board", ... or "planes-last"; None for the first type that fits.

    Raises:
        ValueError: no observation fits; the message has the allowed shapes.
    """
    obs_type = "planes" if observation == PLANES_LAST else observation
    allowed = []
    for name, kind in OBSERVATION_TYPES.items():
        plain = kind.shape(game)
        if not plain or obs_type not in (None, name):
            continue
        last, flat = planes_last(plain), (math.prod(plain),)
        shapes = [form for form in (plain, flat, (1, *plain), last) if form is not None]
        if shape in shapes:
            return NetworkInput(name, shape == last or (shape == flat and observation == PLANES_LAST), shape)
        allowed += [f"{form} ({name})" for form in shapes]
    takes = f"a network for {game_name(game) or repr(game)} takes {', '.join(allowed)} for a position"
    raise ValueError(f"the input {shape} fits no observation; {takes}")


FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
NUMBERS = FLOATS | {"tensor(bool)": np.bool_, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8}
NUMBERS |= {"tensor(int32)": np.int32, "tensor(int64)": np.int64}
AT_ONCE = 64
"""The number of positions in one call of a network; the time limit is of one call."""


class OnnxNetwork(BatchedPolicy):
    """A network in an ONNX file as a policy.

    Its input is an observation of the game, recognised by its shape (see `network_input`); a second input with "mask"
    in its name gets the action mask. The first output of floats (B, num_actions) has the values of the actions; the
    highest legal one is played. Without such an output, the first output of integers, (B,) or (B, 1), has the actions.
    B may be any number or 1.

    Args:
        path: the file.
        game: the game to play.
        observation: the observation type, if the shape is ambiguous (see `Reading`).
        time_limit: seconds for a call with up to 64 positions, as networks may contain loops.

    Raises:
        ValueError: the file is not ONNX, or has other inputs or outputs; the message names the file and these.
        TimeoutError: at a move, if the network takes longer.
        DependencyNotInstalled: ONNX Runtime is not installed.
    """

    budget = "no search; one evaluation of a network"

    def __init__(
        self, path: Path, game: Game, observation: str | None = None, time_limit: float = Reading.time_limit
    ) -> None:
        with needing("onnxruntime is missing", "onnx"):
            import onnxruntime
        self._path, self._time_limit, self._run_options = path, time_limit, onnxruntime.RunOptions
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # these networks are small
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime's exception classes cannot be imported
            raise ValueError(f"{path} cannot be read as an ONNX network: {error}") from error
        # Recognise its inputs by name and its outputs by type and shape.
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        masks = [node for node in inputs if "mask" in node.name.lower()]
        boards = [node for node in inputs if node not in masks]
        values = [node for node in outputs if node.type in FLOATS and tuple(node.shape[1:]) == (game.num_actions,)]
        actions = [node for node in outputs if node.type in ("tensor(int64)", "tensor(int32)")]
        if len(boards) != 1 or len(masks) > 1 or not (values or actions):
            nodes = "; ".join(f"{node.name} {node.type} {node.shape}" for node in [*inputs, *outputs])
            raise ValueError(
                f"{path} must have one input besides a mask, and an output of floats (B, {game.num_actions}) or of "
                f"integers (B,); it has {nodes}"
            )
        self._board, self._mask = boards[0], masks[0] if masks else None
        self._output, self.gives = (values[0].name, "values") if values else (actions[0].name, "actions")
        self._at_once = 1 if self._board.shape[0] == 1 else AT_ONCE
        try:
            self._input = network_input(game, tuple(self._board.shape[1:]), observation)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        self.input = f"{self._input} {self._input.shape}"
        super().__init__(self._play, self._input.obs_type)

    def _play(self, observations: Array, masks: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        inputs = {self._board.name: self._input.arrays(observations).astype(NUMBERS[self._board.type])}
        if self._mask is not None:
            inputs[self._mask.name] = masks.astype(NUMBERS[self._mask.type])
        # In parts: of one position if the file allows no other number, and never so many that a call takes long.
        starts = range(0, len(masks) or 1, self._at_once)
        parts = [{name: rows[i : i + self._at_once] for name, rows in inputs.items()} for i in starts]
        outputs = np.concatenate([self._run(part) for part in parts])
        if self.gives == "actions":
            return outputs.reshape(len(masks)).astype(np.int64)
        best: npt.NDArray[np.int64] = np.where(masks != 0, outputs, -np.inf).argmax(axis=1)
        return best

    def _run(self, inputs: dict[str, Array]) -> Array:
        options = self._run_options()
        timer = threading.Timer(self._time_limit, setattr, (options, "terminate", True))
        timer.daemon = True
        timer.start()
        try:
            return np.asarray(self._session.run([self._output], inputs, options)[0])
        except Exception:  # see above
            if options.terminate:
                raise TimeoutError(f"{self._path}: no answer within {self._time_limit:g} s") from None
            raise
        finally:
            timer.cancel()


def onnx_network(path: Path, game: Game, reading: Reading) -> tuple[OnnxNetwork, JsonObject]:
    """The network in a file, and its settings; raises as `OnnxNetwork` does."""
    network = OnnxNetwork(path, game, reading.observation, reading.time_limit)
    return network, {"format": "ONNX", "input": network.input, "gives": network.gives}
