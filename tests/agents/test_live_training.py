"""Trainings that the page shows: plans, the process, its curve, and games walked through."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tictac_agents import QLearning, S0ValueTD, ValueTD, live_training, trained
from tictac_agents.live_training import Plan, lesson, menu
from tictac_agents.train import new_agent
from tictac_env.arena import verdict
from tictac_env.position import Position

SELF_PLAY = {"opponent": None, "settings": {"learning_rate": [0.8, 0.4, 0.1], "epsilon": 0.5}}


def learner_of(plan: Plan) -> Any:
    return new_agent(plan.agent, plan.agent_settings(), plan.seed)


def rows(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in lines if line["kind"] == "row"]


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
            threading.Event().wait(60)
        return line


def test_what_is_offered_can_be_trained() -> None:
    """Every preset is a plan, and what a form sends back is the same plan."""
    offered = menu()["agents"]
    assert set(trained("table")) <= set(offered) <= set(trained("table", "network"))
    for name, agent in offered.items():
        for preset in agent["presets"].values():
            sent = json.loads(json.dumps(preset))
            assert json.loads(json.dumps(Plan.from_dict(sent).to_dict())) == sent and sent["agent"] == name


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
        ({"total": 0}, "total must be"),
        ({"total": 10**9}, "total must be"),
        ({"game": "ConnectFour-v0", "total": 500_000}, "total must be"),
        ({"seed": -1}, "seed"),
        ({"settings": {"epsilon": 2}}, "epsilon"),
        ({"settings": {"epsilom": 0.2}}, "did you mean epsilon"),
        ({"settings": {"learning_rate": "fast"}}, "learning_rate"),
        ({"settings": {"opponent": "program:true"}}, "a setting of the agent must be one of"),
        ({"rewards": [1]}, "rewards"),
        ({"length": 3}, "length"),
        ({"game": "ConnectFour-v0", "total": 9, "until_proven": True}, "until_proven"),
    ],
)
def test_plans_that_cannot_be_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Plan.from_dict(wrong)


def test_a_training_ends_when_it_is_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = train(tmp_path, monkeypatch, agent="QLearning", total=9_000, until_proven=True, **SELF_PLAY)
    assert said[-1] == {"kind": "end", "stopped": False, "proven": True}
    first, last = rows(said)[0], rows(said)[-1]
    assert first["beaten_first"] is not None and not first["infallible"]
    assert last["infallible"] and last["exploitability"] == 0
    assert verdict(QLearning.load(tmp_path / "agent.npz")).unbeatable


def test_a_training_that_is_not_to_end_at_the_proof_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = train(tmp_path, monkeypatch, game="KInARow-v0:2x3-3,gravity=False", total=900, **SELF_PLAY)
    assert any(row["infallible"] for row in rows(said) if row["at"] < 900)
    assert said[-1] == {"kind": "end", "stopped": False, "proven": True}
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
    alone = learner_of(Plan(agent="Sarsa", total=300, seed=5)).learn(total_episodes=300, progress_bar=False).learned()
    reported = type(learner_of(Plan(agent="Sarsa"))).load(tmp_path / "agent.npz").learned()
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
    assert line["kind"] == "error" and "total" in line["reason"]


def test_a_large_game_is_judged_by_matches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    last = rows(train(tmp_path, monkeypatch, agent="QLearning", game="KInARow-v0:4x5-4", total=20))[-1]
    assert not last["exact"] and last["exploitability"] is None and sum(last["first"]) == pytest.approx(1)


def test_the_lesson_of_the_first_game_is_that_of_the_paper() -> None:
    """S1's figure 2: 0.5 to 0.55 (or 0.45) after the last move, a tenth of that before, and so on."""
    plan = Plan(agent="ValueTD", opponent=None)
    found = lesson(learner_of(plan), plan.agent_settings().env())
    final = Position.from_moves("TicTacToe-v0", found["moves"])
    assert final.outcome is not None
    if final.outcome.winner is not None:
        for seat in (0, 1):
            steps = [backup["after"] - 0.5 for backup in found["backups"] if backup["seat"] == seat]
            sign = 1 if seat == final.outcome.winner else -1
            assert steps == pytest.approx([sign * 0.5 * 0.1**power for power in range(1, len(steps) + 1)])


@pytest.mark.parametrize("learner", [QLearning, ValueTD, S0ValueTD], ids=lambda one: one.__name__)
def test_a_lesson_is_the_next_game_of_the_training(learner: Any) -> None:
    """The copy learns what the learner itself then learns, and the learner was not touched."""
    rule = {"verdict_every": 41, "start_afresh": 41} if learner is S0ValueTD else {}
    plan = Plan(agent=learner.__name__, opponent="random", seed=3, settings=rule)
    agent: Any = learner_of(plan)
    agent.learn(total_episodes=40, progress_bar=False)
    values = {name: str(array) for name, array in agent.learned().items()}
    found = lesson(agent, plan.agent_settings().env())
    assert found["at"] == 40
    assert {name: str(array) for name, array in agent.learned().items()} == values
    positions = [Position.start("TicTacToe-v0")]
    for action in Position.from_moves("TicTacToe-v0", found["moves"]).moves:
        positions.append(positions[-1].play(action))
    assert positions[-1].is_over
    assert not rule or {backup["after"] for backup in found["backups"]} != {0.5}  # the copy was not made to forget
    for backup in found["backups"]:
        assert backup["before"] != backup["after"]
        here = positions[backup["ply"]]
        if backup["move"] is not None:
            assert agent.values(here.own, here.opp)[int(backup["move"]) - 1] == backup["before"]
        else:
            first = here.stones[backup["seat"]], here.stones[1 - backup["seat"]]
            assert agent.value(backup["seat"], *first) == backup["before"]


@pytest.mark.parametrize("game", ["TicTacToe-v0", "KInARow-v0:5x6-4"])
@pytest.mark.parametrize("name", trained("network"))
def test_itself_is_itself_on_every_game(name: str, game: str) -> None:
    pytest.importorskip("sb3_contrib")
    itself = Plan(agent=name, game=game, opponent=None).agent_settings()
    assert (itself.opponent, itself.discount, itself.seat) == (None, -1.0, "first")
    lesson = Plan(agent=name, game=game, opponent="rule", play_as="second").agent_settings()
    assert (lesson.opponent, lesson.seat, lesson.start) == ("rule", "second", "empty") and lesson.discount > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", trained("network"))
def test_networks_report_too(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sb3_contrib")
    said = train(tmp_path, monkeypatch, agent=name, opponent=None, total=2_000)
    assert said[-1]["kind"] == "end", said[-1]
    assert (tmp_path / "agent.zip").is_file() and len(rows(said)) > 2
