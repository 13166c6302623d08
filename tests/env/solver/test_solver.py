"""The exact solver: against plain minimax, public scores, symmetry and itself under other windows and limits."""

from __future__ import annotations

import copy
import csv
import math
import pickle
import random
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from conftest import ALL_GAMES, breadth, playout, title
from naive import NaiveBoard
from oracle import Oracle
from test_enumerate import SMALL_GAMES

from tictac_env.games import GAMES, Game, KInARow, PlacementGame
from tictac_env.position import Position
from tictac_env.solver import Bounds, NotProven, Solution, Solver, solve, transposition_table
from tictac_env.solver import engine as engine_module
from tictac_env.solver.connect_k import UNKNOWN, follow_up_bound
from tictac_env.solver.engine import AT_LEAST, AT_MOST, Budget, Engine, GenericEngine, next_alpha, solved
from tictac_env.solver.exact import bounds_in_words
from tictac_env.solver.transposition_table import TranspositionTable, find, lower_of, scramble, store, upper_of

CONNECT_FOUR = GAMES["ConnectFour-v0"]


def moves(text: str) -> Position:
    return Position.from_moves("ConnectFour-v0", text)


@pytest.mark.parametrize("game", [game for game in ALL_GAMES if isinstance(game, KInARow)], ids=title)
def test_threats_and_keys_are_those_of_the_naive_board(game: KInARow) -> None:
    """`threats`, `playable`, `beneath`, `mirror` and `key` against a naive board, in random games."""
    for seed in range(3):
        keys = set()
        for position in playout(game, seed):
            own, opp = position.own, position.opp
            board = NaiveBoard.of(game)
            for action in position.moves:
                board.play(action)
            cells = {(row, col): game.cell(row, col) for row in range(game.rows) for col in range(game.cols)}
            landing = {cells[cell] for a in range(game.num_actions) if (cell := board.landing(a))}
            assert game.playable(own, opp) == sum(landing)
            below = sum(cells[row + 1, col] for row, col in cells if row + 1 < game.rows and cells[row, col] & opp)
            assert game.beneath(opp) == (below if game.gravity else 0)
            threats = 0
            for line in board.all_lines():
                for cell in line:
                    if all(board.grid[row][col] == board.mark for row, col in line if (row, col) != cell):
                        threats |= cells[cell]
            found = game.threats(own)
            empty = game.full ^ (own | opp)
            assert found & empty == threats & empty
            assert game.mirror(own) == sum(cells[r, game.cols - 1 - c] for r, c in cells if cells[r, c] & own)
            if game.key_bits <= 63:
                assert 0 <= game.key(own, opp) < 1 << game.key_bits
                keys.add(game.key(own, opp))
        assert len(keys) in (0, len(playout(game, seed)))


@pytest.mark.parametrize(
    ("game", "compiled"),
    breadth(
        [(GAMES["TicTacToe-v0"], False), (KInARow.make(4, 4, 3), True)],
        product([KInARow.make(4, 4, 3), *SMALL_GAMES], [True, False]),
    ),
    ids=lambda value: title(value) if isinstance(value, Game) else "compiled" if value else "plain",
)
def test_every_reachable_position_of_small_games(game: KInARow, compiled: bool) -> None:
    """Score, sign and every action's score against a memoised minimax on strings."""
    truth = Oracle(game)
    solver = Solver(game, table_megabytes=1)
    solver.engine = Engine(game, 1, 1) if compiled else GenericEngine(game)
    seen = {}
    todo = [Position.start(game)]
    while todo and len(seen) < 600:
        position = todo.pop(random.Random(len(seen)).randrange(len(todo)))
        board = "".join(".XO"[mark] for mark in position.to_array().ravel())
        if board in seen:
            continue
        seen[board] = position
        todo += [position.play(action) for action in position.legal_actions]
    solutions = solver.solve_many(seen.values())
    signs = solver.score_many(seen.values(), weak=True)
    for (board, position), solution, sign in zip(seen.items(), solutions, signs, strict=True):
        score = truth.score(board)
        assert solution.score == score, position
        assert sign == (score > 0) - (score < 0)
        for action, found in enumerate(solution.action_scores):
            after = truth.moves(board).get(action)
            assert found == (None if after is None else -truth.score(after)), (position, action)
        assert solver.best_actions(position) == solution.best_actions


