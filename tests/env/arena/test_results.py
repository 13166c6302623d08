"""Results against opponents: exact where every game is followed, sampled and called so where there are too many."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import HEX, breadth, playout, title
from oracle import Oracle
from test_exact import FixedMap, cells, chances_of, numbers, page

from tictac_env.arena import SeatResult, exact_results, results, verdict
from tictac_env.games import LOST, Game, KInARow, get_game
from tictac_env.policies import Policy, RandomPolicy, make_policy
from tictac_env.policies.pool import Mixture
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.solver import players
from tictac_env.solver.players import Minimax, MinimaxFirst, Perfect

SMALL_GAMES = breadth(
    [KInARow.make(3, 4, 3, gravity=True), KInARow.make(2, 4, 3, gravity=False)],
    [get_game("TicTacToe-v0"), KInARow.make(4, 4, 3, gravity=True), KInARow.make(4, 2, 2, gravity=True), HEX],
)
small_games = pytest.mark.parametrize("game", SMALL_GAMES, ids=title)


class PerfectThatPlaysOn(Perfect):
    """Perfect play that does not know when it has won, so that its games are followed to the last stone."""

    def sure_wins(self, batch: Any) -> npt.NDArray[np.bool_]:
        return Policy.sure_wins(self, batch)


@pytest.mark.parametrize("game", [game for game in SMALL_GAMES if isinstance(game, KInARow)], ids=title)
@pytest.mark.parametrize("names", [("rule", "random"), ("fixed", "perfect"), ("perfect:0.3", "fixed")], ids=" v ".join)
def test_results_equal_a_brute_force_walk_through_every_game(game: KInARow, names: tuple[str, str]) -> None:
    """By rules, boards and sums written apart from the package."""
    truth = Oracle(game)
    sides = [FixedMap() if name == "fixed" else make_policy(name, game) for name in names]
    one, two = (chances_of(side, truth) for side in sides)
    found = exact_results(*sides, game)
    assert found.as_first.exact and found.as_second.exact
    assert tuple(found.as_first.shares) == pytest.approx(truth.expected(one, two))
    assert tuple(found.as_second.shares) == pytest.approx(truth.expected(two, one)[::-1])
    if not any(isinstance(side, Perfect) and not side.error for side in sides):  # it stops where it is sure to win
        assert found.as_first.plies == pytest.approx(sum(truth.expected(one, two, truth.stones)))
        assert found.as_second.plies == pytest.approx(sum(truth.expected(two, one, truth.stones)))


@small_games
@pytest.mark.parametrize("name", breadth(["random", "rule", "level:5", "fixed"], ["minimax:2"]))
def test_results_are_those_of_the_verdict_where_there_is_one(game: Game, name: str) -> None:
    policy = FixedMap() if name == "fixed" else make_policy(name, game)
    full = verdict(policy, game, seed=3)
    for opponent, of_seat in (
        ("random", "random"),
        (Minimax(), "perfect"),
        (MinimaxFirst(), "minimax_first"),
    ):  # exact values
        found = exact_results(policy, opponent, game, seed=3)
        assert found.basis == full.basis and found.exact
        for seat in ("as_first", "as_second"):
            shares = getattr(getattr(full, seat), f"against_{of_seat}")
            result: SeatResult = getattr(found, seat)
            assert tuple(result.shares) == pytest.approx(tuple(shares))
            assert result.intervals == tuple((share, share) for share in result.shares)


class Failing(FixedMap):
    """Fails in a quarter of the positions."""

    def act(self, position: Position, seed: int) -> int:
        if (position.own ^ position.opp) % 4 == 3:
            raise RuntimeError("not this one")
        return super().act(position, seed)


class Resigning(FixedMap):
    """Says in the same positions that it has no move."""

    forfeits = True

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.where((batch.own ^ batch.opp) % 4 == 3, -1, super().act_many(batch, seeds))


@small_games
@pytest.mark.parametrize("limits", [{}, {"max_positions": 20, "games": 200}], ids=["followed", "sampled"])
def test_a_side_that_fails_loses_the_games_that_lead_there_and_no_others(game: Game, limits: dict[str, int]) -> None:
    for opponent in (RandomPolicy(), Failing()):
        other = Resigning() if isinstance(opponent, Failing) else opponent
        failing, resigning = (
            exact_results(one, two, game, **limits) for one, two in ((Failing(), opponent), (Resigning(), other))
        )
        for seat in ("as_first", "as_second"):
            result: SeatResult = getattr(failing, seat)
            assert dataclasses.replace(result, forfeits=()) == getattr(resigning, seat)
            for forfeit in result.forfeits:
                assert forfeit.player == "Failing" and forfeit.why.startswith(
                    "RuntimeError: not this one (test_results"
                )
                position = Position.from_moves(game, forfeit.moves)
                assert (position.own ^ position.opp) % 4 == 3
        # Random play leads to a quarter of all positions; the one game of two fixed maps may avoid them.
        assert failing.as_first.forfeits or failing.as_second.forfeits or other is not opponent


@small_games
@pytest.mark.parametrize("name", ["random", "rule", "perfect", "fixed"])
def test_a_sure_win_counts_as_the_win_it_becomes(game: Game, name: str) -> None:
    policy = FixedMap() if name == "fixed" else make_policy(name, game)
    short, long = (exact_results(policy, opponent, game) for opponent in (Perfect(), PerfectThatPlaysOn()))
    for seat in ("as_first", "as_second"):
        found, expected = getattr(short, seat), getattr(long, seat)
        assert tuple(found.shares) == pytest.approx(tuple(expected.shares))
        assert found.positions <= expected.positions and found.plies <= expected.plies + 1e-9


def test_a_game_is_decided_where_perfect_play_is_to_move_and_wins() -> None:
    """Two in a row are won by whoever begins, so after no ply at all, or after a first move that gives it away."""
    found = exact_results("perfect", "random", KInARow.make(2, 4, 2, gravity=True))
    assert (found.as_first.plies, found.as_first.positions) == (0, 1)
    assert found.as_second.plies > 1


def test_only_who_makes_no_errors_is_sure_to_win() -> None:
    """Nor does a class inherit it that plays otherwise."""

    class Careless(Perfect):
        def act(self, position: Position, seed: int) -> int:
            return position.legal_actions[0]

    won = PositionBatch.of([Position.from_moves("TicTacToe-v0", "1425"), Position.from_moves("TicTacToe-v0", "1")])
    assert Perfect().sure_wins(won).tolist() == [True, False]
    for policy in (Perfect(0.1), Perfect(time_limit=1), Careless(), RandomPolicy()):
        assert not policy.sure_wins(won).any()


def test_connect_four_is_judged_by_results_against_perfect_play() -> None:
    """Which wins all its games as the first player: it is the first player's game."""
    found = exact_results("rule")
    assert found.exact and (found.opponent, found.game) == ("perfect", "ConnectFour-v0")
    assert found.as_second.shares == (0, 0, 1)
    assert exact_results("perfect").as_first.shares == (1, 0, 0)
    read = json.loads(json.dumps(dataclasses.asdict(found)))  # a record of it is JSON
    assert (read["basis"], read["opponent_basis"]) == ("probabilities", "probabilities")
    assert read["as_second"]["shares"] == [0, 0, 1]


