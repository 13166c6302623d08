"""The trainings of the main job, and their learning curves by exact measures."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tictac_agents
from tictac_agents.curves import CurveRow, LearningCurve
from tictac_agents.judge import Judge
from tictac_agents.plan import UNITS, Plan
from tictac_apps.bench.bench_record import CurvePoint, SeatShares, TrainingRecord
from tictac_apps.bench.cast import RunScale, TrainingRun, most_positions
from tictac_env.arena.typed_json import read_as
from tictac_env.policies import as_policy
from tictac_env.storage import read_json, save_text

WORTH_COMPILING = 8_000
"""Tables that learn from fewer games need no compiled loop."""


class ReportingCurve(LearningCurve):
    """A learning curve that writes the part of the training that is done to a file, for others to read.

    Args:
        file: the file.
        total: the length of the training.
        options: those of `LearningCurve`.
    """

    def __init__(self, file: Path, total: int, **options: Any) -> None:
        super().__init__(**options)
        self._file, self._total = file, total

    def add(self, agent: Any) -> CurveRow:
        row = super().add(agent)
        save_text(self._file, str(min(1.0, (row.games or row.timesteps or 0) / self._total)))
        return row


def progress_file(agent: str | Path) -> Path:
    """The file that has the part of an agent's training that is done, by the file of the agent."""
    return Path(agent).with_suffix(".progress")


def part_done(agent: str | Path) -> float:
    """The part of an agent's training that is done, in [0, 1]; 0 if there is no report."""
    try:
        return float(progress_file(agent).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0.0


def curve_of(agent: Any, plan: Plan, every: int, scale: RunScale, file: Path) -> LearningCurve:
    """The learning curve of a training, judged as exactly as the scale says; on a small game a network ends at its
    proof. `file` gets the part that is done.
    """
    most = most_positions(as_policy(agent, plan.rules), plan.rules, scale)
    judge = Judge(plan.rules, scale.exact_games, most)
    until_proven = plan.kind == "network" and plan.is_small
    return ReportingCurve(file, plan.length, every=every, until_proven=until_proven, judge=judge)


def points_of(curve: LearningCurve) -> tuple[CurvePoint, ...]:
    """The rows of a curve for the record."""
    return tuple(map(_point, curve.rows))


def _point(row: CurveRow) -> CurvePoint:
    judged, v_perfect = row.judgement, None
    if judged.against_perfect is not None:
        v_perfect = SeatShares(*judged.against_perfect, exact=judged.exact)
    seconds = round(row.seconds, 4)
    return CurvePoint(seconds, row.games, row.timesteps, judged.exploitability, judged.mistakes, v_perfect)


def train_player(training: TrainingRun, folder: Path, scale: RunScale) -> TrainingRecord:
    """Trains a learner unless its file and its record are there, and returns the record."""
    file = folder / training.file
    record = file.with_suffix(".json")
    if file.exists() and record.exists():
        return _read(record)
    train = {"planner": _planned, "network": _trained_network}.get(training.kind, _trained_learner)
    progress = progress_file(file)
    progress.unlink(missing_ok=True)  # of a training that was killed
    agent, seconds, curve = train(training, scale, progress)
    agent.save(file)
    progress.unlink(missing_ok=True)
    games, steps = (curve[-1].games, curve[-1].steps) if curve else (None, None)
    content = TrainingRecord(
        training.sentence(games, steps), training.command, games, steps, round(seconds, 2), tuple(curve)
    )
    save_text(record, json.dumps(asdict(content)))
    return content


def _read(record: Path) -> TrainingRecord:
    """The record that `train_player` has written.

    Raises:
        ValueError: it is damaged; the message names the file.
    """
    try:
        return read_as(TrainingRecord, read_json(record.read_text(encoding="utf-8")))
    except ValueError as error:
        raise ValueError(f"{record} is not the record of a training, or is damaged: {error}; delete it") from error


Trained = tuple[Any, float, tuple[CurvePoint, ...]]
"""The agent, the CPU seconds of learning, and the points of its curve."""


def _planned(training: TrainingRun, scale: RunScale, progress: Path) -> Trained:
    planner: Any = getattr(tictac_agents, training.algorithm)
    began = time.process_time()
    agent = planner.preset(training.preset).learn(progress_bar=False)
    return agent, time.process_time() - began, ()


def _trained_learner(training: TrainingRun, scale: RunScale, progress: Path) -> Trained:
    """Trains a table, or an agent that learns from games of its own."""
    plan: Any = training.plan
    learner = plan.new_agent()
    if plan.kind == "table" and plan.length >= WORTH_COMPILING:
        learner.compile()  # beforehand, so that no compiling is in the curve
    curve = curve_of(learner, plan, training.every(plan.length), scale, progress)
    learner.learn(**{f"total_{UNITS[plan.kind]}": plan.length}, callback=curve, progress_bar=False)
    points = points_of(curve)
    return learner, points[-1].cpu_seconds, points


def _trained_network(training: TrainingRun, scale: RunScale, progress: Path) -> Trained:
    """Trains a network of Stable-Baselines3; on a small game the run ends once it is proven unbeatable."""
    plan: Any = training.plan
    model = plan.new_agent()
    curve = curve_of(model, plan, training.every(plan.length), scale, progress)
    model.learn(plan.length, lambda *_: curve(model))
    if curve.rows[-1].timesteps != model.num_timesteps:
        curve.add(model)
    points = points_of(curve)
    return model, points[-1].cpu_seconds, points
