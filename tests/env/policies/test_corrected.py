"""A player with corrections plays these where they are given, and else as it did."""

from __future__ import annotations

import pytest

from tictac_env.arena import exact_results, prove
from tictac_env.games import get_game
from tictac_env.policies import Corrected, Policy, check_policy, make_policy
from tictac_env.position import IllegalMove, Position, parse_moves
from tictac_env.position_batch import PositionBatch
from tictac_env.solver import Solver

GAME = get_game("TicTacToe-v0")
RULE = make_policy("rule", GAME)


def corrected(corrections: dict[Position, int]) -> Corrected:
    positions = list(corrections)
    batch = PositionBatch.of(positions) if positions else PositionBatch.of([Position.start(GAME)]).where(slice(0))
    return Corrected(RULE, batch, list(corrections.values()))


def error_in(game: str, solver: Solver) -> tuple[Position, int]:
    """The first position of a lost game in which the second player could still have kept from losing, and how."""
    position = Position.start(GAME)
    for action in parse_moves(GAME, game):
        after = position.play(action)
        not_lost = GAME.seat(position.own, position.opp) == 1 and solver.score(position, weak=True) >= 0
        if not_lost and not after.is_over and solver.score(after, weak=True) > 0:
            return position, solver.best_actions(position)[0]
        position = after
    raise AssertionError(game)


def test_corrections_take_a_player_that_is_refuted_to_a_proof() -> None:
    solver, corrections = Solver(GAME), dict[Position, int]()
    while not (proof := prove(corrected(corrections), 1, GAME)).holds:
        position, better = error_in(proof.refutations[0], solver)
        assert position not in corrections
        corrections[position] = better
    assert 1 <= len(corrections) < 100
    player = corrected(corrections)
    check_policy(player, GAME)
    for position, action in corrections.items():
        assert player.act(position, 3) == action
        chances = player.probabilities(position)
        assert chances is not None and chances[action] == 1


def test_what_is_no_correction_is_an_error() -> None:
    start = Position.start(GAME)
    taken = start.play(4)
    with pytest.raises(IllegalMove, match="a correction chose action 4"):
        Corrected(RULE, PositionBatch.of([start, taken]), [0, 4])
    with pytest.raises(ValueError, match="only 1 are different"):
        Corrected(RULE, PositionBatch.of([start, start]), [0, 4])
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        Corrected(RULE, PositionBatch.of([start, taken]), [0])


class Lowest(Policy):
    def act(self, position: Position, seed: int) -> int:
        return position.legal_actions[0]


def test_a_player_without_probabilities_has_none_in_corrected_positions_either() -> None:
    """So it is judged as a fixed map, though its games lead through both kinds of positions."""
    replies = [Position.from_moves(GAME, f"1{reply}") for reply in "59"]
    player = Corrected(Lowest(), PositionBatch.of(replies), [3, 4])
    assert player.probabilities(replies[0]) is None and player.probabilities_many(PositionBatch.of(replies)) is None
    found = exact_results(player, "random", GAME, progress=False)
    assert found.basis == "fixed map" and found.exact
