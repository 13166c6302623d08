"""Checkpoints of the deep agents: settings in JSON, and weights."""

from __future__ import annotations

import io
import json
import os
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, cast

from gymnasium.error import DependencyNotInstalled

from tictac_agents.sb3_files import CLASSES, PICKLED, read_checkpoint, with_suffix
from tictac_agents.settings import DeepSettings, fits
from tictac_agents.tuned import preset
from tictac_env.checks import one_of
from tictac_env.envs.arguments import Arguments
from tictac_env.games import describe_game
from tictac_env.storage import writing

try:
    from stable_baselines3.common.type_aliases import Schedule
    from stable_baselines3.common.utils import LinearSchedule
except ImportError as error:
    raise DependencyNotInstalled('Stable-Baselines3 is missing: pip install "tictac-env[rl]"') from error

NOT_SETTINGS = ("seed", "device", "verbose", "tensorboard_log", "stats_window_size")


class Checkpoint:
    """What makes a model's checkpoint safe to load: its settings, in JSON. To be put before the algorithm among a
    class's bases.
    """

    SETTINGS: ClassVar[type[DeepSettings]]
    _described: dict[str, Any]
    """The settings as JSON has them; in the file too."""
    _unsaved: list[str]

    @property
    def settings(self) -> DeepSettings:
        """What it was made with; of boards that are not ours, what is known of them."""
        return self.SETTINGS.from_dict(self._described)

    @classmethod
    def from_settings(
        cls, settings: DeepSettings, seed: int | None = None, device: str = "auto", **kwargs: Any
    ) -> Self:
        """A model with these settings, on the boards they describe, ready for `learn(settings.total_timesteps)`.

        Args:
            settings: of this class's kind.
            seed: makes the run reproducible.
            device: as in Stable-Baselines3.
            kwargs: other keywords of the algorithm, `tensorboard_log` and the like.

        Raises:
            ValueError: they are another algorithm's, or one of them is out of its range.
        """
        if type(settings) is not cls.SETTINGS:
            raise ValueError(f"{cls.__name__} takes {cls.SETTINGS.__name__}, not {settings!r}")
        made: Any = cls
        model: Self = made(
            settings.policy, settings.boards(), seed=seed, device=device, **settings.keywords(), **kwargs
        )
        model._described = settings.to_dict()
        return model

    @classmethod
    def preset(cls, name: str, seed: int | None = None, device: str = "auto", **changes: Any) -> Self:
        """A model with published settings, or proven ones of ours; `changes` replace some of them.

        Raises:
            ValueError: there is no such preset, or a changed setting is out of its range.
        """
        return cls.from_settings(preset(cls.__name__, name).changed(**changes), seed, device)

    def remember(self, env: Any, given: Mapping[str, Any]) -> None:
        """Keeps what `load` will need: the keywords it was made with, and the boards."""
        hints = typing.get_type_hints(self.SETTINGS)
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in given.items()
            if name not in NOT_SETTINGS and value is not None
        }
        kept = {name: value for name, value in values.items() if name in hints and _fits_json(value, hints[name])}
        self._unsaved = sorted(set(values) - set(kept))
        self._described = self.SETTINGS(**kept, **_boards_of(env)).to_dict()

    def save(self, path: Any, exclude: Iterable[str] | None = None, include: Iterable[str] | None = None) -> None:
        """Writes Stable-Baselines3's own zip file, whole or not at all.

        Args:
            path: the file, ".zip" being added if it has no suffix; or a file open for writing.
            exclude: as in Stable-Baselines3.
            include: as in Stable-Baselines3.

        Raises:
            ValueError: a setting is something JSON cannot hold, so that the file could not be loaded safely.
        """
        if self._unsaved:
            raise ValueError(f"only settings that JSON can hold can be saved and loaded safely, not {self._unsaved}")
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
        described = data.get("_described")
        if not isinstance(described, dict) or PICKLED in described:
            raise ValueError(
                f"{os.fspath(path)} was not saved by tictac_agents' {cls.__name__}, and unpickling what it holds could "
                "run any code; load_model reads the weights of Stable-Baselines3's models without that"
            )
        try:
            settings = cls.SETTINGS.from_dict(described)
            settings = settings.changed(**{name: kwargs.pop(name) for name in set(kwargs) & set(described)})
            if env is None:
                env = settings.changed(opponent="random", start="empty").boards(num_envs=1)
            made: Any = cls
            model: Any = made(settings.policy, env, device=device, **settings.keywords(), **kwargs)
            model._described = settings.to_dict()
            model.set_parameters(tensors, device=device)
            model.num_timesteps = int(data["num_timesteps"])
        except (KeyError, TypeError, AttributeError, RuntimeError, ValueError) as error:
            raise ValueError(f"{os.fspath(path)} is no usable checkpoint of {cls.__name__}: {error}") from error
        return cast(Self, model)


def annealed(learning_rate: float | Sequence[float] | Schedule) -> float | Schedule:
    """A pair of step sizes as a schedule from the first to the second; all else as it is."""
    if isinstance(learning_rate, Sequence):
        first, last = learning_rate
        return LinearSchedule(first, last, end_fraction=1.0)
    return learning_rate


def with_classes(policy_kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """The policy's keywords, classes in the place of their names.

    Raises:
        ValueError: a name is not known.
    """
    keywords = dict(policy_kwargs or {})
    for name, known in CLASSES.items():
        if isinstance(keywords.get(name), str):
            keywords[name] = known[one_of(name, keywords[name], tuple(known))]
    return keywords


def _fits_json(value: Any, hint: Any) -> bool:
    """Whether a keyword is a setting that a checkpoint can hold."""
    try:
        json.dumps(value)
    except TypeError:
        return False
    return fits(value, hint)


def _boards_of(env: Any) -> dict[str, Any]:
    """What is to be said of the boards that a model is made for; nothing of boards that are not ours."""
    try:
        arguments: Arguments = env.get_attr("arguments")[0]
    except AttributeError:
        return {"game": "unknown"}
    return {
        "game": describe_game(arguments.game),
        "num_envs": env.num_envs,
        "opponent": None if arguments.opponent is None else str(arguments.opponent),
        "play_as": arguments.play_as,
        "obs_type": arguments.obs_type,
        "illegal": arguments.illegal,
        "rewards": arguments.rewards,
        "start": "empty" if arguments.start is None else f"{len(arguments.start)} positions",
    }
