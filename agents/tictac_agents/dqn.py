"""Stable-Baselines3's DQN with action masks, double targets, symmetries and averaged weights."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import DependencyNotInstalled

from tictac_agents.checkpoints import Checkpoint
from tictac_env.checks import flag, number
from tictac_env.games import Game
from tictac_env.symmetry import symmetries

try:
    import stable_baselines3 as sb3
    import torch
    from stable_baselines3.common.buffers import ReplayBuffer
    from stable_baselines3.common.policies import BasePolicy
    from stable_baselines3.common.type_aliases import ReplayBufferSamples, Schedule
    from stable_baselines3.common.utils import LinearSchedule
    from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
except ImportError as error:
    raise DependencyNotInstalled('Stable-Baselines3 is missing: pip install "tictac-env[rl]"') from error

ILLEGAL = -1e8
"""The value of an illegal action: never the highest, and finite, so that 0 times it is 0 where a game is over."""


class MaskedQNetwork(QNetwork):
    """Stable-Baselines3's Q-network, which gives `ILLEGAL` to the actions that the observation shows to be illegal.

    Action a stands for cell a, row by row from the top left (`tictac_env.games.Game.legal`), and is legal while this
    cell is empty: any cell on tic-tac-toe, the top one of a column with gravity. So planes and boards show the mask.
    """

    def forward(self, obs: Any) -> torch.Tensor:
        """The value of each action: float32 (B, num_actions)."""
        return super().forward(obs).masked_fill(self.occupied(obs), ILLEGAL)

    def occupied(self, obs: torch.Tensor) -> torch.Tensor:
        """Whether the cell of each action is taken: bool (B, num_actions)."""
        cells = obs.reshape(len(obs), -1, int(np.prod(self.observation_space.shape[-2:])))  # type: ignore[index]
        return cells[:, :, : int(self.action_space.n)].ne(0).any(dim=1)


class MaskedDQNPolicy(DQNPolicy):
    """Stable-Baselines3's policy of DQN with masked networks, and a third one whose weights are averages.

    Args:
        averaged: whether there are averaged weights; then they are what plays where `deterministic` is asked for.

    Raises:
        ValueError: observations are neither planes nor boards, in which alone the mask is to be seen.
    """

    def __init__(self, observation_space: spaces.Space[Any], *args: Any, averaged: bool = False, **kwargs: Any) -> None:
        shape = observation_space.shape
        if not isinstance(observation_space, spaces.Box) or shape is None or len(shape) not in (2, 3):
            raise ValueError(f'the masked DQN needs obs_type="planes" or "board", not {observation_space}')
        self.averaged = averaged
        super().__init__(observation_space, *args, **kwargs)

    def _build(self, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)
        self.q_net_average = self.make_q_net() if self.averaged else self.q_net
        self.q_net_average.load_state_dict(self.q_net.state_dict())

    def make_q_net(self) -> MaskedQNetwork:
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        return MaskedQNetwork(**arguments).to(self.device)

    def _predict(self, obs: Any, deterministic: bool = True) -> torch.Tensor:
        net = self.q_net_average if deterministic else self.q_net
        return net._predict(obs, deterministic=deterministic)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | {"averaged": self.averaged}


class SymmetricReplayBuffer(ReplayBuffer):
    """Stable-Baselines3's replay buffer, which shows each transition it samples under a symmetry drawn for it.

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
            self.rewards[batch_inds, boards, None],
        )
        return ReplayBufferSamples(*map(self.to_torch, samples))


