"""The trainings of the main job, and their learning curves by exact measures."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import tictac_agents
from tictac_agents.curves import against_perfect, mistakes
from tictac_agents.factory import new_agent
from tictac_apps.bench.cast import RunScale, TrainingRun, length_of, most_positions
from tictac_env.arena import verdict
from tictac_env.games import Game
from tictac_env.policies import as_policy
from tictac_env.position import IllegalMove
from tictac_env.solver.enumerate import SMALL_CELLS
from tictac_env.storage import read_json, save_text

WORTH_COMPILING = 8_000
"""Tables that learn from fewer games need no compiled loop."""


class RunCurve:
    """A callback of `learn` of any agent that judges it exactly now and then, its seconds left out.

    Args:
        every: the games or steps between two points.
        game: the rules.
        scale: how exact results of a large game are.

    Attributes:
        points: a dict for each: cpu_seconds, games (None for networks) and steps; exploitability on a small game (None
            after an illegal move), mistakes on a large one; v_perfect, the shares won, drawn and lost against perfect
            play as "first" and "second", and whether they are "exact"; None after an illegal move.
        proven: whether the learner was unbeatable at the last point.
    """

    def __init__(self, every: int, game: Game, scale: RunScale) -> None:
        self.called_every = self._every = every
        self._game, self._scale = game, scale
        self.points: list[dict[str, Any]] = []
        self.proven = False
        self._done = 0
        self._began = time.process_time()

    def __call__(self, agent: Any, last: bool = False) -> bool:
        """Adds a point if it is due, or `last`, and the latest is older."""
        games = getattr(agent, "num_episodes", getattr(agent, "num_games", None))
        steps: Any = getattr(agent, "num_timesteps", None)
        done = steps if games is None else games
        if done - self._done >= (1 if last else self._every):
            now = time.process_time()
            self._done = done
            about = {"cpu_seconds": round(now - self._began, 4), "games": games, "steps": steps}
            self.points.append(about | self._judged(agent))
            self._began += time.process_time() - now
        return True

    def _judged(self, agent: Any) -> dict[str, Any]:
        found: dict[str, Any] = {"exploitability": None, "mistakes": None, "v_perfect": None}
        with suppress(IllegalMove):
            if self._game.cells <= SMALL_CELLS:
                truth = verdict(agent, self._game)
                self.proven = truth.unbeatable
                first, second = (list(seat.against_best) for seat in (truth.as_first, truth.as_second))
                v_perfect = {"first": first, "second": second, "exact": True}
                found |= {"exploitability": truth.exploitability, "v_perfect": v_perfect}
            else:
                most = most_positions(as_policy(agent, self._game), self._game, self._scale)
                v_perfect = against_perfect(agent, self._game, most, self._scale.exact_games)
                found |= {"mistakes": mistakes(agent, self._game), "v_perfect": v_perfect}
        return found


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
    told = {"sentence": training.sentence(games, steps), "command": training.command}
    found = {**told, "games": games, "steps": steps, "cpu_seconds": round(end["cpu_seconds"], 2), "curve": curve}
    save_text(record, json.dumps(found))
    return found


def _read(record: Path) -> dict[str, Any]:
    """The record that `train_player` has written.

    Raises:
        ValueError: it is damaged; the message names the file.
    """
    try:
        found: dict[str, Any] = read_json(record.read_text(encoding="utf-8"))
        _ = [found[name] for name in ("sentence", "command", "games", "steps", "cpu_seconds", "curve")]
    except (ValueError, TypeError, LookupError) as error:
        raise ValueError(f"{record} is not the record of a training, or is damaged: {error!r}; delete it") from error
    return found


Trained = tuple[Any, dict[str, Any], list[dict[str, Any]]]
"""The agent; its games, its steps and the CPU seconds of learning at the end; and the points of its curve."""


def _planned(training: TrainingRun, scale: RunScale) -> Trained:
    made: Any = getattr(tictac_agents, training.algorithm)
    began = time.process_time()
    agent = made.preset(training.preset).learn(progress_bar=False)
    return agent, {"games": None, "steps": None, "cpu_seconds": time.process_time() - began}, []


def _trained_learner(training: TrainingRun, scale: RunScale) -> Trained:
    """Trains a table, or an agent that learns from games of its own."""
    settings = training.settings
    learner = new_agent(training.algorithm, settings, training.seed)
    length = length_of(settings)
    total = getattr(settings, length) or learner.run_games
    if training.kind == "table" and total >= WORTH_COMPILING:
        learner.compile()  # beforehand, so that no compiling is in the curve
    curve = RunCurve(training.every(total), settings.rules, scale)
    learner.learn(**{length: total}, callback=curve, progress_bar=False)
    curve(learner, last=True)
    return learner, curve.points[-1], curve.points


def _trained_network(training: TrainingRun, scale: RunScale) -> Trained:
    """Trains a network of Stable-Baselines3; on a small game the run ends once it is proven unbeatable."""
    settings = training.settings
    model = new_agent(training.algorithm, settings, training.seed)
    curve = RunCurve(training.every(settings.total_timesteps), settings.rules, scale)
    model.learn(settings.total_timesteps, lambda *_: curve(model) and not curve.proven)
    curve(model, last=True)
    return model, curve.points[-1], curve.points
