# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env"]
# ///
"""Q-learning in plain Python: a dict, `reset` and `step`, and at the end the exact verdict.

    python examples/plain_q_learning.py

The learner plays both sides (`opponent=None`): the position after its move is the other side's, so what that is worth
to the other side counts against the move. In each game one side plays nearly its best and the other nearly at random,
so that the learner meets every reply to its best moves.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.utils import seeding

from tictac_env.arena import Verdict, verdict

GAME = "TicTacToe-v0"
GAMES = 20_000
EPSILONS = (0.1, 0.9)
RATE = 1.0
"""The step size. Nothing is left to chance in this game, so a value may jump to its target."""

Table = dict[bytes, dict[int, float]]
"""Q(s, a): for each position, by the bytes of its observation, the values of the actions tried there."""


def best(values: dict[int, float], legal: list[int]) -> int:
    """The action of highest value among those tried; the lowest legal one if none was."""
    return max(values, key=values.__getitem__) if values else legal[0]


def train(seed: int) -> Table:
    """Plays the games; each is learned at its end, from the last step to the first."""
    env: gym.Env[Any, Any] = gym.make(GAME, opponent=None)
    random, _ = seeding.np_random(seed)
    q: Table = {}
    for game in range(GAMES):
        observation, info = env.reset()
        steps: list[tuple[dict[int, float], int, float]] = []
        terminated = False
        while not terminated:
            legal = info["action_mask"].nonzero()[0].tolist()
            values = q.setdefault(observation.tobytes(), {})
            untried = [action for action in legal if action not in values]
            explores = random.random() < EPSILONS[(game + len(steps)) % 2]
            action = untried[0] if untried else int(random.choice(legal)) if explores else best(values, legal)
            observation, reward, terminated, _, info = env.step(action)
            steps.append((values, action, float(reward)))
        next_value = 0.0  # of the next position, to the side that moves there
        for values, action, reward in reversed(steps):
            target = reward - next_value
            values[action] = values.get(action, 0.0) + RATE * (target - values.get(action, 0.0))
            next_value = max(values.values())
    return q


def judge(q: Table) -> Verdict:
    """The exact verdict on the player who always takes the best action known."""

    def plain_q(observation: Any, mask: Any) -> int:
        return best(q.get(observation.tobytes(), {}), mask.nonzero()[0].tolist())

    return verdict(plain_q, GAME)


if __name__ == "__main__":
    print(judge(train(seed=0)))
