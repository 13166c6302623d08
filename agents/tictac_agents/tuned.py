"""The settings that deep agents were tuned to, for each game, all in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from tictac_agents.sb3 import SB3VecEnv
from tictac_env.games import UNFINISHED, Game, did_you_mean, get_game
from tictac_env.position import PositionBatch
from tictac_env.solver.enumerate import tabulate


@dataclass(frozen=True)
class Tuned:
    """What it takes to train a model, as JSON can hold it.

    Attributes:
        settings: the algorithm's keywords.
        env: keywords of `SB3VecEnv`; "start" may be "reachable", for `reachable_positions`.
        total_timesteps: of the run, all boards together.
        note: where the settings come from, and why they are these.
    """

    settings: Mapping[str, Any]
    env: Mapping[str, Any]
    total_timesteps: int
    note: str = field(default="", compare=False)

    @property
    def update_to_data_ratio(self) -> float:
        """Of the DQN: gradient steps for each environment step."""
        return float(self.settings["gradient_steps"] / (self.settings["train_freq"] * self.env["num_envs"]))

    def boards(self, game: str | Game, **changes: Any) -> SB3VecEnv:
        """The boards to train on; `changes` replace keywords."""
        rules = get_game(game)
        keywords = dict(self.env) | changes
        if keywords.get("start") == "reachable":
            keywords["start"] = reachable_positions(rules)
        return SB3VecEnv(rules, **keywords)


def reachable_positions(game: str | Game) -> PositionBatch:
    """All unfinished positions of a game, to start from: 4,520 on tic-tac-toe.

    Raises:
        ValueError: the game has too many to tabulate.
    """
    table = tabulate(get_game(game))
    unfinished = np.flatnonzero(table.result == UNFINISHED)
    return PositionBatch(table.game, table.own[unfinished], table.opp[unfinished])


SELF_PLAY = {"opponent": None, "illegal": "raise", "start": "reachable"}

TUNED: dict[str, dict[str, dict[str, Tuned]]] = {
    "DQN": {
        "TicTacToe-v0": {
            "self-play": Tuned(
                {
                    "learning_rate": [3e-3, 1e-5],
                    "buffer_size": 200_000,
                    "learning_starts": 5_000,
                    "batch_size": 512,
                    "gamma": -1.0,
                    "train_freq": 1,
                    "gradient_steps": 4,
                    "target_update_interval": 1_000,
                    "exploration_fraction": 0.1,
                    "exploration_initial_eps": 1.0,
                    "exploration_final_eps": 0.3,
                    "double": True,
                    "symmetry": True,
                    "tremble": 0.2,
                    "averaging": 0.999,
                    "policy_kwargs": {"net_arch": [128, 128], "optimizer_kwargs": {"fused": True}},
                },
                {"num_envs": 64, **SELF_PLAY},
                300_000,
                "The best reply to random play wins 99.5 and 91.6 %, but play that can be beaten is worth only 0.002 "
                "less there: far below the noise of a random opponent. With tremble=0.2 the least difference is 0.4.",
            ),
        },
    },
    "MaskablePPO": {
        "TicTacToe-v0": {
            "self-play": Tuned(
                {
                    "learning_rate": [2e-3, 1e-5],
                    "n_steps": 16,
                    "batch_size": 1024,
                    "n_epochs": 4,
                    "gamma": -1.0,
                    "gae_lambda": 0.9,
                    "ent_coef": 0.03,
                    "policy_kwargs": {"net_arch": [128, 128], "optimizer_kwargs": {"fused": True}},
                },
                {"num_envs": 512, **SELF_PLAY},
                2_000_000,
                "gamma=-1 makes the generalised advantage alternate between the sides, as the rewards do. Each batch of "
                "8,192 plies from all reachable positions is used four times only: with 128 boards and 6 epochs the "
                "same settings failed on one seed of two.",
            ),
        },
    },
}


def tuned(algorithm: str, game: str = "TicTacToe-v0", name: str = "self-play") -> Tuned:
    """The tuned settings of that name.

    Raises:
        ValueError: there are none; the message names the near ones.
    """
    found: Any = TUNED
    for key in (algorithm, game, name):
        if key not in found:
            raise ValueError(f"nothing is tuned for {key!r}; {did_you_mean(str(key), list(found))}")
        found = found[key]
    return cast(Tuned, found)
