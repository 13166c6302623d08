"""Networks of the deep agents: features of boards, masked Q-networks, and actors and critics of afterstates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from tictac_env.checks import one_of
from tictac_env.games import Game, game_of, shown
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.lazy import needing

with needing("Stable-Baselines3 is missing", "rl"):
    import torch
    from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, MlpExtractor, create_mlp
    from stable_baselines3.common.type_aliases import Schedule
    from stable_baselines3.dqn.policies import DQNPolicy, QNetwork

ILLEGAL_VALUE = -1e8
"""The value of an illegal action: never the highest, but finite, so that (1 - done) times it is 0."""
BLOCK = 512
"""Boards in one pass: its arrays fit into the processor's cache, and the next pass uses their memory again."""


class LineFeatures(BaseFeaturesExtractor):
    """Fixed features: stones, windows one or two stones from a line, and threats; nothing in them is learned.

    A window is a set of `connect` cells in a line. It is live for a side while the other side has no stone in it. A
    threat of a side is an empty cell that completes a line of this side. In this order, each for the side that the
    observation is of ("own") and then for the other:

    - the stones, 2 x cells;
    - for each window if it is live and lacks two stones, then if it lacks one, 2 x 2 x windows (windows of two cells
      have only the second);
    - if there is a line, 2;
    - the threats, 2 x cells;
    - on boards with gravity, for each column if its lowest empty cell is a threat, then if the cell above that is,
      2 x 2 x cols.

    So a network over them sees immediate wins and blocks, and by a weight for each cell the rows of threats, which
    decide who runs out of other moves (zugzwang). On Connect Four there are 474 features of 69 windows.

    Args:
        observation_space: of planes (2, rows, cols) or boards (rows, cols).
        game: a game of the `KInARow` family, by its name, by its "id" and sizes, or its rule book.

    Raises:
        ValueError: the game is of another family, or the observations are not of its boards.
    """

    _windows: torch.Tensor
    _beneath: torch.Tensor

    # The columns of the features on a board with gravity, each part in two halves, own and other side:
    #
    #     | stones | lack 2 | lack 1 | line | threats | threat at the lowest cell | threat above it |
    #        cells   windows  windows    1     cells              cols                   cols

    def __init__(self, observation_space: spaces.Space[Any], game: str | Mapping[str, Any] | Game) -> None:
        rules = game_of(game) if isinstance(game, (str, Mapping)) else game
        if not isinstance(rules, KInARow):
            raise ValueError(f"LineFeatures needs a game of the KInARow family, not {shown(game)}")
        shape = observation_space.shape or ()
        if shape not in ((2, rules.rows, rules.cols), (rules.rows, rules.cols)):
            raise ValueError(f"LineFeatures needs planes or boards of {rules!r}, not {observation_space}")
        in_windows = windows(rules)
        self._lacking = [count for count in (2, 1) if count < rules.connect]
        levels = 2 * rules.cols * rules.gravity
        count = 2 * (2 * rules.cells + len(self._lacking) * len(in_windows) + 1 + levels)
        super().__init__(observation_space, count)
        self.game = rules
        # Constants of the game, which a checkpoint need not hold.
        self.register_buffer("_windows", torch.as_tensor(in_windows), persistent=False)
        self.register_buffer("_beneath", torch.as_tensor(cells_beneath(rules)), persistent=False)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """The features of planes (B, 2, rows, cols) or boards (B, rows, cols): float32 (B, features_dim), 0 or 1."""
        game, count, levels = self.game, len(observations), 2 * self.game.gravity
        sizes = [game.cells, *[len(self._windows)] * len(self._lacking), 1, game.cells, *[game.cols] * levels]
        # Each part is written into its columns of one array, comparisons as floats: this takes a fifth of the time of
        # separate parts of bools that are joined.
        features = torch.empty(count, self.features_dim, device=observations.device)
        parts = [part.view(count, 2, -1) for part in torch.split(features, [2 * size for size in sizes], dim=1)]
        stones, lines, threats = parts[0], parts[1 + len(self._lacking)], parts[2 + len(self._lacking)]
        stones.copy_(sides(observations).flatten(2))
        # One product counts the stones of both sides in all windows: an own stone weighs 1, another one connect + 1,
        # more than a window of own stones. With windows of four cells:
        #
        #     own stones    0   1   2   3   4        other stones    0   1    2    3    4
        #     sum           0   1   2   3   4        sum             0   5   10   15   20
        #
        # Every other sum has stones of both sides: the window is dead.
        weights = (1, game.connect + 1)
        weighed = weights[0] * stones[:, 0] + weights[1] * stones[:, 1]
        empty = weighed.eq(0).float()
        sums = weighed @ self._windows.T
        full = torch.empty_like(sums)
        for side, weight in enumerate(weights):
            # Live windows that lack two stones or one, and complete ones.
            for part, less in zip(parts[1:], self._lacking, strict=False):
                torch.eq(sums, weight * (game.connect - less), out=part[:, side])
            lines[:, side, 0] = torch.eq(sums, weight * game.connect, out=full).amax(dim=1)
            # A threat: an empty cell in a live window that lacks one stone (with connect 1, any empty cell).
            one_less = parts[len(self._lacking)][:, side]
            completed = (one_less @ self._windows).clamp_(max=1) if self._lacking else 1
            torch.mul(empty, completed, out=threats[:, side])
        # The lowest empty cell of a column has no empty cell beneath; the one above it has that cell beneath.
        if game.gravity:
            lowest = empty * (1 - self._at_beneath(empty))
            for part, cells in zip(parts[-2:], (lowest, self._at_beneath(lowest)), strict=True):
                in_columns = (threats * cells[:, None]).view(count, 2, game.rows, game.cols)
                torch.sum(in_columns, dim=2, out=part)
        return features

    def _at_beneath(self, cells: torch.Tensor) -> torch.Tensor:
        """For each cell the entry of `cells` (B, cells) for the cell beneath; 0 for the lowest row."""
        # A column of zeros is appended, which is what `cells_beneath` points to if there is no cell beneath.
        return torch.nn.functional.pad(cells, (0, 1)).index_select(1, self._beneath)


