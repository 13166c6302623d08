"""The settings of deep agents, all in one place: those tuned for each game, and the presets of published systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tictac_agents.deep.settings import DeepSettings, DQNSettings, MaskablePPOSettings
from tictac_env.games import did_you_mean

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
    return _find(TUNED, game, algorithm)


def preset(algorithm: str, name: str) -> DeepSettings:
    """The settings of that name.

    Raises:
        ValueError: there are none; the message names the near ones.
    """
    return _find(PRESETS, algorithm, name)


def _find(table: Mapping[str, Mapping[str, DeepSettings]], *keys: str) -> DeepSettings:
    found: Any = table
    for key in keys:
        if key not in found:
            raise ValueError(f"there are no settings for {key!r}; {did_you_mean(key, found)}")
        found = found[key]
    settings: DeepSettings = found
    return settings
