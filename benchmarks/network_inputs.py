"""What a network sees of Connect Four: DQN on planes, convolutions and lines for equal CPU time, and what each costs.

    python benchmarks/network_inputs.py --seconds 60

The settings are the tuned ones but for the network; the step size falls to its end over the CPU time instead of over
steps. Mistakes are on the choosing suite. A row trains tic-tac-toe likewise, for its plies a CPU-second alone.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from stable_baselines3.common.callbacks import BaseCallback

from benchmarks.report import RESULTS, positive, save, show
from benchmarks.run_store import RunStore, Settings
from tictac_agents import DQN, Snapshot
from tictac_agents.deep.tuned import tuned
from tictac_env.arena import move_accuracy
from tictac_env.cli.arguments import add_workers, chosen_workers

GAME, SUITE = "ConnectFour-v0", "C4-Choose-v1"
HIDDEN = {"net_arch": [128, 128], "optimizer_kwargs": {"fused": True}}
CONV = {**HIDDEN, "features_extractor_class": "ConvFeatures"}
LINES = {**HIDDEN, "features_extractor_class": "LineFeatures"}
ROWS: dict[str, dict[str, Any]] = {
    "planes, a value an action": {"policy": "MlpPolicy", "policy_kwargs": HIDDEN},
    "convolutions, a value an action": {"policy": "MlpPolicy", "policy_kwargs": CONV},
    "lines, a value an action": {"policy": "MlpPolicy", "policy_kwargs": LINES},
    "lines, afterstates": {"policy": "AfterstatePolicy", "policy_kwargs": LINES},
    "tic-tac-toe: planes, a value an action": {"policy": "MlpPolicy", "policy_kwargs": HIDDEN},
    "tic-tac-toe: lines, afterstates": {"policy": "AfterstatePolicy", "policy_kwargs": LINES},
}
COLUMNS = ("weights", "plies", "plies a CPU-s", "mistakes", "opening", "middle", "end")


class Seconds(BaseCallback):
    """Ends a run after so many CPU-seconds, of which it is told how many are left."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def _on_training_start(self) -> None:
        self.began = time.process_time()

    def _on_step(self) -> bool:
        self.spent = time.process_time() - self.began
        if self.spent > 1:
            self.model._total_timesteps = int(self.num_timesteps * self.seconds / self.spent)
        return self.spent < self.seconds


def job(row: str, seconds: int, seed: int) -> Settings:
    """All that decides a run."""
    game = "TicTacToe-v0" if row.startswith("tic-tac-toe") else GAME
    changes = json.loads(json.dumps(ROWS[row]))
    if "Line" in changes["policy_kwargs"].get("features_extractor_class", ""):
        changes["policy_kwargs"]["features_extractor_kwargs"] = {"game": game}
    chosen = tuned("DQN", GAME).changed(game=game, start="random:3" if game != GAME else "random:8", **changes)
    return {"row": row, "seconds": seconds, "seed": seed, "settings": json.loads(json.dumps(chosen.to_dict()))}


def run(settings: Settings) -> dict[str, Any]:
    """Trains a network and judges it."""
    torch.set_num_threads(1)
    chosen = DQN.SETTINGS.from_dict(settings["settings"])
    model = DQN.from_settings(chosen, settings["seed"], "cpu")
    clock = Seconds(settings["seconds"])
    model.learn(10**9, clock)
    found: dict[str, Any] = {
        "weights": sum(weights.numel() for weights in model.q_net.parameters()),
        "plies": model.num_timesteps,
        "plies a CPU-s": round(model.num_timesteps / clock.spent),
    }
    if chosen.game == GAME:
        accuracy = move_accuracy(Snapshot(model), SUITE)
        found["mistakes"] = round(100 * accuracy.overall.mistakes.value, 1)
        found |= {phase: round(100 * one.mistakes.value, 1) for phase, one in accuracy.by_phase.items()}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=positive, default=60, help="CPU time of a run (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the runs (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    add_workers(parser)
    options = parser.parse_args()
    store = RunStore(options.output / "network-inputs-runs.jsonl")
    jobs = [job(row, options.seconds, options.seed) for row in ROWS]
    store.complete(jobs, run, chosen_workers(options))
    rows = [
        {"network": settings["row"]} | {name: store[settings].get(name, "") for name in COLUMNS} for settings in jobs
    ]
    show(f"DQN on Connect Four, {options.seconds} CPU-seconds each", rows)
    save("network-inputs", {"seconds": options.seconds, "seed": options.seed}, {"networks": rows}, options.output)


if __name__ == "__main__":
    main()
