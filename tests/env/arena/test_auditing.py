"""An audit takes any player, says who it is and all that is known of it, and is JSON."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import breadth, lowest

import tictac_env
from examples.hex import Hex
from tictac_agents import QLearning
from tictac_env import audit, verdict
from tictac_env.arena import Audit, auditing, exact_results, lost_games, move_accuracy, play_match, suite
from tictac_env.arena.audit_record import CARD, RECORD, save_card
from tictac_env.arena.lost_games import LostGame, lost_game
from tictac_env.arena.records import Searched, SearchedSeat
from tictac_env.games import Game, KInARow, get_game
from tictac_env.policies import Policy, load_player, make_policy
from tictac_env.policies.policy import action_of
from tictac_env.position import Position
from tictac_env.render.text import render_game_text
from tictac_env.rng import position_seed

TTT, C4, SMALL = "TicTacToe-v0", "ConnectFour-v0", "KInARow-v0:3x4-3"
RULES = get_game(TTT)


def judged(player: Any, game: str = TTT, **kwargs: Any) -> Audit:
    return audit(player, game, **({"progress": False} | kwargs))


def test_it_holds_what_the_single_measures_say() -> None:
    found = judged("rule", opponents=["random"], games=10, seed=3)
    truth = verdict("rule", seed=3)
    assert found.verdict is not None and found.suite is not None
    assert found.verdict.exploitability == truth.exploitability
    assert (found.verdict.as_first, found.verdict.as_second) == (truth.as_first, truth.as_second)
    accuracy = move_accuracy("rule", "TTT-Exact-v1", seed=3)
    for phase, rates in accuracy.by_phase.items():
        for name, rate in zip(rates._fields[1:], rates[1:], strict=True):
            measure = found.measure(name, phase)
            assert [measure.value, measure.low, measure.high, measure.random] == list(rate)
    match = play_match("rule", "random", TTT, 10, 3)
    assert found.matches == (match,)
    assert (found.version, found.seed, found.game) == (tictac_env.__version__, 3, TTT)
    assert found.suite.sha256 == suite("TTT-Exact-v1").sha256 and found.suite.basis == "probabilities"


@pytest.mark.parametrize("player", ["rule", "mcts:20"])
def test_it_is_json_and_comes_back(player: str) -> None:
    found = judged(player, opponents=["random"], games=4)
    text = found.to_json()
    back = Audit.from_json(text)
    assert back == found and str(back) == str(found) and back.to_json() == text
    assert "NaN" not in text and json.loads(text)["measures"][0]["name"] == "mistakes"
    for damaged in ("", "[]", "{}", text.replace('"seed"', '"need"', 1), text[:-10]):
        with pytest.raises(ValueError, match="not the JSON of an audit"):
            Audit.from_json(damaged)


def test_a_match_with_forfeits_is_recorded_too() -> None:
    record = judged("rule", opponents=[lambda observation, mask: 4], games=4, exact=False)
    (match,) = record.matches
    assert len(match.forfeits) == 4 and Audit.from_json(record.to_json()) == record
    assert "<lambda> forfeited 4 games, the first: illegal move" in " ".join(str(record).split())


DAMAGES: list[tuple[str, Any, str]] = [
    ("verdict.as_first.losing_line", 3, "must be a string, not 3"),
    ("verdict.as_first.unbeatable", 0, "must be true or false, not 0"),
    ("verdict.as_first.shortest", None, "must be true or false, not None"),
    ("verdict.as_first.gain", "1", "must be a number, not '1'"),
    ("verdict.as_first.gain", float("inf"), "must be a number, not inf"),
    ("verdict.as_first.lines", [1, 2], "must have 3 items, not 2"),
    ("verdict.as_first.lines", {}, "must be a list, not {}"),
    ("verdict.as_first", {"gain": 1}, "has no field"),
    ("verdict.basis", "faith", "must be one of 'probabilities', 'fixed map', 'draws its moves', not 'faith'"),
    ("suite.positions", 4.5, "must be an integer, not 4.5"),
    ("suite.more", 1, "has an unknown field 'more'"),
    ("player.settings", None, "must be an object, not None"),
    ("measures", "none", "must be a list, not 'none'"),
    ("matches", [1], "must be an object, not 1"),
]


@pytest.mark.parametrize(("place", "value", "message"), DAMAGES, ids=lambda damage: str(damage)[:30])
def test_a_damaged_record_is_refused_by_the_place_and_the_value(
    rule: Audit, place: str, value: Any, message: str
) -> None:
    record = json.loads(rule.to_json())
    *parents, name = place.split(".")
    part = record
    for parent in parents:
        part = part[parent]
    part[name] = value
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        Audit.from_json(json.dumps(record))
    assert f"Audit.{place if name != 'more' else 'suite'}" in str(error.value)


def test_any_player_can_be_judged(tmp_path: Path) -> None:
    agent = QLearning(TTT, seed=0).learn(total_episodes=50, progress_bar=False)
    agent.save(tmp_path / "mine.npz")

    text = str(judged(tmp_path / "mine.npz", opponents=["random"], games=4))
    for part in ("mine (QLearning) on TicTacToe-v0", "search: no search; a table", "sha256", "games won/drawn/lost"):
        assert part in text
    saved = judged(tmp_path / "mine.npz").player
    assert saved.checkpoint_sha256 == hashlib.sha256((tmp_path / "mine.npz").read_bytes()).hexdigest()
    assert saved.name == "mine" and saved.agent == "QLearning" and saved.settings["num_episodes"] == 50
    assert judged(tmp_path / "mine.npz").measures == judged(agent).measures
    assert judged(lowest).player.kind == "object" and judged(lowest).player.budget == "not stated"


def test_a_game_without_a_suite_is_judged_on_all_its_positions() -> None:
    found = judged("minimax", SMALL)
    assert found.suite is not None and found.suite.name == f"all of {SMALL}"
    assert found.measure("mistakes").value == 0 and found.game == SMALL


@pytest.mark.slow  # it is tabulated up to the limit, twice
def test_a_game_too_large_for_all_that_is_judged_by_what_is_left() -> None:
    found = judged("rule", "KInARow-v0:8x7-4", opponents=["random"], games=4)
    assert found.verdict is None and found.suite is None and found.measures == () and len(found.matches) == 1
    with pytest.raises(KeyError, match="no 'mistakes' among 'all'"):
        found.measure("mistakes")


def test_connect_four_is_judged_on_its_reporting_suite() -> None:
    found = judged("rule", C4, exact=False)
    assert found.suite is not None and found.suite.name == "C4-Exact-v1"
    mistakes = [found.measure("mistakes", phase) for phase in ("opening", "middle", "end")]
    assert sum(measure.positions for measure in mistakes) == found.measure("mistakes").positions
    assert all(measure.relative is not None and 0 < measure.relative < 1 for measure in mistakes)
    chosen = judged("rule", C4, exact=False, suite="C4-Choose-v1")
    assert chosen.suite is not None and chosen.suite.name == "C4-Choose-v1"


def test_on_connect_four_the_verdict_is_that_against_perfect_play() -> None:
    found = judged("rule", C4, replies=0)
    truth = exact_results("rule")
    assert found.verdict is not None and found.verdict.method == "all games followed"
    for seat, result in ((found.verdict.as_first, truth.as_first), (found.verdict.as_second, truth.as_second)):
        expected = SearchedSeat(None, None, None, False, result.shares, None, result.plies, None)
        assert seat == expected
    assert found.verdict.as_second.against_perfect == (0, 0, 1) and found.verdict.exploitability is None
    assert "as first: v perfect 0.000 / 0.000 / 100.000 %" in str(found)
    assert Audit.from_json(found.to_json()) == found


def test_what_cannot_be_judged_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.npz").write_bytes(b"nothing")
    for player, suite_, error, match in (
        (tmp_path / "bad.npz", None, ValueError, r"bad\.npz"),
        (tmp_path / "none.npz", None, FileNotFoundError, r"none\.npz"),
        ("rul", None, ValueError, "did you mean rule"),
        ("rule", "C4-Exact-v1", ValueError, "C4-Exact-v1 has positions of the game"),
        ("rule", str(tmp_path / "bad.npz"), ValueError, r"bad\.npz"),
    ):
        with pytest.raises(error, match=match):
            judged(player, suite=suite_)
    with pytest.raises(ValueError, match="games must be"):
        judged("rule", games=0)


def test_it_is_said_whether_own_play_leads_to_the_mistakes() -> None:
    """Every position that either seat's own play can lead to, found one by one."""
    policy = make_policy("rule")
    record = judged("rule")
    reached = set()
    for seat in (0, 1):
        layer = {Position.start(TTT)}
        while layer:
            own = {one for one in layer if not one.is_over and one.seat == seat}
            reached |= {(one.own, one.opp) for one in own}
            chances = {one: np.asarray(policy.probabilities(one)) for one in own}
            layer = {
                one.play(action)
                for one in layer
                if not one.is_over
                for action in one.legal_actions
                if one not in own or chances[one][action] > 0
            }
    found = move_accuracy(policy, "TTT-Exact-v1")
    erring = [(one.own, one.opp) for one, share in zip(found.batch, found.mistake_shares, strict=True) if share > 0]
    assert record.suite is not None and record.suite.erring == len(erring) > 0
    assert 0 < record.suite.erring_reached == len(reached & set(erring)) < len(erring)

    class Careless(Policy):
        """Perfect where its own opening leads, and careless elsewhere."""

        def act(self, position: Position, seed: int) -> int:
            opening = make_policy("minimax-first", TTT).act(Position.start(TTT), 0)
            if position.seat == 0 and position.ply and position.to_array().reshape(-1)[opening] != 1:
                return position.legal_actions[-1]
            return make_policy("minimax-first", TTT).act(position, seed)

    unbeatable = Careless()
    audited = judged(unbeatable)
    assert audited.suite is not None and audited.suite.erring > audited.suite.erring_reached == 0
    assert "own play leads to none" in str(audited)
    for other in (judged("minimax"), judged(unbeatable, exact=False)):
        assert "leads to" not in str(other)


