"""Learning curves say what the exact verdict says, once for each point, and a proof ends a run exactly."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gymnasium.error import DependencyNotInstalled

from tictac_agents import LearningCurve, QLearning, UntilProven, curves
from tictac_agents.curves import EPISODE_COLUMNS as COLUMNS
from tictac_agents.tabular.learner import Learner
from tictac_env.arena import verdict


def self_play(episodes: int, callback: Any, seed: int = 0) -> QLearning:
    return QLearning.preset("self-play", seed=seed).learn(
        total_episodes=episodes, callback=callback, progress_bar=False
    )


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The episodes at which verdicts are asked for."""
    episodes: list[int] = []

    def watched(learner: Any, game: Any) -> Any:
        episodes.append(learner.num_episodes)
        return verdict(learner, game)

    monkeypatch.setattr(curves, "verdict", watched)
    return episodes


def test_each_row_is_the_exact_truth() -> None:
    curve = LearningCurve(every=100)
    agent = self_play(300, curve)
    found = verdict(agent)
    row = curve.rows[-1]
    assert [row["episodes"] for row in curve.rows] == [100, 200, 300]
    assert tuple(row) == COLUMNS
    assert row["timesteps"] == agent.num_timesteps
    assert row["exploitability"] == found.exploitability
    assert row["infallible"] == found.infallible
    for name, seat in (("first", found.as_first), ("second", found.as_second)):
        rates = [row[f"{result}_rate_{name}"] for result in ("win", "draw", "loss")]
        assert rates == list(seat.against_random)
        assert sum(rates) == pytest.approx(1)
    assert row["epsilon"] == 0.5
    seconds = [row["seconds"] for row in curve.rows]
    assert 0 < seconds[0] < seconds[1] < seconds[2]


def test_a_proofs_verdict_is_taken_over(judged: list[int]) -> None:
    proof = UntilProven(every=500)
    curve = LearningCurve(every=250, callback=proof)
    agent = self_play(9_000, curve)
    assert proof.proven and proof.judged_at == agent.num_episodes
    assert judged == list(range(250, agent.num_episodes + 1, 250))
    assert [row["episodes"] for row in curve.rows] == judged
    assert [row["infallible"] for row in curve.rows[1::2]] == [False] * (len(curve.rows) // 2 - 1) + [True]


def test_the_end_is_on_the_curve_wherever_it_comes(judged: list[int]) -> None:
    curve = LearningCurve(every=1_000, callback=UntilProven(every=500))
    agent = self_play(9_000, curve)
    assert agent.num_episodes % 1_000 == 500  # else choose another seed
    assert curve.rows[-1]["episodes"] == agent.num_episodes
    assert curve.rows[-1]["infallible"]
    assert judged == list(range(500, agent.num_episodes + 1, 500))


def test_a_row_tells_of_the_learner_before_it_forgot() -> None:
    curve = LearningCurve(every=300, callback=UntilProven(every=300, start_afresh=300))
    agent = self_play(300, curve)
    assert len(agent) == 0
    assert curve.rows[0]["win_rate_first"] != verdict(agent).as_first.against_random.wins


def test_the_callback_inside_is_always_called_and_can_end_the_run() -> None:
    seen: list[int] = []

    def stop(learner: Learner) -> bool:
        seen.append(learner.num_episodes)
        return learner.num_episodes < 7

    curve = LearningCurve(every=5, callback=stop)
    assert self_play(100, curve).num_episodes == 7
    assert seen == list(range(1, 8))
    assert [row["episodes"] for row in curve.rows] == [5, 7]


def test_watching_changes_nothing() -> None:
    watched, alone = self_play(400, LearningCurve(every=50)), self_play(400, None)
    assert watched.tables.tobytes() == alone.tables.tobytes()


def test_csv_holds_the_rows(tmp_path: Path) -> None:
    curve = LearningCurve(every=100)
    curve.save_csv(tmp_path / "empty.csv")
    assert (tmp_path / "empty.csv").read_text() == ",".join(COLUMNS) + "\n"
    self_play(200, curve)
    curve.save_csv(tmp_path / "curve.csv")
    with (tmp_path / "curve.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == [{name: str(row[name]) for name in COLUMNS} for row in curve.rows]


def test_tensorboard_shows_the_rows(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    curve = LearningCurve(every=100, tensorboard=tmp_path)
    self_play(300, curve)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert set(events.Tags()["scalars"]) == {f"charts/{name}" for name in (*COLUMNS[3:], "SPS")}
    for name in COLUMNS[3:]:
        points = [(event.step, event.value) for event in events.Scalars(f"charts/{name}")]
        assert points == [(row["timesteps"], pytest.approx(float(row[name]))) for row in curve.rows]
    speeds = [event.value for event in events.Scalars("charts/SPS")]
    assert len(speeds) == 3 and all(100 < speed < 1e7 for speed in speeds)


@pytest.mark.parametrize(("missing", "extra"), [("matplotlib", "plot"), ("torch.utils.tensorboard", "rl")])
def test_what_is_missing_is_named(missing: str, extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(sys.modules):
        if name.startswith(f"{missing}."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    asked: Callable[[], object] = {
        "plot": lambda: LearningCurve().plot(tmp_path / "curve.png"),
        "rl": lambda: LearningCurve(tensorboard=tmp_path / "events"),
    }[extra]
    with pytest.raises(DependencyNotInstalled, match=rf'pip install "tictac-env\[{extra}\]"'):
        asked()
    assert not list(tmp_path.iterdir())


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    image = pytest.importorskip("matplotlib.image")
    curve = LearningCurve(every=50)
    self_play(300, curve)
    curve.plot(tmp_path / "curve.png")
    pixels = image.imread(tmp_path / "curve.png")
    assert min(pixels.shape[:2]) > 400
    assert len({tuple(colour) for colour in pixels.reshape(-1, pixels.shape[2])[::7].tolist()}) > 20


def test_a_run_ends_at_the_first_infallible_verdict() -> None:
    verdicts: list[bool] = []

    def look(learner: Learner) -> bool:
        if learner.num_episodes % 500 == 0:
            verdicts.append(verdict(learner).infallible)
        return learner.num_episodes < agent.num_episodes

    for seed in (1, 2):
        verdicts.clear()
        agent = self_play(9_000, UntilProven(every=500), seed)
        assert self_play(9_000, look, seed).tables.tobytes() == agent.tables.tobytes()
        assert verdicts == [False] * (len(verdicts) - 1) + [True]
        assert agent.status == "exploitability 0.0000"


@pytest.mark.parametrize("start_afresh", [-1, 0.5, True, 700])
def test_impossible_cycles_are_named(start_afresh: Any) -> None:
    with pytest.raises(ValueError, match="start_afresh"):
        UntilProven(every=500, start_afresh=start_afresh)


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
