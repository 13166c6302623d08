"""The trainings of the main job, and their learning curves by exact measures."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import tictac_agents
from tictac_agents.curves import LearningCurve
from tictac_agents.judge import Judge
from tictac_agents.plan import UNITS, Plan
from tictac_apps.bench.cast import RunScale, TrainingRun, most_positions
from tictac_env.checks import SEATS
from tictac_env.policies import as_policy
from tictac_env.storage import read_json, save_text

WORTH_COMPILING = 8_000
"""Tables that learn from fewer games need no compiled loop."""


def curve_of(agent: Any, plan: Plan, every: int, scale: RunScale) -> LearningCurve:
    """The learning curve of a training, judged as exactly as the scale says; on a small game a network ends at its
    proof.
    """
    most = most_positions(as_policy(agent, plan.rules), plan.rules, scale)
    judge = Judge(plan.rules, scale.exact_games, most)
    return LearningCurve(every, until_proven=plan.kind == "network" and plan.is_small, judge=judge)


def points_of(curve: LearningCurve) -> list[dict[str, Any]]:
    """The rows of a curve for the record: cpu_seconds, games (None for networks) and steps; exploitability on a small
    game, mistakes on a large one; v_perfect, the shares won, drawn and lost against perfect play as "first" and
    "second", and True in "exact" if they are exact; None after an illegal move.
    """
    points = []
    for row in curve.rows:
        judged, v_perfect = row.judgement, None
        if judged.against_perfect is not None:
            shares = {seat: list(share) for seat, share in zip(SEATS, judged.against_perfect, strict=True)}
            v_perfect = {**shares, "exact": judged.exact}
        about = {"cpu_seconds": round(row.seconds, 4), "games": row.games, "steps": row.timesteps}
        measures = {"exploitability": judged.exploitability, "mistakes": judged.mistakes, "v_perfect": v_perfect}
        points.append({**about, **measures})
    return points


def train_player(training: TrainingRun, folder: Path, scale: RunScale) -> dict[str, Any]:
    """Trains a learner unless its file and its record are there, and returns the record: how long it learned, the
    learning curve, and in a sentence and as a command how it was trained.
    """
    file = folder / training.file
    record = file.with_suffix(".json")
    if file.exists() and record.exists():
        return _read(record)
    train = {"planner": _planned, "network": _trained_network}.get(training.kind, _trained_learner)
    agent, end, curve = train(training, scale)
    agent.save(file)
    games, steps = end["games"], end["steps"]
    about = {"sentence": training.sentence(games, steps), "command": training.command}
    content = {**about, "games": games, "steps": steps, "cpu_seconds": round(end["cpu_seconds"], 2), "curve": curve}
    save_text(record, json.dumps(content))
    return content


def _read(record: Path) -> dict[str, Any]:
    """The record that `train_player` has written.

    Raises:
        ValueError: it is damaged; the message names the file.
    """
    try:
        content: dict[str, Any] = read_json(record.read_text(encoding="utf-8"))
        _ = [content[name] for name in ("sentence", "command", "games", "steps", "cpu_seconds", "curve")]
    except (ValueError, TypeError, LookupError) as error:
        raise ValueError(f"{record} is not the record of a training, or is damaged: {error!r}; delete it") from error
    return content


Trained = tuple[Any, dict[str, Any], list[dict[str, Any]]]
"""The agent; its games, its steps and the CPU seconds of learning at the end; and the points of its curve."""


def _planned(training: TrainingRun, scale: RunScale) -> Trained:
    planner: Any = getattr(tictac_agents, training.algorithm)
    began = time.process_time()
    agent = planner.preset(training.preset).learn(progress_bar=False)
    return agent, {"games": None, "steps": None, "cpu_seconds": time.process_time() - began}, []


def _trained_learner(training: TrainingRun, scale: RunScale) -> Trained:
    """Trains a table, or an agent that learns from games of its own."""
    plan: Any = training.plan
    learner = plan.new_agent()
    if plan.kind == "table" and plan.length >= WORTH_COMPILING:
        learner.compile()  # beforehand, so that no compiling is in the curve
    curve = curve_of(learner, plan, training.every(plan.length), scale)
    learner.learn(**{f"total_{UNITS[plan.kind]}": plan.length}, callback=curve, progress_bar=False)
    points = points_of(curve)
    return learner, points[-1], points


def _trained_network(training: TrainingRun, scale: RunScale) -> Trained:
    """Trains a network of Stable-Baselines3; on a small game the run ends once it is proven unbeatable."""
    plan: Any = training.plan
    model = plan.new_agent()
    curve = curve_of(model, plan, training.every(plan.length), scale)
    model.learn(plan.length, lambda *_: curve(model))
    if curve.rows[-1].timesteps != model.num_timesteps:
        curve.add(model)
    points = points_of(curve)
    return model, points[-1], points
