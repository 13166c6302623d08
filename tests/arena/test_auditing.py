"""An audit takes any player, says who it is and all that is known of it, and is JSON."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tictac_env
from tictac_agents import MCTS, QLearning
from tictac_env import audit, verdict
from tictac_env.arena import Audit, move_accuracy, play_match, suite
from tictac_env.games import describe_game
from tictac_env.policies import Policy, make_policy
from tictac_env.position import Position

TTT, C4, SMALL = "TicTacToe-v0", "ConnectFour-v0", "KInARow-v0:3x4-3"


def judged(player: Any, game: str = TTT, **kwargs: Any) -> Audit:
    return audit(player, game, **({"progress": False} | kwargs))


def test_it_holds_what_the_single_measures_say() -> None:
    found = judged("rule", opponents=["random"], games=10, seed=3)
    truth = verdict("rule", seed=3)
    assert found.verdict is not None and found.suite is not None
    assert found.verdict["exploitability"] == truth.exploitability
    assert found.verdict["as second"]["losing line"] == truth.as_second.losing_line
    assert found.verdict["as first"]["v random"] == list(truth.as_first.against_random)
    accuracy = move_accuracy("rule", "TTT-Exact-v1", seed=3)
    for phase, rates in accuracy.by_phase.items():
        for name, rate in zip(rates._fields[1:], rates[1:], strict=True):
            measure = found.measure(name, phase)
            assert [measure.value, measure.low, measure.high, measure.random] == list(rate)
    match = play_match("rule", "random", TTT, 10, 3)
    assert found.matches == (
        {"opponent": "random", "as first": list(match.as_first), "as second": list(match.as_second)},
    )
    assert (found.version, found.seed, found.game) == (tictac_env.__version__, 3, TTT)
    assert found.suite["sha256"] == suite("TTT-Exact-v1").sha256 and found.suite["basis"] == "probabilities"


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


def test_any_player_can_be_judged(tmp_path: Path) -> None:
    agent = QLearning(TTT, seed=0).learn(total_episodes=50, progress_bar=False)
    agent.save(tmp_path / "mine.npz")

    def first(observation: Any, mask: Any) -> int:
        return int(mask.argmax())

    def known(player: Any) -> dict[str, Any]:
        return judged(player).player

    saved = known(tmp_path / "mine.npz")
    assert saved["checkpoint_sha256"] == hashlib.sha256((tmp_path / "mine.npz").read_bytes()).hexdigest()
    assert saved["name"] == "mine" and saved["agent"] == "QLearning" and saved["settings"]["num_episodes"] == 50
    assert judged(tmp_path / "mine.npz").measures == judged(agent).measures
    assert known(first)["kind"] == "object" and known(first)["budget"] == "not stated"
    assert known("tictac_env.policies:RulePolicy")["kind"] == "import"
    assert known(MCTS(30))["budget"].startswith("30 simulations")


def test_a_game_without_a_suite_is_judged_on_all_its_positions() -> None:
    found = judged("minimax", SMALL)
    assert found.suite is not None and found.suite["name"] == f"all of {SMALL}"
    assert found.measure("mistakes").value == 0 and found.game == SMALL
    assert describe_game(tictac_env.Position.start(found.game).game)


@pytest.mark.slow  # it is tabulated up to the limit, twice
def test_a_game_too_large_for_all_that_is_judged_by_what_is_left() -> None:
    found = judged("rule", "KInARow-v0:8x7-4", opponents=["random"], games=4)
    assert found.verdict is None and found.suite is None and found.measures == () and len(found.matches) == 1
    with pytest.raises(KeyError, match="no 'mistakes' among 'all'"):
        found.measure("mistakes")


def test_connect_four_is_judged_on_its_reporting_suite() -> None:
    found = judged("rule", C4, exact=False)
    assert found.suite is not None and found.suite["name"] == "C4-Exact-v1"
    mistakes = [found.measure("mistakes", phase) for phase in ("opening", "middle", "end")]
    assert sum(measure.positions for measure in mistakes) == found.measure("mistakes").positions
    assert all(measure.relative is not None and 0 < measure.relative < 1 for measure in mistakes)
    chosen = judged("rule", C4, exact=False, suite="C4-Choose-v1")
    assert chosen.suite is not None and chosen.suite["name"] == "C4-Choose-v1"


def test_on_connect_four_the_verdict_is_that_against_perfect_play() -> None:
    found = judged("rule", C4, replies=0)
    truth = verdict("rule", C4)["perfect"]
    assert found.verdict is not None and found.verdict["method"] == "all games followed"
    for seat, result in (("as first", truth.as_first), ("as second", truth.as_second)):
        assert found.verdict[seat]["v perfect"] == list(result.shares)
        assert found.verdict[seat]["decided after plies"] == result.plies
        assert found.verdict[seat]["intervals"] is None
    assert found.verdict["as second"]["v perfect"] == [0, 0, 1]
    assert "as first: v perfect 0.000 / 0.000 / 100.000 %" in str(found)
    assert Audit.from_json(found.to_json()) == found


def test_what_is_printed_says_who_where_and_how_sure(tmp_path: Path) -> None:
    agent = QLearning(TTT, seed=0).learn(total_episodes=50, progress_bar=False)
    agent.save(tmp_path / "mine.npz")
    text = str(judged(tmp_path / "mine.npz", opponents=["random"], games=4))
    for said in (
        "mine (QLearning) on TicTacToe-v0",
        "search: no search; a table",
        "sha256",
        "as first: infallible False; losing line",
        "TTT-Exact-v1",
        "critical",
        "games won/drawn/lost v random: as first",
    ):
        assert said in text
    assert max(map(len, text.splitlines())) < 160


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
    assert record.suite is not None and record.suite["erring"] == len(erring) > 0
    assert 0 < record.suite["erring reached"] == len(reached & set(erring)) < len(erring)

    class Careless(Policy):
        """Perfect where its own opening leads, and careless elsewhere."""

        def act(self, position: Position, seed: int) -> int:
            opening = make_policy("minimax-first", TTT).act(Position.start(TTT), 0)
            if position.seat == 0 and position.ply and position.to_array().reshape(-1)[opening] != 1:
                return position.legal_actions[-1]
            return make_policy("minimax-first", TTT).act(position, seed)

    unbeatable = Careless()
    audited = judged(unbeatable)
    assert audited.suite is not None and audited.suite["erring"] > audited.suite["erring reached"] == 0
    assert "own play leads to none" in str(audited)
    for other in (judged("minimax"), judged(unbeatable, exact=False)):
        assert "leads to" not in str(other)
