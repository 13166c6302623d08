"""What the learners of action values share: the table, how they play with it, and its file."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from tictac_agents.learner import Arrays, Learner, Schedule
from tictac_agents.states import State, StateIndex, is_position
from tictac_env.checks import flag, number, schedule

Row = dict[int, float]
"""A number for each legal slot of one position."""


class Step(NamedTuple):
    """One step of an episode, in terms of the table."""

    state: State
    slot: int
    reward: float
    following: State | None
    """Where the next step begins; None if the game is over."""
    next_slot: int
    """The action chosen there; -1 if the game is over."""


class ActionValues(Learner):
    """A learner of a value Q(s, a) for each action in each position. A subclass says how a step is learned from.

    Args:
        env: an environment of ours, or its id; any opponent, seat and type of observation. With `opponent=None` the
            learner plays both sides; what follows a step is then the other side's position, and counts negatively.
        gamma: the discount, in [0, 1].
        epsilon: the chance of a random action, in [0, 1]: a number, or several for equal parts of a run.
        symmetry: whether positions that are images of each other share their values.
        initial_value: what every action is worth at first.
        tables: how many tables; it plays by their mean.
        learning_rate: the step size, in (0, 1], a number, or several for equal parts of a run; None for
            N(s, a) ** -decay, where N counts how often the action was learned.
        decay: see there, in (0.5, 1].
        seed: makes the run reproducible; None for fresh entropy.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any] | str,
        gamma: float,
        epsilon: Schedule,
        symmetry: bool,
        initial_value: float,
        tables: int,
        learning_rate: Schedule | None,
        decay: float,
        seed: int | None,
    ) -> None:
        super().__init__(env, seed)
        self.learning_rate = None if learning_rate is None else schedule("learning_rate", learning_rate, 1e-9, 1)
        self.decay = number("decay", decay, 0.5, 1)
        self.gamma = number("gamma", gamma, 0, 1)
        self.epsilon = schedule("epsilon", epsilon, 0, 1)
        self.symmetry = flag("symmetry", symmetry)
        self.initial_value = number("initial_value", initial_value, -1e9, 1e9)
        self.tables: list[list[Row]] = [[] for _ in range(tables)]
        self.forget()
        board: Any = self.env.unwrapped
        self._sign = 1.0 if board.opponent is not None else -1.0

    def __len__(self) -> int:
        """How many positions have values."""
        return len(self.states)

    def values(self, own: int, opp: int) -> dict[int, float]:
        """The value of each legal action in a position."""
        state = self.states.find(own, opp)
        if state is None:
            return dict.fromkeys(self.states.legal(own, opp), self.initial_value)
        return {action: self._value(state.row, state.slots[action]) for action in state.legal}

    def best_action(self, own: int, opp: int, allowed: Sequence[int]) -> int:
        values = self.values(own, opp)
        return max(allowed, key=values.__getitem__)

    def forget(self) -> None:
        self.states = StateIndex(self.game, self.symmetry)
        self.tables = [[] for _ in self.tables]
        self.counts: list[Row] = []

    @abstractmethod
    def _learn(self, step: Step) -> None:
        """Learns from one step."""

    def _step_size(self, step: Step) -> float:
        """The size of the step that an action is learned by, which is counted."""
        counts = self.counts[step.state.row]
        counts[step.slot] += 1
        return counts[step.slot] ** -self.decay if self._rate is None else self._rate

    def _play(self) -> Iterator[Step]:
        """Plays an episode, giving each step as soon as the next action is chosen."""
        self._rate = None if self.learning_rate is None else self.scheduled(self.learning_rate)
        observation, _ = self._reset()
        state = self._state(observation)
        action = self._choose(state)
        while True:
            observation, reward, terminated, truncated, _ = self.env.step(action)
            slot = state.slots[action]
            if terminated:
                yield Step(state, slot, float(reward), None, -1)
                return
            following = self._state(observation)
            action = self._choose(following)
            yield Step(state, slot, float(reward), following, following.slots[action])
            if truncated:
                return
            state = following

    def _choose(self, state: State) -> int:
        """The action to train with: random with probability epsilon, else one of the best, drawn among equals."""
        legal = state.legal
        if not self._explores():
            values = [self._value(state.row, state.slots[action]) for action in legal]
            best = max(values)
            legal = tuple(action for action, value in zip(legal, values, strict=True) if value == best)
        return legal[self._draw() % len(legal)] if len(legal) > 1 else legal[0]

    def _value(self, row: int, slot: int) -> float:
        total = 0.0
        for table in self.tables:
            total += table[row][slot]
        return total / len(self.tables)

    def _state(self, observation: Any) -> State:
        """The state of an observation, with a row in every table."""
        state = self.states.of_observation(observation)
        if state.row == len(self.tables[0]):
            for table in self.tables:
                table.append(dict.fromkeys(state.open_slots, self.initial_value))
            self.counts.append(dict.fromkeys(state.open_slots, 0.0))
        return state

    def _arrays(self) -> Arrays:
        """`positions` int64 (N, 2), own and opp; `q` float64 (tables, N, num_actions), nan where there is no slot;
        `counts` float64 (N, num_actions), how often each action was learned.
        """
        positions = np.array(self.states.positions, np.int64).reshape(-1, 2)
        q = np.stack([dense(table, self.game.num_actions) for table in self.tables])
        return {"positions": positions, "q": q, "counts": dense(self.counts, self.game.num_actions)}

    def _set_arrays(self, arrays: Arrays) -> None:
        positions, q, counts = arrays["positions"], arrays["q"], arrays["counts"]
        shape = (len(positions), self.game.num_actions)
        if q.shape != (len(self.tables), *shape) or counts.shape != shape or np.nanmin(counts, initial=0) < 0:
            raise ValueError(f"its tables have the shapes {q.shape} and {counts.shape}, or its counts are negative")
        self.states = StateIndex(self.game, self.symmetry)
        for row, (own, opp) in enumerate(positions.tolist()):
            if not is_position(self.game, own, opp) or self.states.of_bits(own, opp).row != row:
                raise ValueError(f"row {row} of its table is no position of its own")
        self.tables = [sparse(values, self.states) for values in q]
        self.counts = sparse(counts, self.states)


def dense(table: list[Row], num_actions: int) -> Any:
    """A table as float64 (N, num_actions), nan where there is no slot."""
    array = np.full((len(table), num_actions), np.nan)
    for row, values in enumerate(table):
        array[row, list(values)] = list(values.values())
    return array


def sparse(array: Any, states: StateIndex) -> list[Row]:
    """The table of an array as `dense` makes it.

    Raises:
        ValueError: a number is missing.
    """
    table = []
    for row, (own, opp) in enumerate(states.positions):
        slots = states.of_bits(own, opp).open_slots
        if not np.isfinite(array[row, list(slots)]).all():
            raise ValueError(f"row {row} of its table is not complete")
        table.append({slot: float(array[row, slot]) for slot in slots})
    return table
