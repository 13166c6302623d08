"""A few functions of SciPy's, so that judging and rating need none of its 112 MB. Tests compare them.

- `student_quantile`: of Student's t-distribution.
- `sign_test`: of two outcomes that are equally likely.
- `root`: of a function, by Brent's method.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from math import copysign, cos, inf, pi, sin, sqrt, tan


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


def sign_test(one: int, other: int) -> float:
    """The exact p-value (two-sided) of having seen two outcomes so often, if both are equally likely."""
    seen, ways, term = one + other, 0, 1
    for count in range(min(one, other) + 1):
        ways += term
        term = term * (seen - count) // (count + 1)
    return min(1.0, 2 * ways / (1 << seen))


def root(function: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """A point within `tolerance` of one where a continuous function is 0; its signs at `low` and `high` differ.

    Brent, "Algorithms for Minimization Without Derivatives", 1973, chapter 4, in the steps of SciPy's `brentq`, so that
    both give the same number.
    """
    before, here, beyond = low, high, low
    at_before, at_here = function(before), function(here)
    at_beyond, last, step = at_before, 0.0, 0.0
    if at_before == 0:
        return before
    while True:
        if at_here != 0 and (at_before < 0) != (at_here < 0):
            beyond, at_beyond = before, at_before
            last = step = here - before
        if abs(at_beyond) < abs(at_here):
            before, here, beyond = here, beyond, here
            at_before, at_here, at_beyond = at_here, at_beyond, at_here
        least = (tolerance + 4 * sys.float_info.epsilon * abs(here)) / 2
        half = (beyond - here) / 2
        if at_here == 0 or abs(half) < least:
            return here
        trial = inf
        if abs(last) > least and abs(at_here) < abs(at_before):
            if before == beyond:  # a secant
                trial = -at_here * (here - before) / (at_here - at_before)
            elif at_before != at_beyond:  # a parabola through three points
                slope = (at_before - at_here) / (before - here)
                other = (at_beyond - at_here) / (beyond - here)
                numerator = at_beyond * other - at_before * slope
                trial = -at_here * numerator / (other * slope * (at_beyond - at_before))
        short = 2 * abs(trial) < min(abs(last), 3 * abs(half) - least)
        last, step = (step, trial) if short else (half, half)
        before, at_before = here, at_here
        here += step if abs(step) > least else copysign(least, half)
        at_here = function(here)
