"""Q-networks that see which actions are legal, and the policies of DQN made of them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import DependencyNotInstalled

from tictac_agents.deep.features import afterstates, boards
from tictac_env.checks import one_of

try:
    import torch
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, create_mlp
    from stable_baselines3.common.type_aliases import Schedule
    from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
except ImportError as error:
    raise DependencyNotInstalled('Stable-Baselines3 is missing: pip install "tictac-env[rl]"') from error

ILLEGAL_VALUE = -1e8
"""The value of an illegal action: never the highest, but finite, so that (1 - done) times it is 0."""
OUTPUTS = ("linear", "sigmoid")
BLOCK = 512
"""Boards in one pass: what a pass holds stays in the processor's cache, and its memory is used again by the next."""


class MaskedQNetwork(QNetwork):
    """Stable-Baselines3's Q-network with `ILLEGAL_VALUE` for the actions that the observation shows to be illegal.

    Action a stands for cell a, row by row from the top left (`tictac_env.games.Game.legal`), and is legal while this
    cell is empty: any cell on tic-tac-toe, the top one of a column with gravity. So planes and boards show the mask.

    Args:
        output: "linear", or "sigmoid" for values in (0, 1).

    Raises:
        ValueError: `output` is neither.
    """

    def __init__(self, *args: Any, output: str = "linear", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.squashed = one_of("output", output, OUTPUTS) == "sigmoid"

    def forward(self, obs: Any) -> torch.Tensor:
        """The value of each action: float32 (B, num_actions)."""
        values = self.values(obs)
        return (values.sigmoid() if self.squashed else values).masked_fill(self.occupied(obs), ILLEGAL_VALUE)

    def values(self, obs: Any) -> torch.Tensor:
        """The output of the last layer for each action: float32 (B, num_actions)."""
        return super().forward(obs)

    def values_of(self, obs: Any, actions: torch.Tensor) -> torch.Tensor:
        """The value of one action, int64 (B, 1), in each observation: float32 (B, 1)."""
        return self(obs).gather(1, actions)  # type: ignore[no-any-return]

    def cells(self, obs: torch.Tensor) -> torch.Tensor:
        """The planes or the board: (B, planes, rows, cols)."""
        return obs.reshape(len(obs), -1, *self.observation_space.shape[-2:])  # type: ignore[index]

    def occupied(self, obs: torch.Tensor) -> torch.Tensor:
        """Whether the cell of each action is taken: bool (B, num_actions)."""
        return self.cells(obs).flatten(2)[:, :, : int(self.action_space.n)].ne(0).any(dim=1)


class AfterstateQNetwork(MaskedQNetwork):
    """A network of state values: an action has the value of the position it leads to, for the side that plays it.

    The network sees the position as the board of that side (1 own, -1 the other's) and has one output. It knows
    where a stone comes to lie; what wins it has to learn.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.q_net = torch.nn.Sequential(*create_mlp(self.features_dim, 1, self.net_arch, self.activation_fn))

    def values(self, obs: Any) -> torch.Tensor:
        after = afterstates(boards(obs), int(self.action_space.n))
        return self.state_values(after.flatten(0, 1)).view(after.shape[:2])

    def values_of(self, obs: Any, actions: torch.Tensor) -> torch.Tensor:
        """As in `MaskedQNetwork`; only the positions that these actions lead to are evaluated."""
        after = afterstates(boards(obs), int(self.action_space.n))
        values = self.state_values(after[torch.arange(len(actions)), actions.squeeze(1)])
        return values.sigmoid() if self.squashed else values

    def state_values(self, shown: torch.Tensor) -> torch.Tensor:
        """The value of boards (B, rows, cols) for the side whose stones are 1, which has just moved: float32 (B, 1)."""
        return torch.cat([self.q_net(self.features_extractor(block)) for block in torch.split(shown, BLOCK)])


class MaskedDQNPolicy(DQNPolicy):
    """Stable-Baselines3's policy of DQN with masked networks; `q_net_ema` has averages of the weights of `q_net`.

    Args:
        ema: whether to keep a moving average of the weights, which then plays wherever `deterministic` is asked for.
        output: of the networks, see `MaskedQNetwork`.

    Raises:
        ValueError: observations are neither planes (2, rows, cols) nor boards (rows, cols), which show the mask.
    """

    network: ClassVar[type[MaskedQNetwork]] = MaskedQNetwork

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Discrete,
        *args: Any,
        ema: bool = False,
        output: str = "linear",
        **kwargs: Any,
    ) -> None:
        shape = observation_space.shape or ()
        shown = len(shape) == 2 or (len(shape) == 3 and shape[0] == 2)
        if not shown or action_space.n not in (shape[-1], shape[-2] * shape[-1]):
            raise ValueError(
                'the masked DQN needs obs_type="planes" (2, rows, cols) or "board" (rows, cols), in which the cell of '
                f"each action is to be seen, not {observation_space} for {action_space}"
            )
        self.ema = ema
        self.output = output
        super().__init__(observation_space, action_space, *args, **kwargs)

    def _build(self, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)
        self.q_net_ema = self.make_q_net() if self.ema else self.q_net
        self.q_net_ema.load_state_dict(self.q_net.state_dict())

    def make_q_net(self) -> MaskedQNetwork:
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        return self.network(**arguments, output=self.output).to(self.device)

    def _predict(self, obs: Any, deterministic: bool = True) -> torch.Tensor:
        net = self.q_net_ema if deterministic else self.q_net
        return net._predict(obs, deterministic=deterministic)

    def best(self, observation: Any, allowed: npt.NDArray[np.bool_], deterministic: bool) -> npt.NDArray[np.int64]:
        """The best of the actions `allowed`, bool (B, num_actions), as `predict` gives it: int64 (B,), or () for one
        observation.
        """
        self.set_training_mode(False)
        cells, many = self.obs_to_tensor(observation)
        net = self.q_net_ema if deterministic else self.q_net
        with torch.no_grad():
            values = net(cells).cpu().numpy()
        actions: npt.NDArray[np.int64] = np.where(allowed, values, -np.inf).argmax(axis=1)
        return actions if many else actions.squeeze(axis=0)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | {"ema": self.ema, "output": self.output}


class AfterstatePolicy(MaskedDQNPolicy):
    """`MaskedDQNPolicy` with networks of state values, `AfterstateQNetwork`."""

    network = AfterstateQNetwork

    def make_features_extractor(self) -> BaseFeaturesExtractor:
        shape: Any = self.observation_space.shape
        boards = spaces.Box(-1, 1, shape[-2:], np.int8)  # what it is shown, whatever is observed
        return self.features_extractor_class(boards, **self.features_extractor_kwargs)
