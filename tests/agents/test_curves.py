"""Curves show what the exact verdict says; a proof ends a run; presets learn what the documentation says."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled

from tictac_agents import GamesCurve, GameTree, LearningCurve, NTupleTD, QLearning, UntilProven, curves
from tictac_agents.curves import COLUMNS, EPISODE_COLUMNS
from tictac_agents.tabular.learner import Learner
from tictac_env.arena import verdict

TTT = "TicTacToe-v0"


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
    assert tuple(row) == EPISODE_COLUMNS
    assert row["timesteps"] == agent.num_timesteps
    assert row["exploitability"] == found.exploitability
    assert row["infallible"] == found.unbeatable
    for name, seat in (("first", found.as_first), ("second", found.as_second)):
        rates = [row[f"{result}_rate_{name}"] for result in ("win", "draw", "loss")]
        assert rates == list(seat.against_random)
        assert sum(rates) == pytest.approx(1)
    assert row["epsilon"] == 0.5
    seconds = [row["seconds"] for row in curve.rows]
    assert 0 < seconds[0] < seconds[1] < seconds[2]
    assert agent.tables.tobytes() == self_play(300, None).tables.tobytes(), "watching changed something"


def test_a_proofs_verdict_is_taken_over(judged: list[int]) -> None:
    proof = UntilProven(every=500)
    curve = LearningCurve(every=250, callback=proof)
    agent = self_play(9_000, curve)
    assert proof.proven and proof.judged_at == agent.num_episodes and agent.status == "exploitability 0.0000"
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


def test_without_success_it_starts_afresh() -> None:
    sizes: list[int] = []
    proof = UntilProven(every=20, start_afresh=60)

    def note(learner: QLearning) -> bool:
        continues = proof(learner)
        sizes.append(len(learner))
        return continues

    QLearning(TTT, seed=0).learn(total_episodes=100, callback=note, progress_bar=False)
    assert [number for number, size in enumerate(sizes, 1) if size == 0] == [60]


def test_the_callback_inside_is_always_called_and_can_end_the_run() -> None:
    seen: list[int] = []

    def stop(learner: Learner) -> bool:
        seen.append(learner.num_episodes)
        return learner.num_episodes < 7

    curve = LearningCurve(every=5, callback=stop)
    assert self_play(100, curve).num_episodes == 7
    assert seen == list(range(1, 8))
    assert [row["episodes"] for row in curve.rows] == [5, 7]


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


@pytest.mark.parametrize("start_afresh", [-1, 0.5, True, 700])
def test_impossible_cycles_are_named(start_afresh: Any) -> None:
    with pytest.raises(ValueError, match="start_afresh"):
        UntilProven(every=500, start_afresh=start_afresh)


# Runs counted in games


def pupil(game: str = TTT, **settings: Any) -> NTupleTD:
    return NTupleTD(game, **{"tuples": 6, "length": 5, "seed": 0} | settings)


def test_each_row_tells_how_the_run_goes() -> None:
    curve = GamesCurve(every=1_000)
    plies: list[tuple[int, int]] = []
    agent = pupil().learn(5_500, lambda one: plies.append((one.num_games, one.num_plies)) or curve(one))
    games = [row["games"] for row in curve.rows]
    assert len(games) == 6 and games[-1] == 5_500
    assert [count // 1_000 for count in games] == [1, 2, 3, 4, 5, 5]
    assert all(tuple(row) == COLUMNS for row in curve.rows)
    counted = dict(plies)
    for before, row in zip(curve.rows[:-1], curve.rows[1:], strict=True):
        played = row["games"] - before["games"]
        mean = (counted[row["games"]] - counted[before["games"]]) / played
        assert row["plies"] == pytest.approx(mean, abs=1e-3) and 2 < mean < 9
        assert row["seconds"] > before["seconds"] and row["step"] < before["step"]
        assert row["games_per_second"] > 100
    found, last = verdict(agent), curve.rows[-1]
    assert (last["exploitability"], last["infallible"]) == (found.exploitability, found.unbeatable)
    assert last["win_rate_second"] == found.as_second.against_random.wins
    assert np.array_equal(agent.network.weights, pupil().learn(5_500).network.weights), "watching changed something"


def test_a_run_that_is_ended_has_its_end_on_the_curve() -> None:
    curve = GamesCurve(every=10_000, callback=lambda agent: agent.num_games < 2_000)
    agent = pupil().learn(50_000, curve)
    assert agent.num_games < 50_000
    assert [row["games"] for row in curve.rows] == [agent.num_games]


def test_a_large_game_has_no_verdict_and_a_tree_no_step(tmp_path: Path) -> None:
    large, tree = GamesCurve(every=500), GamesCurve(every=100)
    pupil("ConnectFour-v0").learn(1_000, large)
    assert large.rows[-1]["exploitability"] is None and large.rows[-1]["plies"] > 7
    with pytest.raises(ValueError, match="no verdict to be drawn"):
        large.plot(tmp_path / "large.png")
    GameTree(TTT, seed=0).learn(300, tree)
    assert tree.rows[-1]["step"] is None and tree.rows[-1]["games"] == 300
    assert 0 <= tree.rows[-1]["exploitability"] <= 1


# Both


def both(folder: Path | None = None) -> list[Any]:
    """A curve of a run in episodes and one of a run in games, with a row without a verdict."""
    episodes = LearningCurve(every=100, tensorboard=folder and folder / "episodes")
    self_play(300, episodes)
    games = GamesCurve(every=500, tensorboard=folder and folder / "games")
    pupil("ConnectFour-v0").learn(1_500, games)
    return [episodes, games]


def test_csv_holds_the_rows(tmp_path: Path) -> None:
    for curve, columns in zip(both(), (EPISODE_COLUMNS, COLUMNS), strict=True):
        curve.save_csv(tmp_path / "curve.csv")
        with (tmp_path / "curve.csv").open(newline="") as file:
            rows = [{name: "" if row[name] is None else str(row[name]) for name in columns} for row in curve.rows]
            assert list(csv.DictReader(file)) == rows
        type(curve)(every=5).save_csv(tmp_path / "empty.csv")
        assert (tmp_path / "empty.csv").read_text() == ",".join(columns) + "\n"


def test_tensorboard_shows_the_rows(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for curve, first, counter in zip(both(tmp_path), (3, 2), ("timesteps", "games"), strict=True):
        columns = list(curve.rows[0])
        events = EventAccumulator(str(tmp_path / ("episodes" if counter == "timesteps" else "games")))
        events.Reload()
        shown = [name for name in columns[first:] if curve.rows[0][name] is not None]
        written = {f"charts/{name}" for name in shown} | ({"charts/SPS"} if counter == "timesteps" else set())
        assert set(events.Tags()["scalars"]) == written
        for name in shown:
            points = [(event.step, event.value) for event in events.Scalars(f"charts/{name}")]
            assert points == [(row[counter], pytest.approx(float(row[name]))) for row in curve.rows]


@pytest.mark.parametrize("every", [0, -1, 1.5, True])
def test_impossible_intervals_are_named(every: float) -> None:
    for callback in (UntilProven, LearningCurve, GamesCurve):
        with pytest.raises(ValueError, match="every"):
            callback(every=every)  # type: ignore[arg-type]


# Presets

MANY = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 20)]


@pytest.mark.parametrize("seed", [0, 1, *MANY])
def test_self_play_becomes_unbeatable_without_looking_and_ends_when_it_is_proven(seed: int) -> None:
    whole = QLearning.preset("self-play", seed=seed).learn(progress_bar=False)
    assert verdict(whole).unbeatable
    proof = UntilProven(every=500)
    agent = QLearning.preset("self-play", seed=seed).learn(callback=proof, progress_bar=False)
    assert proof.proven and verdict(agent).unbeatable and agent.num_episodes < whole.num_episodes


@pytest.mark.parametrize("seed", [0, *MANY])
def test_a_loss_counting_ten_times_cures_s2(seed: int) -> None:
    """Unbeatable on every seed, and within half a point of all that an unbeatable player can win."""
    found = verdict(QLearning.preset("infallible", seed=seed).learn(progress_bar=False))
    assert found.unbeatable
    assert found.as_first.against_random.wins == pytest.approx(0.99479, abs=0.005)
    assert found.as_second.against_random.wins == pytest.approx(0.91640, abs=0.005)
