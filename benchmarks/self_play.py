"""What earlier selves as opponents cost: CPU seconds of a training run beside the same run against random play.

    python benchmarks/self_play.py                # both games, MaskablePPO and DQN, 5 runs each, about 5 minutes
    python benchmarks/self_play.py --steps 20000 --runs 3

"pool" is `SelfPlayCallback` with its usual settings but for `snapshot_freq`, an eighth of the run, so that copies play
most of it; four of them are active, four games of five are against them, and all boards that face the same one are
answered by one forward pass. "naive" has the same copies, asked through `predict` for one position at a time.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.report import positive, save, show
from tictac_agents import DQN, MaskablePPO, ModelPolicy, SB3VecEnv, SelfPlayCallback
from tictac_env.policies import Policy
from tictac_env.position import PositionBatch
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=positive, default=40_000, help="of each run (default: %(default)s)")
    parser.add_argument("--runs", type=positive, default=5, help="of each kind, in turn (default: %(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for game in ("TicTacToe-v0", "ConnectFour-v0"):
        for algorithm in MODELS:
            seconds(algorithm, game, "pool", 2_000)  # compiles what is not compiled yet
            spent = [[seconds(algorithm, game, one, options.steps) for one in OPPONENTS] for _ in range(options.runs)]
            middle = [median(column) for column in zip(*spent, strict=True)]
            row: dict[str, Any] = {"game": game, "algorithm": algorithm}
            row |= {f"{one}, CPU-s": round(value, 2) for one, value in zip(OPPONENTS, middle, strict=True)}
            for number, one in enumerate(OPPONENTS[1:], 1):
                row[f"{one}, times random"] = round(median(run[number] / run[0] for run in spent), 2)
            rows.append(row)
            print(row, flush=True)
    save("self-play", {"steps": options.steps, "runs": options.runs, "boards": BOARDS}, {"cost": rows})
    show("Training against earlier selves beside training against random play", rows)


if __name__ == "__main__":
    main()
