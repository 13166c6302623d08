"""S2's network as it was published: Q-learning after each game, one gradient step a move.

One compiled loop plays and learns: a network this small is done before PyTorch has begun.
"""

from __future__ import annotations

import os
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tictac_agents.checkpoint import MAX_GAMES, GamesLearner
from tictac_env.checks import flag, number, one_of, positive, whole
from tictac_env.compiled import kernel
from tictac_env.games import DRAWN, UNFINISHED, WON, Game, describe_game, game_of, get_game
from tictac_env.position import Position
from tictac_env.rng import STATES, UNIT, advance, mix, new_state
from tictac_env.storage import reading, save_arrays

COMPILED_AS = "learning with S2's network"

Floats = npt.NDArray[np.float64]

HIDDEN = 36
WIN, DRAW, LOSS = 1.0, 1.0, 0.0
"""What a game is worth: a draw as much as a win."""


class Layers(NamedTuple):
    """A network of A inputs, two hidden layers of ReLUs and A outputs through a sigmoid."""

    into: Floats
    """(A, HIDDEN), the weights from the cells; transposed like `across`, so that the loops run along the rows."""
    into_bias: Floats
    across: Floats
    """(HIDDEN, HIDDEN): [i, j] from unit i to unit j."""
    across_bias: Floats
    out: Floats
    """(A, HIDDEN), to the actions."""
    out_bias: Floats


class Scratch(NamedTuple):
    """What the loop writes to and forgets."""

    first: Floats
    second: Floats
    """(HIDDEN,), the hidden layers."""
    values: Floats
    """(A,), the outputs."""
    back_first: Floats
    back_second: Floats
    """(HIDDEN,), their errors."""
    own: npt.NDArray[np.int64]
    opp: npt.NDArray[np.int64]
    actions: npt.NDArray[np.int64]
    best: Floats
    """(A,): of each move of the game, the stones before it, the action, and the highest value there."""


class Way(NamedTuple):
    """How it learns; see `S2Network`."""

    learning_rate: float
    legal_only: bool
    relative: bool


@kernel
def add_row(total: Floats, factor: float, rows: Floats, row: int) -> None:
    """Adds a multiple of a row to `total`; by a loop, as an expression of arrays would make one for the product."""
    for column in range(rows.shape[1]):
        total[column] += factor * rows[row, column]


@kernel
def change_row(rows: Floats, row: int, factor: float, change: Floats) -> None:
    """Adds a multiple of `change` to a row."""
    for column in range(rows.shape[1]):
        rows[row, column] += factor * change[column]


@kernel
def mark(game: Game, own: int, opp: int, action: int, relative: bool) -> float:
    """What the network sees in the cell of an action: 1 for the first player's stones, -1 for the second's, 0 if it is
    empty; if `relative`, 1 for those of the side to move.
    """
    cell = game.choice(action)
    if (own | opp) & cell == 0:
        return 0.0
    same = relative or game.seat(own, opp) == 0
    return 1.0 if (own & cell != 0) == same else -1.0


@kernel
def evaluate(game: Game, net: Layers, own: int, opp: int, relative: bool, scratch: Scratch) -> None:
    """Writes the hidden layers and the values of all actions, for the side to move, into `scratch`."""
    first, second, values = scratch.first, scratch.second, scratch.values
    first[:] = net.into_bias
    for action in range(len(values)):
        seen = mark(game, own, opp, action, relative)
        if seen != 0:
            add_row(first, seen, net.into, action)
    second[:] = net.across_bias
    for unit in range(len(first)):
        first[unit] = max(first[unit], 0.0)
        if first[unit] > 0:
            add_row(second, first[unit], net.across, unit)
    for unit in range(len(second)):
        second[unit] = max(second[unit], 0.0)
    for action in range(len(values)):
        total = net.out_bias[action]
        for unit in range(len(second)):
            total += net.out[action, unit] * second[unit]
        values[action] = 1 / (1 + np.exp(-total))


