# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env", "tianshou>=2,<3", "torch"]
# ///
"""Tianshou: its tic-tac-toe example, DQN as second player, on our environment, stopped by an exact result.

    python examples/tianshou_dqn.py

For the environment one import changes: `from tictac_env import tictactoe_v0`. Tianshou's own example stops when the
mean of ten games is 0.6, and says that the best policy can get 0.7. `verdict` gives the exact mean, wins less losses,
of what the network would play; an unbeatable second player can have 0.9164.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.env.pettingzoo_env import PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from tictac_env import tictactoe_v0, verdict

BOARDS, EPOCHS, STEPS = 10, 30, 1_000
ENOUGH = 0.25
"""The exact mean at which training stops: a low one, so that this takes half a minute."""


def board() -> PettingZooEnv:
    """Tic-tac-toe as Tianshou takes it."""
    env: Any = tictactoe_v0.env()
    return PettingZooEnv(env)


def main() -> None:
    """Trains until the exact result is good enough."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002  # where Tianshou draws from
    env = board()
    net = Net(state_shape=(3, 3, 2), action_shape=9, hidden_sizes=[128, 128])
    learner = DQN(
        policy=DiscreteQLearningPolicy(model=net, action_space=env.action_space, eps_training=0.1, eps_inference=0.0),
        optim=AdamOptimizerFactory(lr=1e-3),
        n_step_return_horizon=3,
        gamma=0.9,
        target_update_freq=320,
    )
    opponent = MARLRandomDiscreteMaskedOffPolicyAlgorithm(action_space=env.action_space)
    both = MultiAgentOffPolicyAlgorithm(algorithms=[opponent, learner], env=env)
    boards, test_boards = (DummyVectorEnv([board] * count) for count in (BOARDS, 5))
    training = Collector(both, boards, VectorReplayBuffer(20_000, BOARDS), exploration_noise=True)
    training.reset()
    training.collect(n_step=64 * BOARDS)

    @torch.no_grad()
    def greedy(observations: Any, masks: Any) -> Any:
        """The network's choices; it has learned on PettingZoo's boards, whose planes come last."""
        values, _ = net(np.moveaxis(observations, 1, -1))
        return values.masked_fill(torch.as_tensor(masks) == 0, -torch.inf).argmax(1)

    greedy.batched = True  # type: ignore[attr-defined]  # it is asked for many positions at once

    def good_enough(best_sampled: float) -> bool:
        """Whether training ends; asked after each epoch, with the best mean of ten games so far."""
        result = verdict(greedy, "TicTacToe-v0").as_second.against_random
        exact = result.wins - result.losses
        print(f"best mean of ten games so far {best_sampled:.2f}; exact mean now {exact:.4f}")
        return exact >= ENOUGH

    both.run_training(
        OffPolicyTrainerParams(
            training_collector=training,
            test_collector=Collector(both, test_boards),
            max_epochs=EPOCHS,
            epoch_num_steps=STEPS,
            collection_step_num_env_steps=BOARDS,
            test_step_num_episodes=10,
            batch_size=64,
            update_step_num_gradient_steps_per_sample=0.1,
            stop_fn=good_enough,
            multi_agent_return_reduction=lambda returns: returns[:, 1],
            test_in_training=False,
            verbose=False,
            show_progress=False,
        )
    )
    print(verdict(greedy, "TicTacToe-v0"))


if __name__ == "__main__":
    main()
