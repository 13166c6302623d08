"""Epsilon-greedy choice among legal actions for Stable-Baselines3's DQN and its relatives, and QR-DQN with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_agents.deep.networks import ILLEGAL_VALUE, check_shows_cells, occupied
from tictac_env.lazy import needing

with needing("Stable-Baselines3 is missing", "rl"):
    import sb3_contrib
    import torch
    from stable_baselines3.common.vec_env import unwrap_vec_normalize


def refuse_normalised(boards: Any) -> None:
    """Raises a ValueError if a `VecNormalize` around boards normalises observations."""
    normalizer = unwrap_vec_normalize(boards)
    if normalizer is not None and normalizer.norm_obs:
        raise ValueError(
            "VecNormalize needs norm_obs=False: normalised observations do not show the mask, buffers of integer "
            "observations truncate them, and the file of a model does not have the statistics"
        )


class MaskedChoice:
    """The choice of actions in warm-up, exploration and greedy play, illegal ones left out. The class comes before the
    algorithm among the bases of a class.
    """

    action_space: Any
    exploration_rate: float
    num_timesteps: int
    policy: Any
    _last_obs: Any

    def _best(self, observation: Any, legal: npt.NDArray[np.bool_], deterministic: bool) -> npt.NDArray[np.int64]:
        """The best of the legal actions, bool (B, num_actions): int64 (B,), or () for one observation."""
        raise NotImplementedError

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
        action_masks: npt.ArrayLike | None = None,
    ) -> tuple[npt.NDArray[np.int64], Any]:
        """The actions for one observation or many, and `state`; with `deterministic=False` some are random legal ones.

        Args:
            observation: planes or a board, or B of them.
            state: not used.
            episode_start: not used.
            deterministic: True for the best actions, of a `DQN` by the averaged weights if `ema_decay` is not 0;
                otherwise it explores as in training.
            action_masks: (num_actions,) or (B, num_actions), not 0 where an action may be chosen; actions that the
                observation shows to be illegal stay illegal.

        Returns:
            int64 () or (B,), and `state`.

        Raises:
            ValueError: the observation or the masks are of another shape, or the masks leave an observation no legal
                action.
        """
        if action_masks is None and deterministic:
            greedy: tuple[npt.NDArray[np.int64], Any] = self.policy.predict(observation, state, episode_start, True)
            return greedy
        legal = self._legal(observation, action_masks)
        actions = self._best(observation, legal, deterministic)
        if not deterministic:
            explores = self._random.random(actions.shape) < self.exploration_rate
            actions = np.where(explores, self._random_actions(legal).reshape(actions.shape), actions)
        return actions, state

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        if self.num_timesteps < learning_starts:
            actions = self._random_actions(self._legal(self._last_obs))
        else:
            actions, _ = self.predict(self._last_obs)
        return actions, actions

    @property
    def _random(self) -> np.random.Generator:
        generator: np.random.Generator = self.action_space.np_random  # which Stable-Baselines3 has seeded
        return generator

    def _legal(self, observation: Any, action_masks: npt.ArrayLike | None = None) -> npt.NDArray[np.bool_]:
        """The actions that the observations and the masks allow, bool (B, num_actions); errors as in `predict`."""
        cells, _ = self.policy.obs_to_tensor(observation)
        legal: npt.NDArray[np.bool_] = ~occupied(cells, int(self.action_space.n)).cpu().numpy()
        if action_masks is None:
            return legal
        masks = np.asarray(action_masks)
        if masks.size != legal.size:
            raise ValueError(f"action_masks must be of shape {legal.shape}, not {masks.shape}")
        legal &= masks.reshape(legal.shape) != 0
        if not legal.any(axis=1).all():
            raise ValueError(f"action_masks allow no legal action in {np.flatnonzero(~legal.any(axis=1)).tolist()}")
        return legal

    def _random_actions(self, legal: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        actions: npt.NDArray[np.int64] = np.where(legal, self._random.random(legal.shape), -1.0).argmax(axis=1)
        return actions


def hide_illegal(network: Any, inputs: tuple[torch.Tensor], quantiles: torch.Tensor) -> torch.Tensor:
    """Puts `ILLEGAL_VALUE` for the quantiles, (B, num_quantiles, num_actions), of actions that are illegal."""
    return quantiles.masked_fill(occupied(inputs[0], quantiles.shape[2])[:, None, :], ILLEGAL_VALUE)


class QRDQN(MaskedChoice, sb3_contrib.QRDQN):
    """sb3-contrib's QR-DQN (Dabney et al., "Distributional reinforcement learning with quantile regression", 2018) that
    knows which actions are legal.

    As in `tictac_agents.DQN`, illegal actions are left out in warm-up, exploration and greedy play, and in the maximum
    of the target. All else is sb3-contrib's, the file too, which `load_model` reads. With `opponent=None` give it
    `gamma=-1`, as the next value is then the other side's.

    Arguments are those of `sb3_contrib.QRDQN`.

    Raises:
        ValueError: the observations are not planes or boards, which show the mask, or a `VecNormalize` normalises them.

    Example:
        >>> from tictac_agents import QRDQN, SB3VecEnv
        >>> envs = SB3VecEnv("TicTacToe-v0", num_envs=8, opponent="rule", illegal="raise")
        >>> model = QRDQN("MlpPolicy", envs, learning_starts=64, buffer_size=1_000, seed=0, device="cpu")
        >>> model.learn(256).num_timesteps
        256
    """

    def _setup_model(self) -> None:
        check_shows_cells("QRDQN", self.observation_space, self.action_space)
        refuse_normalised(self.env)
        super()._setup_model()
        for network in (self.quantile_net, self.quantile_net_target):
            network.register_forward_hook(hide_illegal)

    def _best(self, observation: Any, legal: npt.NDArray[np.bool_], deterministic: bool) -> npt.NDArray[np.int64]:
        self.policy.set_training_mode(False)
        cells, many = self.policy.obs_to_tensor(observation)
        with torch.no_grad():
            values = self.quantile_net(cells).mean(dim=1).cpu().numpy()
        actions: npt.NDArray[np.int64] = np.where(legal, values, -np.inf).argmax(axis=1)
        return actions if many else actions.squeeze(axis=0)