@kernel
def descend(
    game: Game, net: Layers, own: int, opp: int, action: int, target: float, way: Way, scratch: Scratch
) -> None:
    """A step of gradient descent on the mean square error of all outputs.

    The target of `action` is `target`; that of an illegal one, unless only legal ones count, is a loss. The others have
    no error.
    """
    evaluate(game, net, own, opp, way.relative, scratch)
    first, second, values = scratch.first, scratch.second, scratch.values
    back_second, back_first = scratch.back_second, scratch.back_first
    step = -way.learning_rate * 2 / len(values)
    legal = game.legal(own, opp)
    back_second[:] = 0
    for output in range(len(values)):
        value = values[output]
        if output == action:
            error = value - target
        elif legal & game.choice(output) == 0 and not way.legal_only:
            error = value - LOSS
        else:
            continue
        slope = error * value * (1 - value)
        add_row(back_second, slope, net.out, output)
        change_row(net.out, output, step * slope, second)
        net.out_bias[output] += step * slope
    for unit in range(len(second)):
        if second[unit] <= 0:
            back_second[unit] = 0
    for unit in range(len(first)):
        back_first[unit] = 0
        if first[unit] > 0:
            total = 0.0
            for other in range(len(second)):
                total += net.across[unit, other] * back_second[other]
            back_first[unit] = total
            change_row(net.across, unit, step * first[unit], back_second)
    for unit in range(len(first)):
        net.across_bias[unit] += step * back_second[unit]
        net.into_bias[unit] += step * back_first[unit]
    for cell in range(len(values)):
        seen = mark(game, own, opp, cell, way.relative)
        if seen != 0:
            change_row(net.into, cell, step * seen, back_first)


@kernel
def best_action(game: Game, own: int, opp: int, values: Floats, legal_only: bool) -> int:
    """The action of the highest value, the lowest among equals, perhaps of the legal ones only."""
    best = -1
    for action in range(len(values)):
        allowed = not legal_only or game.legal(own, opp) & game.choice(action) != 0
        if allowed and (best < 0 or values[action] > values[best]):
            best = action
    return best


@kernel
def learn_game(game: Game, net: Layers, seat: int, epsilon: float, way: Way, scratch: Scratch, state: int) -> int:
    """Plays a game against random play and learns from it, the last move first.

    The network does not change during a game, so the target of a move, the highest value after the reply, is that of
    the publication's target network, which was copied after each game.

    Args:
        game: the rule book.
        net: the network, which learns.
        seat: the learner's, 0 or 1.
        epsilon: the chance of a random action.
        way: how it learns.
        scratch: to write to.
        state: of the randomness.

    Returns:
        The state of the randomness.
    """
    own, opp = game.start()
    moves, to_move, result = 0, 0, UNFINISHED
    target = LOSS
    while result == UNFINISHED:
        legal = game.legal(own, opp)
        state = advance(state)
        if to_move != seat:
            action = game.nth(legal, mix(state) % legal.bit_count())
        else:
            evaluate(game, net, own, opp, way.relative, scratch)
            action = best_action(game, own, opp, scratch.values, way.legal_only)
            scratch.own[moves], scratch.opp[moves] = own, opp
            scratch.best[moves] = scratch.values[action]
            if mix(state) * UNIT < epsilon:
                state = advance(state)
                draw = mix(state)
                action = game.nth(legal, draw % legal.bit_count()) if way.legal_only else draw % len(scratch.values)
            scratch.actions[moves] = action
            moves += 1
        if legal & game.choice(action) == 0:
            break  # an illegal action loses
        own, opp = game.play(own, opp, action)
        to_move = 1 - to_move
        result = game.result(own, opp)
        if result == DRAWN:
            target = DRAW
        elif result != UNFINISHED and (result == WON) == (to_move == seat):
            target = WIN
    for move in range(moves - 1, -1, -1):
        descend(game, net, scratch.own[move], scratch.opp[move], scratch.actions[move], target, way, scratch)
        target = scratch.best[move]
    return state


@kernel
def learn_games(
    game: Game,
    first: Layers,
    second: Layers,
    seat: int,
    swaps: bool,
    epsilon: float,
    games: int,
    way: Way,
    scratch: Scratch,
    state: int,
) -> int:
    """`learn_game` so many times, with the network of the seat, which if `swaps` is the other one after each game."""
    for _ in range(games):
        if seat == 0:
            state = learn_game(game, first, 0, epsilon, way, scratch, state)
        else:
            state = learn_game(game, second, 1, epsilon, way, scratch, state)
        if swaps:
            seat = 1 - seat
    return state


