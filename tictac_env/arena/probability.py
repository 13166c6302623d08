"""A few functions of SciPy's, so that judging and rating need none of its 112 MB. Tests compare them.

- `student_quantile`: of Student's t-distribution.
- `sign_test`: of two outcomes that are equally likely.
- `root`: of a function.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import cos, pi, sin, sqrt, tan


@lru_cache
def student_quantile(freedom: int, confidence: float) -> float:
    """The t for which Student's variable, of at least 1 degree of freedom, is in [-t, t] as often as `confidence` says.

    By the finite series for an integer of degrees of freedom (Abramowitz and Stegun, "Handbook of Mathematical
    Functions", 1964, 26.7.3 and 26.7.4).
    """
    odd = freedom % 2

    def excess(angle: float) -> float:
        square, term, total = cos(angle) ** 2, cos(angle) ** odd, 0.0
        for power in range(odd, freedom - 1, 2):
            total += term
            term *= square * (power + 1) / (power + 2)
        share = sin(angle) * total
        return (2 / pi * (angle + share) if odd else share) - confidence

    return sqrt(freedom) * tan(root(excess, 0.0, pi / 2, 1e-15))


def sign_test(more: int, fewer: int) -> float:
    """The exact p-value (two-sided) of the numbers of two outcomes, if both are equally likely."""
    seen, ways, term = more + fewer, 0, 1
    for count in range(min(more, fewer) + 1):
        ways += term
        term = term * (seen - count) // (count + 1)
    return min(1.0, 2 * ways / (1 << seen))


def root(function: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """A point within `tolerance` of one where a continuous function is 0, by bisection.

    It is negative at `low` or at `high`, which stand in either order, and not at the other.
    """
    rising = function(low) < 0
    middle = (low + high) / 2
    while abs(high - low) > 2 * tolerance and middle not in (low, high):
        if (function(middle) < 0) == rising:
            low = middle
        else:
            high = middle
        middle = (low + high) / 2
    return middle
