"""Stable-Baselines3's checkpoints, read without running what is in them.

Stable-Baselines3 saves a model as a zip archive of JSON, in which whatever is not JSON is a pickle, and of tensors. Its
own `load` unpickles, and so runs whatever code the file's author wants. Here nothing is read but JSON and, by torch's
`weights_only=True`, tensors: a model is built afresh and given the weights.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from gymnasium import spaces
from gymnasium.error import DependencyNotInstalled

from tictac_agents.sb3 import SB3VecEnv
from tictac_env.games import Game, describe_game, game_of, get_game
from tictac_env.observation import OBS_TYPES, Observer
from tictac_env.storage import writing

try:
    import sb3_contrib
    import stable_baselines3 as sb3
    import torch
except ImportError as error:
    raise DependencyNotInstalled('Stable-Baselines3 is missing: pip install "tictac-env[rl]"') from error

PICKLED = ":serialized:"
"""The key under which Stable-Baselines3 hides a pickle in its JSON."""
NOT_SETTINGS = ("seed", "device", "verbose", "tensorboard_log")

ACTIVATIONS: dict[str, type[torch.nn.Module]] = {
    str(kind): kind for kind in (torch.nn.ReLU, torch.nn.Tanh, torch.nn.ELU, torch.nn.LeakyReLU, torch.nn.SiLU)
}
"""The activation functions known by how Stable-Baselines3 writes them."""

Tensors = dict[str, Any]


class Checkpoint:
    """What makes a model's checkpoint safe to load: the settings it was made with, in JSON. To be put before the
    algorithm among a class's bases.

    Attributes:
        settings: the keywords it was made with.
        described_game: the game of its boards, as `tictac_env.games.game_of` reads it; None if they do not say.
    """

    settings: dict[str, Any]
    described_game: str | dict[str, Any] | None

    def remember(self, env: Any, settings: Mapping[str, Any]) -> None:
        """Keeps what `load` will need."""
        self.settings = {key: value for key, value in settings.items() if key not in NOT_SETTINGS}
        try:
            self.described_game = describe_game(env.get_attr("game")[0])
        except AttributeError:
            self.described_game = None

    def save(self, path: Any, exclude: Iterable[str] | None = None, include: Iterable[str] | None = None) -> None:
        """Writes Stable-Baselines3's own zip file, whole or not at all.

        Args:
            path: the file, ".zip" being added if it has no suffix; or a file open for writing.
            exclude: as in Stable-Baselines3.
            include: as in Stable-Baselines3.

        Raises:
            ValueError: a setting is something JSON cannot hold, so that the file could not be loaded safely.
        """
        try:
            json.dumps(self.settings)
        except TypeError as error:
            raise ValueError(f"only settings that JSON can hold can be saved and loaded safely: {error}") from None
        content = io.BytesIO()
        super().save(content, exclude, include)  # type: ignore[misc]
        if isinstance(path, (str, os.PathLike)):
            with writing(with_suffix(path)) as file:
                file.write(content.getvalue())
        else:
            path.write(content.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike[str], env: Any = None, device: str = "auto", **kwargs: Any) -> Self:
        """The model that was saved, to be evaluated, or trained further with a fresh replay buffer.

        Weights, the optimiser's state, the settings and the number of steps are restored; `learn(...,
        reset_num_timesteps=False)` goes on counting.

        Args:
            path: the file, which need not be trusted: no code in it is run.
            env: to go on learning; without it one board of the same game.
            device: as in Stable-Baselines3.
            kwargs: settings that replace those of the file, `seed` and the like.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged, was not saved by this class, or does not fit `env`.
        """
        data, tensors = read_checkpoint(path)
        settings, described = data.get("settings"), data.get("described_game")
        if not isinstance(settings, dict) or PICKLED in settings:
            raise ValueError(
                f"{os.fspath(path)} was not saved by tictac_agents' {cls.__name__}; load_model reads the weights of "
                "Stable-Baselines3's models"
            )
        try:
            if env is None:
                if described is None:
                    raise ValueError("it does not say which game it was trained on; give env")
                env = boards_for(data, game_of(described))
            model = cls("MlpPolicy", env, device=device, **{**settings, **kwargs})  # type: ignore[call-arg]
            model.set_parameters(tensors, device=device)  # type: ignore[attr-defined]
            model.num_timesteps = int(data["num_timesteps"])  # type: ignore[attr-defined]
        except (KeyError, TypeError, AttributeError, RuntimeError, ValueError) as error:
            raise ValueError(f"{os.fspath(path)} is no usable checkpoint of {cls.__name__}: {error}") from error
        return model


def load_model(
    path: str | os.PathLike[str],
    game: str | Game,
    policy_kwargs: Mapping[str, Any] | None = None,
    device: str = "auto",
) -> Any:
    """A model that Stable-Baselines3 or sb3-contrib saved, trained anywhere on a game's planes, board or codes, for
    evaluation and play; nothing in the file is run.

    DQN, PPO, A2C (as a PPO, whose policy is the same) and MaskablePPO, with "MlpPolicy". The models of `tictac_agents`
    have a `load` of their own.

    Args:
        path: the file.
        game: what it was trained to play.
        policy_kwargs: the model's own, to be given where the file hides in a pickle what shapes the network.
        device: as in Stable-Baselines3.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged; it was made for another observation space or algorithm; or `policy_kwargs` are
            needed and are not given.
    """
    algorithms: dict[str, Any] = {
        "stable_baselines3.dqn.policies": sb3.DQN,
        "stable_baselines3.common.policies": sb3.PPO,
        "sb3_contrib.common.maskable.policies": sb3_contrib.MaskablePPO,
    }
    data, tensors = read_checkpoint(path)
    try:
        label = data["policy_class"]["__module__"]
        if label not in algorithms:
            raise ValueError(f"its policy is of {label!r}; known are {', '.join(algorithms)}")
        if policy_kwargs is None:
            policy_kwargs = _readable(data["policy_kwargs"])
        env = boards_for(data, get_game(game))
        settings = {"buffer_size": 1} if "dqn" in label else {}
        model = algorithms[label]("MlpPolicy", env, policy_kwargs=dict(policy_kwargs), device=device, **settings)
        model.policy.load_state_dict(tensors["policy"])
    except (KeyError, TypeError, AttributeError, RuntimeError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)} cannot be loaded safely: {error}") from error
    return model


def _readable(policy_kwargs: dict[str, Any]) -> dict[str, Any]:
    """The policy's keywords without the optimiser's, read from the JSON that stands beside a pickle of them.

    Raises:
        ValueError: one of them stands in the pickle only.
    """
    if PICKLED not in policy_kwargs:
        return policy_kwargs
    readable = {}
    for name, value in policy_kwargs.items():
        if name.startswith((":", "optimizer_")):
            continue
        if isinstance(value, str):
            if value not in ACTIVATIONS:
                raise ValueError(f"{name} is pickled, which may be any code; give policy_kwargs yourself")
            value = ACTIVATIONS[value]
        readable[name] = value
    return readable


def read_checkpoint(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Tensors]:
    """The JSON of a Stable-Baselines3 zip, its pickles untouched, and its tensors.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no such archive, is damaged, or holds more than tensors in the place of tensors.
    """
    target = with_suffix(path)
    try:
        with zipfile.ZipFile(target) as archive:
            if damaged := archive.testzip():
                raise ValueError(f"{damaged} is damaged")
            data = json.loads(archive.read("data"))
            tensors = {
                Path(name).stem: torch.load(io.BytesIO(archive.read(name)), map_location="cpu", weights_only=True)
                for name in archive.namelist()
                if name.endswith(".pth") and name != "pytorch_variables.pth"
            }
    except FileNotFoundError:
        raise
    except Exception as error:  # whatever a damaged archive provokes in zlib, zipfile, json or torch
        raise ValueError(f"{target} cannot be read as a checkpoint of JSON and tensors: {error}") from error
    if not isinstance(data, dict):
        raise ValueError(f"{target} cannot be read as a checkpoint of JSON and tensors: its data is no object")
    return data, tensors


def boards_for(data: Mapping[str, Any], game: Game) -> SB3VecEnv:
    """One board with the observations a checkpoint was made for.

    Raises:
        ValueError: the game has no such observations.
    """
    described = data["observation_space"]
    shape, number = tuple(described.get("_shape") or ()), described.get("n")
    for obs_type in OBS_TYPES:
        try:
            space = Observer(game, obs_type).space
        except ValueError:  # no codes of large boards
            continue
        found = str(space.n) == str(number) if isinstance(space, spaces.Discrete) else space.shape == shape != ()
        if found:
            return SB3VecEnv(game, obs_type=obs_type)
    raise ValueError(f"no observation of {game!r} has the shape {shape} it was trained on")


def with_suffix(path: str | os.PathLike[str]) -> Path:
    """The path, with ".zip" if it has no suffix, as Stable-Baselines3 does."""
    return Path(path) if Path(path).suffix else Path(f"{os.fspath(path)}.zip")