def new_layers(actions: int, rng: np.random.Generator) -> Layers:
    """A network with weights drawn as PyTorch draws them: uniform, by the number of a unit's inputs."""

    def draw(inputs: int, *shape: int) -> Floats:
        drawn: Floats = rng.uniform(-1, 1, shape) / np.sqrt(inputs)
        return drawn

    return Layers(
        draw(actions, actions, HIDDEN),
        draw(actions, HIDDEN),
        draw(HIDDEN, HIDDEN, HIDDEN),
        draw(HIDDEN, HIDDEN),
        draw(HIDDEN, actions, HIDDEN),
        draw(HIDDEN, actions),
    )


def new_scratch(actions: int) -> Scratch:
    """Room for a game of a network with so many actions."""
    hidden, moves = np.zeros((4, HIDDEN)), np.zeros((3, actions), np.int64)
    first, second, back_first, back_second = (row.copy() for row in hidden)
    own, opp, chosen = (row.copy() for row in moves)
    return Scratch(first, second, np.zeros(actions), back_first, back_second, own, opp, chosen, np.zeros(actions))


KIND = "tictac_agents.S2Network"
PARTS = 10
"""In how many equal parts of a run exploration falls, by 0.1 after each."""
CHUNK = 5_000
"""How many games are played between two looks at the clock and for Ctrl-C."""
ORDERS = ("in turn", "alternate")


