"""Minimax and perfect players against searches that leave nothing out; and the regret of moves, added up over games."""

from __future__ import annotations

import functools
import itertools
from collections import Counter

import numpy as np
import pytest
from conftest import playout, playouts, title
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Hurried, Oracle, board_of, looked_ahead, sampled
from scipy.stats import chisquare

from tictac_env.games import GAMES, KInARow
from tictac_env.policies import check_policy, make_policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import mix
from tictac_env.solver import NotProven, Solver, move_regret, solve
from tictac_env.solver.enumerate import tabulate
from tictac_env.solver.exact import Regret
from tictac_env.solver.players import Minimax, MinimaxFirst, Perfect

TTT = GAMES["TicTacToe-v0"]
C4 = GAMES["ConnectFour-v0"]
oracle_of = functools.cache(Oracle)
SOLVED = [TTT, KInARow.make(4, 3, 3, gravity=True), KInARow.make(3, 3, 2, gravity=True)]


@pytest.mark.parametrize("game", SOLVED, ids=title)
def test_exact_minimax_holds_every_move_that_keeps_the_value_equally_good(game: KInARow) -> None:
    truth, player = oracle_of(game), Minimax()
    for board in truth.boards():
        if not truth.over(board):
            assert player.best_actions(truth.position(board)) == tuple(truth.keeping(board)), board


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_minimax_to_a_depth_prefers_near_wins_and_far_losses(depth: int) -> None:
    truth, player = Oracle(C4), Minimax(depth)
    for position in sampled(C4, 10):
        moves = truth.moves(board_of(position))
        scores = {action: -looked_ahead(truth, after, depth - 1) for action, after in moves.items()}
        best = max(scores.values())
        assert player.best_actions(position) == tuple(action for action in scores if scores[action] == best)


def test_equal_moves_are_drawn_uniformly_by_the_seed() -> None:
    position = Position.from_moves(TTT, "5")
    player = make_policy("minimax")
    drawn = Counter(player.act(position, mix(seed)) for seed in range(4000))
    assert set(drawn) == {0, 2, 6, 8}  # the corners hold the draw, the sides lose
    assert chisquare(list(drawn.values())).pvalue > 1e-4
    assert player.act(position, mix(7)) == player.act(position, mix(7))


def test_minimax_first_plays_the_lowest_whatever_the_seed() -> None:
    for moves, lowest in (("", 0), ("5", 0), ("1", 4), ("1425", 2)):
        position = Position.from_moves(TTT, moves)
        assert {make_policy("minimax-first").act(position, mix(seed)) for seed in range(50)} == {lowest}


@pytest.mark.parametrize("name", ["minimax", "minimax-first", "minimax:2", "minimax-first:3"])
def test_probabilities_are_those_of_the_draws(name: str) -> None:
    player = make_policy(name)
    for position in sampled(TTT, 6):
        chances = player.probabilities(position)
        assert chances.shape == (9,) and chances.sum() == pytest.approx(1)
        drawn = {player.act(position, mix(seed)) for seed in range(200)}
        assert drawn == set(np.flatnonzero(chances))
        assert len({chances[action] for action in drawn}) == 1


def test_names_say_what_is_played() -> None:
    assert str(make_policy("minimax")) == "minimax"
    assert str(make_policy("minimax:3")) == "minimax:3"
    assert str(make_policy("minimax-first:3")) == "minimax-first:3"
    assert str(make_policy("minimax", "ConnectFour-v0")) == "minimax:4"  # too large to tabulate
    assert isinstance(make_policy("minimax-first"), MinimaxFirst)
    assert make_policy("minimax:6", "ConnectFour-v0").depth == 6


@pytest.mark.parametrize("name", [f"minimax:{depth}" for depth in ("0", "1.5", "²", " 2")])
def test_impossible_depths_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="depth of 'minimax'"):
        make_policy(name)
    with pytest.raises(ValueError, match="a depth must be"):
        Minimax(True)


