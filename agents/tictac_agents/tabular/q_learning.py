"""Tabular Q-learning, single and double."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tictac_agents.tabular.action_values import ActionTable, ActionValues, Floats
from tictac_agents.tabular.draws import draw
from tictac_agents.tabular.learner import Environment, Preset
from tictac_agents.tabular.runs import Schedule
from tictac_env.checks import flag, one_of
from tictac_env.compiled import kernel_methods
from tictac_env.games import Game

UPDATES = ("backward", "online")
FALLING = (0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0, 0.0, 0.0)
"""S2's exploration: 0.7, falling by 0.1 with every tenth of the run."""


@kernel_methods
class QTable(ActionTable):
    """How Q-learning plays and learns. This source runs interpreted, and compiled in every loop over games.

    The steps of the game on board i are in `steps`, each the row and the slot of a pair (s, a), and in `rewards`.
    """

    def choose_action(self, game: Game, i: int, seat: int, own: int, opp: int) -> int:
        """Explores epsilon-greedily; online, the step before is learned now, as the position it led to is known."""
        action = self.explore_or_exploit(game, i, own, opp)
        step = self.lengths[i]
        if self.online and step > 0:
            self.update(i, step - 1, False)
        return action

    def learn_from_result(
        self, game: Game, i: int, seat: int, own: int, opp: int, reward: float, terminated: bool, truncated: bool
    ) -> bool:
        """At the end of a game learns its last step, or backward all its steps, the last one first."""
        step = self.note_reward(i, reward)
        if not terminated and not truncated:
            return False
        if not terminated:
            self.choose_action(game, i, seat, own, opp)  # the game is broken off: what follows has a value
        elif self.online:
            self.update(i, step, True)
        if not self.online:
            for earlier in range(step, -1, -1):
                self.update(i, earlier, terminated and earlier == step)
        return True

    def update(self, i: int, step: int, last: bool) -> None:
        """Moves Q(s, a) towards its target r + gamma * max Q(s', .), or r if the step ended the game."""
        learning = judging = 0
        if len(self.q) == 2 and not (last and self.end_teaches_both):  # double Q-learning
            learning = draw(self.random) & 1
            judging = 1 - learning
        row, slot = self.steps[i, step, 0], self.steps[i, step, 1]
        target = self.rewards[i, step]
        if not last:
            next_row = self.steps[i, step + 1, 0]
            best = self.best_slot(self.q[learning, next_row])
            target += self.sign * self.gamma * self.q[judging, next_row, best]
        td_error = target - self.q[learning, row, slot]
        self.q[learning, row, slot] += self.step_size(row, slot, learning) * td_error
        if last and self.end_teaches_both:
            other_error = target - self.q[1, row, slot]
            self.q[1, row, slot] += self.step_size(row, slot, 1) * other_error

    def best_slot(self, values: Floats) -> int:
        """The first slot of highest value."""
        best, slot = -np.inf, 0
        for other in range(len(values)):
            if values[other] > best:  # not where there is none: nan
                best, slot = values[other], other
        return slot


