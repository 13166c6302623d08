"""What learners see of many boards at once, written by compiled loops."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.compiled import borrowing_kernel, store_bytes
from tictac_env.envs.vector.boards import OVER, Boards, Bytes, Ints, StepArrays, boards_of
from tictac_env.games import Game
from tictac_env.observation import BOARD, CODE, PLANES, ObservationType
from tictac_env.position import Position

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


CALLED_ONCE = ("action_masks", "render")
"""Methods that the vector environment answers for all boards at once."""


class BoardView:
    """One board of many, with the attributes of an environment of its own.

    Attributes:
        position: the position on it.
    """

    game = property(attrgetter("_envs.game"))
    opponent = property(attrgetter("_envs.opponent"))
    arguments = property(attrgetter("_envs.arguments"))
    spec = property(attrgetter("_envs.spec"))
    metadata = property(attrgetter("_envs.metadata"))
    render_mode = property(attrgetter("_envs.render_mode"))
    observation_space = property(attrgetter("_envs.single_observation_space"))
    action_space = property(attrgetter("_envs.single_action_space"))

    def __init__(self, envs: HasBoardViews, number: int) -> None:
        self._envs: Any = envs
        self._number = number

    @property
    def position(self) -> Position:
        position: Position = self._envs.batch[self._number]
        return position

    def action_masks(self) -> npt.NDArray[np.int8]:
        """The board's action mask, int8 (num_actions,), as `BoardVectorEnv.action_masks` gives it."""
        mask: npt.NDArray[np.int8] = self._envs.action_masks()[self._number]
        return mask

    def render(self) -> Any:
        """The board as "ansi" (str) or "rgb_array" (uint8 (H, W, 3)); None for "human", which shows the first board."""
        frames = self._envs.render()
        return None if frames is None else frames[self._number]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"a board of a vector environment has no {name!r}: boards are reset, stepped and closed together. It has"
            f" {', '.join(known for known in vars(BoardView) if known[0] != '_')}, and what set_attr has set. "
            'gym.make_vec(..., vectorization_mode="sync") makes an environment for each, which is much slower'
        )

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(type(self), name):
            raise AttributeError(
                f"{name!r} of a board cannot be set. What boards share is an argument of the environment; an "
                "OpponentPool lets opponents join and leave, and reset(options=...) sets positions"
            )
        super().__setattr__(name, value)


class HasBoardViews:
    """What a vector environment asks of its boards one by one, as Gymnasium's `SyncVectorEnv` does."""

    num_envs: int
    _views: list[BoardView] | None = None

    @property
    def board_views(self) -> list[BoardView]:
        """The boards one by one."""
        if self._views is None:
            self._views = [BoardView(self, number) for number in range(self.num_envs)]
        return self._views

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """What a method of each board returns, or the value of an attribute: a tuple of num_envs.

        Raises:
            AttributeError: boards have no such method or attribute; the message says what they have.
        """
        if name in CALLED_ONCE:
            results = getattr(self, name)(*args, **kwargs)
            return (None,) * self.num_envs if results is None else tuple(results)
        found = [getattr(board, name) for board in self.board_views]
        return tuple(one(*args, **kwargs) if callable(one) else one for one in found)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of each board, such as "position": a tuple of num_envs. A method is called, as in Gymnasium.

        Raises:
            AttributeError: as for `call`.
        """
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute of your own on each board, for `get_attr`.

        Args:
            name: its name.
            values: a list or tuple of num_envs, one for each; anything else is for all.

        Raises:
            ValueError: there are more or fewer values.
            AttributeError: it is an attribute that boards have by themselves.
        """
        each = values if isinstance(values, (list, tuple)) else [values] * self.num_envs
        if len(each) != self.num_envs:
            raise ValueError(f"{name} needs a value, or a list of {self.num_envs}, not of {len(each)}: {values!r:.200}")
        for board, value in zip(self.board_views, each, strict=True):
            setattr(board, name, value)
