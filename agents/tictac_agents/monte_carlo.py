"""Monte Carlo control."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from tictac_agents.action_values import ActionValues, Row, Step, dense, sparse
from tictac_agents.learner import Arrays, Schedule
from tictac_agents.states import State
from tictac_env.checks import flag, schedule


class MonteCarlo(ActionValues):
    """Learns the value of each action as the mean of what games brought that it was played in.

    At the end of a game every action played moves towards the return G that followed it, all rewards to the end:

        Q(s, a) += (G - Q(s, a)) / N(s, a)

    or, with a `learning_rate`, by that step; nothing is learned from other values (Sutton and Barto, section 5.4,
    on-policy control). `first_visit` counts a position that recurs in a game only once. Boards never recur, so on them
    both give the same.

    The published learner S3 was called Monte Carlo too, but moves each value towards the next one, which is temporal
    difference learning: it is `ValueTD.preset("S3")`.

    Args:
        env: an environment of ours, or its id; any opponent, seat and type of observation.
        learning_rate: None for the mean of all returns, or a step size in (0, 1] (several for equal parts of a run).
        gamma: the discount, in [0, 1].
        epsilon: the chance of a random action, in [0, 1]: a number, or several for equal parts of a run.
        first_visit: whether only a position's first visit in a game counts.
        symmetry: whether positions that are images of each other share their values.
        initial_value: what every action is worth at first.
        seed: makes the run reproducible; None for fresh entropy.

    Raises:
        ValueError: an argument is out of its range; the message names it.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any] | str,
        learning_rate: Schedule | None = None,
        gamma: float = 1.0,
        epsilon: Schedule = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01),
        first_visit: bool = False,
        symmetry: bool = True,
        initial_value: float = 0.0,
        seed: int | None = None,
    ) -> None:
        self.counts: list[Row] = []
        """How often each action was played."""
        super().__init__(env, gamma, epsilon, symmetry, initial_value, 1, seed)
        self.learning_rate = None if learning_rate is None else schedule("learning_rate", learning_rate, 1e-9, 1)
        self.first_visit = flag("first_visit", first_visit)

    def forget(self) -> None:
        super().forget()
        self.counts = []

    def _episode(self) -> int:
        self._return = 0.0
        steps = list(self._play())
        for index in reversed(range(len(steps))):
            step = steps[index]
            self._return = step.reward + self._sign * self.gamma * self._return
            place = step.state.row, step.slot
            if not self.first_visit or all((other.state.row, other.slot) != place for other in steps[:index]):
                self._learn(step)
        return len(steps)

    def _learn(self, step: Step) -> None:
        counts, row = self.counts[step.state.row], self.tables[0][step.state.row]
        counts[step.slot] += 1
        rate = 1 / counts[step.slot] if self.learning_rate is None else self.scheduled(self.learning_rate)
        row[step.slot] += rate * (self._return - row[step.slot])

    def _add_row(self, state: State) -> None:
        self.counts.append(dict.fromkeys(state.open_slots, 0.0))

    def _arrays(self) -> Arrays:
        """Also `counts` float64 (N, num_actions), how often each action was played."""
        return super()._arrays() | {"counts": dense(self.counts, self.game.num_actions)}

    def _set_arrays(self, arrays: Arrays) -> None:
        super()._set_arrays(arrays)
        counts = arrays["counts"]
        if counts.shape != arrays["q"].shape[1:] or np.nanmin(counts, initial=0) < 0:
            raise ValueError(f"its counts have the shape {counts.shape} or are negative")
        self.counts = sparse(counts, self.states)
