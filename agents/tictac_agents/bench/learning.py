"""The trainings of the main job, and their learning curves by exact measures."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import tictac_agents
from tictac_agents.bench.cast import LENGTHS, Scale, Training, most_positions
from tictac_agents.curves import against_perfect, mistakes
from tictac_agents.train import new_agent
from tictac_env.arena import verdict
from tictac_env.games import Game
from tictac_env.policies import as_policy
from tictac_env.position import IllegalMove
from tictac_env.solver.enumerate import SMALL_CELLS
from tictac_env.storage import save_text

WORTH_COMPILING = 8_000
"""Tables that learn from fewer games need no compiled loop."""


class Curve:
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

    def __init__(self, every: int, game: Game, scale: Scale) -> None:
        self.called_every = self._every = every
        self._game, self._scale = game, scale
        self.points: list[dict[str, Any]] = []
        self.proven = False
        self._done = 0
        self._began = time.process_time()

    def __call__(self, agent: Any) -> bool:
        """Adds a point if it is due; of learners that call it themselves."""
        games = agent.num_episodes if hasattr(agent, "num_episodes") else agent.num_games
        self.look(agent, games, getattr(agent, "num_timesteps", None), games)
        return True

    def look(self, agent: Any, done: int, steps: int | None, games: int | None, last: bool = False) -> None:
        """Adds a point if it is due, or `last`, and the latest is older."""
        if done - self._done < (1 if last else self._every):
            return
        now = time.process_time()
        self._done = done
        about = {"cpu_seconds": round(now - self._began, 4), "games": games, "steps": steps}
        self.points.append(about | self._judged(agent))
        self._began += time.process_time() - now

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


def trained(training: Training, folder: Path, scale: Scale) -> dict[str, Any]:
    """Trains a learner unless its file and its record are there, and returns the record: how long it learned, the
    learning curve, and in a sentence and as a command how it was trained.
    """
    file = folder / training.file
    record = file.with_suffix(".json")
    if file.exists() and record.exists():
        found: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
        return found
    train = {"planner": _planned, "network": _trained_network}.get(training.kind, _trained_learner)
    agent, games, steps, seconds, curve = train(training, scale)
    agent.save(file)
    told = {"sentence": training.sentence(games, steps), "command": training.command}
    found = {**told, "games": games, "steps": steps, "cpu_seconds": round(seconds, 2), "curve": curve}
    save_text(record, json.dumps(found))
    return found


Trained = tuple[Any, int | None, int | None, float, list[dict[str, Any]]]
"""The agent, its games and steps, the CPU seconds of learning, and the points of its curve."""


def _planned(training: Training, scale: Scale) -> Trained:
    made: Any = getattr(tictac_agents, training.algorithm)
    began = time.process_time()
    agent = made.preset(training.preset).learn(progress_bar=False)
    return agent, None, None, time.process_time() - began, []


def _trained_learner(training: Training, scale: Scale) -> Trained:
    """Trains a table, or an agent that learns from games of its own."""
    settings = training.settings
    learner = new_agent(training.algorithm, settings, training.seed)
    length = next(name for name in LENGTHS if hasattr(settings, name))
    total = getattr(settings, length) or learner.run_games
    if training.kind == "table" and total >= WORTH_COMPILING:
        learner.compile()  # beforehand, so that no compiling is in the curve
    curve = Curve(training.every(total), settings.rules, scale)
    learner.learn(**{length: total}, callback=curve, progress_bar=False)
    games = getattr(learner, "num_episodes", None) or learner.num_games
    curve.look(learner, games, getattr(learner, "num_timesteps", None), games, last=True)
    return learner, games, getattr(learner, "num_timesteps", None), curve.points[-1]["cpu_seconds"], curve.points


def _trained_network(training: Training, scale: Scale) -> Trained:
    """Trains a network of Stable-Baselines3; on a small game the run ends once it is proven unbeatable."""
    from stable_baselines3.common.callbacks import BaseCallback  # needs torch

    settings = training.settings
    model = new_agent(training.algorithm, settings, training.seed)
    curve = Curve(training.every(settings.total_timesteps), settings.rules, scale)

    class Judged(BaseCallback):
        def _on_step(self) -> bool:
            curve.look(self.model, self.num_timesteps, self.num_timesteps, None)
            return not curve.proven

    model.learn(settings.total_timesteps, Judged())
    curve.look(model, model.num_timesteps, model.num_timesteps, None, last=True)
    return model, None, model.num_timesteps, curve.points[-1]["cpu_seconds"], curve.points
