"""Trainings that the page shows: plans, the process, its curve, and games walked through."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tictac_agents import NTupleTD, QLearning, S0ValueTD, Sarsa, ValueTD, trained
from tictac_apps.web import live_training
from tictac_apps.web.live_training import Allowance, lesson
from tictac_apps.web.training_form import TrainingRequest, menu
from tictac_env.arena import verdict
from tictac_env.position import Position

TUPLES = {"agent": "NTupleTD", "game": "ConnectFour-v0", "opponent": None}
SELF_PLAY = {"opponent": None, "settings": {"learning_rate": [0.8, 0.4, 0.1], "epsilon": 0.5}}


def rows(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in lines if line["kind"] == "CurveReport"]


def train(folder: Path, monkeypatch: pytest.MonkeyPatch, source: Any = None, **plan: Any) -> list[dict[str, Any]]:
    """The lines that the process writes, run here."""
    output = io.StringIO()
    monkeypatch.setattr("sys.stdout", output)
    monkeypatch.setattr("sys.stdin", source or Waiting(json.dumps(plan) + "\n"))
    monkeypatch.setattr("os.nice", lambda more: more)
    monkeypatch.setattr(live_training, "POINTS", 6)
    live_training.main([str(folder)])
    return [json.loads(line) for line in output.getvalue().splitlines()]


class Waiting(io.StringIO):
    """Input whose second line never comes."""

    def readline(self, *size: Any) -> str:
        line = super().readline()
        if not line:
            threading.Event().wait(600)
        return line


def test_what_is_offered_can_be_trained() -> None:
    """Every preset is a plan, and what a form sends back is the same plan."""
    offered = menu()["agents"]
    tables = {*trained("table"), "NTupleTD"}
    assert tables <= set(offered) <= tables | set(trained("network"))
    for name, agent in offered.items():
        for preset in agent["presets"].values():
            sent = json.loads(json.dumps(preset))
            assert json.loads(json.dumps(TrainingRequest.from_dict(sent).to_dict())) == sent and sent["agent"] == name


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"agent": "Qlearning"}, "agent"),
        ({"game": "Chess"}, "no game is called"),
        ({"opponent": "nobody"}, "nobody"),
        ({"opponent": "program:true"}, "no policy is called 'program:true'"),
        ({"opponent": "q.npz"}, "no policy is called"),
        ({"opponent": 7}, "no policy is called 7"),
        ({"play_as": "third"}, "play_as"),
        ({"total": 0}, "games must be an integer in \\[1, 20000000\\], not 0"),
        ({"total": 10**9}, "games must be an integer in \\[1, 20000000\\], not 1000000000"),
        ({"total": 7.5}, "games must be an integer"),
        ({"game": "ConnectFour-v0", "total": 500_000}, r"in \[1, 100000\], not 500000"),
        ({"seed": -1}, "seed"),
        ({"settings": {"epsilon": 2}}, r"epsilon must be a number in \[0, 1\], not 2"),
        ({"settings": {"epsilon": [0.5, -1]}}, r"epsilon\[1\] must be a number in \[0, 1\], not -1"),
        ({**TUPLES, "settings": {"tuples": 10_000}}, r"tuples must be an integer in \[0, 120\], not 10000"),
        ({**TUPLES, "settings": {"threads": 64}}, "a setting of the agent must be one of"),
        ({**TUPLES, "opponent": "random"}, "against itself"),
        ({"settings": {"epsilom": 0.2}}, "did you mean epsilon"),
        ({"settings": {"learning_rate": "fast"}}, "learning_rate must be a number in .*, not 'fast'"),
        ({"settings": {"opponent": "program:true"}}, "a setting of the agent must be one of"),
        ({"rewards": [1]}, "rewards"),
        ({"length": 3}, "length"),
        ({"game": "ConnectFour-v0", "total": 9, "until_proven": True}, "until_proven"),
    ],
)
def test_plans_that_cannot_be_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        TrainingRequest.from_dict(wrong)


def test_a_training_ends_when_it_is_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = train(tmp_path, monkeypatch, agent="QLearning", total=9_000, until_proven=True, **SELF_PLAY)
    assert said[-1] == {"kind": "End", "stopped": False, "proven": True}
    first, last = rows(said)[0], rows(said)[-1]
    assert first["beaten_first"] is not None and not first["unbeatable"] and first["lines"][2] > 0
    assert last["unbeatable"] and last["exploitability"] == 0 and last["lines"][2] == 0
    assert verdict(QLearning.load(tmp_path / "agent.npz")).unbeatable


def test_a_training_that_is_not_to_end_at_the_proof_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = train(tmp_path, monkeypatch, game="KInARow-v0:2x3-3,gravity=False", total=900, **SELF_PLAY)
    assert any(row["unbeatable"] for row in rows(said) if row["at"] < 900)
    assert said[-1] == {"kind": "End", "stopped": False, "proven": True}
    assert rows(said)[-1]["at"] == 900


def test_the_games_that_beat_a_learner_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    last = rows(train(tmp_path, monkeypatch, agent="QLearning", total=50))[-1]
    agent = QLearning.load(tmp_path / "agent.npz")
    beaten = [(0, last["beaten_first"]), (1, last["beaten_second"])]
    assert agent.num_episodes == 50 and any(line for _, line in beaten)
    for seat, line in beaten:
        position = Position.start("TicTacToe-v0")
        for action in Position.from_moves("TicTacToe-v0", line or "").moves:
            assert position.seat != seat or agent.act(position, 0) == action
            position = position.play(action)
        assert not line or (position.outcome is not None and position.outcome.winner == 1 - seat)


def test_reporting_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(tmp_path, monkeypatch, agent="Sarsa", total=300, seed=5)
    alone = (
        TrainingRequest(agent="Sarsa", total=300, seed=5)
        .plan.new_agent()
        .learn(total_episodes=300, progress_bar=False)
        .learned()
    )
    reported = Sarsa.load(tmp_path / "agent.npz").learned()
    assert reported.keys() == alone.keys()
    for name, array in alone.items():
        np.testing.assert_array_equal(reported[name], array)


def test_it_stops_when_it_is_asked_and_keeps_what_was_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = json.dumps({"agent": "MonteCarlo", "total": 1_000_000})
    said = train(tmp_path, monkeypatch, io.StringIO(f"{plan}\nstop\n"))
    assert said[-1]["stopped"] and rows(said)[-1]["at"] < 1_000_000
    assert (tmp_path / "agent.npz").is_file()


def test_errors_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = train(tmp_path, monkeypatch, agent="QLearning", total=-1)
    assert line["kind"] == "Failure" and "games" in line["reason"]


def test_a_large_game_is_judged_by_matches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    last = rows(train(tmp_path, monkeypatch, agent="QLearning", game="KInARow-v0:4x5-4", total=20))[-1]
    assert not last["exact"] and last["exploitability"] is None and sum(last["first"]) == pytest.approx(1)


def test_the_lesson_of_the_first_game_is_that_of_the_paper() -> None:
    """S1's figure 2: 0.5 to 0.55 (or 0.45) after the last move, a tenth of that before, and so on."""
    plan = TrainingRequest(agent="ValueTD", opponent=None).plan
    found = lesson(plan.new_agent(), plan)
    final = Position.from_moves("TicTacToe-v0", found.moves)
    assert final.outcome is not None
    if final.outcome.winner is not None:
        for seat in (0, 1):
            steps = [backup.after - 0.5 for backup in found.backups if backup.seat == seat]
            sign = 1 if seat == final.outcome.winner else -1
            assert steps == pytest.approx([sign * 0.5 * 0.1**power for power in range(1, len(steps) + 1)])