class S2Network(GamesLearner):
    """The network of S2 (nestedsoftware, tictac), 9-36-36-9, trained as it was published.

    ## Description

    It plays against random play, first all games as the first player, then as many as the second, with one network. Its
    inputs are the cells (1 the first player's stones, -1 the second's), its outputs, through a sigmoid, the values of
    all actions. A win and a draw are worth 1, a loss 0. In training it may choose an illegal action, which loses the
    game. After each game it learns from its moves, the last one first, by a step of gradient descent each: the target
    of the move is the highest value after the reply, or the result; that of illegal actions is 0. With each tenth of a
    seat's games exploration falls by 0.1.

    When it plays, it plays the legal action of the highest value. The other arguments leave out one thing each of what
    was published.

    Presets (`S2Network.preset(name)`):
        S2: as published, for a run of 4,000,000 games.

    Args:
        game: a game's name or rule book; one in which each cell is an action.
        games_a_seat: over how many games of each seat exploration falls; a run is twice as long.
        learning_rate: the step size.
        epsilon: the chance of a random action at first, in [0, 1].
        order: "in turn" for one seat after the other; "alternate" for the other seat after each game.
        networks: 1 for both seats, or 2, one for each.
        legal_only: whether only legal actions are played, learned, and looked at for targets.
        relative: whether the inputs are 1 for one's own stones and -1 for the other side's.
        seed: makes the run reproducible; None for fresh entropy.

    Attributes:
        num_games: how many games it has learned from.
        layers: the networks.

    Raises:
        ValueError: an argument is out of its range, or some cells are no actions.

    Example:
        >>> learner = S2Network(games_a_seat=100, seed=0).learn(200)
        >>> learner.num_games
        200
    """

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "S2": {
            "games_a_seat": 2_000_000,
            "learning_rate": 0.1,
            "epsilon": 0.7,
            "order": "in turn",
            "networks": 1,
            "legal_only": False,
            "relative": False,
        }
    }
    budget = "no search; a pass of a network"

    def __init__(
        self,
        game: str | Game = "TicTacToe-v0",
        games_a_seat: int = 2_000_000,
        learning_rate: float = 0.1,
        epsilon: float = 0.7,
        order: str = "in turn",
        networks: int = 1,
        legal_only: bool = False,
        relative: bool = False,
        seed: int | None = None,
    ) -> None:
        self.game = get_game(game)
        if self.game.num_actions != self.game.cells:
            raise ValueError(f"S2's network needs a game in which each cell is an action, not {self.game!r}")
        self.games_a_seat = positive("games_a_seat", games_a_seat, MAX_GAMES // 2)
        self.learning_rate = number("learning_rate", learning_rate, 0, 10)
        self.epsilon = number("epsilon", epsilon, 0, 1)
        self.order = one_of("order", order, ORDERS)
        self.networks = positive("networks", networks, 2)
        self.legal_only = flag("legal_only", legal_only)
        self.relative = flag("relative", relative)
        self.seed = None if seed is None else whole("seed", seed)
        self.name = "S2Network"
        rng = np.random.default_rng(self.seed)
        self.layers = tuple(new_layers(self.game.num_actions, rng) for _ in range(self.networks))
        self._state = new_state(self.seed)
        self._scratch = new_scratch(self.game.num_actions)

    @classmethod
    def preset(cls, name: str, seed: int | None = None, **changes: Any) -> Self:
        """A learner with the settings of `PRESETS[name]`, with `changes`.

        Raises:
            ValueError: there is no such preset, or a changed setting is out of its range.
        """
        return cls(**(cls.PRESETS[one_of("preset", name, tuple(cls.PRESETS))] | changes), seed=seed)

    @property
    def settings(self) -> dict[str, Any]:
        """All it was made with but the game."""
        return {name: getattr(self, name) for name in (*self.PRESETS["S2"], "seed")}

    def _learn_some(self, most: int) -> int:
        """Learns from a few thousand games, of one part of the run."""
        alternate = self.order == "alternate"
        length = self.games_a_seat * (2 if alternate else 1)
        done = self.num_games % length
        part = done * PARTS // length
        end = -(-(part + 1) * length // PARTS)
        games = min(CHUNK, end - done, most)
        seat = self.num_games % 2 if alternate else self.num_games // length % 2
        self._state = learn_games(
            self.game,
            self.layers[0],
            self.layers[-1],
            seat,
            alternate,
            max(0.0, self.epsilon - 0.1 * part),
            games,
            self._way,
            self._scratch,
            self._state,
        )
        return games

    @property
    def _way(self) -> Way:
        return Way(float(self.learning_rate), self.legal_only, self.relative)

    def act(self, position: Position, seed: int) -> int:
        """The legal action of the highest value, the lowest among equals.

        Raises:
            ValueError: the position is of another game.
        """
        return int(best_action(self.game, position.own, position.opp, self.values(position), True))

    def values(self, position: Position) -> npt.NDArray[np.float64]:
        """The values of all actions, also of illegal ones: float64 (num_actions,), in (0, 1).

        Raises:
            ValueError: the position is of another game.
        """
        if position.game != self.game:
            raise ValueError(f"{self} has learned {describe_game(self.game)}, and nothing of {position!r}")
        scratch = new_scratch(self.game.num_actions)
        evaluate(
            self.game, self.layers[position.seat % self.networks], position.own, position.opp, self.relative, scratch
        )
        return scratch.values

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything to an .npz file (see `tictac_env.storage`)."""
        arrays = {
            f"{number_}_{field}": array
            for number_, net in enumerate(self.layers)
            for field, array in net._asdict().items()
        }
        meta = {
            "game": describe_game(self.game),
            "settings": self.settings,
            "num_games": self.num_games,
            "goal": self._goal,
            "state": self._state,
        }
        save_arrays(path, KIND, meta, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The learner that was saved.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged, or holds something else.
        """
        with reading(path, KIND, "checkpoint of S2Network") as (meta, arrays):
            loaded = cls(game_of(meta["game"]), **meta["settings"])
            loaded.num_games = whole("num_games", meta["num_games"], MAX_GAMES)
            loaded._goal = whole("goal", meta["goal"], MAX_GAMES)
            loaded._state = whole("state", meta["state"], STATES)
            for number_, net in enumerate(loaded.layers):
                _read(net, number_, arrays)
        return loaded


def _read(net: Layers, number_: int, arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Puts what was saved into a network.

    Raises:
        KeyError, ValueError: it is not there, or of another shape or type.
    """
    for field, array in net._asdict().items():
        saved = arrays[f"{number_}_{field}"]
        if saved.shape != array.shape or saved.dtype != array.dtype:
            raise ValueError(f"{field} must be {array.dtype} {array.shape}, not {saved.dtype} {saved.shape}")
        array[...] = saved
