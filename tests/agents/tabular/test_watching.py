"""Callbacks that watch a run by the exact verdict, and what was learned as text and picture."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tictac_agents import LearningCurve, QLearning, UntilProven, ValueTD
from tictac_agents.value_display import game_text, values_picture, values_text
from tictac_env.position import Position


def test_a_run_ends_at_the_first_proof() -> None:
    proof = UntilProven(every=500)
    agent = QLearning.preset("self-play", seed=0).learn(total_episodes=9_000, callback=proof, progress_bar=False)
    assert proof.proven
    assert proof.verdict is not None and proof.verdict.infallible
    assert agent.num_episodes % 500 == 0 and agent.num_episodes < 9_000


def test_without_success_it_starts_afresh() -> None:
    sizes = []

    def note(learner: QLearning) -> bool:
        goes_on = proof(learner)
        sizes.append(len(learner))
        return goes_on

    proof = UntilProven(every=20, start_afresh=60)
    QLearning("TicTacToe-v0", seed=0).learn(total_episodes=100, callback=note, progress_bar=False)
    assert sizes[59] == 0 < sizes[58]
    assert (
        "exploitability"
        in QLearning("TicTacToe-v0").learn(total_episodes=20, callback=UntilProven(every=20), progress_bar=False).status
    )


@pytest.mark.parametrize("every", [0, -1, 1.5, True])
def test_impossible_intervals_are_named(every: float) -> None:
    for callback in (UntilProven, LearningCurve):
        with pytest.raises(ValueError, match="every"):
            callback(every=every)  # type: ignore[arg-type]


def test_a_curve_is_kept_as_rows_csv_picture_and_events(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    curve = LearningCurve(every=500, tensorboard=tmp_path / "events", callback=UntilProven(every=500))
    QLearning.preset("self-play", seed=0).learn(total_episodes=9_000, callback=curve, progress_bar=False)
    assert curve.rows[-1]["infallible"] and not curve.rows[0]["infallible"]
    assert curve.rows[-1]["exploitability"] == 0 < curve.rows[0]["exploitability"]
    curve.save_csv(tmp_path / "curve.csv")
    with (tmp_path / "curve.csv").open(newline="") as file:
        assert [int(row["episodes"]) for row in csv.DictReader(file)] == [row["episodes"] for row in curve.rows]
    curve.plot(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    events = b"".join(path.read_bytes() for path in (tmp_path / "events").iterdir())
    assert b"charts/exploitability" in events and b"charts/SPS" in events


def test_the_values_of_all_moves_are_shown(tmp_path: Path) -> None:
    agent = QLearning.preset("S2", seed=0).learn(total_episodes=500, progress_bar=False)
    position = Position.from_moves("TicTacToe-v0", "51")
    text = values_text(agent, position)
    best = agent.best_action(position.own, position.opp, position.legal_actions)
    value = agent.values(position.own, position.opp)[best]
    assert f"{value:+.3f}*" in text
    assert text.count("X") >= 1 and text.count("O") >= 1
    values_picture(agent, position, tmp_path / "heat.png")
    assert (tmp_path / "heat.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="over"):
        values_text(agent, Position.from_moves("TicTacToe-v0", "14253"))


def test_a_training_game_is_told_as_s1s_figure_2() -> None:
    """Worked example 5."""
    text = game_text(ValueTD.preset("S1", seed=0), "732689")
    codes = ("729", "747", "750", "1236", "3423", "16545")
    assert all(code in text for code in codes)
    assert [text.index(code) for code in codes] == sorted(text.index(code) for code in codes)
    for value in ("0.4500000", "0.4950000", "0.4999995", "0.5500000", "0.5050000"):
        assert value in text
