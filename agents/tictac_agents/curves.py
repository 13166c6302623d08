"""Learning curves by the exact verdict, as rows, CSV, picture and TensorBoard; and training until a proof."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from math import gcd
from typing import Any

import numpy as np

from tictac_agents.checkpoint import GamesLearner
from tictac_agents.tabular.learner import Callback, Learner
from tictac_env.arena import Suite, Verdict, exact_results, move_accuracy, suite, verdict
from tictac_env.arena.auditing import REPORTING
from tictac_env.checks import SEATS, flag, positive, whole
from tictac_env.games import Game, game_name
from tictac_env.lazy import needing
from tictac_env.position_batch import PositionBatch
from tictac_env.solver.enumerate import SMALL_CELLS
from tictac_env.storage import csv_of, save_text, writing


def new_figure(width: float, height: float) -> Any:
    """An empty figure, its size in inches.

    Raises:
        gymnasium.error.DependencyNotInstalled: matplotlib is missing; the message says how to install it.
    """
    with needing("matplotlib is missing", "plot"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Writes a figure to a PNG file, atomically."""
    with writing(path) as file:
        figure.savefig(file, format="png", dpi=110)


CURVE_POSITIONS = 500
"""Positions of the reporting suite on which the moves of a learner of a large game are judged as it learns."""
RESULTS = ("win_rate", "draw_rate", "loss_rate")
RATES = tuple(f"{result}_{seat}" for seat in SEATS for result in RESULTS)
JUDGED = ("exploitability", *RATES, "infallible")
"""The columns of a verdict."""


class Curve:
    """Rows of a learner's measures, the first column being its progress.

    Args:
        columns: their names.
        tensorboard: a folder for TensorBoard's event files; None for none.

    Attributes:
        rows: dicts; a value may be None.

    Raises:
        gymnasium.error.DependencyNotInstalled: `tensorboard` is given, and TensorBoard or torch is missing.
    """

    def __init__(self, columns: tuple[str, ...], tensorboard: str | os.PathLike[str] | None) -> None:
        self.columns = columns
        self.rows: list[dict[str, Any]] = []
        self._writer: Any = None
        if tensorboard is not None:
            with needing("TensorBoard is missing", "rl"):
                from torch.utils.tensorboard import SummaryWriter
            self._writer = SummaryWriter(str(tensorboard))

    def save_csv(self, path: str | os.PathLike[str]) -> None:
        """Writes the rows as CSV, atomically."""
        save_text(path, csv_of(self.columns, self.rows))

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draws exploitability and the results against random play, a PNG file.

        Raises:
            ValueError: no row has a verdict.
            gymnasium.error.DependencyNotInstalled: matplotlib is missing.
        """
        judged = [row for row in self.rows if row["exploitability"] is not None]
        if self.rows and not judged:
            raise ValueError(f"there is no verdict to be drawn: the game of these {len(self.rows)} rows is too large")
        figure = new_figure(8, 6)
        upper, lower = figure.subplots(2, 1, sharex=True)
        counts = [row[self.columns[0]] for row in judged]
        upper.plot(counts, [row["exploitability"] for row in judged], color="black", marker=".")
        upper.set_ylabel("exact exploitability")
        for seat, colour in zip(SEATS, ("tab:blue", "tab:orange"), strict=True):
            for result, style in (("win", "-"), ("loss", ":")):
                shares = [100 * row[f"{result}_rate_{seat}"] for row in judged]
                lower.plot(counts, shares, style, color=colour, marker=".", label=f"{result} as {seat}")
        lower.set_ylabel("% against random play")
        lower.set_xlabel(self.columns[0])
        lower.legend()
        for axis in (upper, lower):
            axis.grid(alpha=0.3)
        save_figure(figure, path)

    def _log(self, values: Mapping[str, Any], at: int) -> None:
        """Writes values to TensorBoard, if it is wanted, as `charts/` and their names; None is left out."""
        if self._writer is not None:
            for name, value in values.items():
                if value is not None:
                    self._writer.add_scalar(f"charts/{name}", float(value), at)
            self._writer.flush()


def judged_columns(found: Verdict) -> dict[str, Any]:
    """The numbers of a verdict, by the names of `JUDGED`."""
    rates = (*found.as_first.against_random, *found.as_second.against_random)
    return dict(zip(JUDGED, (found.exploitability, *rates, found.unbeatable), strict=True))


def against_perfect(agent: Any, game: Game, max_positions: int, games: int) -> dict[str, Any]:
    """The results of an agent against perfect play: the shares of games won, drawn and lost as "first" and "second",
    and whether they are "exact"; they are of a sample of `games` if more than `max_positions` positions are followed.
    """
    found = exact_results(agent, "perfect", game, max_positions=max_positions, games=games, progress=False)
    return {"first": list(found.as_first.shares), "second": list(found.as_second.shares), "exact": found.exact}


def mistakes(agent: Any, game: Game) -> float | None:
    """The share of an agent's moves that are mistakes, on some positions of the reporting suite; None without one."""
    name = REPORTING.get(game_name(game) or "")
    if name is None:
        return None
    return move_accuracy(agent, part_of(suite(name), CURVE_POSITIONS), game, progress=False).overall.mistakes[0]


