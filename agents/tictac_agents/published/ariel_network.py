"""S4's deep Q-learner: batches of games of self-play, and after each the networks fitted to targets computed anew."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tictac_agents.checkpoint import MAX_GAMES, GamesLearner
from tictac_env.checks import flag, number, one_of, positive, schedule, whole
from tictac_env.games import DRAWN, UNFINISHED, WON, Game, describe_game, game_of, get_game, shown
from tictac_env.policies import Policy, as_policy
from tictac_env.policies.policy import actions_of, illegal_choice
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.storage import reading, save_arrays

if TYPE_CHECKING:
    from tictac_agents.published.ariel_torch import Network


Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

KIND = "tictac_agents.FittedQ"
SEATS = ("first", "second")
S4: dict[str, Any] = {
    "all_actions": False,
    "batch_games": 300,
    "epochs": 5,
    "minibatch": 256,
    "learning_rate": 1e-3,
    "target_step": 0.5,
    "epsilon": (1.0, 0.5, 0.3, 0.2, 0.1),
    "rewards": (1.0, 0.5, -1.0),
}


class Transitions(NamedTuple):
    """The N moves of one seat's learner in a batch of games."""

    before: PositionBatch
    """N positions, the seat to move."""
    actions: Ints
    """(N,)."""
    ended: npt.NDArray[np.bool_]
    """(N,), whether the game was over before the seat's next move."""
    rewards: Floats
    """(N,), what it then got; 0 elsewhere."""
    after: PositionBatch
    """The positions at the seat's next moves, where the game went on, in the same order."""


