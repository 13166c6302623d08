"""Curves show what the exact verdict says; a proof ends a run; presets learn what the documentation says."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled

from tictac_agents import GameTree, Judge, LearningCurve, NTupleTD, QLearning, curves, judge
from tictac_agents.curves import COLUMNS, PROGRESS, CurveRow
from tictac_agents.judge import Judgement, part_of
from tictac_agents.settings import Settings
from tictac_agents.tabular.learner import Learner
from tictac_env.arena import Suite, WinDrawLoss, verdict
from tictac_env.games import GAMES, KInARow, get_game
from tictac_env.policies import make_policy
from tictac_env.position import IllegalMove
from tictac_env.position_batch import PositionBatch

TTT = "TicTacToe-v0"


RANDOM = WinDrawLoss(0.5, 0.25, 0.25), WinDrawLoss(0.375, 0.125, 0.5)
"""Results against random play of a judgement made up, as the first and the second player."""
BEST = WinDrawLoss(0.25, 0.5, 0.25), WinDrawLoss(0.0, 0.75, 0.25)
"""Results against the best replies."""


@dataclass
class Pupil:
    """A learner whose numbers the test sets, counted in episodes."""

    game: Any = GAMES[TTT]
    num_episodes: int = 0
    num_timesteps: int = 0
    is_done: bool = False
    status: str = ""
    settings: Settings = field(default_factory=Settings)
    forgotten: list[int] = field(default_factory=list)

    def forget(self) -> None:
        self.forgotten.append(self.num_episodes)


@dataclass
class GamesPupil:
    """A learner whose numbers the test sets, counted in games of its own."""

    game: Any = GAMES[TTT]
    num_games: int = 0
    num_plies: int = 0
    is_done: bool = False
    step_now: float = 0.5


class Clock:
    """The time of the wall and of the processor; to judge a learner takes 100 seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, unbeatable: Iterator[bool]) -> None:
        self.now = 0.0
        self.unbeatable = unbeatable
        monkeypatch.setattr(curves, "time", SimpleNamespace(perf_counter=self.read, process_time=self.read))
        monkeypatch.setattr(judge, "verdict", self.judge)

    def read(self) -> float:
        return self.now

    def judge(self, learner: Any, game: Any, seed: int) -> Any:
        self.now += 100
        first, second = (SimpleNamespace(against_random=RANDOM[i], against_perfect=BEST[i]) for i in (0, 1))
        unbeatable = next(self.unbeatable)
        return SimpleNamespace(exploitability=0.375, unbeatable=unbeatable, as_first=first, as_second=second)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch, iter([False] * 9))


def self_play(episodes: int, callback: Any, seed: int = 0) -> QLearning:
    return QLearning.preset("self-play", seed=seed).learn(
        total_episodes=episodes, callback=callback, progress_bar=False
    )


def test_each_row_is_the_exact_truth() -> None:
    curve = LearningCurve(every=100)
    agent = self_play(300, curve)
    truth, row = verdict(agent), curve.rows[-1]
    assert [row.games for row in curve.rows] == [100, 200, 300]
    assert (row.timesteps, row.epsilon, row.step) == (agent.num_timesteps, 0.5, None)
    assert row.judgement.verdict == truth
    assert (row.judgement.exploitability, row.judgement.unbeatable) == (truth.exploitability, truth.unbeatable)
    assert row.judgement.against_random == (truth.as_first.against_random, truth.as_second.against_random)
    assert row.judgement.against_perfect == (truth.as_first.against_perfect, truth.as_second.against_perfect)
    assert row.judgement.exact and row.judgement.mistakes is None
    seconds = [row.seconds for row in curve.rows]
    assert 0 < seconds[0] < seconds[1] < seconds[2]
    assert agent.tables.tobytes() == self_play(300, None).tables.tobytes(), "watching changed something"


def test_the_end_is_on_the_curve_wherever_it_comes() -> None:
    proof = LearningCurve(every=500, until_proven=True)
    agent = self_play(9_000, proof)
    assert proof.proven and agent.status == "exploitability 0.0000" and agent.num_episodes < 9_000
    assert [row.games for row in proof.rows] == list(range(500, agent.num_episodes + 1, 500))
    assert [row.judgement.unbeatable for row in proof.rows] == [False] * (len(proof.rows) - 1) + [True]
    whole = LearningCurve(every=200)
    self_play(500, whole)
    assert [row.games for row in whole.rows] == [200, 400, 500]


def test_a_run_that_continues_has_rows_of_its_own_games() -> None:
    agent = self_play(300, None)
    curve = LearningCurve(every=200)
    agent.learn(total_episodes=300, callback=curve, progress_bar=False)
    assert [row.games for row in curve.rows] == [400, 600]


