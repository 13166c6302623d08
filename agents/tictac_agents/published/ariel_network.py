"""S4's deep Q-learner (Gilad Ariel, Connect Four): batches of self-play, then networks fitted to new targets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.base_learner import Arrays, as_numbers
from tictac_agents.games_learner import GamesLearner
from tictac_agents.settings import Schedule, Settings, setting, takes
from tictac_env.checks import SEATS, whole
from tictac_env.games import DRAWN, UNFINISHED, WON, Game, describe_game, get_game, shown
from tictac_env.lazy import needing
from tictac_env.policies import Policy, named_policy
from tictac_env.policies.policy import actions_of, illegal_choice
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class Transitions(NamedTuple):
    """The N moves of one seat's learner in a batch of games."""

    before: PositionBatch  # N positions, the seat to move
    actions: Ints  # (N,)
    ended: npt.NDArray[np.bool_]  # (N,), True if the game was over before the seat's next move
    rewards: Floats  # (N,), the reward if it was; 0 otherwise
    after: PositionBatch  # the positions of the seat's next moves, in the same order, without those of ended games


@dataclass(frozen=True, kw_only=True)
class FittedQSettings(Settings):
    """The settings of `FittedQ`: the defaults are as published."""

    GAME = "ConnectFour-v0"
    TOTAL = 3_000
    PRESETS: ClassVar = {"S4": {"all_actions": False}, "S4-all-actions": {"all_actions": True}}
    all_actions: bool | None = setting(
        None,
        "True if the network gives the values of all actions in one pass; None for False if the game's actions are its "
        "columns, as S4's are, else True",
    )
    batch_games: int = setting(300, "the number of games in a batch", 1)
    epochs: int = setting(5, "the number of times that each batch is learned", 1)
    minibatch: int = setting(256, "the number of moves in each gradient step", 1)
    learning_rate: float = setting(1e-3, "Adam's step size", 0, 1)
    target_step: float = setting(
        0.5, "the part of the way from the value to the best next value that a target goes", 0, 1
    )
    epsilon: Schedule = setting(
        (1.0, 0.5, 0.3, 0.2, 0.1), "the chance of a random action: a number, or several, one a batch", 0, 1
    )
    rewards: tuple[float, float, float] = setting((1.0, 0.5, -1.0), "for a win, a draw and a loss", -100, 100)
    opponent: str | None = setting(
        None,
        'the name of a policy, such as "random" or "mcts:100"; None if the two seats play each other (a file of a '
        "learner names it, so it is not a file or a module, which could run code)",
    )
    filters: tuple[int, ...] = setting(
        (20, 20, 20, 30, 30, 30, 30), "the number of filters in each convolution", 1, 1 << 12
    )
    widths: tuple[int, ...] = setting((5, 4, 4, 4, 4, 4, 4), "the width of the filters in each convolution", 1, 1 << 12)
    dense: tuple[int, ...] = setting((49, 7, 7), "the number of units in each dense layer", 1, 1 << 12)
    device: str = setting("cpu", "the device of PyTorch", recorded=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.filters) != len(self.widths):
            raise ValueError(f"widths must be {len(self.filters)} numbers, as filters are, not {shown(self.widths)}")


