"""Tabular Sarsa and expected Sarsa."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from tictac_agents.action_values import ActionValues, Step
from tictac_agents.learner import Schedule
from tictac_env.checks import flag


class Sarsa(ActionValues):
    """Learns the value of each action, the learner going on as it does, exploration included.

    After a step from position s by action a, with reward r, the next position s' and the action a' chosen there,

        Q(s, a) += learning_rate * (r + gamma * Q(s', a') - Q(s, a))

    (Rummery and Niranjan, "On-line Q-learning using connectionist systems", 1994; Sutton and Barto, section 6.4).
    `expected` takes the mean over a' by its probabilities instead (van Seijen et al., 2009; section 6.6). So it learns
    to keep clear of positions in which its own exploration is dangerous, and its values become those of the best play
    only as epsilon falls to 0.

    Args:
        env: an environment of ours, or its id; any opponent, seat and type of observation.
        learning_rate: the step size, in (0, 1]: a number, or several for equal parts of a run; None for
            N(s, a) ** -decay, where N counts how often the action was learned.
        decay: see there, in [0.5, 1].
        gamma: the discount, in [0, 1].
        epsilon: the chance of a random action, in [0, 1]: a number, or several for equal parts of a run.
        expected: whether to take the mean over the next action.
        symmetry: whether positions that are images of each other share their values.
        initial_value: what every action is worth at first.
        seed: makes the run reproducible; None for fresh entropy.

    Raises:
        ValueError: an argument is out of its range; the message names it.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any] | str,
        learning_rate: Schedule | None = 0.4,
        decay: float = 0.75,
        gamma: float = 1.0,
        epsilon: Schedule = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01),
        expected: bool = False,
        symmetry: bool = True,
        initial_value: float = 0.0,
        seed: int | None = None,
    ) -> None:
        super().__init__(env, gamma, epsilon, symmetry, initial_value, 1, learning_rate, decay, seed)
        self.expected = flag("expected", expected)

    def _episode(self) -> int:
        count = 0
        for step in self._play():
            self._learn(step)
            count += 1
        return count

    def _learn(self, step: Step) -> None:
        table = self.tables[0]
        target = step.reward
        if step.following is not None:
            following = table[step.following.row]
            value = self._expectation(step) if self.expected else following[step.next_slot]
            target += self._sign * self.gamma * value
        row = table[step.state.row]
        row[step.slot] += self._step_size(step) * (target - row[step.slot])

    def _expectation(self, step: Step) -> float:
        """The mean value of the next action: epsilon shared by all, the rest by the best."""
        state = step.following
        if state is None:
            return 0.0
        row = self.tables[0][state.row]
        values = [row[state.slots[action]] for action in state.legal]
        epsilon = self.scheduled(self.epsilon)
        return (1 - epsilon) * max(values) + epsilon * sum(values) / len(values)
