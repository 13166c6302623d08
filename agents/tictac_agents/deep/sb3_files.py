"""Stable-Baselines3's files, read without running what is in them.

Stable-Baselines3 saves a model as a zip archive of tensors and of JSON, in which it hides pickles of what JSON cannot
hold. Its own `load` unpickles them, and so runs the code of the file's author. Here only the JSON and, by torch's
`weights_only=True`, the tensors are read: a new model is built and given the weights.
"""

from __future__ import annotations

import base64
import io
import math
import operator
import os
import pickletools
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from tictac_agents.deep.networks import ConvFeatures, LineFeatures
from tictac_env.checks import positive
from tictac_env.games import Game, get_game
from tictac_env.lazy import needing
from tictac_env.policies.adapters import check_normalizer, seen_type
from tictac_env.storage import archive_in, json_in

with needing("Stable-Baselines3 is missing", "rl"):
    import sb3_contrib
    import stable_baselines3 as sb3
    import torch

PICKLED = ":serialized:"
"""The key under which Stable-Baselines3 hides a pickle in its JSON."""

CLASSES: dict[str, dict[str, Any]] = {
    "activation_fn": {name: getattr(torch.nn, name) for name in ("ReLU", "Tanh", "ELU", "LeakyReLU", "SiLU")},
    "optimizer_class": {name: getattr(torch.optim, name) for name in ("Adam", "AdamW", "SGD", "RMSprop")},
    "features_extractor_class": {extractor.__name__: extractor for extractor in (LineFeatures, ConvFeatures)},
}
"""The classes that settings may name, by the keyword of the policy."""
PACKED = 32
"""The most that the zip of a model unpacks to, times its size: Stable-Baselines3 and PyTorch do not compress, and
packing weights again makes them little shorter."""
MAX_SIZE = 1 << 16
"""The most numbers in an observation; a damaged file may say anything."""

PLAN = "plan.json"
"""The file in the zip that a model of this package adds."""

Tensors = dict[str, Any]


class SavedModel(NamedTuple):
    """The content of a zip file that Stable-Baselines3 or this package saved."""

    data: dict[str, Any]
    """Stable-Baselines3's JSON, its pickles untouched."""
    tensors: Tensors
    record: dict[str, Any] | None
    """The JSON of this package: the plan and the other keywords; None if Stable-Baselines3 saved the file."""

    @property
    def agent(self) -> str | None:
        """The name of the agent of this package that saved it; None if it was Stable-Baselines3."""
        return None if self.record is None else str(self.record["plan"]["agent"])


def load_model(
    path: str | os.PathLike[str],
    game: str | Game,
    policy_kwargs: Mapping[str, Any] | None = None,
    device: str = "auto",
) -> Any:
    """Loads a model that Stable-Baselines3 or sb3-contrib saved, for evaluation and play; nothing in the file is run.

    It may have been trained anywhere, on a game's planes, board or codes, flattened or with the planes last too.

    DQN, QR-DQN, PPO, A2C and TRPO (as a PPO, whose policy is the same), ARS and MaskablePPO, with "MlpPolicy". A
    `tictac_agents.DQN` has a `load` of its own.

    Args:
        path: the file.
        game: the game it was trained to play.
        policy_kwargs: the model's own, needed if the file hides what shapes the network in a pickle.
        device: as in Stable-Baselines3.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged; it was made for another observation space or algorithm; it learned through
            `VecNormalize`, whose statistics are not in the file; or it needs `policy_kwargs` and there are none.

    Example:
        >>> import tempfile
        >>> from tictac_agents import MaskablePPO, SB3VecEnv, load_model
        >>> envs = SB3VecEnv("TicTacToe-v0", num_envs=4, illegal="raise")
        >>> path = tempfile.mkdtemp() + "/ppo.zip"
        >>> MaskablePPO("MlpPolicy", envs, n_steps=8, batch_size=32, seed=0, device="cpu").save(path)
        >>> type(load_model(path, "TicTacToe-v0", device="cpu")).__name__
        'MaskablePPO'
    """
    algorithms: dict[str, Any] = {
        "stable_baselines3.dqn.policies": sb3.DQN,
        "stable_baselines3.common.policies": sb3.PPO,
        "sb3_contrib.common.maskable.policies": sb3_contrib.MaskablePPO,
        "sb3_contrib.qrdqn.policies": sb3_contrib.QRDQN,
        "sb3_contrib.ars.policies": sb3_contrib.ARS,
    }
    rules = get_game(game)
    saved = read_checkpoint(path)
    data, tensors = saved.data, saved.tensors
    try:
        label = data["policy_class"]["__module__"]
        if label.startswith("tictac_agents."):
            raise ValueError(f"it is a model of tictac_agents.{saved.agent}: use {saved.agent}.load")
        if label not in algorithms:
            raise ValueError(f"its policy is of {label!r}; known are {', '.join(algorithms)}")
        if policy_kwargs is None:
            policy_kwargs = _readable(data["policy_kwargs"])
            check_sizes(policy_kwargs, tensors)
        keywords = {"policy_kwargs": dict(policy_kwargs), "device": device, "_init_setup_model": False}
        model = algorithms[label]("MlpPolicy", None, **keywords, **({"buffer_size": 1} if "dqn" in label else {}))
        model.observation_space = fitting_space(data, rules)
        model.action_space = spaces.Discrete(rules.num_actions)
        model.n_envs = 1
        model._last_obs = last_observations(data)
        check_normalizer(model)
        model._setup_model()
        model.policy.load_state_dict(tensors["policy"])
    except (KeyError, TypeError, AttributeError, RuntimeError, ValueError, MemoryError) as error:
        raise ValueError(f"{os.fspath(path)} cannot be loaded as a Stable-Baselines3 model: {error}") from error
    return model