def test_a_row_tells_of_the_learner_before_it_forgot() -> None:
    curve = LearningCurve(every=300, until_proven=True, start_afresh=300)
    agent = self_play(300, curve)
    assert len(agent) == 0
    assert curve.rows[0].judgement.against_random != LearningCurve().add(agent).judgement.against_random


def test_the_callback_inside_is_always_called_and_can_end_the_run() -> None:
    seen: list[int] = []

    def stop(learner: Learner) -> bool:
        seen.append(learner.num_episodes)
        return learner.num_episodes < 7

    curve = LearningCurve(every=5, callback=stop)
    assert self_play(100, curve).num_episodes == 7
    assert seen == list(range(1, 8))
    assert [row.games for row in curve.rows] == [5, 7]


def test_a_proof_is_not_awaited_on_a_game_too_large_for_it() -> None:
    with pytest.raises(ValueError, match="until_proven needs a game of at most 12 cells, not one of 42"):
        QLearning("ConnectFour-v0", seed=0).learn(1, LearningCurve(1, until_proven=True), progress_bar=False)


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


def row_of(games: int, judgement: Judgement) -> CurveRow:
    return CurveRow(games=games, timesteps=5 * games, seconds=1.0, judgement=judgement)


def test_the_picture_shows_each_judged_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    image = pytest.importorskip("matplotlib.image")
    drawn: list[Any] = []
    save = curves.save_figure
    monkeypatch.setattr(curves, "save_figure", lambda figure, path: (drawn.append(figure), save(figure, path)))
    curve, truth = LearningCurve(), verdict("random", TTT)
    for games in (10, 20, 30):
        results = tuple(WinDrawLoss(*(share + games / 1000 for share in shares)) for shares in RANDOM)
        judgement = Judgement(truth, against_random=results)  # type: ignore[arg-type]
        curve.rows.append(row_of(games, judgement if games != 20 else replace(judgement, verdict=None)))
    curve.plot(tmp_path / "curve.png")
    assert min(image.imread(tmp_path / "curve.png").shape[:2]) > 400
    [figure] = drawn
    upper, lower = figure.axes
    [line] = upper.lines
    assert line.get_xydata().tolist() == [[10, truth.exploitability], [30, truth.exploitability]]
    shown = {line.get_label(): line.get_xydata().tolist() for line in lower.lines}
    assert shown == {
        f"{result} as {seat}": [[x, pytest.approx(100 * (RANDOM[number][column] + x / 1000))] for x in (10, 30)]
        for number, seat in enumerate(("first", "second"))
        for result, column in (("wins", 0), ("losses", 2))
    }
    assert len({(line.get_color(), line.get_linestyle()) for line in lower.lines}) == 4, "two lines look alike"


@pytest.mark.parametrize("start_afresh", [-1, 0.5, True, 700])
def test_impossible_cycles_are_named(start_afresh: Any) -> None:
    with pytest.raises(ValueError, match="start_afresh"):
        LearningCurve(every=500, start_afresh=start_afresh)


@pytest.mark.parametrize(("start_afresh", "forgotten"), [(0, []), (40, [40, 80]), (20, [20, 40, 60, 80])])
def test_a_proof_judges_at_each_multiple_and_lets_forget_what_was_not_proven(
    start_afresh: int, forgotten: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    Clock(monkeypatch, iter([False] * 4 + [True]))
    learner, proof = Pupil(), LearningCurve(20, True, start_afresh)
    continues, judged = [], []
    for learner.num_episodes in range(10, 110, 10):
        continues.append(proof(learner))
        judged.append(len(proof.rows))
    assert continues == [True] * 9 + [False] and learner.forgotten == forgotten
    assert judged == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5]
    assert proof.proven and learner.status == "exploitability 0.3750"


def test_seconds_and_speed_leave_judging_out(clock: Clock) -> None:
    curve, learner = LearningCurve(every=10), Pupil()
    written: list[tuple[str, float, int]] = []
    curve._writer = SimpleNamespace(add_scalar=lambda *values: written.append(values), flush=lambda: None)
    for clock.now, learner.num_episodes, learner.num_timesteps in (
        (5.0, 1, 7),
        (9.0, 10, 67),  # then it is judged
        (113.0, 12, 80),
        (117.0, 20, 127),
    ):
        curve(learner)
    assert [(row.games, row.timesteps, row.seconds) for row in curve.rows] == [(10, 67, 9.0), (20, 127, 17.0)]
    assert [values for values in written if values[0] == "charts/SPS"] == [("charts/SPS", 7.5, 127)]
    columns = curve.rows[0].columns()
    assert tuple(columns) == COLUMNS
    assert [columns[f"random_{name}_second"] for name in WinDrawLoss._fields] == list(RANDOM[1])
    assert [columns[f"perfect_{name}_first"] for name in WinDrawLoss._fields] == list(BEST[0])
    names = {name for name, _, at in written if at == 127}
    assert names == {
        f"charts/{name}" for name in set(COLUMNS) - set(PROGRESS) if curve.rows[1].columns()[name] is not None
    } | {"charts/SPS"}