class ConvFeatures(BaseFeaturesExtractor):
    """Learned features: three convolutions of 3 x 3 that keep the board's size, each followed by ReLU.

    Stable-Baselines3's own convolutional network needs images of at least 36 x 36.

    Args:
        observation_space: of planes (2, rows, cols) or boards (rows, cols).
        channels: of each convolution.
    """

    def __init__(self, observation_space: spaces.Space[Any], channels: int = 32) -> None:
        shape = observation_space.shape or ()
        super().__init__(observation_space, channels * shape[-2] * shape[-1])
        layers: list[torch.nn.Module] = []
        for inputs in (2, channels, channels):
            layers += [torch.nn.Conv2d(inputs, channels, 3, padding=1), torch.nn.ReLU()]
        self.layers = torch.nn.Sequential(*layers, torch.nn.Flatten())

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """float32 (B, channels * rows * cols)."""
        features: torch.Tensor = self.layers(sides(observations))
        return features


def sides(observations: torch.Tensor) -> torch.Tensor:
    """The planes of either side, float32 (B, 2, rows, cols), of planes or of boards (B, rows, cols)."""
    if observations.dim() == 4:
        return observations.float()
    return torch.stack([observations > 0, observations < 0], dim=1).float()


def boards(observations: torch.Tensor) -> torch.Tensor:
    """The boards, float32 (B, rows, cols) of 1, 0 and -1, of planes (B, 2, rows, cols) or of boards."""
    if observations.dim() == 3:
        return observations.float()
    return observations[:, 0].float() - observations[:, 1].float()


def afterstates(now: torch.Tensor, num_actions: int) -> torch.Tensor:
    """The board after each action of the side whose stones are 1: float32 (B, num_actions, rows, cols).

    Args:
        now: boards, float32 (B, rows, cols). If their columns are the actions, stones fall.
        num_actions: the number of actions. The board after an illegal action is meaningless.
    """
    # `stones` has one board for each action, with its stone alone; adding them to the position plays all actions.
    rows, cols = now.shape[1:]
    one_each = torch.eye(num_actions, device=now.device)
    if num_actions == rows * cols:
        stones = one_each.view(-1, rows, cols)
    else:
        lowest = now.eq(0).sum(dim=1, keepdim=True) - 1  # the stones of a column lie below its empty cells
        lands = torch.arange(rows, device=now.device)[:, None] == lowest
        stones = one_each[:, None, :] * lands[:, None]
    return now[:, None] + stones


def cell_bits(game: Game) -> list[int]:
    """The bit of each cell, row by row from the top left."""
    return [game.cell(*divmod(cell, game.cols)) for cell in range(game.cells)]


