"""The opening book: built, stopped, resumed, read and damaged, on a layer small enough to solve here."""

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
from tictac_env.solver.book import Book, book_key

GAME = KInARow.make(4, 4, 3)
CONNECT_FOUR = GAMES["ConnectFour-v0"]


@pytest.fixture(scope="module")
def book() -> Book:
    """The book of a small game, backed up from its fourth ply."""
    from tools.build_book import back_up, layers, quiet

    layer = quiet(GAME, layers(GAME, 4)[-1])
    scores = Solver(GAME, 4).score_many([Position(GAME, *pair) for pair in layer.values()])
    return back_up(GAME, 4, dict(zip(layer, scores, strict=True)))


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


DAMAGES: dict[str, Callable[[dict[str, Any], Any, random.Random], None]] = {
    "no entry": lambda meta, arrays, draw: meta.pop(draw.choice(list(meta))),
    "another entry": lambda meta, arrays, draw: meta.update(
        {draw.choice(list(meta)): draw.choice([None, -1, "x", [], 10**30, 1.5])}
    ),
    "no array": lambda meta, arrays, draw: arrays.pop(draw.choice(list(arrays))),
    "another dtype": lambda meta, arrays, draw: change(arrays, draw, lambda one: one.astype(draw.choice(DTYPES))),
    "too short": lambda meta, arrays, draw: change(arrays, draw, lambda one: one[: draw.choice([0, 1, -1])]),
    "another shape": lambda meta, arrays, draw: change(arrays, draw, lambda one: one[:, None]),
    "no rows": lambda meta, arrays, draw: change(arrays, draw, lambda one: np.array(3, one.dtype)),
    "no score": lambda meta, arrays, draw: at_random(arrays["scores"], draw, [100, -128, 9]),
    "no key": lambda meta, arrays, draw: at_random(arrays["steps"], draw, [0, -5, 2**62, 1 << 40]),
}
DTYPES = [np.float64, np.int32, np.uint64, bool, "U5"]


def change(arrays: Any, draw: random.Random, to: Callable[[Any], Any]) -> None:
    name = draw.choice(list(arrays))
    arrays[name] = to(arrays[name])


def at_random(array: Any, draw: random.Random, values: list[int]) -> None:
    array[draw.randrange(len(array))] = draw.choice(values)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_book_that_is_none_is_refused_by_name(damage: str, book: Book, tmp_path: Path) -> None:
    """Its checksums are right: somebody has written it so."""
    path, draw = tmp_path / "book.npz", random.Random(damage)
    book.save(path)
    header, arrays = npz_files.read(path)
    for _ in range(10):
        meta, changed = dict(header["meta"]), {name: array.copy() for name, array in arrays.items()}
        DAMAGES[damage](meta, changed, draw)
        npz_files.write(path, header | {"meta": meta}, changed)
        with pytest.raises(ValueError, match=r"book\.npz is not a usable opening book of KInARow"):
            Book.load(path, GAME)


def test_the_first_layers_have_the_known_numbers_of_positions() -> None:
    from tools.build_book import layers, quiet

    found = layers(CONNECT_FOUR, 6)
    for layer, reachable in zip(found, (1, 7, 49, 238, 1120, 4263, 16422), strict=True):  # OEIS A212693
        lone = sum(own == CONNECT_FOUR.mirror(own) and opp == CONNECT_FOUR.mirror(opp) for own, opp in layer.values())
        assert 2 * len(layer) - lone == reachable
        assert {book_key(CONNECT_FOUR, own, opp) for own, opp in layer.values()} == set(layer)
    assert len(quiet(CONNECT_FOUR, found[2])) == 25


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

    assert "call again to go on" in run("broken", "--plies", "5", "--minutes", "0")
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


@pytest.mark.slow
def test_a_layer_that_contradicts_the_plies_before_makes_no_book(tmp_path: Path) -> None:
    assert build(tmp_path, "--plies", "4").returncode == 0
    path = tmp_path / "ConnectFour-v0.npz"
    book = Book.load(path, GAME)
    book.scores[7] += 1
    book.save(path)
    assert "contradict each other" in build(tmp_path, "--plies", "5").stderr
    assert Book.load(path, GAME).plies == 4
