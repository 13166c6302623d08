"""Alpha-beta search: against full width, compiled against interpreted, and whatever the table holds."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from conftest import breadth, playout, title
from oracle import Oracle, board_of, looked_ahead, sampled

from tictac_env.arena import read_scored_positions
from tictac_env.games import DRAWN, GAMES, UNFINISHED, WON, KInARow
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.solver import alpha_beta
from tictac_env.solver.alpha_beta import action_scores, middle_out, new_table, score_actions, search_depth
from tictac_env.solver.enumerate import NO_SCORE, tabulate

TIC_TAC_TOE = GAMES["TicTacToe-v0"]
CONNECT_FOUR = GAMES["ConnectFour-v0"]
SMALL = KInARow.make(4, 3, 3, gravity=True)
SEARCHED = breadth(
    [TIC_TAC_TOE, CONNECT_FOUR],
    [
        SMALL,
        KInARow.make(3, 4, 3, gravity=False),
        KInARow.make(5, 5, 4, gravity=True),
        KInARow.make(5, 7, 5, gravity=True),
        KInARow.make(8, 7, 4, gravity=True),
    ],
)


def window(game: KInARow, position: Position, depth: int, alpha: int, beta: int) -> int:
    bits = position.own, position.opp
    stack = np.empty((depth + 1, 10), np.int64)
    return int(search_depth(game, *bits, depth, alpha, beta, middle_out(game), new_table(depth), stack))


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("game", SEARCHED, ids=title)
def test_alpha_beta_equals_full_width_search(game: KInARow, depth: int) -> None:
    truth = Oracle(game)
    decided = 0
    for position in sampled(game, 8 if depth < 4 else 5):
        expected: list[int | None] = [None] * game.num_actions
        for action, after in truth.moves(board_of(position)).items():
            expected[action] = -looked_ahead(truth, after, depth - 1)
        assert action_scores(game, position.own, position.opp, depth) == expected
        score = window(game, position, depth, -game.cells, game.cells)
        assert score == max(value for value in expected if value is not None)
        decided += any(expected)
    assert decided, "every position was beyond the horizon"


@pytest.mark.parametrize("game", SEARCHED, ids=title)
def test_scores_outside_the_window_are_bounds(game: KInARow) -> None:
    for position in sampled(game, 12):
        exact = window(game, position, 5, -game.cells, game.cells)
        for alpha, beta in ((-1, 0), (0, 1), (-2, 2), (exact - 1, exact + 1), (exact, exact + 1), (exact - 1, exact)):
            found = window(game, position, 5, alpha, beta)
            if found <= alpha:
                assert exact <= found
            elif found >= beta:
                assert exact >= found
            else:
                assert exact == found


@pytest.mark.parametrize("game", breadth([TIC_TAC_TOE], [SMALL]), ids=title)
def test_searched_to_the_end_every_score_is_exact(game: KInARow) -> None:
    table = tabulate(game)
    for row in range(0, len(table), 11):
        if (table.children[row] >= 0).any():
            own, opp = int(table.own[row]), int(table.opp[row])
            expected = [None if score == NO_SCORE else score for score in table.action_scores([row])[0].tolist()]
            assert action_scores(game, own, opp, game.cells) == expected


@pytest.mark.parametrize("game", SEARCHED, ids=title)
def test_compiled_and_interpreted_search_agree(game: KInARow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores, which are those of full width too, and everything that tables remember, entry by entry.

    One table is new for each position, one of two entries is used for all.
    """
    positions, truth = sampled(game, 30)[1::2], Oracle(game)  # the late ones
    expected = []
    for position in positions:
        after = truth.moves(board_of(position))
        scores = {action: -looked_ahead(truth, board, 2) for action, board in after.items()}
        expected.append([scores.get(action, int(NO_SCORE)) for action in range(game.num_actions)])

    def searched() -> list[list[int]]:
        found, small = [], np.zeros((2, 5), np.int64)
        for position, wanted in zip(positions, expected, strict=True):
            for table in (new_table(3), small):
                scores = np.full((1, game.num_actions), NO_SCORE, np.int64)
                batch = PositionBatch.of([position])
                alpha_beta.score_actions(game, batch.own, batch.opp, 3, middle_out(game), table, scores)
                assert scores[0].tolist() == wanted
                found.append(table.reshape(-1).tolist())
        return found

    compiled = searched()
    assert any(map(any, compiled)), "nothing was remembered"
    for name in ("search_depth", "score_actions", "look", "take", "slot", "compiled_loss_score"):
        monkeypatch.setattr(alpha_beta, name, getattr(alpha_beta, name).py_func)
    assert searched() == compiled