def part_of(whole: Suite, count: int) -> Suite:
    """Some positions of a suite, evenly spread over it; the suite itself if it has no more."""
    if len(whole) <= count:
        return whole
    rows = np.linspace(0, len(whole) - 1, count).round().astype(np.int64)
    some = PositionBatch(whole.game, whole.positions.own[rows], whole.positions.opp[rows])
    return Suite(f"{count:,} of {whole.name}", some, whole.scores[rows])


POINTS = tuple(f"points_{seat}" for seat in SEATS)
COLUMNS = ("games", "seconds", "games_per_second", "plies", "step", "mistakes", *POINTS, *JUDGED)


class GamesCurve(Curve):
    """A callback of a `GamesLearner`'s `learn` that adds a row now and then, and at the end of the run.

    On a small game (at most 12 cells) the row has the exact verdict, on a large one with known positions the mistakes.
    Only `NTupleTD` and `AlphaZero` count plies and have a step that falls. What a run does not have is None.

    Args:
        every: the games between two rows, or a few more, as these learners call back now and then.
        tensorboard: a folder for TensorBoard's event files; None for none. The tags are `charts/` and the names of the
            columns; they are written by games.
        callback: another callback to call each time.
        perfect_games: on a large game, the number of games against perfect play that each row has; 0 for none.
        until_proven: True to end the run once a verdict says that the agent is unbeatable from both seats.

    Attributes:
        proven: if it was unbeatable at the last verdict.
        rows: a dict for each time: games; seconds (of CPU time of all threads since the first call, judging left
            out); games_per_second, of wall-clock time since the last row, judging left out; plies, a game's mean
            since then; step; mistakes, the share of moves that are mistakes on 500 known positions; points_first and
            points_second, a game's mean points against perfect play (a win 1, a draw 1/2); then as in `LearningCurve`
            exploitability, win_rate_first, draw_rate_first, loss_rate_first and the same of "second", infallible.

    Raises:
        ValueError: `every` is not a positive integer.
        gymnasium.error.DependencyNotInstalled: `tensorboard` is given, and TensorBoard or torch is missing.

    Example:
        >>> from tictac_agents import GamesCurve, NTupleTD
        >>> curve = GamesCurve(every=5_000)
        >>> _ = NTupleTD("TicTacToe-v0", tuples=12, length=6, seed=0).learn(20_000, curve)
        >>> curve.rows[-1]["games"], curve.rows[-1]["exploitability"]
        (20000, 0.0)
    """

    def __init__(
        self,
        every: int = 10_000,
        tensorboard: str | os.PathLike[str] | None = None,
        callback: Callable[[Any], Any] | None = None,
        perfect_games: int = 0,
        until_proven: bool = False,
    ) -> None:
        self.every = positive("every", every)
        self.perfect_games = whole("perfect_games", perfect_games)
        self.until_proven = flag("until_proven", until_proven)
        self.proven = False
        super().__init__(COLUMNS, tensorboard)
        self._callback = callback
        self._games = 0  # at the last call
        self._began = -1.0  # CPU time of the first call, moved on by what judging takes
        self._last = (0, 0, 0.0)  # games, plies and time, of the last row

    def __call__(self, learner: GamesLearner) -> bool:
        """Adds a row if it is time; False if the run is to end."""
        now, cpu = time.perf_counter(), time.process_time()
        plies = getattr(learner, "num_plies", 0)
        if self._began < 0:
            self._began, self._last = cpu, (learner.num_games, plies, now)
        goes_on = self._callback is None or self._callback(learner) is not False
        passed = learner.num_games // self.every > self._games // self.every
        self._games = learner.num_games
        if passed or learner.is_done or not goes_on:
            self._add(learner, plies, now, cpu)
        return goes_on and not (self.until_proven and self.proven)

    def _add(self, learner: GamesLearner, plies: int, now: float, cpu: float) -> None:
        games_before, plies_before, then = self._last
        games = learner.num_games - games_before
        row: dict[str, Any] = dict.fromkeys(COLUMNS) | {
            "games": learner.num_games,
            "seconds": round(cpu - self._began, 6),
            "games_per_second": round(games / (now - then), 1) if games else None,
            "plies": round((plies - plies_before) / games, 3) if games and plies else None,
            "step": getattr(learner, "step_now", None),
            **self._judged(learner),
        }
        self.rows.append(row)
        self._log({name: row[name] for name in COLUMNS[2:]}, learner.num_games)
        self._began += time.process_time() - cpu
        self._last = learner.num_games, plies, time.perf_counter()

    def _judged(self, learner: GamesLearner) -> dict[str, Any]:
        game, results = learner.game, None
        if game.cells <= SMALL_CELLS:
            found = verdict(learner, game)
            self.proven = found.unbeatable
            results = found.as_first.against_best, found.as_second.against_best
            row = judged_columns(found)
        else:
            row = {"mistakes": mistakes(learner, game)}
            if self.perfect_games:
                shares = against_perfect(learner, game, 1, self.perfect_games)
                results = shares["first"], shares["second"]
        if results:
            row |= {name: wins + draws / 2 for name, (wins, draws, _) in zip(POINTS, results, strict=True)}
        return row


