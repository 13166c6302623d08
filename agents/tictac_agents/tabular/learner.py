"""The base class of our learners: what they play, the training run, its checkpoints, presets, and the file."""

from __future__ import annotations

import inspect
import os
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from tictac_agents.checkpoint import Checkpoint
from tictac_agents.predicts import Predicts, allowed_actions
from tictac_agents.settings import Settings
from tictac_env.checks import one_of, whole
from tictac_env.games import Game, describe_game, game_of, gym_keywords
from tictac_env.observation import read_observation
from tictac_env.policies import Policy
from tictac_env.position import Position
from tictac_env.progress import interruptible, run_bar
from tictac_env.rng import STATES, UNIT, advance, mix, new_state
from tictac_env.storage import LARGEST, reading, save_arrays

Environment = gym.Env[Any, Any] | gym.vector.VectorEnv[Any, Any, Any]
Arrays = dict[str, npt.NDArray[Any]]
Callback = Callable[["Learner"], bool | None]
Schedule = float | Sequence[float]
"""A number, or several for equal parts of a run."""
COUNTERS = ("timesteps", "episodes")
NO_LIMIT = 2**62
"""More than any counter counts; sums of two are still int64."""


def draw(random: npt.NDArray[np.int64]) -> int:
    """A number in [0, 2**63); `random` (1,) is the state of the randomness, an array so that kernels can advance it."""
    state = advance(int(random[0]))
    random[0] = state
    return mix(state)


def explores(random: npt.NDArray[np.int64], epsilon: float) -> bool:
    """True with probability epsilon."""
    return draw(random) * UNIT < epsilon


