"""The table of a small game: as many positions as others have counted, and the exact score of every one."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from conftest import breadth, title
from oracle import Oracle

from tictac_env.games import GAMES, UNFINISHED, KInARow
from tictac_env.solver.enumerate import moves_to_win, tabulate, value_in_words

TIC_TAC_TOE = GAMES["TicTacToe-v0"]

SMALL_GAMES = [
    KInARow.make(rows, cols, connect, gravity)
    for rows, cols, connect, gravity in (
        (3, 3, 3, False),
        (4, 3, 3, True),
        (3, 4, 3, True),
        (2, 3, 2, False),
        (1, 1, 1, True),
        (1, 7, 3, False),
        (3, 3, 2, True),
        (5, 2, 5, True),
    )
]
every_small_game = pytest.mark.parametrize(
    "game", breadth(SMALL_GAMES, [KInARow.make(3, 4, 3, gravity=False), KInARow.make(4, 4, 3)]), ids=title
)


@every_small_game
def test_every_position_agrees_with_a_naive_search(game: KInARow) -> None:
    table, truth = tabulate(game), Oracle(game)
    boards = truth.boards()
    assert len(boards) == len(table) == len(table.index)
    for board in boards:
        row = table.index[truth.bits(board)]
        moves = truth.moves(board)
        assert (int(table.own[row]), int(table.opp[row])) == truth.bits(board)
        assert table.score[row] == truth.score(board), board
        assert table.seat[row] == "XO".index(truth.mover(board))
        assert (table.result[row] == UNFINISHED) == (not truth.over(board))
        assert {a: child for a, child in enumerate(table.children[row].tolist()) if child >= 0} == {
            action: table.index[truth.bits(after)] for action, after in moves.items()
        }
        assert all(child >= 0 or child == -1 for child in table.children[row].tolist())
        ply = len(board) - board.count(".")
        assert table.levels[ply].start <= row < table.levels[ply].stop


@every_small_game
def test_a_score_tells_after_how_many_plies_perfect_play_ends(game: KInARow) -> None:
    table = tabulate(game)
    after = np.zeros(len(table), int)
    for ply, level in reversed(list(enumerate(table.levels))):
        for row in range(level.start, level.stop):
            if table.result[row] == UNFINISHED:
                scores = table.action_scores([row])[0]
                best = table.children[row][scores == scores.max()]
                assert len(set(after[best])) == 1, "all best actions lead to an end equally far"
                after[row] = 1 + after[best[0]]
            score = int(table.score[row])
            plies = 2 * moves_to_win(game, ply, score) - (score > 0) if score else game.cells - ply
            assert plies == after[row]


def test_scores_in_words() -> None:
    """Connect Four is won with the 21st stone of 21; a player who wins at once does so with the next stone."""
    connect_four = GAMES["ConnectFour-v0"]
    words = {
        (TIC_TAC_TOE, 0, 0): "a draw",
        (TIC_TAC_TOE, 4, 3): "a win in 1 move",
        (TIC_TAC_TOE, 2, 2): "a win in 3 moves",
        (TIC_TAC_TOE, 5, -2): "a loss in 1 move",
        (TIC_TAC_TOE, 3, -2): "a loss in 2 moves",
        (connect_four, 0, 1): "a win in 21 moves",
        (connect_four, 1, -1): "a loss in 20 moves",
        (connect_four, 6, 18): "a win in 1 move",
        (connect_four, 7, -17): "a loss in 1 move",
    }
    assert {key: value_in_words(*key) for key in words} == words


@pytest.mark.parametrize(("low", "high"), [(0, 100_000), pytest.param(100_000, 500_000, marks=pytest.mark.slow)])
def test_connect_four_on_small_boards_has_as_many_positions_as_published(data: Path, low: int, high: int) -> None:
    with (data / "positions_by_board_size.csv").open(newline="") as file:
        published = [tuple(map(int, row.values())) for row in csv.DictReader(file)]
    chosen = [row for row in published if low <= row[2] < high and max(row[:2]) >= 4]
    assert len(chosen) > 5
    for cols, rows, count in chosen:
        assert len(tabulate(KInARow.make(rows, cols, 4, gravity=True))) == count, (cols, rows)


def test_too_large_a_game_is_refused_by_its_limit() -> None:
    with pytest.raises(ValueError, match=r"ConnectFour|rows=6, cols=7.* more than 1,000 positions"):
        tabulate(GAMES["ConnectFour-v0"], limit=1000)
    assert len(tabulate(TIC_TAC_TOE, limit=5478)) == 5478
    with pytest.raises(ValueError, match="5,477"):
        tabulate(TIC_TAC_TOE, limit=5477)
