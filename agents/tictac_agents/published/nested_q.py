"""S2's network (nestedsoftware, tictac) as it was published: Q-learning after each game, a gradient step for each move.

One compiled loop plays and learns: for a network this small, PyTorch's overhead would exceed the computation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.base_learner import Arrays, as_numbers
from tictac_agents.games_learner import MOST_GAMES, GamesLearner
from tictac_agents.settings import Settings, setting, takes
from tictac_env.checks import whole
from tictac_env.compiled import kernel
from tictac_env.games import DRAWN, UNFINISHED, WON, Game, get_game
from tictac_env.position import Position
from tictac_env.rng import STATES, UNIT, advance, mix, new_state

COMPILED_AS = "learning with S2's network"

Floats = npt.NDArray[np.float64]

HIDDEN = 36
WIN, DRAW, LOSS = 1.0, 1.0, 0.0
"""The value of a game: a draw is worth as much as a win."""
PARTS = 10
"""Equal parts of a run; exploration falls by 0.1 after each."""
CHUNK = 5_000
"""Games between two looks at the clock and for Ctrl-C."""


class Layers(NamedTuple):
    """A network of A inputs, two hidden layers of ReLUs and A outputs through a sigmoid."""

    #     seen (A,)  --into-->  first (36,)  --across-->  second (36,)  --out-->  values (A,)
    #                           ReLU                      ReLU                    sigmoid

    into: Floats  # (A, HIDDEN), from the cells; transposed like `across`, so that the loops run along the rows
    into_bias: Floats
    across: Floats  # (HIDDEN, HIDDEN): [i, j] from unit i to unit j
    across_bias: Floats
    out: Floats  # (A, HIDDEN), to the actions
    out_bias: Floats


class Scratch(NamedTuple):
    """Arrays that the loop writes to."""

    seen: Floats  # (A,), the inputs
    first: Floats  # (HIDDEN,), the hidden layers
    second: Floats
    values: Floats  # (A,), the outputs
    back_first: Floats  # (HIDDEN,), the errors of the hidden layers
    back_second: Floats


class Way(NamedTuple):
    """The settings of play and learning; see `S2Network`."""

    learning_rate: float
    epsilon: float
    legal_only: bool
    relative: bool


@kernel
def add(total: Floats, factor: float, row: Floats) -> None:
    """Adds a multiple of a row to `total`; by a loop, as an expression of arrays would make one for the product."""
    for column in range(len(row)):
        total[column] += factor * row[column]


@kernel
def new_scratch(actions: int) -> Scratch:
    """The arrays for a network of `actions` actions."""
    first, second, back_first, back_second = np.zeros(HIDDEN), np.zeros(HIDDEN), np.zeros(HIDDEN), np.zeros(HIDDEN)
    return Scratch(np.zeros(actions), first, second, np.zeros(actions), back_first, back_second)


@kernel
def evaluate(game: Game, net: Layers, own: int, opp: int, relative: bool, scratch: Scratch) -> None:
    """Writes the inputs, the hidden layers and the values of all actions, for the side to move, into `scratch`.

    The input of an action's cell is 1 for the first player's stone, -1 for the second's, 0 if it is empty; if
    `relative`, 1 for one of the side to move.
    """
    # The inputs are sparse, and so are the hidden layers behind ReLUs: only units that are not 0 add their row.
    seen, first, second, values = scratch.seen, scratch.first, scratch.second, scratch.values
    first[:] = net.into_bias
    mine = 1.0 if relative or game.seat(own, opp) == 0 else -1.0
    for action in range(len(values)):
        cell = game.choice(action)
        seen[action] = mine if own & cell != 0 else -mine if opp & cell != 0 else 0.0
        if seen[action] != 0:
            add(first, seen[action], net.into[action])
    second[:] = net.across_bias
    for unit in range(len(first)):
        first[unit] = max(first[unit], 0.0)
        if first[unit] > 0:
            add(second, first[unit], net.across[unit])
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
    """Makes a step of gradient descent on the mean square error of all outputs.

    The target of `action` is `target`; that of an illegal action is a loss, unless only legal ones count. The others
    have no error.
    """
    # Forward: the activations of all layers.
    evaluate(game, net, own, opp, way.relative, scratch)
    first, second, values = scratch.first, scratch.second, scratch.values
    back_second, back_first = scratch.back_second, scratch.back_first
    step = -way.learning_rate * 2 / len(values)
    # Backward, layer by layer. The error is passed back by the weights before they change.
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
        slope = error * value * (1 - value)  # value * (1 - value) is the derivative of the sigmoid
        add(back_second, slope, net.out[output])
        add(net.out[output], step * slope, second)
        net.out_bias[output] += step * slope
    # A ReLU passes an error back only if it is active.
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
            add(net.across[unit], step * first[unit], back_second)
    add(net.across_bias, step, back_second)
    add(net.into_bias, step, back_first)
    for cell in range(len(values)):
        if scratch.seen[cell] != 0:
            add(net.into[cell], step * scratch.seen[cell], back_first)


@kernel
def best_action(game: Game, own: int, opp: int, values: Floats, legal_only: bool) -> int:
    """The action of the highest value, the lowest among equals; with `legal_only` of the legal ones."""
    best = -1
    for action in range(len(values)):
        allowed = not legal_only or game.legal(own, opp) & game.choice(action) != 0
        if allowed and (best < 0 or values[action] > values[best]):
            best = action
    return best


@kernel
def learn_games(
    game: Game, first: Layers, second: Layers, seat: int, swaps: bool, games: int, way: Way, state: int
) -> int:
    """Plays games against random play and learns from each, the last move first; returns the RNG state.

    `seat` is the learner's, 0 or 1, which changes after each game if `swaps`; `first` and `second` are the networks of
    the seats, or one network twice. A network does not change during a game, so the target of a move, the highest value
    after the reply, is that of the publication's target network, which was copied after each game.
    """
    scratch = new_scratch(game.num_actions)
    stones = np.zeros((len(scratch.values), 2), np.int64)  # before each move of the learner
    actions = np.zeros(len(scratch.values), np.int64)
    best = np.zeros(len(scratch.values))  # the highest value before it
    for _ in range(games):
        net = first if seat == 0 else second
        own, opp = game.start()
        moves, to_move, result, target = 0, 0, UNFINISHED, LOSS
        while result == UNFINISHED:
            # Each ply advances the state once, and a random action of the learner once more.
            legal = game.legal(own, opp)
            state = advance(state)
            if to_move != seat:
                action = game.nth(legal, mix(state) % legal.bit_count())
            else:
                # The best value is recorded even if the action is random: it is the target of the move before.
                evaluate(game, net, own, opp, way.relative, scratch)
                action = best_action(game, own, opp, scratch.values, way.legal_only)
                stones[moves, 0], stones[moves, 1] = own, opp
                best[moves] = scratch.values[action]
                if mix(state) * UNIT < way.epsilon:
                    state = advance(state)
                    draw = mix(state)
                    action = game.nth(legal, draw % legal.bit_count()) if way.legal_only else draw % len(best)
                actions[moves] = action
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
        # Learn the last move from the result, and each one before it from the best value at the next move.
        for move in range(moves - 1, -1, -1):
            descend(game, net, stones[move, 0], stones[move, 1], actions[move], target, way, scratch)
            target = best[move]
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


@dataclass(frozen=True, kw_only=True)
class S2NetworkSettings(Settings):
    """The settings of `S2Network`: the defaults are as published."""

    PRESETS: ClassVar = {"S2": {}}
    games_a_seat: int = setting(
        2_000_000,
        "the number of games of each seat during which exploration falls; a run has twice this number",
        1,
        MOST_GAMES // 2,
    )
    learning_rate: float = setting(0.1, "the step size", 0, 10)
    epsilon: float = setting(0.7, "the chance of a random action at first", 0, 1)
    order: str = setting(
        "in turn",
        "in turn for one seat after the other; alternate for the other seat after each game",
        choices=("in turn", "alternate"),
    )
    networks: int = setting(1, "1 network for both seats, or 2, one for each", 1, 2)
    legal_only: bool = setting(False, "True to use only legal actions: in play, in learning and in targets")
    relative: bool = setting(False, "True if the inputs are 1 for the mover's own stones and -1 for the other side's")

    @property
    def usual_total(self) -> int:
        return 2 * self.games_a_seat


class S2Network(GamesLearner):
    """The network of S2 (nestedsoftware, tictac), 9-36-36-9, trained as it was published.

    ## Description

    It learns against random play, first all games as the first player, then as many as the second, with one network.
    The inputs are the cells (1 for the first player's stones, -1 for the second's), the outputs, through a sigmoid, the
    values of all actions. A win and a draw are worth 1, a loss 0. In training it may choose an illegal action, which
    loses the game. After each game it learns from its moves, the last one first, by a step of gradient descent each:
    the target of a move is the highest value after the reply, or the result; that of illegal actions is 0. After each
    tenth of a seat's games exploration falls by 0.1.

    After training it plays the legal action of the highest value. Each of the other arguments changes one detail of the
    publication.

    Presets (`S2Network.preset(name)`):
        S2: as published, for a run of 4,000,000 games.

    Args:
        game: a game's name, or its rules; each cell must be an action.
        {settings}

    Attributes:
        num_games: the number of games it has learned from.
        layers: the networks.

    Raises:
        ValueError: an argument is out of its range, or some cells are not actions.

    Example:
        >>> learner = S2Network("TicTacToe-v0", games_a_seat=100, seed=0).learn(200)
        >>> learner.num_games
        200
    """

    settings: S2NetworkSettings
    budget = "no search; a pass of a network"

    @takes(S2NetworkSettings)
    def __init__(self, game: str | Game, settings: S2NetworkSettings) -> None:
        super().__init__(settings)
        self.game = get_game(game)
        if self.game.num_actions != self.game.cells:
            raise ValueError(f"S2's network needs a game in which each cell is an action, not {self.game!r}")
        rng = np.random.default_rng(settings.seed)
        self.layers = tuple(new_layers(self.game.num_actions, rng) for _ in range(settings.networks))
        self._rng_state = new_state(settings.seed)

    def _learn_some(self, most: int) -> int:
        """Learns from a few thousand games, all within one part of the run."""
        # Part 0 to 9 of the seat's games, or with "alternate" of all; exploration changes only at its end.
        own = self.settings
        alternate = own.order == "alternate"
        length = own.games_a_seat * (2 if alternate else 1)
        done = self.num_games % length
        part = done * PARTS // length
        end = -(-(part + 1) * length // PARTS)
        games = min(CHUNK, end - done, most)
        seat = self.num_games % 2 if alternate else self.num_games // length % 2
        epsilon = max(0.0, own.epsilon - 0.1 * part)
        way = Way(float(own.learning_rate), epsilon, own.legal_only, own.relative)
        nets = self.layers[0], self.layers[-1]
        self._rng_state = learn_games(self.game, *nets, seat, alternate, games, way, self._rng_state)
        return games

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
        self._check_game(position)
        scratch, net = new_scratch(self.game.num_actions), self.layers[position.seat % self.settings.networks]
        evaluate(self.game, net, position.own, position.opp, self.settings.relative, scratch)
        return scratch.values

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        named = enumerate(net._asdict() for net in self.layers)
        return {"rng_state": self._rng_state}, {
            f"{number_}_{name}": a for number_, net in named for name, a in net.items()
        }

    def _set_state(self, meta: dict[str, Any], arrays: Arrays) -> None:
        self._rng_state = whole("rng_state", meta["rng_state"], STATES)
        for number_, net in enumerate(self.layers):
            for name, array in net._asdict().items():
                array[...] = as_numbers(name, arrays[f"{number_}_{name}"], array)
