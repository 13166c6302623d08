"""The rows of `boards`, which all kernels of the vector environment work on, and what stands in them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]

# The rows of `boards`, int64 (ROWS, num_envs).
(
    OWN,  # the stones of the side to move
    OPP,
    LEARNER,  # the seat whose observation is shown
    STATE,  # of the board's randomness
    BEGUN,  # games dealt since the last seeded reset
    MEMBER,  # which opponent of a pool plays this game; 0 without a pool
    PHASE,
    SAMPLER,  # the state of the randomness of `sample`
    OPPONENT_ACTION,  # the last one, -1 if none, -2 - a if the illegal action a of the learner ended the game
    OUTCOME,  # for the side that the reward is for; 0 while the game goes on
    ROWS,
) = range(11)

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

# The indices of arguments.PLAY_AS that are no seats.
RANDOM_SEAT, ALTERNATE = 2, 3

# What the learners' actions are checked for before a step.
NO_CHECK, RANGE, LEGALITY = range(3)

# Who answers.
NOBODY, EXTERNAL, RANDOM_POLICY, RULE_POLICY = range(4)

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
