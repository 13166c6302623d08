"""Many positions at once: played on, judged and told apart as each by itself."""

from __future__ import annotations

import numpy as np
from conftest import playout
from hypothesis import given
from hypothesis import strategies as st

from tictac_env.games import GAMES, Game
from tictac_env.position_batch import PositionBatch


def test_each_position_is_played_on_as_by_itself(game: Game) -> None:
    positions = [position for seed in range(3) for position in playout(game, seed)[:-1]]
    moves = [(position, action) for position in positions for action in position.legal_actions]
    batch = PositionBatch.of([position for position, _ in moves])
    before = batch.own.copy(), batch.opp.copy()
    after = batch.play(np.array([action for _, action in moves]))
    expected = [position.play(action) for position, action in moves]
    assert (after.own.dtype, after.opp.dtype) == (np.int64, np.int64)
    assert [(after[i].own, after[i].opp) for i in range(len(after))] == [(p.own, p.opp) for p in expected]
    assert after.results().tolist() == [position.result for position in expected]
    assert (batch.own == before[0]).all() and (batch.opp == before[1]).all()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_distinct_positions_come_in_the_order_in_which_they_were_met(stones: list[tuple[int, int]]) -> None:
    own, opp = np.array(stones, np.int64).T
    distinct, which = PositionBatch(GAMES["TicTacToe-v0"], own, opp).distinct()
    found = list(zip(distinct.own.tolist(), distinct.opp.tolist(), strict=True))
    assert found == list(dict.fromkeys(stones))
    assert [found[i] for i in which] == stones


def test_batches_are_joined_in_their_order(game: Game) -> None:
    one, two = (PositionBatch.of(playout(game, seed)) for seed in (1, 2))
    joined = PositionBatch.joined([one, two])
    assert joined.own.tolist() == [*one.own.tolist(), *two.own.tolist()]
    assert joined.where(slice(len(one), None)).opp.tolist() == two.opp.tolist()
