"""Checkpoints of the deep agents: settings in JSON, and weights."""

from __future__ import annotations

import io
import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Self, cast

import numpy as np
from gymnasium.error import DependencyNotInstalled

from tictac_agents.deep.sb3_files import CLASSES, PICKLED, check_sizes, read_checkpoint, with_suffix
from tictac_agents.deep.sb3_vec_env import SB3VecEnv
from tictac_agents.deep.settings import UNKNOWN, DeepSettings, preset
from tictac_agents.settings import Settings
from tictac_env.arena.game_record import starting_positions
from tictac_env.checks import one_of, whole
from tictac_env.envs.arguments import Arguments
from tictac_env.games import Game, describe_game, shown
from tictac_env.policies import Policy, named_policy
from tictac_env.storage import writing

try:
    from stable_baselines3.common.type_aliases import Schedule
    from stable_baselines3.common.utils import LinearSchedule
except ImportError as error:
    raise DependencyNotInstalled('Stable-Baselines3 is missing: pip install "tictac-env[rl]"') from error

NOT_SETTINGS = ("seed", "device", "verbose", "tensorboard_log", "stats_window_size", "_init_setup_model")


class Checkpoint:
    """Makes a model's checkpoint safe to load, by keeping its settings in JSON. Put it before the algorithm among the
    bases of a class.
    """

    SETTINGS: ClassVar[type[DeepSettings]]
    env: Any
    num_timesteps: int
    gamma: float
    verbose: int
    _recorded_settings: dict[str, Any]
    """The settings as JSON. This and the next two are in the file too."""
    _recorded_keywords: dict[str, Any]
    """The keywords that are not settings."""
    _unrecorded: list[str]
    """The names of the keywords that JSON cannot hold."""

    @property
    def settings(self) -> DeepSettings:
        """The settings it was made with. Those of boards that are not ours, and those that JSON cannot hold, have their
        defaults.
        """
        return self.SETTINGS.from_dict(self._recorded_settings)

    @classmethod
    def from_settings(
        cls, settings: DeepSettings, seed: int | None = None, device: str = "auto", **kwargs: Any
    ) -> Self:
        """A model with these settings, on the boards they describe, ready for `learn(settings.total_timesteps)`.

        Args:
            settings: a `SETTINGS` of this class.
            seed: makes the run reproducible.
            device: as in Stable-Baselines3.
            kwargs: other keywords of the algorithm, `tensorboard_log` and the like.

        Raises:
            ValueError: the settings are another algorithm's, or one of them is out of its range.
        """
        if type(settings) is not cls.SETTINGS:
            raise ValueError(f"{cls.__name__} takes {cls.SETTINGS.__name__}, not {shown(settings)}")
        made: Any = cls
        model: Self = made(
            settings.policy, settings.boards(), seed=seed, device=device, **settings.keywords(), **kwargs
        )
        model._recorded_settings = settings.to_dict()
        return model

    @classmethod
    def preset(cls, name: str, seed: int | None = None, device: str = "auto", **changes: Any) -> Self:
        """A model with the settings of a preset, published or ours, with `changes`.

        Raises:
            ValueError: there is no such preset, or a changed setting is out of its range.
        """
        return cls.from_settings(preset(cls.__name__, name).changed(**changes), seed, device)

    def record_settings(self, env: Any, given: Mapping[str, Any]) -> Any:
        """Records, for the checkpoint, the boards and the keywords that the model is made with.

        Returns:
            The boards as Stable-Baselines3 wraps them; those made from an id alternate the learner's seat.

        Raises:
            ValueError: a setting is of a wrong type or out of its range, or gamma has the wrong sign for the boards.
        """
        boards = self._boards(env, given.get("verbose", 0))
        names = {one.name for one in fields(self.SETTINGS)}
        settings: dict[str, Any] = {}
        self._recorded_keywords, self._unrecorded = {}, []
        for name, value in {**given, "policy_kwargs": given.get("policy_kwargs") or {}}.items():
            if name in NOT_SETTINGS:
                continue
            try:
                kept = json.loads(json.dumps(value, default=np.generic.item))  # numbers of NumPy as plain ones
            except TypeError:
                self._unrecorded.append(name)
            else:
                (settings if name in names else self._recorded_keywords)[name] = kept
        self._recorded_settings = self.SETTINGS(**settings | _describe_boards(boards)).to_dict()
        return boards

    @classmethod
    def _boards(cls, env: Any, verbose: int = 0) -> Any:
        if isinstance(env, str):
            env = SB3VecEnv(env, play_as=Settings().seat)
        wrap: Any = cls._wrap_env  # type: ignore[attr-defined]  # Stable-Baselines3's
        return env if env is None else wrap(env, verbose)

    def set_env(self, env: Any, force_reset: bool = True) -> None:
        """Stable-Baselines3's; from then on the settings describe these boards.

        Raises:
            ValueError: gamma has the wrong sign for these boards: the agent played both sides and would now have an
                opponent, or the other way round. `load` with `env` begins such a lesson.
        """
        boards = self._boards(env, self.verbose)
        described = self._recorded_settings | _describe_boards(boards)
        self.SETTINGS.from_dict(described | {"gamma": self.gamma})
        super().set_env(boards, force_reset)  # type: ignore[misc]
        self._recorded_settings = described

    def save(self, path: Any, exclude: Iterable[str] | None = None, include: Iterable[str] | None = None) -> None:
        """Writes Stable-Baselines3's own zip file, whole or not at all.

        Keywords that JSON cannot hold (functions, classes) are only named in the file; give them to `load` again.

        Args:
            path: the file (without a suffix it gets ".zip"), or a file open for writing.
            exclude: as in Stable-Baselines3.
            include: as in Stable-Baselines3.
        """
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

        Weights, the optimiser's state, the settings, the number of steps and DQN's exploration are restored;
        `learn(..., reset_num_timesteps=False)` goes on counting.

        Args:
            path: the file, which need not be trusted: no code in it is run.
            env: the boards to go on learning on; without it those that the settings describe. If an opponent or starts
                cannot be made from their names (a pool, a model, a function, positions of your own), there are no
                boards, and the model plays but does not learn until it gets some. The sign of gamma follows from the
                boards.
            device: as in Stable-Baselines3.
            kwargs: settings and other keywords that replace those of the file, `seed` and the like; those of the
                boards only without `env`.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged, was not saved by this class, or does not fit `env`; a setting is out of its
                range; or a keyword that JSON could not hold is missing.
        """
        data, tensors = read_checkpoint(path)
        described = data.get("_recorded_settings")
        if not isinstance(described, dict) or PICKLED in described:
            raise ValueError(
                f"{os.fspath(path)} was not saved by tictac_agents' {cls.__name__}, and unpickling what it holds could "
                "run any code; load_model reads the weights of Stable-Baselines3's models without that"
            )
        try:
            if missing := sorted(set(data.get("_unrecorded", ())) - set(kwargs)):
                raise ValueError(f"JSON cannot hold its {', '.join(missing)}; give them as when the model was made")
            settings = cls.SETTINGS.from_dict(_with_the_right_sign(described))
            check_sizes(settings.policy_kwargs, tensors)
            policy = kwargs.pop("policy", settings.policy)
            of_run = {name: kwargs.pop(name) for name in set(kwargs) & set(cls.SETTINGS.RUN_SETTINGS)}
            if env is not None and (clash := sorted(set(of_run) - {"total_timesteps"})):
                raise ValueError(f"{', '.join(clash)} cannot be set together with env, whose boards have their own")
            if env is not None:
                env = cls._boards(env)
                of_run |= {"opponent": _describe_boards(env).get("opponent", settings.opponent)}
            settings = settings.changed(**of_run)
            others = {
                name: value for name, value in data.get("_recorded_keywords", {}).items() if name not in NOT_SETTINGS
            }
            boards, rebuilt = (env, True) if env is not None else _make_boards(settings)
            made: Any = cls
            model: Any = made(policy, boards, device=device, **{**settings.keywords(), **others, **kwargs})
            told = ("total_timesteps",) if env is not None else set(cls.SETTINGS.RUN_SETTINGS) - {"policy"}
            model._recorded_settings |= {name: value for name, value in settings.to_dict().items() if name in told}
            if not rebuilt:
                model.env = None
            model.set_parameters(tensors, device=device)
            model.restore(data)
        except (KeyError, TypeError, AttributeError, RuntimeError, ValueError, MemoryError) as error:
            raise ValueError(f"{os.fspath(path)} cannot be loaded as {cls.__name__}: {error}") from error
        return cast(Self, model)

    def restore(self, data: Mapping[str, Any]) -> None:
        """Restores the progress of the training from a checkpoint's JSON.

        Raises:
            KeyError, ValueError: the JSON does not hold it.
        """
        self.num_timesteps = whole("num_timesteps", data["num_timesteps"])

    def _setup_learn(self, *args: Any, **kwargs: Any) -> Any:
        if self.env is None:
            opponent, start = self._recorded_settings["opponent"], self._recorded_settings["start"]
            raise ValueError(
                f"the boards cannot be made from opponent={shown(opponent)} and start={shown(start)}: to learn, load "
                "the model with env, or with other names"
            )
        return super()._setup_learn(*args, **kwargs)  # type: ignore[misc]


def as_schedule(learning_rate: float | Sequence[float] | Schedule) -> float | Schedule:
    """A learning rate for Stable-Baselines3: a pair becomes a schedule from the first to the second."""
    if isinstance(learning_rate, Sequence):
        first, last = learning_rate
        return LinearSchedule(first, last, end_fraction=1.0)
    return learning_rate


def with_classes(policy_kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """The policy's keywords, with classes in place of their names.

    Raises:
        ValueError: a name is unknown.
    """
    keywords = dict(policy_kwargs or {})
    for name, known in CLASSES.items():
        if isinstance(keywords.get(name), str):
            keywords[name] = known[one_of(name, keywords[name], tuple(known))]
    return keywords


def _with_the_right_sign(described: dict[str, Any]) -> dict[str, Any]:
    """Settings of a file, in which version 1.0.0 wrote any sign of gamma."""
    opponent, gamma = described.get("opponent"), described.get("gamma")
    if not gamma or described.get("game") == UNKNOWN or (gamma < 0) == (opponent is None):
        return described
    warnings.warn(
        f"it has learned with gamma={gamma} and opponent={opponent!r}, which contradict each other: train it anew; "
        f"gamma is now {-gamma}",
        stacklevel=3,
    )
    return described | {"gamma": -gamma}


def _make_boards(settings: DeepSettings) -> tuple[Any, bool]:
    """The boards that the settings describe, and True; if a name cannot be made, boards of that shape, and False.

    Raises:
        ValueError: there is no such game.
    """
    rules = settings.rules
    try:
        if settings.opponent is not None:
            named_policy(settings.opponent, rules)  # a file from elsewhere must not name code to run
        starting_positions(rules, settings.start)
    except ValueError:
        return settings.changed(opponent=settings.opponent and "random", start="empty").boards(), False
    return settings.boards(), True


def _describe_boards(env: Any) -> dict[str, Any]:
    """The settings of the boards that a model is made for, as JSON; those of other boards are unknown."""
    try:
        arguments: Arguments = env.get_attr("arguments")[0]
    except AttributeError:
        return {"game": UNKNOWN}
    return {
        "game": describe_game(arguments.game),
        "num_envs": env.num_envs,
        "opponent": None if arguments.opponent is None else _opponent_name(arguments.opponent, arguments.game),
        "play_as": arguments.play_as,
        "obs_type": arguments.obs_type,
        "illegal": arguments.illegal,
        "rewards": arguments.rewards,
        "start": "empty" if arguments.start is None else f"{len(arguments.start)} positions",
    }


def _opponent_name(opponent: Policy, game: Game) -> str:
    """An opponent's name, with its class if a policy of another class is made from this name."""
    name = str(opponent)
    try:
        same = type(named_policy(name, game)) is type(opponent)
    except ValueError:
        return name
    return name if same else f"{name} ({type(opponent).__name__})"
