"""Data of the vector environment's kernels: the boards, the options of a reset, and the output of a step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tictac_env.arrays import Array, Bools, Bytes, Floats, Ints
from tictac_env.games import Game
from tictac_env.observation import observation_type


class Boards(NamedTuple):
    """N boards, each field int64 (N,).

    Attributes:
        own: the stones of the side to move.
        opp: the other side's.
        learner: the seat whose observation is shown.
        state: the board's RNG state.
        begun: the number of games begun since the last seeded reset.
        member: the number of the pool member that plays this game; 0 without a pool.
        phase: PLAYING or another of the phases below.
        sampler: the RNG state of `BoardBatch.sample`.
        opponent_action: the opponent's last action, -1 if there is none.
        outcome: the outcome for the side that gets the reward; 0 while the game continues.
        illegal: the illegal action that ended the game, -1 if there is none.
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
    """The boards stored as the rows of one int64 array (ROWS, N or more).

    Kernels take that one array: passing eleven arrays would take longer than a step of a few boards.
    """
    return Boards(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7], rows[8], rows[9], rows[10])


class ResetOptions(NamedTuple):
    """The options of a reset for the games that begin on N boards, each field int64 (N,).

    Attributes:
        own: the stones of the side to move, `NOT_GIVEN` if the reset has no position for the board.
        opp: the other side's.
        play_as: the index in `PLAY_AS`.
    """

    own: Ints
    opp: Ints
    play_as: Ints


# The phases of a board, by what it waits for. Between two steps it is PLAYING or OVER; within a step:
#
#     PLAYING --move--> WAITING --reply--> PLAYING           the game continues
#                |         +-------------> OVER              the reply ends it
#                +-----------------------> OVER              the learner's move ends it
#
#     OVER --next step--> DEAL --deal--> DEALT --rewards--> PLAYING          the learner begins
#                          ^      +----> OPENING --reply--> DEALT            the opponent begins
#                          |                +------------> REDEAL            and ends the game: deal again
#                          +-------------------------------- |
#
# Their order counts: from WAITING on an opponent is to move, from DEAL on there is no game to show.
(
    PLAYING,  # the learner's action
    OVER,  # a reset, or the next step
    DEALT,  # nothing: it has just begun a game
    DEAL,  # the beginning of a game
    REDEAL,  # the beginning of another game, as the opponent ended one before the learner's first move
    WAITING,  # the opponent's answer
    OPENING,  # the opponent's first move, before the learner's first
) = range(7)

LINE = 64


def aligned(shape: tuple[int, ...]) -> Ints:
    """int64 zeros that begin at a cache line: vectors then lie within a line, and threads share fewer lines."""
    # NumPy aligns to 16 bytes: take a line more, and begin at the first address that 64 divides.
    size = 8 * int(np.prod(shape))
    buffer = np.zeros(size + LINE, np.uint8)
    begin = -buffer.ctypes.data % LINE
    return buffer[begin : begin + size].view(np.int64).reshape(shape)


def int64_array(numbers: list[int]) -> Ints:
    """An int64 array of the numbers."""
    return np.array(numbers, np.int64)


class StepArrays(NamedTuple):
    """The arrays that kernels write a step of N boards to; see `StepBuffers`.

    Attributes:
        cells: int8, the observations of types "planes" and "board", concatenated; otherwise empty.
        codes: int64, the observations of type "code"; otherwise empty.
        masks: int8, the action masks, concatenated.
        rewards: float64 (N,).
        ended: int8 (N,), 1 where a game has ended.
        finals: int64 (4, N), seat, opponent's action, outcome and illegal action (or -1) of games that have ended, or
            (4, 0). With (4, N), cells, codes and masks have N more rows, for the last observations.
    """

    cells: Bytes
    codes: Ints
    masks: Bytes
    rewards: Floats
    ended: Bytes
    finals: Ints


class StepBuffers:
    """The output of a step of N boards.

    Args:
        game: the rules.
        obs_type: the type of the observations.
        num_envs: N.
        with_finals: True if a step that begins a new game also reports how the last one ended.

    Attributes:
        arrays: the arrays for the kernels.
        rewards: float64 (N,).
        terminated: bool (N,), True where a game has ended.
        finals: as in `StepArrays`.
        observations: the observations that the environment returns: (N, ...).
        action_masks: int8 (N, num_actions).
        last_observations: those of games that have ended; (N, ...) or (0, ...).
    """

    def __init__(self, game: Game, obs_type: str, num_envs: int, with_finals: bool) -> None:
        # The last observations of games that have ended follow the N current ones in the same arrays, so that kernels
        # write both in one way, with a shift.
        rows = num_envs * (1 + with_finals)
        kind = observation_type(obs_type)
        every: Array = np.empty((rows, *kind.shape(game)), kind.dtype)
        written = kind.kernel is not None
        cells = every.reshape(-1) if written and kind.dtype is np.int8 else np.empty(0, np.int8)
        codes = every.reshape(-1) if written and kind.dtype is np.int64 else np.empty(0, np.int64)
        masks = np.empty(rows * game.num_actions, np.int8)
        ended = np.empty(num_envs, np.int8)
        self.rewards = np.empty(num_envs)
        self.finals = np.zeros((4, num_envs if with_finals else 0), np.int64)
        self.arrays = StepArrays(cells, codes, masks, self.rewards, ended, self.finals)
        self.terminated: Bools = ended.view(np.bool_)
        self.observations = every[:num_envs]
        self.last_observations = every[num_envs:]
        self.action_masks = masks.reshape(rows, game.num_actions)[:num_envs]