class FittedQ(GamesLearner):
    """Deep Q-learning from batches of games, a network a seat: the deep learner of S4 (Gilad Ariel, Connect Four).

    ## Description

    Both seats play a batch of games against each other, or each seat half of it against an opponent, epsilon-greedy.
    Then each learns from its own moves in them, off-line: in each epoch the target of every move is computed anew, and
    the network is fitted to the targets by one pass of Adam, the mean square error being the loss. The games are then
    forgotten. (Neural fitted Q iteration, of Riedmiller, 2005, keeps them.) The target of a move is the reward where
    the game ends before the seat's next move, else v + target_step * (best - v), with the network's value v of the move
    and its best value at the next one.

    `epsilon` is gone through batch by batch, and then from its beginning again, so that exploration falls and is raised
    again: the first player soon always opens in the centre, and the second would learn only the answer to that.

    The network is S4's: seven convolutions, 49-7-7 dense units, LeakyReLUs; other sizes are settings. It sees the board
    (1 own stones, -1 the other side's) and in a row above it a 1 in the column of one action, whose value it gives: a
    pass for each action. With `all_actions` it sees the board alone, and gives the values of all actions in one pass.

    It plays the legal action of the highest value. On a processor one thread of PyTorch is the fastest.

    Presets (`FittedQ.preset(name)`):
        S4: as published. (How exploration was raised again was not; the schedule is ours.)
        S4-all-actions: the same with all actions in one pass.

    Args:
        game: a game's name or rule book; without `all_actions` one whose actions are its columns.
        all_actions: see above.
        batch_games: how many games a batch has.
        epochs: how often all moves of a batch are learned.
        minibatch: how many moves each gradient step uses.
        learning_rate: Adam's step size.
        target_step: how far a target goes from the value to the best next one, in (0, 1].
        epsilon: the chance of a random action, in [0, 1]: a number, or several, one a batch.
        rewards: for a win, a draw and a loss.
        opponent: the name or file of a policy, such as "random" or "tree.npz"; None if the two seats play each other.
        filters: how many filters each convolution has.
        widths: how wide the filters of each convolution are.
        dense: how many units each dense layer has.
        seed: makes the run reproducible on one device; None for fresh entropy.
        device: PyTorch's.

    Attributes:
        num_games: how many games it has learned from.
        mean_length: how many plies the games of the last batch had, on average.

    Raises:
        ValueError: an argument is out of its range, the opponent is not known, or the network cannot be told the game's
            actions.
        IllegalMove: while it learns, if the opponent plays an illegal action.
        DependencyNotInstalled: PyTorch is missing.

    Example:
        >>> learner = FittedQ("KInARow-v0:4x4-3", batch_games=8, epochs=1, seed=0).learn(8)
        >>> learner.num_games
        8
    """

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {"S4": S4, "S4-all-actions": S4 | {"all_actions": True}}
    budget = "no search; a pass of a network"

    def __init__(
        self,
        game: str | Game = "ConnectFour-v0",
        all_actions: bool = False,
        batch_games: int = 300,
        epochs: int = 5,
        minibatch: int = 256,
        learning_rate: float = 1e-3,
        target_step: float = 0.5,
        epsilon: float | Sequence[float] = (1.0, 0.5, 0.3, 0.2, 0.1),
        rewards: Sequence[float] = (1.0, 0.5, -1.0),
        opponent: str | None = None,
        filters: Sequence[int] = (20, 20, 20, 30, 30, 30, 30),
        widths: Sequence[int] = (5, 4, 4, 4, 4, 4, 4),
        dense: Sequence[int] = (49, 7, 7),
        seed: int | None = None,
        device: str = "cpu",
    ) -> None:
        from tictac_agents.published.ariel_torch import (
            FittedNetwork,
            new_network,
        )  # only now: the settings need no torch

        self.game = get_game(game)
        self.all_actions = flag("all_actions", all_actions)
        self.batch_games = positive("batch_games", batch_games)
        self.epochs = positive("epochs", epochs)
        self.minibatch = positive("minibatch", minibatch)
        self.learning_rate = number("learning_rate", learning_rate, 0, 1)
        self.target_step = number("target_step", target_step, 0, 1)
        self.epsilon = schedule("epsilon", epsilon, 0, 1)
        if len(rewards) != 3:
            raise ValueError(f"rewards must be three numbers, for a win, a draw and a loss, not {shown(rewards)}")
        self.rewards = tuple(number(f"rewards[{i}]", reward, -100, 100) for i, reward in enumerate(rewards))
        self.opponent = opponent
        self._opponent = None if opponent is None else as_policy(opponent, self.game)
        sizes = {"filters": filters, "widths": widths, "dense": dense}
        self.filters, self.widths, self.dense = (
            tuple(positive(f"{name}[{i}]", size, 1 << 12) for i, size in enumerate(given))
            for name, given in sizes.items()
        )
        if len(self.filters) != len(self.widths):
            raise ValueError(f"widths must be {len(self.filters)} numbers, as filters are, not {shown(self.widths)}")
        self.seed = None if seed is None else whole("seed", seed)
        self.device = device
        self.name = "FittedQ"
        self.mean_length = 0.0
        self._rng = np.random.default_rng(self.seed)
        convolutions = tuple(zip(self.filters, self.widths, strict=True))
        made = [new_network(self.game, self.all_actions, convolutions, self.dense, self._rng, device) for _ in SEATS]
        self._fitted = tuple(FittedNetwork(network, learning_rate, device) for network in made)

    @classmethod
    def preset(cls, name: str, seed: int | None = None, **changes: Any) -> Self:
        """A learner with the settings of `PRESETS[name]`, with `changes`.

        Raises:
            ValueError: there is no such preset, or a changed setting is out of its range.
        """
        return cls(**(cls.PRESETS[one_of("preset", name, tuple(cls.PRESETS))] | changes), seed=seed)

    @property
    def settings(self) -> dict[str, Any]:
        """All it was made with but the game and the device."""
        names = ("all_actions", "batch_games", "epochs", "minibatch", "learning_rate", "target_step", "epsilon")
        own = (*names, "rewards", "opponent", "filters", "widths", "dense", "seed")
        return {name: getattr(self, name) for name in own}

    @property
    def networks(self) -> tuple[Network, ...]:
        """Those of the first and the second seat."""
        return tuple(one.network for one in self._fitted)

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
        """The values of all actions in B unfinished positions, `seat` to move: float32 (B, num_actions), -inf where
        illegal.
        """
        different, which = batch.distinct()
        found = self._fitted[seat].values(_boards(different))
        values: Floats = np.where(different.action_masks() != 0, found, np.float32(-np.inf))
        return values[which]

    def _learn_some(self, most: int) -> int:
        """Plays and learns one batch."""
        games = min(self.batch_games, most)
        for seat, transitions in enumerate(self._play(games)):
            if len(transitions.actions):
                self._fit(seat, transitions)
        return games

    def _state_in_words(self) -> str:
        return f"{self.mean_length:.1f} plies a game"

    def _exploration(self) -> float:
        """Epsilon in the batch that comes."""
        if not isinstance(self.epsilon, list):
            return self.epsilon
        return self.epsilon[self.num_games // self.batch_games % len(self.epsilon)]

    def _play(self, games: int) -> tuple[Transitions, Transitions]:
        """Plays games side by side, and gives the moves of each seat's learner; against an opponent the first seat's
        learner plays the even games, the second seat's the odd ones.
        """
        epsilon = self._exploration()
        own, opp = self.game.start()
        batch = PositionBatch(self.game, np.full(games, own), np.full(games, opp))
        playing = np.arange(games)
        # A row a ply, as long as any game can be; and the length and the result, for the side to move, of each game.
        positions = np.zeros((2, self.game.cells, games), np.int64)
        chosen = np.zeros((self.game.cells, games), np.int64)
        lengths, results = np.zeros(games, np.int64), np.zeros(games, np.int64)
        while len(playing):
            ply = int(lengths[playing[0]])
            actions = self.values_many(batch, ply % 2).argmax(axis=1)
            drawn = np.where(batch.action_masks() != 0, self._rng.random((len(batch), self.game.num_actions)), -1)
            actions = np.where(self._rng.random(len(batch)) < epsilon, drawn.argmax(axis=1), actions)
            if self._opponent is not None and (others := playing % 2 != ply % 2).any():
                actions[others] = self._replies(self._opponent, batch.where(others))
            positions[:, ply, playing], chosen[ply, playing] = (batch.own, batch.opp), actions
            batch = batch.play(actions)
            lengths[playing] += 1
            results[playing] = batch.results()
            goes_on = results[playing] == UNFINISHED
            playing, batch = playing[goes_on], batch.where(goes_on)
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
        """The moves of a seat; of positions (2, plies, games), actions (plies, games), lengths and results (games,)."""
        plies, numbers = np.nonzero(np.arange(self.game.cells)[:, None] < lengths)
        learned = plies % 2 == seat
        if self._opponent is not None:
            learned &= numbers % 2 == seat
        plies, numbers = plies[learned], numbers[learned]
        ended = plies + 2 >= lengths[numbers]
        # The side to move at the end is the one that made the last move but one.
        mine = results[numbers] * np.where(plies + 2 == lengths[numbers], 1, -1)
        win, draw, loss = self.rewards
        rewards = np.where(ended, np.where(mine == WON, win, np.where(mine == DRAWN, draw, loss)), 0)
        before = PositionBatch(self.game, *positions[:, plies, numbers])
        after = PositionBatch(self.game, *positions[:, plies[~ended] + 2, numbers[~ended]])
        return Transitions(before, chosen[plies, numbers], ended, rewards.astype(np.float32), after)

    def _fit(self, seat: int, transitions: Transitions) -> None:
        """Fits a seat's network to its moves, whose targets each epoch computes anew."""
        boards = _boards(transitions.before)
        for _ in range(self.epochs):
            targets = self._targets(seat, transitions)
            order = self._rng.permutation(len(boards))
            self._fitted[seat].fit(boards, transitions.actions, targets, order, self.minibatch)

    def _targets(self, seat: int, transitions: Transitions) -> Floats:
        """The target of each move: float32 (N,)."""
        targets = transitions.rewards.copy()
        goes_on = ~transitions.ended
        if goes_on.any():
            boards = _boards(transitions.before.where(goes_on))
            values = self._fitted[seat].values_of(boards, transitions.actions[goes_on])
            best = self.values_many(transitions.after, seat).max(axis=1)
            targets[goes_on] = values + self.target_step * (best - values)
        return targets

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything to an .npz file (see `tictac_env.storage`), Adam's averages too."""
        arrays = {
            f"{seat}_{name}": a
            for seat, one in zip(SEATS, self._fitted, strict=True)
            for name, a in one.arrays().items()
        }
        meta = {
            "game": describe_game(self.game),
            "settings": self.settings,
            "num_games": self.num_games,
            "goal": self._goal,
            "gradient_steps": [one.steps for one in self._fitted],
            "random_state": self._rng.bit_generator.state,
        }
        save_arrays(path, KIND, meta, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "cpu") -> Self:
        """The learner that was saved.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged, or holds something else.
        """
        with reading(path, KIND, "checkpoint of FittedQ") as (meta, arrays):
            loaded = cls(game_of(meta["game"]), **meta["settings"], device=device)
            loaded.num_games = whole("num_games", meta["num_games"], MAX_GAMES)
            loaded._goal = whole("goal", meta["goal"], MAX_GAMES)
            loaded._rng.bit_generator.state = meta["random_state"]
            for number_, seat in enumerate(SEATS):
                own = {name.removeprefix(f"{seat}_"): a for name, a in arrays.items() if name.startswith(f"{seat}_")}
                loaded._fitted[number_].read(own, whole("gradient_steps", meta["gradient_steps"][number_]))
        return loaded


def _boards(batch: PositionBatch) -> Floats:
    """What the networks see: float32 (B, rows, cols)."""
    return batch.observations("board").astype(np.float32)
