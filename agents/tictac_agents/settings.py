"""The settings of agents: in code, on the command line and in a checkpoint the same."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tictac_env.checks import one_of, positive, schedule
from tictac_env.games import UNFINISHED, Game, did_you_mean, game_of, get_game
from tictac_env.position import PositionBatch
from tictac_env.solver.enumerate import tabulate

if TYPE_CHECKING:
    from tictac_agents.deep.sb3_vec_env import SB3VecEnv

STARTS = ("empty", "reachable")
ENV_KEYWORDS = ("opponent", "play_as", "illegal", "rewards", "obs_type")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The games that an agent learns from; each kind of agent adds its own settings.

    Attributes:
        game: its name; or, for a `KInARow-v0`, its sizes by name.
        opponent: a policy's name; None where the agent plays both sides.
        play_as: "first", "second", "random" or "alternate".
        illegal: what an illegal action does, "lose" or "raise".
        rewards: for a win, a draw and a loss, and if there is a fourth, for each step that does not end the game.
        start: where games begin: "empty", or "reachable" for any unfinished position of a game small enough to
            tabulate, all alike.
    """

    OF_THE_RUN: ClassVar[tuple[str, ...]] = ("game", "opponent", "play_as", "illegal", "rewards", "start")
    """The settings that are not keywords of the algorithm."""
    game: str | Mapping[str, Any] = "TicTacToe-v0"
    opponent: str | None = "random"
    play_as: str = "first"
    illegal: str = "lose"
    rewards: tuple[float, ...] = (1.0, 0.0, -1.0)
    start: str = "empty"

    def __post_init__(self) -> None:
        hints = typing.get_type_hints(type(self))
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, list):  # as JSON has it
                value = tuple(value)
                object.__setattr__(self, one.name, value)
            if not fits(value, hints[one.name]):
                raise ValueError(f"{one.name} must be {one.type}, not {value!r}")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The settings that `to_dict` gave.

        Raises:
            ValueError: there are others among them, named with the near ones, or a value is of a wrong type.
        """
        names = [one.name for one in fields(cls)]
        if unknown := set(values) - set(names):
            name = min(unknown)
            raise ValueError(f"{cls.__name__} has no {name!r}; {did_you_mean(name, names)}")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """All settings, for JSON."""
        return asdict(self)

    def changed(self, **changes: Any) -> Self:
        """These settings but for `changes`; errors are those of `from_dict`."""
        return type(self).from_dict({one.name: getattr(self, one.name) for one in fields(self)} | changes)

    def keywords(self) -> dict[str, Any]:
        """The algorithm's own settings, as its constructor takes them."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in self.OF_THE_RUN}

    def env_keywords(self) -> dict[str, Any]:
        """What `gym.make` takes, besides the game.

        Raises:
            ValueError: `start` is not to be made from its name.
        """
        start = reachable_positions(self.rules) if one_of("start", self.start, STARTS) == "reachable" else None
        names = [name for name in ENV_KEYWORDS if name in self.OF_THE_RUN]
        return {name: getattr(self, name) for name in names} | {"start": start}

    @property
    def rules(self) -> Game:
        """The game's rule book.

        Raises:
            ValueError: there is no such game.
        """
        return game_of(self.game)


