"""The settings of the deep agents, a dataclass for each algorithm."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tictac_agents.settings import Settings
from tictac_env.checks import one_of, positive, schedule
from tictac_env.games import did_you_mean

if TYPE_CHECKING:
    from tictac_env.wrappers.sb3_vec_env import SB3VecEnv


UNKNOWN = "unknown"
"""The game of boards that are not ours, and of those that are not known yet."""


@dataclass(frozen=True, kw_only=True)
class DeepSettings(Settings):
    """The boards that a deep agent learns on, and for how long; each algorithm adds its own settings.

    Raises:
        ValueError: a setting is of a wrong type or out of its range.

    Attributes:
        num_envs: the number of boards stepped together.
        obs_type: the network's observations, "planes" or "board".
        total_timesteps: the steps of the run, all boards together; None leaves it to the caller of `learn`.
        policy: "MlpPolicy"; or "AfterstatePolicy", which evaluates the position that each action leads to.
        policy_kwargs: the policy's keywords, with classes by name: {"net_arch": [64, 64], "activation_fn": "ReLU",
            "optimizer_class": "SGD"}. Features too: {"features_extractor_class": "LineFeatures",
            "features_extractor_kwargs": {"game": "ConnectFour-v0"}}, or "ConvFeatures".
        gamma: the discount, in [-1, 1]: at most 0 if the agent plays both sides, as the next value is then the other
            side's, and at least 0 against an opponent. None for -1 and, as in Stable-Baselines3, for 0.99.
    """

    RUN_SETTINGS = (*Settings.RUN_SETTINGS, "num_envs", "obs_type", "total_timesteps", "policy")
    LIMITS: ClassVar[dict[str, tuple[float, float]]] = {
        **dict.fromkeys(("num_envs", "total_timesteps", "batch_size", "n_steps"), (1, math.inf)),
        **dict.fromkeys(("learning_rate", "max_grad_norm"), (0, math.inf)),
        "gamma": (-1, 1),
    }
    """The least and the largest value of a setting that is a number or a pair of numbers."""
    num_envs: int = 1
    obs_type: str = "planes"
    total_timesteps: int | None = None
    policy: str = "MlpPolicy"
    policy_kwargs: Mapping[str, Any] = field(default_factory=dict)
    gamma: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, (low, high) in self.LIMITS.items():
            value = getattr(self, name, None)
            if value is not None:
                schedule(name, value, low, high)
        if self.gamma and self.game != UNKNOWN and (self.gamma < 0) != (self.opponent is None):
            sign, whose = ("most", "other side's") if self.opponent is None else ("least", "agent's own")
            raise ValueError(
                f"gamma must be at {sign} 0 with opponent={self.opponent!r}, as the next value is the {whose}, not "
                f"{self.gamma}; left out, it follows"
            )

    @property
    def discount(self) -> float:
        """`gamma`, or what follows from the opponent."""
        if self.gamma is not None:
            return self.gamma
        return -1.0 if self.opponent is None else 0.99

    def _following(self) -> dict[str, Any]:
        sign = 1 if self.opponent is None else -1
        return super()._following() | {"gamma": self.gamma and math.copysign(self.gamma, sign)}

    def boards(self, **changes: Any) -> SB3VecEnv:
        """The boards to learn on; `changes` replace keywords of `SB3VecEnv`."""
        from tictac_env.wrappers.sb3_vec_env import SB3VecEnv

        return SB3VecEnv(self.rules, **{"num_envs": self.num_envs, **self.env_keywords(), **changes})


@dataclass(frozen=True, kw_only=True)
class DQNSettings(DeepSettings):
    """The settings of `tictac_agents.DQN`. `double`, `symmetry`, `target_epsilon` and `ema_decay` are ours. The others
    are Stable-Baselines3's, with its defaults but for the learning rate.

    Attributes:
        learning_rate: the step size, at least 0; a pair goes linearly from the first to the second over the run.
        buffer_size: the steps that the replay buffer holds, at least 1.
        learning_starts: the steps that are played at random before the first gradient step.
        batch_size: the steps of the buffer that each gradient step uses.
        tau: the share of the network in each update of the target network, in [0, 1]; 1 for a copy.
        train_freq: the steps of all boards between two updates; with "episode", the games.
        gradient_steps: the gradient steps of an update; -1 for as many as steps were played.
        n_steps: the steps over which returns are summed up; more than 1 needs `symmetry` False.
        target_update_interval: the steps of the environment between two updates of the target network.
        exploration_fraction: the share of the run over which exploration falls, in [0, 1].
        exploration_initial_eps: the chance of a random action at first, in [0, 1].
        exploration_final_eps: the chance of a random action in the end, in [0, 1].
        max_grad_norm: longer gradients are cut to this length.
        double: True if the network chooses the action whose value the target network gives (van Hasselt et al., "Deep
            reinforcement learning with double Q-learning", 2016).
        symmetry: True to show each replayed step under a random symmetry of the board.
        target_epsilon: the epsilon, in [0, 1], of the epsilon-greedy policy whose expected value is the target: that of
            expected Sarsa (van Seijen et al., "A theoretical and empirical analysis of expected Sarsa", 2009),
            (1 - epsilon) * max + epsilon * mean over the legal actions. In self-play this separates actions that are
            equal against perfect play: those after which the other side errs more often are worth more. Nothing is
            drawn, so the targets have no noise, unlike those of games against random play.
        ema_decay: if not 0, greedy play uses an exponential moving average of the weights (Polyak averaging), of which
            each gradient step keeps this share, in [0, 1): 0.999 averages over about the last 1,000.
    """

    LIMITS: ClassVar[dict[str, tuple[float, float]]] = {
        **DeepSettings.LIMITS,
        **dict.fromkeys(("buffer_size", "target_update_interval"), (1, math.inf)),
        **dict.fromkeys(("tau", "target_epsilon", "ema_decay", "exploration_fraction"), (0, 1)),
        **dict.fromkeys(("exploration_initial_eps", "exploration_final_eps"), (0, 1)),
        "learning_starts": (0, math.inf),
        "gradient_steps": (-1, math.inf),
    }
    learning_rate: float | tuple[float, float] = 1e-3
    buffer_size: int = 1_000_000
    learning_starts: int = 100
    batch_size: int = 32
    tau: float = 1.0
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
    target_epsilon: float = 0.0
    ema_decay: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ema_decay == 1:
            raise ValueError("ema_decay must be below 1, at which the average would never move")
        positive("train_freq", self._frequency[0])
        one_of("the unit of train_freq", self._frequency[1], ("step", "episode"))

    @property
    def _frequency(self) -> tuple[int, str]:
        return self.train_freq if isinstance(self.train_freq, tuple) else (self.train_freq, "step")

    @property
    def rollout(self) -> int:
        """The steps of all boards between two updates; a run ends with a whole rollout.

        Raises:
            ValueError: `train_freq` counts games, whose lengths are not known beforehand.
        """
        steps, unit = self._frequency
        if unit == "episode":
            raise ValueError(f"train_freq={self.train_freq} counts games, not steps")
        return steps * self.num_envs

    @property
    def update_to_data_ratio(self) -> float:
        """Gradient steps for each environment step; the errors are those of `rollout`."""
        return 1.0 if self.gradient_steps == -1 else self.gradient_steps / self.rollout


@dataclass(frozen=True, kw_only=True)
class MaskablePPOSettings(DeepSettings):
    """The settings of `tictac_agents.MaskablePPO`, with sb3-contrib's defaults.

    Attributes:
        learning_rate: the step size, at least 0; a pair goes linearly from the first to the second over the run.
        n_steps: the steps of each board between two updates.
        batch_size: the steps that each gradient step uses; None for all that were played.
        n_epochs: the times that an update uses each step.
        gae_lambda: the lambda of generalised advantage estimation, in [0, 1].
        clip_range: the limit to the distance from 1 of an action's new probability by its old one, at least 0.
        normalize_advantage: True to bring the advantages of a batch to mean 0 and deviation 1.
        ent_coef: the weight of the policy's entropy in the loss.
        vf_coef: the weight of the value function's error in the loss.
        max_grad_norm: longer gradients are cut to this length.
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
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    normalize_advantage: bool = True
    ent_coef: float = 0.0
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    target_kl: float | None = None

    @property
    def rollout(self) -> int:
        """The steps of all boards between two updates; a run ends with a whole rollout."""
        return self.n_steps * self.num_envs

    @property
    def update_to_data_ratio(self) -> float:
        """Gradient steps for each environment step."""
        return self.n_epochs / (self.batch_size or self.rollout)


SELF_PLAY: dict[str, Any] = {"opponent": None, "play_as": "first", "illegal": "raise", "start": "reachable"}

# The best reply to random play wins 99.5 and 91.6 %, but play that can be beaten is worth only 0.002 less there, far
# below the noise of a random opponent. With target_epsilon=0.2 the least difference is 0.4.
SELF_PLAY_DQN = DQNSettings(
    **SELF_PLAY,
    num_envs=64,
    total_timesteps=300_000,
    learning_rate=(3e-3, 1e-5),
    buffer_size=200_000,
    learning_starts=5_000,
    batch_size=512,
    gamma=-1.0,
    train_freq=1,
    gradient_steps=4,
    target_update_interval=1_000,
    exploration_final_eps=0.3,
    target_epsilon=0.2,
    ema_decay=0.999,
    policy_kwargs={"net_arch": [128, 128], "optimizer_kwargs": {"fused": True}},
)

# gamma=-1 makes the generalised advantage alternate between the sides, as the rewards do. Each batch of 8,192 plies is
# used four times only: with 128 boards, 32 steps and 6 epochs one seed of two failed.
SELF_PLAY_PPO = MaskablePPOSettings(
    **SELF_PLAY,
    num_envs=512,
    total_timesteps=2_000_000,
    learning_rate=(2e-3, 1e-5),
    n_steps=16,
    batch_size=1024,
    n_epochs=4,
    gamma=-1.0,
    gae_lambda=0.9,
    ent_coef=0.03,
    policy_kwargs={"net_arch": [128, 128], "optimizer_kwargs": {"fused": True}},
)

CONNECT_FOUR: dict[str, Any] = {
    **SELF_PLAY,
    "game": "ConnectFour-v0",
    # From the empty board alone, self-play soon settles on few openings.
    "start": "random:8",
    # Evaluating the positions that actions lead to costs three to four times as much a ply as one value an action, and
    # after a minute, and ever after, errs less.
    "policy": "AfterstatePolicy",
    "gamma": -1.0,
    "policy_kwargs": {
        "features_extractor_class": "LineFeatures",
        "features_extractor_kwargs": {"game": "ConnectFour-v0"},
        "net_arch": [128, 128],
        "optimizer_kwargs": {"fused": True},
    },
}

CONNECT_FOUR_DQN = DQNSettings(
    **CONNECT_FOUR,
    num_envs=128,
    total_timesteps=2_000_000,
    learning_rate=(2e-3, 1e-5),
    buffer_size=200_000,
    learning_starts=10_000,
    batch_size=256,
    train_freq=1,
    target_update_interval=6_400,
    exploration_fraction=0.3,
    exploration_initial_eps=0.5,
    exploration_final_eps=0.1,
    double=False,
    ema_decay=0.999,
)

CONNECT_FOUR_PPO = MaskablePPOSettings(
    **CONNECT_FOUR,
    num_envs=512,
    total_timesteps=1_000_000,
    learning_rate=(2e-3, 1e-5),
    n_steps=16,
    batch_size=1024,
    n_epochs=3,
    gae_lambda=0.9,
    ent_coef=0.01,
)

TUNED: dict[str, dict[str, DeepSettings]] = {
    "TicTacToe-v0": {"DQN": SELF_PLAY_DQN, "MaskablePPO": SELF_PLAY_PPO},
    "ConnectFour-v0": {"DQN": CONNECT_FOUR_DQN, "MaskablePPO": CONNECT_FOUR_PPO},
}

PRESETS: dict[str, dict[str, DeepSettings]] = {
    "DQN": {
        # A gradient step of the publication is that of one move, 0.1 * 2/9 * error (the mean of nine squares); here it
        # is the mean of a batch of 64 moves, so a rate of 1.4 moves the weights as far for each move.
        "S2": DQNSettings(
            num_envs=512,
            opponent="random",
            play_as="alternate",
            obs_type="board",
            illegal="raise",
            rewards=(1, 1, 0),
            total_timesteps=4_000_000,
            learning_rate=1.4,
            buffer_size=100_000,
            learning_starts=10_000,
            batch_size=64,
            gamma=1.0,
            train_freq=1,
            gradient_steps=8,
            target_update_interval=512,
            exploration_fraction=0.7,
            exploration_initial_eps=0.7,
            exploration_final_eps=0.0,
            double=False,
            symmetry=False,
            policy_kwargs={"net_arch": [36, 36], "output": "sigmoid", "optimizer_class": "SGD"},
        ),
        # Games from the empty board spend a small network on the positions that matter most: from all reachable ones,
        # that of S2 could still be beaten after 300,000 steps.
        "S2-self-play": SELF_PLAY_DQN.changed(
            obs_type="board",
            start="empty",
            total_timesteps=400_000,
            policy_kwargs={"net_arch": [36, 36], "optimizer_kwargs": {"fused": True}},
        ),
        "S4-prequel": SELF_PLAY_DQN.changed(
            policy="AfterstatePolicy",
            obs_type="board",
            start="empty",
            double=False,
            policy_kwargs={"net_arch": [18, 18], "optimizer_kwargs": {"fused": True}},
        ),
    },
}


def tuned(algorithm: str, game: str = "TicTacToe-v0") -> Any:
    """The tuned settings of an algorithm for a game: `DQNSettings` or `MaskablePPOSettings`.

    Raises:
        ValueError: there are none; the message names the near ones.
    """
    return _of(_of(TUNED, game), algorithm)


def preset(algorithm: str, name: str) -> DeepSettings:
    """The settings of that name; errors as in `tuned`."""
    settings: DeepSettings = _of(_of(PRESETS, algorithm), name)
    return settings


def _of(table: Mapping[str, Any], key: str) -> Any:
    if key not in table:
        raise ValueError(f"there are no settings for {key!r}; {did_you_mean(key, table)}")
    return table[key]