class SeatNetwork:
    """The network of a seat and its optimiser, Adam. Inputs and outputs are NumPy arrays.

    Boards are float32 (B, rows, cols), 1 for own stones and -1 for the other side's; actions are int64 (B,).

    With `all_actions` the network has an output for each action. Otherwise one action is part of the input, as an extra
    row above the board with a 1 in the action's column, so each action takes a pass. The published layers then have
    138,773 weights on Connect Four.

    Weights are drawn as Keras draws them, and biases are 0: Glorot and Bengio, "Understanding the difficulty of
    training deep feedforward neural networks", 2010. (PyTorch draws smaller ones, with which almost nothing of the
    input is left after eleven layers.)

    Raises:
        ValueError: the game's actions cannot be an input of the network.
        DependencyNotInstalled: PyTorch is missing.
    """

    # The input without `all_actions`, for an action in column 3:
    #
    #     0 0 0 1 0 0 0      the action
    #     0 0 0 0 0 0 0      the board, 1 for own stones
    #     ...
    #     0 -1 0 1 0 0 0

    SLOPE = 0.3
    """The slope of the LeakyReLUs below 0: units with plain ReLUs died, as many labels are 0."""
    AT_ONCE = 512
    """The most positions in one pass of the network."""

    def __init__(self, game: Game, settings: FittedQSettings, rng: np.random.Generator) -> None:
        with needing("PyTorch is missing", "rl"):
            import torch  # here, as the settings are used without torch
        columns = game.num_actions == game.cols
        self.all_actions = not columns if settings.all_actions is None else settings.all_actions
        if not self.all_actions and not columns:
            raise ValueError(f"all_actions=False needs a game whose actions are its columns, not {game!r}")
        self.device = settings.device
        # Convolutions that keep the size of the board, by a border of zeros; then dense layers.
        rows, outputs = (game.rows, game.num_actions) if self.all_actions else (game.rows + 1, 1)
        nn, parts, channels = torch.nn, [], 1
        for filters, width in zip(settings.filters, settings.widths, strict=True):
            before, after = (width - 1) // 2, width // 2
            padding = nn.ZeroPad2d((before, after, before, after))
            parts += [padding, nn.Conv2d(channels, filters, width), nn.LeakyReLU(self.SLOPE)]
            channels = filters
        parts.append(nn.Flatten())
        size = channels * rows * game.cols
        for units in settings.dense:
            parts += [nn.Linear(size, units), nn.LeakyReLU(self.SLOPE)]
            size = units
        layers: Any = nn.Sequential(*parts, nn.Linear(size, outputs))
        layers.to(memory_format=torch.channels_last)  # a third of the time on a processor
        # Glorot's uniform distribution, drawn by the learner's own generator: a seed gives the same network.
        for weights in layers.parameters():
            if weights.dim() == 1:
                nn.init.zeros_(weights)
                continue
            field = weights[0, 0].numel() if weights.dim() == 4 else 1
            bound = math.sqrt(6 / (field * (weights.shape[0] + weights.shape[1])))
            drawn = rng.uniform(-bound, bound, tuple(weights.shape)).astype(np.float32)
            weights.data.copy_(torch.from_numpy(drawn))
        self.layers: Any = layers.to(self.device)
        self._optimizer = torch.optim.Adam(self.layers.parameters(), settings.learning_rate)

    def values(self, boards: Floats, actions: Ints | None = None) -> Floats:
        """The value of each action, float32 (B, num_actions), or of one action on each board, float32 (B,)."""
        import torch

        inputs = [self._tensor(array) for array in (boards, actions) if array is not None]
        with torch.no_grad():
            pieces = list(map(self._forward, *(torch.split(tensor, self.AT_ONCE) for tensor in inputs)))
            values: Floats = torch.cat(pieces).cpu().numpy()
        return values

    def fit(self, boards: Floats, actions: Ints, targets: Floats, order: Ints, minibatch: int) -> None:
        """Fits the actions' values to `targets`, float32 (B,), in one pass over all boards in this order."""
        import torch

        seen, chosen, labels = self._tensor(boards), self._tensor(actions), self._tensor(targets)
        for rows in torch.split(self._tensor(order), minibatch):
            # A gradient step on a minibatch.
            loss = torch.nn.functional.mse_loss(self._forward(seen[rows], chosen[rows]), labels[rows])
            self._optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimizer.step()

    def _forward(self, boards: Any, actions: Any = None) -> Any:
        import torch

        if self.all_actions:
            values = self.layers(boards[:, None])
            return values if actions is None else values.gather(1, actions[:, None]).squeeze(1)
        # Without an action for each board, each board comes once with every action.
        count, cols = len(boards), boards.shape[2]
        if actions is None:
            every = torch.arange(cols, device=boards.device).repeat(count)
            return self._forward(boards.repeat_interleave(cols, dim=0), every).reshape(count, cols)
        marks = torch.nn.functional.one_hot(actions, cols).to(boards.dtype)
        return self.layers(torch.cat([marks[:, None], boards], dim=1)[:, None]).squeeze(1)

    def _tensor(self, array: npt.NDArray[Any]) -> Any:
        import torch

        return torch.from_numpy(array).to(self.device)

    @property
    def steps(self) -> int:
        """The number of gradient steps so far."""
        return max((int(moments["step"]) for moments in self._optimizer.state.values()), default=0)

    def arrays(self) -> Arrays:
        """All weights, and Adam's averages if there are any."""
        arrays = {}
        for number_, weights in enumerate(self.layers.parameters()):
            arrays[f"weights_{number_}"] = weights.detach().cpu().numpy()
            if moments := self._optimizer.state.get(weights):
                arrays[f"means_{number_}"] = moments["exp_avg"].cpu().numpy()
                arrays[f"squares_{number_}"] = moments["exp_avg_sq"].cpu().numpy()
        return arrays

    def read(self, arrays: Arrays, steps: int) -> None:
        """Restores the `arrays` and `steps` of another network of this shape.

        Raises:
            KeyError: an array is missing.
            ValueError: an array has another type or shape, or a number that is not possible.
        """
        import torch

        state, saved = {}, self.arrays()
        for number_, weights in enumerate(self.layers.parameters()):
            like = saved[f"weights_{number_}"]
            kinds = [("weights", -np.inf), *([("means", -np.inf), ("squares", 0.0)] if steps else [])]
            checked = (as_numbers(kind, arrays[f"{kind}_{number_}"], like, least) for kind, least in kinds)
            first, *averages = map(torch.from_numpy, checked)
            weights.data.copy_(first)
            if steps:
                moments = dict(zip(("exp_avg", "exp_avg_sq"), averages, strict=True))
                state[number_] = {"step": torch.tensor(float(steps)), **moments}
        # Adam's step size and its other settings are this network's; only the averages come from the file.
        groups = self._optimizer.state_dict()["param_groups"]
        self._optimizer.load_state_dict({"state": state, "param_groups": groups})


