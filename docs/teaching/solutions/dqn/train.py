"""Trains the network of the solution "dqn", with torch, until nothing beats it.

Deep Q-learning by self-play: both sides are the learner, so what a move is worth is its reward less the best that the
other side can then reach. It is done at home, by `python train.py`, and takes less than half a minute of one core. What
is handed in is `weights.npz` and `submission.py`.
"""

import gymnasium as gym
import numpy as np
import torch
from torch import nn

import tictac_env

STEPS = 200_000
MEMORY = 50_000
BATCH = 256
EVERY = 4
"""Steps between updates."""
SYNC = 500
"""Updates between copies to the target network."""


def main():
    """Plays, learns, and saves the weights when the exact verdict is that nothing beats the network."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    network, target = make(), make()
    target.load_state_dict(network.state_dict())
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    seen = np.zeros((MEMORY, 18), np.float32)
    after = np.zeros((MEMORY, 18), np.float32)
    masks = np.zeros((MEMORY, 9), bool)
    actions = np.zeros(MEMORY, np.int64)
    rewards = np.zeros(MEMORY, np.float32)
    env = gym.make("TicTacToe-v0", opponent=None)
    observation, info = env.reset()
    for step in range(STEPS):
        legal = info["action_mask"].nonzero()[0]
        epsilon = 0.5
        action = int(random.choice(legal) if random.random() < epsilon else greedy(network, observation, legal))
        at = step % MEMORY
        seen[at], actions[at] = observation.reshape(-1), action
        observation, rewards[at], terminated, _, info = env.step(action)
        after[at], masks[at] = observation.reshape(-1), info["action_mask"] == 1
        if terminated:
            observation, info = env.reset()
        if step >= 5_000 and step % EVERY == 0:
            rows = random.integers(min(step + 1, MEMORY), size=BATCH)
            learn(
                network,
                target,
                optimiser,
                *(torch.as_tensor(one[rows]) for one in (seen, actions, rewards, after, masks)),
            )
            if step // EVERY % SYNC == 0:
                target.load_state_dict(network.state_dict())
                found = tictac_env.verdict(lambda observation, mask: greedy(network, observation, mask.nonzero()[0]))
                print(step, found.exploitability, flush=True)
                if found.unbeatable:
                    break
    np.savez_compressed("weights.npz", **{name: value.numpy() for name, value in network.state_dict().items()})


def make():
    """The network: 18 numbers of the observation in, the value of each action out."""
    return nn.Sequential(nn.Linear(18, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 9))


def greedy(network, observation, legal):
    """The legal action of the highest value."""
    with torch.no_grad():
        values = network(torch.as_tensor(observation.reshape(-1), dtype=torch.float32)).numpy()
    return legal[values[legal].argmax()]


def learn(network, target, optimiser, seen, actions, rewards, after, masks):
    """One step of gradient descent; once the game is over no action is legal, and nothing follows."""
    with torch.no_grad():
        best = target(after).masked_fill(~masks, -torch.inf).max(dim=1).values
        wanted = rewards - torch.where(masks.any(dim=1), best, 0.0)
    values = network(seen).gather(1, actions[:, None])[:, 0]
    loss = nn.functional.smooth_l1_loss(values, wanted)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


if __name__ == "__main__":
    main()
