"""Tabular Sarsa and expected Sarsa."""

from __future__ import annotations

import numpy as np

from tictac_agents.tabular.action_values import ActionTable, ActionValues
from tictac_agents.tabular.learner import Environment
from tictac_agents.tabular.runs import Schedule
from tictac_env.checks import flag
from tictac_env.compiled import kernel_methods
from tictac_env.games import Game


@kernel_methods
class SarsaTable(ActionTable):
    """How Sarsa plays and learns. This source runs interpreted, and compiled in every loop over games.

    The steps of the game on board i are in `steps`, each the row and the slot of a pair (s, a), and in `rewards`.
    """

    def choose_action(self, game: Game, i: int, seat: int, own: int, opp: int) -> int:
        """Explores epsilon-greedily, and learns the step before: what follows it is now chosen."""
        action = self.explore_or_exploit(game, i, own, opp)
        step = self.lengths[i]
        if step > 0:
            self.update(i, step - 1, False)
        return action

    def learn_from_result(
        self, game: Game, i: int, seat: int, own: int, opp: int, reward: float, terminated: bool, truncated: bool
    ) -> bool:
        """Learns the last step of a game; every other waits for the next action."""
        step = self.note_reward(i, reward)
        if terminated:
            self.update(i, step, True)
        elif truncated:
            self.choose_action(game, i, seat, own, opp)
        return terminated or truncated

    def update(self, i: int, step: int, last: bool) -> None:
        """Moves Q(s, a) towards its target r + gamma * Q(s', a'), or r if the step ended the game."""
        row, slot = self.steps[i, step, 0], self.steps[i, step, 1]
        target = self.rewards[i, step]
        if not last:
            target += self.sign * self.gamma * self.next_value(i, step + 1)
        td_error = target - self.q[0, row, slot]
        self.q[0, row, slot] += self.step_size(row, slot) * td_error

    def next_value(self, i: int, step: int) -> float:
        """The value of the action chosen at a step."""
        return float(self.q[0, self.steps[i, step, 0], self.steps[i, step, 1]])


@kernel_methods
class ExpectedSarsaTable(SarsaTable):
    """Learns from the mean over the next action instead."""

    def next_value(self, i: int, step: int) -> float:
        """The mean value of the action at a step: epsilon shared by all, the rest by the best."""
        values, leading = self.q[0, self.steps[i, step, 0]], self.steps[i, step, 2]
        best, total, count = -np.inf, 0.0, 0
        for action in range(len(values)):
            value = values[self.folding.slot(leading, action)]
            if value == value:  # not where the action is illegal: nan
                best = max(best, value)
                total += value
                count += 1
        return (1 - self.epsilon) * best + self.epsilon * total / count


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

    Example:
        >>> from tictac_agents import Sarsa
        >>> agent = Sarsa("TicTacToe-v0", expected=True, seed=0).learn(total_episodes=200)
        >>> agent.predict([[0, 0, 0], [0, 1, 0], [0, 0, -1]])[0] in range(9)
        True
    """

    def __init__(
        self,
        env: Environment | str,
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
        self.forget()

    def _table_class(self) -> type[ActionTable]:
        return ExpectedSarsaTable if self.expected else SarsaTable