EPISODE_COLUMNS = ("episodes", "timesteps", "seconds", "epsilon", *JUDGED)


class UntilProven:
    """A callback of `learn` that computes the exact verdict now and then, and ends the run once it is unbeatable.

    Args:
        every: the number of episodes between two verdicts.
        start_afresh: the number of episodes without success after which the learner forgets everything, a multiple of
            `every`; 0 for never.
        callback: another callback to call before each verdict, as `learn` would.

    Attributes:
        proven: if the learner was unbeatable from both seats at the last verdict.
        verdict: the last one.
        judged_at: the learner's number of episodes at that verdict; -1 before the first.

    Raises:
        ValueError: a number is not an integer, `every` is 0, or `start_afresh` not a multiple of it.

    Example:
        >>> from tictac_agents import QLearning, UntilProven
        >>> agent = QLearning.preset("self-play", seed=0)
        >>> proof = UntilProven(every=500)
        >>> _ = agent.learn(total_episodes=9_000, callback=proof)
        >>> proof.proven, agent.num_episodes
        (True, 3500)
    """

    def __init__(self, every: int = 1_000, start_afresh: int = 0, callback: Callback | None = None) -> None:
        self.every = positive("every", every)
        self.start_afresh = whole("start_afresh", start_afresh)
        if self.start_afresh % self.every:
            raise ValueError(f"start_afresh must be a multiple of every={self.every}, not {self.start_afresh}")
        self._callback = callback
        others = 0 if callback is None else getattr(callback, "called_every", 1)
        self.called_every = gcd(self.every, others)  # which lets the learner play several games between two calls
        self.proven = False
        self.verdict: Verdict | None = None
        self.judged_at = -1

    def __call__(self, learner: Learner) -> bool:
        """False, which ends the run, once the learner is proven unbeatable, or if the other callback returns False."""
        goes_on = self._callback is None or self._callback(learner) is not False
        if learner.num_episodes % self.every:
            return goes_on
        self.verdict = verdict(learner, learner.game)
        self.judged_at = learner.num_episodes
        self.proven = self.verdict.unbeatable
        learner.status = f"exploitability {self.verdict.exploitability:.4f}"
        if not self.proven and self.start_afresh and learner.num_episodes % self.start_afresh == 0:
            learner.forget()
        return goes_on and not self.proven


