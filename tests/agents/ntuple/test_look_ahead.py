"""N-tuple networks that look ahead: so many plies, always with the same result, or for so long."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from tests.agents.ntuple.test_ntuple_network import GAMES, positions
from tictac_agents import NTupleNetwork
from tictac_agents.ntuple.search import answer, begin, deepen, look_for, new_search
from tictac_env.games import game_name
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.policies import make_policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.solver import solve

LONG = 60_000
"""Milliseconds; no search here needs nearly as many."""


@pytest.fixture(params=GAMES)
def network(request: pytest.FixtureRequest) -> NTupleNetwork:
    return NTupleNetwork.shipped(request.param)


def name_of(network: NTupleNetwork) -> str:
    return game_name(network.game) or ""


def some(network: NTupleNetwork, least: int, most: int, number: int) -> list[Position]:
    """Unfinished positions with `least` to `most` empty cells."""
    found = positions(name_of(network), 400, seed=least)
    empty = [one.game.cells - (one.own | one.opp).bit_count() for one in found]
    return [one for one, cells in zip(found, empty, strict=True) if least <= cells <= most][:number]


def test_a_search_of_plies_does_not_depend_on_what_was_searched_before(network: NTupleNetwork) -> None:
    ahead = network.looking_ahead(6)
    batch = PositionBatch.of(positions(name_of(network), 60, seed=3))
    alone = [ahead.act(batch[i], seed=i) for i in range(60)]
    assert ahead.act_many(batch, np.zeros(60, np.int64)).tolist() == alone
    backwards = PositionBatch.of([batch[i] for i in reversed(range(60))])
    assert ahead.act_many(backwards, np.zeros(60, np.int64)).tolist() == alone[::-1]


@pytest.mark.parametrize("exact", [True, False])
def test_a_search_that_pauses_anywhere_or_forgets_most_finds_the_same(network: NTupleNetwork, exact: bool) -> None:
    game, tables = network.game, network.compiled(network.game)
    for position in some(network, 5, 30, 4):
        found = []
        for rows, nodes in ((1 << 14, 1 << 60), (1 << 14, 1), (16, 1 << 60)):
            search = new_search(game, rows, exact, timed=False)
            begin(game, tables, search, position.own, position.opp)
            pauses = 0
            while not deepen(game, tables, search, 6, nodes):
                pauses += 1
            assert (pauses > 5) == (nodes == 1)
            scores = np.empty(game.num_actions, np.int64)
            action = answer(game, search, scores)
            found.append((action, scores.tolist() if exact else max(scores)))
        assert found[1:] == found[:1] * 2


def test_with_time_enough_it_plays_on_as_well_as_can_be(network: NTupleNetwork) -> None:
    """It finds every forced win, and never lets one slip or opens one."""
    ahead = network.looking_ahead(milliseconds=LONG)
    for position in some(network, 1, 12, 25):
        worth = solve(position).action_scores
        values = {action: np.sign(worth[action] or 0) for action in position.legal_actions}
        assert values[ahead.act(position, 0)] == max(values.values()), position
        found = ahead.values(position.own, position.opp)
        assert set(found) == set(position.legal_actions)
        if max(values.values()) == 1:
            assert max(found.values()) == 1


def test_it_wins_deep_in_the_game_what_takes_many_moves() -> None:
    position = Position.from_moves("ConnectFour-v0", "444441")  # won, with seven stones more
    best = solve(position)
    assert best.score > 0
    action = make_policy("ntuple:200ms", "ConnectFour-v0").act(position, 0)
    assert (best.action_scores[action] or 0) > 0


def test_a_search_looks_at_the_clock_until_its_time_is_over() -> None:
    network = NTupleNetwork.shipped("ConnectFour-v0")

    def look(clock_ms: float, limit_ms: float) -> int:
        """How often it looks at a clock that goes on by so much each time."""
        ticks = count()
        batch = PositionBatch.of([Position.start("ConnectFour-v0")])
        tables = network.compiled(network.game)
        arguments = (network.game, tables, batch.own, batch.opp, limit_ms, False)
        look_for(*arguments, clock=lambda: next(ticks) * clock_ms / 1000)
        return next(ticks)

    assert look(1, 4.5) == 6  # when it begins, and until 5 ms are over
    assert look(10, 4.5) == 2


@pytest.mark.slow
def test_it_plays_a_board_of_many_cells_to_the_end() -> None:
    game = KInARow.make(6, 6, 5, gravity=False)
    network = NTupleNetwork(game, [[0, 1]], np.arange(32, dtype=np.int32), milliseconds=1)
    position = Position.start(game)
    while not position.is_over:
        position = position.play(network.act(position, 0))


@pytest.mark.parametrize("argument", ["100ms", "0.5ms", "1ms"])
def test_a_name_says_how_long_it_searches(argument: str, network: NTupleNetwork) -> None:
    policy = make_policy(f"ntuple:{argument}", network.game)
    assert isinstance(policy, NTupleNetwork)
    assert (policy.name, policy.milliseconds) == (f"ntuple:{argument}", float(argument[:-2]))
    assert f"{argument[:-2]} ms" in policy.budget
    assert policy.rounded(8).name == policy.name
    assert policy.looking_ahead(3).name == "ntuple:3"
    assert policy.looking_ahead().name == "ntuple"


def test_wrong_names_and_times_are_refused() -> None:
    wrong = "0", "21", "x", "0ms", "-1ms", "1e3ms", "ms", "1.ms", "99999999999ms", "100 ms", "10s", "²ms"
    for argument in wrong:
        with pytest.raises(ValueError, match="the plies of 'ntuple'"):
            make_policy(f"ntuple:{argument}", "TicTacToe-v0")
    network = NTupleNetwork.shipped("TicTacToe-v0")
    for wrong_time in (0, -1, 2e9, True, "100"):
        with pytest.raises(ValueError, match="milliseconds"):
            network.looking_ahead(milliseconds=wrong_time)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"give plies \(2\) or milliseconds \(5\), not both"):
        network.looking_ahead(2, milliseconds=5)
