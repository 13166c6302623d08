"""Curves show what the exact verdict says; a proof ends a run; presets learn what the documentation says."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled

from tictac_agents import GamesCurve, GameTree, LearningCurve, NTupleTD, QLearning, UntilProven, curves
from tictac_agents.curves import COLUMNS, EPISODE_COLUMNS, JUDGED, against_perfect, mistakes, part_of
from tictac_agents.tabular.learner import Learner
from tictac_env.arena import Suite, verdict
from tictac_env.games import GAMES, KInARow, get_game
from tictac_env.position_batch import PositionBatch

TTT = "TicTacToe-v0"


RANDOM = (0.5, 0.25, 0.25), (0.375, 0.125, 0.5)
"""Results against random play of a verdict made up, as the first and the second player."""
BEST = (0.25, 0.5, 0.25), (0.0, 0.75, 0.25)
"""Results against the best replies."""


@dataclass
class Pupil:
    """A learner whose numbers the test sets."""

    game: Any = GAMES[TTT]
    num_games: int = 0
    num_plies: int = 0
    num_episodes: int = 0
    num_timesteps: int = 0
    is_done: bool = False
    step_now: float = 0.5
    status: str = ""
    forgotten: list[int] = field(default_factory=list)

    def forget(self) -> None:
        self.forgotten.append(self.num_episodes)

    def scheduled(self, value: float) -> float:
        return value


class Clock:
    """The time of the wall and of the processor; to judge a learner takes 100 seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, unbeatable: Iterator[bool]) -> None:
        self.now = 0.0
        self.unbeatable = unbeatable
        monkeypatch.setattr(curves, "time", SimpleNamespace(perf_counter=self.read, process_time=self.read))
        monkeypatch.setattr(curves, "verdict", self.judge)

    def read(self) -> float:
        return self.now

    def judge(self, learner: Any, game: Any) -> Any:
        self.now += 100
        first, second = (SimpleNamespace(against_random=RANDOM[i], against_best=BEST[i]) for i in (0, 1))
        unbeatable = next(self.unbeatable)
        return SimpleNamespace(exploitability=0.375, unbeatable=unbeatable, as_first=first, as_second=second)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch, iter([False] * 9))


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


def test_the_picture_shows_each_judged_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    image = pytest.importorskip("matplotlib.image")
    drawn: list[Any] = []
    save = curves.save_figure
    monkeypatch.setattr(curves, "save_figure", lambda figure, path: (drawn.append(figure), save(figure, path)))
    curve = LearningCurve()
    for episodes in (10, 20, 30):
        judged = (episodes / 100, *(rate + episodes / 1000 for rates in RANDOM for rate in rates), False)
        curve.rows.append({"episodes": episodes, **dict(zip(JUDGED, judged, strict=True))})
    curve.rows[1]["exploitability"] = None  # a row that was not judged
    curve.plot(tmp_path / "curve.png")
    assert min(image.imread(tmp_path / "curve.png").shape[:2]) > 400
    [figure] = drawn
    upper, lower = figure.axes
    [line] = upper.lines
    assert line.get_xydata().tolist() == [[10, 0.1], [30, 0.3]]
    shown = {line.get_label(): line.get_xydata().tolist() for line in lower.lines}
    assert shown == {
        f"{result} as {seat}": [[x, pytest.approx(100 * (RANDOM[number][column] + x / 1000))] for x in (10, 30)]
        for number, seat in enumerate(("first", "second"))
        for result, column in (("win", 0), ("loss", 2))
    }
    assert len({(line.get_color(), line.get_linestyle()) for line in lower.lines}) == 4, "two lines look alike"


@pytest.mark.parametrize("start_afresh", [-1, 0.5, True, 700])
def test_impossible_cycles_are_named(start_afresh: Any) -> None:
    with pytest.raises(ValueError, match="start_afresh"):
        UntilProven(every=500, start_afresh=start_afresh)


