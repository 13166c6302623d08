"""The settings of the deep agents, which need no torch: a dataclass for each algorithm, tuned settings and presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tictac_agents.settings import Settings, setting
from tictac_env.checks import one_of


@dataclass(frozen=True, kw_only=True)
class DeepSettings(Settings):
    """The settings of all deep agents."""

    TOTAL = 100_000
    policy: str = setting(
        "MlpPolicy", '"MlpPolicy"; or "AfterstatePolicy", which evaluates the position that each action leads to'
    )
    policy_kwargs: Mapping[str, Any] = setting(
        {},
        'the keywords of the policy, with classes by name: {"net_arch": [64, 64], "activation_fn": "ReLU", '
        '"optimizer_class": "SGD"}; features too: {"features_extractor_class": "LineFeatures", '
        '"features_extractor_kwargs": {"game": "ConnectFour-v0"}}, or "ConvFeatures"',
    )
    gamma: float | None = setting(
        None,
        "the discount: at most 0 if the agent plays both sides, as the next value is then the "
        "other side's, and at least 0 against an opponent; None for -1 and, as in Stable-Baselines3, for 0.99",
        -1,
        1,
    )


SELF_PLAY: dict[str, Any] = {"opponent": None, "play_as": "first", "illegal": "raise", "start": "reachable"}

# The best reply to random play wins 99.5 and 91.6 %, but play that can be beaten is worth only 0.002 less there, far
# below the noise of a random opponent. With target_epsilon=0.2 the least difference is 0.4.
SELF_PLAY_DQN: dict[str, Any] = {
    **SELF_PLAY,
    "num_envs": 64,
    "total": 300_000,
    "learning_rate": (3e-3, 1e-5),
    "buffer_size": 200_000,
    "learning_starts": 5_000,
    "batch_size": 512,
    "gamma": -1.0,
    "train_freq": 1,
    "gradient_steps": 4,
    "target_update_interval": 1_000,
    "exploration_final_eps": 0.3,
    "target_epsilon": 0.2,
    "ema_decay": 0.999,
    "policy_kwargs": {"net_arch": [128, 128], "optimizer_kwargs": {"fused": True}},
}

# gamma=-1 makes the generalised advantage alternate between the sides, as the rewards do. Each batch of 8,192 plies is
# used four times only: with 128 boards, 32 steps and 6 epochs one seed of two failed.
SELF_PLAY_PPO: dict[str, Any] = {
    **SELF_PLAY,
    "num_envs": 512,
    "total": 2_000_000,
    "learning_rate": (2e-3, 1e-5),
    "n_steps": 16,
    "batch_size": 1024,
    "n_epochs": 4,
    "gamma": -1.0,
    "gae_lambda": 0.9,
    "ent_coef": 0.03,
    "policy_kwargs": {"net_arch": [128, 128], "optimizer_kwargs": {"fused": True}},
}

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

CONNECT_FOUR_DQN: dict[str, Any] = {
    **CONNECT_FOUR,
    "num_envs": 128,
    "total": 2_000_000,
    "learning_rate": (2e-3, 1e-5),
    "buffer_size": 200_000,
    "learning_starts": 10_000,
    "batch_size": 256,
    "train_freq": 1,
    "target_update_interval": 6_400,
    "exploration_fraction": 0.3,
    "exploration_initial_eps": 0.5,
    "exploration_final_eps": 0.1,
    "double": False,
    "ema_decay": 0.999,
}

CONNECT_FOUR_PPO: dict[str, Any] = {
    **CONNECT_FOUR,
    "num_envs": 512,
    "total": 1_000_000,
    "learning_rate": (2e-3, 1e-5),
    "n_steps": 16,
    "batch_size": 1024,
    "n_epochs": 3,
    "gae_lambda": 0.9,
    "ent_coef": 0.01,
}


@dataclass(frozen=True, kw_only=True)
class DQNSettings(DeepSettings):
    """The settings of `tictac_agents.DQN`. `double`, `symmetry`, `target_epsilon` and `ema_decay` are ours. The others
    are Stable-Baselines3's, with its defaults but for the learning rate.
    """

    TUNED: ClassVar = {"TicTacToe-v0": SELF_PLAY_DQN, "ConnectFour-v0": CONNECT_FOUR_DQN}
    PRESETS: ClassVar = {
        # A gradient step of the publication is that of one move, 0.1 * 2/9 * error (the mean of nine squares); here it
        # is the mean of a batch of 64 moves, so a rate of 1.4 moves the weights as far for each move.
        "S2": {
            "num_envs": 512,
            "opponent": "random",
            "play_as": "alternate",
            "obs_type": "board",
            "illegal": "raise",
            "rewards": (1, 1, 0),
            "total": 4_000_000,
            "learning_rate": 1.4,
            "buffer_size": 100_000,
            "learning_starts": 10_000,
            "batch_size": 64,
            "gamma": 1.0,
            "train_freq": 1,
            "gradient_steps": 8,
            "target_update_interval": 512,
            "exploration_fraction": 0.7,
            "exploration_initial_eps": 0.7,
            "exploration_final_eps": 0.0,
            "double": False,
            "symmetry": False,
            "policy_kwargs": {"net_arch": [36, 36], "output": "sigmoid", "optimizer_class": "SGD"},
        },
        # Games from the empty board spend a small network on the positions that matter most: from all reachable ones,
        # that of S2 could still be beaten after 300,000 steps.
        "S2-self-play": {
            **SELF_PLAY_DQN,
            "obs_type": "board",
            "start": "empty",
            "total": 400_000,
            "policy_kwargs": {"net_arch": [36, 36], "optimizer_kwargs": {"fused": True}},
        },
        "S4-prequel": {
            **SELF_PLAY_DQN,
            "policy": "AfterstatePolicy",
            "obs_type": "board",
            "start": "empty",
            "double": False,
            "policy_kwargs": {"net_arch": [18, 18], "optimizer_kwargs": {"fused": True}},
        },
    }
    learning_rate: float | tuple[float, float] = setting(
        1e-3, "the step size; a pair goes linearly from the first to the second over the run", 0
    )
    buffer_size: int = setting(1_000_000, "the steps that the replay buffer holds", 1)
    learning_starts: int = setting(100, "the steps that are played at random before the first gradient step", 0)
    batch_size: int = setting(32, "the steps of the buffer that each gradient step uses", 1)
    tau: float = setting(
        1.0, "the share of the network in each update of the target network, in [0, 1]; 1 for a copy", 0, 1
    )
    train_freq: int | tuple[int, str] = setting(
        4, 'the steps of all boards between two updates; with "episode", the games', 1
    )
    gradient_steps: int = setting(1, "the gradient steps of an update; -1 for as many as steps were played", -1)
    n_steps: int = setting(1, "the steps over which returns are summed up; more than 1 needs `symmetry` False", 1)
    target_update_interval: int = setting(
        10_000, "the steps of the environment between two updates of the target network", 1
    )
    exploration_fraction: float = setting(0.1, "the share of the run over which exploration falls", 0, 1)
    exploration_initial_eps: float = setting(1.0, "the chance of a random action at first", 0, 1)
    exploration_final_eps: float = setting(0.05, "the chance of a random action in the end", 0, 1)
    max_grad_norm: float = setting(10, "longer gradients are cut to this length", 0)
    double: bool = setting(
        True,
        "True if the network chooses the action whose value the target network gives (van Hasselt et al., "
        '"Deep reinforcement learning with double Q-learning", 2016)',
    )
    symmetry: bool = setting(True, "True to show each replayed step under a random symmetry of the board")
    target_epsilon: float = setting(
        0.0,
        "the epsilon of the epsilon-greedy policy whose expected value is the target: that of expected Sarsa "
        '(van Seijen et al., "A theoretical and empirical analysis of expected Sarsa", 2009), (1 - epsilon) * '
        "max + epsilon * mean over the legal actions; in self-play this separates actions that are equal "
        "against perfect play: those after which the other side errs more often are worth more; nothing is "
        "drawn, so the targets have no noise, unlike those of games against random play",
        0,
        1,
    )
    ema_decay: float = setting(
        0.0,
        "if not 0, greedy play uses an exponential moving average of the weights (Polyak averaging), of which "
        "each gradient step keeps this share, in [0, 1): 0.999 averages over about the last 1,000",
        0,
        1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ema_decay == 1:
            raise ValueError("ema_decay must be below 1, at which the average would never move")
        one_of("the unit of train_freq", self._frequency[1], ("step", "episode"))

    @property
    def _frequency(self) -> tuple[int, str]:
        return self.train_freq if isinstance(self.train_freq, tuple) else (self.train_freq, "step")

    def rollout(self, num_envs: int) -> int:
        """The steps of all boards between two updates; a run ends with a whole rollout.

        Raises:
            ValueError: `train_freq` counts games, whose lengths are not known beforehand.
        """
        steps, unit = self._frequency
        if unit == "episode":
            raise ValueError(f"train_freq={self.train_freq} counts games, not steps")
        return steps * num_envs

    def update_to_data_ratio(self, num_envs: int) -> float:
        """Gradient steps for each environment step; the errors are those of `rollout`."""
        return 1.0 if self.gradient_steps == -1 else self.gradient_steps / self.rollout(num_envs)


@dataclass(frozen=True, kw_only=True)
class MaskablePPOSettings(DeepSettings):
    """The settings of `tictac_agents.MaskablePPO`, with sb3-contrib's defaults."""

    TUNED: ClassVar = {"TicTacToe-v0": SELF_PLAY_PPO, "ConnectFour-v0": CONNECT_FOUR_PPO}
    learning_rate: float | tuple[float, float] = setting(
        3e-4, "the step size; a pair goes linearly from the first to the second over the run", 0
    )
    n_steps: int = setting(2_048, "the steps of each board between two updates", 1)
    batch_size: int | None = setting(64, "the steps that each gradient step uses; None for all that were played", 1)
    n_epochs: int = setting(10, "the times that an update uses each step", 1)
    gae_lambda: float = setting(0.95, "the lambda of generalised advantage estimation", 0, 1)
    clip_range: float = setting(
        0.2, "the limit to the distance from 1 of an action's new probability by its old one", 0
    )
    normalize_advantage: bool = setting(True, "True to bring the advantages of a batch to mean 0 and deviation 1")
    ent_coef: float = setting(0.0, "the weight of the policy's entropy in the loss", 0)
    vf_coef: float = setting(0.5, "the weight of the value function's error in the loss", 0)
    max_grad_norm: float = setting(0.5, "longer gradients are cut to this length", 0)
    target_kl: float | None = setting(
        None, "the divergence from the old policy at which the epochs end; None for never", 0
    )

    def rollout(self, num_envs: int) -> int:
        """The steps of all boards between two updates; a run ends with a whole rollout."""
        return self.n_steps * num_envs

    def update_to_data_ratio(self, num_envs: int) -> float:
        """Gradient steps for each environment step."""
        return self.n_epochs / (self.batch_size or self.rollout(num_envs))
