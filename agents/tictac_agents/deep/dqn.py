"""Stable-Baselines3's DQN with action masks, double targets, symmetries and averaged weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from gymnasium.error import DependencyNotInstalled

from tictac_agents.deep.checkpoints import Checkpoint, as_schedule, with_classes
from tictac_agents.deep.networks import AfterstatePolicy, MaskedDQNPolicy
from tictac_agents.deep.settings import UNKNOWN, DQNSettings
from tictac_env.checks import flag, number
from tictac_env.games import Game
from tictac_env.symmetry import symmetries

try:
    import stable_baselines3 as sb3
    import torch
    from stable_baselines3.common.buffers import ReplayBuffer
    from stable_baselines3.common.policies import BasePolicy
    from stable_baselines3.common.type_aliases import ReplayBufferSamples, Schedule
except ImportError as error:
    raise DependencyNotInstalled('Stable-Baselines3 is missing: pip install "tictac-env[rl]"') from error


class SymmetricReplayBuffer(ReplayBuffer):
    """Stable-Baselines3's replay buffer, which shows each sampled transition under a random symmetry of the board. A
    `VecNormalize` may normalise rewards, but not observations.

    Args:
        game: whose symmetries; see `tictac_env.symmetry`.
    """

    def __init__(self, *args: Any, game: Game, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cells = [game.cell(row, col) for row in range(game.rows) for col in range(game.cols)]
        images = symmetries(game)
        # What stands in a cell of the image comes from the cell that the symmetry takes there.
        self._sources = np.array([np.argsort([cells.index(dict(s.bits)[cell]) for cell in cells]) for s in images])
        self._actions = np.array([symmetry.actions for symmetry in images])

    def _get_samples(self, batch_inds: npt.NDArray[Any], env: Any = None) -> ReplayBufferSamples:
        # Stable-Baselines3 draws from, and seeds, NumPy's global generator.
        boards = np.random.randint(self.n_envs, size=len(batch_inds))  # noqa: NPY002
        drawn = np.random.randint(len(self._sources), size=len(batch_inds))  # noqa: NPY002
        sources, rows = self._sources[drawn][:, None, :], np.arange(len(drawn))[:, None]

        def image(observations: npt.NDArray[Any]) -> npt.NDArray[Any]:
            chosen = observations[batch_inds, boards]
            planes = chosen.reshape(len(chosen), -1, sources.shape[-1])
            return np.take_along_axis(planes, sources, axis=2).reshape(chosen.shape)

        samples = (
            image(self.observations),
            self._actions[drawn][rows, self.actions[batch_inds, boards]],
            image(self.next_observations),
            self.dones[batch_inds, boards, None] * (1 - self.timeouts[batch_inds, boards, None]),
            self._normalize_reward(self.rewards[batch_inds, boards, None], env),
        )
        return ReplayBufferSamples(*map(self.to_torch, samples))


class DQN(Checkpoint, sb3.DQN):  # type: ignore[misc]  # its load is narrower
    """Stable-Baselines3's DQN (Mnih et al., "Human-level control through deep reinforcement learning", 2015) that
    knows which actions are legal.

    Illegal actions are left out wherever they could be chosen, in warm-up, exploration and greedy play, and in the
    maximum of the target. On many boards each explores for itself. All else, and every method, is Stable-Baselines3's.

    With `opponent=None` both sides' plies are steps and the next observation is the other side's. By default gamma is
    then -1, which makes Stable-Baselines3's target r + gamma * max Q(s', .) that of negamax; between -1 and 0 it
    prefers quick wins.

    Presets (`DQN.preset(name)`, each with the boards it learns on):
        S2: the published network, 9-36-36-9 with sigmoid outputs, by plain gradient descent against random play, a draw
            worth as much as a win, exploring as published. (The publication trained for 2,000,000 games a seat with a
            gradient step for each move, and learned that illegal actions are worth 0. Here batches are drawn from a
            replay buffer, each move is used once on average, and illegal actions are left out. `S2Network` does it as
            published.)
        S2-self-play: the same network in self-play, with the tuned settings: it wins more from both seats. (A network
            this small does not become unbeatable on every seed; that of the tuned settings does.)
        S4-prequel: the published network of state values, 9-18-18-1, in self-play by TD(0): an action's value is that
            of the position it leads to, and the target is TD(0)'s, in expectation over a fifth of random moves. (The
            rest was not published, and is ours.)

    Args:
        policy: "MlpPolicy"; "AfterstatePolicy" for a network of state values; or a subclass of `MaskedDQNPolicy`.
        env: an environment of ours or its id, with planes or boards (made from an id, it alternates the learner's
            seat); or an `SB3VecEnv`.
        double: see `DQNSettings`.
        symmetry: see `DQNSettings`.
        target_epsilon: see `DQNSettings`.
        ema_decay: see `DQNSettings`.
        learning_rate: see `DQNSettings`; or a schedule, as in Stable-Baselines3.
        kwargs: all other keywords of `stable_baselines3.DQN`.

    Raises:
        ValueError: an argument is out of its range, gamma is positive with `opponent=None` or negative otherwise,
            the observations do not show the mask, or `symmetry` is True and the game of the boards is unknown.

    Example:
        >>> from tictac_agents import DQN, SB3VecEnv
        >>> envs = SB3VecEnv("TicTacToe-v0", num_envs=8, opponent=None, illegal="raise")
        >>> model = DQN("MlpPolicy", envs, learning_starts=64, buffer_size=1_000, seed=0, device="cpu")
        >>> model.learn(256).num_timesteps
        256
    """

    SETTINGS = DQNSettings
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": MaskedDQNPolicy,
        "AfterstatePolicy": AfterstatePolicy,
    }
    policy: MaskedDQNPolicy

    def __init__(
        self,
        policy: str | type[MaskedDQNPolicy],
        env: Any,
        *,
        double: bool = DQNSettings.double,
        symmetry: bool = DQNSettings.symmetry,
        target_epsilon: float = DQNSettings.target_epsilon,
        ema_decay: float = DQNSettings.ema_decay,
        learning_rate: float | Sequence[float] | Schedule = DQNSettings.learning_rate,
        _init_setup_model: bool = True,
        **kwargs: Any,
    ) -> None:
        self.double = flag("double", double)
        self.symmetry = flag("symmetry", symmetry)
        self.target_epsilon = number("target_epsilon", target_epsilon, 0, 1)
        self.ema_decay = number("ema_decay", ema_decay, 0, 1)
        ours = {"double": double, "symmetry": symmetry, "target_epsilon": target_epsilon, "ema_decay": ema_decay}
        env = self.record_settings(env, {"policy": policy, "learning_rate": learning_rate, **ours, **kwargs})
        kwargs["gamma"] = self.settings.discount
        for name, usual in (("n_steps", 1), ("optimize_memory_usage", False)):
            if symmetry and kwargs.get(name, usual) != usual:
                raise ValueError(f"{name}={kwargs[name]} needs symmetry=False")
        kwargs["policy_kwargs"] = with_classes(kwargs.get("policy_kwargs")) | {"ema": ema_decay > 0}
        super().__init__(policy, env, as_schedule(learning_rate), _init_setup_model=False, **kwargs)
        if self._vec_normalize_env is not None and self._vec_normalize_env.norm_obs:
            raise ValueError("VecNormalize needs norm_obs=False: normalised observations do not show the mask")
        if _init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        if self.symmetry and self.env is not None and self.replay_buffer_class is None:
            if self._recorded_settings["game"] == UNKNOWN:
                raise ValueError("symmetry=True needs boards that say which game they are of")
            self.replay_buffer_class = SymmetricReplayBuffer
            self.replay_buffer_kwargs = {**self.replay_buffer_kwargs, "game": self.env.get_attr("game")[0]}
        super()._setup_model()

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
            deterministic: whether to play the best actions, by the averaged weights if `ema_decay` is not 0;
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
            return self.policy.predict(observation, state, episode_start, deterministic)
        legal = self._legal(observation, action_masks)
        actions = self.policy.best(observation, legal, deterministic)
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

    def restore(self, data: Mapping[str, Any]) -> None:
        super().restore(data)
        self.exploration_rate = number("exploration_rate", data["exploration_rate"], 0, 1)

    @property
    def _random(self) -> np.random.Generator:
        return self.action_space.np_random  # which Stable-Baselines3 has seeded

    def _legal(self, observation: Any, action_masks: npt.ArrayLike | None = None) -> npt.NDArray[np.bool_]:
        """Which actions may be chosen, by the observations and the masks: bool (B, num_actions).

        Raises:
            ValueError: see `predict`.
        """
        cells, _ = self.policy.obs_to_tensor(observation)
        legal: npt.NDArray[np.bool_] = ~self.q_net.occupied(cells).cpu().numpy()  # type: ignore[operator]
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
        """A random legal action for each observation: int64 (B,)."""
        actions: npt.NDArray[np.int64] = np.where(legal, self._random.random(legal.shape), -1.0).argmax(axis=1)
        return actions

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Stable-Baselines3's, with double targets, those of expected Sarsa, and an average of the weights."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        weights: list[torch.Tensor] = list(self.q_net.parameters())
        averages: list[torch.Tensor] = list(self.policy.q_net_ema.parameters())
        losses = []
        for _ in range(gradient_steps):
            batch = self.replay_buffer.sample(batch_size, env=self._vec_normalize_env)  # type: ignore[union-attr]
            discounts = self.gamma if batch.discounts is None else batch.discounts
            with torch.no_grad():
                next_values = self.q_net_target(batch.next_observations)
                next_choices = self.q_net(batch.next_observations) if self.double else next_values
                best = next_values.gather(1, next_choices.argmax(dim=1, keepdim=True))
                if self.target_epsilon:
                    legal = ~self.q_net.occupied(batch.next_observations)  # type: ignore[operator]
                    mean = (next_values * legal).sum(1, keepdim=True) / legal.sum(1, keepdim=True).clamp(min=1)
                    best = best + self.target_epsilon * (mean - best)
                targets = batch.rewards + (1 - batch.dones) * discounts * best
            values = self.q_net.values_of(batch.observations, batch.actions.long())  # type: ignore[operator]
            loss = torch.nn.functional.smooth_l1_loss(values, targets)
            losses.append(loss.detach())
            self.policy.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(weights, self.max_grad_norm)
            self.policy.optimizer.step()
            if self.ema_decay:
                with torch.no_grad():
                    torch._foreach_lerp_(averages, weights, 1 - self.ema_decay)
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/loss", float(torch.stack(losses).mean()))
