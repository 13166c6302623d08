"""Exact values: `solve` and `Solver`; small games tabulated (`enumerate`); the minimax and the perfect players."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tictac_env.solver.exact import Solver, solve
    from tictac_env.solver.solution import Bounds, NotProven, Solution

COMPILED_AS = "the solver"

__all__ = ["Bounds", "NotProven", "Solution", "Solver", "solve"]


def __getattr__(name: str) -> Any:
    """The names above, imported when they are first used: the search is compiled, which other parts do not need."""
    if name in __all__:
        from tictac_env.solver import exact

        for known in __all__:
            globals()[known] = getattr(exact, known)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