# Runs counted in games


def pupil(game: str = TTT, **settings: Any) -> NTupleTD:
    return NTupleTD(game, **{"tuples": 6, "length": 5, "seed": 0} | settings)


def test_each_row_tells_how_the_run_goes() -> None:
    curve = LearningCurve(every=1_000)
    agent = pupil().learn(5_500, curve)
    games = [row.games or 0 for row in curve.rows]
    assert len(games) == 6 and games[-1] == 5_500
    assert [count // 1_000 for count in games] == [1, 2, 3, 4, 5, 5]
    for before, row in zip(curve.rows[:-1], curve.rows[1:], strict=True):
        assert row.seconds > before.seconds and row.step < before.step  # type: ignore[operator]
        assert 2 < row.plies < 9 and row.games_per_second > 100  # type: ignore[operator]
    assert curve.rows[-1].judgement.verdict == verdict(agent)
    assert np.array_equal(agent.network.weights, pupil().learn(5_500).network.weights), "watching changed something"


def test_a_run_that_is_ended_has_its_end_on_the_curve() -> None:
    curve = LearningCurve(every=10_000, callback=lambda agent: agent.num_games < 2_000)
    agent = pupil().learn(50_000, curve)
    assert 2_000 <= agent.num_games < 50_000
    assert [row.games for row in curve.rows] == [agent.num_games]


def test_rows_count_from_the_last_row_and_leave_judging_out(clock: Clock) -> None:
    curve, learner = LearningCurve(every=10), GamesPupil()
    for clock.now, learner.num_games, learner.num_plies, learner.is_done in (
        (5.0, 4, 20, False),
        (9.0, 12, 68, False),  # 12 games and 68 plies in 9 seconds; then it is judged
        (110.0, 15, 90, False),
        (120.0, 23, 145, False),  # 11 games and 77 plies in the 11 seconds since
        (223.0, 25, 160, True),  # not a multiple, but the end
    ):
        assert curve(learner)
    assert [(row.games, row.seconds, row.games_per_second, row.plies, row.step) for row in curve.rows] == [
        (12, 9.0, 1.3, 5.667, 0.5),
        (23, 20.0, 1.0, 7.0, 0.5),
        (25, 23.0, 0.7, 7.5, 0.5),
    ]


@pytest.mark.parametrize("until_proven", [False, True])
def test_a_run_ends_with_the_proof_if_that_is_asked_for(until_proven: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, iter([False, True]))
    curve, learner = LearningCurve(every=10, until_proven=until_proven), GamesPupil()
    continues = []
    for learner.num_games in (9, 10, 19, 20):
        clock.now += 1
        continues.append(curve(learner))
    assert continues == [True, True, True, not until_proven] and curve.proven


# Judges


def test_a_large_game_is_judged_by_its_mistakes_and_by_games_that_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    large, asked = get_game("ConnectFour-v0"), []

    def results(*arguments: Any, **options: Any) -> Any:
        asked.append((arguments[1:], options))
        first, second = (SimpleNamespace(shares=shares) for shares in BEST)
        return SimpleNamespace(as_first=first, as_second=second, exact=False)

    monkeypatch.setattr(judge, "exact_results", results)
    without, of_perfect = (Judge(large, games, 7)("random") for games in (0, 30))
    assert 0 < without.mistakes < 1 and without.mistakes == of_perfect.mistakes  # type: ignore[operator]
    assert (without.against_perfect, without.exploitability, without.unbeatable) == (None, None, None)
    assert (of_perfect.against_perfect, of_perfect.exact) == (BEST, False)
    assert asked == [(("perfect", large), {"max_positions": 7, "games": 30, "progress": False})]
    shares = Judge(large, random_games=4)("rule").against_random
    assert shares is not None and all(sum(seat) == 1 for seat in shares)
    assert Judge(KInARow.make(4, 4, 3, False))("random").mistakes is None, "a game without a suite"


def test_an_illegal_move_is_part_of_the_judgement() -> None:
    class Stubborn(type(make_policy("random", TTT))):  # type: ignore[misc]
        def probabilities_many(self, batch: Any) -> Any:
            raise IllegalMove("cell 5 is taken")

    judgement = Judge(GAMES[TTT])(Stubborn())
    assert judgement.illegal == "cell 5 is taken" and judgement.verdict is None
    assert judgement.rank < Judge(GAMES[TTT])("random").rank


def test_a_part_of_a_suite_is_spread_over_it() -> None:
    stones, scores = 1 << np.arange(5), np.arange(45, dtype=np.int16).reshape(5, 9)
    whole = Suite("five", PositionBatch(GAMES[TTT], stones, 2 * stones), scores)
    for count in (5, 6):
        assert part_of(whole, count) is whole
    part = part_of(whole, 3)
    assert part.name == "3 of five" and np.array_equal(part.scores, scores[::2])
    assert part.positions.own.tolist() == [1, 4, 16] and part.positions.opp.tolist() == [2, 8, 32]


def test_a_large_game_has_no_verdict_and_a_tree_no_step(tmp_path: Path) -> None:
    large, tree = LearningCurve(every=500), LearningCurve(every=100)
    pupil("ConnectFour-v0").learn(1_000, large)
    assert large.rows[-1].judgement.exploitability is None and large.rows[-1].plies > 7  # type: ignore[operator]
    assert 0 < large.rows[-1].judgement.mistakes < 1  # type: ignore[operator]
    with pytest.raises(ValueError, match="no verdict to be drawn"):
        large.plot(tmp_path / "large.png")
    GameTree(TTT, seed=0).learn(300, tree)
    assert tree.rows[-1].step is None and tree.rows[-1].games == 300
    assert 0 <= tree.rows[-1].judgement.exploitability <= 1  # type: ignore[operator]


# Both


def both(folder: Path | None = None) -> list[LearningCurve]:
    """A curve of a run in episodes and one of a run in games, with a row without a verdict."""
    episodes = LearningCurve(every=100, tensorboard=folder and folder / "episodes")
    self_play(300, episodes)
    games = LearningCurve(every=500, tensorboard=folder and folder / "games")
    pupil("ConnectFour-v0").learn(1_500, games)
    return [episodes, games]


def test_csv_holds_the_rows(tmp_path: Path) -> None:
    for curve in both():
        curve.save_csv(tmp_path / "curve.csv")
        with (tmp_path / "curve.csv").open(newline="") as file:
            rows = [
                {name: "" if value is None else str(value) for name, value in row.columns().items()}
                for row in curve.rows
            ]
            assert list(csv.DictReader(file)) == rows
        LearningCurve(every=5).save_csv(tmp_path / "empty.csv")
        assert (tmp_path / "empty.csv").read_text() == ",".join(COLUMNS) + "\n"


def test_tensorboard_shows_the_rows(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for curve, counter in zip(both(tmp_path), ("timesteps", "games"), strict=True):
        events = EventAccumulator(str(tmp_path / ("episodes" if counter == "timesteps" else "games")))
        events.Reload()
        rows = [row.columns() for row in curve.rows]
        shown = [name for name in COLUMNS if name not in PROGRESS and rows[0][name] is not None]
        written = {f"charts/{name}" for name in shown} | ({"charts/SPS"} if counter == "timesteps" else set())
        assert set(events.Tags()["scalars"]) == written
        for name in shown:
            points = [(event.step, event.value) for event in events.Scalars(f"charts/{name}")]
            assert points == [(row[counter], pytest.approx(float(row[name]))) for row in rows]


@pytest.mark.parametrize("every", [0, -1, 1.5, True])
def test_impossible_intervals_are_named(every: float) -> None:
    with pytest.raises(ValueError, match="every"):
        LearningCurve(every=every)  # type: ignore[arg-type]


# Presets

MANY = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 20)]


@pytest.mark.parametrize("seed", [0, 1, *MANY])
def test_self_play_becomes_unbeatable_without_looking_and_ends_when_it_is_proven(seed: int) -> None:
    whole = QLearning.preset("self-play", seed=seed).learn(progress_bar=False)
    assert verdict(whole).unbeatable
    proof = LearningCurve(every=500, until_proven=True)
    agent = QLearning.preset("self-play", seed=seed).learn(callback=proof, progress_bar=False)
    assert proof.proven and verdict(agent).unbeatable and agent.num_episodes < whole.num_episodes


@pytest.mark.parametrize("seed", [0, *MANY])
def test_a_loss_counting_ten_times_cures_s2(seed: int) -> None:
    """Unbeatable on every seed, and within half a point of all that an unbeatable player can win."""
    found = verdict(QLearning.preset("infallible", seed=seed).learn(progress_bar=False))
    assert found.unbeatable
    assert found.as_first.against_random.wins == pytest.approx(0.99479, abs=0.005)
    assert found.as_second.against_random.wins == pytest.approx(0.91640, abs=0.005)