@pytest.fixture(scope="module")
def rule() -> Audit:
    return audit("rule", TTT, opponents=["random"], games=4, progress=False)


def test_the_text_draws_the_lost_games(rule: Audit) -> None:
    text = str(rule)
    assert rule.verdict is not None
    for name, seat in (("first", rule.verdict.as_first), ("second", rule.verdict.as_second)):
        line = seat.losing_line
        assert line is not None
        drawn = [f"    {row}".rstrip() for row in render_game_text(Position.from_moves(TTT, line)).splitlines()]
        assert "\n".join([f"  as {name} it loses {line} ({seat.given_away}):", *drawn]) in text
    assert max(map(len, text.splitlines())) < 160
    assert "it loses" not in str(audit("minimax", TTT, progress=False))


def test_a_game_that_is_not_registered_has_no_boards() -> None:
    small = KInARow.make(3, 3, 3, False)
    record = audit("random", small, progress=False)
    known = Audit.from_json(record.to_json().replace(f'"game": {json.dumps(record.game)}', '"game": "Nobody-v0"', 1))
    assert "it loses 123548 (given away at ply 5: 4, better 8)\n" in str(known)
    assert audit("random", Hex.make(2), progress=False).verdict


def test_the_card_holds_the_text_and_the_record_beside_it(rule: Audit, tmp_path: Path) -> None:
    card, record = save_card(rule, tmp_path)
    assert (card, record) == (tmp_path / CARD, tmp_path / RECORD)
    assert Audit.from_json(record.read_text()) == rule
    page = card.read_text()
    assert page.startswith(f"# rule on {TTT}\n") and str(rule) in page
    assert "As second player it can be beaten, by 1564329." in page
    save_card(rule, tmp_path)  # its own files are replaced


