"""The checks of the arguments that the single and the vector environment share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tictac_env.games import Game
from tictac_env.position import Position, PositionBatch

PLAY_AS = ("first", "second", "random", "alternate")
ILLEGAL = ("lose", "raise")


def check_rewards(rewards: Any) -> tuple[float, float, float, float]:
    """The rewards for a win, a draw, a loss and a step that does not end the game (0 where not given).

    Raises:
        ValueError: `rewards` is not three or four finite numbers.
    """
    try:
        numbers = tuple(float(reward) for reward in rewards) if isinstance(rewards, (list, tuple, np.ndarray)) else ()
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) not in (3, 4) or not all(map(math.isfinite, numbers)):
        raise ValueError(
            f"rewards must be finite numbers (win, draw, loss) or (win, draw, loss, step), not {rewards!r}"
        )
    win, draw, loss, step = (*numbers, 0.0)[:4]
    return win, draw, loss, step


def check_start(start: Any, game: Game) -> Sequence[Position] | PositionBatch | None:
    """The positions `start` names, if they are unfinished positions of `game`.

    Raises:
        ValueError: they are not, or there are none.
    """
    if start is None:
        return None
    if isinstance(start, (str, Position)) or not isinstance(start, (Sequence, PositionBatch)):
        raise ValueError(f"start must be a sequence of positions, not one; try start=[{start!r}]")
    positions = tuple(unfinished(start[i], game) for i in range(len(start)))
    if not positions:
        raise ValueError("start is empty; give positions, or None for the empty board")
    return positions


def unfinished(position: Any, game: Game) -> Position:
    """`position` (or the position of a move string), if the game goes on there.

    Raises:
        ValueError: it is no position of `game`, or a finished one.
    """
    if isinstance(position, str):
        position = Position.from_moves(game, position)
    if not isinstance(position, Position):
        raise ValueError(f"a position must be a Position or a move string, not {position!r}")
    if position.game != game:
        raise ValueError(f"{position!r} is not a position of this environment's game, {game!r}")
    if position.is_over:
        raise ValueError(f"no game can begin in the finished position {position!r}")
    return position
