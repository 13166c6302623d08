"""The exact measures, against published numbers and against walking every game one by one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import title
from truth import Chances, Truth

from tictac_env.arena import Verdict, exploitability, play_match, verdict
from tictac_env.games import GAMES, Game, KInARow
from tictac_env.policies import Policy, RandomPolicy, RulePolicy, make_policy
from tictac_env.position import IllegalMove, Position
from tictac_env.rng import position_seed

TRUTH = Truth(GAMES["TicTacToe-v0"])
GRAVITY = Truth(KInARow.make(4, 3, 3, gravity=True))
SHORT = Truth(KInARow.make(3, 3, 2, gravity=True))  # the first player wins
TRUTHS = pytest.mark.parametrize("truth", [TRUTH, GRAVITY, SHORT], ids=lambda truth: title(truth.game))


def board_of(position: Position) -> str:
    return "".join(".XO"[mark] for mark in position.to_array().reshape(-1))


class Given(Policy):
    """Plays the chances of a player of `Truth`."""

    name = "given"

    def __init__(self, chances: Chances) -> None:
        self.chances = chances

    def act(self, position: Position, seed: int) -> int:
        likely = [action for action, chance in self.chances(board_of(position)).items() if chance]
        return likely[seed % len(likely)]

    def probabilities(self, position: Position) -> npt.NDArray[np.float64]:
        chances = np.zeros(position.game.num_actions)
        for action, chance in self.chances(board_of(position)).items():
            chances[action] = chance
        return chances


class FixedMap(Policy):
    """Draws among the legal actions, and does not say how: judged with the seed of each position."""

    def act(self, position: Position, seed: int) -> int:
        return position.legal_actions[seed // 3 % len(position.legal_actions)]


def chances_of(policy: Policy, truth: Truth, seed: int = 0) -> Chances:
    """A policy as a player of `truth`."""

    def chances(board: str) -> dict[int, float]:
        position = truth.position(board)
        known = policy.probabilities(position)
        if known is not None:
            return {action: float(chance) for action, chance in enumerate(known) if chance}
        return {policy.act(position, position_seed(position.own, position.opp, seed)): 1.0}

    return chances


def check_verdict(found: Verdict, truth: Truth, player: Chances) -> None:
    """Every number of a verdict, against a walk through all games."""
    for mark, sign, seat in (("X", 1, found.as_first), ("O", -1, found.as_second)):
        for share, replies in (
            (seat.against_random, truth.uniform),
            (seat.against_best, truth.uniform_best),
            (seat.against_first_best, truth.first_best),
        ):
            sides = (player, replies) if mark == "X" else (replies, player)
            assert tuple(share) == pytest.approx(truth.expected(*sides)[::sign])
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
def test_a_verdict_equals_a_walk_through_every_game(truth: Truth, name: str) -> None:
    policy = make_policy(name, truth.game)
    found = verdict(policy, truth.game)
    assert found.basis == "probabilities"
    check_verdict(found, truth, chances_of(policy, truth))


@TRUTHS
@pytest.mark.parametrize("seed", [0, 1])
def test_the_verdict_of_a_fixed_map_equals_a_walk_through_every_game(truth: Truth, seed: int) -> None:
    found = verdict(FixedMap(), truth.game, seed=seed)
    assert found.basis == "fixed map"
    check_verdict(found, truth, chances_of(FixedMap(), truth, seed))


def test_the_seed_chooses_the_fixed_map() -> None:
    assert verdict(FixedMap(), seed=0) == verdict(FixedMap(), seed=0)
    assert verdict(FixedMap(), seed=0) != verdict(FixedMap(), seed=1)
    assert verdict("minimax", seed=0) == verdict("minimax", seed=1)  # judged by its probabilities


def test_random_against_random() -> None:
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
    assert verdict("minimax-first").as_first.against_random.win == pytest.approx(0.99479, abs=5e-6)
    assert verdict("minimax").as_first.against_random.win < 0.97


def best_against(
    chances: Callable[[str], dict[int, Any]], seat: str, safe: bool = False, wins: bool = False
) -> Chances:
    """A best reply of `seat` to a player, in exact fractions: the most wins less losses, or (`wins`) the most wins;
    with `safe` among the moves only that keep a draw in hand."""
    earned: dict[str, Fraction] = {}
    chosen: dict[str, int] = {}

    def earn(board: str) -> Fraction:
        if board not in earned:
            moves = TRUTH.moves(board)
            if not moves:
                winner = TRUTH.winner(board)
                earned[board] = Fraction((winner == seat) - (winner not in (None, seat) and not wins))
            elif TRUTH.mover(board) == seat:
                values = {a: earn(after) for a, after in moves.items() if not safe or TRUTH.value(after) <= 0}
                if not values:  # lost already, so a safe player does not come here
                    return Fraction(-1)
                earned[board] = max(values.values())
                chosen[board] = next(action for action, value in values.items() if value == earned[board])
            else:
                earned[board] = sum((chance * earn(moves[a]) for a, chance in chances(board).items()), Fraction(0))
        return earned[board]

    earn(TRUTH.start)
    return lambda board: {chosen[board]: 1.0}


def erring(error: Fraction) -> Callable[[str], dict[int, Fraction]]:
    """Uniformly random with probability `error`, else uniform over the moves that keep the value."""

    def chances(board: str) -> dict[int, Fraction]:
        legal, keeping = TRUTH.moves(board), TRUTH.keeping(board)
        return {a: error / len(legal) + (a in keeping) * (1 - error) / len(keeping) for a in legal}

    return chances


def verdicts_of_best(chances: Callable[[str], dict[int, Any]], **constraints: bool) -> tuple[Any, Any]:
    """The verdicts on the best replies to a player, as first and as second."""
    as_first, as_second = (Given(best_against(chances, seat, **constraints)) for seat in "XO")
    return verdict(Seated(as_first, 0)).as_first, verdict(Seated(as_second, 1)).as_second


class Seated(Policy):
    """A player for one seat, who plays minimax in the other."""

    def __init__(self, player: Policy, seat: int) -> None:
        self.players = [make_policy("minimax-first"), make_policy("minimax-first")]
        self.players[seat] = player

    def act(self, position: Position, seed: int) -> int:
        return self.players[position.seat].act(position, seed)


def percent(share: float) -> float:
    return round(100 * share, 3)


def test_the_ceilings_against_random() -> None:
    """The most that an infallible player can win against random play, and the most that anyone can."""
    fully_random = erring(Fraction(1))
    first, second = verdicts_of_best(fully_random, safe=True)
    assert first.infallible and second.infallible
    assert percent(first.against_random.win) == 99.479
    assert percent(second.against_random.win) == 91.640
    first, second = verdicts_of_best(fully_random, wins=True)
    assert percent(first.against_random.win) == 99.479
    assert percent(second.against_random.win) == 93.862
    assert not second.infallible


@pytest.mark.parametrize(
    ("error", "first_wins", "second_wins"),
    [
        ("0.1", 98.958, 91.640),
        ("0.3", 98.958, 91.640),
        ("0.5", 99.479, 91.640),
        ("0.6", 99.479, 91.640),
        ("0.7", 99.479, 91.640),
        ("0.8", 99.479, 92.910),
        ("0.9", 99.479, 92.910),
    ],
)
def test_the_best_reply_to_an_erring_opponent(error: str, first_wins: float, second_wins: float) -> None:
    """Worked example 13: what a learner comes to that trains against such an opponent."""
    first, second = verdicts_of_best(erring(Fraction(error)))
    assert percent(first.against_random.win) == first_wins
    assert percent(second.against_random.win) == second_wins
    assert first.infallible
    assert second.infallible == (Fraction(error) < Fraction("0.8"))


@pytest.mark.parametrize("error", ["0.1", "0.6", "1"])
def test_what_the_best_reply_earns_is_what_can_be_exploited(error: str) -> None:
    chances = erring(Fraction(error))
    found = exploitability(Given(chances))
    assert found.first == pytest.approx(TRUTH.best_reply(chances, "X"))
    assert found.second == pytest.approx(TRUTH.best_reply(chances, "O"))
    reply = best_against(chances, "O")
    win, draw, loss = TRUTH.expected(chances, reply)
    assert (win + draw + loss, loss - win) == (pytest.approx(1), pytest.approx(found.first))


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
    assert line is not None and line.startswith("52") and f"beaten by {line}" in str(found)
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


class Wrong(Policy):
    """Answers what `change` makes of the lowest legal action, and gives any probabilities it is told to."""

    name = "wrong"

    def __init__(self, change: Callable[[int], Any] = int, probabilities: Any = None) -> None:
        self.change = change
        self.given = probabilities

    def act(self, position: Position, seed: int) -> int:
        return self.change(position.legal_actions[0])  # type: ignore[no-any-return]

    def probabilities(self, position: Position) -> Any:
        return self.given


@pytest.mark.parametrize(
    "change",
    [
        lambda action: 9,
        lambda action: -1,
        lambda action: 2**70,
        lambda action: action + 0.7,
        float,
        lambda action: bool(action) if action < 2 else action,
        str,
        lambda action: None,
        lambda action: float("nan"),
    ],
    ids=["9", "negative", "huge", "fraction", "float", "bool", "string", "None", "nan"],
)
def test_no_action_is_made_of_what_is_none(change: Callable[[int], Any]) -> None:
    """As everywhere: neither floats nor bools nor anything else than an integer in range is an action."""
    with pytest.raises(ValueError, match="wrong"):
        verdict(Wrong(change))


def test_an_illegal_action_is_named_with_its_position() -> None:
    with pytest.raises(IllegalMove, match=r"wrong chose action 4, illegal here .*from_(code|moves)\('TicTacToe-v0'"):
        verdict(Wrong(lambda action: 4))


SHARED = np.full(9, 1 / 9)


@pytest.mark.parametrize(
    "probabilities",
    [
        SHARED / 2,
        SHARED * 2,
        np.zeros(9),
        np.array([1.5, -0.5, 0, 0, 0, 0, 0, 0, 0]),
        np.array([np.nan] * 9),
        np.full(8, 1 / 8),
        np.ones(1),
        np.full((1, 9), 1 / 9),
    ],
    ids=["half", "twice", "none", "negative", "nan", "short", "single", "nested"],
)
def test_wrong_probabilities_are_refused(probabilities: npt.NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match="probabilities of wrong"):
        verdict(Wrong(probabilities=probabilities))


def test_a_chance_of_an_illegal_action_is_refused() -> None:
    with pytest.raises(IllegalMove, match="wrong chose action"):
        exploitability(Wrong(probabilities=SHARED))


class Batched(FixedMap):
    """Answers batches wrongly."""

    def __init__(self, change: Callable[[npt.NDArray[np.int64]], Any]) -> None:
        self.change = change
        self.name = "batched"

    def act_many(self, batch: Any, seeds: npt.NDArray[np.int64]) -> Any:
        return self.change(super().act_many(batch, seeds))


@pytest.mark.parametrize(
    "change",
    [
        lambda actions: actions.astype(float),
        lambda actions: actions[:, None],
        lambda actions: actions[:-1],
        lambda actions: actions[0],
    ],
    ids=["float", "shape", "too few", "one"],
)
def test_wrong_batches_are_refused(change: Callable[[npt.NDArray[np.int64]], Any]) -> None:
    with pytest.raises(ValueError, match="act_many of batched"):
        verdict(Batched(change))


@pytest.mark.parametrize("game", ["TicTacToe", "Chess"])
def test_unknown_games_are_refused(game: str) -> None:
    with pytest.raises(ValueError, match=game):
        verdict("random", game)


@pytest.mark.slow
@pytest.mark.parametrize("measure", [verdict, exploitability])
def test_too_large_a_game_is_refused(measure: Callable[[str, Game], object]) -> None:
    with pytest.raises(ValueError, match="too many to tabulate"):
        measure("random", GAMES["ConnectFour-v0"])