class QLearning(ActionValues):
    """Learns the value of each action, the best action following (Watkins, "Learning from delayed rewards", 1989).

    After a step from position s by action a, with reward r and s' the next position in which the learner moves,

        Q(s, a) += learning_rate * (r + gamma * max Q(s', .) - Q(s, a)),

    the maximum counting 0 where the game is over. With `opponent=None` the learner plays both sides; s' is then the
    other side's position, and its value counts negatively.

    With `double` there are two tables; a coin decides which one learns, from the value that the other gives to the
    action it holds best itself (van Hasselt, "Double Q-learning", 2010). It plays by their mean.

    Presets (`QLearning.preset(name)`):
        S2: the published Q-table, 14,000 games against random play, half of them from each seat.
        S2-double: the same with two tables, which both learn the last step of a game.
        S2-draw: the same as S2 with a draw worth as much as a win.
        S2-minimax: S2, trained against the minimax player that draws among its best moves.
        infallible: S2 cured. Against random play an agent soon learns that a trap is worth laying even if one reply
            to it wins by force, as random play seldom finds that reply: so S2's table now and then loses to a player
            that does. Against perfect play alone there is nothing to be won, and it never learns to win. The cure is to
            make a loss dearer. The best response to random play that pays 1 for a win and -k for a loss gives up a
            little of what it wins for never losing as soon as k is large enough; on tic-tac-toe, from k = 3.5 on, it
            is infallible from both seats *and* wins all that an infallible player can, 99.479 % as the first and
            91.640 % as the second. With k = 10 this is far from the edge; steps that shrink with N(s, a) and much
            exploration then tell the last half per cent apart. (Another cure is a teacher that errs with probability
            0.5 to 0.7, `Mixture(["random", "minimax"], [0.6, 0.4])`: a trap fails often enough not to pay. It has
            the same best response, but its games are noisier, so it takes longer to learn.)
        self-play: infallible after a few thousand games against itself.

    Args:
        env: an environment of ours, or its id; any opponent, seat and type of observation.
        learning_rate: the step size, in (0, 1]: a number, or several for equal parts of a run; None for
            N(s, a) ** -decay, where N counts how often a table learned the action (Even-Dar and Mansour, "Learning
            rates for Q-learning", 2003).
        decay: see there, in [0.5, 1].
        gamma: the discount, in [0, 1].
        epsilon: the chance of a random action, in [0, 1]: a number, or several for equal parts of a run.
        symmetry: whether positions that are images of each other share their values.
        updates: "backward": a game's steps are learned at its end, the last one first, so that a result reaches the
            first move at once; "online": each step as it is made.
        double: whether to learn two tables.
        end_teaches_both: with `double`, whether both tables learn the last step of a game, whose target is its reward.
        initial_value: what every action is worth at first.
        seed: makes the run reproducible; None for fresh entropy.

    Raises:
        ValueError: an argument is out of its range; the message names it.

    Example:
        >>> import gymnasium as gym, tictac_env
        >>> from tictac_agents import QLearning
        >>> agent = QLearning(gym.make("TicTacToe-v0", play_as="random"), seed=0).learn(total_episodes=500)
        >>> len(agent)
        370
    """

    PRESETS: ClassVar[dict[str, Preset]] = {
        "S2": Preset({}, {"opponent": "random", "play_as": "alternate"}, 14_000),
        "S2-double": Preset(
            {"double": True, "end_teaches_both": True}, {"opponent": "random", "play_as": "alternate"}, 14_000
        ),
        "S2-draw": Preset({}, {"opponent": "random", "play_as": "alternate", "rewards": (1, 1, 0)}, 14_000),
        "S2-minimax": Preset({}, {"opponent": "minimax", "play_as": "alternate"}, 14_000),
        "infallible": Preset(
            {"learning_rate": None, "decay": 0.75, "epsilon": 0.6},
            {"opponent": "random", "play_as": "alternate", "rewards": (1, 0, -10)},
            80_000,
        ),
        "self-play": Preset({"learning_rate": (0.8, 0.4, 0.1), "epsilon": 0.5}, {"opponent": None}, 9_000),
    }

    def __init__(
        self,
        env: Environment | str,
        learning_rate: Schedule | None = 0.4,
        decay: float = 0.75,
        gamma: float = 1.0,
        epsilon: Schedule = FALLING,
        symmetry: bool = True,
        updates: str = "backward",
        double: bool = False,
        end_teaches_both: bool = False,
        initial_value: float = 0.0,
        seed: int | None = None,
    ) -> None:
        self.double = flag("double", double)
        self.end_teaches_both = flag("end_teaches_both", end_teaches_both)
        if self.end_teaches_both and not self.double:
            raise ValueError("end_teaches_both=True needs double=True: there is one table")
        super().__init__(env, gamma, epsilon, symmetry, initial_value, 2 if double else 1, learning_rate, decay, seed)
        self.updates = one_of("updates", updates, UPDATES)
        self.forget()

    def _table_class(self) -> type[ActionTable]:
        return QTable

    def _learns_online(self) -> bool:
        return self.updates == "online"
