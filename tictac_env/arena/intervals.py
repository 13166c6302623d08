"""Intervals of means that lie in [0, 1]: shares, and results in which a draw counts half."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist  # SciPy would take 0.7 s to import

import numpy as np
import numpy.typing as npt


def wilson(share: float, trials: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share seen in `trials`, which need not be a whole number ("Probable inference, the
    law of succession, and statistical inference", JASA 22, 1927).
    """
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = sqrt(z2 * (share * (1 - share) / trials + z2 / (4 * trials**2))) / (1 + z2 / trials)
    return max(0.0, middle - half), min(1.0, middle + half)


def mean_interval(values: npt.NDArray[np.float64], confidence: float = 0.95) -> tuple[float, float]:
    """The interval of the mean of at least one independent value in [0, 1]; Wilson's if all are 0 or 1.

    Else it is Wilson's with as many yes-or-no trials as would make the mean as uncertain as it is: the effective sample
    size (Korn and Graubard, "Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data", 1998). Where nothing varies it is the number of values.
    """
    count, mean, variance = len(values), float(values.mean()), float(values.var())
    # At least `count`, as no variance in [0, 1] is larger than mean * (1 - mean); rounding may say otherwise.
    trials = max(count, count * mean * (1 - mean) / variance) if variance > 0 else count
    return wilson(mean, trials, confidence)


def percentage(share: float, interval: tuple[float, float] | None = None) -> str:
    """A share in [0, 1] in per cent, with its interval if it has one, as in "12.3 % (11.9-12.8)".

    There is one decimal; two if one would show a number as 0 or 100 that is neither.
    """
    numbers = [100 * number for number in (share, *(interval or ()))]
    hidden = any(1e-9 < number < 100 - 1e-9 and f"{number:.1f}" in ("0.0", "100.0") for number in numbers)
    value, *ends = (f"{number:.{2 if hidden else 1}f}" for number in numbers)
    return f"{value} % ({'-'.join(ends)})" if ends else f"{value} %"