@pytest.mark.parametrize("name", [CARD, RECORD])
def test_what_others_wrote_is_left_alone(rule: Audit, name: str, tmp_path: Path) -> None:
    for content in ("# My project\n", "{}", ""):
        (tmp_path / name).write_text(content)
        with pytest.raises(ValueError, match=re.escape(f"{tmp_path / name} exists")):
            save_card(rule, tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == [name] and (tmp_path / name).read_text() == content


class FixedRule(Policy):
    """`rule`, drawing by the seed without saying so."""

    def act(self, position: Position, seed: int) -> int:
        return make_policy("rule", position.game).act(position, seed)


def replayed(policy: Policy, game: Game, seat: int, line: str, seed: int) -> Position:
    """The end of a game, after the policy was seen to play its moves of it."""
    moves = Position.from_moves(game, line).moves
    for ply in range(seat, len(moves), 2):
        before = Position.from_moves(game, moves[:ply])
        assert action_of(policy, before, position_seed(before.own, before.opp, seed)) == moves[ply]
    return Position.from_moves(game, moves)


@pytest.mark.parametrize("seed", breadth([0], range(5)))
@pytest.mark.parametrize("seat", [0, 1])
def test_it_is_as_short_as_the_verdict_says(seat: int, seed: int) -> None:
    truth = verdict(FixedRule(), TTT, seed)
    line = (truth.as_first, truth.as_second)[seat].losing_line
    found = lost_game(load_player(FixedRule(), TTT), RULES, seat, seed, 10_000, False)
    assert found.unbeatable == (line is None)
    if line is not None:
        assert found.shortest and found.losing_line is not None and len(found.losing_line) == len(line)
        end = replayed(FixedRule(), RULES, seat, found.losing_line, seed)
        assert end.outcome is not None and end.outcome.winner == 1 - seat


def test_what_never_loses_is_said_to() -> None:
    found = lost_game(load_player("minimax", TTT), RULES, 1, 0, 10_000, False)
    assert found == LostGame(True, None, None, False, Searched(plies=4, positions=477))


def test_where_the_search_must_end_a_game_against_perfect_play_is_looked_at() -> None:
    lost = {}
    for seed in (2, 3):
        found = lost_game(load_player(FixedRule(), TTT), RULES, 1, seed, 20, False)
        assert found.searched is not None and found.searched.positions <= 20 and not found.shortest
        assert found.unbeatable is (False if found.losing_line else None)
        if found.losing_line:
            end = replayed(FixedRule(), RULES, 1, found.losing_line, seed)
            assert end.outcome is not None and end.outcome.winner == 0
        lost[seed] = found.losing_line is not None
    assert len(set(lost.values())) == 2  # some are beaten by perfect play, and some are not


def test_a_large_game_has_its_lost_games_in_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules of a small game in place of Connect Four's, whose proofs take long to compile."""

    def counted(*arguments: Any) -> Any:
        pytest.fail("the positions of a game with an opening book are not counted, which takes half a second")

    monkeypatch.setattr(auditing, "walk_replies", counted)
    monkeypatch.setattr(auditing, "opening_book_of", lambda game: object())
    record = auditing.audit("rule", TTT, progress=False)
    assert record.verdict is not None
    seat = record.verdict.as_second
    assert seat.unbeatable is False and seat.shortest and seat.losing_line == "5437129"
    text = str(record)
    assert max(map(len, record.to_text(72).splitlines())) <= 72 < max(map(len, text.splitlines()))
    blunder = "given away at ply 2: 4, better 1, 3, 7, 9"
    assert f"as second it loses 5437129 ({blunder}; no shorter game beats it):" in text and "O wins" in text
    assert seat.given_away == blunder and "leads to" not in text
    assert auditing.Audit.from_json(record.to_json()) == record
    unsearched = auditing.audit("rule", TTT, replies=0, progress=False).verdict
    assert unsearched is not None and unsearched.as_first.losing_line is None
    monkeypatch.setattr(lost_games, "_lost_to_perfect_play", lambda *arguments: None)
    few = auditing.audit("rule", TTT, replies=1, progress=False)
    assert "as first: no game lost: every reply to its first 1 moves played, 1 positions, and one game" in str(few)
