"""What learners see of many boards at once, written by compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.compiled import borrowing_kernel, store_bytes
from tictac_env.envs.vector.boards import OVER, Boards, Bytes, Ints, boards_of
from tictac_env.envs.vector.buffers import StepArrays
from tictac_env.games import Game
from tictac_env.observation import BOARD, CODE, PLANES, ObservationType

NOT_WRITTEN = -1
"""Stands for an observation type that has no kernel: only the masks are written."""


@borrowing_kernel
def write_observations(
    game: Game, rows: Ints, obs_type: int, over_actions: int, output: StepArrays, shift: int, begin: int, end: int
) -> None:
    """Writes the learners' observations and action masks, those of board i as row i + `shift`.

    With `shift` only boards whose game is over are shown.

    Args:
        game: the rule book.
        rows: the boards, as `boards_of` takes them.
        obs_type: the `kernel` of its `ObservationType`, or NOT_WRITTEN.
        over_actions: the actions that the mask of a finished game shows.
        output: what they are written to.
        shift: 0, or where the rows of last observations begin.
        begin: the first board.
        end: the one after the last.
    """
    boards, cells, codes, masks = boards_of(rows), output.cells, output.codes, output.masks
    owns, opps = boards.own[begin:end], boards.opp[begin:end]
    learners, phases = boards.learner[begin:end], boards.phase[begin:end]
    for i in range(end - begin):
        over = phases[i] == OVER
        if shift and not over:
            continue
        own, opp, learner = owns[i], opps[i], learners[i]
        legal = over_actions if over else game.legal(own, opp)
        if learner != game.seat(own, opp):
            own, opp = opp, own
        row = begin + shift + i
        at = row * game.num_actions
        _put(game, legal, masks, at, game.num_actions // game.cols, at + game.num_actions)
        if obs_type == CODE:
            codes[row] = _code(game, own, opp, learner)
        elif obs_type == BOARD:
            _put_board(game, own, opp, cells, row * game.cells)
        elif obs_type == PLANES:
            at = row * 2 * game.cells
            _put(game, own, cells, at, game.rows, at + 2 * game.cells)
            _put(game, opp, cells, at + game.cells, game.rows, at + 2 * game.cells)


def observations_of(kind: ObservationType, game: Game, boards: Boards) -> npt.NDArray[Any]:
    """What the learners of N boards see, for a type that no kernel writes: (N, ...)."""
    own, opp, learners = boards.own, boards.opp, boards.learner
    movers = np.array([game.seat(*stones) for stones in zip(own.tolist(), opp.tolist(), strict=True)], np.int64)
    waits = movers != learners
    return kind.observe_many(game, np.where(waits, opp, own), np.where(waits, own, opp), learners)


@borrowing_kernel
def _put(game: Game, stones: int, cells: Bytes, at: int, rows: int, behind: int) -> None:
    """Writes the `rows` upper rows of a set of cells to `cells` from `at` on: 1 where there is one, else 0.

    Where its cells are a byte apart a row is written at once, eight bytes at a time. What lies behind it is then zero
    until the next row is written; only before `behind`, where another board begins, it is written to size.
    """
    cols = game.cols
    for row in range(rows):
        if game.row_bytes:
            word = stones >> game.rows - 1 - row & game.row_bytes
            if at + 8 <= behind:
                store_bytes(cells, at, word, 8)
            elif cols >= 4:
                store_bytes(cells, at, word, 4)
                store_bytes(cells, at + cols - 4, word >> 8 * (cols - 4), 4)
            else:
                for col in range(cols):
                    cells[at + col] = word >> 8 * col & 1
        else:
            for col in range(cols):
                cells[at + col] = stones & game.cell(row, col) != 0
        at += cols


@borrowing_kernel
def _put_board(game: Game, own: int, opp: int, cells: Bytes, at: int) -> None:
    """Writes the board to `cells` from `at` on: 1 for own stones, -1 for the other side's, 0 elsewhere."""
    for row in range(game.rows):
        for col in range(game.cols):
            bit = game.cell(row, col)
            cells[at] = (own & bit != 0) - (opp & bit != 0)
            at += 1


@borrowing_kernel
def _code(game: Game, own: int, opp: int, seat: int) -> int:
    """The base-3 code of a position, `own` being the stones of `seat`."""
    code, weight = 0, 1
    for row in range(game.rows):
        for col in range(game.cols):
            bit = game.cell(row, col)
            code += weight * ((1 + seat) * (own & bit != 0) + (2 - seat) * (opp & bit != 0))
            weight *= 3
    return code
