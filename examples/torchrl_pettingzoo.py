# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env", "torchrl>=0.14,<0.15"]
# ///
"""TorchRL: the PettingZoo environment of Connect Four, with a mask of who moves and one of what is legal.

    python examples/torchrl_pettingzoo.py

`PettingZooWrapper(use_mask=True)` gives each agent a group with an observation, an action mask, and a "mask" that says
whether it is to move; the action of the other is ignored.
"""

from __future__ import annotations

import torch
from torchrl.envs import PettingZooWrapper

from tictac_env import connect_four_v0

GAMES, AGENTS = 20, ("player_0", "player_1")


def main() -> None:
    """Plays games at random, and looks at the masks."""
    torch.manual_seed(0)
    env = PettingZooWrapper(connect_four_v0.env(), use_mask=True)
    results = dict.fromkeys((*AGENTS, "drawn"), 0)
    for _ in range(GAMES):
        game = env.rollout(max_steps=42)  # random legal actions, to the end of the game
        for agent in AGENTS:
            moved = game[agent, "mask"].squeeze(-1)
            legal = game[agent, "action_mask"].squeeze(-2).gather(-1, game[agent, "action"])
            assert legal.squeeze(-1)[moved].all(), "an illegal action was played"
        last = game["next"][-1]
        winners = [agent for agent in AGENTS if last[agent, "reward"].item() > 0]
        results[winners[0] if winners else "drawn"] += 1
    print(f"{GAMES} games of random play: {results}")
    game = env.rollout(max_steps=42)
    seen = game["player_0", "observation", "observation"]
    print(f"one more took {len(game)} plies; observations of player_0: {tuple(seen.shape)}")


if __name__ == "__main__":
    main()
