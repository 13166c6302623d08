"""What the learners of action values share: the table, how they play with it, and its file."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.tabular.draws import draw, explores
from tictac_agents.tabular.learner import Arrays, Environment
from tictac_agents.tabular.rows import Folding, Ints, Rows, folding_of, new_rows
from tictac_agents.tabular.runs import Schedule
from tictac_agents.tabular.table_learner import HOT, TableLearner
from tictac_env.checks import flag, number, schedule
from tictac_env.compiled import Tiered, borrowing_kernel, kernel_methods
from tictac_env.games import Game
from tictac_env.policies.policy import pick

Floats = npt.NDArray[np.float64]


@kernel_methods
class ActionTable(NamedTuple):
    """The values Q(s, a) of the actions in each position, and the games under way on N boards. Compiled.

    A subclass says how it plays (`choose_action`) and what it learns from, and when (`learn_from_result`).
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
    """float64 (tables, capacity, num_actions), N(s, a): how often each action was learned."""
    lengths: Ints
    """int64 (N,), how many steps each game has."""
    steps: Ints
    """int64 (N, cells + 1, 3), for each step of a game the row it begins in, the slot of its action, and the symmetries
    that lead to the row's position, as a set of bits."""
    rewards: Floats
    """float64 (N, cells + 1), for each step."""
    sign: float
    """-1 if both sides step: what follows is then the other side's position."""
    gamma: float
    decay: float
    initial_value: float
    online: bool
    """Whether a step is learned as soon as the next action is chosen; else all of them at the end of the game."""
    end_teaches_both: bool
    """Whether both of two tables learn the last step of a game."""

    def begin_game(self, game: Game, i: int, seat: int, own: int, opp: int) -> None:
        """A game begins on board i."""
        self.lengths[i] = 0

    def choose_action(self, game: Game, i: int, seat: int, own: int, opp: int) -> int:
        """The next action on board i. Whatever waited for this position can now be learned."""
        raise NotImplementedError

    def learn_from_result(
        self, game: Game, i: int, seat: int, own: int, opp: int, reward: float, terminated: bool, truncated: bool
    ) -> bool:
        """Learns from what the action on board i brought. Returns whether the game there is over."""
        raise NotImplementedError

    def explore_or_exploit(self, game: Game, i: int, own: int, opp: int) -> int:
        """Epsilon-greedy: a random action with probability epsilon, else one of highest value, drawn among equals.

        It is noted as the action of the game's next step.
        """
        row, leading = self.row_for(game, own, opp)
        choices = game.legal(own, opp)
        if not explores(self.random, self.epsilon):
            choices = self.greedy(game, own, opp, row, leading)
        seed = draw(self.random) if choices.bit_count() > 1 else 0
        action = pick(game, choices, seed)
        step = self.lengths[i]
        self.steps[i, step, 0] = row
        self.steps[i, step, 1] = self.folding.slot(leading, action)
        self.steps[i, step, 2] = leading
        return action

    def note_reward(self, i: int, reward: float) -> int:
        """Notes what the action on board i brought. Returns the number of that step."""
        step = self.lengths[i]
        self.rewards[i, step] = reward
        self.lengths[i] = step + 1
        return int(step)

    def step_size(self, row: int, slot: int, table: int = 0) -> float:
        """Counts one more update of Q(s, a) in a table, and returns its step size."""
        self.counts[table, row, slot] += 1
        return self.rate if self.rate > 0 else float(self.counts[table, row, slot] ** -self.decay)

    def greedy(self, game: Game, own: int, opp: int, row: int, leading: int) -> int:
        """The actions of highest value in a position, as a set of `choice` bits."""
        legal, best, choices = game.legal(own, opp), -np.inf, 0
        for action in range(game.num_actions):
            choice = game.choice(action)
            if legal & choice:
                value = self.value(row, self.folding.slot(leading, action))
                if value > best:
                    best, choices = value, 0
                if value == best:
                    choices |= choice
        return choices

    def value(self, row: int, slot: int) -> float:
        """What an action is worth: the mean of the tables."""
        total = 0.0
        for table in range(len(self.q)):
            total += self.q[table, row, slot]
        return total / len(self.q)

    def row_for(self, game: Game, own: int, opp: int) -> tuple[int, int]:
        """The row of a position, and the symmetries that lead to it; it is added if it is new."""
        least_own, least_opp, leading = self.folding.fold(own, opp)
        known = self.rows.used[0]
        row = self.rows.get_or_add(least_own, least_opp, 0)
        if row == known:
            legal = game.legal(own, opp)
            for action in range(game.num_actions):
                if legal & game.choice(action):
                    slot = self.folding.slot(leading, action)
                    self.q[:, row, slot] = self.initial_value
                    self.counts[:, row, slot] = 0
        return row, leading

    def evaluate(self, game: Game, own: int, opp: int, values: Floats) -> None:
        """Writes the value of each legal action to `values` (num_actions,), nan elsewhere; no row is added."""
        least_own, least_opp, leading = self.folding.fold(own, opp)
        row = self.rows.find(least_own, least_opp, 0)
        legal = game.legal(own, opp)
        for action in range(game.num_actions):
            values[action] = np.nan
            if legal & game.choice(action):
                slot = self.folding.slot(leading, action)
                values[action] = self.initial_value if row < 0 else self.value(row, slot)


