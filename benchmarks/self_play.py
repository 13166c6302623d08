"""What earlier selves as opponents cost: CPU seconds of a training run beside the same run against random play.

    python benchmarks/self_play.py                # both games, MaskablePPO and DQN, 5 runs each, about 5 minutes
    python benchmarks/self_play.py --steps 20000 --runs 3

"pool" is `SelfPlayCallback` with its usual settings but for `snapshot_freq`, an eighth of the run, so that copies play
most of it; four of them are active, four games of five are against them, and all boards that face the same one are
answered by one forward pass. "naive" has the same copies, asked through `predict` for one position at a time. Every
finished run is kept in self-play-runs.jsonl and not run again.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.report import RESULTS, positive, save, show
from benchmarks.run_store import RunStore, Settings
from tictac_agents import DQN, MaskablePPO, ModelPolicy, SB3VecEnv, SelfPlayCallback
from tictac_env.policies import Policy
from tictac_env.position_batch import PositionBatch
from tictac_env.wrappers import OpponentPool

BOARDS = 64
MODELS: dict[str, Callable[[SB3VecEnv], Any]] = {
    "MaskablePPO": lambda boards: MaskablePPO("MlpPolicy", boards, n_steps=32, batch_size=512, seed=0, device="cpu"),
    "DQN": lambda boards: DQN(
        "MlpPolicy",
        boards,
        buffer_size=50_000,
        learning_starts=2_000,
        batch_size=256,
        train_freq=1,
        gradient_steps=4,
        seed=0,
        device="cpu",
    ),
}
OPPONENTS = ("random", "pool", "naive")


class OneByOne(ModelPolicy):
    """A model asked for one position at a time."""

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return Policy.act_many(self, batch, seeds)


class NaiveSelfPlay(SelfPlayCallback):
    """Whose copies are whole models."""

    def _join(self) -> None:
        super()._join()
        copy = type(self.model)("MlpPolicy", SB3VecEnv(self._boards.game, 1), device="cpu")
        copy.policy.load_state_dict(self.model.policy.state_dict())
        self.pool.players[-1] = OneByOne(copy)


def seconds(algorithm: str, game: str, opponent: str, steps: int) -> float:
    """CPU seconds of one run."""
    pool = OpponentPool(["random"])
    boards = SB3VecEnv(game, BOARDS, opponent="random" if opponent == "random" else pool, play_as="random")
    model = MODELS[algorithm](boards)
    callbacks = {"pool": SelfPlayCallback, "naive": NaiveSelfPlay}
    callback = callbacks[opponent](pool, steps // 8) if opponent in callbacks else None
    began = time.process_time()
    model.learn(steps, callback)
    return time.process_time() - began


def run(settings: Settings) -> dict[str, float]:
    """CPU seconds of a run against each kind of opponent, one after the other."""
    torch.set_num_threads(1)
    game, algorithm = settings["game"], settings["algorithm"]
    seconds(algorithm, game, "pool", 2_000)  # compiles what is not compiled yet
    return {opponent: seconds(algorithm, game, opponent, settings["steps"]) for opponent in OPPONENTS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=positive, default=40_000, help="of each run (default: %(default)s)")
    parser.add_argument("--runs", type=positive, default=5, help="of each kind, in turn (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    kinds = [{"game": game, "algorithm": name} for game in ("TicTacToe-v0", "ConnectFour-v0") for name in MODELS]
    shared = {"steps": options.steps, "boards": BOARDS}
    store = RunStore(options.output / "self-play-runs.jsonl")
    store.complete([{**kind, **shared, "run": number} for kind in kinds for number in range(options.runs)], run)
    rows = []
    for kind in kinds:
        found = [store[{**kind, **shared, "run": number}] for number in range(options.runs)]
        row: dict[str, Any] = dict(kind)
        row |= {f"{one}, CPU-s": round(median(spent[one] for spent in found), 2) for one in OPPONENTS}
        for one in OPPONENTS[1:]:
            row[f"{one}, times random"] = round(median(spent[one] / spent["random"] for spent in found), 2)
        rows.append(row)
    save("self-play", {**shared, "runs": options.runs}, {"cost": rows}, options.output)
    show("Training against earlier selves beside training against random play", rows)


if __name__ == "__main__":
    main()
