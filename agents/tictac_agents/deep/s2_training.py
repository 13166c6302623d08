"""The compiled loop of `S2Network`: games against random play, and a step of gradient descent for each of its moves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.compiled import kernel
from tictac_env.games import DRAWN, UNFINISHED, WON, Game
from tictac_env.rng import UNIT, advance, mix

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
