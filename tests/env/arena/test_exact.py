"""Exact verdicts: against published numbers, walks through every game and best replies in exact fractions."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from conftest import breadth, title
from oracle import Chances, Oracle

from tictac_env.arena import Verdict, exact_results, verdict
from tictac_env.arena.report import V_PERFECT, legend
from tictac_env.games import GAMES, KInARow
from tictac_env.policies import Policy, RandomPolicy, RulePolicy, make_policy
from tictac_env.position import Position
from tictac_env.rng import position_seed
from tictac_env.solver import solve
from tictac_env.solver.enumerate import TooManyPositions, tabulate

TRUTH = Oracle(GAMES["TicTacToe-v0"])
GRAVITY = Oracle(KInARow.make(4, 3, 3, gravity=True))
SHORT = Oracle(KInARow.make(3, 3, 2, gravity=True))  # the first player wins
TRUTHS = pytest.mark.parametrize("truth", breadth([TRUTH], [GRAVITY, SHORT]), ids=lambda truth: title(truth.game))


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
            (seat.against_perfect, truth.uniform_best),
            (seat.against_minimax_first, truth.first_best),
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
        assert seat.unbeatable == (not lost)
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


def test_random_against_random_has_the_published_shares() -> None:
    found = verdict("random")
    assert tuple(found.as_first.against_random) == pytest.approx((0.58492, 0.12698, 0.28810), abs=5e-6)
    assert tuple(found.as_second.against_random) == pytest.approx((0.28810, 0.12698, 0.58492), abs=5e-6)
    assert tuple(found.as_first.lines) == (131_184, 46_080, 77_904)
    assert tuple(found.as_second.lines) == (77_904, 46_080, 131_184)


def test_uniform_play_has_the_known_nash_conv() -> None:
    truth = verdict("random")
    assert truth.nash_conv == pytest.approx(1.91966, abs=5e-6)
    assert truth.exploitability == pytest.approx(0.95983, abs=5e-6)
    assert truth == verdict(RandomPolicy(), "TicTacToe-v0")


@pytest.mark.parametrize("name", ["minimax", "minimax-first", "minimax-first:9"])
def test_minimax_is_unbeatable(name: str) -> None:
    found = verdict(name)
    assert found.unbeatable and found.as_first.unbeatable and found.as_second.unbeatable
    assert found.exploitability == 0
    assert found.as_first.losing_line is None and found.as_second.losing_line is None
    assert found.as_first.against_perfect == (0, pytest.approx(1), 0)
    assert "unbeatable" in str(found)
    assert "Judged by its probabilities" in str(found).splitlines()[-1] and V_PERFECT in str(found)
    if name != "minimax-first:9":
        wins = found.as_first.against_random.wins
        assert wins == pytest.approx(0.99479, abs=5e-6) if name == "minimax-first" else wins < 0.97


@pytest.mark.parametrize("game", ["KInARow-v0:3x3-2,gravity=True", "TicTacToe-v0"])
@pytest.mark.parametrize("player", [RandomPolicy(), RulePolicy(), FixedMap()], ids=["random", "rule", "map"])
def test_the_move_that_lost_is_named(player: Policy, game: str) -> None:
    """Before it the seat does not lose against perfect play, after it and from there on it does."""
    judged = verdict(player, game)
    for seat, found in enumerate((judged.as_first, judged.as_second)):
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
        assert f"beaten by {found.losing_line} ({found.given_away})" in str(judged)


def test_gains_are_counted_from_the_value_of_the_game() -> None:
    """Where the first player wins by force, to lose as second gives nothing away."""
    assert SHORT.value(SHORT.start) == 1
    found = verdict("minimax", SHORT.game)
    assert found.nash_conv == 0
    assert found.as_first.unbeatable and not found.as_second.unbeatable
    assert found.as_first.against_random == (pytest.approx(1), 0, 0)
    assert 0 < verdict("random", SHORT.game).as_first.gain <= 2


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


@pytest.mark.parametrize("game", ["ConnectFour-v0", "KInARow-v0:5x6-4"])
def test_a_game_too_large_for_a_verdict_is_refused_by_its_name_and_told_what_to_use(
    game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tictac_env.arena.verdicts.tabulate", functools.partial(tabulate, limit=1000))
    with pytest.raises(TooManyPositions, match=f"{game} has more than 1,000 positions, .*`exact_results`"):
        verdict("random", game)


@pytest.mark.parametrize(
    "known",
    [lambda one: one.ply == 0, lambda one: one.ply > 0, lambda one: one.ply < 4, lambda one: one.own % 2 == 0],
    ids=["start", "later", "early", "some of each ply"],
)
def test_probabilities_are_given_everywhere_or_nowhere(known: Callable[[Position], bool]) -> None:
    """Else one verdict would rest on two foundations."""

    class Partly(Wrong):
        def probabilities(self, position: Position) -> Any:
            return np.eye(9)[position.legal_actions[0]] if known(position) else None

    with pytest.raises(ValueError, match="probabilities of wrong"):
        verdict(Partly())


@pytest.mark.parametrize("seed", [-1, 2**63, "1", None])
def test_seeds_out_of_range_are_refused(seed: Any) -> None:
    with pytest.raises(ValueError, match="seed must be an integer in"):
        verdict("minimax-first", seed=seed)


SVG = "{http://www.w3.org/2000/svg}"


def page(found: object) -> ElementTree.Element:
    """The HTML of a result, read strictly: every tag is closed, every sign escaped."""
    return ElementTree.fromstring(found._repr_html_())  # type: ignore[attr-defined]


def cells(root: ElementTree.Element) -> list[list[str]]:
    return [[cell.text or "" for cell in row] for row in root.iter("tr")]


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+\.\d+", text))


def test_a_verdict_is_a_table_of_its_numbers_and_the_boards_of_the_lost_games() -> None:
    found = verdict("rule")
    root = page(found)
    shown = " ".join(root.itertext())
    assert "rule (probabilities): exploitability 1.00000" in shown
    assert numbers(str(found)) <= numbers(shown)
    heads, first, second = cells(root)
    assert len(heads) == len(first) == len(second)
    assert first[:2] == ["first", f"yes, by 52468319 ({found.as_first.given_away})"]
    assert second[:2] == ["second", f"yes, by 1564329 ({found.as_second.given_away})"]
    assert legend("probabilities") in shown and V_PERFECT in shown

    pictures = list(root.iter(f"{SVG}svg"))
    assert len(pictures) == len("52468319") + len("1564329")
    captions = [caption.text for caption in root.iter("figcaption")]
    assert captions[:3] == ["1. X 5", "2. O 2", "3. X 4"] and captions[-1] == "7. X 9"
    ends = [[shape.get("class") for shape in picture].count("win") for picture in pictures]
    assert [count for count in ends if count] == [3, 3] and ends[7] == ends[14] == 3
    stones = [sum(shape.get("class") in ("first", "second") for shape in picture) for picture in pictures]
    assert stones == [*range(1, 9), *range(1, 8)]


def test_what_cannot_be_beaten_has_no_boards() -> None:
    root = page(verdict("minimax"))
    assert [row[1] for row in cells(root)[1:]] == ["no: unbeatable"] * 2
    assert not list(root.iter(f"{SVG}svg"))


@pytest.mark.parametrize("measure", [verdict, lambda policy: exact_results(policy, "random", "TicTacToe-v0")])
def test_names_are_text_and_colours_are_the_notebooks(measure: Callable[[Policy], object]) -> None:
    policy = RandomPolicy()
    policy.name = "<script>alert('1 & 2')</script>"
    root = page(measure(policy))
    assert not list(root.iter("script")) and policy.name in " ".join(root.itertext())
    styles = "; ".join(element.get("style", "") for element in root.iter())
    assert set(re.findall(r"(?:^|; )(?:color|background): (\w+)", styles)) <= {"inherit", "none"}
    for picture in root.iter(f"{SVG}svg"):
        assert picture[0].get("width") != picture.get("viewBox", "").split()[2], "a board has no ground of its own"