class Run(NamedTuple):
    """A run of a learner, measured by one of its counters, "timesteps" or "episodes", from `begin` to `end`."""

    counter: str
    begin: int
    end: int

    def part(self, schedule: Sequence[float], now: int) -> float:
        """The number of a schedule for the part of the run that is reached."""
        return schedule[min((now - self.begin) * len(schedule) // (self.end - self.begin), len(schedule) - 1)]

    def next_change(self, schedule: Sequence[float], now: int) -> int:
        """The counter's value when the next part of a schedule begins."""
        part = (now - self.begin) * len(schedule) // (self.end - self.begin) + 1
        return self.begin - (self.begin - self.end) * part // len(schedule)  # rounded up


class Preset(NamedTuple):
    """Published settings, or proven ones of ours."""

    settings: Mapping[str, Any]
    """Arguments of the learner."""
    env: Mapping[str, Any]
    """Arguments of `gym.make("TicTacToe-v0", ...)`."""
    episodes: int
    """The length of a run."""


class Learner(Predicts, Policy):
    """A learner that trains through `reset` and `step`, and is then a policy like any other.

    To write your own, in plain Python, subclass it and give

    - `choose_action` and `learn_from_result`: the play in training, and the learning;
    - `best_action`: the play by what was learned;
    - `forget`: empties it; call it at the end of the constructor;
    - `learned` and `set_learned`: the content of its file, as arrays and JSON.

    Keep each setting of the constructor in an attribute of the same name, and draw from `draw` and `explores` only: a
    run that is stopped, saved and resumed then ends as an unbroken one, to the last bit.

    Args:
        env: an environment of ours (possibly wrapped), or its id, with sizes if any ("KInARow-v0:3x4-3"), which makes
            one against random play in which the learner's seat alternates.
        seed: seeds exploration and, at the first reset, the environment; None for fresh entropy.

    Attributes:
        num_timesteps: the number of steps learned from; those of a game count when it is over.
        num_episodes: the number of episodes.
        status: a callback's text for the progress bar.

    Raises:
        ValueError: `env` is not one of ours, or `seed` is not an integer of at least 0.

    Example:
        >>> from tictac_agents import Learner, QLearning
        >>> issubclass(QLearning, Learner), QLearning("TicTacToe-v0", seed=0).learn(total_episodes=10).num_episodes
        (True, 10)
    """

    PRESETS: ClassVar[dict[str, Preset]] = {}
    ON_VECTOR_ENVS: ClassVar[bool] = False
    budget = "no search; a table"

    def __init__(self, env: Environment | str, seed: int | None = None) -> None:
        self.env = gym.make(**gym_keywords(env), play_as=Settings().seat) if isinstance(env, str) else env
        self.name = type(self).__name__
        if not hasattr(self.env.unwrapped, "game"):
            raise ValueError(f"{self.name} learns on this package's boards, not on {self.env}")
        if isinstance(self.env, gym.vector.VectorEnv) and not self.ON_VECTOR_ENVS:
            raise ValueError(f"{self.name} learns on one board, not on the vector environment {self.env}")
        self.game: Game = self.env.unwrapped.game
        self.seed = whole("seed", seed) if seed is not None else None
        self.num_timesteps = 0
        self.num_episodes = 0
        self.status = ""
        self._random_state = np.array([new_state(seed)], np.int64)
        self._env_seed = seed
        self._run: Run | None = None
        self._preset_episodes: int | None = None
        self._run_env: dict[str, Any] = {}  # what the run's environment was
        self._seen: dict[int | bytes, tuple[int, int]] = {}

    @classmethod
    def preset(cls, name: str, seed: int | None = None, **changes: Any) -> Self:
        """A learner with the settings of `PRESETS[name]`, on tic-tac-toe; `learn()` then plays its episodes.

        Args:
            name: the preset's.
            seed: makes the run reproducible.
            changes: settings to change.

        Raises:
            ValueError: there is no such preset, or a changed setting is out of its range.
        """
        preset = cls.PRESETS[one_of("preset", name, tuple(cls.PRESETS))]
        learner = cls(gym.make("TicTacToe-v0", **preset.env), seed=seed, **(dict(preset.settings) | changes))
        learner._preset_episodes = preset.episodes
        return learner

    # Methods that a subclass defines.

    def begin_game(self, observation: Any, info: dict[str, Any]) -> None:
        """Begins a game with this observation; by default nothing happens."""

    @abstractmethod
    def choose_action(self, observation: Any, info: dict[str, Any]) -> int:
        """The next action in training."""

    @abstractmethod
    def learn_from_result(
        self, observation: Any, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]
    ) -> bool | None:
        """Learns from what `step` returned after the last action.

        Returns:
            True if the rest of the game has nothing to teach, so that the next one is to begin.
        """

    @abstractmethod
    def best_action(self, own: int, opp: int, allowed: Sequence[int]) -> int:
        """The best of the `allowed` actions in a position, by what has been learned.

        Args:
            own: the stones of the side to move, as bits (see `Position`).
            opp: the other side's.
            allowed: legal actions, at least one, in ascending order.
        """

    @abstractmethod
    def forget(self) -> None:
        """Forgets what has been learned; counters, randomness and the run stay."""

    @abstractmethod
    def learned(self) -> dict[str, Any]:
        """What has been learned, by name: arrays, and anything that JSON can hold."""

    @abstractmethod
    def set_learned(self, learned: dict[str, Any]) -> None:
        """Takes over what `learned` gave, as it was read from a file.

        Raises:
            KeyError, TypeError, ValueError: it is something else.
        """

    # Methods that a subclass can use.

    def read(self, observation: Any) -> tuple[int, int]:
        """The stones in an observation, as bits: (own, opp)."""
        key = observation.tobytes() if isinstance(observation, np.ndarray) else int(observation)
        bits = self._seen.get(key)
        if bits is None:
            bits = self._seen[key] = read_observation(self.game, observation)
        return bits

    def scheduled(self, schedule: Schedule) -> float:
        """The value of a schedule now: a number itself; of several, the one for the part of the run that is reached."""
        if isinstance(schedule, (int, float)):
            return schedule
        return schedule[-1] if self._run is None else self._run.part(schedule, self._counted())

    def draw(self) -> int:
        """A number in [0, 2**63) of the learner's own randomness."""
        return int(draw(self._random_state))

    def explores(self, epsilon: Schedule) -> bool:
        """True with the probability that the schedule gives now."""
        return explores(self._random_state, self.scheduled(epsilon))

    # The policy.

    def act(self, position: Position, seed: int) -> int:
        """The best action known; the seed does not matter.

        Raises:
            ValueError: the position is of another game, or finished.
        """
        self._check_game(position.game)
        return self.best_action(position.own, position.opp, position.legal_actions)

    def _check_game(self, game: Game) -> None:
        if game != self.game:
            raise ValueError(f"{self} has learned {describe_game(self.game)}, and nothing of {describe_game(game)}")

    def _predicted(self, observation: Any, deterministic: bool, action_masks: npt.ArrayLike | None) -> int:
        own, opp = read_observation(self.game, observation)
        allowed = allowed_actions(Position(self.game, own, opp), action_masks)
        if not deterministic and self.explores(getattr(self, "epsilon", 0.0)):
            return allowed[self.draw() % len(allowed)]
        return self.best_action(own, opp, allowed)

    # Training.

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
        """Trains for N steps or episodes; a learner made by `preset` needs neither.

        On a single board the current episode is always finished; Ctrl-C stops after it (the compiled loop within about
        a second) and keeps what is learned. On a vector environment the run ends with the step in which the
        number is reached; `resume` continues the games then unfinished, another `learn` drops them.

        Args:
            total_timesteps: the number of steps.
            callback: called after each episode with the learner; returning False ends the run. If it has an attribute
                `called_every`, it is called at least whenever the number of episodes is a multiple of that.
            progress_bar: if progress is shown.
            total_episodes: the number of episodes, instead of steps.
            checkpoint: a file to save to now and then, and at the end.
            checkpoint_seconds: the time between two saves.

        Raises:
            ValueError: both totals are given, or neither without a preset, or one is not a positive int.
            OSError: the checkpoint cannot be written at the start, or at the end; the message then names the temporary
                file that holds what was learned.
        """
        if total_timesteps is None and total_episodes is None:
            total_episodes = self._preset_episodes
        given = {"timesteps": total_timesteps, "episodes": total_episodes}
        named = [(counter, total) for counter, total in given.items() if total is not None]
        if len(named) != 1 or type(named[0][1]) is not int or named[0][1] < 1:
            raise ValueError(f"give total_timesteps or total_episodes, a positive int, not {given}")
        [(counter, total)] = named
        begin: int = getattr(self, f"num_{counter}")
        self._run = Run(counter, begin, begin + total)
        board: Any = self.env.unwrapped
        self._run_env = board.describe()
        self._abandon_games()
        return self.resume(callback, progress_bar, checkpoint=checkpoint, checkpoint_seconds=checkpoint_seconds)

    def resume(
        self,
        callback: Callback | None = None,
        progress_bar: bool = True,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 60.0,
    ) -> Self:
        """Continues a run that was stopped, here or in the file that was loaded, to its end.

        The result equals that of an unbroken run, to the last bit.

        Raises:
            ValueError: there is no such run, or it began in an environment of other settings.
        """
        if self._run is None:
            raise ValueError("there is no run to continue; call learn()")
        board: Any = self.env.unwrapped
        if self._run_env != board.describe():
            raise ValueError(f"the run began in the environment {self._run_env}, and this one is {board.describe()}")
        run = self._run
        every: int = 1 if callback is not None else NO_LIMIT
        every = getattr(callback, "called_every", every)
        kept = Checkpoint(self.save, checkpoint, checkpoint_seconds)
        consistent = True
        try:
            bar = run_bar(str(self), run.end - run.begin, progress_bar, "games", self._progress)
            with interruptible() as asked_to_stop, bar as show:
                while self._counted() < run.end:
                    consistent, goes_on = False, True
                    for _ in self._play(1 if kept.due else every - self.num_episodes % every):
                        goes_on &= callback is None or callback(self) is not False
                    consistent = True  # what the callback did to the learner is part of the run
                    show()
                    kept.save_if_due()
                    if not goes_on:
                        break
                    if asked_to_stop():
                        print(f"stopped after {self.num_episodes:,} episodes; nothing is lost", file=sys.stderr)
                        break
        finally:
            if not consistent:
                self._abandon_games()  # unfinished games are inconsistent after an exception
            else:
                kept.save_at_the_end()
        return self

    @property
    def run_end(self) -> int | None:
        """The number of games learned from when the run is over; None if no run counts games."""
        return self._run.end if self._run is not None and self._run.counter == "episodes" else None

    def _play(self, games: int) -> Iterator[None]:
        """Plays until at least one game is over, or nothing is left to do for now.

        Args:
            games: the most games that may end before the callback has to be called.

        Yields:
            After each game, or after several if `games` allows; they are counted then.
        """
        self._play_by_steps()
        yield

    def _play_by_steps(self) -> None:
        """Plays a game through the environment's `reset` and `step`, learns from it and counts it."""
        observation, info = self._reset()
        self.begin_game(observation, info)
        steps, over = 0, False
        while not over:
            action = self.choose_action(observation, info)
            observation, reward, terminated, truncated, info = self.env.step(action)
            settled = self.learn_from_result(observation, float(reward), terminated, truncated, info)
            steps += 1
            over = terminated or truncated or bool(settled)
        self._count(1, steps)

    def _reset(self, chosen: npt.NDArray[np.bool_] | None = None) -> tuple[Any, dict[str, Any]]:
        """Resets the environment, seeded the first time; only the `chosen` boards if that is not None."""
        seed, self._env_seed = self._env_seed, None
        options: dict[str, Any] = {} if chosen is None else {"reset_mask": chosen}
        options |= self._reset_options()
        return self.env.reset(seed=seed, options=options or None)

    def _reset_options(self) -> dict[str, Any]:
        """Options of the next reset."""
        return {}

    def _count(self, games: int, steps: int) -> None:
        self.num_timesteps += steps
        self.num_episodes += games

    def _counted(self) -> int:
        counted: int = getattr(self, f"num_{self._run.counter}") if self._run else 0
        return counted

    def _progress(self) -> tuple[int, int, str]:
        """The state of the progress bar."""
        epsilon = self.scheduled(getattr(self, "epsilon", 0.0))
        done = self._counted() - (self._run.begin if self._run else 0)
        return done, self.num_episodes, f"epsilon {epsilon:.2f} {self.status}"

    def _abandon_games(self) -> None:
        """Drops the games that are unfinished between two calls of `_play`."""

    # The file.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything, the state of a run included, to an .npz file (see `tictac_env.storage`)."""
        board: Any = self.env.unwrapped
        learned = self.learned()
        arrays = {name: found for name, found in learned.items() if isinstance(found, np.ndarray)}
        meta = {
            "game": describe_game(self.game),
            "settings": {name: getattr(self, name) for name in self._setting_names()},
            "num_timesteps": self.num_timesteps,
            "num_episodes": self.num_episodes,
            "random": int(self._random_state[0]),
            "env_seed": self._env_seed,
            "run": self._run,
            "env": board.describe(),
            "board": board.state_dict(),
            "learned": {name: found for name, found in learned.items() if name not in arrays},
        }
        save_arrays(path, self._kind(), meta, arrays | self._games_under_way())

    @classmethod
    def load(cls, path: str | os.PathLike[str], env: Environment | str | None = None) -> Self:
        """The learner that was saved.

        Args:
            path: the file.
            env: to continue learning; without it a default environment of the same game, in the same seats.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged, holds another kind of learner, or its game is not that of `env`.
        """
        with reading(path, cls._kind(), f"checkpoint of {cls.__name__}", cls._most_bytes) as (meta, arrays):
            game = game_of(meta["game"])
            env = default_env(game, meta["env"], meta["board"]) if env is None else env
            learner = cls(env, **meta["settings"])
            if learner.game != game:
                raise ValueError(f"it was trained on {meta['game']}, not on the game of the environment")
            learner.set_learned(dict(meta["learned"]) | arrays)
            learner.num_timesteps = whole("num_timesteps", meta["num_timesteps"], NO_LIMIT)
            learner.num_episodes = whole("num_episodes", meta["num_episodes"], NO_LIMIT)
            learner._random_state[0] = whole("random", meta["random"], STATES)
            learner._env_seed = None if meta["env_seed"] is None else whole("env_seed", meta["env_seed"])
            if meta["run"] is not None:
                counter, begin, end = meta["run"]
                begin, end = whole("begin", begin, NO_LIMIT), whole("end", end, NO_LIMIT)
                learner._run = Run(one_of("counter", counter, COUNTERS), begin, whole("length", end - begin) + begin)
            learner._run_env = dict(meta["env"])
            board: Any = learner.env.unwrapped
            if meta["env"].get("num_envs") == board.describe().get("num_envs"):
                learner._set_games_under_way(arrays, meta["board"])
                board.load_state_dict(meta["board"])
        return learner

    @classmethod
    def _most_bytes(cls, meta: dict[str, Any]) -> int:
        """The most bytes that the arrays of a file of this meta data may have."""
        return LARGEST

    def _games_under_way(self) -> Arrays:
        """The games that are unfinished between two calls of `_play`."""
        return {}

    def _set_games_under_way(self, arrays: Arrays, board: Mapping[str, Any]) -> None:
        """Takes over what `_games_under_way` gave; `board` is the environment's state."""

    @classmethod
    def _kind(cls) -> str:
        return f"tictac_agents.{cls.__name__}"

    @classmethod
    def _setting_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls).parameters if name != "env"]


def default_env(game: Game, described: Mapping[str, Any], board: Mapping[str, Any]) -> Environment:
    """An environment of the game, with the seats and the width of the one described, whose saved state is `board`."""
    known: Any = describe_game(game)
    known = {"play_as": described["play_as"], **({"id": known} if isinstance(known, str) else known)}
    if "num_envs" in described:
        count = whole("num_envs", described["num_envs"])
        if any(len(row) != count for row in board["boards"]):
            raise ValueError(f"num_envs is {count}, but it does not hold {count} boards")
        return gym.make_vec(num_envs=count, **known)
    return gym.make(**known)
