"""Networks of other frameworks as policies: their inputs, and ONNX models."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import DependencyNotInstalled

from tictac_env.games import Game, game_name
from tictac_env.observation import OBSERVATION_TYPES, planes_last
from tictac_env.policies.adapters import BatchedPolicy
from tictac_env.policies.loading import PLANES_LAST, Reading


@dataclass(frozen=True)
class NetworkInput:
    """How observations become what a network takes.

    Attributes:
        obs_type: the observation type.
        last: whether the planes are put last, as in PettingZoo.
        shape: of the input for one position.
    """

    obs_type: str
    last: bool
    shape: tuple[int, ...]

    def arrays(self, observations: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """The input for B observations, (B, ...): float32 (B, *shape)."""
        ordered = np.moveaxis(observations, 1, -1) if self.last else observations
        return np.ascontiguousarray(ordered, np.float32).reshape(len(observations), *self.shape)

    def __str__(self) -> str:
        return PLANES_LAST if self.last else self.obs_type


def network_input(game: Game, shape: tuple[int, ...], observation: str | None = None) -> NetworkInput:
    """The input of that shape, for one position, made of an observation of the game.

    An observation comes as it is, flattened, as one plane more than it has axes (1, rows, cols), or with its planes
    last, (rows, cols, 2). What is flat may be in either order of the planes; "planes-last" says that they are last.

    Args:
        game: the game.
        shape: of the input for one position.
        observation: "planes", "board", ... or "planes-last"; None for the first one that fits.

    Raises:
        ValueError: none fits; the message names the shapes that would.
    """
    wanted = "planes" if observation == PLANES_LAST else observation
    allowed = []
    for name, kind in OBSERVATION_TYPES.items():
        own = kind.shape(game)
        if not own or wanted not in (None, name):
            continue
        last, flat = planes_last(own), (math.prod(own),)
        fitting = [one for one in (own, flat, (1, *own), last) if one is not None]
        if shape in fitting:
            return NetworkInput(name, shape == last or (shape == flat and observation == PLANES_LAST), shape)
        allowed += [f"{one} ({name})" for one in fitting]
    told = f"a network for {game_name(game) or repr(game)} takes {', '.join(allowed)} for a position"
    raise ValueError(f"the input {shape} fits no observation; {told}")


FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
NUMBERS = FLOATS | {"tensor(bool)": np.bool_, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8}
NUMBERS |= {"tensor(int32)": np.int32, "tensor(int64)": np.int64}
AT_ONCE = 64
"""How many positions a network is given at a time, and so for how many the time limit holds."""


class OnnxNetwork(BatchedPolicy):
    """A network in an ONNX file as a policy.

    Its input is an observation of the game, told by its shape (see `network_input`); a second input whose name has
    "mask" in it gets the action mask. Of its outputs the first one of floats (B, num_actions) are the values of the
    actions, of which it plays the highest legal one. Where there is none, the first one of integers, (B,) or (B, 1),
    are its actions. B may be any number or 1.

    Args:
        path: the file.
        game: the game it plays.
        observation: which observation it takes, where its shape does not tell (see `Reading`).
        time_limit: how many seconds it may take for up to 64 positions, for it may hold loops.

    Raises:
        ValueError: it is no ONNX file, or its inputs or outputs are not these; the message names the file and them.
        TimeoutError: at a move: it takes longer.
        DependencyNotInstalled: ONNX Runtime is not installed.
    """

    budget = "no search; one evaluation of a network"

    def __init__(
        self, path: Path, game: Game, observation: str | None = None, time_limit: float = Reading.time_limit
    ) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise DependencyNotInstalled('onnxruntime is missing: pip install "tictac-env[onnx]"') from error
        self._path, self._time_limit, self._run_options = path, time_limit, onnxruntime.RunOptions
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # these networks are small
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # of classes of its own, made from nothing we could import
            raise ValueError(f"{path} cannot be read as an ONNX network: {error}") from error
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        masks = [one for one in inputs if "mask" in one.name.lower()]
        boards = [one for one in inputs if one not in masks]
        values = [one for one in outputs if one.type in FLOATS and tuple(one.shape[1:]) == (game.num_actions,)]
        actions = [one for one in outputs if one.type in ("tensor(int64)", "tensor(int32)")]
        if len(boards) != 1 or len(masks) > 1 or not (values or actions):
            told = "; ".join(f"{one.name} {one.type} {one.shape}" for one in [*inputs, *outputs])
            raise ValueError(
                f"{path} must have one input besides a mask, and an output of floats (B, {game.num_actions}) or of "
                f"integers (B,); it has {told}"
            )
        self._board, self._mask = boards[0], masks[0] if masks else None
        self._output, self.gives = (values[0].name, "values") if values else (actions[0].name, "actions")
        self._one_by_one = self._board.shape[0] == 1
        try:
            self._input = network_input(game, tuple(self._board.shape[1:]), observation)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        self.input = f"{self._input} {self._input.shape}"
        super().__init__(self._play, self._input.obs_type)

    def _play(self, observations: npt.NDArray[Any], masks: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        """The actions in B positions: int64 (B,)."""
        fed = {self._board.name: self._input.arrays(observations).astype(NUMBERS[self._board.type])}
        if self._mask is not None:
            fed[self._mask.name] = masks.astype(NUMBERS[self._mask.type])
        size = 1 if self._one_by_one else AT_ONCE
        parts = [{name: rows[i : i + size] for name, rows in fed.items()} for i in range(0, len(masks) or 1, size)]
        found = np.concatenate([self._ask(part) for part in parts])
        if self.gives == "actions":
            return found.reshape(len(masks)).astype(np.int64)
        chosen: npt.NDArray[np.int64] = np.where(masks != 0, found, -np.inf).argmax(axis=1)
        return chosen

    def _ask(self, fed: dict[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
        options = self._run_options()
        timer = threading.Timer(self._time_limit, setattr, (options, "terminate", True))
        timer.daemon = True
        timer.start()
        try:
            return np.asarray(self._session.run([self._output], fed, options)[0])
        except Exception:  # of a class of its own
            if options.terminate:
                raise TimeoutError(f"{self._path}: no answer within {self._time_limit:g} s") from None
            raise
        finally:
            timer.cancel()


def read(path: Path, game: Game, reading: Reading) -> tuple[OnnxNetwork, dict[str, Any]]:
    """The network in a file, and what is known of it.

    Raises:
        ValueError, DependencyNotInstalled: as of `OnnxNetwork`.
    """
    network = OnnxNetwork(path, game, reading.observation, reading.time_limit)
    return network, {"format": "ONNX", "input": network.input, "gives": network.gives}
