"""The process of one training: `python -m tictac_agents.watched.run FOLDER [GAME...]`.

Reads a plan, one line of JSON, from its input, and writes lines of JSON: `{"kind": "row", ...}` for each point of the
curve, "progress", "lesson", and at last "end" or "error". The agent is saved in the folder, as agent.npz or agent.zip,
now and then and at the end. Any further line of input, or its end, asks it to stop: so it ends with the program that
began it. The games are those of the server; of "module:Name-v0" the module is imported.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

from tictac_agents.tabular.learner import Learner
from tictac_agents.watched.judging import judged
from tictac_agents.watched.lesson import lesson
from tictac_agents.watched.plan import Plan
from tictac_env.games.registry import import_game

POINTS = 40
"""How many points a curve has, about."""
SAVE_SECONDS, TELL_SECONDS = 2.0, 0.3
LARGEST_LESSON = 50_000
"""Of a table with more positions no game is walked through, as it would have to be copied for each."""


class Watched:
    """What a training tells, and whether it was asked to stop."""

    def __init__(self, plan: Plan, folder: Path, output: TextIO) -> None:
        self.plan = plan
        self.path = folder / ("agent.zip" if plan.is_network else "agent.npz")
        unit = plan.settings.get("verdict_every") or 1  # so that a learner with verdicts is not called in between
        self.every = unit * max(1, plan.total // POINTS // unit)
        self.stopping = threading.Event()
        self.proven = False
        self._output = output
        self._saved = self._told = 0.0

    def listen(self, source: TextIO) -> None:
        """Waits for a further line, or the end, in the background."""

        def wait() -> None:
            source.readline()
            self.stopping.set()

        threading.Thread(target=wait, daemon=True).start()

    def tell(self, kind: str, **content: Any) -> None:
        """Writes a line."""
        self._output.write(json.dumps({"kind": kind, **content}) + "\n")
        self._output.flush()

    def goes_on(self, agent: Any, done: int) -> bool:
        """Judges if it is time, and tells how far it is; False if the run is to end."""
        if done % self.every == 0:
            self.judge(agent, done)
        return self.told_on(done)

    def told_on(self, done: int) -> bool:
        """Tells how far it is, now and then; False if the run is to end."""
        if time.monotonic() - self._told > TELL_SECONDS:
            self._told = time.monotonic()
            self.tell("progress", done=done)
        return not self.stopping.is_set() and not (self.proven and self.plan.until_proven)

    def judge(self, agent: Any, done: int, last: bool = False) -> None:
        """Adds a point to the curve; saves the agent if it was not done just now."""
        if last or time.monotonic() - self._saved > SAVE_SECONDS:
            agent.save(self.path)
            self._saved = time.monotonic()
        row = judged(_policy(agent), self.plan.rules, self.plan.is_small, done)
        self.proven = bool(row["infallible"])
        self.tell("row", **row)


class Reporter:
    """A callback of `learn` that reports a table's training.

    Args:
        watched: who is told.
        plan: for environments for copies of the learner.
    """

    def __init__(self, watched: Watched, plan: Plan) -> None:
        self.watched = watched
        self.plan = plan
        self.called_every = watched.every

    def __call__(self, learner: Learner) -> bool:
        """Reports; False if the run is to end."""
        goes_on = self.watched.goes_on(learner, learner.num_episodes)
        if learner.num_episodes % self.watched.every == 0:
            self.lesson(learner)
        return goes_on

    def lesson(self, learner: Any) -> None:
        """Walks through the next game."""
        if len(learner) <= LARGEST_LESSON:
            self.watched.tell("lesson", **lesson(learner, self.plan.env()))


def train_table(plan: Plan, watched: Watched) -> None:
    """Trains a table."""
    learner = plan.learner()
    reporter = Reporter(watched, plan)
    watched.judge(learner, 0)
    reporter.lesson(learner)
    learner.learn(total_episodes=plan.total, callback=reporter, progress_bar=False)
    watched.judge(learner, learner.num_episodes, last=True)


def train_network(plan: Plan, watched: Watched) -> None:
    """Trains a network."""
    import torch

    import tictac_agents

    torch.set_num_threads(1)
    model = getattr(tictac_agents, plan.agent).from_settings(plan.network_settings(), plan.seed, "cpu")
    due = 0

    def report(local: dict[str, Any], world: dict[str, Any]) -> bool:
        nonlocal due
        if model.num_timesteps >= due:
            due += watched.every
            watched.judge(model, model.num_timesteps)
        return watched.told_on(model.num_timesteps)

    model.learn(plan.total, report)
    watched.judge(model, model.num_timesteps, last=True)


def _policy(agent: Any) -> Any:
    """What plays: a table itself, or a network by its greedy moves."""
    if isinstance(agent, Learner):
        return agent
    from tictac_agents.deep.callbacks import Snapshot

    return Snapshot(agent)


def main(words: list[str] | None = None) -> int:
    """Trains as the first line of input says; returns the exit status."""
    folder, *games = sys.argv[1:] if words is None else words
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)  # who plays comes before what learns
    output, sys.stdout = sys.stdout, sys.stderr  # what agents print is no line of ours
    try:
        for game in games:
            import_game(game)
        plan = Plan.from_dict(json.loads(sys.stdin.readline()))
        watched = Watched(plan, Path(folder), output)
        watched.listen(sys.stdin)
        (train_network if plan.is_network else train_table)(plan, watched)
        watched.tell("end", stopped=watched.stopping.is_set(), proven=watched.proven)
    except Exception as error:
        output.write(json.dumps({"kind": "error", "reason": f"{type(error).__name__}: {error}"[:500]}) + "\n")
        output.flush()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