def test_what_is_shown_has_the_numbers_of_both_seats() -> None:
    for limits, known in (({"max_positions": 30, "games": 200}, "sampled, 200 games"), ({}, "exact")):
        found = exact_results("random", "rule", "TicTacToe-v0", **limits)  # type: ignore[arg-type]
        root = page(found)
        assert [[*row[:2], row[5]] for row in cells(root)[1:]] == [
            ["rule", seat, known] for seat in ("first", "second")
        ]
        assert numbers(str(found)) <= numbers(" ".join(root.itertext()))
        assert str(found).startswith("random (probabilities) on TicTacToe-v0:\n  v rule as first: ")


def test_sampled_results_are_called_so_and_hold_the_exact_ones() -> None:
    """In 30 samples the 95 % intervals miss each share a few times, and not more."""
    game = KInARow.make(3, 4, 3, gravity=True)
    exact = exact_results("random", "rule", game).as_first
    assert exact.exact and "exact" in str(exact) and "sampled" not in str(exact)
    first, again, other = (exact_results("random", "rule", game, seed, max_positions=100) for seed in (1, 1, 2))
    assert first == again != other
    missed = np.zeros(3)
    for seed in range(30):
        found = exact_results("random", "rule", game, seed=seed, max_positions=100, games=200).as_first
        assert found.games == 200 and not found.exact and "sampled (200 games)" in str(found)
        assert sum(found.shares) == pytest.approx(1)
        missed += [not low <= share <= high for share, (low, high) in zip(exact.shares, found.intervals, strict=True)]
        assert all(low <= share <= high for share, (low, high) in zip(found.shares, found.intervals, strict=True))
    assert (missed <= 5).all() and missed.sum() > 0