def windows(game: KInARow) -> npt.NDArray[np.float32]:
    """The lines of a game, each as its cells: float32 (windows, cells) of 0 and 1; (69, 42) on Connect Four."""
    # A line begins at a cell from which `connect` cells run in one direction, whose bits are `step` places from each
    # other: begin, begin << step, begin << 2 * step, ...
    cells = cell_bits(game)
    lines = [
        sum(begin << step * place for place in range(game.connect))
        for step in game.steps
        for begin in cells
        if game.runs(game.full, step) & begin
    ]
    different = dict.fromkeys(lines)  # a line of one cell runs in every direction
    return np.array([[line & cell != 0 for cell in cells] for line in different], np.float32)


def cells_beneath(game: KInARow) -> npt.NDArray[np.int64]:
    """The number of the cell beneath each cell, the number of cells if there is none: int64 (cells,)."""
    number = {bit: cell for cell, bit in enumerate(cell_bits(game))}
    return np.array([number.get(game.beneath(bit), game.cells) for bit in number], np.int64)


def check_shows_cells(who: str, observation_space: spaces.Space[Any], action_space: Any) -> None:
    """Checks that the observations show the cell of each action.

    Raises:
        ValueError: they are neither planes (2, rows, cols) nor boards (rows, cols) of such a game.
    """
    shape = observation_space.shape or ()
    shown = len(shape) == 2 or (len(shape) == 3 and shape[0] == 2)
    if not shown or action_space.n not in (shape[-1], shape[-2] * shape[-1]):
        raise ValueError(
            f'{who} needs obs_type="planes" (2, rows, cols) or "board" (rows, cols), which show the cell of each '
            f"action, not {observation_space} for {action_space}"
        )


def features_of_boards(policy: Any) -> BaseFeaturesExtractor:
    """The features extractor of a policy whose networks get boards, also if it observes planes."""
    shown = spaces.Box(-1, 1, policy.observation_space.shape[-2:], np.int8)
    extractor: BaseFeaturesExtractor = policy.features_extractor_class(shown, **policy.features_extractor_kwargs)
    return extractor


def occupied(observations: torch.Tensor, num_actions: int) -> torch.Tensor:
    """True if planes or boards show that the cell of an action is taken: bool (B, num_actions)."""
    # (B, planes, cells), one plane for a board; action a is legal while cell a is empty in all planes.
    cells = observations.reshape(len(observations), -1, math.prod(observations.shape[-2:]))
    return cells[:, :, :num_actions].ne(0).any(dim=1)


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
        self.squashed = one_of("output", output, ("linear", "sigmoid")) == "sigmoid"

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

    def occupied(self, obs: torch.Tensor) -> torch.Tensor:
        """True if the cell of an action is taken: bool (B, num_actions)."""
        return occupied(obs, int(self.action_space.n))


class AfterstateQNetwork(MaskedQNetwork):
    """A network of state values: an action has the value of the position it leads to, for the side that plays it.

    The network's input is that side's board (1 for own stones, -1 for the other's), and it has one output. The cell
    that a stone falls to is given; the lines that win have to be learned.
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
        # In blocks: a batch has num_actions times as many afterstates as positions.
        return torch.cat([self.q_net(self.features_extractor(block)) for block in torch.split(shown, BLOCK)])


class MaskedDQNPolicy(DQNPolicy):
    """Stable-Baselines3's policy of DQN with masked networks; `q_net_ema` has averages of the weights of `q_net`.

    Args:
        ema: True to keep a moving average of the weights, by which deterministic predictions are made.
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
        check_shows_cells("the masked DQN", observation_space, action_space)
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
        return features_of_boards(self)


class AfterstateActorCritic(MaskableActorCriticPolicy):
    """sb3-contrib's policy with one actor for all actions, whose input is the position that an action leads to.

    Its output is that action's logit. The critic's input is the position itself. So the value of a pattern is learned
    once and not for each column, at the cost of a pass of the actor for each action.

    Raises:
        ValueError: observations are neither planes (2, rows, cols) nor boards (rows, cols) of such a game.
    """

    def make_features_extractor(self) -> BaseFeaturesExtractor:
        check_shows_cells("AfterstateActorCritic", self.observation_space, self.action_space)
        of_board = features_of_boards(self)
        return _NowAndAfter(self.observation_space, int(self.action_space.n), of_board)  # type: ignore[attr-defined]

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = _ActorOfActions(self.features_dim, self.net_arch, self.activation_fn, self.device)
        self.action_dist = _LogitOfEach(int(self.action_space.n))  # type: ignore[attr-defined]


class _NowAndAfter(BaseFeaturesExtractor):
    """The features of the position for the side to move, and of each afterstate for the side that has moved.

    They are float32 (B, 1 + num_actions, features_dim): `_ActorOfActions` gives the first row to the critic and the
    others to the actor.
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
