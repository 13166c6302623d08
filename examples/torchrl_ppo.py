# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env", "torchrl>=0.14,<0.15"]
# ///
"""TorchRL: PPO with masked actions, on 64 boards that are stepped together.

    python examples/torchrl_ppo.py

`MaskedObservation` puts the mask where TorchRL looks for it, "action_mask", as bool. `ActionMask` then lets random
actions be legal, and `MaskedCategorical` the network's. TorchRL prefers boards that it resets by itself
(`autoreset_mode="Disabled"`). `illegal="raise"` shows that no mask is ever missed.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.wrappers.vector import DtypeObservation, FlattenObservation
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import ActionMask, GymWrapper, TransformedEnv
from torchrl.envs.utils import check_env_specs
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from tictac_env import verdict
from tictac_env.wrappers import MaskedObservation

BOARDS, STEPS, ITERATIONS, EPOCHS, BATCH = 64, 32, 40, 4, 512


def boards() -> TransformedEnv:
    """Tic-tac-toe against random play, from both seats in turn, as TorchRL's environment."""
    envs: Any = gym.make_vec(
        "TicTacToe-v0", num_envs=BOARDS, play_as="alternate", illegal="raise", autoreset_mode="Disabled"
    )
    flat = DtypeObservation(FlattenObservation(envs), np.float32)
    masked = MaskedObservation(flat, dtype=bool, ones_when_over=True)
    return TransformedEnv(GymWrapper(masked, categorical_action_encoding=True), ActionMask())


def main() -> None:
    """Trains and judges."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    env: Any = boards()
    check_env_specs(env)
    cells, actions = env.observation_spec["observation"].shape[-1], env.action_spec.space.n
    logits = MLP(cells, actions, num_cells=[128, 128])
    keys: Any = {"logits": "logits", "mask": "action_mask"}
    actor = ProbabilisticActor(
        TensorDictModule(logits, in_keys=["observation"], out_keys=["logits"]),
        in_keys=keys,
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )
    critic = ValueOperator(MLP(cells, 1, num_cells=[128, 128]), in_keys=["observation"])
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic)
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.01)
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
    frames = BOARDS * STEPS
    for number, data in enumerate(Collector(env, actor, frames_per_batch=frames, total_frames=frames * ITERATIONS), 1):
        with torch.no_grad():
            advantage(data)
        samples = data.reshape(-1)
        for _ in range(EPOCHS):
            for batch in samples[torch.randperm(frames)].split(BATCH):
                losses = loss(batch)
                total = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                optimizer.zero_grad()
                total.backward()
                optimizer.step()
        if number % 10 == 0:
            ended = data["next", "done"]
            print(f"{number * frames} steps: mean result of a game {data['next', 'reward'][ended].mean():.2f}")

    @torch.no_grad()
    def greedy(observations: Any, masks: Any) -> Any:
        values = logits(torch.as_tensor(observations, dtype=torch.float32).flatten(1))
        return values.masked_fill(torch.as_tensor(masks) == 0, -torch.inf).argmax(1)

    greedy.batched = True  # type: ignore[attr-defined]  # it is asked for many positions at once
    print(verdict(greedy, "TicTacToe-v0"))


if __name__ == "__main__":
    main()