class Misere(KInARow):
    """Whoever makes a line loses."""

    def result(self, own: int, opp: int) -> int:
        if self.has_line(opp):
            return WON
        return DRAWN if own | opp == self.full else UNFINISHED


def test_a_game_that_knows_no_wins_is_searched_to_its_horizon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("search_depth", "score_actions", "look", "take", "slot", "compiled_loss_score"):
        monkeypatch.setattr(alpha_beta, name, getattr(alpha_beta, name).py_func)
    game = Misere.make(3, 3, 3, False)

    def ahead(position: Position, depth: int) -> int:
        result = game.result(position.own, position.opp)
        if result != UNFINISHED:
            return result * ((game.cells - position.ply + 2) // 2)
        return max(-ahead(position.play(action), depth - 1) for action in position.legal_actions) if depth else 0

    decided = 0
    for moves, depth in itertools.product(("12", "1528", "152863", "1528634"), (1, 2, 3)):
        position, scores = Position.from_moves(game, moves), np.full((1, game.num_actions), NO_SCORE, np.int64)
        batch = PositionBatch.of([position])
        alpha_beta.score_actions(game, batch.own, batch.opp, depth, middle_out(game), new_table(depth), scores)
        expected = [NO_SCORE] * game.num_actions
        for action in position.legal_actions:
            expected[action] = -ahead(position.play(action), depth - 1)
        assert scores[0].tolist() == expected
        decided += any(expected[action] for action in position.legal_actions)
    assert decided


def test_more_positions_than_are_searched_at_a_time_have_the_scores_of_each() -> None:
    positions = [position for seed in range(12) for position in playout(CONNECT_FOUR, seed, 12)[:-1]]
    batch = PositionBatch.of(positions)
    assert len(batch) > 2 * alpha_beta.PIECE
    found = alpha_beta.scores_many(CONNECT_FOUR, batch.own, batch.opp, 2)
    for position, scores in zip(positions, found.tolist(), strict=True):
        expected = action_scores(CONNECT_FOUR, position.own, position.opp, 2)
        assert [None if score == NO_SCORE else score for score in scores] == expected


@pytest.mark.parametrize("game", breadth([CONNECT_FOUR, TIC_TAC_TOE], [KInARow.make(5, 5, 4, gravity=True)]), ids=title)
def test_what_a_table_remembers_never_changes_a_score(game: KInARow) -> None:
    """One table for searches of many depths, as small as can be, and none at all in effect."""
    tables = [np.zeros((entries, 5), np.int64) for entries in (1, 8, 1 << 12)]
    for position in sampled(game, 12):
        for depth in (3, 6, 4, 2, 5):
            expected = action_scores(game, position.own, position.opp, depth)
            for table in tables:
                scores, one = np.full((1, game.num_actions), NO_SCORE, np.int64), PositionBatch.of([position])
                score_actions(game, one.own, one.opp, depth, middle_out(game), table, scores)
                assert [None if score == NO_SCORE else score for score in scores[0].tolist()] == expected


def test_searched_to_the_end_the_public_scores_are_found(data: Path) -> None:
    for position, scores in read_scored_positions(data / "connect_four_end_easy.csv"):
        assert tuple(action_scores(CONNECT_FOUR, position.own, position.opp, 42 - position.ply)) == scores
