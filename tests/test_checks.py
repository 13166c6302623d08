"""Numbers in text are read strictly, and a choice that there is not is answered with those that there are, once."""

from __future__ import annotations

import pytest

from tictac_env.checks import one_of, parse_whole


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("7", 7), ("007", 7), ("9" * 30, 10**30 - 1)])
def test_digits_are_a_number(text: str, number: int) -> None:
    assert parse_whole(text) == number


@pytest.mark.parametrize("text", ["", "-1", "+1", " 1", "1 ", "1_0", "1.0", "1e3", "x", "\u00b2", "\u0663", "9" * 5000])
def test_anything_else_is_none(text: str) -> None:
    assert parse_whole(text) is None


def test_both_limits_are_allowed() -> None:
    assert [parse_whole(text, 2, 4) for text in "12345"] == [None, 2, 3, 4, None]


def test_the_choices_are_listed_once() -> None:
    with pytest.raises(ValueError, match=r"^play_as must be one of 'first', 'second', 'random', not 'both'$"):
        one_of("play_as", "both", ("first", "second", "random"))
    with pytest.raises(ValueError, match=r"'first', 'second', not 'frist'; did you mean first\?$"):
        one_of("play_as", "frist", ("first", "second"))
