"""A network in an ONNX file as a policy, run by ONNX Runtime (the extra `onnx`). The file holds no code of its own."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import DependencyNotInstalled

from tictac_env.games import Game
from tictac_env.policies.adapters import BatchedPolicy
from tictac_env.policies.foreign.network_input import network_input
from tictac_env.policies.foreign.reading import Reading

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