class DQN(Checkpoint, sb3.DQN):  # type: ignore[misc]  # its load is narrower
    """Stable-Baselines3's DQN (Mnih et al., "Human-level control through deep reinforcement learning", 2015) that
    knows which actions are legal.

    Illegal actions are left out in all three places where they could be chosen, warm-up, exploration and greedy play,
    and in the maximum of the target. On many boards each explores for itself. All else, and every method, is
    Stable-Baselines3's.

    With `opponent=None` both sides' plies are steps and the next observation is the other side's: `gamma=-1` then
    makes Stable-Baselines3's target r + gamma * max Q(s', .) that of negamax. Between -1 and 0 it prefers quick wins.

    Args:
        policy: "MlpPolicy", or a subclass of `MaskedDQNPolicy`.
        env: an environment of ours or its id, with planes or boards; or an `SB3VecEnv`.
        double: whether the network chooses the action whose value the target network gives (van Hasselt et al., "Deep
            reinforcement learning with double Q-learning", 2016).
        symmetry: whether what is replayed is shown under a random symmetry of the board.
        tremble: the chance, in [0, 1], with which the target supposes the next action to be a random legal one: it is
            then (1 - tremble) * max + tremble * mean, that of expected Sarsa (van Seijen et al., "A theoretical and
            empirical analysis of expected Sarsa", 2009). In self-play this tells actions apart that are equal against
            perfect play: those that the other side more often goes wrong after are worth more. Nothing is drawn, so
            unlike in games against random play the targets have no noise.
        averaging: if not 0, greedy play uses an exponential average of the weights, in which each gradient step keeps
            this share of the old, in [0, 1]: 0.999 averages over about the last 1,000.
        learning_rate: the step size, as in Stable-Baselines3; or a pair, from the first to the second over the run.
        kwargs: all others of `stable_baselines3.DQN`.

    Raises:
        ValueError: an argument is out of its range, the observations do not show the mask, or `symmetry` is asked for
            on boards whose game is not known.

    Example:
        >>> from tictac_agents import DQN, SB3VecEnv
        >>> envs = SB3VecEnv("TicTacToe-v0", num_envs=8, opponent=None, illegal="raise")
        >>> model = DQN("MlpPolicy", envs, gamma=-1, learning_starts=64, buffer_size=1_000, seed=0, device="cpu")
        >>> model.learn(256).num_timesteps
        256
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MlpPolicy": MaskedDQNPolicy}
    policy: MaskedDQNPolicy

    def __init__(
        self,
        policy: str | type[MaskedDQNPolicy],
        env: Any,
        *,
        double: bool = True,
        symmetry: bool = True,
        tremble: float = 0.0,
        averaging: float = 0.0,
        learning_rate: float | tuple[float, float] | Schedule = 1e-3,
        _init_setup_model: bool = True,
        **kwargs: Any,
    ) -> None:
        self.double = flag("double", double)
        self.symmetry = flag("symmetry", symmetry)
        self.tremble = number("tremble", tremble, 0, 1)
        self.averaging = number("averaging", averaging, 0, 1)
        ours = {"double": double, "symmetry": symmetry, "tremble": tremble, "averaging": averaging}
        settings = {**ours, "learning_rate": learning_rate, **kwargs}
        if isinstance(learning_rate, (tuple, list)):
            first, last = learning_rate
            learning_rate = LinearSchedule(first, last, end_fraction=1.0)
        kwargs["policy_kwargs"] = dict(kwargs.get("policy_kwargs") or {}) | {"averaged": averaging > 0}
        super().__init__(policy, env, learning_rate, _init_setup_model=False, **kwargs)
        self.remember(self.env, settings)
        if _init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        if self.symmetry and self.env is not None and self.replay_buffer_class is None:
            self.replay_buffer_class = SymmetricReplayBuffer
            self.replay_buffer_kwargs = {**self.replay_buffer_kwargs, "game": self.env.get_attr("game")[0]}
        super()._setup_model()

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
    ) -> tuple[npt.NDArray[np.int64], Any]:
        """The actions for one observation or many, and None; with `deterministic=False` some are random legal ones."""
        actions, state = self.policy.predict(observation, state, episode_start, deterministic)
        if not deterministic:
            explores = self._random.random(actions.shape) < self.exploration_rate
            actions = np.where(explores, self._random_actions(observation).reshape(actions.shape), actions)
        return actions, state

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        if self.num_timesteps < learning_starts:
            actions = self._random_actions(self._last_obs)
        else:
            actions, _ = self.predict(self._last_obs)
        return actions, actions

    @property
    def _random(self) -> np.random.Generator:
        return self.action_space.np_random  # which Stable-Baselines3 has seeded

    def _random_actions(self, observation: Any) -> npt.NDArray[np.int64]:
        """A random legal action for each observation: int64 (B,)."""
        cells = np.reshape(observation, (-1, *self.observation_space.shape))  # type: ignore[misc]
        occupied = self.q_net.occupied(torch.as_tensor(cells)).numpy()  # type: ignore[operator]
        actions: npt.NDArray[np.int64] = np.where(occupied, -1.0, self._random.random(occupied.shape)).argmax(axis=1)
        return actions

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Stable-Baselines3's, with double targets and averaging of the weights."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        weights: list[torch.Tensor] = list(self.q_net.parameters())
        averages: list[torch.Tensor] = list(self.policy.q_net_average.parameters())
        losses = []
        for _ in range(gradient_steps):
            batch = self.replay_buffer.sample(batch_size, env=self._vec_normalize_env)  # type: ignore[union-attr]
            discounts = self.gamma if batch.discounts is None else batch.discounts
            with torch.no_grad():
                following = self.q_net_target(batch.next_observations)
                chosen = self.q_net(batch.next_observations) if self.double else following
                best = following.gather(1, chosen.argmax(dim=1, keepdim=True))
                if self.tremble:
                    legal = ~self.q_net.occupied(batch.next_observations)  # type: ignore[operator]
                    mean = (following * legal).sum(1, keepdim=True) / legal.sum(1, keepdim=True).clamp(min=1)
                    best = best + self.tremble * (mean - best)
                targets = batch.rewards + (1 - batch.dones) * discounts * best
            values = self.q_net(batch.observations).gather(1, batch.actions.long())
            loss = torch.nn.functional.smooth_l1_loss(values, targets)
            losses.append(loss.detach())
            self.policy.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(weights, self.max_grad_norm)
            self.policy.optimizer.step()
            if self.averaging:
                with torch.no_grad():
                    torch._foreach_lerp_(averages, weights, 1 - self.averaging)
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/loss", float(torch.stack(losses).mean()))
