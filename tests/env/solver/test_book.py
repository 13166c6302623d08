"""Opening books: built, resumed, read and damaged on a small game; and the one in the package."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import npz_files
import numpy as np
import pytest

from tictac_env.games import GAMES, KInARow
from tictac_env.position import Position
from tictac_env.solver import Solver
from tictac_env.solver.book import FOLDER, Book, book_key, opening_book_of

GAME = KInARow.make(4, 4, 3)
CONNECT_FOUR = GAMES["ConnectFour-v0"]
PLIES = 9


@pytest.fixture(scope="module")
def book() -> Book:
    """The book of a small game, backed up from its fourth ply."""
    from tools.build_book import back_up, by_key, layers

    scores = Solver(GAME, 4).score_many(list(by_key(layers(GAME, 4)[-1])))
    return back_up(GAME, 4, np.array(scores, np.int8))


def positions(count: int) -> list[Position]:
    rng = random.Random(0)
    found = []
    while len(found) < count:
        position = Position.start(GAME)
        for _ in range(rng.randrange(6)):
            if not position.is_over:
                position = position.play(rng.choice(position.legal_actions))
        found.append(position)
    return found


def test_every_early_position_is_in_the_book_and_right(book: Book) -> None:
    solver = Solver(GAME, 4)
    for position in positions(100):
        if position.ply <= 4 and not position.is_over:
            assert book.score(position) == solver.score(position)
        else:
            assert book.score(position) is None


def test_a_solver_uses_its_book(book: Book) -> None:
    solver, plain = Solver(GAME, 4), Solver(GAME, 4)
    solver.book = book
    for position in positions(50):
        assert solver.solve(position) == plain.solve(position)
    assert solver.score(Position.start(GAME)) == plain.score(Position.start(GAME))
    assert solver.nodes == 0


def test_one_ply_beyond_the_book_it_bounds_the_score_from_below(book: Book) -> None:
    solver, start, known = Solver(GAME, 4), Position.start(GAME), 0
    beyond = {start}
    for _ in range(5):
        beyond = {after for p in beyond for a in p.legal_actions if not (after := p.play(a)).is_over}
    for position in beyond:
        low, high = book.bounds(position)
        score = solver.score(position)
        assert low <= score <= high == 8
        known += low == score
    assert known > len(beyond) / 4, "it hardly ever is the score"
    assert book.bounds(start) == (solver.score(start),) * 2


@pytest.mark.parametrize(("moves", "score"), [("112233", 18), ("1213141", None), ("1212127", 18), ("7121212", 18)])
def test_a_win_at_once_needs_no_entry(moves: str, score: int | None) -> None:
    """X wins with the fourth stone of 21, O with the fourth as well; a finished game has no score in a book."""
    empty = Book(CONNECT_FOUR, 8, np.array([0]), np.zeros(1, np.int8))
    position = Position.from_moves(CONNECT_FOUR, moves)
    assert position.is_over == (score is None) and empty.score(position) == score
    assert Book(CONNECT_FOUR, len(moves) - 1, empty.keys, empty.scores).score(position) is None
    low, high = empty.bounds(position)
    assert (low, high) == ((-21, 21) if score is None else (score, score))


def test_a_book_is_read_as_it_was_saved_and_refused_if_damaged(book: Book, tmp_path: Path) -> None:
    path = tmp_path / "book.npz"
    book.save(path)
    again = Book.load(path, GAME)
    assert (again.plies, again.keys.tolist(), again.scores.tolist()) == (4, book.keys.tolist(), book.scores.tolist())
    with pytest.raises(ValueError, match=r"book\.npz is not a usable opening book"):
        Book.load(path, KInARow.make(4, 5, 3))
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 255
    path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match="cannot be read as opening book"):
        Book.load(path, GAME)
    with pytest.raises(ValueError, match="ascending"):
        Book(GAME, 1, np.array([2, 1]), np.array([0, 0], np.int8))


def changed(arrays: dict[str, Any], name: str, to: Callable[[Any], Any]) -> dict[str, Any]:
    return arrays | {name: to(arrays[name].copy())}


def set_to(value: int) -> Callable[[Any], Any]:
    return lambda array: np.where(np.arange(len(array)) == 5, value, array).astype(array.dtype)


@pytest.mark.parametrize("name", ["steps", "scores"])
def test_a_forged_book_is_refused_by_name(name: str, book: Book, tmp_path: Path) -> None:
    """Its checksums are right, but an entry or an array is missing, or of another kind, length, shape or value."""
    path = tmp_path / "book.npz"
    book.save(path)
    header, arrays = npz_files.read(path)
    meta = header["meta"]
    shapes = [lambda one: one.astype(np.float64), lambda one: one[:-1], lambda one: one[:, None], lambda one: one[:0]]
    values = {"steps": (0, -5, 2**62), "scores": (100, -128, 9)}[name]
    forged = [(meta, {key: one for key, one in arrays.items() if key != name})]
    forged += [({key: one for key, one in meta.items() if key != gone}, arrays) for gone in meta]
    forged += [(meta | {key: value}, arrays) for key in meta for value in (None, -1, "x", 10**30)]
    forged += [(meta, changed(arrays, name, to)) for to in (*shapes, *map(set_to, values))]
    for new_meta, new_arrays in forged:
        npz_files.write(path, header | {"meta": new_meta}, new_arrays)
        with pytest.raises(ValueError, match=r"book\.npz is not a usable opening book of KInARow"):
            Book.load(path, GAME)


def test_the_layers_of_the_book_have_its_keys_in_order() -> None:
    from tools.build_book import by_key, keys_of, layers

    for layer in map(by_key, layers(CONNECT_FOUR, 6)):
        keys = keys_of(layer).tolist()
        assert keys == [book_key(CONNECT_FOUR, one.own, one.opp) for one in layer] == sorted(set(keys))
    assert len(by_key(layers(CONNECT_FOUR, 2)[-1])) == 25


def build(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the builder; a few plies of a game with the same name stand in for eight of Connect Four."""
    script = """
from tools import build_book
from tictac_env.games import KInARow
build_book.GAMES = {"ConnectFour-v0": KInARow.make(4, 4, 3)}
build_book.PART = 16
build_book.main()
"""
    command = [sys.executable, "-c", script, "--table", "4", "--folder", str(folder), "--out", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.slow
def test_the_builder_resumes_and_its_book_is_that_of_an_unbroken_run(tmp_path: Path) -> None:
    def run(out: str, *arguments: str) -> str:
        done = build(tmp_path / out, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "call again" in run("broken", "--plies", "5", "--minutes", "0")
    assert "0 of" in run("broken", "--plies", "5")
    kept = tmp_path / "broken" / "layer-5-runs.jsonl"
    kept.write_bytes(kept.read_bytes()[: kept.stat().st_size // 2])  # some parts, and one whose line is cut off
    (tmp_path / "broken" / "ConnectFour-v0.npz").unlink()
    told = run("broken", "--plies", "5").split(" of ")[0]
    assert 0 < int(told) < 1000
    run("whole", "--plies", "5", "--workers", "2", "--threads", "2")
    run("ply by ply", "--plies", "4")
    run("ply by ply", "--plies", "5")
    assert "has 5 plies already" in build(tmp_path / "ply by ply", "--plies", "4").stderr
    books = [Book.load(tmp_path / out / "ConnectFour-v0.npz", GAME) for out in ("broken", "whole", "ply by ply")]
    for book in books[1:]:
        assert book.keys.tolist() == books[0].keys.tolist()
        assert book.scores.tolist() == books[0].scores.tolist()


@pytest.fixture(scope="module")
def shipped() -> Book:
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


def test_it_holds_every_quiet_position_up_to_its_last_ply(shipped: Book) -> None:
    assert (shipped.plies, len(shipped)) == (PLIES, 353_893)
    assert (FOLDER / "ConnectFour-v0.npz").stat().st_size < 2_000_000
    assert all(shipped.score(position) is not None for position in early_positions(500))


def test_the_empty_board_and_its_columns_are_as_published() -> None:
    """Allis and Allen, 1988; the distances are those of Tromp and Pons."""
    solver = Solver()
    solution = solver.solve(Position.start(CONNECT_FOUR))
    assert solution.action_scores == (-2, -1, 0, 1, 0, -1, -2)
    assert (solution.score, solution.best_actions, solver.nodes) == (1, (3,), 0)


def test_each_score_is_the_best_of_the_next_ones(shipped: Book) -> None:
    solver = Solver()
    for position in early_positions(300, most=PLIES - 1):
        after = solver.score_many([position.play(action) for action in position.legal_actions])
        assert solver.nodes == 0
        assert shipped.score(position) == max(-score for score in after)


def test_searched_scores_are_the_same(shipped: Book) -> None:
    searching = Solver(opening_book=False)
    for position in early_positions(6, PLIES, PLIES):
        assert shipped.score(position) == searching.score(position)


@pytest.mark.slow
def test_bitbully_and_its_book_agree(shipped: Book) -> None:
    bitbully = pytest.importorskip("bitbully")
    pytest.importorskip("bitbully_databases")
    peer = bitbully.BitBully(opening_book="12-ply-dist")
    solver = Solver()
    for position in early_positions(1000):
        theirs = peer.score_all_moves(bitbully.Board(list(position.moves)))
        assert shipped.score(position) == max(theirs.values()), position
        if position.ply < PLIES:
            assert solver.solve(position).action_scores == tuple(theirs.get(column) for column in range(7)), position
