"""Monte Carlo control."""

from __future__ import annotations

from typing import ClassVar

from tictac_agents.tabular.action_values import ActionTable, ActionValues
from tictac_agents.tabular.learner import Environment, Preset
from tictac_agents.tabular.runs import Schedule
from tictac_env.compiled import kernel_methods
from tictac_env.games import Game


@kernel_methods
class ReturnTable(ActionTable):
    """How Monte Carlo control plays and learns. This source runs interpreted, and compiled in every loop over games.

    The steps of the game on board i are in `steps`, each the row and the slot of a pair (s, a), and in `rewards`.
    """

    def choose_action(self, game: Game, i: int, seat: int, own: int, opp: int) -> int:
        """Explores epsilon-greedily."""
        return self.explore_or_exploit(game, i, own, opp)

    def learn_from_result(
        self, game: Game, i: int, seat: int, own: int, opp: int, reward: float, terminated: bool, truncated: bool
    ) -> bool:
        """At the end of a game moves each Q(s, a) of it towards the return that followed, the last one first."""
        last = self.note_reward(i, reward)
        if not terminated and not truncated:
            return False
        following = 0.0  # the return, all rewards to the end
        for step in range(last, -1, -1):
            following = self.rewards[i, step] + self.sign * self.gamma * following
            row, slot = self.steps[i, step, 0], self.steps[i, step, 1]
            error = following - self.q[0, row, slot]
            self.q[0, row, slot] += self.step_size(row, slot) * error
        return True


class MonteCarlo(ActionValues):
    """Learns the value of each action as the mean of what games brought that it was played in.

    At the end of a game every action played moves towards the return G that followed it, all rewards to the end:

        Q(s, a) += (G - Q(s, a)) / N(s, a)

    or, with a `learning_rate`, by that step; nothing is learned from other values (Sutton and Barto, section 5.4,
    on-policy control). First-visit and every-visit Monte Carlo are the same here: stones are never taken away, so no
    position recurs in a game.

    The published learner S3 was called Monte Carlo too, but moves each value towards the next one, which is temporal
    difference learning: it is `ValueTD.preset("S3")`. `MonteCarlo.preset("S3")` is what it was called.

    Args:
        env: an environment of ours, or its id; any opponent, seat and type of observation.
        learning_rate: None for the mean of all returns, or a step size in (0, 1] (several for equal parts of a run).
        gamma: the discount, in [0, 1].
        epsilon: the chance of a random action, in [0, 1]: a number, or several for equal parts of a run.
        symmetry: whether positions that are images of each other share their values.
        initial_value: what every action is worth at first.
        seed: makes the run reproducible; None for fresh entropy.

    Raises:
        ValueError: an argument is out of its range; the message names it.

    Example:
        >>> from tictac_agents import MonteCarlo
        >>> MonteCarlo("TicTacToe-v0", seed=0).learn(total_episodes=200).num_episodes
        200
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
        symmetry: bool = True,
        initial_value: float = 0.0,
        seed: int | None = None,
    ) -> None:
        super().__init__(env, gamma, epsilon, symmetry, initial_value, 1, learning_rate, 1.0, seed)
        self.forget()

    def _table_class(self) -> type[ActionTable]:
        return ReturnTable

    def _learns_online(self) -> bool:
        return False
