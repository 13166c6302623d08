"""A policy of MaskablePPO that weighs the positions its actions lead to."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import DependencyNotInstalled

from tictac_agents.deep.features import afterstates, boards

try:
    import torch
    from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, MlpExtractor
except ImportError as error:
    raise DependencyNotInstalled('sb3-contrib is missing: pip install "tictac-env[rl]"') from error


class AfterstateActorCritic(MaskableActorCriticPolicy):
    """sb3-contrib's policy with one actor for all actions: it sees the position that an action leads to, and gives this
    action's logit. The critic sees the position itself.

    So what makes an action good is learned once and not for each column, at the cost of a pass of the actor for each.

    Raises:
        ValueError: observations are neither planes (2, rows, cols) nor boards (rows, cols) of such a game.
    """

    def __init__(
        self, observation_space: spaces.Space[Any], action_space: spaces.Discrete, *args: Any, **kwargs: Any
    ) -> None:
        shape = observation_space.shape or ()
        shown = len(shape) == 2 or (len(shape) == 3 and shape[0] == 2)
        if not shown or action_space.n not in (shape[-1], shape[-2] * shape[-1]):
            raise ValueError(
                'AfterstateActorCritic needs obs_type="planes" (2, rows, cols) or "board" (rows, cols), not '
                f"{observation_space} for {action_space}"
            )
        super().__init__(observation_space, action_space, *args, **kwargs)

    def make_features_extractor(self) -> BaseFeaturesExtractor:
        shape: Any = self.observation_space.shape
        shown = spaces.Box(-1, 1, shape[-2:], np.int8)
        of_board = self.features_extractor_class(shown, **self.features_extractor_kwargs)
        return _NowAndAfter(self.observation_space, int(self.action_space.n), of_board)  # type: ignore[attr-defined]

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = _ActorOfActions(self.features_dim, self.net_arch, self.activation_fn, self.device)
        self.action_dist = _LogitOfEach(int(self.action_space.n))  # type: ignore[attr-defined]


class _NowAndAfter(BaseFeaturesExtractor):
    """The features of the position for the side to move, then those of each afterstate for the side that has moved:
    float32 (B, 1 + num_actions, features_dim).
    """

    def __init__(self, observation_space: spaces.Space[Any], actions: int, of_board: BaseFeaturesExtractor) -> None:
        super().__init__(observation_space, of_board.features_dim)
        self._num_actions = actions
        self.of_board = of_board

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        now = boards(observations)
        shown = torch.cat([now[:, None], afterstates(now, self._num_actions)], dim=1)
        features: torch.Tensor = self.of_board(shown.flatten(0, 1))
        return features.view(*shown.shape[:2], -1)


class _ActorOfActions(MlpExtractor):
    """The actor's layers on each afterstate, float32 (B, num_actions, width), the critic's on the position."""

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        return super().forward_actor(features[:, 1:])

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        return super().forward_critic(features[:, 0])


class _LogitOfEach(MaskableCategoricalDistribution):
    """Logits from the last layer of each action: (B, num_actions)."""

    def proba_distribution_net(self, latent_dim: int) -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Linear(latent_dim, 1), torch.nn.Flatten(1))
