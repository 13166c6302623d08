"""Tabular Q-learning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from tictac_agents.learner import Arrays, Learner, Schedule
from tictac_agents.states import State, StateIndex
from tictac_env.checks import flag, number, one_of, schedule

UPDATES = ("backward", "online")

Row = dict[int, float]
"""The values of the legal slots of one position."""


class QLearning(Learner):
    """Learns the value of each action in each position (Watkins, "Learning from delayed rewards", 1989).

    After a step from position s by action a, with reward r and s' the next position in which the learner moves,

        Q(s, a) += learning_rate * (r + gamma * max Q(s', .) - Q(s, a)),

    the maximum counting 0 where the game is over. With `opponent=None` the learner plays both sides; s' is then the
    other side's position, and its value counts negatively.

    With `double` there are two tables; a coin decides which one learns, from the value that the other gives to the
    action it holds best itself (van Hasselt, "Double Q-learning", 2010). It plays by their mean.

    Args:
        env: an environment of ours, or its id; any opponent, seat and type of observation.
        learning_rate: the step size, in (0, 1]: a number, or several for equal parts of a run.
        gamma: the discount, in [0, 1].
        epsilon: the chance of a random action, in [0, 1]: a number, or several for equal parts of a run.
        symmetry: whether positions that are images of each other share their values.
        updates: "backward": a game's steps are learned at its end, the last one first, so that a result reaches the
            first move at once; "online": each step as it is made.
        double: whether to learn two tables.
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

    def __init__(
        self,
        env: gym.Env[Any, Any] | str,
        learning_rate: Schedule = 0.4,
        gamma: float = 1.0,
        epsilon: Schedule = (0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0, 0.0, 0.0),
        symmetry: bool = True,
        updates: str = "backward",
        double: bool = False,
        initial_value: float = 0.0,
        seed: int | None = None,
    ) -> None:
        super().__init__(env, seed)
        self.learning_rate = schedule("learning_rate", learning_rate, 1e-9, 1)
        self.gamma = number("gamma", gamma, 0, 1)
        self.epsilon = schedule("epsilon", epsilon, 0, 1)
        self.symmetry = flag("symmetry", symmetry)
        self.updates = one_of("updates", updates, UPDATES)
        self.double = flag("double", double)
        self.initial_value = number("initial_value", initial_value, -1e9, 1e9)
        self.states = StateIndex(self.game, self.symmetry)
        self.tables: list[list[Row]] = [[] for _ in range(2 if self.double else 1)]
        board: Any = self.env.unwrapped
        self._sign = 1.0 if board.opponent is not None else -1.0

    def __len__(self) -> int:
        """How many positions have values."""
        return len(self.states)

    def values(self, own: int, opp: int) -> dict[int, float]:
        """The value of each legal action in a position (the mean of the two tables, if there are two)."""
        state = self.states.find(own, opp)
        if state is None:
            legal = self.states.legal(own, opp)
            return dict.fromkeys(legal, self.initial_value)
        return {action: self._value(state.row, state.slots[action]) for action in state.legal}

    def best_action(self, own: int, opp: int, allowed: Sequence[int]) -> int:
        values = self.values(own, opp)
        return max(allowed, key=values.__getitem__)

    def _episode(self) -> int:
        rate = self.scheduled(self.learning_rate)
        observation, _ = self._reset()
        state = self._state(observation)
        steps: list[tuple[State, int, float, State | None]] = []
        while True:
            action = self._choose(state)
            observation, reward, terminated, truncated, _ = self.env.step(action)
            following = None if terminated else self._state(observation)
            steps.append((state, state.slots[action], float(reward), following))
            if self.updates == "online":
                self._update(*steps[-1], rate)
            if following is None or truncated:
                break
            state = following
        if self.updates == "backward":
            for step in reversed(steps):
                self._update(*step, rate)
        return len(steps)

    def _choose(self, state: State) -> int:
        """The action to train with: random with probability epsilon, else one of the best, drawn among equals."""
        legal = state.legal
        if not self._explores():
            values = [self._value(state.row, state.slots[action]) for action in legal]
            best = max(values)
            legal = tuple(action for action, value in zip(legal, values, strict=True) if value == best)
        return legal[self._draw() % len(legal)] if len(legal) > 1 else legal[0]

    def _update(self, state: State, slot: int, reward: float, following: State | None, rate: float) -> None:
        learning = other = self.tables[0]
        if self.double:
            coin = self._draw() & 1
            learning, other = self.tables[coin], self.tables[1 - coin]
        target = reward
        if following is not None:
            row = learning[following.row]
            best = max(row, key=row.__getitem__) if self.double else None
            value = other[following.row][best] if best is not None else max(row.values())
            target += self._sign * self.gamma * value
        row = learning[state.row]
        row[slot] += rate * (target - row[slot])

    def _value(self, row: int, slot: int) -> float:
        if self.double:
            return (self.tables[0][row][slot] + self.tables[1][row][slot]) / 2
        return self.tables[0][row][slot]

    def _state(self, observation: Any) -> State:
        """The state of an observation, with a row in every table."""
        state = self.states.of_observation(observation)
        if state.row == len(self.tables[0]):
            for table in self.tables:
                table.append(dict.fromkeys(sorted({state.slots[action] for action in state.legal}), self.initial_value))
        return state

    def _arrays(self) -> Arrays:
        """`positions` int64 (N, 2), own and opp; `q` float64 (tables, N, num_actions), nan where there is no slot."""
        q = np.full((len(self.tables), len(self), self.game.num_actions), np.nan)
        for table, rows in enumerate(self.tables):
            for row, values in enumerate(rows):
                q[table, row, list(values)] = list(values.values())
        return {"positions": np.array(self.states.positions, np.int64).reshape(-1, 2), "q": q}

    def _set_arrays(self, arrays: Arrays) -> None:
        positions, q = arrays["positions"], arrays["q"]
        if q.shape != (len(self.tables), len(positions), self.game.num_actions):
            raise ValueError(f"its table has the shape {q.shape}")
        states = StateIndex(self.game, self.symmetry)
        tables: list[list[Row]] = [[] for _ in self.tables]
        for row, (own, opp) in enumerate(positions.tolist()):
            state = states.of_bits(own, opp)
            slots = sorted({state.slots[action] for action in state.legal})
            if (
                own < 0
                or opp < 0
                or self.game.fault(own, opp)
                or state.row != row
                or not np.isfinite(q[:, row, slots]).all()
            ):
                raise ValueError(f"row {row} of its table is not in order")
            for table, values in zip(tables, q[:, row], strict=True):
                table.append({slot: float(values[slot]) for slot in slots})
        self.states, self.tables = states, tables