@pytest.mark.parametrize("learner", [QLearning, ValueTD, S0ValueTD], ids=lambda one: one.__name__)
def test_a_lesson_is_the_next_game_of_the_training(learner: Any) -> None:
    """The copy learns what the learner itself then learns, and the learner was not touched."""
    rule = {"verdict_every": 41, "start_afresh": 41} if learner is S0ValueTD else {}
    plan = TrainingRequest(agent=learner.__name__, opponent="random", seed=3, settings=rule).plan
    agent: Any = plan.new_agent()
    agent.learn(total_episodes=40, progress_bar=False)
    values = {name: str(array) for name, array in agent.learned().items()}
    found = lesson(agent, plan)
    assert found.at == 40
    assert {name: str(array) for name, array in agent.learned().items()} == values
    positions = [Position.start("TicTacToe-v0")]
    for action in Position.from_moves("TicTacToe-v0", found.moves).moves:
        positions.append(positions[-1].play(action))
    assert positions[-1].is_over
    assert not rule or {backup.after for backup in found.backups} != {0.5}  # the copy was not made to forget
    for backup in found.backups:
        assert backup.before != backup.after
        here = positions[backup.ply]
        if backup.move is not None:
            assert agent.values(here.own, here.opp)[int(backup.move) - 1] == backup.before
        else:
            first = here.stones[backup.seat], here.stones[1 - backup.seat]
            assert agent.value(backup.seat, *first) == backup.before


