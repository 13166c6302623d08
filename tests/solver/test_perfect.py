"""The perfect player, its errors, and what it does when time runs out."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import playout
from oracle import Hurried

from tictac_env.arena import exploitability
from tictac_env.games import GAMES
from tictac_env.policies import check_policy, make_policy
from tictac_env.position import Position
from tictac_env.solver import Solver
from tictac_env.solver.enumerate import tabulate
from tictac_env.solver.perfect import Perfect

TIC_TAC_TOE = GAMES["TicTacToe-v0"]


def test_it_plays_the_best_scores_of_the_table_of_all_positions() -> None:
    table = tabulate(TIC_TAC_TOE)
    perfect = make_policy("perfect", TIC_TAC_TOE)
    assert isinstance(perfect, Perfect)
    for (own, opp), row in list(table.index.items())[::7]:
        position = Position(TIC_TAC_TOE, own, opp)
        if position.is_over:
            continue
        scores = table.action_scores([row])[0]
        assert perfect.best_actions(position) == tuple(np.flatnonzero(scores == scores.max()))
        assert perfect.act(position, 5) == perfect.best_actions(position)[5 % len(perfect.best_actions(position))]


def test_it_cannot_be_exploited() -> None:
    found = exploitability(make_policy("perfect", TIC_TAC_TOE))
    assert found.nash_conv == 0


@pytest.mark.parametrize("name", ["perfect", "perfect:0.3", "perfect:1"])
def test_it_keeps_the_promises_of_a_policy(name: str) -> None:
    check_policy(make_policy(name, TIC_TAC_TOE), TIC_TAC_TOE)


def test_errors_are_as_frequent_as_asked_and_never_lose_at_once() -> None:
    position = Position.from_moves("ConnectFour-v0", "2252576253462244111563365343671")
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
    lost = Position.from_moves("ConnectFour-v0", "443355")
    after = lost.play(1)  # X threatens on both sides
    assert Perfect(1).safe_actions(after) == after.legal_actions


def test_a_time_limit_gives_a_legal_move_in_time() -> None:
    policy = Perfect(time_limit=0.05, solver=Solver(table_megabytes=4, opening_book=False))
    position = Position.from_moves("ConnectFour-v0", "4")
    assert policy.act(position, 0) in position.legal_actions
    assert policy.probabilities(position) is None
    late = playout(GAMES["ConnectFour-v0"], 3, 25)[-1]
    assert late.is_over or policy.best_actions(late) == Perfect().best_actions(late)


def test_out_of_time_it_takes_the_best_that_is_proven() -> None:
    """A sure draw rather than what may be a win or a loss; of two sure draws the one that may be a win."""
    position = Position.from_moves("TicTacToe-v0", "152489")
    for known, best in (
        ({2: (0, 0), 5: (-3, 5), 6: (-2, -2)}, (2,)),
        ({2: (0, 0), 5: (0, 5), 6: (-2, -2)}, (5,)),
    ):
        assert Perfect(time_limit=1, solver=Hurried(known)).best_actions(position) == best


@pytest.mark.parametrize("name", ["perfect:2", "perfect:-0.1", "perfect:often", "perfect:nan"])
def test_bad_arguments_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"the error of 'perfect' must be a number in \[0, 1\]"):
        make_policy(name, TIC_TAC_TOE)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_positions_have_the_best_actions_of_each(threads: int) -> None:
    """Those that are over too, which have none."""
    solver = Solver("ConnectFour-v0", threads=threads)
    positions = [position for seed in range(6) for position in playout(solver.game, seed)[24:]]
    together = solver.best_actions_many(positions)
    assert together == [solver.solve(position).best_actions for position in positions]
    assert () in together and solver.best_actions_many([]) == []
