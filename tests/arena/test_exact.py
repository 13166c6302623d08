"""The exact measures, against published numbers and against walking every game one by one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from conftest import breadth, title
from oracle import Chances, Oracle

from tictac_env.arena import Verdict, exploitability, play_match, verdict
from tictac_env.games import GAMES, KInARow
from tictac_env.policies import Policy, RandomPolicy, RulePolicy, make_policy
from tictac_env.position import Position
from tictac_env.rng import position_seed
from tictac_env.solver import solve

TRUTH = Oracle(GAMES["TicTacToe-v0"])
GRAVITY = Oracle(KInARow.make(4, 3, 3, gravity=True))
SHORT = Oracle(KInARow.make(3, 3, 2, gravity=True))  # the first player wins
TRUTHS = pytest.mark.parametrize("truth", breadth([TRUTH], [GRAVITY, SHORT]), ids=lambda truth: title(truth.game))


def board_of(position: Position) -> str:
    return "".join(".XO"[mark] for mark in position.to_array().reshape(-1))


class FixedMap(Policy):
    """Draws among the legal actions, and does not say how: judged with the seed of each position."""

    def act(self, position: Position, seed: int) -> int:
        return position.legal_actions[seed // 3 % len(position.legal_actions)]


def chances_of(policy: Policy, truth: Oracle, seed: int = 0) -> Chances:
    """A policy as a player of `truth`."""

    def chances(board: str) -> dict[int, float]:
        position = truth.position(board)
        known = policy.probabilities(position)
        if known is not None:
            return {action: float(chance) for action, chance in enumerate(known) if chance}
        return {policy.act(position, position_seed(position.own, position.opp, seed)): 1.0}

    return chances


def check_verdict(found: Verdict, truth: Oracle, player: Chances) -> None:
    """Every number of a verdict, against a walk through all games."""
    for mark, sign, seat in (("X", 1, found.as_first), ("O", -1, found.as_second)):
        for share, replies in (
            (seat.against_random, truth.uniform),
            (seat.against_best, truth.uniform_best),
            (seat.against_first_best, truth.first_best),
        ):
            sides = (player, replies) if mark == "X" else (replies, player)
            assert tuple(share) == pytest.approx(truth.expected(*sides)[::sign])
        sides = (player, truth.uniform) if mark == "X" else (truth.uniform, player)
        won, plies = (truth.expected(*sides, worth)[::sign][0] for worth in (lambda board: 1.0, truth.stones))
        assert seat.plies_to_win == pytest.approx(plies / won)
        games = truth.games_of(player, mark)
        winners = [winner for _, winner in games]
        other = "O" if mark == "X" else "X"
        assert tuple(seat.lines) == (winners.count(mark), winners.count(None), winners.count(other))
        lost = sorted((len(actions), actions) for actions, winner in games if winner == other)
        assert seat.infallible == (not lost)
        assert seat.losing_line == ("".join(str(action + 1) for action in lost[0][1]) if lost else None)
        assert seat.gain == pytest.approx(truth.best_reply(player, mark) + sign * truth.value(truth.start))


@TRUTHS
@pytest.mark.parametrize("name", ["rule", "minimax", "minimax-first", "minimax-first:2"])
def test_a_verdict_equals_a_walk_through_every_game(truth: Oracle, name: str) -> None:
    policy = make_policy(name, truth.game)
    found = verdict(policy, truth.game)
    assert found.basis == "probabilities"
    check_verdict(found, truth, chances_of(policy, truth))


@TRUTHS
@pytest.mark.parametrize("seed", [0, 1])
def test_the_verdict_of_a_fixed_map_equals_a_walk_through_every_game(truth: Oracle, seed: int) -> None:
    found = verdict(FixedMap(), truth.game, seed=seed)
    assert found.basis == "fixed map"
    check_verdict(found, truth, chances_of(FixedMap(), truth, seed))


def test_the_seed_chooses_the_fixed_map() -> None:
    assert verdict(FixedMap(), seed=0) == verdict(FixedMap(), seed=0)
    assert verdict(FixedMap(), seed=0) != verdict(FixedMap(), seed=1)
    assert verdict("minimax", seed=0) == verdict("minimax", seed=1)  # judged by its probabilities


def test_random_against_random_has_the_published_shares() -> None:
    found = verdict("random")
    assert tuple(found.as_first.against_random) == pytest.approx((0.58492, 0.12698, 0.28810), abs=5e-6)
    assert tuple(found.as_second.against_random) == pytest.approx((0.28810, 0.12698, 0.58492), abs=5e-6)
    assert tuple(found.as_first.lines) == (131_184, 46_080, 77_904)
    assert tuple(found.as_second.lines) == (77_904, 46_080, 131_184)


def test_uniform_play_has_the_known_nash_conv() -> None:
    found = exploitability("random")
    assert found.nash_conv == pytest.approx(1.91966, abs=5e-6)
    assert float(found) == pytest.approx(0.95983, abs=5e-6)
    assert verdict("random").exploitability == pytest.approx(float(found))
    assert found == exploitability(RandomPolicy(), "TicTacToe-v0")


@pytest.mark.parametrize("name", ["minimax", "minimax-first", "minimax-first:9"])
def test_minimax_is_infallible(name: str) -> None:
    found = verdict(name)
    assert found.infallible and found.as_first.infallible and found.as_second.infallible
    assert found.exploitability == 0 == float(exploitability(name))
    assert found.as_first.losing_line is None and found.as_second.losing_line is None
    assert found.as_first.against_best == (0, pytest.approx(1), 0)
    assert "infallible" in str(found)


def test_minimax_first_wins_more_against_random_than_minimax() -> None:
    assert verdict("minimax-first").as_first.against_random.wins == pytest.approx(0.99479, abs=5e-6)
    assert verdict("minimax").as_first.against_random.wins < 0.97


def test_the_words_of_a_verdict_are_explained_below_it() -> None:
    assert "probabilities: over all draws" in str(verdict("minimax")).splitlines()[-1]
    legend = str(verdict(FixedMap())).splitlines()[-1]
    assert "fixed map: one move in each position" in legend and "v best: " in legend
    assert str(verdict("rule", opponents=["random"])).splitlines()[-1].startswith("  probabilities: ")


@pytest.mark.parametrize("game", ["KInARow-v0:3x3-2,gravity=True", "TicTacToe-v0"])
@pytest.mark.parametrize("player", [RandomPolicy(), RulePolicy(), FixedMap()], ids=["random", "rule", "map"])
def test_the_move_that_lost_is_named(player: Policy, game: str) -> None:
    """Before it the seat does not lose against perfect play, after it and from there on it does."""
    for seat, found in enumerate((verdict(player, game).as_first, verdict(player, game).as_second)):
        if found.losing_line is None:
            assert found.given_away is None
            continue
        line = Position.from_moves(game, found.losing_line).moves
        scores = [solve(Position.from_moves(game, line[:ply])).score for ply in range(len(line) + 1)]
        lost = [score < 0 if ply % 2 == seat else score > 0 for ply, score in enumerate(scores)]
        if all(lost):
            assert found.given_away is None
            continue
        ply = max(ply for ply in range(seat, len(line), 2) if not lost[ply] and lost[ply + 1])
        assert all(lost[ply + 1 :])
        values = [None if s is None else np.sign(s) for s in solve(Position.from_moves(game, line[:ply])).action_scores]
        best = max(value for value in values if value is not None)
        played, *others = (str(a + 1) for a in (line[ply], *(a for a, value in enumerate(values) if value == best)))
        assert found.given_away == f"given away at ply {ply + 1}: {played}, better {', '.join(others)}"


class Blunder(Policy):
    """Minimax, but for one reply: to the centre it answers at the side."""

    def act(self, position: Position, seed: int) -> int:
        if board_of(position) == "....X....":
            return 1
        return make_policy("minimax-first").act(position, seed)


def test_one_blunder_is_found_and_proved() -> None:
    found = verdict(Blunder())
    assert found.as_first.infallible and not found.as_second.infallible and not found.infallible
    assert (found.as_first.gain, found.as_second.gain, found.exploitability) == (0, 1, 0.5)
    line = found.as_second.losing_line
    told = "given away at ply 2: 2, better 1, 3, 7, 9"
    assert found.as_second.given_away == told and found.as_first.given_away is None
    assert line is not None and line.startswith("52") and f"beaten by {line} ({told})" in str(found)
    position = Position.start("TicTacToe-v0")
    for action in Position.from_moves("TicTacToe-v0", line).moves:
        if position.seat == 1:
            assert Blunder().act(position, position_seed(position.own, position.opp, 0)) == action
        position = position.play(action)
    assert position.outcome is not None and position.outcome.winner == 0


def test_gains_are_counted_from_the_value_of_the_game() -> None:
    """Where the first player wins by force, to lose as second gives nothing away."""
    assert SHORT.value(SHORT.start) == 1
    best = exploitability("minimax", SHORT.game)
    assert best.nash_conv == 0
    found = verdict("minimax", SHORT.game)
    assert found.as_first.infallible and not found.as_second.infallible
    assert found.as_first.against_random == (pytest.approx(1), 0, 0)
    assert 0 < exploitability("random", SHORT.game).first <= 2


def test_exact_shares_lie_where_a_long_match_says() -> None:
    found = verdict(RulePolicy())
    match = play_match("rule", "random", games=6000, seed=1)
    for seat, tally in ((found.as_first, match.as_first), (found.as_second, match.as_second)):
        for share, count in zip(seat.against_random, tally, strict=True):
            low, high = tally.interval(count, 0.9999)
            assert low <= share <= high


def test_functions_and_models_are_judged_too() -> None:
    def lowest(observation: object, mask: npt.NDArray[np.int8]) -> int:
        return int(mask.argmax())

    found = verdict(lowest)
    assert (found.policy, found.basis) == ("lowest", "fixed map")
    check_verdict(found, TRUTH, lambda board: {min(TRUTH.moves(board)): 1.0})
