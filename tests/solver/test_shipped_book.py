"""The opening book in the package: whole, small, and right wherever it is looked at."""

from __future__ import annotations

import random

import pytest

from tictac_env.games import GAMES
from tictac_env.position import Position
from tictac_env.solver import Solver
from tictac_env.solver.book import FOLDER, Book, opening_book_of

CONNECT_FOUR = GAMES["ConnectFour-v0"]
PLIES = 9


@pytest.fixture(scope="module")
def book() -> Book:
    found = opening_book_of(CONNECT_FOUR)
    assert found is not None
    return found


def early_positions(count: int, least: int = 0, most: int = PLIES) -> list[Position]:
    """Unfinished positions of random games."""
    rng = random.Random(most)
    found: list[Position] = []
    while len(found) < count:
        position = Position.start(CONNECT_FOUR)
        for _ in range(rng.randint(least, most)):
            if not position.is_over:
                position = position.play(rng.choice(position.legal_actions))
        if not position.is_over:
            found.append(position)
    return found


def test_it_holds_every_quiet_position_up_to_its_last_ply(book: Book) -> None:
    assert (book.plies, len(book)) == (PLIES, 353_893)
    assert (FOLDER / "ConnectFour-v0.npz").stat().st_size < 2_000_000
    assert all(book.score(position) is not None for position in early_positions(500))


def test_the_empty_board_and_its_columns_are_as_published() -> None:
    """Allis and Allen, 1988; the distances are those of Tromp and Pons."""
    solver = Solver()
    solution = solver.solve(Position.start(CONNECT_FOUR))
    assert solution.action_scores == (-2, -1, 0, 1, 0, -1, -2)
    assert (solution.score, solution.best_actions, solver.nodes) == (1, (3,), 0)


def test_each_score_is_the_best_of_the_next_ones(book: Book) -> None:
    solver = Solver()
    for position in early_positions(300, most=PLIES - 1):
        after = solver.score_many([position.play(action) for action in position.legal_actions])
        assert solver.nodes == 0
        assert book.score(position) == max(-score for score in after)


def test_searched_scores_are_the_same(book: Book) -> None:
    searching = Solver(opening_book=False)
    for position in early_positions(12, PLIES, PLIES):
        assert book.score(position) == searching.score(position)


@pytest.mark.slow
def test_bitbully_and_its_book_agree(book: Book) -> None:
    bitbully = pytest.importorskip("bitbully")
    pytest.importorskip("bitbully_databases")
    peer = bitbully.BitBully(opening_book="12-ply-dist")
    solver = Solver()
    for position in early_positions(1000):
        theirs = peer.score_all_moves(bitbully.Board(list(position.moves)))
        assert book.score(position) == max(theirs.values()), position
        if position.ply < PLIES:
            assert solver.solve(position).action_scores == tuple(theirs.get(column) for column in range(7)), position
