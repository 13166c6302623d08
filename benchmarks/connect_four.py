"""Deep agents on Connect Four with the tuned settings: mistakes, games and results against perfect play, over seeds.

    python benchmarks/connect_four.py                   # both agents, 3 seeds each
    python benchmarks/connect_four.py DQN --seeds 1

Every finished run is kept in connect-four-runs.jsonl, and what is there is not run again; its model is kept beside it.
Seconds are CPU seconds of the process on one thread of torch, without the judging. Settings were chosen on the suite
`C4-Choose-v1`, on which the curve is; all that is reported is on other positions. Games begin from all openings of two
plies, in both seats.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from stable_baselines3.common.callbacks import BaseCallback

import tictac_agents
from benchmarks.report import RESULTS, positive, save, show
from benchmarks.run_store import RunStore, Settings
from tictac_agents import Snapshot
from tictac_agents.deep.tuned import TUNED, tuned
from tictac_env.arena import exact_results, move_accuracy, round_robin

GAME, CHOOSE, REPORT = "ConnectFour-v0", "C4-Choose-v1", "C4-Exact-v1"
SEATS, PHASES = ("first", "second"), ("opening", "middle", "end")
SETS = ("end_easy", "middle_easy", "middle_medium")
DATA = Path(__file__).parents[2] / "shared" / "data"
OPPONENTS = ("random", "rule", "minimax:2", "minimax:4")
GAMES = 400
POINTS = 20
"""How many points a curve has."""


class Curve(BaseCallback):
    """Notes CPU seconds and mistakes on the choosing suite in the course of a run of `steps` steps."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.every = steps // POINTS
        self.points: list[tuple[float, int, float]] = []

    def _on_training_start(self) -> None:
        self.began = time.process_time()
        self.judging = 0.0

    def _on_step(self) -> bool:
        if self.num_timesteps >= self.every * (len(self.points) + 1):
            now = time.process_time()
            mistakes = move_accuracy(Snapshot(self.model), CHOOSE).overall.mistakes.value
            self.points.append((round(now - self.began - self.judging, 1), self.num_timesteps, round(mistakes, 4)))
            self.judging += time.process_time() - now
        return True


def job(agent: str, seed: int) -> Settings:
    """All that decides a run."""
    settings: Settings = json.loads(
        json.dumps({"agent": agent, "seed": seed, "settings": tuned(agent, GAME).to_dict()})
    )
    return settings


def run(settings: Settings, data: Path, models: Path) -> dict[str, Any]:
    """Trains one model and judges it."""
    torch.set_num_threads(1)
    algorithm, seed = getattr(tictac_agents, settings["agent"]), settings["seed"]
    chosen = algorithm.SETTINGS.from_dict(settings["settings"])
    model = algorithm.from_settings(chosen, seed, "cpu")
    curve = Curve(chosen.total_timesteps)
    model.learn(chosen.total_timesteps, curve)
    model.save(models / f"connect-four-{settings['agent']}-{seed}.zip")
    return {"curve": curve.points, "steps": model.num_timesteps, **judged(Snapshot(model, "network"), data)}


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


def measures(run: Mapping[str, Any]) -> dict[str, float]:
    """What a run reached, by the words of the table."""
    found = {"CPU-s": run["curve"][-1][0], "plies": run["steps"]}
    found |= {f"mistakes on {name}, %": run[name] for name in SETS if name in run}
    found |= {f"mistakes on {REPORT}, %": run[REPORT]}
    found |= {f"{REPORT}, {phase}, %": run[phase] for phase in PHASES}
    for opponent in OPPONENTS:
        found |= {f"won against {opponent} {seat}, %": run[f"{opponent}, {seat}"] for seat in SEATS}
        found[f"different games against {opponent}"] = run[f"{opponent}, distinct"]
    for seat in SEATS:
        won, drawn, _ = run[f"perfect, {seat}"]
        found |= {f"won against perfect play {seat}, %": won, f"drawn against perfect play {seat}, %": drawn}
    return found


def summary(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """A row for each measure: the mean over the seeds of each agent, and the least and the most."""
    found = {agent: [measures(one) for one in of_agent] for agent, of_agent in runs.items()}
    first = next(iter(found.values()))[0]

    def told(values: Sequence[float]) -> str:
        digits = 0 if max(values) > 1000 else 1
        return f"{mean(values):,.{digits}f} ({min(values):,.{digits}f}-{max(values):,.{digits}f})"

    return [
        {"measure": name} | {who: told([one[name] for one in ones]) for who, ones in found.items()} for name in first
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", default=list(TUNED[GAME]), help="DQN, MaskablePPO (default: both)")
    parser.add_argument("--seeds", type=positive, default=3, help="runs of each (default: %(default)s)")
    parser.add_argument("--workers", type=positive, default=1, help="runs at a time (default: %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the sets (default: %(default)s)")
    parser.add_argument("--models", type=Path, default=Path("models"), help="folder for them (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    options.models.mkdir(parents=True, exist_ok=True)
    store = RunStore(options.output / "connect-four-runs.jsonl")
    jobs = {agent: [job(agent, seed) for seed in range(options.seeds)] for agent in options.agents}
    work = functools.partial(run, data=options.data, models=options.models)
    store.complete(itertools.chain(*jobs.values()), work, options.workers)
    rows = summary({agent: [store[settings] for settings in jobs[agent]] for agent in jobs})
    show(f"Deep agents on Connect Four: means over {options.seeds} seeds, least and most", rows)
    if set(options.agents) == set(TUNED[GAME]) or options.output != RESULTS:
        save("connect-four", {"games": GAMES, "seeds": options.seeds}, {"summary": rows}, options.output)


if __name__ == "__main__":
    main()
