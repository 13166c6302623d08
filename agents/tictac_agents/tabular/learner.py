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

from tictac_agents.tabular.drivers import Driver, Environment, ManyBoards, OneBoard, default_env
from tictac_agents.tabular.table_policy import Schedule, TablePolicy
from tictac_env.checks import one_of, whole
from tictac_env.envs.protocol import PLAY_AS
from tictac_env.games import Game, describe_game, game_of
from tictac_env.progress import interruptible, progress_bar
from tictac_env.rng import STATES, new_state
from tictac_env.storage import load_arrays, save_arrays

Arrays = dict[str, npt.NDArray[Any]]
Callback = Callable[["Learner"], bool | None]
COUNTERS = ("timesteps", "episodes")
NO_LIMIT = 1 << 62


class Preset(NamedTuple):
    """Published settings, or proven ones of ours."""

    settings: Mapping[str, Any]
    """Arguments of the learner."""
    env: Mapping[str, Any]
    """Arguments of `gym.make("TicTacToe-v0", ...)`."""
    episodes: int
    """How long a run is."""


class Learner(TablePolicy):
    """A tabular learner. It trains through `reset` and `step`, an episode at a time; or on a vector environment, all
    boards learning from the same table in their order, so that results depend on `num_envs`.

    On an environment of ours that is not wrapped, with a compiled opponent (None, "random", "rule" or a pool of such),
    games are played in a compiled loop, with the same result to the last bit.

    A subclass gives `_new_core`, `_arrays` and `_set_arrays`, calls `forget` at the end of its constructor, and keeps
    each setting of its constructor in an attribute of the same name.

    Args:
        env: an environment of ours (possibly wrapped), single or vector, or an id.
        seed: seeds exploration and, at the first reset, the environment; None for fresh entropy.

    Attributes:
        num_timesteps: how many steps it has learned from; those of a game count when it is over.
        num_episodes: how many episodes.
        compiled: whether the compiled loop may be used; assign False to send every game through `reset` and `step`.
    """

    PRESETS: ClassVar[dict[str, Preset]] = {}
    GAME_ARRAYS: ClassVar[tuple[str, ...]] = ()
    """Those that hold the games under way."""
    learning_rate: Schedule | None
    block = 0
    """How many games each seat gets in turn; 0 leaves the seats to the environment."""

    def __init__(self, env: Environment | str, seed: int | None) -> None:
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
        self.compiled = True
        self.num_envs = int(getattr(self.env, "num_envs", 1))
        self.most_new = 2 * (self.game.num_actions + 3)
        """How many positions a board can add to the table when it chooses, and when it observes."""
        self._random_state = np.array([new_state(seed)], np.int64)
        self._env_seed = seed
        self._run: tuple[str, int, int] | None = None  # counter, its value at the beginning, at the end
        self._run_env: dict[str, Any] = {}  # what the run's environment was
        vector = isinstance(self.env, gym.vector.VectorEnv)
        self._driver: Driver = ManyBoards(self, self.num_envs) if vector else OneBoard(self)

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

    def forget(self) -> None:
        """Forgets what has been learned, and the games under way; counters, randomness and the run go on."""
        self._core = self._new_core()
        self._driver.abandon()

    @abstractmethod
    def _new_core(self) -> Any:
        """An empty table, which holds `_random_state` as `random`."""

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
        """Trains for so many steps or episodes.

        On a single board the episode under way is always finished; Ctrl-C stops after it (the compiled loop, within
        about a second) and keeps what is learned. On a vector environment the run ends with the step in which the
        number is reached; `resume` goes on with the games then under way, another `learn` drops them.

        Args:
            total_timesteps: how many steps.
            callback: called after each episode with the learner; returning False ends the run. If it has an attribute
                `called_every`, it is called at least whenever the number of episodes is a multiple of that.
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
        self._driver.abandon()
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
        every: int = 1 if callback is not None else NO_LIMIT
        every = getattr(callback, "called_every", every)
        due = time.monotonic() + checkpoint_seconds
        whole = True
        try:
            with interruptible() as asked_to_stop, _bar(self, progress_bar) as show:
                while self._counted() < end:
                    whole, goes_on = False, True
                    late = checkpoint is not None and time.monotonic() >= due
                    for _ in self._driver.play(1 if late else every - self.num_episodes % every):
                        goes_on &= callback is None or callback(self) is not False
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
            if not whole:
                self._driver.abandon()  # what was under way is in disorder
            elif checkpoint is not None:
                self.save(checkpoint)
        return self

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
        save_arrays(path, self._kind(), meta, self._arrays() | self._driver.games())

    @classmethod
    def load(cls, path: str | os.PathLike[str], env: Environment | str | None = None) -> Self:
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
                env = default_env(game, meta["env"])
            learner = cls(env, **meta["settings"])
            if learner.game != game:
                raise ValueError(f"it was trained on {meta['game']}, not on the game of the environment")
            learner._set_arrays(arrays)
            learner.num_timesteps = whole("num_timesteps", meta["num_timesteps"])
            learner.num_episodes = whole("num_episodes", meta["num_episodes"])
            learner._random_state[0] = whole("random", meta["random"], STATES)
            learner._env_seed = meta["env_seed"] and whole("env_seed", meta["env_seed"])
            if meta["run"] is not None:
                counter, begin, end = meta["run"]
                begin, end = whole("begin", begin), whole("end", end)
                learner._run = (one_of("counter", counter, COUNTERS), begin, whole("length", end - begin) + begin)
            learner._run_env = dict(meta["env"])
            board: Any = learner.env.unwrapped
            if meta["env"].get("num_envs") == board.describe().get("num_envs"):
                learner._driver.set_games(arrays, meta["board"])
                board.load_state_dict(meta["board"])
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

    def begin_games(self, chosen: npt.NDArray[np.bool_] | None = None) -> tuple[Any, dict[str, Any]]:
        """The environment's reset, seeded the first time; of the `chosen` boards only, if that is not None."""
        seed, self._env_seed = self._env_seed, None
        options: dict[str, Any] = {} if chosen is None else {"reset_mask": chosen}
        play_as, _ = self.next_seat()
        if play_as is not None:
            options["play_as"] = play_as
        return self.env.reset(seed=seed, options=options or None)

    def next_seat(self) -> tuple[str | None, int]:
        """The seat of the next game, None if the environment gives it, and for how many games that stays so."""
        if not self.block:
            return None, NO_LIMIT
        return PLAY_AS[self.num_episodes // self.block % 2], self.block - self.num_episodes % self.block

    def scheduled_table(self) -> Any:
        """The table, with the step size and epsilon of now."""
        rate = 0.0 if self.learning_rate is None else float(self.scheduled(self.learning_rate))
        epsilon = float(self.scheduled(self.epsilon))
        if (rate, epsilon) != (self._core.rate, self._core.epsilon):
            self._core = self._core._replace(rate=rate, epsilon=epsilon)
        return self._core

    def until_change(self) -> tuple[int, int]:
        """How many games can be played, and after how many steps none may be begun, before a schedule goes on or the
        last game of the run is due.
        """
        counter, begin, end = self._run or ("episodes", 0, 0)
        now = self._counted()
        last = end - (1 if counter == "episodes" else self.game.cells)
        for schedule in (self.epsilon, self.learning_rate):
            if isinstance(schedule, Sequence):
                part = (now - begin) * len(schedule) // (end - begin) + 1
                last = min(last, begin - (begin - end) * part // len(schedule))
        left = max(0, last - now)
        return (left, NO_LIMIT) if counter == "episodes" else (NO_LIMIT, left)

    def numbered_games(self, games: Arrays) -> Arrays:
        """Games under way, their rows numbered as those of the arrays in the file."""
        return games

    @abstractmethod
    def accepts_games(self, games: Arrays, plies: npt.NDArray[Any]) -> bool:
        """Whether games under way can be such, on boards with so many stones: compiled code checks no indices."""

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
