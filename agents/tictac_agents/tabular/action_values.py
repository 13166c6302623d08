"""What the learners of action values share: the table, how they play with it, and its file."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.tabular.drivers import Environment
from tictac_agents.tabular.exploring import draw, explores
from tictac_agents.tabular.learner import Arrays, Learner
from tictac_agents.tabular.states import Folding, Ints, Rows, folding_of, new_rows
from tictac_agents.tabular.table_policy import Schedule
from tictac_env.checks import flag, number, schedule
from tictac_env.compiled import borrowing_kernel, kernel_methods
from tictac_env.games import Game
from tictac_env.policies.reflexes import pick

Floats = npt.NDArray[np.float64]


@kernel_methods
class ActionTable(NamedTuple):
    """The values of the actions in each position, and the games under way on N boards. Its methods are compiled.

    A subclass says how a step is learned from.
    """

    random: Ints
    epsilon: float
    rate: float
    """The step size; 0 for N(s, a) ** -decay."""
    rows: Rows
    folding: Folding
    q: Floats
    """float64 (tables, capacity, num_actions), nan where there is no slot."""
    counts: Floats
    """float64 (tables, capacity, num_actions), how often each action was learned."""
    lengths: Ints
    """int64 (N,), how many steps each game has."""
    steps: Ints
    """int64 (N, cells + 1, 2), for each step of a game the row it begins in, and the slot of its action."""
    rewards: Floats
    """float64 (N, cells + 1), for each step."""
    slots: Ints
    """int64 (num_actions,), the slots of the actions in the position that was looked at last, -1 where illegal."""
    sign: float
    """-1 if both sides step: what follows is then the other side's position."""
    gamma: float
    decay: float
    initial_value: float
    online: bool
    """Whether a step is learned as soon as the next action is chosen; else all of them at the end of the game."""

    def learn(self, i: int, step: int, last: bool) -> None:
        """Learns from one step of the game on board i; `last` if that ended the game."""
        raise NotImplementedError

    def learn_game(self, i: int, ended: bool) -> None:
        """Learns from a whole game on board i, the last step first; `ended` unless it was broken off."""
        count = self.lengths[i]
        for step in range(count - 1, -1, -1):
            self.learn(i, step, ended and step == count - 1)

    def begin(self, game: Game, i: int, seat: int, own: int, opp: int) -> None:
        """A game begins on board i."""
        self.lengths[i] = 0

    def choose(self, game: Game, i: int, seat: int, own: int, opp: int) -> int:
        """The next action on board i, which completes the step before: that can now be learned."""
        row = self.meet(game, own, opp)
        choices = game.legal(own, opp)
        if not explores(self.random, self.epsilon):
            choices = self.best(game, row)
        seed = draw(self.random) if choices.bit_count() > 1 else 0
        action = pick(game, choices, seed)
        step = self.lengths[i]
        self.steps[i, step, 0] = row
        self.steps[i, step, 1] = self.slots[action]
        if step and self.online:
            self.learn(i, step - 1, False)
        return action

    def observe(
        self, game: Game, i: int, seat: int, own: int, opp: int, reward: float, terminated: bool, truncated: bool
    ) -> bool:
        """What the action on board i led to. Returns whether the game there is over."""
        step = self.lengths[i]
        self.rewards[i, step] = reward
        self.lengths[i] = step + 1
        if not terminated and not truncated:
            return False
        if not terminated:
            self.choose(game, i, seat, own, opp)
        elif self.online:
            self.learn(i, step, True)
        if not self.online:
            self.learn_game(i, terminated)
        return True

    def approach(self, target: float, row: int, slot: int, table: int = 0) -> None:
        """Moves the value of an action towards a target, and counts that."""
        self.counts[table, row, slot] += 1
        size = self.rate if self.rate > 0 else self.counts[table, row, slot] ** -self.decay
        self.q[table, row, slot] += size * (target - self.q[table, row, slot])

    def value(self, row: int, slot: int) -> float:
        """What an action is worth: the mean of the tables."""
        total = 0.0
        for table in range(len(self.q)):
            total += self.q[table, row, slot]
        return total / len(self.q)

    def best(self, game: Game, row: int) -> int:
        """The actions of highest value in the position that was looked at last, as a set of `choice` bits."""
        best, choices = -np.inf, 0
        for action in range(game.num_actions):
            if self.slots[action] >= 0:
                value = self.value(row, self.slots[action])
                if value > best:
                    best, choices = value, 0
                if value == best:
                    choices |= game.choice(action)
        return choices

    def meet(self, game: Game, own: int, opp: int) -> int:
        """The row of a position, whose actions have their initial value if it is new."""
        least = self.folding.fold(game, own, opp, self.slots)
        known = self.rows.used[0]
        row = self.rows.number(self.folding.images[least, 0], self.folding.images[least, 1], 0)
        if row == known:
            for action in range(game.num_actions):
                slot = self.slots[action]
                if slot >= 0:
                    self.q[:, row, slot] = self.initial_value
                    self.counts[:, row, slot] = 0
        return row

    def evaluate(self, game: Game, own: int, opp: int, values: Floats) -> None:
        """Writes the value of each legal action to `values` (num_actions,), nan elsewhere; nothing is met."""
        least = self.folding.fold(game, own, opp, self.slots)
        row = self.rows.find(self.folding.images[least, 0], self.folding.images[least, 1], 0)
        for action in range(game.num_actions):
            slot = self.slots[action]
            values[action] = np.nan if slot < 0 else self.initial_value if row < 0 else self.value(row, slot)


