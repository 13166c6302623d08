"""What every learner of ours shares: the training run, its schedules, checkpoints and interruption, and its file."""

from __future__ import annotations

import inspect
import os
import sys
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple, Self

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from tictac_env.checks import one_of, whole
from tictac_env.games import Game, describe_game, game_name, game_of
from tictac_env.observation import read_observation
from tictac_env.policies import Policy
from tictac_env.position import Position
from tictac_env.progress import interruptible, progress_bar
from tictac_env.rng import STATES, advance, mix, new_state
from tictac_env.storage import load_arrays, save_arrays

Arrays = dict[str, npt.NDArray[Any]]
Schedule = float | Sequence[float]
Callback = Callable[["Learner"], bool | None]
COUNTERS = ("timesteps", "episodes")
UNIT = 2.0**-63
"""Turns a draw into a number in [0, 1)."""


class Preset(NamedTuple):
    """Published settings, or proven ones of ours."""

    settings: Mapping[str, Any]
    """Arguments of the learner."""
    env: Mapping[str, Any]
    """Arguments of `gym.make("TicTacToe-v0", ...)`."""
    episodes: int
    """How long a run is."""


class Learner(Policy):
    """A tabular learner that trains through `reset` and `step`, an episode at a time.

    A subclass gives `_episode`, `best_action`, `_arrays` and `_set_arrays`, and keeps each setting of its constructor
    in an attribute of the same name.

    Args:
        env: an environment of ours (possibly wrapped), or its id.
        seed: seeds exploration and, at the first reset, the environment; None for fresh entropy.

    Attributes:
        num_timesteps: how many steps it has learned from.
        num_episodes: how many episodes.
    """

    PRESETS: ClassVar[dict[str, Preset]] = {}

    def __init__(self, env: gym.Env[Any, Any] | str, seed: int | None) -> None:
        self.env = gym.make(env) if isinstance(env, str) else env
        if not hasattr(self.env.unwrapped, "game"):
            raise ValueError(f"{type(self).__name__} learns on this package's boards, not on {self.env}")
        self.game: Game = self.env.unwrapped.game
        self.seed = whole("seed", seed) if seed is not None else None
        self.name = type(self).__name__
        self.num_timesteps = 0
        self.num_episodes = 0
        self.status = ""
        """What a callback wants the progress bar to show."""
        self._random = new_state(seed)
        self._env_seed = seed
        self._run: tuple[str, int, int] | None = None  # counter, its value at the beginning, at the end
        self._run_env: dict[str, Any] = {}  # what the run's environment was

    @classmethod
    def preset(cls, name: str, seed: int | None = None, **changes: Any) -> Self:
        """A learner with the settings of `PRESETS[name]`, on tic-tac-toe, ready for `learn(total_episodes=...)`.

        Args:
            name: the preset's.
            seed: makes the run reproducible.
            changes: settings to change.

        Raises:
            ValueError: there is no such preset, or a changed setting is out of its range.
        """
        preset = cls.PRESETS[one_of("preset", name, tuple(cls.PRESETS))]
        return cls(gym.make("TicTacToe-v0", **preset.env), seed=seed, **(dict(preset.settings) | changes))

    @abstractmethod
    def _episode(self) -> int:
        """Plays one episode, learns from it and returns the number of its steps."""

    @abstractmethod
    def best_action(self, own: int, opp: int, allowed: Sequence[int]) -> int:
        """The best of the `allowed` actions in a position, by what has been learned; the lowest among equals."""

    @abstractmethod
    def forget(self) -> None:
        """Forgets what has been learned; counters, randomness and the run go on."""

    @abstractmethod
    def _arrays(self) -> Arrays:
        """What has been learned."""

    @abstractmethod
    def _set_arrays(self, arrays: Arrays) -> None:
        """Takes over what `_arrays` gave.

        Raises:
            KeyError, ValueError: that is not what these arrays are.
        """

    def learn(
        self,
        total_timesteps: int | None = None,
        callback: Callback | None = None,
        progress_bar: bool = True,
        *,
        total_episodes: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 60.0,
    ) -> Self:
        """Trains for so many steps or episodes; the episode under way is always finished.

        Ctrl-C stops after the episode under way and keeps what is learned. `resume` goes on.

        Args:
            total_timesteps: how many steps.
            callback: called after each episode with the learner; returning False ends the run.
            progress_bar: whether to show progress (only on a terminal).
            total_episodes: how many episodes, instead of steps.
            checkpoint: a file to save to now and then, and at the end.
            checkpoint_seconds: how often.

        Raises:
            ValueError: neither or both totals are given, or not a positive int.
        """
        given = {"timesteps": total_timesteps, "episodes": total_episodes}
        named = [(counter, total) for counter, total in given.items() if total is not None]
        if len(named) != 1 or type(named[0][1]) is not int or named[0][1] < 1:
            raise ValueError(f"give total_timesteps or total_episodes, a positive int, not {given}")
        counter, total = named[0]
        begin = getattr(self, f"num_{counter}")
        self._run = (counter, begin, begin + total)
        board: Any = self.env.unwrapped
        self._run_env = board.describe()
        return self.resume(callback, progress_bar, checkpoint=checkpoint, checkpoint_seconds=checkpoint_seconds)

    def resume(
        self,
        callback: Callback | None = None,
        progress_bar: bool = True,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 60.0,
    ) -> Self:
        """Goes on with a run that was stopped, or that a loaded file is a checkpoint of, to its end.

        The result equals that of an unbroken run, to the last bit.

        Raises:
            ValueError: there is no such run, or it began in an environment of other settings.
        """
        if self._run is None:
            raise ValueError("there is no run to go on with; call learn()")
        board: Any = self.env.unwrapped
        if self._run_env != board.describe():
            raise ValueError(f"the run began in the environment {self._run_env}, and this one is {board.describe()}")
        end = self._run[2]
        due = time.monotonic() + checkpoint_seconds
        whole = True
        try:
            with interruptible() as asked_to_stop, _bar(self, progress_bar) as show:
                while self._counted() < end:
                    whole = False
                    self.num_timesteps += self._episode()
                    self.num_episodes += 1
                    goes_on = callback is None or callback(self) is not False
                    whole = True  # what the callback did to the learner is part of the run
                    show()
                    if checkpoint is not None and time.monotonic() >= due:
                        self.save(checkpoint)
                        due = time.monotonic() + checkpoint_seconds
                    if not goes_on:
                        break
                    if asked_to_stop():
                        print(f"stopped after {self.num_episodes:,} episodes; nothing is lost", file=sys.stderr)
                        break
        finally:
            if checkpoint is not None and whole:
                self.save(checkpoint)
        return self

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        action_masks: npt.ArrayLike | None = None,
    ) -> tuple[int, None]:
        """The action for an observation, and None, as Stable-Baselines3 returns a pair.

        Args:
            observation: of any type of the game's.
            state: not used.
            episode_start: not used.
            deterministic: whether to play the best action known; otherwise explore as in training.
            action_masks: (num_actions,), 1 where an action may be chosen; by default what is legal.

        Raises:
            ValueError: the observation is none of the game's, or the masks allow no legal action.
        """
        own, opp = read_observation(self.game, observation)
        legal = Position(self.game, own, opp).legal_actions
        mask = np.ones(self.game.num_actions) if action_masks is None else np.asarray(action_masks).reshape(-1)
        if len(mask) != self.game.num_actions:
            raise ValueError(f"action_masks must have {self.game.num_actions} elements, not {len(mask)}")
        allowed = [action for action in legal if mask[action]]
        if not allowed:
            raise ValueError(f"no legal action is allowed in {Position(self.game, own, opp)!r}; masks: {mask}")
        if not deterministic and self._explores():
            return allowed[self._draw() % len(allowed)], None
        return self.best_action(own, opp, allowed), None

    def act(self, position: Position, seed: int) -> int:
        """The best action known; the seed does not matter."""
        return self.best_action(position.own, position.opp, position.legal_actions)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything, the state of a run included, to an .npz file (see `tictac_env.storage`)."""
        board: Any = self.env.unwrapped
        meta = {
            "game": describe_game(self.game),
            "settings": {name: getattr(self, name) for name in self._setting_names()},
            "num_timesteps": self.num_timesteps,
            "num_episodes": self.num_episodes,
            "random": self._random,
            "env_seed": self._env_seed,
            "run": self._run,
            "env": board.describe(),
            "board": board.state_dict(),
        }
        save_arrays(path, self._kind(), meta, self._arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str], env: gym.Env[Any, Any] | str | None = None) -> Self:
        """The learner that was saved.

        Args:
            path: the file.
            env: to go on learning; without it a default environment of the same game.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged, holds another kind of learner, or its game is not that of `env`.
        """
        meta, arrays = load_arrays(path, cls._kind())
        try:
            game = game_of(meta["game"])
            if env is None:
                name = game_name(game)
                env = gym.make(name) if name else gym.make("KInARow-v0", **meta["game"])
            learner = cls(env, **meta["settings"])
            if learner.game != game:
                raise ValueError(f"it was trained on {meta['game']}, not on the game of the environment")
            learner._set_arrays(arrays)
            learner.num_timesteps = whole("num_timesteps", meta["num_timesteps"])
            learner.num_episodes = whole("num_episodes", meta["num_episodes"])
            learner._random = whole("random", meta["random"], STATES)
            learner._env_seed = meta["env_seed"] and whole("env_seed", meta["env_seed"])
            if meta["run"] is not None:
                counter, begin, end = meta["run"]
                begin, end = whole("begin", begin), whole("end", end)
                learner._run = (one_of("counter", counter, COUNTERS), begin, whole("length", end - begin) + begin)
            learner._run_env = dict(meta["env"])
            learner.env.unwrapped.load_state_dict(meta["board"])  # type: ignore[attr-defined]  # a BoardEnv
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise ValueError(f"{str(path)!r} is no usable checkpoint of {cls.__name__}: {error}") from error
        return learner

    @classmethod
    def _kind(cls) -> str:
        return f"tictac_agents.{cls.__name__}"

    @classmethod
    def _setting_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls).parameters if name != "env"]

    def _counted(self) -> int:
        counted: int = getattr(self, f"num_{self._run[0]}") if self._run else 0
        return counted

    def _reset(self, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """The environment's reset, seeded the first time."""
        seed, self._env_seed = self._env_seed, None
        return self.env.reset(seed=seed, options=options)

    def _draw(self) -> int:
        """A number in [0, 2**63) from the learner's own randomness."""
        self._random = advance(self._random)
        return mix(self._random)

    def _explores(self) -> bool:
        return self._draw() * UNIT < self.scheduled(self.epsilon)  # type: ignore[attr-defined]  # every learner has one

    def scheduled(self, schedule: Schedule) -> float:
        """What a schedule says now: a number itself; of several, the one for the part of the run that is reached."""
        if isinstance(schedule, (int, float)):
            return schedule
        if self._run is None:
            return schedule[-1]
        _, begin, end = self._run
        return schedule[min((self._counted() - begin) * len(schedule) // (end - begin), len(schedule) - 1)]


@contextmanager
def _bar(learner: Learner, show: bool) -> Iterator[Callable[[], None]]:
    """The progress bar of a run, as a function to call after each episode."""
    _, begin, end = learner._run or ("episodes", 0, 0)
    began, episodes = time.monotonic(), learner.num_episodes
    shown = began
    with progress_bar(end - begin, str(learner), show) as update:

        def refresh() -> None:
            nonlocal shown
            now = time.monotonic()
            if now - shown > 0.2:
                shown = now
                rate = (learner.num_episodes - episodes) / (now - began)
                epsilon = learner.scheduled(getattr(learner, "epsilon", 0.0))
                update(learner._counted() - begin, f"{rate:,.0f} games/s, epsilon {epsilon:.2f} {learner.status}")

        yield refresh