def _readable(policy_kwargs: dict[str, Any]) -> dict[str, Any]:
    """The policy's keywords without the optimiser's, read from the JSON next to a pickle of them.

    Raises:
        ValueError: one of them is in the pickle only.
    """
    if PICKLED not in policy_kwargs:
        return policy_kwargs
    activations = {str(kind): kind for kind in CLASSES["activation_fn"].values()}
    readable = {}
    for name, value in policy_kwargs.items():
        if name.startswith((":", "optimizer_")):
            continue
        if isinstance(value, str) and value not in activations:
            raise ValueError(f"{name} is pickled, which may be any code; give policy_kwargs yourself")
        readable[name] = activations[value] if isinstance(value, str) else value
    return readable


def read_checkpoint(path: str | os.PathLike[str]) -> SavedModel:
    """The content of a zip file of Stable-Baselines3 or of this package.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not such an archive, is damaged, or holds something else in place of tensors.
    """
    target = with_suffix(path)
    try:
        with archive_in(target, PACKED) as archive:
            if damaged := archive.testzip():
                raise ValueError(f"{damaged} is damaged")
            data = json_in(archive, "data")
            if not isinstance(data, dict):
                raise ValueError("its data is not an object")
            record = json_in(archive, PLAN) if PLAN in archive.namelist() else None
            if record is not None:
                _ = [record["plan"]["agent"], record["keywords"], record["left out"]]
            tensors = {
                Path(name).stem: read_tensors(io.BytesIO(archive.read(name)))
                for name in archive.namelist()
                if name.endswith(".pth") and name != "pytorch_variables.pth"
            }
            if not _all_finite(tensors):
                raise ValueError("a weight or a state of its optimiser is not a finite number")
    except FileNotFoundError:
        raise
    except Exception as error:  # anything that a damaged archive provokes in zlib, zipfile, json or torch
        raise ValueError(f"{target} cannot be read as a checkpoint of JSON and tensors: {error}") from error
    return SavedModel(data, tensors, record)


def _all_finite(value: Any) -> bool:
    """True if all numbers in all tensors of a nested structure are finite."""
    if isinstance(value, Mapping):
        return all(map(_all_finite, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_all_finite, value))
    return not isinstance(value, torch.Tensor) or bool(value.isfinite().all())


def check_sizes(policy_kwargs: Mapping[str, Any], tensors: Tensors) -> None:
    """Checks that a file has as many weights as its settings need, before memory is allocated for them.

    Raises:
        ValueError: it has fewer.
    """
    held = sum(tensor.numel() for tensor in tensors["policy"].values())
    channels = dict(policy_kwargs.get("features_extractor_kwargs") or {}).get("channels", 0)
    needed = max(_weights(policy_kwargs.get("net_arch")), _weights([channels, channels]))
    if needed > held:
        raise ValueError(f"its settings need {needed:,} weights or more, and it holds {held:,}")