@borrowing_kernel
def meet(game: Game, table: ActionTable, own: int, opp: int) -> int:
    """The row of a position; there must be room for a new one."""
    return table.meet(game, own, opp)


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
            N(s, a) ** -decay, where N counts how often a table learned the action.
        decay: see there, in [0.5, 1].
        seed: makes the run reproducible; None for fresh entropy.
    """

    ROW_ARRAYS: ClassVar[dict[str, int]] = {"q": 1, "counts": 1}
    GAME_ARRAYS = ("lengths", "steps", "rewards")

    def __init__(
        self,
        env: Environment | str,
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
        self._num_tables = tables

    @property
    def tables(self) -> Floats:
        """float64 (tables, N, num_actions): the values, nan where there is no slot; a view."""
        tables: Floats = self._core.q[:, : len(self)]
        return tables

    @property
    def counts(self) -> Floats:
        """float64 (N, num_actions), how often each action was learned, in all tables together."""
        counts: Floats = self._core.counts[:, : len(self)].sum(axis=0)
        return counts

    def _new_core(self) -> ActionTable:
        board: Any = self.env.unwrapped
        game, steps = self.game, (self.num_envs, self.game.cells + 1)
        rows = new_rows()
        return self._table_class()(
            random=self._random_state,
            epsilon=0.0,
            rate=0.0,
            rows=rows,
            folding=folding_of(game, self.symmetry),
            q=np.full((self._num_tables, len(rows.positions), game.num_actions), np.nan),
            counts=np.full((self._num_tables, len(rows.positions), game.num_actions), np.nan),
            lengths=np.zeros(self.num_envs, np.int64),
            steps=np.zeros((*steps, 2), np.int64),
            rewards=np.zeros(steps),
            slots=np.zeros(game.num_actions, np.int64),
            sign=1.0 if board.opponent is not None else -1.0,
            gamma=float(self.gamma),
            decay=float(self.decay),
            initial_value=float(self.initial_value),
            online=self._learns_online(),
        )

    @abstractmethod
    def _table_class(self) -> type[ActionTable]:
        """How it learns."""

    def _learns_online(self) -> bool:
        return True

    def accepts_games(self, games: Arrays, plies: npt.NDArray[Any]) -> bool:
        lengths, (rows, slots) = games["lengths"], np.moveaxis(games["steps"], 2, 0)
        in_table = (rows >= 0) & (rows < len(self)) & (slots >= 0) & (slots < self.game.num_actions)
        return bool(in_table.all() and ((lengths >= 0) & (lengths <= plies)).all())

    def _arrays(self) -> Arrays:
        """`positions` int64 (N, 2), own and opp; `q` float64 (tables, N, num_actions), nan where there is no slot;
        `counts` float64 (tables, N, num_actions), how often each action was learned.
        """
        counts = self._core.counts[:, : len(self)].copy()
        return {"positions": self.positions[:, :2].copy(), "q": self.tables.copy(), "counts": counts}

    def _set_arrays(self, arrays: Arrays) -> None:
        positions, q, counts = arrays["positions"], arrays["q"], arrays["counts"]
        shape = (self._num_tables, len(positions), self.game.num_actions)
        if positions.shape != (len(positions), 2) or positions.dtype != np.int64:
            raise ValueError(f"its positions are {positions.dtype} {positions.shape}, not int64 {(len(positions), 2)}")
        if q.shape != shape or counts.shape != shape or np.nanmin(counts, initial=0) < 0:
            raise ValueError(f"its tables have the shapes {q.shape} and {counts.shape}, or its counts are negative")
        self.forget()
        self.make_room(len(positions))
        for row, (own, opp) in enumerate(positions.tolist()):
            if self.game.status(own, opp) or meet(self.game, self._core, own, opp) != row:
                raise ValueError(f"row {row} of its table is no position of its own")
        open_slots = np.isfinite(self.tables)
        if not np.isfinite(q[open_slots]).all() or not np.isfinite(counts[open_slots]).all():
            raise ValueError("a row of its table is not complete")
        self.tables[open_slots] = q[open_slots]
        self._core.counts[:, : len(self)][open_slots] = counts[open_slots]
