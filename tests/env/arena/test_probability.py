"""Our few functions of statistics against SciPy's."""

from __future__ import annotations

import math
from random import Random

import pytest
from scipy.stats import binomtest, t

from tictac_env.arena.probability import root, sign_test, student_quantile


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99, 0.9999])
def test_students_quantiles_are_scipys(confidence: float) -> None:
    freedoms = [*range(1, 60), 99, 100, 999, 1000, 10_001]
    theirs = t.ppf((1 + confidence) / 2, freedoms)
    assert [student_quantile(freedom, confidence) for freedom in freedoms] == pytest.approx(theirs, rel=1e-10)


def test_the_sign_test_is_scipys() -> None:
    counts = [(one, other) for one in range(25) for other in range(25) if one + other]
    for one, other in [*counts, (700, 800), (1, 1000), (5000, 5000), (3000, 4000)]:
        assert sign_test(one, other) == pytest.approx(binomtest(one, one + other).pvalue, rel=1e-10)
    assert sign_test(0, 0) == 1 and sign_test(0, 5000) == 0  # less than a float can be


def test_the_sign_of_a_function_changes_at_its_root() -> None:
    rng, compared = Random(0), 0
    for _ in range(400):
        a, b, c = (rng.uniform(-2, 2) for _ in range(3))
        low, high, tolerance = rng.uniform(-8, -3), rng.uniform(3, 8), rng.choice([1e-2, 1e-4, 1e-9])
        for function in (
            lambda x, a=a, b=b, c=c: a * x + b + c * math.sin(3 * x),
            lambda x, a=a, b=b: math.exp(a * x) - abs(b) - 0.1,
            lambda x, a=a, b=b: math.tanh(20 * (x - a)) + b / 3,  # flat but at its root
            lambda x, a=a: 1.0 if x > a else -1.0,
        ):
            if (function(low) < 0) != (function(high) < 0):
                for found in (root(function, low, high, tolerance), root(function, high, low, tolerance)):
                    assert (function(found - tolerance) < 0) != (function(found + tolerance) < 0)
                compared += 1
    assert compared > 1000
    assert root(math.cos, 0.0, 3.0, 0.0) == pytest.approx(math.pi / 2, rel=1e-15)
