# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env", "ray[rllib]>=2.50", "torch"]
# ///
"""RLlib: PPO with its module for masked actions, `ActionMaskingTorchRLModule`.

    python examples/rllib_ppo.py

The module looks for "observations" and a mask of floats, of which it takes the logarithm. RLlib would take planes for a
picture, so they are flattened. Everything runs in one process of the local cluster that `build_algo` starts.
"""

from __future__ import annotations

import logging
from typing import Any

import gymnasium as gym
import numpy as np
import ray
import torch
from gymnasium.wrappers import DtypeObservation, FlattenObservation
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

import tictac_env
from tictac_env.wrappers import MaskedObservation

GAME, ITERATIONS, STEPS = "TicTacToe-v0", 10, 1_500


def board(config: dict[str, Any]) -> gym.Env[Any, Any]:
    """Tic-tac-toe against random play, from both seats in turn, in the form that the module wants."""
    env = gym.make(GAME, play_as="alternate", illegal="raise")
    flat = DtypeObservation(FlattenObservation(env), np.float32)
    return MaskedObservation(flat, keys=("observations", "action_mask"), dtype=np.float32)


def main() -> None:
    """Trains and judges."""
    torch.set_num_threads(1)
    ray.init("local", num_cpus=1, include_dashboard=False, logging_level=logging.ERROR)
    register_env("tic-tac-toe", board)
    spec = RLModuleSpec(
        module_class=ActionMaskingTorchRLModule,
        model_config={"fcnet_hiddens": [128, 128], "fcnet_activation": "relu"},
    )
    config = (
        PPOConfig()
        .environment("tic-tac-toe")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=8)
        .learners(num_learners=0)
        .training(lr=1e-3, entropy_coeff=0.01, train_batch_size_per_learner=STEPS, minibatch_size=250, num_epochs=10)
        .rl_module(rl_module_spec=spec)
        .debugging(seed=0)
    )
    algorithm = config.build_algo()
    for number in range(1, ITERATIONS + 1):
        result = algorithm.train()
        mean = result["env_runners"]["episode_return_mean"]
        print(f"{number * STEPS} steps: mean result of a game {mean:.2f}")
    module: Any = algorithm.get_module()

    @torch.no_grad()
    def greedy(observations: Any, masks: Any) -> Any:
        seen = {
            "observations": torch.as_tensor(observations, dtype=torch.float32).flatten(1),
            "action_mask": torch.as_tensor(masks, dtype=torch.float32),
        }
        return module.forward_inference({"obs": seen})["action_dist_inputs"].argmax(1)

    greedy.batched = True  # type: ignore[attr-defined]  # it is asked for many positions at once
    print(tictac_env.verdict(greedy, GAME))
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