def test_a_game_outside_of_the_family_is_solved_by_its_rules_alone() -> None:
    @dataclass(frozen=True)
    class Plain(PlacementGame):
        """Tic-tac-toe that shares nothing with the family."""

        rows: int = 3
        cols: int = 3

        def winning_cells(self, stones: int, seat: int) -> int:
            lines = (0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124)
            return sum({1 << cell for line in lines if line & stones == line for cell in range(9) if line >> cell & 1})

    solver = Solver(Plain())
    assert isinstance(solver.engine, GenericEngine) and isinstance(Solver(KInARow.make(4, 4, 3)).engine, Engine)
    assert isinstance(Solver(KInARow.make(6, 6, 4, False)).engine, GenericEngine)  # too many positions for the keys
    for seed in range(5):
        for position in playout(GAMES["TicTacToe-v0"], seed):
            other = Position.from_moves(solver.game, position.to_moves())
            assert solver.solve(other) == solve(position)


@pytest.mark.parametrize("name", ["end_easy", "middle_easy", "middle_medium"])
def test_scores_are_the_public_ones(name: str, data: Path) -> None:
    with open(data / f"connect_four_{name}.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))[: 150 if name == "middle_medium" else 1000]
    solver = Solver(opening_book=False)
    positions = [moves(row["moves"]) for row in rows]
    for row, solution in zip(rows, solver.solve_many(positions), strict=True):
        scores = tuple(int(row[f"column_{n}"]) if row[f"column_{n}"] else None for n in range(1, 8))
        assert solution.score == int(row["score"]), row
        assert solution.action_scores == scores, row
        assert solution.best_actions == tuple(a for a in range(7) if scores[a] == solution.score)


def middle_positions(count: int, least_plies: int = 18) -> list[Position]:
    found = []
    for seed in range(10_000):
        position = playout(CONNECT_FOUR, seed, least_plies + seed % 10)[-1]
        if position.ply >= least_plies and not position.is_over:
            found.append(position)
            if len(found) == count:
                break
    return found


def test_mirror_images_and_both_modes_agree() -> None:
    positions = middle_positions(60)
    scores = Solver(opening_book=False).score_many(positions)
    mirrored = Solver(opening_book=False).score_many([position.symmetric()[1] for position in positions])
    signs = Solver(opening_book=False).score_many(positions, weak=True)
    assert scores == mirrored
    assert signs == [(score > 0) - (score < 0) for score in scores]


def test_any_window_gives_the_same_score() -> None:
    positions = middle_positions(40)
    exact = Solver(opening_book=False).score_many(positions)
    engine = Engine(CONNECT_FOUR, 1, 1)
    rng = np.random.default_rng(0)
    for low, high in ((-21, 21), (-1, 1), (0, 21), (-3, 5), (2, 4), (-21, -20), (-16, -12), (9, 14), (19, 21)):
        guesses = rng.integers(-22, 22, len(positions)).tolist()
        rows = [(p.own, p.opp, -21, 21, low, high, guess) for p, guess in zip(positions, guesses, strict=True)]
        batch = np.array(rows, np.int64)
        engine.clear()
        engine.run(batch, Budget(), None)
        assert solved(batch).all()
        assert (batch[:, AT_LEAST] <= exact).all()
        assert (batch[:, AT_MOST] >= exact).all()
        clipped = [min(high, max(low, score)) for score in exact]
        assert np.clip(batch[:, [AT_LEAST, AT_MOST]].T, low, high).tolist() == [clipped, clipped]


def test_what_is_known_beforehand_leads_to_the_same_score() -> None:
    """Bounds as a book gives them, in positions too in which forced moves come first."""
    positions = middle_positions(60)
    exact = Solver(opening_book=False).score_many(positions)
    engine, rng = Engine(CONNECT_FOUR, 1, 1), np.random.default_rng(1)
    for most in (1, 4, 20):
        below, above = rng.integers(0, most + 1, (2, len(positions)))
        rows = [
            (p.own, p.opp, max(-21, score - low), min(21, score + high), -21, 21, 99)
            for p, score, low, high in zip(positions, exact, below, above, strict=True)
        ]
        batch = np.array(rows, np.int64)
        engine.clear()
        engine.run(batch, Budget(), None)
        assert batch[:, AT_LEAST].tolist() == batch[:, AT_MOST].tolist() == exact


@pytest.mark.parametrize(
    ("game", "plies", "exact", "weak"),
    [
        (CONNECT_FOUR, 21, 6_350, 5_083),
        (KInARow.make(4, 4, 3), 3, 316, 141),
        (GAMES["TicTacToe-v0"], 2, 1_546, 997),  # by the plain search
    ],
    ids=["Connect Four", "4x4-3", "tic-tac-toe"],
)
def test_a_search_takes_no_more_nodes_than_it_did(game: KInARow, plies: int, exact: int, weak: int) -> None:
    """For exact scores, and for signs alone."""
    positions = [one for seed in range(40) for one in playout(game, seed, plies)[-1:] if not one.is_over]
    for sign, nodes in ((False, exact), (True, weak)):
        solver = Solver(game, opening_book=False)
        solver.score_many(positions, weak=sign, progress=False)
        assert 0 < solver.nodes <= nodes


def test_a_search_stays_within_its_stack() -> None:
    engine, position = Engine(CONNECT_FOUR, 1, 1), moves("44444")
    (worker,) = engine.workers
    size = len(worker.stack)
    worker.stack = np.full(size + 20_000, 77, np.int64)
    engine.run(np.array([(position.own, position.opp, -21, 21, -21, 21, 99)]), Budget(30_000), None)
    assert worker.nodes == 30_000 and (worker.stack[size:] == 77).all() and not (worker.stack[: size // 8] == 77).all()


def test_every_question_of_a_search_is_open() -> None:
    ask = next_alpha.py_func
    for left in (6, 20, 30, 42):
        most = (left + 1) // 2
        for lower, upper in combinations(range(-most, most + 1), 2):
            for least, greatest in ((-most, most), (-1, 1), (-3, 2), (0, 1)):
                low, high = max(lower, least), min(upper, greatest)
                if low < high:
                    alpha = ask(lower, upper, least, greatest, left)
                    quick = greatest - least > 1 and abs(alpha) in {(left - 13) // 2, (left - 21) // 2}
                    assert (lower if quick else low) <= alpha < (upper if quick else high)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_share_the_work(threads: int) -> None:
    """Many positions side by side, and one together; fewer nodes each than one thread alone would need."""
    positions = middle_positions(60, least_plies=14)
    one, both = Solver(opening_book=False), Solver(opening_book=False, threads=threads)
    exact = one.score_many(positions)
    assert both.score_many(positions) == exact
    shares = [worker.nodes for worker in both.engine.workers]  # type: ignore[union-attr]
    assert both.nodes == sum(shares)
    assert max(shares) < 0.8 * one.nodes
    assert both.score_many(positions[:1] * 2 + positions[:2]) == exact[:1] * 2 + exact[:2]
    both.clear()
    with ThreadPoolExecutor(4) as pool:  # threads of a program may ask one solver
        assert list(pool.map(both.score, positions[:10])) == exact[:10]
    assert both.score_many([]) == []
    assert both.solve(positions[0]) == one.solve(positions[0])
    early = moves("4453")
    assert not both.bounds(early, node_limit=10_000).proven
    assert 9_000 < both.nodes <= 10_000


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda solver: pickle.loads(pickle.dumps(solver))])
def test_a_copy_of_a_solver_has_its_settings(copied: Callable[[Solver], Solver]) -> None:
    game = KInARow.make(4, 4, 3)
    solver = Solver(game, table_megabytes=0.5, threads=2)
    other = copied(solver)
    assert isinstance(other.engine, Engine)
    assert (other.game, len(other.engine.workers), other.engine.table.largest) == (game, 2, 15)
    assert other.solve(Position.start(game)) == solver.solve(Position.start(game))


def test_limits_give_bounds_and_leave_the_solver_usable() -> None:
    position = moves("4453")
    solver = Solver(opening_book=False, table_megabytes=16)
    assert (solver.nodes, solver.seconds) == (0, 0)
    bounds = solver.bounds(position, node_limit=20_000)
    assert not bounds.proven
    assert bounds.nodes == 20_000
    with pytest.raises(NotProven, match=r"not proven: the score is in \[-?\d+, \d+\]") as caught:
        solver.score(position, node_limit=1)
    assert isinstance(caught.value.bounds, Bounds)
    began = time.monotonic()
    with pytest.raises(NotProven):
        solver.solve(position, time_limit=0.2)
    assert time.monotonic() - began < 5
    with pytest.raises(NotProven):
        solver.best_actions(position, time_limit=0.2)
    found = [bounds for bounds in solver.action_bounds(position, node_limit=70_000) if bounds]
    assert all(bounds.lower <= bounds.upper for bounds in found)
    assert solver.nodes == sum(bounds.nodes for bounds in found) <= 70_000
    assert solver.seconds == pytest.approx(sum(bounds.seconds for bounds in found))
    assert solver.score(moves("2252576253462244111563365343671351441")) == -1


def test_a_solution_that_is_not_proven_has_bounds_of_the_score_in_its_error() -> None:
    position = Position.from_moves("TicTacToe-v0", "15")
    solver, exact = Solver("TicTacToe-v0"), solve(position).score
    narrow = 0
    for limit in range(0, 120, 7):
        solver.clear()
        with pytest.raises(NotProven) as caught:
            solver.solve(position, node_limit=limit)
        bounds = caught.value.bounds
        assert -5 <= bounds.lower <= exact <= bounds.upper <= 5 and caught.value.position == position
        assert bounds.nodes == solver.nodes == limit and bounds.seconds == solver.seconds >= 0
        narrow += bounds.upper < 5 or bounds.lower > -5
    assert narrow > 5, "the bounds say nothing"
    with pytest.raises(NotProven) as caught:
        solver.best_actions(position, time_limit=0)
    assert (caught.value.bounds.lower, caught.value.bounds.upper) == (-5, 5)
    solver.score(position)
    with pytest.raises(NotProven) as caught:  # its score is remembered, but not which actions have it
        solver.best_actions(position, time_limit=0)
    assert (caught.value.bounds.lower, caught.value.bounds.upper) == (exact, exact)


def test_what_another_thread_searches_meanwhile_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    solver, position = Solver(opening_book=False), Position.from_moves("ConnectFour-v0", "4444443233")
    search = solver._search

    def search_beside_another(*arguments: Any) -> tuple[int, float]:
        own = search(*arguments)
        solver.nodes = 10**9  # of the other thread
        return own

    monkeypatch.setattr(solver, "_search", search_beside_another)
    assert 0 < solver.bounds(position).nodes < 10**8
    bounds = solver.action_bounds(position, node_limit=10**8)
    assert all(bound.proven and bound.nodes < 10**8 for bound in bounds if bound)


def test_a_search_in_several_slices_has_all_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "SLICE", 64)
    positions, solver = middle_positions(10), Solver(opening_book=False)
    scores = solver.score_many(positions, time_limit=600)
    assert scores == Solver(opening_book=False).score_many(positions) and solver.nodes > 2 * 64


def test_a_solver_has_as_many_threads_and_as_much_memory_as_its_limits() -> None:
    assert Solver("TicTacToe-v0", table_megabytes=1 << 20, threads=64).solve(Position.start("TicTacToe-v0")).score == 0
    for settings in ({"threads": 65}, {"table_megabytes": (1 << 20) + 1}, {"opening_book": 1}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            Solver("TicTacToe-v0", **settings)  # type: ignore[arg-type]


def test_the_plain_search_ends_with_its_time() -> None:
    solver = Solver(KInARow.make(6, 6, 4, False))
    bounds = solver.bounds(Position.start(solver.game), time_limit=0)
    assert (bounds.lower, bounds.upper, bounds.nodes) == (-18, 18, 0)
    bounds = solver.bounds(Position.start(solver.game), time_limit=0.001)
    assert bounds.nodes % 256 == 0 and not bounds.proven


def test_unequal_bounds_in_words() -> None:
    words = {
        (1, 5): "a win",
        (0, 5): "at least a draw",
        (-1, 5): "",
        (-1, 1): "",
        (-5, 0): "at most a draw",
        (-5, -1): "a loss",
    }
    assert {both: bounds_in_words(Bounds(*both, 0, 0.0)) for both in words} == words
    assert Bounds(1, 1, 0, 0.0).proven and not Bounds(0, 1, 0, 0.0).proven


@pytest.mark.parametrize("game", [GAMES["TicTacToe-v0"], KInARow.make(4, 4, 3)], ids=title)
def test_progress_counts_the_positions_that_are_done(game: KInARow) -> None:
    positions = [playout(game, seed, 3)[-1] for seed in range(6)]
    for threads in (1, 2):
        solver, told = Solver(game, 1, threads), list[float]()
        batch = np.array([(p.own, p.opp, -8, 8, -8, 8, -99) for p in positions], np.int64)
        solver.engine.run(batch, Budget(), told.append)
        assert solved(batch).all() and told == sorted(told) and all(0 <= done <= 6 for done in told)


@pytest.mark.parametrize("limit", [0, 1, 100])
@pytest.mark.parametrize("game", [CONNECT_FOUR, KInARow.make(6, 6, 4, False)], ids=title)
def test_a_node_limit_is_kept(game: KInARow, limit: int) -> None:
    """Without gravity six rows of six are searched by the plain search."""
    assert Solver(game, opening_book=False).bounds(Position.start(game), node_limit=limit).nodes == limit


@pytest.mark.parametrize("ask", [Solver.bounds, Solver.score, Solver.solve, Solver.action_bounds])
@pytest.mark.parametrize(
    "limit", [{"node_limit": "1"}, {"node_limit": True}, {"node_limit": 0.5}, {"time_limit": "1"}, {"time_limit": -1}]
)
def test_bad_limits_are_refused(ask: Callable[..., object], limit: dict[str, object]) -> None:
    [name] = limit
    with pytest.raises(ValueError, match=f"{name} must be (a number|an integer) in"):
        ask(Solver("TicTacToe-v0"), Position.start("TicTacToe-v0"), **limit)


def test_bad_arguments_are_refused() -> None:
    solver = Solver()
    with pytest.raises(ValueError, match="cannot solve"):
        solver.score(Position.start("TicTacToe-v0"))
    for wrong in ("4453", 4453, None):
        for ask in (solve, solver.solve, solver.best_actions):
            with pytest.raises(ValueError, match=r"a position must be a Position, such as .*, not (None|'?4453)"):
                ask(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"threads must be an integer in \[1"):
        Solver(threads=0)
    with pytest.raises(ValueError, match="time_limit must be a number in"):
        solver.best_actions(moves("4"), time_limit="1")  # type: ignore[arg-type]
    for size in (-1, math.inf, math.nan, 1e12, True, "64"):
        with pytest.raises(ValueError, match=r"table_megabytes must be a number in \[0, 1.04858e\+06\], not"):
            Solver(table_megabytes=size)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="too small"):
        Solver(table_megabytes=0)
    with pytest.raises(ValueError, match="too small; for this game it needs 8 MB"):
        Solver(KInARow.make(8, 7, 4, True), table_megabytes=1)


def test_a_finished_game_has_its_score_and_no_actions() -> None:
    won = moves("4455336")
    assert solve(won) == Solution(-18, (None,) * 7, ())
    drawn = Position.from_moves("TicTacToe-v0", "159823746")
    assert drawn.is_over
    assert solve(drawn).score == 0


def test_the_table_keeps_what_it_is_told_while_it_grows() -> None:
    table = TranspositionTable(56, 1)
    rng = random.Random(0)
    entries = {rng.randrange(1 << 56): (rng.randint(-31, 0), rng.randint(0, 31)) for _ in range(500)}
    for number, (key, (low, high)) in enumerate(entries.items()):
        store(table.entries, scramble(key, 56), table.tag_bits, low, high, number)
        if number % 200 == 199:
            table.grow()
    kept = 0
    for key, bounds in entries.items():
        if entry := find(table.entries, scramble(key, 56), table.tag_bits):
            kept += 1
            assert (lower_of(entry), upper_of(entry)) == bounds
    assert kept > 480 and table.entries.nbytes <= 1 << 20
    assert not any(find(table.entries, scramble(rng.randrange(1 << 56), 56), table.tag_bits) for _ in range(10_000))
    table.clear()
    assert not table.entries.any()


def test_a_bucket_keeps_the_most_work_and_the_newest_entry() -> None:
    """Keys of one bucket; a lower bound says which of them an entry is of. The work counts as a power of two."""
    table = TranspositionTable(56, 1)

    def keep(tag: int, nodes: int) -> list[int | None]:
        store(table.entries, tag, table.tag_bits, -tag, tag, nodes)
        found = [find(table.entries, tag, table.tag_bits) for tag in range(1, 6)]
        return [upper_of(entry) if entry and lower_of(entry) == -upper_of(entry) else None for entry in found]

    assert keep(1, 8) == [1, None, None, None, None]
    assert keep(2, 7) == [1, 2, None, None, None]
    assert keep(3, 1) == [1, None, 3, None, None], "less work replaces the second entry"
    assert keep(4, 9) == [1, None, None, 4, None], "as much work, as a power of two, moves the first one to the second"
    assert keep(5, 15) == [None, None, None, 4, 5]
    assert keep(4, 1) == [None, None, None, 4, 5], "an entry of the same key is renewed where it is"
    assert keep(5, 1) == [None, None, None, 4, 5]
    assert keep(1, 7) == [1, None, None, None, 5]
    assert keep(2, 1) == [None, 2, None, None, 5], "an entry that is renewed with less work stays as strong as it was"


def test_scrambled_keys_are_all_different_and_spread() -> None:
    codes = {scramble(key, 10) for key in range(1 << 10)}
    assert codes == set(range(1 << 10))
    assert len({scramble(key, 40) >> 36 for key in range(200)}) == 16


def test_ctrl_c_while_the_table_grows_leaves_it_right() -> None:
    keys = [random.Random(key).randrange(1 << 56) for key in range(100)]
    for line in range(1, 20):
        table = TranspositionTable(56, 1)
        for key in keys:
            store(table.entries, scramble(key, 56), table.tag_bits, 0, key & 7, 1)
        left = line

        def trace(frame: FrameType, event: str, argument: object) -> Any:
            nonlocal left
            if frame.f_code.co_filename == transposition_table.__file__ and event == "line":
                left -= 1
                if left == 0:
                    raise KeyboardInterrupt
            return trace

        sys.settrace(trace)
        with suppress(KeyboardInterrupt):
            table.grow()
        sys.settrace(None)
        for key in keys:
            entry = find(table.entries, scramble(key, 56), table.tag_bits)
            assert entry and (lower_of(entry), upper_of(entry)) == (0, key & 7)
        if left > 0:
            break
    assert line > 1 and table.log_buckets > table.smallest


@pytest.mark.parametrize(
    "game",
    breadth([CONNECT_FOUR], [KInARow.make(5, 6, 4), KInARow.make(4, 5, 4), KInARow.make(5, 5, 5)]),
    ids=title,
)
def test_the_follow_up_bound_is_never_below_the_score(game: KInARow) -> None:
    solver = Solver(game, opening_book=False)
    told = 0
    rng = random.Random(0)
    for seed in range(400):
        position = Position.start(game)
        for _ in range(game.cells // 2 + seed % (game.cells // 3)):  # a random game in which nobody wins
            quiet = [after for action in position.legal_actions if not (after := position.play(action)).is_over]
            position = rng.choice(quiet) if quiet else position
        if game.threats(position.own) & game.playable(position.own, position.opp):
            continue
        bound = follow_up_bound(game, position.own, position.opp, game.threats(position.opp))
        if bound < UNKNOWN:
            told += 1
            assert solver.score(position) <= bound, position
    assert told > 5
