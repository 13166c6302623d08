"""Learning curves of the agents that learn from games of their own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from tictac_agents.curves import JUDGED, Curve, judged_columns
from tictac_agents.games_learner import GamesLearner
from tictac_env.arena import tabulated_verdict
from tictac_env.checks import positive
from tictac_env.solver.minimax import SMALL_CELLS

COLUMNS = ("games", "seconds", "games_per_second", "plies", "step", *JUDGED)


class GamesCurve(Curve):
    """A callback of a `GamesLearner`'s `learn` that notes now and then how the run goes, and once more at its end.

    On a small game (at most 12 cells) it notes the exact verdict too. What a learner does not tell is None: only
    `NTupleTD` counts plies and has a step that falls.

    Args:
        every: how many games lie between two rows, or a few more, as these learners call back now and then.
        tensorboard: a folder for TensorBoard's event files; None for none. The tags are `charts/` and the names of the
            columns; they are written by games.
        callback: another callback to call each time.

    Attributes:
        rows: a dict for each time: games; seconds (of CPU time of all threads since the first call, judging left
            out); games_per_second, of wall-clock time since the last row, judging left out; plies, a game's mean
            since then; step; then as in `LearningCurve` exploitability, win_rate_first, draw_rate_first,
            loss_rate_first and the same of "second", infallible.

    Raises:
        ValueError: `every` is not a positive whole number.
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
    ) -> None:
        self.every = positive("every", every)
        super().__init__(COLUMNS, tensorboard)
        self._callback = callback
        self._games = 0  # at the last call
        self._began = -1.0  # CPU time of the first call, moved on by what judging takes
        self._last: tuple[int, int | None, float] = (0, None, 0.0)  # games, plies and time, of the last row

    def __call__(self, learner: GamesLearner) -> bool:
        """Adds a row if it is time; False if the other callback wants the run to end."""
        now, cpu = time.perf_counter(), time.process_time()
        plies = getattr(learner, "num_plies", None)
        if self._began < 0:
            self._began, self._last = cpu, (learner.num_games, plies, now)
        goes_on = self._callback is None or self._callback(learner) is not False
        passed = learner.num_games // self.every > self._games // self.every
        self._games = learner.num_games
        if passed or learner.is_done or not goes_on:
            self._add(learner, plies, now, cpu)
        return goes_on

    def _add(self, learner: GamesLearner, plies: int | None, now: float, cpu: float) -> None:
        games_before, plies_before, then = self._last
        games = learner.num_games - games_before
        small = learner.game.cells <= SMALL_CELLS
        row: dict[str, Any] = dict.fromkeys(COLUMNS) | {
            "games": learner.num_games,
            "seconds": round(cpu - self._began, 6),
            "games_per_second": round(games / (now - then), 1) if games else None,
            "plies": round((plies - plies_before) / games, 3) if games and plies and plies_before else None,
            "step": getattr(learner, "step_now", None),
            **(judged_columns(tabulated_verdict(learner, learner.game)) if small else {}),
        }
        self.rows.append(row)
        self._log({name: row[name] for name in COLUMNS[2:]}, learner.num_games)
        self._began += time.process_time() - cpu
        self._last = learner.num_games, plies, time.perf_counter()
