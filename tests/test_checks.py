"""Numbers in text are read strictly."""

from __future__ import annotations

import pytest

from tictac_env.checks import parse_whole


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("7", 7), ("007", 7), ("9" * 30, 10**30 - 1)])
def test_digits_are_a_number(text: str, number: int) -> None:
    assert parse_whole(text) == number


@pytest.mark.parametrize("text", ["", "-1", "+1", " 1", "1 ", "1_0", "1.0", "1e3", "x", "\u00b2", "\u0663", "9" * 5000])
def test_anything_else_is_none(text: str) -> None:
    assert parse_whole(text) is None


def test_both_limits_are_allowed() -> None:
    assert [parse_whole(text, 2, 4) for text in "12345"] == [None, 2, 3, 4, None]
