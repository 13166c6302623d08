"""How soon won positions are won and how long lost ones are held: by definition, and by play against a brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tictac_env.arena import resistance, suite
from tictac_env.arena.endurance import NoWonPositions
from tictac_env.arena.suites import Suite, all_positions
from tictac_env.policies import Policy, make_policy
from tictac_env.position import IllegalMove, Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import position_seed
from tictac_env.solver.enumerate import GameTable, tabulate

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"


def late() -> Suite:
    """Positions of Connect Four that take the solver no time."""
    found = suite("C4-Choose-v1")
    rows = np.flatnonzero(found.plies >= 18)
    some = PositionBatch(found.game, found.positions.own[rows], found.positions.opp[rows])
    return Suite("late", some, found.scores[rows])


class ByTable(Policy):
    """Plays by the tabulated game: as well as can be, or as badly."""

    def __init__(self, table: GameTable, best: bool) -> None:
        self.table, self.best = table, best
        self.name = "best" if best else "worst"

    def act(self, position: Position, seed: int) -> int:
        scores = self.table.action_scores([self.table.index[position.own, position.opp]])[0].tolist()
        legal = position.legal_actions
        return (max if self.best else min)(legal, key=lambda action: scores[action])


def stones_left(table: GameTable, position: Position, mine: bool) -> int:
    """How many stones a side places in best play: of the winner's and the loser's, by following one line of it."""
    best, count, turn = ByTable(table, True), 0, mine
    while not position.is_over:
        count += turn
        turn = not turn
        position = position.play(best.act(position, 0))
    return count


def test_perfect_play_has_all_of_it() -> None:
    for positions in ("TTT-Exact-v1", late()):
        found = resistance("perfect", positions, sample=9)
        for rates in (found.overall, *found.by_phase.values()):
            assert (rates.wins.value, rates.speed.value, rates.resistance.value) == (1, 1, 1)


@pytest.mark.parametrize("name", ["best", "worst"])
def test_the_rates_are_those_of_games_played_by_the_table(name: str) -> None:
    """The same positions, played on by a table instead of the solver; what is equally good may be played otherwise."""
    positions = suite("TTT-Exact-v1")
    table = tabulate(positions.game)
    policy = ByTable(table, name == "best")
    found = resistance(policy, positions, sample=3_000)
    rows = [
        row
        for row, scores in enumerate(positions.scores.tolist())
        if max(scores) > 0 and stones_left(table, positions.positions[row], True) >= 3
    ]
    assert found.overall.positions == len(rows) > 50
    if name == "best":
        assert found.overall.wins.value == found.overall.resistance.value == 1
        return
    held = []
    for row in rows:
        position = positions.positions[row]
        best = stones_left(table, position, True) - 1
        # The worst loser is beaten as soon as it can be, whichever best moves the winner takes.
        position, stones = position.play(ByTable(table, True).act(position, 0)), 0
        while not position.is_over:
            position, stones = position.play(policy.act(position, 0)), stones + 1
            position = position.play(ByTable(table, True).act(position, 0))
        held.append(stones / best)
    assert found.overall.wins.value == found.overall.speed.value == 0
    assert found.overall.resistance.value == pytest.approx(np.mean(held), abs=0.02)


def test_stronger_players_have_more_of_each() -> None:
    rates = [resistance(name, late(), sample=36).overall for name in ("random", "rule", "mcts:200")]
    for below, above in itertools.pairwise(rates):
        assert above.resistance.value > below.resistance.value
        assert above.wins.value >= above.speed.value
    assert rates[2].wins.value > rates[0].wins.value
    assert rates[0].resistance.value == rates[0].resistance.random
    assert [rate.positions for rate in rates] == [24] * 3  # there is no opening


def test_the_seed_draws_the_positions_and_nothing_else_does() -> None:
    found = [resistance("rule", late(), sample=6, seed=seed) for seed in (0, 0, 1)]
    assert found[0] == found[1] and found[0].overall != found[2].overall
    assert {rates.positions for rates in found[0].by_phase.values()} == {2}


def test_policies_that_draw_are_judged_as_a_fixed_map() -> None:
    asked: list[tuple[int, int]] = []

    class Drawing(Policy):
        def act(self, position: Position, seed: int) -> int:
            asked.append((seed, position_seed(position.own, position.opp, 5)))
            return position.legal_actions[seed % len(position.legal_actions)]

    resistance(Drawing(), "TTT-Exact-v1", sample=9, seed=5)
    assert asked and all(seed == derived for seed, derived in asked)


def test_wrong_arguments_and_illegal_moves_are_named() -> None:
    with pytest.raises(ValueError, match="sample must be at least 3, not 2"):
        resistance("rule", "TTT-Exact-v1", sample=2)
    found = all_positions(TTT)
    late = np.flatnonzero(found.plies >= 7)
    some = PositionBatch(found.game, found.positions.own[late], found.positions.opp[late])
    with pytest.raises(NoWonPositions, match="late has no position that is won with 3 stones"):
        resistance("rule", Suite("late", some, found.scores[late]))

    class Stuck(Policy):
        def act(self, position: Position, seed: int) -> int:
            return 0

    with pytest.raises(IllegalMove, match="Stuck chose action 0, illegal here"):
        resistance(Stuck(), "TTT-Exact-v1", sample=300)


def test_what_is_printed_says_where_and_how_sure() -> None:
    text = str(resistance(make_policy("rule", TTT), "TTT-Exact-v1", sample=30))
    assert text.startswith("rule on TTT-Exact-v1\n  all: ") and "resistance" in text and "opening" in text
