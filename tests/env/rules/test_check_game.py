"""`check_game` passes every rule book here, and names what is wrong with others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from conftest import HEX, breadth

from examples.hex import Hex
from tictac_env.check_game import check_game
from tictac_env.games import DRAWN, Game, PlacementGame


@pytest.mark.filterwarnings("ignore:.*nobody won")  # three games are few on the odd sizes
def test_every_rule_book_keeps_the_contract(game: Game) -> None:
    check_game(game, games=3, compiled=False)


@pytest.mark.parametrize("game", breadth([HEX], [Hex.make(1), Hex.make(5), Hex.make(7)]), ids=repr)
def test_a_game_of_ones_own_keeps_it_compiled_too(game: Game) -> None:
    check_game(game)


WRONG: dict[str, tuple[Callable[..., Any], str]] = {
    "play": (lambda self, own, opp, action: (opp, own | 1 << action), "play must change nothing at the illegal action"),
    "undo": (lambda self, own, opp, action: (own, opp), "undo must take back action"),
    "play_choice": (lambda self, own, opp, choice: (own | choice, opp), "play_choice must do what play does"),
    "legal": (lambda self, own, opp: self.full, "play of action . must put a stone on an empty cell"),
    "nth": (lambda self, legal, index: index, "nth must give the legal actions"),
    "seat": (lambda self, own, opp: 0, "after 1 plies seat must be 1, not 0"),
    "threats": (lambda self, stones, seat: 0, "winning_choices of the other side must be"),
    "result": (
        lambda self, own, opp: DRAWN if own | opp == self.full else 2,
        "winning_choices must be 0",
    ),
    "is_dead": (lambda self, own, opp: True, "is_dead was true before the game was won"),
    "image": (lambda self, row, col, symmetry: (0, 0), "symmetry 0 must leave every cell where it is"),
    "choices_into": (lambda self, own, opp, cells: 0, "choices_into must know that action"),
    "start": (lambda self: (1, 0), "must start from the empty board"),
    "cell": (lambda self, row, col: 1 << row, "must have a bit of its own"),
    "choice": (lambda self, action: 1 << self.cells - 1 - action, "choices must be the first 9 cells"),
    "cells": (property(lambda self: 8), "cells must be rows . cols = 9"),
    "num_actions": (property(lambda self: 10), "there are 10 actions, more than the 9 cells"),
    "winning_cells": (lambda self, stones, seat: [], r"winning_cells of .* must be an int of at least 0, not \[\]"),
    "rows": (property(lambda self: 0), "rows of .* must be an int of at least 1, not 0"),
    "__hash__": (None, "must be hashable"),  # type: ignore[dict-item]
    "grown": (lambda self, cells: ~(~Hex.grown(self, cells)), "write x . full"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_broken_rule_is_named(name: str) -> None:
    broken, message = WRONG[name]
    game = type("Broken", (Hex,), {name: broken, "knows_wins": True})(3)
    with pytest.raises(ValueError, match=message):
        check_game(game, compiled=False)


def test_a_copy_must_be_equal() -> None:
    game = type("Broken", (Hex,), {"__eq__": lambda self, other: self is other, "__hash__": object.__hash__})(3)
    with pytest.raises(ValueError, match="a copy must be equal"):
        check_game(game, compiled=False)


@dataclass(frozen=True)
class Overflowing(PlacementGame):
    """A rule book that reaches 2**63 and is right all the same, interpreted: who makes a row of three wins."""

    rows: int = 3
    cols: int = 3

    def winning_cells(self, stones: int, seat: int) -> int:
        wide = stones << 60
        return next((row for row in (7, 56, 448) if wide >> 60 & row == row), 0)


@dataclass(frozen=True)
class Typed(PlacementGame):
    """Who makes a row wins; what `winning_cells` then returns is not an int."""

    rows: int = 3
    cols: int = 3
    value: Any = None

    def winning_cells(self, stones: int, seat: int) -> int:
        return self.value if any(stones & row == row for row in (7, 56, 448)) else 0  # type: ignore[no-any-return]


@pytest.mark.parametrize("value", [(7,), True, 7.0, "abc", None])
def test_a_rule_of_another_type_is_named_with_the_position(value: Any) -> None:
    with pytest.raises(ValueError, match=r"winning_cells at Position.* must be an int"):
        check_game(Typed(value=value), compiled=False)


@dataclass(frozen=True)
class Importing(PlacementGame):
    """A rule that Python runs and Numba does not compile."""

    rows: int = 2
    cols: int = 2

    def winning_cells(self, stones: int, seat: int) -> int:
        import math

        return stones if math.sqrt(stones) == 3 else 0


def test_a_rule_that_cannot_be_compiled_is_named() -> None:
    with pytest.raises(ValueError, match=r"Importing.*: a rule cannot be compiled.*test_check_game.py"):
        check_game(Importing())


@dataclass(frozen=True)
class Peaceful(PlacementGame):
    """A game that nobody can win."""

    rows: int = 2
    cols: int = 2

    def winning_cells(self, stones: int, seat: int) -> int:
        return 0


def test_a_game_that_nobody_wins_is_noticed() -> None:
    with pytest.warns(UserWarning, match="nobody won any of 3 random games"):
        check_game(Peaceful(), games=3, compiled=False)


def test_values_that_leave_63_bits_are_named() -> None:
    with pytest.raises(ValueError, match=r"lshift__ of .* leaves"):
        check_game(Overflowing(), compiled=False)


@pytest.mark.parametrize("arguments", [{"games": 0}, {"seed": -1}, {"compiled": 1}])
def test_impossible_arguments_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments))):
        check_game(HEX, **arguments)