@pytest.mark.parametrize("game", ["TicTacToe-v0", "KInARow-v0:5x6-4"])
@pytest.mark.parametrize("name", trained("network"))
def test_itself_is_itself_on_every_game(name: str, game: str) -> None:
    pytest.importorskip("sb3_contrib")
    itself = TrainingRequest(agent=name, game=game, opponent=None).plan
    assert (itself.opponent, itself.discount, itself.seat) == (None, -1.0, "first")
    lesson = TrainingRequest(agent=name, game=game, opponent="rule", play_as="second").plan
    assert (lesson.opponent, lesson.seat, lesson.start) == ("rule", "second", "empty") and lesson.discount > 0


def test_an_n_tuple_network_makes_fewer_mistakes_as_it_learns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a game too large for a verdict: against known positions, perfect play and the levels."""
    monkeypatch.setattr(live_training, "PARTS", dict.fromkeys(live_training.PARTS, 10.0))  # however slow the machine
    small = {"tuples": 20, "length": 5}
    said = train(tmp_path, monkeypatch, **TUPLES, total=6_000, settings=small)
    curve = rows(said)
    assert len(curve) > 3 and curve[0]["at"] == 0 and curve[-1]["at"] == 6_000
    assert curve[-1]["mistakes"] < 0.75 * curve[0]["mistakes"]
    for seat in ("first", "second"):
        assert sum(curve[-1]["perfect"][seat]) == pytest.approx(1)
    levels = [line["level"] for line in said if line["kind"] == "BeatenLevel"]
    assert all(1 <= level <= 10 for level in levels) and levels
    assert NTupleTD.load(tmp_path / "agent.npz").num_games == 6_000


def test_the_position_that_is_watched_is_thought_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [{"agent": "QLearning", "total": 300, **SELF_PLAY}, {"watch": "51"}]
    source = Waiting("".join(json.dumps(line) + "\n" for line in lines))
    said = train(tmp_path, monkeypatch, source)
    seen = [line for line in said if line["kind"] == "WatchedThoughts"][-1]
    agent = QLearning.load(tmp_path / "agent.npz")
    here = Position.from_moves("TicTacToe-v0", "51")
    assert (seen["moves"], seen["at"]) == ("51", 300)
    values = {move["action"]: move["value"] for move in seen["thoughts"]["moves"]}
    assert values == agent.values(here.own, here.opp)


def test_work_beside_the_learning_keeps_to_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(live_training.time, "monotonic", lambda: now[0])
    allowance = Allowance()
    for _ in range(1000):
        now[0] += 0.1
        for kind in live_training.PARTS:
            if allowance.allows(kind):
                with allowance.spending(kind):
                    now[0] += 0.5
    spent = sum(allowance._spent.values())
    assert 0.15 * now[0] < spent < 0.25 * now[0]


def test_points_begin_at_once_and_what_is_slow_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first point is free; after one of 0.1 s, a twentieth of the time has to become as much."""
    now = [100.0]
    monkeypatch.setattr(live_training.time, "monotonic", lambda: now[0])
    allowance = Allowance()
    assert [kind for kind in live_training.PARTS if allowance.allows(kind)] == ["point", "save"]
    for allowed in (True, False):
        with allowance.spending("point"):
            now[0] += 0.1
        assert allowance.allows("point") == allowed
    now[0] += 2
    assert allowance.allows("point")


@pytest.mark.parametrize(("seconds", "told"), [(1e9, False), (-1.0, True)])
def test_progress_is_told_after_its_seconds(
    seconds: float, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_training, "PROGRESS_SECONDS", seconds)
    said = train(tmp_path, monkeypatch, agent="QLearning", total=60)
    assert any(line["kind"] == "Progress" for line in said) == told


@pytest.mark.parametrize("name", trained("network"))
def test_a_network_learns_in_whole_rollouts(name: str) -> None:
    """The total that is told beforehand is the one that is reached."""
    pytest.importorskip("sb3_contrib")
    plan = TrainingRequest(agent=name, opponent=None, total=50_000)
    rollouts = menu()["agents"][name]["rollouts"]
    rollout = rollouts[plan.game]
    assert 50_000 <= plan.total < 50_000 + rollout and plan.total % rollout == 0
    assert TrainingRequest.from_dict(plan.to_dict()) == plan
    assert (
        TrainingRequest(agent=name, opponent=None, game="KInARow-v0:5x6-4", total=1).total
        == menu()["agents"][name]["rollouts"][""]
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", trained("network"))
def test_networks_report_too(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sb3_contrib")
    said = train(tmp_path, monkeypatch, agent=name, opponent=None, total=2_000)
    assert said[-1]["kind"] == "End", said[-1]
    assert (tmp_path / "agent.zip").is_file() and len(rows(said)) > 2
    assert rows(said)[-1]["at"] == TrainingRequest(agent=name, opponent=None, total=2_000).total
