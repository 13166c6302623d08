"""All that can happen on a board against a fixed opponent, as a table of transitions like those of toy-text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import numpy.typing as npt

from tictac_env.envs.single import BoardEnv
from tictac_env.games import UNFINISHED, Game, game_name
from tictac_env.policies import Policy, answer
from tictac_env.policies.policy import illegal_choice
from tictac_env.policies.pool import OpponentPool
from tictac_env.position import Position
from tictac_env.rng import position_seed

Bits = tuple[int, int]
"""A position: the stones of the side to move, and the other side's."""
Transition = tuple[float, int, float, bool]
"""Probability, next state, reward, terminated."""
TransitionTable = list[dict[int, list[Transition]]]
"""The transitions by state and action."""

SEATS = {"first": (0,), "second": (1,), "random": (0, 1), "alternate": (0, 1)}
MAX_TRANSITIONS = 1_000_000


def enumerate_board(board: BoardEnv) -> tuple[TransitionTable, npt.NDArray[np.int64]]:
    """The transitions of each action of the learner, the opponent's reply included, wherever a game can lead.

    The states are the positions in which the learner is to move, as far as the environment's starts lead there from
    the learner's seat (or seats) against this opponent, and the finished ones, which have no actions. A position tells
    whose move it is, so one table serves both seats.

    Returns:
        The table, and int64 (S, 2): the stones (own, opp) of each state, the starts first.

    Raises:
        ValueError: there is no opponent, or one drawn anew for each game (its play does not follow from the position);
            it ends every game before the learner's first move; or there are more than `MAX_TRANSITIONS`.
        IllegalMove: the opponent's choice is illegal.
    """
    opponent, game = board.opponent, board.game
    if opponent is None:
        raise ValueError("a model needs a fixed opponent, and with opponent=None both sides step")
    if isinstance(opponent, OpponentPool):
        raise ValueError(f"a model needs a fixed opponent, and {opponent} draws one for each game; give a Mixture")
    win, draw, loss, step = board.arguments.rewards
    rewards = {1: win, 0: draw, -1: loss, UNFINISHED: step}
    states: dict[Bits, int] = {}
    positions: list[Bits] = []

    def state_of(position: Bits) -> int:
        if position not in states:
            states[position] = len(positions)
            positions.append(position)
        return states[position]

    @cache
    def replies(position: Bits) -> list[tuple[float, Bits]]:
        return list(_replies(opponent, game, *position))

    def transitions(after: Bits) -> Iterator[Transition]:
        """What follows the learner's move that led to `after`."""
        result = game.result(*after)
        if result != UNFINISHED:
            yield 1.0, state_of(after), rewards[-result], True
            return
        for chance, position in replies(after):
            result = game.result(*position)
            yield chance, state_of(position), rewards[result], result != UNFINISHED

    for start in _starts(board):
        for seat in SEATS[board.arguments.play_as]:
            first = [(start.own, start.opp)]
            if start.seat != seat:
                first = [after for _, after in replies(first[0]) if game.result(*after) == UNFINISHED]
            for position in first:
                state_of(position)
    if not positions:
        raise ValueError(f"{opponent} ends every game before the learner's first move")
    table: TransitionTable = []
    count = 0
    for position in positions:  # which grows meanwhile
        table.append({})
        if game.result(*position) != UNFINISHED:
            continue
        for action in range(game.num_actions):
            after = game.play(*position, action)
            if after != position:
                table[-1][action] = list(transitions(after))
                count += len(table[-1][action])
        if count > MAX_TRANSITIONS:
            name = game_name(game) or repr(game)
            raise ValueError(f"{name} has more than {MAX_TRANSITIONS:,} transitions, too many to tabulate")
    return table, np.array(positions, np.int64)


def _starts(board: BoardEnv) -> list[Position]:
    starts = board.arguments.start
    return [Position.start(board.game)] if starts is None else [starts[i] for i in range(len(starts))]


def _replies(opponent: Policy, game: Game, own: int, opp: int) -> Iterator[tuple[float, Bits]]:
    """The positions the opponent's move can lead to, each with its probability."""
    position = Position(game, own, opp)
    chances = opponent.probabilities(position)
    if chances is None:
        _, *after = answer(opponent, game, own, opp, (), position_seed(own, opp, 0))
        yield 1.0, (after[0], after[1])
        return
    if np.shape(chances) != (game.num_actions,):
        raise ValueError(f"the probabilities of {opponent} must be {game.num_actions}, not {chances}")
    for action in np.flatnonzero(chances).tolist():
        played = game.play(own, opp, action)
        if played == (own, opp):
            raise illegal_choice(opponent, position, action)
        yield float(chances[action]), played
