"""Learning curves of tables by the exact verdict."""

from __future__ import annotations

import os
import time
from math import gcd

from tictac_agents.curves import JUDGED, Curve, judged_columns
from tictac_agents.tabular.learner import Callback, Learner
from tictac_agents.tabular.until_proven import UntilProven
from tictac_env.arena import Verdict, verdict
from tictac_env.checks import positive

COLUMNS = ("episodes", "timesteps", "seconds", "epsilon", *JUDGED)


class LearningCurve(Curve):
    """A callback of `learn` that judges the learner now and then, and at the end of a run that the other callback ends.

    Args:
        every: how many episodes lie between two verdicts.
        tensorboard: a folder for TensorBoard's event files; None for none. The tags are `charts/` and the names of the
            columns, and `charts/SPS`, steps a CPU-second since the beginning; they are written by timesteps.
        callback: another callback to call after each episode. The verdict of an `UntilProven` is taken over, not made
            twice.

    Attributes:
        rows: a dict for each verdict: episodes, timesteps, seconds (of CPU time since the first episode, judging left
            out), epsilon, exploitability, win_rate_first, draw_rate_first, loss_rate_first and the same of "second"
            (exact, against random play), infallible.

    Raises:
        ValueError: `every` is not a positive whole number.
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
        super().__init__(COLUMNS, tensorboard)
        self._callback = callback
        others = 0 if callback is None else getattr(callback, "called_every", 1)
        self.called_every = gcd(self.every, others)  # as `UntilProven`
        self._began: tuple[float, int] | None = None  # CPU time, moved on by what judging takes; timesteps

    def __call__(self, learner: Learner) -> bool:
        """Judges if it is time; False if the other callback wants the run to end."""
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

    def _add(self, learner: Learner, found: Verdict, seconds: float, steps: int) -> None:
        row = {
            "episodes": learner.num_episodes,
            "timesteps": learner.num_timesteps,
            "seconds": round(seconds, 6),
            "epsilon": learner.scheduled(getattr(learner, "epsilon", 0.0)),
            **judged_columns(found),
        }
        self.rows.append(row)
        speed = {"SPS": steps / seconds if seconds > 0 else None}
        self._log({name: row[name] for name in COLUMNS[3:]} | speed, learner.num_timesteps)