@pytest.mark.parametrize("name", [f"perfect:{error}" for error in ("2", "-0.1", "often", "nan")])
def test_impossible_errors_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"error of 'perfect' must be a number in \[0, 1\]"):
        make_policy(name, TTT)


def test_no_depth_is_too_large() -> None:
    position = Position.from_moves("TicTacToe-v0", "51")
    exact = solve(position)
    assert make_policy(f"minimax:{'9' * 30}").best_actions(position) == exact.best_actions


def test_a_position_that_no_game_reaches_is_played_well_all_the_same() -> None:
    """It passes `Position`'s checks, so an environment may start from it: O's stone lies beneath X's only one."""
    game = KInARow.make(3, 3, 3, gravity=True)
    position = Position.from_array(game, [[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    truth = Oracle(game)
    assert make_policy("minimax", game).best_actions(position) == tuple(truth.keeping(board_of(position)))


def test_it_plays_the_best_scores_of_the_table_of_all_positions() -> None:
    table = tabulate(TTT)
    perfect = make_policy("perfect", TTT)
    assert isinstance(perfect, Perfect)
    for (own, opp), row in list(table.index.items())[::7]:
        position = Position(TTT, own, opp)
        if position.is_over:
            continue
        scores = table.action_scores([row])[0]
        assert perfect.best_actions(position) == tuple(np.flatnonzero(scores == scores.max()))
        assert perfect.act(position, 5) == perfect.best_actions(position)[5 % len(perfect.best_actions(position))]


@pytest.mark.parametrize("name", ["perfect", "perfect:0.3", "perfect:1"])
def test_it_keeps_the_promises_of_a_policy(name: str) -> None:
    check_policy(make_policy(name, TTT), TTT)


def test_errors_are_as_frequent_as_asked_and_never_lose_at_once() -> None:
    position = Position.from_moves(C4, "2252576253462244111563365343671")
    for error in (0.0, 0.25, 1.0):
        policy = Perfect(error)
        chances = policy.probabilities(position)
        assert chances is not None
        seeds = np.random.default_rng(0).integers(0, 1 << 63, 2000)
        played = np.bincount([policy.act(position, int(seed)) for seed in seeds], minlength=7) / 2000
        assert abs(played - chances).max() < 0.05
        assert chances.sum() == pytest.approx(1)
        for action in np.flatnonzero(chances):
            after = position.play(int(action))
            assert after.is_over or all(not after.play(reply).is_over for reply in after.legal_actions)


def test_where_every_move_loses_any_may_be_played() -> None:
    lost = Position.from_moves(C4, "44553")  # X threatens on both sides
    assert {Perfect(1).act(lost, seed) for seed in range(100)} == set(lost.legal_actions)


def test_a_time_limit_gives_a_legal_move_in_time() -> None:
    policy = Perfect(time_limit=0.05, solver=Solver(table_megabytes=4, opening_book=False))
    position = Position.from_moves(C4, "4")
    assert policy.act(position, 0) in position.legal_actions
    assert policy.probabilities(position) is None
    late = playout(C4, 3, 25)[-1]
    assert late.is_over or policy.best_actions(late) == Perfect().best_actions(late)


def test_out_of_time_it_takes_the_best_that_is_proven() -> None:
    """A sure draw rather than what may be a win or a loss; of two sure draws the one that may be a win."""
    position = Position.from_moves("TicTacToe-v0", "152489")
    for known, best in (
        ({2: (0, 0), 5: (-3, 5), 6: (-2, -2)}, (2,)),
        ({2: (0, 0), 5: (0, 5), 6: (-2, -2)}, (5,)),
    ):
        assert Perfect(time_limit=1, solver=Hurried(known)).best_actions(position) == best


def test_names_and_budgets_of_perfect_players() -> None:
    assert (Perfect(0.25).name, MinimaxFirst(2).name) == ("perfect:0.25", "minimax-first:2")
    assert "25 %" in Perfect(0.25).budget and "2 s" in Perfect(time_limit=2).budget
    for error, time_limit in ((-0.01, 1), (1.01, 1), (0, -0.01)):
        with pytest.raises(ValueError, match=r"error|time_limit"):
            Perfect(error, time_limit)
    assert isinstance(make_policy("minimax", KInARow.make(3, 4, 3, False)), Minimax)
    budgets = [make_policy("minimax", KInARow.make(*size, 3, False)).budget for size in ((3, 4), (1, 13))]
    assert budgets == ["the whole game, tabulated", "4 plies"]


@pytest.mark.parametrize("threads", [1, 2])
def test_many_positions_have_the_best_actions_of_each(threads: int) -> None:
    """Those that are over too, which have none."""
    solver = Solver(C4, threads=threads)
    positions = [position for seed in range(6) for position in playout(solver.game, seed)[24:]]
    together = [tuple(np.flatnonzero(mask).tolist()) for mask in solver.best_masks(PositionBatch.of(positions))]
    assert together == [solver.solve(position).best_actions for position in positions]
    assert together == [solver.best_actions(position) for position in positions]
    assert () in together and len(solver.best_masks(PositionBatch.of(positions).where(slice(0)))) == 0


FALLING = KInARow.make(4, 3, 3, gravity=True)


def sign(number: int) -> int:
    return (number > 0) - (number < 0)


@pytest.mark.parametrize("game", [TTT, FALLING], ids=["tic-tac-toe", "4x3-3"])
@settings(max_examples=8)
@given(data=st.data())
def test_the_regrets_of_a_game_add_up_to_how_it_ended(game: KInARow, data: st.DataObject) -> None:
    """The value of the start, less one's own regrets, plus the other side's, is the end: told by another solver."""
    positions = data.draw(playouts(game))
    oracle = oracle_of(game)
    score = oracle.score("." * game.cells)
    value = sign(score)
    for position, after in itertools.pairwise(positions):
        mover = 1 if position.seat == 0 else -1
        regret = move_regret(position, after.moves[-1])
        assert regret.score is not None and regret.score >= 0 <= regret.outcome <= 2
        value -= mover * regret.outcome
        score -= mover * regret.score
    last = positions[-1]
    board = "".join(".XO"[stone] for stone in last.to_array().ravel())
    ended = oracle.score(board) * (1 if last.seat == 0 else -1)
    assert (value, score) == (sign(ended), ended)


def test_a_win_that_comes_later_costs_score_alone() -> None:
    position = Position.from_moves(C4, "475774457522754657214321516462111")
    scores = solve(position).action_scores
    quick, slow = max(score for score in scores if score), min(score for score in scores if score)
    assert [move_regret(position, a) for a in position.legal_actions] == [
        Regret(sign(quick) - sign(score), quick - score) for score in scores if score is not None
    ]
    assert slow < 0 < quick  # there is a mistake among them


def test_an_illegal_move_is_worse_than_every_legal_one() -> None:
    for game in (TTT, FALLING):
        for position in playout(game, 3)[:-1]:
            worst = max(move_regret(position, action) for action in position.legal_actions)
            lost = move_regret(position, None)
            assert lost.outcome >= worst.outcome and lost.score is not None and worst.score is not None
            assert lost.score >= worst.score and lost.outcome == sign(solve(position).score) + 1
            assert move_regret(position, game.num_actions) == move_regret(position, -1) == lost


def test_the_outcome_alone_is_the_same_and_limits_hold() -> None:
    for position in playout(TTT, 8)[:-1]:
        for action in (*position.legal_actions, None):
            assert move_regret(position, action, weak=True) == (move_regret(position, action).outcome, None)
    with pytest.raises(NotProven):
        move_regret(Position.from_moves(C4, "44"), 3, Solver(C4, opening_book=False), time_limit=0)
    with pytest.raises(NotProven):
        move_regret(Position.from_moves(C4, "44"), 3, Solver(C4, opening_book=False), weak=True, time_limit=0)
    for weak in (False, True):
        with pytest.raises(ValueError, match="finished position"):
            move_regret(Position.from_moves(TTT, "14253"), 5, weak=weak)
        with pytest.raises(ValueError, match="cannot solve"):
            move_regret(Position.from_moves(TTT, "1"), 4, Solver(C4), weak=weak)
