# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env", "supersuit>=3.10"]
# ///
"""SuperSuit: its wrappers around the PettingZoo environment of Connect Four.

    python examples/supersuit_aec.py

Wrappers of rewards and actions, and `delay_observations_v0`, take our observations as they are. Wrappers of
observations (`frame_stack_v1`, `dtype_v0`, `flatten_v0` ...) are for plain arrays and refuse a dict with a mask,
PettingZoo's own too. `observation_lambda_v0` takes the array out; the mask is then asked of the environment below.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import supersuit

from tictac_env import connect_four_v0


def play(env: Any, seed: int) -> tuple[int, dict[str, float], Any]:
    """A game of random legal actions: its plies, what the agents earned, and the last observation."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    plies, earned, observation = 0, dict.fromkeys(env.possible_agents, 0.0), None
    for agent in env.agent_iter():
        observation, reward, termination, truncation, _ = env.last()
        earned[agent] += float(reward)
        mask = env.unwrapped.observe(agent)["action_mask"]
        over = termination or truncation
        env.step(None if over else int(rng.choice(np.flatnonzero(mask))))
        plies += not over
    return plies, earned, observation


def main() -> None:
    """Plays a game with each kind of wrapper, and one with a wrapper that refuses."""
    rewards = supersuit.reward_lambda_v0(connect_four_v0.env(), lambda reward: 10 * reward)
    plies, earned, observation = play(rewards, seed=0)
    print(f"rewards times 10: {plies} plies, {earned}, observations with {sorted(observation)}")

    planes = supersuit.observation_lambda_v0(
        connect_four_v0.env(),
        lambda observation, space, agent: observation["observation"],
        lambda space, agent: space["observation"],
    )
    stacked = supersuit.frame_stack_v1(supersuit.dtype_v0(planes, np.float32), stack_size=4)
    plies, earned, observation = play(stacked, seed=0)
    print(f"four frames: {plies} plies, {earned}, observations {observation.shape} {observation.dtype}")

    try:
        supersuit.frame_stack_v1(connect_four_v0.env())
    except AssertionError as error:
        print(f"frame_stack_v1 without that: {str(error).split('.')[0]}")


if __name__ == "__main__":
    main()
