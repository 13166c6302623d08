"""What the exact solver says of a position: its scores, or the bounds that a limited search has proven."""

from __future__ import annotations

from typing import Any, NamedTuple

from tictac_env.games import shown
from tictac_env.position import Position


class Solution(NamedTuple):
    """The exact scores of a position and of its actions.

    Scores are exact distances: +n, the player to move wins with their n-th stone counted from the last one they could
    ever place; -n, the opponent does; 0, a draw. A finished game that is not drawn has -n, the winner having won with
    their n-th stone.

    Example:
        >>> from tictac_env import Position, solve
        >>> solve(Position.from_moves("TicTacToe-v0", "1524"))
        Solution(score=3, action_scores=(None, None, 3, None, None, 0, -2, -2, -2), best_actions=(2,))
    """

    score: int
    """The score of the position."""
    action_scores: tuple[int | None, ...]
    """The score of the position for each action, None where it is illegal."""
    best_actions: tuple[int, ...]
    """The actions of the best score, in ascending order; none once the game is over."""


class Bounds(NamedTuple):
    """What a search has found out about a score, and what it cost.

    Example:
        >>> from tictac_env import Position, Solver
        >>> bounds = Solver("TicTacToe-v0").bounds(Position.from_moves("TicTacToe-v0", "12"), weak=True)
        >>> bounds.lower, bounds.upper, bounds.proven
        (1, 1, True)
    """

    lower: int
    """The score is at least this."""
    upper: int
    """The score is at most this."""
    nodes: int
    """How many positions were expanded."""
    seconds: float
    """How long it took, by the clock on the wall."""

    @property
    def proven(self) -> bool:
        """Whether the score is known."""
        return self.lower == self.upper


class NotProven(Exception):
    """A limit ended the search before the score was known; `bounds` holds what is known of it.

    Example:
        >>> from tictac_env import Position, Solver
        >>> Solver("TicTacToe-v0").score(Position.start("TicTacToe-v0"), node_limit=0)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        tictac_env.solver.solution.NotProven: not proven: the score is in [-5, 5] a...
    """

    def __init__(self, position: Position, bounds: Bounds) -> None:
        super().__init__(
            f"not proven: the score is in [{bounds.lower}, {bounds.upper}] after {bounds.nodes:,} nodes and "
            f"{bounds.seconds:.2f} s: {position!r}"
        )
        self.position = position
        self.bounds = bounds


def check_is_position(position: Any) -> Position:
    """`position`, if it is one.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(position, Position):
        example = 'Position.from_moves("ConnectFour-v0", "4453")'
        raise ValueError(f"a position must be a Position, such as {example}, not {shown(position)}")
    return position