@dataclass(frozen=True, kw_only=True)
class DeepSettings(Settings):
    """The boards that a deep agent learns on, and for how long; each algorithm adds its own settings.

    Raises:
        ValueError: a setting is of a wrong type or out of its range.

    Attributes:
        num_envs: how many boards are stepped together.
        obs_type: what the network sees, "planes" or "board".
        total_timesteps: of the run, all boards together; None where only the caller of `learn` knows.
        policy: "MlpPolicy", or for DQN "AfterstatePolicy".
        policy_kwargs: the policy's keywords. Classes stand by their names: {"net_arch": [64, 64], "activation_fn":
            "ReLU", "optimizer_class": "SGD"}.
    """

    OF_THE_RUN = (*Settings.OF_THE_RUN, "num_envs", "obs_type", "total_timesteps", "policy")
    LIMITS: ClassVar[dict[str, tuple[float, float]]] = {
        **dict.fromkeys(("num_envs", "total_timesteps", "batch_size", "n_steps"), (1, math.inf)),
        **dict.fromkeys(("learning_rate", "max_grad_norm"), (0, math.inf)),
        "gamma": (-1, 1),
    }
    """The least and the largest value of a number, or of each of several."""
    num_envs: int = 1
    obs_type: str = "planes"
    total_timesteps: int | None = None
    policy: str = "MlpPolicy"
    policy_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, (low, high) in self.LIMITS.items():
            value = getattr(self, name, None)
            if value is not None:
                schedule(name, value, low, high)

    def boards(self, **changes: Any) -> SB3VecEnv:
        """The boards to learn on; `changes` replace keywords of `SB3VecEnv`."""
        from tictac_agents.deep.sb3_vec_env import SB3VecEnv

        return SB3VecEnv(self.rules, **{"num_envs": self.num_envs, **self.env_keywords(), **changes})


@dataclass(frozen=True, kw_only=True)
class DQNSettings(DeepSettings):
    """What `tictac_agents.DQN` takes. `double`, `symmetry`, `tremble` and `averaging` are ours; all others, and what
    they are unless given, are Stable-Baselines3's, the step size excepted.

    Attributes:
        learning_rate: the step size, at least 0; of a pair, from the first to the second over the run.
        buffer_size: how many steps the replay buffer holds, at least 1.
        learning_starts: how many steps are played at random before the first gradient step.
        batch_size: how many steps each gradient step is made of.
        tau: the share of the network in the target network's update, in [0, 1]; 1 for a copy.
        gamma: the discount, in [-1, 1]; -1 where the agent plays both sides.
        train_freq: how many steps of all boards lie between two times of learning; with "episode", how many games.
        gradient_steps: how many at a time; -1 for as many as steps were played.
        n_steps: over how many steps returns are summed up; more than 1 needs `symmetry` False.
        target_update_interval: how many steps of the environment lie between two updates of the target network.
        exploration_fraction: the share of the run over which exploration falls, in [0, 1].
        exploration_initial_eps: the chance of a random action at first, in [0, 1].
        exploration_final_eps: at last.
        max_grad_norm: gradients longer than that are cut.
        double: whether the network chooses the action whose value the target network gives (van Hasselt et al., "Deep
            reinforcement learning with double Q-learning", 2016).
        symmetry: whether what is replayed is shown under a random symmetry of the board.
        tremble: the chance, in [0, 1], with which the target supposes the next action to be a random legal one: it is
            then (1 - tremble) * max + tremble * mean, that of expected Sarsa (van Seijen et al., "A theoretical and
            empirical analysis of expected Sarsa", 2009). In self-play this tells actions apart that are equal against
            perfect play: those that the other side more often goes wrong after are worth more. Nothing is drawn, so
            unlike in games against random play the targets have no noise.
        averaging: if not 0, greedy play uses an exponential average of the weights, in which each gradient step keeps
            this share of the old, in [0, 1): 0.999 averages over about the last 1,000.
    """

    LIMITS: ClassVar[dict[str, tuple[float, float]]] = {
        **DeepSettings.LIMITS,
        **dict.fromkeys(("buffer_size", "target_update_interval"), (1, math.inf)),
        **dict.fromkeys(("tau", "tremble", "averaging", "exploration_fraction"), (0, 1)),
        **dict.fromkeys(("exploration_initial_eps", "exploration_final_eps"), (0, 1)),
        "learning_starts": (0, math.inf),
        "gradient_steps": (-1, math.inf),
    }
    learning_rate: float | tuple[float, float] = 1e-3
    buffer_size: int = 1_000_000
    learning_starts: int = 100
    batch_size: int = 32
    tau: float = 1.0
    gamma: float = 0.99
    train_freq: int | tuple[int, str] = 4
    gradient_steps: int = 1
    n_steps: int = 1
    target_update_interval: int = 10_000
    exploration_fraction: float = 0.1
    exploration_initial_eps: float = 1.0
    exploration_final_eps: float = 0.05
    max_grad_norm: float = 10
    double: bool = True
    symmetry: bool = True
    tremble: float = 0.0
    averaging: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.averaging == 1:
            raise ValueError("averaging must be below 1, where the average would never move")
        positive("train_freq", self._frequency[0])
        one_of("the unit of train_freq", self._frequency[1], ("step", "episode"))

    @property
    def _frequency(self) -> tuple[int, str]:
        """`train_freq` with its unit."""
        return self.train_freq if isinstance(self.train_freq, tuple) else (self.train_freq, "step")

    @property
    def update_to_data_ratio(self) -> float:
        """Gradient steps for each environment step.

        Raises:
            ValueError: it learns so often after whole games, of which nobody knows the length.
        """
        if self.gradient_steps == -1:
            return 1.0
        steps, unit = self._frequency
        if unit == "episode":
            raise ValueError(f"train_freq={self.train_freq} says nothing of steps")
        return self.gradient_steps / (steps * self.num_envs)