class LearningCurve(Curve):
    """A callback of `learn` that adds an exact verdict now and then, and when the other callback ends the run.

    Args:
        every: the number of episodes between two verdicts.
        tensorboard: a folder for TensorBoard's event files; None for none. The tags are `charts/` and the names of the
            columns, and `charts/SPS`, steps a CPU-second since the beginning; they are written by timesteps.
        callback: another callback to call after each episode. The verdict of an `UntilProven` is taken over, not made
            twice.

    Attributes:
        rows: a dict for each verdict: episodes, timesteps, seconds (of CPU time since the first episode, judging left
            out), epsilon, exploitability, win_rate_first, draw_rate_first, loss_rate_first and the same of "second"
            (exact, against random play), infallible.

    Raises:
        ValueError: `every` is not a positive integer.
        gymnasium.error.DependencyNotInstalled: `tensorboard` is given, and TensorBoard or torch is missing.

    Example:
        >>> from tictac_agents import LearningCurve, QLearning, UntilProven
        >>> curve = LearningCurve(every=1_000, callback=UntilProven(every=500))
        >>> _ = QLearning.preset("self-play", seed=0).learn(total_episodes=9_000, callback=curve)
        >>> [(row["episodes"], row["exploitability"]) for row in curve.rows]
        [(1000, 1.0), (2000, 0.5), (3000, 0.5), (3500, 0.0)]
    """

    def __init__(
        self, every: int = 1_000, tensorboard: str | os.PathLike[str] | None = None, callback: Callback | None = None
    ) -> None:
        self.every = positive("every", every)
        super().__init__(EPISODE_COLUMNS, tensorboard)
        self._callback = callback
        others = 0 if callback is None else getattr(callback, "called_every", 1)
        self.called_every = gcd(self.every, others)
        self._began: tuple[float, int] | None = None  # CPU time, moved on by what judging takes; timesteps

    def __call__(self, learner: Learner) -> bool:
        """Adds a row if it is due; False if the other callback wants the run to end."""
        now = time.process_time()
        began, steps = self._began or (now, learner.num_timesteps)
        goes_on = self._callback is None or self._callback(learner) is not False
        if learner.num_episodes % self.every == 0 or not goes_on:
            self._add(learner, self._judge(learner), now - began, learner.num_timesteps - steps)
        self._began = began + time.process_time() - now, steps
        return goes_on

    def _judge(self, learner: Learner) -> Verdict:
        """The verdict on the learner as it was before the other callback, which may have made it forget everything."""
        other = self._callback
        if isinstance(other, UntilProven) and other.verdict is not None and other.judged_at == learner.num_episodes:
            return other.verdict
        return verdict(learner, learner.game)

    def _add(self, learner: Learner, judged: Verdict, seconds: float, steps: int) -> None:
        row = {
            "episodes": learner.num_episodes,
            "timesteps": learner.num_timesteps,
            "seconds": round(seconds, 6),
            "epsilon": learner.scheduled(getattr(learner, "epsilon", 0.0)),
            **judged_columns(judged),
        }
        self.rows.append(row)
        speed = {"SPS": steps / seconds if seconds > 0 else None}
        self._log({name: row[name] for name in EPISODE_COLUMNS[3:]} | speed, learner.num_timesteps)
