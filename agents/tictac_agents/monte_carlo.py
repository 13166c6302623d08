"""Monte Carlo control."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium as gym

from tictac_agents.action_values import ActionValues, Step
from tictac_agents.learner import Preset, Schedule
from tictac_env.checks import flag


class MonteCarlo(ActionValues):
    """Learns the value of each action as the mean of what games brought that it was played in.

    At the end of a game every action played moves towards the return G that followed it, all rewards to the end:

        Q(s, a) += (G - Q(s, a)) / N(s, a)

    or, with a `learning_rate`, by that step; nothing is learned from other values (Sutton and Barto, section 5.4,
    on-policy control). `first_visit` counts a position that recurs in a game only once. Boards never recur, so on them
    both give the same.

    The published learner S3 was called Monte Carlo too, but moves each value towards the next one, which is temporal
    difference learning: it is `ValueTD.preset("S3")`. `MonteCarlo.preset("S3")` is what it was called.

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

    PRESETS: ClassVar[dict[str, Preset]] = {
        "S3": Preset({"epsilon": 0.1}, {"opponent": None}, 100_000),
    }

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
        super().__init__(env, gamma, epsilon, symmetry, initial_value, 1, learning_rate, 1.0, seed)
        self.first_visit = flag("first_visit", first_visit)

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
        row = self.tables[0][step.state.row]
        row[step.slot] += self._step_size(step) * (self._return - row[step.slot])