@borrowing_kernel
def row_for(game: Game, table: ActionTable, own: int, opp: int) -> int:
    """The row of a position; there must be room for a new one."""
    return table.row_for(game, own, opp)[0]


class ActionValues(TableLearner):
    """A learner of a value Q(s, a) for each action in each position. A subclass gives the table that learns them.

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
        tables: Floats = self.table.q[:, : len(self)]
        return tables

    @property
    def counts(self) -> Floats:
        """float64 (N, num_actions), how often each action was learned, in all tables together."""
        counts: Floats = self.table.counts[:, : len(self)].sum(axis=0)
        return counts

    def _new_table(self) -> ActionTable:
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
            steps=np.zeros((*steps, 3), np.int64),
            rewards=np.zeros(steps),
            sign=1.0 if board.opponent is not None else -1.0,
            gamma=float(self.gamma),
            decay=float(self.decay),
            initial_value=float(self.initial_value),
            online=self._learns_online(),
            end_teaches_both=getattr(self, "end_teaches_both", False),
        )

    @abstractmethod
    def _table_class(self) -> type[ActionTable]:
        """How it learns."""

    def _learns_online(self) -> bool:
        return True

    def _accepts_games(self, games: Arrays, plies: npt.NDArray[Any]) -> bool:
        lengths, (rows, slots, leading) = games["lengths"], np.moveaxis(games["steps"], 2, 0)
        in_table = (rows >= 0) & (rows < len(self)) & (slots >= 0) & (slots < self.game.num_actions)
        in_table &= (leading >= 0) & (leading < 1 << len(self.table.folding.bits))
        return bool(in_table.all() and ((lengths >= 0) & (lengths <= plies)).all())

    def learned(self) -> Arrays:
        """`positions` int64 (N, 2), own and opp; `q` float64 (tables, N, num_actions), nan where there is no slot;
        `counts` float64 (tables, N, num_actions), how often each action was learned.
        """
        counts = self.table.counts[:, : len(self)].copy()
        return {"positions": self.positions[:, :2].copy(), "q": self.tables.copy(), "counts": counts}

    def set_learned(self, learned: dict[str, Any]) -> None:
        positions, q, counts = learned["positions"], learned["q"], learned["counts"]
        shape = (self._num_tables, len(positions), self.game.num_actions)
        if positions.shape != (len(positions), 2) or positions.dtype != np.int64:
            raise ValueError(f"its positions are {positions.dtype} {positions.shape}, not int64 {(len(positions), 2)}")
        if q.shape != shape or counts.shape != shape or np.nanmin(counts, initial=0) < 0:
            raise ValueError(f"its tables have the shapes {q.shape} and {counts.shape}, or its counts are negative")
        self.forget()
        self._make_room(len(positions))
        rows = Tiered(row_for, HOT, self.game, self.table, 0, 0)
        rows.heat(len(positions))  # so that a small table plays without the compiler
        for row, (own, opp) in enumerate(positions.tolist()):
            if self.game.status(own, opp) or rows.run(self.game, self.table, own, opp) != row:
                raise ValueError(f"row {row} of its table is not a position of its own")
        open_slots = np.isfinite(self.tables)
        if not np.isfinite(q[open_slots]).all() or not np.isfinite(counts[open_slots]).all():
            raise ValueError("a row of its table is not complete")
        self.tables[open_slots] = q[open_slots]
        self.table.counts[:, : len(self)][open_slots] = counts[open_slots]
