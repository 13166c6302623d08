"""Curves of the agents that learn from games of their own tell how the run goes, and change nothing."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tictac_agents import GamesCurve, GameTree, NTupleTD
from tictac_agents.curves import COLUMNS
from tictac_env.arena import verdict

TTT = "TicTacToe-v0"


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
    assert (last["exploitability"], last["infallible"]) == (found.exploitability, found.infallible)
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
    large.save_csv(tmp_path / "large.csv")
    with (tmp_path / "large.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["games"] for row in rows] == [str(row["games"]) for row in large.rows]
    assert rows[-1]["exploitability"] == ""


def test_tensorboard_shows_the_rows(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    curve = GamesCurve(every=1_000, tensorboard=tmp_path)
    pupil().learn(3_000, curve)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert set(events.Tags()["scalars"]) == {f"charts/{name}" for name in COLUMNS[2:]}
    for name in ("step", "exploitability", "plies"):
        points = [(event.step, event.value) for event in events.Scalars(f"charts/{name}")]
        told = [(row["games"], pytest.approx(float(row[name]))) for row in curve.rows if row[name] is not None]
        assert points == told


def test_impossible_settings_are_named() -> None:
    for every in (0, 1.5, True):
        with pytest.raises(ValueError, match="every"):
            GamesCurve(every=every)