@dataclass(frozen=True, kw_only=True)
class MaskablePPOSettings(DeepSettings):
    """What `tictac_agents.MaskablePPO` takes; what they are unless given is sb3-contrib's.

    Attributes:
        learning_rate: the step size, at least 0; of a pair, from the first to the second over the run.
        n_steps: how many steps of each board lie between two times of learning.
        batch_size: how many steps each gradient step is made of; None for all that were played.
        n_epochs: how often each step is used.
        gamma: the discount, in [-1, 1]; -1 where the agent plays both sides.
        gae_lambda: of the generalised advantage, in [0, 1].
        clip_range: of the ratio of the new chance of an action to the old, at least 0.
        normalize_advantage: whether the advantages of a batch are brought to mean 0 and deviation 1.
        ent_coef: the weight of the policy's entropy in the loss.
        vf_coef: the weight of the values' error.
        max_grad_norm: gradients longer than that are cut.
        target_kl: the divergence from the old policy at which the epochs end; None for never.
    """

    LIMITS: ClassVar[dict[str, tuple[float, float]]] = {
        **DeepSettings.LIMITS,
        **dict.fromkeys(("clip_range", "ent_coef", "vf_coef", "target_kl"), (0, math.inf)),
        "n_epochs": (1, math.inf),
        "gae_lambda": (0, 1),
    }
    learning_rate: float | tuple[float, float] = 3e-4
    n_steps: int = 2_048
    batch_size: int | None = 64
    n_epochs: int = 10
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    normalize_advantage: bool = True
    ent_coef: float = 0.0
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    target_kl: float | None = None

    @property
    def update_to_data_ratio(self) -> float:
        """Gradient steps for each environment step."""
        return self.n_epochs / (self.batch_size or self.n_steps * self.num_envs)


def reachable_positions(game: str | Game) -> PositionBatch:
    """All unfinished positions of a game, to start from: 4,520 on tic-tac-toe.

    Raises:
        ValueError: the game has too many to tabulate.
    """
    table = tabulate(get_game(game))
    unfinished = table.result == UNFINISHED
    return PositionBatch(table.game, table.own[unfinished], table.opp[unfinished])


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type as the settings are annotated with."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return any(fits(value, one) for one in inner)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        each = [inner[0]] * len(value) if inner[-1] is Ellipsis else list(inner)
        return len(each) == len(value) and all(map(fits, value, each))
    if isinstance(origin, type):  # a Mapping, or a Sequence of numbers
        return isinstance(value, origin) and not isinstance(value, str)
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)
