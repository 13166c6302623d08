"""Minimax players: exact on small games, searching elsewhere, both against a search that leaves nothing out."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from conftest import title
from oracle import Oracle, board_of, looked_ahead, sampled
from scipy.stats import chisquare

from tictac_env.games import GAMES, KInARow
from tictac_env.policies import make_policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import mix
from tictac_env.solver import solve
from tictac_env.solver.minimax import Minimax, MinimaxFirst

TIC_TAC_TOE = GAMES["TicTacToe-v0"]
CONNECT_FOUR = GAMES["ConnectFour-v0"]
SOLVED = [TIC_TAC_TOE, KInARow.make(4, 3, 3, gravity=True), KInARow.make(3, 3, 2, gravity=True)]


@pytest.mark.parametrize("game", SOLVED, ids=title)
def test_exact_minimax_holds_every_move_that_keeps_the_value_equally_good(game: KInARow) -> None:
    truth, player = Oracle(game), Minimax()
    for board in truth.boards():
        if not truth.over(board):
            assert player.best_actions(truth.position(board)) == tuple(truth.keeping(board)), board


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_minimax_to_a_depth_prefers_near_wins_and_far_losses(depth: int) -> None:
    truth, player = Oracle(CONNECT_FOUR), Minimax(depth)
    for position in sampled(CONNECT_FOUR, 10):
        moves = truth.moves(board_of(position))
        scores = {action: -looked_ahead(truth, after, depth - 1) for action, after in moves.items()}
        best = max(scores.values())
        assert player.best_actions(position) == tuple(action for action in scores if scores[action] == best)


def test_depth_is_counted_in_plies() -> None:
    threatened = Position.from_moves(CONNECT_FOUR, "11223")
    assert Minimax(1).best_actions(threatened) == (0, 1, 2, 3, 4, 5, 6)
    assert Minimax(2).best_actions(threatened) == (3,)  # only this stops a fourth stone


def test_a_win_at_once_is_seen_at_depth_one() -> None:
    position = Position.from_moves(CONNECT_FOUR, "112233")
    assert Minimax(1).best_actions(position) == (3,)


def test_equal_moves_are_drawn_uniformly_by_the_seed() -> None:
    position = Position.from_moves(TIC_TAC_TOE, "5")
    player = make_policy("minimax")
    drawn = Counter(player.act(position, mix(seed)) for seed in range(4000))
    assert set(drawn) == {0, 2, 6, 8}  # the corners hold the draw, the sides lose
    assert chisquare(list(drawn.values())).pvalue > 1e-4
    assert player.act(position, mix(7)) == player.act(position, mix(7))


def test_minimax_first_plays_the_lowest_whatever_the_seed() -> None:
    for moves, lowest in (("", 0), ("5", 0), ("1", 4), ("1425", 2)):
        position = Position.from_moves(TIC_TAC_TOE, moves)
        assert {make_policy("minimax-first").act(position, mix(seed)) for seed in range(50)} == {lowest}


@pytest.mark.parametrize("name", ["minimax", "minimax-first", "minimax:2", "minimax-first:3"])
def test_probabilities_are_those_of_the_draws(name: str) -> None:
    player = make_policy(name)
    for position in sampled(TIC_TAC_TOE, 6):
        chances = player.probabilities(position)
        assert chances.shape == (9,) and chances.sum() == pytest.approx(1)
        drawn = {player.act(position, mix(seed)) for seed in range(200)}
        assert drawn == set(np.flatnonzero(chances))
        assert len({chances[action] for action in drawn}) == 1


@pytest.mark.parametrize("name", ["minimax", "minimax-first:2"])
def test_a_batch_is_played_as_its_positions_are(name: str) -> None:
    player, positions = make_policy(name), sampled(TIC_TAC_TOE, 20)
    seeds = np.array([mix(seed) for seed in range(20)], np.int64)
    together = player.act_many(PositionBatch.of(positions), seeds)
    assert together.tolist() == [player.act(p, int(seed)) for p, seed in zip(positions, seeds, strict=True)]


def test_names_say_what_is_played() -> None:
    assert str(make_policy("minimax")) == "minimax"
    assert str(make_policy("minimax:3")) == "minimax:3"
    assert str(make_policy("minimax-first:3")) == "minimax-first:3"
    assert str(make_policy("minimax", "ConnectFour-v0")) == "minimax:4"  # too large to tabulate
    assert isinstance(make_policy("minimax-first"), MinimaxFirst)
    assert make_policy("minimax:6", "ConnectFour-v0").depth == 6


@pytest.mark.parametrize("depth", ["0", "-1", "1.5", "two", "²", " 2", "2:3"])
def test_names_of_impossible_depths_are_refused(depth: str) -> None:
    with pytest.raises(ValueError, match=r"depth of 'minimax'"):
        make_policy(f"minimax:{depth}")


@pytest.mark.parametrize("depth", [0, -1, 1.5, True, "2"])
def test_impossible_depths_are_refused(depth: object) -> None:
    with pytest.raises(ValueError, match="depth"):
        Minimax(depth)  # type: ignore[arg-type]


def test_no_depth_is_too_large() -> None:
    position = Position.from_moves("TicTacToe-v0", "51")
    exact = solve(position)
    assert make_policy(f"minimax:{'9' * 30}").best_actions(position) == exact.best_actions


def test_a_position_that_no_game_reaches_is_played_well_all_the_same() -> None:
    """It passes `Position`'s checks, so an environment may start from it: O's stone lies beneath X's only one."""
    game = KInARow.make(4, 3, 3, gravity=True)
    position = Position.from_array(game, [[0, 0, 0], [0, 0, 0], [1, 0, 0], [2, 0, 0]])
    truth = Oracle(game)
    assert make_policy("minimax", game).best_actions(position) == tuple(truth.keeping(board_of(position)))


@pytest.mark.slow
def test_exact_minimax_refuses_a_game_too_large_to_tabulate() -> None:
    with pytest.raises(ValueError, match="too many to tabulate"):
        Minimax().act(Position.start(CONNECT_FOUR), 0)