class FittedQ(GamesLearner):
    """Deep Q-learning from batches of games, a network for each seat: S4's deep learner (Gilad Ariel, Connect Four).

    ## Description

    Both seats play a batch of games against each other, or each seat plays half of it against an opponent,
    epsilon-greedy. Then each learns from its own moves, off-line: each epoch computes the targets of all moves and fits
    the network to them by one pass of Adam, with the mean square error as the loss. The games are then discarded.
    (Neural fitted Q iteration, Riedmiller, 2005, keeps them.) The target of a move is the reward if the game ends
    before the seat's next move, else v + target_step * (best - v), with the network's value v of the move and its best
    value at the next one.

    Each batch has the next `epsilon`, and after the last comes the first again, so that exploration falls and rises:
    the first player soon always opens in the centre, and the second would learn only the answer to that.

    The network is S4's: seven convolutions, 49-7-7 dense units, LeakyReLUs; other sizes are settings. Its input is the
    board (1 for own stones, -1 for the other side's) and above it a row with a 1 in the column of one action; its
    output is that action's value, so each action takes a pass. With `all_actions` the input is the board alone, and one
    pass gives the values of all actions.

    It plays the legal action of the highest value. On a processor one thread of PyTorch is the fastest.

    Presets (`FittedQ.preset(name)`):
        S4: as published. (How exploration was raised again was not; the schedule is ours.)
        S4-all-actions: the same with all actions in one pass.

    Args:
        game: a game's name, or its rules; without `all_actions` its actions must be its columns.
        {settings}

    Attributes:
        num_games: the number of games it has learned from.
        mean_length: the mean number of plies in the games of the last batch.

    Raises:
        ValueError: an argument is out of its range, the opponent is not known, or the game's actions cannot be an input
            of the network.
        IllegalMove: while it learns, if the opponent plays an illegal action.
        DependencyNotInstalled: PyTorch is missing.

    Example:
        >>> learner = FittedQ("KInARow-v0:4x4-3", batch_games=8, epochs=1, seed=0).learn(8)
        >>> learner.num_games
        8
    """

    settings: FittedQSettings
    budget = "no search; a pass of a network"

    @takes(FittedQSettings)
    def __init__(self, game: str | Game, settings: FittedQSettings) -> None:
        super().__init__(settings)
        self.game = get_game(game)
        self._opponent = None if settings.opponent is None else named_policy(settings.opponent, self.game)
        self.mean_length = 0.0
        self._rng = np.random.default_rng(settings.seed)
        self._seats = tuple(SeatNetwork(self.game, settings, self._rng) for _ in SEATS)

    @property
    def networks(self) -> tuple[Any, ...]:
        """The layers of the first and the second seat's networks, modules of PyTorch."""
        return tuple(network.layers for network in self._seats)

    @property
    def batched(self) -> bool:
        """True: one pass for many positions is much faster."""
        return True

    def act(self, position: Position, seed: int) -> int:
        """The legal action of the highest value, the lowest among equals.

        Raises:
            ValueError: the position is of another game.
        """
        return int(self.act_many(PositionBatch.of([position]), np.zeros(1, np.int64))[0])

    def act_many(self, batch: PositionBatch, seeds: Ints) -> Ints:
        """`act` in B positions: int64 (B,)."""
        if batch.game != self.game:
            raise ValueError(f"{self} has learned {describe_game(self.game)}, and nothing of {batch.game!r}")
        seats = np.array([self.game.seat(*both) for both in zip(batch.own.tolist(), batch.opp.tolist(), strict=True)])
        actions = np.zeros(len(batch), np.int64)
        for seat in range(len(SEATS)):
            if (here := seats == seat).any():
                actions[here] = self.values_many(batch.where(here), seat).argmax(axis=1)
        return actions

    def values_many(self, batch: PositionBatch, seat: int) -> Floats:
        """The values of all actions in B unfinished positions, `seat` to move: float32 (B, num_actions).

        That of an illegal action is -inf. Equal positions share a pass: many games of a batch begin alike.
        """
        different, which = batch.distinct()
        outputs = self._seats[seat].values(_boards(different))
        values: Floats = np.where(different.action_masks() != 0, outputs, np.float32(-np.inf))
        return values[which]

    def _learn_some(self, most: int) -> int:
        """Plays a batch and learns from it; each epoch computes the targets of the moves again."""
        games = min(self.settings.batch_games, most)
        # The seats have networks of their own, and learn one after the other from the same games.
        for seat, transitions in enumerate(self._play_batch(games)):
            boards = _boards(transitions.before)
            for _ in range(self.settings.epochs if len(boards) else 0):
                targets = self._targets(seat, transitions)
                order = self._rng.permutation(len(boards))
                self._seats[seat].fit(boards, transitions.actions, targets, order, self.settings.minibatch)
        return games

    def _progress_text(self) -> str:
        return f"{self.mean_length:.1f} plies a game"

    def _exploration(self) -> float:
        epsilon = self.settings.epsilon
        if not isinstance(epsilon, Sequence):
            return epsilon
        return epsilon[self.num_games // self.settings.batch_games % len(epsilon)]

    def _play_batch(self, games: int) -> tuple[Transitions, Transitions]:
        """Plays games side by side; returns the moves of each seat's learner.

        Against an opponent the first seat's learner plays the even games, the second seat's the odd ones.
        """
        epsilon = self._exploration()
        own, opp = self.game.start()
        batch = PositionBatch(self.game, np.full(games, own), np.full(games, opp))
        playing = np.arange(games)
        # A row for each ply, as many as a game can have; and each game's length and result, for the side to move.
        positions = np.zeros((2, self.game.cells, games), np.int64)
        chosen = np.zeros((self.game.cells, games), np.int64)
        lengths, results = np.zeros(games, np.int64), np.zeros(games, np.int64)
        while len(playing):
            # All games that still play are at the same ply. Epsilon-greedy: the best action, or any legal one.
            ply = int(lengths[playing[0]])
            actions = self.values_many(batch, ply % 2).argmax(axis=1)
            drawn = np.where(batch.action_masks() != 0, self._rng.random((len(batch), self.game.num_actions)), -1)
            actions = np.where(self._rng.random(len(batch)) < epsilon, drawn.argmax(axis=1), actions)
            if self._opponent is not None and (replying := playing % 2 != ply % 2).any():
                actions[replying] = self._replies(self._opponent, batch.where(replying))
            # Record the ply and play it; finished games leave the batch.
            positions[:, ply, playing], chosen[ply, playing] = (batch.own, batch.opp), actions
            batch = batch.play(actions)
            lengths[playing] += 1
            results[playing] = batch.results()
            unfinished = results[playing] == UNFINISHED
            playing, batch = playing[unfinished], batch.where(unfinished)
        self.mean_length = float(lengths.mean())
        first, second = (self._transitions(seat, positions, chosen, lengths, results) for seat in range(len(SEATS)))
        return first, second

    def _replies(self, opponent: Policy, batch: PositionBatch) -> Ints:
        """The opponent's actions in B positions: int64 (B,)."""
        actions = actions_of(opponent, batch, self._rng.integers(1 << 62, size=len(batch)))
        legal = (batch.action_masks() != 0)[np.arange(len(batch)), actions.clip(0, self.game.num_actions - 1)]
        for index in np.flatnonzero(~legal | (actions < 0) | (actions >= self.game.num_actions))[:1]:
            raise illegal_choice(opponent, batch[int(index)], int(actions[index]))
        return actions.astype(np.int64)

    def _transitions(self, seat: int, positions: Ints, chosen: Ints, lengths: Ints, results: Ints) -> Transitions:
        """A seat's moves, from positions (2, plies, games), actions (plies, games), lengths and results (games,)."""
        # The plies that were played, as pairs of ply and game: those of the seat, and of the games that it plays.
        plies, numbers = np.nonzero(np.arange(self.game.cells)[:, None] < lengths)
        learned = plies % 2 == seat
        if self._opponent is not None:
            learned &= numbers % 2 == seat
        plies, numbers = plies[learned], numbers[learned]
        # The seat moves again two plies later, unless the game is over by then.
        ended = plies + 2 >= lengths[numbers]
        # A result is for the side to move at the end: the one that made the last move but one.
        mine = results[numbers] * np.where(plies + 2 == lengths[numbers], 1, -1)
        win, draw, loss = self.settings.rewards
        rewards = np.where(ended, np.where(mine == WON, win, np.where(mine == DRAWN, draw, loss)), 0)
        before = PositionBatch(self.game, *positions[:, plies, numbers])
        after = PositionBatch(self.game, *positions[:, plies[~ended] + 2, numbers[~ended]])
        return Transitions(before, chosen[plies, numbers], ended, rewards.astype(np.float32), after)

    def _targets(self, seat: int, transitions: Transitions) -> Floats:
        """The target of each move: float32 (N,)."""
        targets = transitions.rewards.copy()
        continues = ~transitions.ended
        if continues.any():
            boards = _boards(transitions.before.where(continues))
            values = self._seats[seat].values(boards, transitions.actions[continues])
            best = self.values_many(transitions.after, seat).max(axis=1)
            targets[continues] = values + self.settings.target_step * (best - values)
        return targets

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        pairs = zip(SEATS, self._seats, strict=True)
        arrays = {f"{seat}_{name}": array for seat, network in pairs for name, array in network.arrays().items()}
        steps = [network.steps for network in self._seats]
        return {"gradient_steps": steps, "random_state": self._rng.bit_generator.state}, arrays

    def _set_state(self, meta: dict[str, Any], arrays: Arrays) -> None:
        self._rng.bit_generator.state = meta["random_state"]
        for seat, network, steps in zip(SEATS, self._seats, meta["gradient_steps"], strict=True):
            own = {name.removeprefix(f"{seat}_"): a for name, a in arrays.items() if name.startswith(f"{seat}_")}
            network.read(own, whole("gradient_steps", steps))


def _boards(batch: PositionBatch) -> Floats:
    """The input of the networks: float32 (B, rows, cols)."""
    return batch.observations("board").astype(np.float32)
