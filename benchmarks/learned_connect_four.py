"""Deep agents on Connect Four with the tuned settings: mistakes, games and results against perfect play, over seeds.

`benchmarks/learning.py --game ConnectFour-v0` runs this. Of the points of a run the model is kept, and reported, that
errs least on the suite `C4-Choose-v1`, on which settings were chosen too; all that is reported is on other positions.
Games begin from all openings of two plies, in both seats. Models are saved as they come, the best and the last of
each run.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from stable_baselines3.common.callbacks import BaseCallback

import tictac_agents
from benchmarks.learning_curves import Panel, told
from benchmarks.run_store import Settings
from tictac_agents import Snapshot
from tictac_agents.deep.settings import TUNED, tuned
from tictac_env.arena import exact_results, move_accuracy, round_robin

GAME, NAME, SEEDS = "ConnectFour-v0", "connect-four", 3
TITLE = "Deep agents"
ROWS = tuple(TUNED[GAME])
SUITES = CHOOSE, REPORT = "C4-Choose-v1", "C4-Exact-v1"
SEATS, PHASES = ("first", "second"), ("opening", "middle", "end")
SETS = ("end_easy", "middle_easy", "middle_medium")
OPPONENTS = ("random", "rule", "minimax:2", "minimax:4")
GAMES = 400
POINTS, SELDOM = 20, 4
"""How many points a curve has, and at which of them games against perfect play are followed: each fourth."""


class Curve(BaseCallback):
    """Judges a run of `steps` steps as it goes, and saves the model that errs least on the choosing suite.

    A point has the CPU seconds without the judging, the steps, the mistakes on the choosing suite and on the reporting
    suite, which chooses nothing, and at every `SELDOM`-th point the shares of games won and drawn as first player
    against perfect play.
    """

    def __init__(self, steps: int, best: Path) -> None:
        super().__init__()
        self.every = steps // POINTS
        self.best = best
        self.points: list[dict[str, Any]] = []

    def _on_training_start(self) -> None:
        self.began = time.process_time()

    def _on_step(self) -> bool:
        if self.num_timesteps >= self.every * (len(self.points) + 1):
            now = time.process_time()
            self._judge(round(now - self.began, 1))
            self.began += time.process_time() - now
        return True

    def _judge(self, seconds: float) -> None:
        player = Snapshot(self.model)
        point: dict[str, Any] = {"CPU-s": seconds, "steps": self.num_timesteps}
        point |= {suite: round(100 * move_accuracy(player, suite).overall.mistakes.value, 2) for suite in SUITES}
        if len(self.points) % SELDOM == SELDOM - 1:
            exact = exact_results(player, "perfect", GAME, max_positions=10_000, games=1_000, progress=False)
            point["perfect, first"] = [round(100 * share, 2) for share in exact.as_first.shares[:2]]
        if all(point[CHOOSE] < earlier[CHOOSE] for earlier in self.points):
            self.model.save(self.best)
        self.points.append(point)


def settings_of(name: str, seed: int) -> Settings:
    """All that decides a run of an agent of `ROWS`."""
    chosen = {"agent": name, "seed": seed, "settings": tuned(name, GAME).to_dict()}
    settings: Settings = json.loads(json.dumps(chosen))
    return settings


def run(settings: Settings, data: Path, models: Path) -> dict[str, Any]:
    """Trains one model and judges it, on those sets too that are in the folder `data`."""
    torch.set_num_threads(1)
    models.mkdir(parents=True, exist_ok=True)
    algorithm, seed = getattr(tictac_agents, settings["agent"]), settings["seed"]
    chosen = algorithm.SETTINGS.from_dict(settings["settings"])
    model = algorithm.from_settings(chosen, seed, "cpu")
    last, best = (models / f"connect-four-{settings['agent']}-{seed}{which}.zip" for which in ("", "-best"))
    curve = Curve(chosen.total_timesteps, best)
    model.learn(chosen.total_timesteps, curve)
    model.save(last)
    chosen_model = algorithm.load(best, device="cpu")
    return {
        "curve": curve.points,
        "steps": model.num_timesteps,
        "best": {"steps": chosen_model.num_timesteps, **judged(Snapshot(chosen_model, "network"), data)},
        "last": {"steps": model.num_timesteps, **judged(Snapshot(model, "network"), data)},
    }


def judged(player: Snapshot, data: Path) -> dict[str, Any]:
    """Mistakes in per cent, games and exact results of a player."""
    found: dict[str, Any] = {}
    sets = {name: data / f"connect_four_{name}.csv" for name in SETS}
    for name, positions in {**{name: path for name, path in sets.items() if path.exists()}, REPORT: REPORT}.items():
        accuracy = move_accuracy(player, positions)
        found[name] = round(100 * accuracy.overall.mistakes.value, 2)
        if name == REPORT:
            found |= {phase: round(100 * one.mistakes.value, 2) for phase, one in accuracy.by_phase.items()}
    for opponent in OPPONENTS:
        pair = {"network": player, opponent: opponent}
        match = round_robin(pair, GAME, GAMES, openings=2).matches["network", opponent]
        for seat, result in zip(SEATS, (match.as_first, match.as_second), strict=True):
            found[f"{opponent}, {seat}"] = round(100 * result.wins / result.games, 2)
        found[f"{opponent}, distinct"] = match.distinct
    exact = exact_results(player, "perfect", GAME, progress=False)
    for seat, result in zip(SEATS, (exact.as_first, exact.as_second), strict=True):
        found[f"perfect, {seat}"] = [round(100 * share, 2) for share in result.shares]
        found[f"perfect, {seat}, exact"] = result.exact
    return found


def measures(found: Mapping[str, Any]) -> dict[str, float]:
    """What a model reached, by the words of the table."""
    rows = {"plies": found["steps"]}
    rows |= {f"mistakes on {name}, %": found[name] for name in SETS if name in found}
    rows |= {f"mistakes on {REPORT}, %": found[REPORT]}
    rows |= {f"{REPORT}, {phase}, %": found[phase] for phase in PHASES}
    for opponent in OPPONENTS:
        rows |= {f"won against {opponent} {seat}, %": found[f"{opponent}, {seat}"] for seat in SEATS}
        rows[f"different games against {opponent}"] = found[f"{opponent}, distinct"]
    for seat in SEATS:
        won, drawn, _ = found[f"perfect, {seat}"]
        rows |= {f"won against perfect play {seat}, %": won, f"drawn against perfect play {seat}, %": drawn}
    return rows


def tables(runs: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """A line for each model; and `summary`, one for each measure with the mean over the seeds, in per cent with its
    interval (Student's t, 95 %), of the best models and of the last.
    """
    lines = [
        {"agent": run["agent"], "seed": run["seed"], "model": which, "CPU-s": seconds_at(run, run[which]["steps"])}
        | measures(run[which])
        for run in runs
        for which in ("best", "last")
    ]
    summary = []
    for name in list(lines[0])[3:]:
        row = {"measure": name}
        for agent, which in dict.fromkeys((line["agent"], line["model"]) for line in lines):
            values = [line[name] for line in lines if (line["agent"], line["model"]) == (agent, which)]
            row[f"{agent}, {which}"] = told(values) if name.endswith("%") else f"{mean(values):,.0f}"
        summary.append(row)
    return {"runs": lines, "summary": summary}


def seconds_at(run: Mapping[str, Any], steps: int) -> float:
    """CPU seconds of a run up to the last of its points within so many steps."""
    return max(float(point["CPU-s"]) for point in run["curve"] if point["steps"] <= steps)


def panels(runs: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """Mistakes while they learn, and the games against perfect play that they do not lose as first player."""
    agents = list(dict.fromkeys(run["agent"] for run in runs))
    errs, holds = {}, {}
    for agent in agents:
        curves = [run["curve"] for run in runs if run["agent"] == agent]
        errs[agent] = [[(point["CPU-s"], point[REPORT]) for point in curve] for curve in curves]
        holds[agent] = [
            [(point["CPU-s"], sum(point["perfect, first"])) for point in curve if "perfect, first" in point]
            for curve in curves
        ]
    return [
        Panel(f"Mistakes on {REPORT}", "%", errs),
        Panel("Not lost as first against perfect play", "% of games", holds),
    ]
