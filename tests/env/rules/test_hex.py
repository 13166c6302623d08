"""Hex, the game that users are shown how to add: its rules, and what is known of small boards."""

from __future__ import annotations

import random
from functools import cache
from itertools import product

import pytest
from naive import NaiveHex

from examples import hex as example
from examples.hex import Hex
from tictac_env.games import DRAWN
from tictac_env.position import Position
from tictac_env.render.scene import MARGIN, cell_at
from tictac_env.solver import Solver, solve


def winning_openings(size: int) -> set[int]:
    """The first moves that win, by a search on the naive board that tries everything."""

    @cache
    def mover_wins(stones: str) -> bool:
        board = NaiveHex(size)
        board.grid = [[int(mark) for mark in stones[row * size : (row + 1) * size]] for row in range(size)]
        board.mark = 1 + (size * size - stones.count("0")) % 2
        if board.winner():
            return False
        return any(not mover_wins(f"{stones[:i]}{board.mark}{stones[i + 1 :]}") for i in board.legal())

    empty = "0" * size**2
    return {i for i in range(size**2) if not mover_wins(f"{empty[:i]}1{empty[i + 1 :]}")}


@pytest.mark.parametrize(("size", "openings"), [(1, {0}), (2, {1, 2}), (3, {2, 3, 4, 5, 6})])
def test_the_first_player_wins_by_the_known_openings(size: int, openings: set[int]) -> None:
    game = Hex.make(size)
    solution = solve(Position.start(game))
    assert {action for action, score in enumerate(solution.action_scores) if score and score > 0} == openings
    assert openings == winning_openings(size)
    assert solution.score > 0


@pytest.mark.slow
def test_on_four_rows_only_the_short_diagonal_wins() -> None:
    solution = Solver(Hex.make(4)).solve(Position.start(Hex.make(4)), weak=True)
    assert [action for action, score in enumerate(solution.action_scores) if score == 1] == [3, 6, 9, 12]


@pytest.mark.parametrize("size", range(1, 8))
def test_a_full_board_connects_exactly_one_side(size: int) -> None:
    game, draws = Hex.make(size), random.Random(size)
    for _ in range(50):
        cells = list(range(size * size))
        draws.shuffle(cells)
        first = sum(1 << cell for cell in cells[::2])
        assert game.has_won(first, 0) != game.has_won(game.full ^ first, 1)


def test_games_end_with_a_connection_never_with_a_draw() -> None:
    game = Hex.make(4)
    for seed in range(30):
        draws, position = random.Random(seed), Position.start(game)
        while not position.is_over:
            position = position.play(draws.choice(position.legal_actions))
        assert position.result != DRAWN
        assert position.outcome is not None
        assert position.outcome.how == "connection"
        along = 1 if position.outcome.winner else 0
        assert {0, 3} <= {cell[along] for cell in position.outcome.cells}


def test_rows_are_shifted_in_pictures() -> None:
    position = Position.from_moves(Hex.make(3), "5142")
    assert str(position) == " O [O] 3\n   X  X  6\n    7  8  9\nX to move"
    for row, col in product(range(3), range(3)):
        assert cell_at(position, MARGIN + col + row / 2 + 0.5, MARGIN + row + 0.5) == (row, col)


@pytest.mark.slow
def test_the_example_runs_as_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    example.main()
    shown = capsys.readouterr().out
    assert " wins with " in shown
    assert "4 x 4: the first player wins by beginning in 4 7 10 13\n" in shown
    assert "beaten by" in shown
