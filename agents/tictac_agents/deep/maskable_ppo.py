"""sb3-contrib's MaskablePPO, with settings that JSON can hold and checkpoints that are safe to load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from gymnasium.error import DependencyNotInstalled

from tictac_agents.deep.checkpoints import Checkpoint, as_schedule, with_classes
from tictac_agents.deep.networks import AfterstateActorCritic
from tictac_agents.deep.settings import MaskablePPOSettings

try:
    import sb3_contrib
    from stable_baselines3.common.policies import BasePolicy
    from stable_baselines3.common.type_aliases import Schedule
except ImportError as error:
    raise DependencyNotInstalled('sb3-contrib is missing: pip install "tictac-env[rl]"') from error


class MaskablePPO(Checkpoint, sb3_contrib.MaskablePPO):  # type: ignore[misc]  # its load is narrower
    """sb3-contrib's PPO (Schulman et al., "Proximal policy optimization algorithms", 2017) with action masks (Huang and
    Ontañón, "A closer look at invalid action masking in policy gradient algorithms", 2022).

    With `opponent=None` both sides' plies are steps. By default gamma is then -1, which turns rewards and values
    around from ply to ply, in the generalised advantage too.

    Args:
        policy: "MlpPolicy"; or "AfterstatePolicy" for one actor that sees the position each action leads to.
        env: an environment of ours or its id (made from an id, it alternates the learner's seat); or an `SB3VecEnv`.
        learning_rate: see `MaskablePPOSettings`; or a schedule, as in Stable-Baselines3.
        kwargs: all other keywords of `sb3_contrib.MaskablePPO`; `MaskablePPOSettings` explains the usual ones.

    Raises:
        ValueError: an argument is out of its range, gamma is positive with `opponent=None` or negative otherwise,
            or `policy_kwargs` names an unknown class.

    Example:
        >>> from tictac_agents import MaskablePPO, SB3VecEnv
        >>> envs = SB3VecEnv("TicTacToe-v0", num_envs=8, opponent=None, illegal="raise")
        >>> model = MaskablePPO("MlpPolicy", envs, n_steps=16, batch_size=64, seed=0, device="cpu")
        >>> model.learn(128).num_timesteps
        128
    """

    SETTINGS = MaskablePPOSettings
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        **sb3_contrib.MaskablePPO.policy_aliases,
        "AfterstatePolicy": AfterstateActorCritic,
    }

    def __init__(
        self,
        policy: Any,
        env: Any,
        *,
        learning_rate: float | Sequence[float] | Schedule = MaskablePPOSettings.learning_rate,
        **kwargs: Any,
    ) -> None:
        env = self.record_settings(env, {"policy": policy, "learning_rate": learning_rate, **kwargs})
        kwargs["gamma"] = self.settings.discount
        kwargs["policy_kwargs"] = with_classes(kwargs.get("policy_kwargs"))
        super().__init__(policy, env, as_schedule(learning_rate), **kwargs)
