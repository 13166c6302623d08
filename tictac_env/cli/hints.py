"""The exact values of the moves of a position, in words."""

from __future__ import annotations

from tictac_env.position import Position, format_moves
from tictac_env.solver.enumerate import plies_to_go
from tictac_env.solver.exact import Bounds, shared_solver

SECONDS = 10.0
"""How long a hint may take."""


def hints(position: Position, seconds: float = SECONDS) -> list[str]:
    """The legal moves with their values, such as "3 5: a draw", a line for each value, the best first.

    Args:
        position: an unfinished position.
        seconds: how long to search; what is not proven by then is said so.
    """
    bounds = shared_solver(position.game).action_bounds(position, time_limit=seconds)
    known = [(action, found) for action, found in enumerate(bounds) if found is not None]
    known.sort(key=lambda one: (-one[1].lower, -one[1].upper))
    moves: dict[str, list[int]] = {}
    for action, found in known:
        moves.setdefault(_value(position, found, seconds), []).append(action)
    return [
        f"{' '.join(format_moves(position.game, [action]) for action in actions)}: {value}"
        for value, actions in moves.items()
    ]


def _value(position: Position, bounds: Bounds, seconds: float) -> str:
    if bounds.proven:
        score = bounds.lower
        if score == 0:
            return "a draw"
        plies = plies_to_go(position.game, position.ply, score)
        return f"a {'win' if score > 0 else 'loss'} in {plies} {'ply' if plies == 1 else 'plies'}"
    if bounds.lower > 0 or bounds.upper < 0:
        return "a win" if bounds.lower > 0 else "a loss"
    if bounds.lower == 0 or bounds.upper == 0:
        return f"at {'least' if bounds.lower == 0 else 'most'} a draw"
    return f"not known within {seconds:g} s"
