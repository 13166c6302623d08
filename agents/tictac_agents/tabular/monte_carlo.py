"""Monte Carlo control."""

from __future__ import annotations

from typing import ClassVar

from tictac_agents.tabular.action_values import ActionTable, ActionValues
from tictac_agents.tabular.drivers import Environment
from tictac_agents.tabular.learner import Preset
from tictac_agents.tabular.table_policy import Schedule
from tictac_env.checks import flag
from tictac_env.compiled import kernel_methods


@kernel_methods
class ReturnTable(ActionTable):
    """An `ActionTable` that learns from whole returns."""

    def learn_game(self, i: int, ended: bool) -> None:
        following = 0.0
        for step in range(self.lengths[i] - 1, -1, -1):
            following = self.rewards[i, step] + self.sign * self.gamma * following
            if self.is_learned(i, step):
                row, slot = self.steps[i, step, 0], self.steps[i, step, 1]
                self.approach(following, row, slot)

    def is_learned(self, i: int, step: int) -> bool:
        """Whether this visit counts."""
        return True


@kernel_methods
class FirstVisitTable(ReturnTable):
    """Learns only from the first visit of a position in a game."""

    def is_learned(self, i: int, step: int) -> bool:
        row, slot = self.steps[i, step, 0], self.steps[i, step, 1]
        for earlier in range(step):
            if self.steps[i, earlier, 0] == row and self.steps[i, earlier, 1] == slot:
                return False
        return True


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
        env: Environment | str,
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
        self.forget()

    def _table_class(self) -> type[ActionTable]:
        return FirstVisitTable if self.first_visit else ReturnTable

    def _learns_online(self) -> bool:
        return False
