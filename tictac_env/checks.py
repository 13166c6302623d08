"""Checks of arguments. Each returns the value or raises a ValueError that names it and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral

from tictac_env.games import did_you_mean, shown

SEATS = ("first", "second")
"""The names of the two players, by their seat."""

MAX_DIGITS = 640
"""As many digits as Python always reads, whatever `sys.set_int_max_str_digits` was told."""


def number(name: str, value: object, low: float, high: float) -> float:
    """`value`, if it is a number in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not (low <= value <= high):
        raise ValueError(f"{name} must be a number in [{low:g}, {high:g}], not {shown(value)}")
    return value


def schedule(name: str, value: object, low: float, high: float) -> float | list[float]:
    """`value`, if it is a number in [low, high], or a list of such: one for each of equal parts of a run."""
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        return [number(f"{name}[{i}]", part, low, high) for i, part in enumerate(value)]
    return number(name, value, low, high)


def flag(name: str, value: object) -> bool:
    """`value`, if it is True or False."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, not {shown(value)}")
    return value


def one_of(name: str, value: object, allowed: Sequence[str]) -> str:
    """`value`, if it is one of `allowed`."""
    if value not in allowed:
        near = did_you_mean(str(value), allowed, listed=True)
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, allowed))}, not {shown(value)}{near and f'; {near}'}"
        )
    return str(value)


def whole(name: str, value: object, high: float = math.inf, low: float = 0) -> int:
    """`value`, if it is an integer in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
        raise ValueError(f"{name} must be an integer in [{low}, {high}], not {shown(value)}")
    return int(value)


def parse_whole(text: str, low: int = 0, high: float = math.inf) -> int | None:
    """The integer in [low, high] that `text` writes with the digits 0 to 9 and nothing else; None if it does not.

    `int` would also read signs, spaces, underscores and the digits of other scripts, and raises an error of its own if
    there are too many digits.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        return None
    value = int(text)
    return value if low <= value <= high else None


def positive(name: str, value: object, high: float = math.inf) -> int:
    """`value`, if it is an integer in [1, high]."""
    return whole(name, value, high, 1)