@pytest.mark.parametrize(("start_afresh", "forgotten"), [(0, []), (40, [40, 80]), (20, [20, 40, 60, 80])])
def test_a_proof_judges_at_each_multiple_and_lets_forget_what_was_not_proven(
    start_afresh: int, forgotten: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    Clock(monkeypatch, iter([False] * 4 + [True]))
    learner, proof = Pupil(), UntilProven(20, start_afresh)
    continues, judged = [], []
    for learner.num_episodes in range(10, 110, 10):
        continues.append(proof(learner))  # type: ignore[arg-type]
        judged.append(proof.judged_at)
    assert continues == [True] * 9 + [False] and learner.forgotten == forgotten
    assert judged == [-1, 20, 20, 40, 40, 60, 60, 80, 80, 100]
    assert proof.proven and learner.status == "exploitability 0.3750"


def test_seconds_and_speed_leave_judging_out(clock: Clock) -> None:
    curve, learner = LearningCurve(every=10), Pupil()
    written: list[tuple[str, float, int]] = []
    curve._writer = SimpleNamespace(add_scalar=lambda *values: written.append(values), flush=lambda: None)
    for clock.now, learner.num_episodes, learner.num_timesteps in (
        (5.0, 1, 7),  # begins the clock and the count of steps
        (9.0, 10, 67),
        (113.0, 12, 80),
        (117.0, 20, 127),
    ):
        curve(learner)  # type: ignore[arg-type]
    told = [(row["episodes"], row["timesteps"], row["seconds"], row["epsilon"]) for row in curve.rows]
    assert told == [(10, 67, 4.0, 0.0), (20, 127, 12.0, 0.0)]
    assert [values for values in written if values[0] == "charts/SPS"] == [
        ("charts/SPS", 15.0, 67),
        ("charts/SPS", 10.0, 127),
    ]
    rates = dict(zip(JUDGED, (0.375, *RANDOM[0], *RANDOM[1], False), strict=True))
    assert {name: curve.rows[0][name] for name in JUDGED} == rates
    names = [name for name, _, at in written if at == 127]
    assert sorted(names) == sorted(f"charts/{name}" for name in ("epsilon", *JUDGED, "SPS"))


# Runs counted in games


def pupil(game: str = TTT, **settings: Any) -> NTupleTD:
    return NTupleTD(game, **{"tuples": 6, "length": 5, "seed": 0} | settings)


def test_each_row_tells_how_the_run_goes() -> None:
    curve = GamesCurve(every=1_000)
    agent = pupil().learn(5_500, curve)
    games = [row["games"] for row in curve.rows]
    assert len(games) == 6 and games[-1] == 5_500
    assert [count // 1_000 for count in games] == [1, 2, 3, 4, 5, 5]
    assert all(tuple(row) == COLUMNS for row in curve.rows)
    for before, row in zip(curve.rows[:-1], curve.rows[1:], strict=True):
        assert row["seconds"] > before["seconds"] and row["step"] < before["step"]
        assert 2 < row["plies"] < 9 and row["games_per_second"] > 100
    found, last = verdict(agent), curve.rows[-1]
    assert (last["exploitability"], last["infallible"]) == (found.exploitability, found.unbeatable)
    assert last["win_rate_second"] == found.as_second.against_random.wins
    assert np.array_equal(agent.network.weights, pupil().learn(5_500).network.weights), "watching changed something"


def test_a_run_that_is_ended_has_its_end_on_the_curve() -> None:
    curve = GamesCurve(every=10_000, callback=lambda agent: agent.num_games < 2_000)
    agent = pupil().learn(50_000, curve)
    assert 2_000 <= agent.num_games < 50_000
    assert [row["games"] for row in curve.rows] == [agent.num_games]


def test_rows_count_from_the_last_row_and_leave_judging_out(clock: Clock) -> None:
    curve, learner = GamesCurve(every=10), Pupil()
    for clock.now, learner.num_games, learner.num_plies, learner.is_done in (
        (5.0, 4, 20, False),
        (9.0, 12, 68, False),  # 8 games and 48 plies in 4 seconds; then it is judged
        (110.0, 15, 90, False),
        (120.0, 23, 145, False),  # 11 games and 77 plies in the 11 seconds since
        (223.0, 25, 160, True),  # not a multiple, but the end
    ):
        assert curve(learner)  # type: ignore[arg-type]
    names = ("games", "seconds", "games_per_second", "plies", "step")
    assert [tuple(row[name] for name in names) for row in curve.rows] == [
        (12, 4.0, 2.0, 6.0, 0.5),
        (23, 15.0, 1.0, 7.0, 0.5),
        (25, 18.0, 0.7, 7.5, 0.5),
    ]
    row = curve.rows[0]
    assert (row["points_first"], row["points_second"]) == (0.5, 0.375)
    assert (row["exploitability"], row["infallible"], row["mistakes"]) == (0.375, False, None)
    assert [row[f"{result}_rate_second"] for result in ("win", "draw", "loss")] == list(RANDOM[1])


def test_a_row_at_the_first_call_has_no_speed(clock: Clock) -> None:
    """No games lie between the first call and the row: a run that is shorter than the learner's calls."""
    curve = GamesCurve(every=10)
    curve(Pupil(num_games=12, num_plies=80, is_done=True))  # type: ignore[arg-type]
    [row] = curve.rows
    assert (row["games"], row["games_per_second"], row["plies"], row["seconds"]) == (12, None, None, 0.0)


@pytest.mark.parametrize("until_proven", [False, True])
def test_a_run_ends_with_the_proof_if_that_is_asked_for(until_proven: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, iter([False, True]))
    curve, learner = GamesCurve(every=10, until_proven=until_proven), Pupil()
    continues = []
    for learner.num_games in (9, 10, 19, 20):
        clock.now += 1
        continues.append(curve(learner))  # type: ignore[arg-type]
    assert continues == [True, True, True, not until_proven] and curve.proven


def test_a_large_game_is_judged_by_its_mistakes_and_by_games_that_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    large, asked = get_game("ConnectFour-v0"), []

    def results(*arguments: Any, **options: Any) -> Any:
        asked.append((arguments[1:], options))
        first, second = (SimpleNamespace(shares=shares) for shares in BEST)
        return SimpleNamespace(as_first=first, as_second=second, exact=False)

    monkeypatch.setattr(curves, "exact_results", results)
    monkeypatch.setattr(curves, "mistakes", lambda agent, game: 0.125)
    learner: Any = Pupil(game=large, num_games=5)
    curves_of = [GamesCurve(every=5), GamesCurve(every=5, perfect_games=30)]
    for curve in curves_of:
        curve(learner)
    (without,), (row,) = (curve.rows for curve in curves_of)
    assert (without["mistakes"], without["points_first"], without["exploitability"]) == (0.125, None, None)
    assert (row["mistakes"], row["points_first"], row["points_second"]) == (0.125, 0.5, 0.375)
    assert asked == [(("perfect", large), {"max_positions": 1, "games": 30, "progress": False})]
    shares = against_perfect(learner, large, 7, 8)
    assert shares == {"first": list(BEST[0]), "second": list(BEST[1]), "exact": False}
    assert asked[1][1] == {"max_positions": 7, "games": 8, "progress": False}


def test_a_part_of_a_suite_is_spread_over_it() -> None:
    stones, scores = 1 << np.arange(5), np.arange(45, dtype=np.int16).reshape(5, 9)
    whole = Suite("five", PositionBatch(GAMES[TTT], stones, 2 * stones), scores)
    for count in (5, 6):
        assert part_of(whole, count) is whole
    part = part_of(whole, 3)
    assert part.name == "3 of five" and np.array_equal(part.scores, scores[::2])
    assert part.positions.own.tolist() == [1, 4, 16] and part.positions.opp.tolist() == [2, 8, 32]


def test_a_large_game_has_no_verdict_and_a_tree_no_step(tmp_path: Path) -> None:
    large, tree = GamesCurve(every=500), GamesCurve(every=100)
    pupil("ConnectFour-v0").learn(1_000, large)
    assert large.rows[-1]["exploitability"] is None and large.rows[-1]["plies"] > 7
    assert 0 < large.rows[-1]["mistakes"] < 1
    assert mistakes("random", KInARow.make(4, 4, 3, False)) is None, "a game without a suite"
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
