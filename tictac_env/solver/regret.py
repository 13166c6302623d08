"""What a move gives away, by the truth: its regret, in outcome value and in exact score."""

from __future__ import annotations

from typing import NamedTuple

from tictac_env.position import Position
from tictac_env.solver.enumerate import loss_score
from tictac_env.solver.exact import Solver, check_is_position, shared_solver


class Regret(NamedTuple):
    """What a move gives away, under perfect play of both sides from there on."""

    outcome: int
    """In outcome value, a win 1, a draw 0, a loss -1: the best move's less that of the move, in {0, 1, 2}. A move of
    more than 0 is a mistake."""
    score: int | None
    """In exact score (see `Solution`): how many stones later it wins or sooner it loses, a change of the outcome
    included; 0 for the best moves only. None where it was not asked for."""


def move_regret(
    position: Position,
    action: int | None,
    solver: Solver | None = None,
    weak: bool = False,
    time_limit: float | None = None,
) -> Regret:
    """What a move gives away.

    Over a game the regrets add up: for the first player, the value of the start, less the sum of its own regrets, plus
    the sum of the other side's, is the value of the end. The same holds for scores.

    Args:
        position: an unfinished position.
        action: what the side to move plays. An illegal action, or None for no action at all, counts as a game lost on
            the spot: the value -1, and the score as if the other side had won with this very stone.
        solver: the solver to ask, None for one that all share.
        weak: only the outcome, which is found much faster.
        time_limit: at most this many seconds.

    Raises:
        ValueError: `position` is no position, or the game is over there.
        NotProven: the limit was reached.

    Example:
        >>> position = Position.from_moves("TicTacToe-v0", "15")
        >>> move_regret(position, 1), move_regret(Position.from_moves("TicTacToe-v0", "1"), 1)
        (Regret(outcome=0, score=0), Regret(outcome=1, score=2))
    """
    if check_is_position(position).is_over:
        raise ValueError(f"nobody is to move in the finished position {position!r}")
    solution = (solver or shared_solver(position.game)).solve(position, weak, time_limit=time_limit)
    legal = action is not None and 0 <= action < len(solution.action_scores)
    played = solution.action_scores[action] if legal and action is not None else None
    if played is None:
        played = -1 if weak else loss_score(position.game, position.ply + 1)
    return Regret(_sign(solution.score) - _sign(played), None if weak else solution.score - played)


def _sign(score: int) -> int:
    return (score > 0) - (score < 0)
