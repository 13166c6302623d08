"""Suites are frozen, known by a hash, kept apart from each other, and made by their seed to the bit."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from oracle import Oracle

from tictac_env.arena import Suite, move_accuracy, read_scored_positions, suite
from tictac_env.arena import suites as module
from tictac_env.arena.suites import HASHES, PHASES, all_positions, phase_begins
from tictac_env.games import GAMES, Game, KInARow
from tictac_env.position import Position, canonical
from tictac_env.position_batch import PositionBatch
from tictac_env.solver import Solver
from tictac_env.solver.enumerate import NO_SCORE
from tools.build_suites import Games, is_decisive, make_suite

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"
OF_C4 = [name for name in HASHES if name.startswith("C4")]


def folded(found: Suite) -> set[tuple[int, int]]:
    return {canonical(found.game, position.own, position.opp)[:2] for position, _ in found}


# The suites of the package


@pytest.mark.parametrize("name", HASHES)
def test_a_suite_of_the_package_has_its_hash_and_its_game(name: str) -> None:
    found = suite(name)
    assert found.name == name and found.sha256 == HASHES[name]
    assert found.game == GAMES[C4 if name in OF_C4 else TTT]
    assert found.scores.dtype == np.int16 and found.scores.shape == (len(found), found.game.num_actions)
    assert not any(position.is_over for position, _ in found)


@pytest.mark.parametrize("name", OF_C4)
def test_the_positions_of_connect_four_are_decisive_different_and_balanced(name: str) -> None:
    found = suite(name)
    assert 1_000 <= len(found) <= 10_000
    assert all(map(is_decisive, found.scores))
    assert len(folded(found)) == len(found)
    assert set(Counter(found.phases.tolist()).values()) == {len(found) // 3}
    assert phase_begins(found.game) == (0, 12, 24)
    assert [found.plies[found.phases == phase].max() < end for phase, end in enumerate((12, 24, 42))] == [True] * 3
    sources = found.origin["sources"]
    assert len(sources) >= 5
    for phase in PHASES:
        assert len({counts[phase] for counts in sources.values()}) == 1
    first = found.positions.own & 0b111111 | found.positions.opp & 0b111111  # not all lean to one side
    assert 0.3 < np.mean(first > 0) < 1


def test_what_is_reported_on_is_apart_from_what_is_chosen_by() -> None:
    assert not folded(suite("C4-Exact-v1")) & folded(suite("C4-Choose-v1"))


def test_a_score_in_hundred_is_what_the_solver_says() -> None:
    """Of each phase, without the opening book."""
    solver = Solver(C4, opening_book=False)
    for name in OF_C4:
        found = suite(name)
        rows = [row for row in range(7, len(found), 97) if found.plies[row] >= 14]
        solutions = solver.solve_many([found.positions[row] for row in rows])
        assert [solution.action_scores for solution in solutions] == [found[row].action_scores for row in rows]


@pytest.mark.slow
def test_all_scores_are_what_another_solver_says() -> None:
    bitbully = pytest.importorskip("bitbully")
    solver = bitbully.BitBully(None)
    for name in OF_C4:
        found = suite(name)
        for row in range(0, len(found), 7 if name == "C4-Exact-v1" else 3):
            if found.plies[row] >= 12:
                position, scores = found[row]
                told = solver.score_all_moves(bitbully.Board([int(move) - 1 for move in position.to_moves()]))
                assert tuple(told.get(action) for action in range(7)) == scores


def test_all_positions_of_tic_tac_toe_are_scored_as_an_independent_search_does() -> None:
    game = GAMES[TTT]
    assert isinstance(game, KInARow)
    truth = Oracle(game)
    found = dict(suite("TTT-Exact-v1"))
    boards = [board for board in truth.boards() if not truth.over(board)]
    assert len(found) == len(boards) == 4520
    for board in boards[::5]:
        scores = {action: -truth.score(after) for action, after in truth.moves(board).items()}
        assert found[truth.position(board)] == tuple(scores.get(action) for action in range(9))


def test_a_phase_is_two_sevenths_of_the_cells(game: Game) -> None:
    begins = phase_begins(game)
    assert 0 == begins[0] <= begins[1] <= begins[2] <= game.cells
    assert 7 * begins[1] >= 2 * game.cells > 7 * (begins[1] - 1)


def test_an_unknown_suite_is_answered_with_the_near_ones() -> None:
    with pytest.raises(ValueError, match="no suite is called 'C4-Exact-v2'; did you mean C4-Exact-v1"):
        suite("C4-Exact-v2")
    with pytest.raises(FileNotFoundError, match="no suite of that name; did you mean C4-Exact-v1"):
        move_accuracy("rule", "C4-Exakt-v1")


def test_a_damaged_file_in_the_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    other = suite("C4-Choose-v1")
    dataclasses.replace(other, name="C4-Exact-v1").save(tmp_path / "C4-Exact-v1.npz")
    with pytest.raises(ValueError, match=r"C4-Exact-v1\.npz is not the suite C4-Exact-v1: its hash is"):
        suite.__wrapped__("C4-Exact-v1")


# Files


@pytest.fixture(scope="module")
def small() -> Suite:
    return make_suite("small", [Games("random"), Games("rule", "random")], 60, 3, TTT)


def test_a_suite_comes_back_as_it_was(small: Suite, tmp_path: Path) -> None:
    for made in (small, all_positions("KInARow-v0:3x4-3")):
        made.save(tmp_path / "mine.npz")
        back = Suite.load(tmp_path / "mine.npz")
        assert back == made and back.origin == made.origin and list(back) == list(made)
    made.save(tmp_path / "mine.npz")  # over itself
    assert move_accuracy("rule", tmp_path / "mine.npz").overall.positions == len(made)


def test_a_suite_that_cannot_be_one_is_named(small: Suite, tmp_path: Path) -> None:
    """Whatever its hash says."""
    path = tmp_path / "mine.npz"
    own, opp, scores = small.positions.own, small.positions.opp, small.scores
    over = Position.from_moves(TTT, "14253")
    for wrong in (
        dataclasses.replace(small, scores=np.where(scores == NO_SCORE, 0, scores)),
        dataclasses.replace(small, scores=scores[:, :-1]),
        dataclasses.replace(small, positions=PositionBatch(small.game, own | opp, opp)),
        dataclasses.replace(small, positions=PositionBatch(small.game, own | 1 << 40, opp)),
        dataclasses.replace(small, positions=PositionBatch(small.game, own - (1 << 62) - (1 << 62), opp)),
        Suite("over", PositionBatch.of([over]), np.array([[NO_SCORE, *[0] * 8]], np.int16)),
    ):
        wrong.save(path)
        with pytest.raises(ValueError, match=r"mine\.npz is not a usable suite: its"):
            Suite.load(path)


def test_a_suite_whose_scores_were_changed_is_not_the_one_of_its_hash(small: Suite, tmp_path: Path) -> None:
    other = dataclasses.replace(small, scores=np.where(small.scores == NO_SCORE, NO_SCORE, -small.scores))
    vars(other)["sha256"] = small.sha256
    other.save(tmp_path / "mine.npz")
    with pytest.raises(ValueError, match=rf"mine\.npz .*should have {small.sha256}"):
        Suite.load(tmp_path / "mine.npz")


def test_the_form_of_other_solvers_is_written_and_read(small: Suite, tmp_path: Path) -> None:
    path = tmp_path / "analysis.txt"
    with_start = Suite.of("start too", [all_positions(TTT)[0], *small])
    with_start.write_analysis(path)
    assert Suite.of("start too", read_scored_positions(path, TTT)) == with_start
    lines = path.read_text().splitlines()
    assert lines[0] == " 0 0 0 0 0 0 0 0 0"
    assert all(len(line.split(" ")) == 10 for line in lines)
    line = next(line for line in lines if "-1000" in line)
    path.write_text(line.replace("-1000", "0", 1) + "\n")
    with pytest.raises(ValueError, match=r"analysis\.txt, line 1: action .* is illegal but has the score 0"):
        read_scored_positions(path, TTT)
    path.write_text(line + " 1\n")
    with pytest.raises(ValueError, match=r"analysis\.txt, line 1: 11 fields, not 10"):
        read_scored_positions(path, TTT)


# Making


def test_the_same_seed_gives_the_same_suite(small: Suite) -> None:
    sources = [Games("random"), Games("rule", "random")]
    again = make_suite("small", sources, 60, 3, TTT)
    assert again == small and again.origin == small.origin
    assert make_suite("small", sources, 60, 4, TTT) != small
    assert len(folded(small)) == len(small) and all(map(is_decisive, small.scores))
    assert sum(sum(counts.values()) for counts in small.origin["sources"].values()) == len(small)


def test_excluded_positions_and_their_images_are_not_taken(small: Suite) -> None:
    other = make_suite("other", [Games("random")], 60, 8, TTT, exclude=[small])
    assert len(other) and not folded(other) & folded(small)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="count=2 is too few for 1 sources"):
        make_suite("x", [Games("random")], 2, 0, TTT)
    with pytest.raises(ValueError, match="is of another game"):
        make_suite("x", [Games("random")], 30, 0, TTT, exclude=[suite("C4-Choose-v1")])
    with pytest.raises(ValueError, match="noise must be a number"):
        make_suite("x", [Games("random", noise=2)], 30, 0, TTT)
    with pytest.raises(ValueError, match="is not a scored position"):
        Suite.of("x", [3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="no positions"):
        Suite.of("x", [])


# Measures on suites


def test_phases_and_regret_are_those_of_the_definitions() -> None:
    found = suite("TTT-Exact-v1")
    rule = move_accuracy("rule", "TTT-Exact-v1")
    assert rule.suite == (found.name, found.sha256)
    assert sum(part.positions for part in rule.by_phase.values()) == rule.overall.positions == 4520
    from tictac_env.policies import make_policy

    policy, by_phase = make_policy("rule", TTT), Counter[str]()
    for position, scores in found:
        chances = policy.probabilities(position)
        assert chances is not None
        best = max(np.sign(score) for score in scores if score is not None)
        lost = sum(chances[a] * (best - np.sign(score)) for a, score in enumerate(scores) if score is not None)
        by_phase["opening" if position.ply < 3 else "middle" if position.ply < 6 else "end"] += lost
    for phase, accuracy in rule.by_phase.items():
        assert accuracy.regret.value == pytest.approx(by_phase[phase] / accuracy.positions)
        assert accuracy.regret.low <= accuracy.regret.value <= accuracy.regret.high
        assert accuracy.mistakes.value <= accuracy.regret.value <= 2 * accuracy.mistakes.value
    assert move_accuracy("minimax", "TTT-Exact-v1").overall.regret.value == 0
    random = move_accuracy("random", "TTT-Exact-v1").overall.regret
    assert random.relative[0] == pytest.approx(1)
