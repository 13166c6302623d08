"""The weights of a network that PyTorch saved, as CleanRL's scripts do, as a policy; nothing in the file is run.

A `state_dict` holds no architecture, so it is read off the names and shapes of the weights, which is possible for
layers in a row (Huang et al., "CleanRL: High-quality Single-file Implementations of Deep RL Algorithms", 2022).
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import DependencyNotInstalled

from tictac_env.games import Game
from tictac_env.policies.adapters import BatchedPolicy
from tictac_env.policies.foreign.network_input import network_input
from tictac_env.policies.foreign.reading import Reading
from tictac_env.storage import archive_in

try:
    import torch
except ImportError as error:
    raise DependencyNotInstalled('PyTorch is missing: pip install "tictac-env[rl]"') from error

LAYER = re.compile(r"^(?P<network>.*?)(?P<number>\d+)\.(?P<kind>weight|bias)$")
OTHERS = re.compile("target|critic|value")
"""Networks of these names do not choose."""
ACTORS = re.compile("actor|policy|pi")
"""Networks of these names are CleanRL's actors, with tanh between the layers; its other networks have relu."""
INSTEAD = 'a network of another kind plays as "file.py:name", a function (observation, mask) -> action that builds it'

Layers = list[tuple["torch.Tensor", "torch.Tensor | None"]]


class TorchNetwork(BatchedPolicy):
    """Layers in a row, whose output are the values or logits of the actions; the highest legal one is played.

    Args:
        layers: the weight (outputs, inputs) and the bias (outputs,), or None, of each.
        activation: between them, a name of `torch.nn.functional`.
        game: the game it plays.
        observation: which observation it takes, where the size of its input does not tell (see `Reading`).

    Raises:
        ValueError: its input is no observation of the game.
    """

    def __init__(self, layers: Layers, activation: str, game: Game, observation: str | None = None) -> None:
        self._layers = layers
        self._activation = getattr(torch.nn.functional, activation)
        self._input = network_input(game, (layers[0][0].shape[1],), observation)
        super().__init__(self._play, self._input.obs_type)

    def _play(self, observations: npt.NDArray[Any], masks: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        """The actions in B positions: int64 (B,)."""
        with torch.inference_mode():
            found = torch.from_numpy(self._input.arrays(observations))
            for number, (weight, bias) in enumerate(self._layers):
                found = torch.nn.functional.linear(self._activation(found) if number else found, weight, bias)
        chosen: npt.NDArray[np.int64] = np.where(masks != 0, found.numpy(), -np.inf).argmax(axis=1)
        return chosen


def read(path: Path, game: Game, reading: Reading) -> tuple[TorchNetwork, dict[str, Any]]:
    """The network whose weights a file holds, and what is known of it.

    Raises:
        ValueError: it holds no weights, or more than weights; they are not those of layers in a row with the game's
            number of actions at the end; or the input is no observation of the game. The message names the file.
    """
    try:
        held = read_tensors(path)
    except Exception as error:  # whatever a damaged file, or one with code, provokes in torch
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"{path} cannot be read as weights of PyTorch, without running what is in it: {reason}; save "
            f"network.state_dict(); {INSTEAD}"
        ) from error
    try:
        name, layers = _layers_in(_tensors_of(held), game.num_actions)
        assumed = "tanh" if ACTORS.search(name) else "relu"
        activation = reading.activation or assumed
        network = TorchNetwork(layers, activation, game, reading.observation)
    except ValueError as error:
        raise ValueError(f"{path}: {error}; {INSTEAD}") from None
    sizes = "-".join(str(size) for size in (layers[0][0].shape[1], *(weight.shape[0] for weight, _ in layers)))
    how = activation if reading.activation else f"{activation} (assumed)"
    network.budget = f"no search; one evaluation of a network {sizes}, {how}, seeing {network._input}"
    return network, {"format": "PyTorch", "network": name, "layers": sizes, "activation": how}


def read_tensors(file: Path | IO[bytes]) -> Any:
    """What PyTorch saved, if it is tensors and what JSON could hold; nothing in the file is run.

    Raises:
        ValueError: it is no archive, as files of PyTorch 1.5 and before are none, which may ask for any amount of
            memory; or it unpacks to more than `tictac_env.storage.archive_in` allows.
    """
    try:
        with archive_in(file):
            pass
    except zipfile.BadZipFile:
        raise ValueError("it is not in the format of PyTorch 1.6 and later") from None
    if not isinstance(file, Path):
        file.seek(0)
    return torch.load(file, map_location="cpu", weights_only=True)


def _tensors_of(held: Any) -> dict[str, torch.Tensor]:
    """The tensors of a state_dict, also of one that lies in a dict with other things."""
    if isinstance(held, Mapping):
        found = {str(name): value for name, value in held.items() if _is_whole_tensor(value)}
        if found:
            return found
        inner = [tensors for value in held.values() if isinstance(value, Mapping) and (tensors := _tensors_of(value))]
        if len(inner) == 1:
            return inner[0]
    return {}


def _is_whole_tensor(value: Any) -> bool:
    """Whether it is a tensor of which a file holds all numbers, and not one for many, or only the shape."""
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided or value.device.type != "cpu":
        return False
    return value.nbytes <= value.untyped_storage().nbytes()


def _layers_in(tensors: Mapping[str, torch.Tensor], num_actions: int) -> tuple[str, Layers]:
    """The one network of linear layers that ends in the actions: what its layers' names begin with, and the layers.

    Raises:
        ValueError: there is none, or more than one.
    """
    networks: dict[str, dict[int, dict[str, torch.Tensor]]] = {}
    for name, tensor in tensors.items():
        if found := LAYER.match(name):
            layers = networks.setdefault(found["network"], {})
            layers.setdefault(int(found["number"]), {})[found["kind"]] = tensor.float()
    chosen = {}
    for name, numbered in networks.items():
        layers_in_row = [(one.get("weight"), one.get("bias")) for _, one in sorted(numbered.items())]
        if not OTHERS.search(name) and _in_a_row(layers_in_row) and len(layers_in_row[-1][0]) == num_actions:  # type: ignore[arg-type]
            chosen[name] = layers_in_row
    if len(chosen) == 1:
        name, layers_found = chosen.popitem()
        return name, layers_found  # type: ignore[return-value]  # each has a weight: they are in a row
    shapes = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in list(tensors.items())[:12]) or "no tensors"
    what = f"several networks, {', '.join(map(repr, chosen))}" if chosen else "no network"
    raise ValueError(f"it holds {what} of linear layers in a row with {num_actions} outputs, but {shapes}")


def _in_a_row(layers: list[tuple[torch.Tensor | None, torch.Tensor | None]]) -> bool:
    """Whether each is a linear layer that takes what the one before it gives."""
    size = None
    for weight, bias in layers:
        if weight is None or weight.ndim != 2 or (size is not None and weight.shape[1] != size):
            return False
        size = weight.shape[0]
        if bias is not None and tuple(bias.shape) != (size,):
            return False
    return size is not None
