"""What the kernels of the vector environment work on: the boards, and what a reset says of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]


class Boards(NamedTuple):
    """N boards, each field int64 (N,).

    Attributes:
        own: the stones of the side to move.
        opp: the other side's.
        learner: the seat whose observation is shown.
        state: of the board's randomness.
        begun: how many games have begun since the last seeded reset.
        member: which opponent of a pool plays this game; 0 without a pool.
        phase: what the board waits for.
        sampler: the state of the randomness of `Sampler`.
        opponent_action: what the opponent has played last, -1 if nothing.
        outcome: for the side that the reward is for; 0 while the game goes on.
        illegal: the illegal action that has ended the game, -1 if none has.
    """

    own: Ints
    opp: Ints
    learner: Ints
    state: Ints
    begun: Ints
    member: Ints
    phase: Ints
    sampler: Ints
    opponent_action: Ints
    outcome: Ints
    illegal: Ints


ROWS = len(Boards._fields)


def boards_of(rows: Ints) -> Boards:
    """The boards that are kept as the rows of one int64 array (ROWS, N or more).

    Kernels are handed that array: handing them eleven would take longer than a step of a few boards.
    """
    return Boards(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7], rows[8], rows[9], rows[10])


class Given(NamedTuple):
    """What a reset says of the games that begin on N boards, each field int64 (N,).

    Attributes:
        own: the stones of the side to move, `NOT_GIVEN` where the reset does not say.
        opp: the other side's.
        play_as: the index in `PLAY_AS`.
    """

    own: Ints
    opp: Ints
    play_as: Ints


# What a board waits for. Between two steps it is PLAYING or OVER.
(
    PLAYING,  # the learner's action
    OVER,
    DEALT,  # nothing: it has just begun a game
    DEAL,  # the beginning of a game
    REDEAL,  # the same, as the opponent has ended a game before the learner's first move
    WAITING,  # the opponent's answer
    OPENING,  # the opponent's first move, before the learner's first
) = range(7)

# What the learners' actions are checked for before a step.
NO_CHECK, RANGE, LEGALITY = range(3)

LINE = 64


def aligned(shape: tuple[int, ...]) -> Ints:
    """int64 zeros that begin with a line of the cache: vectors then lie within one, and threads share fewer."""
    size = 8 * int(np.prod(shape))
    buffer = np.zeros(size + LINE, np.uint8)
    begin = -buffer.ctypes.data % LINE
    return buffer[begin : begin + size].view(np.int64).reshape(shape)


def int64_array(numbers: list[int]) -> Ints:
    """An int64 array of the numbers."""
    return np.array(numbers, np.int64)