def _weights(sizes: Any) -> int:
    """The least number of weights that the largest layer has in a network of layers of these sizes."""
    if isinstance(sizes, Mapping):
        return max(map(_weights, sizes.values()), default=0)
    if not isinstance(sizes, (list, tuple)):
        return 0
    numbers = [size for size in sizes if isinstance(size, int)]
    return max([*numbers, *map(operator.mul, numbers, numbers[1:]), *map(_weights, sizes)], default=0)


def fitting_space(data: Mapping[str, Any], game: Game) -> spaces.Space[Any]:
    """The space of the game's observations that a file's model was made for: as they are, flattened, or with the planes
    last as in PettingZoo.

    Raises:
        ValueError: the game has no such observations.
    """
    space = _recorded_space(data["observation_space"])
    seen_type(game, space)
    return space


def check_space(data: Mapping[str, Any], space: spaces.Space[Any]) -> None:
    """Checks that boards have the observations that a file's model has learned on, dtype and flattening aside.

    Raises:
        ValueError: they have others.
    """
    if isinstance(space, spaces.Dict):
        return  # a file has the parts of such a space in a pickle, which is not read
    learned = _recorded_space(data["observation_space"])
    same = learned == space
    if isinstance(learned, spaces.Box) and isinstance(space, spaces.Box):
        same = learned.shape == space.shape or 1 in (len(learned.shape), len(space.shape))
        for learned_bounds, shown_bounds in ((learned.low, space.low), (learned.high, space.high)):
            same = same and np.array_equal(learned_bounds.ravel(), shown_bounds.ravel())
    if not same:
        raise ValueError(
            f"it has learned on observations of {learned}, and the boards show {space}; give its own as env"
        )


def _recorded_space(described: Mapping[str, Any]) -> spaces.Space[Any]:
    shape, codes = tuple(described.get("_shape") or ()), described.get("n")
    if codes is not None:
        return spaces.Discrete(positive("the number of codes", int(codes)))
    if not shape or not all(isinstance(side, int) and side > 0 for side in shape) or math.prod(shape) > MAX_SIZE:
        raise ValueError(f"no observation of a game has the shape {shape} it was trained on")
    low, high = (_bounds(described[side], shape, described["dtype"]) for side in ("low", "high"))
    return spaces.Box(low, high, shape, low.dtype.type)


def _bounds(text: str, shape: tuple[int, ...], dtype: str) -> npt.NDArray[Any]:
    """The bounds of a `Box` from the string that NumPy prints of them."""
    if not re.fullmatch(r"u?int\d+|float\d+", dtype):
        raise ValueError(f"observations must be integers or floats, not {dtype}")
    return np.array(text.replace("[", " ").replace("]", " ").split(), np.float64).reshape(shape).astype(dtype)


def last_observations(data: Mapping[str, Any]) -> npt.NDArray[Any] | None:
    """The numbers that a file's model was shown last, flat, by the opcodes of their pickle; nothing in it is run.

    None if the model has not learned, or the pickle is not one of an array of numbers.
    """
    described = data.get("_last_obs")
    if not isinstance(described, Mapping) or described.get(":type:") != str(np.ndarray):
        return None
    arguments = [argument for _, argument, _ in pickletools.genops(base64.b64decode(described[PICKLED]))]
    contents = [argument for argument in arguments if isinstance(argument, (bytes, bytearray))]
    dtypes = [argument for argument in arguments if isinstance(argument, str) and re.fullmatch("[iuf][1248]", argument)]
    return np.frombuffer(contents[0], dtypes[0]) if contents and dtypes else None


def with_suffix(path: str | os.PathLike[str]) -> Path:
    """The path, with ".zip" if it has no suffix, as Stable-Baselines3 does."""
    return Path(path) if Path(path).suffix else Path(f"{os.fspath(path)}.zip")


def read_tensors(file: io.BytesIO) -> Any:
    """The tensors that PyTorch saved; nothing in the file is run.

    Raises:
        ValueError: it is not a zip archive (files of PyTorch 1.5 and before are not, and may need any amount of
            memory); or it unpacks to more than `tictac_env.storage.archive_in` allows.
    """
    try:
        with archive_in(file, 1):
            pass
    except zipfile.BadZipFile:
        raise ValueError("it is not in the format of PyTorch 1.6 and later") from None
    file.seek(0)
    return torch.load(file, map_location="cpu", weights_only=True)
