"""Exact values: `solve`, `Solver` and the regret of moves; small games tabulated; minimax and perfect players."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tictac_env.lazy import lazily

if TYPE_CHECKING:
    from tictac_env.solver.exact import Bounds, NotProven, Solution, Solver, move_regret, solve

COMPILED_AS = "the solver"

__all__ = ["Bounds", "NotProven", "Solution", "Solver", "move_regret", "solve"]


if not TYPE_CHECKING:  # the search is compiled; other parts do not need Numba
    __getattr__ = lazily(__name__, {"tictac_env.solver.exact": __all__})