def test_only_unlikely_positions_are_left_to_the_sample_if_one_wants() -> None:
    """So more is known than from a sample of as many games; in 30 samples the intervals miss a few times."""
    game = KInARow.make(3, 4, 3, gravity=True)
    exact = exact_results("random", "rule", game).as_first
    plain = exact_results("random", "rule", game, max_positions=100, games=200).as_first
    assert exact.followed == 1 and exact == exact_results("random", "rule", game, min_chance=1e-9).as_first
    assert plain.followed < 0.9
    missed = np.zeros(3)
    for seed in range(30):
        found = exact_results("random", "rule", game, seed=seed, games=200, min_chance=1e-3).as_first
        assert found.games == 200 and not found.exact
        assert 0.9 < found.followed < 1
        assert sum(found.shares) == pytest.approx(1)
        assert found.plies == pytest.approx(exact.plies, abs=0.1)
        for share, (low, high), (least, most) in zip(found.shares, found.intervals, plain.intervals, strict=True):
            assert low <= share <= high and high - low <= 1 - found.followed and high - low < most - least
        missed += [not low <= share <= high for share, (low, high) in zip(exact.shares, found.intervals, strict=True)]
    assert (missed <= 5).all() and missed.sum() > 0


@pytest.mark.parametrize("name", ["random", "rule", "perfect", "perfect:0.2", "minimax:2", "level:4", "pool"])
@pytest.mark.parametrize("game", ["TicTacToe-v0", "ConnectFour-v0"])
def test_probabilities_of_many_positions_are_those_of_each(name: str, game: str) -> None:
    rules = get_game(game)
    policy = Mixture(["rule", "perfect:0.5"], [1, 3]) if name == "pool" else make_policy(name, rules)
    least = 0 if rules.cells < 12 else 22
    positions = [p for seed in range(8) for p in playout(rules, seed)[least:-1]]
    together = policy.probabilities_many(PositionBatch.of(positions))
    assert together is not None and together.dtype == np.float64
    assert together == pytest.approx(np.array([policy.probabilities(position) for position in positions]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_positions": 0}, "max_positions"),
        ({"games": 0}, "games"),
        ({"games": 1.5}, "games"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"min_chance": 1.1}, "min_chance"),
        ({"min_chance": float("nan")}, "min_chance"),
        ({"opponent": "perfekt"}, "perfekt"),
        ({"game": "Chess-v0"}, "Chess"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        exact_results("rule", **({"game": "ConnectFour-v0", "opponent": "random"} | given))


@pytest.mark.parametrize("seat", ["as_first", "as_second"])
def test_results_do_not_depend_on_how_many_positions_are_looked_at_together(
    seat: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact and sampled ones alike, by compiled loops and by Python's."""
    before = [exact_results("level:5", "rule", "TicTacToe-v0", seed=2, max_positions=most) for most in (10_000, 60)]
    for name in ("BLOCK", "PIECE", "MANY"):
        monkeypatch.setattr(results, name, 3)
    monkeypatch.setattr(players, "MANY", 3)
    after = [exact_results("level:5", "rule", "TicTacToe-v0", seed=2, max_positions=most) for most in (10_000, 60)]
    for one, other in zip(before, after, strict=True):
        assert tuple(getattr(other, seat).shares) == pytest.approx(tuple(getattr(one, seat).shares), rel=1e-12)
        assert getattr(other, seat).positions == getattr(one, seat).positions


@small_games
def test_safe_moves_are_the_same_by_compiled_loops(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    positions = [position for seed in range(4) for position in playout(game, seed)[:-1]]
    batch = PositionBatch.of(positions)
    plain = players.safe_sets(batch)
    monkeypatch.setattr(players, "MANY", 1)
    assert players.safe_sets(batch).tolist() == plain.tolist()
    for position, safe in zip(positions, plain.tolist(), strict=True):
        after = {action: position.play(action) for action in position.legal_actions}
        harmless = {
            action
            for action, then in after.items()
            if then.is_over or not any(then.play(reply).result == LOST for reply in then.legal_actions)
        }
        assert {action for action in after if safe & game.choice(action)} == (harmless or set(after))
