"""Base class of agents that learn through `reset` and `step`, for plain Python too."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from tictac_agents.base_learner import CHECKPOINT_SECONDS, Arrays, BaseLearner
from tictac_agents.predicts import Predicts, allowed_actions
from tictac_agents.settings import Schedule, Settings
from tictac_env.checks import whole
from tictac_env.games import Game, describe_game, gym_keywords
from tictac_env.observation import read_observation
from tictac_env.position import Position
from tictac_env.rng import STATES, UNIT, advance, mix, new_state
from tictac_env.storage import LARGEST

Environment = gym.Env[Any, Any] | gym.vector.VectorEnv[Any, Any, Any]
Callback = Callable[["Learner"], bool | None]


def draw(random: npt.NDArray[np.int64]) -> int:
    """A number in [0, 2**63); `random` (1,) is the RNG state, an array so that kernels can advance it."""
    state = advance(int(random[0]))
    random[0] = state
    return mix(state)


def explores(random: npt.NDArray[np.int64], epsilon: float) -> bool:
    """True with probability epsilon."""
    return draw(random) * UNIT < epsilon


class Learner(Predicts, BaseLearner):
    """A learner that trains through `reset` and `step`, and is then a policy like any other.

    To write your own, in plain Python, subclass it and give

    - `choose_action` and `learn_from_result`: play in training, and learning;
    - `best_action`: play after training;
    - `forget`: clears what has been learned; call it at the end of the constructor;
    - `learned` and `set_learned`: the content of its file, as arrays and JSON.

    Settings of its own are a dataclass (see `tictac_agents.settings`). Draw from `draw` and `explores` only: a run that
    is stopped, saved and resumed then ends as an unbroken one, to the last bit.

    Args:
        env: an environment of ours (possibly wrapped), or its id, with sizes if any ("KInARow-v0:3x4-3"), which makes
            one against random play in which the learner's seat alternates.
        settings: a `SETTINGS` of the class; None for the defaults.

    Attributes:
        num_timesteps: the number of steps learned from; those of a game count when it is over.
        num_episodes: the number of episodes.

    Raises:
        ValueError: `env` is not one of ours.

    Example:
        >>> from tictac_agents import Learner, QLearning
        >>> issubclass(QLearning, Learner), QLearning("TicTacToe-v0", seed=0).learn(total_episodes=10).num_episodes
        (True, 10)
    """

    COUNTERS = ("timesteps", "episodes")
    ON_VECTOR_ENVS: ClassVar[bool] = False
    budget = "no search; a table"
    num_timesteps: int
    num_episodes: int

    def __init__(self, env: Environment | str, settings: Settings | None = None) -> None:
        super().__init__(self.SETTINGS() if settings is None else settings)
        self.env = gym.make(**gym_keywords(env), play_as="alternate") if isinstance(env, str) else env
        if not hasattr(self.env.unwrapped, "game"):
            raise ValueError(f"{self.name} learns on this package's boards, not on {self.env}")
        if isinstance(self.env, gym.vector.VectorEnv) and not self.ON_VECTOR_ENVS:
            raise ValueError(f"{self.name} learns on one board, not on the vector environment {self.env}")
        self.game: Game = self.env.unwrapped.game
        # The learner draws from a generator of its own. Its seed also seeds the environment, at the first reset alone:
        # later games draw on from there.
        self._random_state = np.array([new_state(self.settings.seed)], np.int64)
        self._env_seed = self.settings.seed
        self._run_env: dict[str, Any] = {}  # the description of the run's environment
        self._seen: dict[int | bytes, tuple[int, int]] = {}  # the stones of each observation met, as reading costs time

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
            True if nothing more can be learned from the game, so that the next one begins.
        """

    @abstractmethod
    def best_action(self, own: int, opp: int, allowed: Sequence[int]) -> int:
        """The best of the `allowed` actions in a position, as far as the learner knows.

        Args:
            own: the stones of the side to move, as bits (see `Position`).
            opp: the other side's stones.
            allowed: legal actions, at least one, in ascending order.
        """

    @abstractmethod
    def forget(self) -> None:
        """Forgets what has been learned; counters, the RNG state and the run stay."""

    @abstractmethod
    def learned(self) -> dict[str, Any]:
        """The learned values by name: arrays, and anything that JSON can hold."""

    @abstractmethod
    def set_learned(self, learned: dict[str, Any]) -> None:
        """Restores the values that `learned` returned, as read from a file.

        Raises:
            KeyError, TypeError, ValueError: they are not such values.
        """

    # Methods that a subclass can use.

    def read(self, observation: Any) -> tuple[int, int]:
        """The stones in an observation, as bits: (own, opp)."""
        key = observation.tobytes() if isinstance(observation, np.ndarray) else int(observation)
        bits = self._seen.get(key)
        if bits is None:
            bits = self._seen[key] = read_observation(self.game, observation)
        return bits

    def draw(self) -> int:
        """A number in [0, 2**63) from the learner's own generator."""
        return int(draw(self._random_state))

    def explores(self, epsilon: Schedule) -> bool:
        """True with the probability that the schedule gives now."""
        return explores(self._random_state, self.scheduled(epsilon))

    # The policy.

    def act(self, position: Position, seed: int) -> int:
        """The best action as far as the learner knows; the seed does not matter.

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
        if not deterministic and self.explores(getattr(self.settings, "epsilon", 0.0)):
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
        checkpoint_seconds: float = CHECKPOINT_SECONDS,
    ) -> Self:
        """Trains for N steps or episodes; a learner made by `preset` has a default length.

        On a single board the current episode is always finished; Ctrl-C stops after it (the compiled loop within about
        a second) and keeps the learned values. On a vector environment the run ends with the step that reaches the
        number; `resume` continues the games that are then unfinished, another `learn` drops them.

        Args:
            total_timesteps: the number of steps.
            callback: called after each episode with the learner; returning False ends the run. If it has an attribute
                `called_every`, it is called at least whenever the number of episodes is a multiple of that.
            progress_bar: True to show progress.
            total_episodes: the number of episodes, instead of steps.
            checkpoint: a file to save to at intervals, and at the end.
            checkpoint_seconds: the time between two saves.

        Raises:
            ValueError: both totals are given, or neither without a preset, or one is not a positive int.
            OSError: the checkpoint cannot be written at the start, or at the end; the message then names the temporary
                file that holds the learner.
        """
        if total_timesteps is None and total_episodes is None:
            total_episodes = self._total
        totals = {"timesteps": total_timesteps, "episodes": total_episodes}
        chosen = [(counter, total) for counter, total in totals.items() if total is not None]
        if len(chosen) != 1 or type(chosen[0][1]) is not int or chosen[0][1] < 1:
            raise ValueError(f"give total_timesteps or total_episodes, a positive int, not {totals}")
        self._begin_run(*chosen[0])
        board: Any = self.env.unwrapped
        self._run_env = board.describe()
        return self.resume(callback, progress_bar, checkpoint=checkpoint, checkpoint_seconds=checkpoint_seconds)

    def resume(self, callback: Any = None, progress_bar: bool = True, **keywords: Any) -> Self:
        board: Any = self.env.unwrapped
        if self._run is not None and self._run_env != board.describe():
            raise ValueError(f"the run began in the environment {self._run_env}, and this one is {board.describe()}")
        return super().resume(callback, progress_bar, **keywords)

    def _play(self, games: int) -> Iterator[None]:
        self._play_by_steps()
        yield

    def _play_by_steps(self) -> None:
        """Plays a game through the environment's `reset` and `step`, learns from it and counts it."""
        # The loop of every learner: choose, step, learn. The algorithm may end a game before the environment does, once
        # nothing more can be learned from it.
        observation, info = self._reset()
        self.begin_game(observation, info)
        steps, over = 0, False
        while not over:
            action = self.choose_action(observation, info)
            observation, reward, terminated, truncated, info = self.env.step(action)
            decided = self.learn_from_result(observation, float(reward), terminated, truncated, info)
            steps += 1
            over = terminated or truncated or bool(decided)
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

    def _progress_text(self) -> str:
        return f"epsilon {self.scheduled(getattr(self.settings, 'epsilon', 0.0)):.2f} {self.status}"

    # The file.

    @classmethod
    def load(cls, path: str | os.PathLike[str], env: Environment | str | None = None) -> Self:
        """The learner that was saved.

        Args:
            path: the file.
            env: the environment to continue learning on; None for a default one of the same game and seats.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged, holds another kind of learner, or its game is not that of `env`.
        """

        def place(game: Game, meta: dict[str, Any]) -> Environment | str:
            return default_env(game, meta["env"], meta["board"]) if env is None else env

        return cls._load(path, place)

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        # Arrays are arrays of the file, all else is JSON. The environment's state is saved too: a resumed run plays the
        # same games.
        board: Any = self.env.unwrapped
        learned = self.learned()
        arrays = {name: value for name, value in learned.items() if isinstance(value, np.ndarray)}
        meta = {
            "random": int(self._random_state[0]),
            "env_seed": self._env_seed,
            "env": board.describe(),
            "board": board.state_dict(),
            "learned": {name: value for name, value in learned.items() if name not in arrays},
        }
        return meta, arrays | self._games_under_way()

    def _set_state(self, meta: dict[str, Any], arrays: Arrays) -> None:
        self.set_learned(dict(meta["learned"]) | arrays)
        self._random_state[0] = whole("random", meta["random"], STATES)
        self._env_seed = None if meta["env_seed"] is None else whole("env_seed", meta["env_seed"])
        self._run_env = dict(meta["env"])
        board: Any = self.env.unwrapped
        # Games under way continue on as many boards as they were played on; on others they are dropped.
        if meta["env"].get("num_envs") == board.describe().get("num_envs"):
            self._set_games_under_way(arrays, meta["board"])
            board.load_state_dict(meta["board"])

    def _most_bytes(self, meta: dict[str, Any]) -> int:
        return LARGEST

    def _games_under_way(self) -> Arrays:
        """The games that are unfinished between two calls of `_play`."""
        return {}

    def _set_games_under_way(self, arrays: Arrays, board: Mapping[str, Any]) -> None:
        """Restores the arrays that `_games_under_way` returned; `board` is the environment's state."""


def default_env(game: Game, described: Mapping[str, Any], board: Mapping[str, Any]) -> Environment:
    """An environment of the game with the seats and the number of boards of a described one, whose state is `board`."""
    named: Any = describe_game(game)
    keywords = {"play_as": described["play_as"], **({"id": named} if isinstance(named, str) else named)}
    if "num_envs" in described:
        count = whole("num_envs", described["num_envs"])
        if any(len(row) != count for row in board["boards"]):
            raise ValueError(f"num_envs is {count}, but it does not hold {count} boards")
        return gym.make_vec(num_envs=count, **keywords)
    return gym.make(**keywords)
