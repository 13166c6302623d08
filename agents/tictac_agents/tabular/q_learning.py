"""Q-learning, and with other targets Sarsa and Monte Carlo control: tables of action values Q(s, a).

After a step from position s by action a, with reward r, the value moves by a step size towards its target:

    Q(s, a) += learning_rate * (r + gamma * V - Q(s, a)),      where the value V of what follows is

    Q-learning          max Q(s', .)              the best next action; double: one table chooses, the other judges
    Sarsa               Q(s', a')                 the next action that is really played
    expected Sarsa      sum of pi(b) Q(s', b)     the expectation over the next action
    Monte Carlo         the return from s'        the sum of the rewards that followed

and V = 0 if the game is over in s'. If the learner plays both sides, s' is the other side's position, and V has its
sign changed.
`ActionTable.update` makes the target, `move_towards` is that line; their source runs interpreted, and compiled in every
loop over games.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.base_learner import Arrays
from tictac_agents.settings import Schedule, setting, takes
from tictac_agents.tabular.learner import Environment, draw, explores
from tictac_agents.tabular.table_learner import Floats, Ints, Rows, TableLearner, TableSettings, new_rows
from tictac_env.compiled import kernel_methods
from tictac_env.games import Game, Status
from tictac_env.policies.policy import pick
from tictac_env.position import symmetries

Q_LEARNING, SARSA, EXPECTED_SARSA, MONTE_CARLO = range(4)
"""The rules: the value of what follows a step is that of the best action, of the chosen one, their mean, or the
return."""


def best_value(table: ActionTable, i: int, step: int, learning: int, judging: int) -> float:
    """Q-learning: the value of the best action; with two tables one chooses it and the other evaluates it."""
    row, best, slot = table.steps[i, step, 0], -np.inf, 0
    for other in range(table.q.shape[2]):
        if table.q[learning, row, other] > best:  # false in an unused slot: nan
            best, slot = table.q[learning, row, other], other
    return float(table.q[judging, row, slot])


def chosen_value(table: ActionTable, i: int, step: int) -> float:
    """Sarsa: the value of the action chosen."""
    return float(table.q[0, table.steps[i, step, 0], table.steps[i, step, 1]])


def mean_value(table: ActionTable, i: int, step: int) -> float:
    """Expected Sarsa: the expected value of the next action under the epsilon-greedy policy."""
    values, leading = table.q[0, table.steps[i, step, 0]], table.steps[i, step, 2]
    best, total, count = -np.inf, 0.0, 0
    for action in range(len(values)):
        value = values[table.folding.slot(leading, action)]
        if value == value:  # false if the action is illegal: nan
            best = max(best, value)
            total += value
            count += 1
    # A greedy action has probability 1 - epsilon, and any action epsilon / count more.
    return (1 - table.epsilon) * best + table.epsilon * total / count


@kernel_methods
class ActionTable(NamedTuple):
    """The values Q(s, a) of the actions in each position, and the unfinished games on N boards.

    A step of the game on board i is a row and a slot of `q`, a pair (s, a), in `steps`, and a reward in `rewards`.
    """

    random: Ints
    epsilon: float
    rate: float
    """The step size; 0 for N(s, a) ** -decay."""
    rows: Rows
    folding: Folding
    q: Floats
    """float64 (tables, capacity, num_actions), nan in unused slots."""
    counts: Floats
    """float64 (tables, capacity, num_actions), N(s, a): the number of updates."""
    lengths: Ints
    """int64 (N,), the number of steps of each game."""
    steps: Ints
    """int64 (N, cells + 1, 3), for each step of a game the row it begins in, the slot of its action, and the symmetries
    that lead to the row's position, as a set of bits."""
    rewards: Floats
    """float64 (N, cells + 1), for each step."""
    rule: int
    sign: float
    """-1 if both sides step: what follows is then the other side's position."""
    gamma: float
    decay: float
    initial_value: float
    online: bool
    """True to learn a step as soon as the next action is chosen; False to learn all steps at the end of the game."""
    end_teaches_both: bool
    """True if both of two tables learn the last step of a game."""

    def update(self, i: int, step: int, last: bool, following: float) -> float:
        """Moves Q(s, a) towards its target, r + gamma * what follows, or r if the step ended the game.

        Returns the target. `following` is the target of the next step, for Monte Carlo control.
        """
        # With double Q-learning a coin decides which table learns; the other one evaluates the next action.
        learning = judging = 0
        if len(self.q) == 2 and not (last and self.end_teaches_both):
            learning = draw(self.random) & 1
            judging = 1 - learning
        # The target is the reward, and the value of what follows by the rule of the algorithm.
        target = float(self.rewards[i, step])
        if not last:
            if self.rule == Q_LEARNING:
                following = best_value(self, i, step + 1, learning, judging)
            elif self.rule == SARSA:
                following = chosen_value(self, i, step + 1)
            elif self.rule == EXPECTED_SARSA:
                following = mean_value(self, i, step + 1)
            target += self.sign * self.gamma * following
        # Q(s, a) moves towards it.
        self.move_towards(learning, i, step, target)
        if last and self.end_teaches_both:
            self.move_towards(1, i, step, target)
        return target

    def move_towards(self, table: int, i: int, step: int, target: float) -> None:
        """Moves Q(s, a) in one of the tables towards a target, by the learning rate or N(s, a) ** -decay."""
        row, slot = self.steps[i, step, 0], self.steps[i, step, 1]
        td_error = target - self.q[table, row, slot]
        self.counts[table, row, slot] += 1
        rate = self.rate if self.rate > 0 else float(self.counts[table, row, slot] ** -self.decay)
        self.q[table, row, slot] += rate * td_error

    def begin_game(self, game: Game, i: int, seat: int, own: int, opp: int) -> None:
        """Begins a game on board i."""
        self.lengths[i] = 0

    def choose_action(self, game: Game, i: int, seat: int, own: int, opp: int) -> int:
        """Epsilon-greedy: a random action with probability epsilon, else one of highest value, drawn among equals.

        Online, the previous step is learned now that the action after it is chosen.
        """
        row, leading = self.row_for(game, own, opp)
        choices = game.legal(own, opp)
        if not explores(self.random, self.epsilon):
            choices = self.greedy(game, own, opp, row, leading)
        seed = draw(self.random) if choices.bit_count() > 1 else 0
        action = pick(game, choices, seed)
        # Write the pair (s, a) down: its reward is not known yet.
        step = self.lengths[i]
        self.steps[i, step, 0] = row
        self.steps[i, step, 1] = self.folding.slot(leading, action)
        self.steps[i, step, 2] = leading
        if self.online and step > 0:
            self.update(i, step - 1, False, 0.0)
        return action

    def learn_from_result(
        self, game: Game, i: int, seat: int, own: int, opp: int, reward: float, terminated: bool, truncated: bool
    ) -> bool:
        """Records the reward; at the end of a game learns its last step or, backward, all its steps, last one first.

        Returns True if the game is over.
        """
        # The reward completes the step that `choose_action` has begun.
        step = self.lengths[i]
        self.rewards[i, step] = reward
        self.lengths[i] = step + 1
        if not terminated and not truncated:
            return False
        # A truncated game is not over in its last position, which therefore has a value. Choosing an action there
        # writes the row that the target needs and, online, learns the last step.
        if not terminated and self.rule != MONTE_CARLO:
            self.choose_action(game, i, seat, own, opp)
        elif self.online:
            self.update(i, step, True, 0.0)
        # Backward, each step learns from a successor that has just learned: the result reaches the first move at once.
        if not self.online:
            following = 0.0
            for earlier in range(step, -1, -1):
                following = self.update(i, earlier, terminated and earlier == step, following)
        return True

    def greedy(self, game: Game, own: int, opp: int, row: int, leading: int) -> int:
        """The actions of highest value in a position, as a set of `choice` bits."""
        # A higher value begins the set again; an equal one joins it.
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
        """The mean value in the tables."""
        total = 0.0
        for table in range(len(self.q)):
            total += self.q[table, row, slot]
        return total / len(self.q)

    def row_for(self, game: Game, own: int, opp: int) -> tuple[int, int]:
        """The row of a position, added if it is new, and the symmetries that lead to it."""
        least_own, least_opp, leading = self.folding.fold(own, opp)
        next_row = self.rows.used[0]
        row = self.rows.get_or_add(least_own, least_opp, 0)
        if row == next_row:
            # A new row: its unused slots, of illegal actions or of images of others, stay nan.
            legal = game.legal(own, opp)
            for action in range(game.num_actions):
                if legal & game.choice(action):
                    slot = self.folding.slot(leading, action)
                    self.q[:, row, slot] = self.initial_value
                    self.counts[:, row, slot] = 0
        return row, leading

    def add(self, game: Game, seat: int, own: int, opp: int) -> int:
        """`row_for` of a position from a file, -1 if no game reaches it; the rows of both seats are the same."""
        return self.row_for(game, own, opp)[0] if game.status(own, opp) == Status.VALID else -1

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


@kernel_methods
class Folding(NamedTuple):
    """The symmetries of a board, which fold a position's images into one.

    The images share a row, and so do the actions that the position's own symmetries exchange: on tic-tac-toe's empty
    board the four corners are one slot.
    """

    # Tic-tac-toe has eight symmetries; a stone in a corner has four different images, each of which two of them give:
    #
    #     X . .     . . X     . . .     . . .
    #     . . .     . . .     . . .     . . .
    #     . . .     . . .     X . .     . . X
    #
    # The least pair (own, opp) stands for all four. The symmetries that lead to it are kept as a set of bits
    # (`leading`): where there are two or more, they also exchange actions, and such actions share a slot.

    bits: Ints
    """int64 (symmetries, cells, 2): for each cell its bit, and the bit of the cell it is taken to."""
    actions: Ints
    """int64 (symmetries, num_actions): the image of each action."""

    def fold(self, own: int, opp: int) -> tuple[int, int, int]:
        """The least image (own, opp) of a position, and the symmetries that lead to it, as a set of bits."""
        least_own = least_opp = leading = 0
        for k in range(len(self.bits)):
            # The image under symmetry k, moved stone by stone.
            image_own = image_opp = 0
            for cell in range(self.bits.shape[1]):
                bit, image = self.bits[k, cell, 0], self.bits[k, cell, 1]
                if own & bit:
                    image_own |= image
                elif opp & bit:
                    image_opp |= image
            # A new least image starts the set of symmetries again; an equal one adds its own to the set.
            if leading == 0 or image_own < least_own or (image_own == least_own and image_opp < least_opp):
                least_own, least_opp, leading = image_own, image_opp, 1 << k
            elif image_own == least_own and image_opp == least_opp:
                leading |= 1 << k
        return least_own, least_opp, leading

    def slot(self, leading: int, action: int) -> int:
        """The slot of an action in a position whose least image the symmetries `leading` lead to."""
        # Each of these symmetries takes the action to an action of the least image; the lowest of them is the slot.
        # x & (x - 1) clears the lowest bit of a set, which gives the symmetries one by one:
        #
        #     leading             1 0 1 1 0 0
        #     leading - 1         1 0 1 0 1 1
        #     higher = their and  1 0 1 0 0 0      the set without its lowest bit
        #     leading ^ higher    0 0 0 1 0 0      that bit alone, 1 << k
        #     minus 1             0 0 0 0 1 1      k bits, here 2
        slot: int = self.actions.shape[1]
        while leading > 0:
            higher = leading & (leading - 1)
            k = ((leading ^ higher) - 1).bit_count()
            slot = min(slot, int(self.actions[k, action]))
            leading = higher
        return slot


def folding_of(game: Game, symmetry: bool) -> Folding:
    """The symmetries of a game's board, or the identity alone."""
    images = symmetries(game) if symmetry else symmetries(game)[:1]
    return Folding(
        np.array([image.bits for image in images], np.int64), np.array([image.actions for image in images], np.int64)
    )


@dataclass(frozen=True, kw_only=True)
class ActionSettings(TableSettings):
    """The settings of all learners of action values."""

    learning_rate: Schedule | None = setting(
        0.4,
        "the step size: a number, or several for equal parts of the run; None for N(s, a) ** -decay, where N counts "
        'how often a table learned the action (Even-Dar and Mansour, "Learning rates for Q-learning", 2003)',
        1e-9,
        1,
    )
    decay: float = setting(0.75, "the exponent of the step size N(s, a) ** -decay", 0.5, 1)
    epsilon: Schedule = setting(
        (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01),
        "the chance of a random action: a number, or several for equal parts of the run",
        0,
        1,
    )
    symmetry: bool = setting(True, "True if mirrored and rotated positions share one value")
    initial_value: float = setting(0.0, "the value of every action before learning", -1e9, 1e9)


class ActionLearner(TableLearner):
    """A learner of action values by one of the rules."""

    settings: ActionSettings
    ROW_ARRAYS: ClassVar[dict[str, int]] = {"q": 1, "counts": 1}
    GAME_ARRAYS = ("lengths", "steps", "rewards")

    def __init__(self, env: Environment | str, settings: ActionSettings) -> None:
        super().__init__(env, settings)
        self.forget()

    @property
    def tables(self) -> Floats:
        """float64 (tables, N, num_actions): the values, nan in unused slots; a view."""
        tables: Floats = self.table.q[:, : len(self)]
        return tables

    @property
    def counts(self) -> Floats:
        """float64 (N, num_actions), the number of updates of each action, in all tables together."""
        counts: Floats = self.table.counts[:, : len(self)].sum(axis=0)
        return counts

    def _empty_table(
        self, rule: int, online: bool = False, tables: int = 1, end_teaches_both: bool = False
    ) -> ActionTable:
        """A table without rows that learns by one of the rules; the arguments are fields of `ActionTable`."""
        # Step size and epsilon come from the schedules, game by game (`_scheduled_table`).
        board: Any = self.env.unwrapped
        rows, steps = new_rows(), (self.num_envs, self.game.cells + 1)
        shape = tables, len(rows.positions), self.game.num_actions
        return ActionTable(
            random=self._random_state,
            epsilon=0.0,
            rate=0.0,
            rows=rows,
            folding=folding_of(self.game, self.settings.symmetry),
            q=np.full(shape, np.nan),
            counts=np.full(shape, np.nan),
            lengths=np.zeros(self.num_envs, np.int64),
            steps=np.zeros((*steps, 3), np.int64),
            rewards=np.zeros(steps),
            rule=rule,
            sign=1.0 if board.opponent is not None else -1.0,
            gamma=float(self.settings.gamma),
            decay=float(self.settings.decay),
            initial_value=float(self.settings.initial_value),
            online=online,
            end_teaches_both=end_teaches_both,
        )

    def _accepts_games(self, games: Arrays, plies: npt.NDArray[Any]) -> bool:
        lengths, (rows, slots, leading) = games["lengths"], np.moveaxis(games["steps"], 2, 0)
        in_table = (rows >= 0) & (rows < len(self)) & (slots >= 0) & (slots < self.game.num_actions)
        in_table &= (leading >= 0) & (leading < 1 << len(self.table.folding.bits))
        return bool(in_table.all() and ((lengths >= 0) & (lengths <= plies)).all())

    def learned(self) -> Arrays:
        """`positions` int64 (N, 2), own and opp; `q` float64 (tables, N, num_actions), nan in unused slots;
        `counts` float64 (tables, N, num_actions), the number of updates of each action.
        """
        counts = self.table.counts[:, : len(self)].copy()
        return {"positions": self.positions[:, :2].copy(), "q": self.tables.copy(), "counts": counts}

    def set_learned(self, learned: dict[str, Any]) -> None:
        positions, q, counts = learned["positions"], learned["q"], learned["counts"]
        shape = (len(self.tables), len(positions), self.game.num_actions)
        if positions.shape != (len(positions), 2) or positions.dtype != np.int64:
            raise ValueError(f"its positions are {positions.dtype} {positions.shape}, not int64 {(len(positions), 2)}")
        if q.shape != shape or counts.shape != shape or np.nanmin(counts, initial=0) < 0:
            raise ValueError(f"its tables have the shapes {q.shape} and {counts.shape}, or its counts are negative")
        self.forget()
        added = self._add_positions(0, positions)
        if added < len(positions):
            raise ValueError(f"row {added} of its table is not a position of its own")
        # New rows have numbers exactly in the slots of legal actions; the file must fill all of these.
        open_slots = np.isfinite(self.tables)
        if not np.isfinite(q[open_slots]).all() or not np.isfinite(counts[open_slots]).all():
            raise ValueError("a row of its table is not complete")
        self.tables[open_slots] = q[open_slots]
        self.table.counts[:, : len(self)][open_slots] = counts[open_slots]


@dataclass(frozen=True, kw_only=True)
class QLearningSettings(ActionSettings):
    """The settings of `QLearning`."""

    PRESETS: ClassVar = {
        "S2": {"play_as": "alternate", "total": 14_000},
        "S2-double": {"double": True, "end_teaches_both": True, "play_as": "alternate", "total": 14_000},
        "S2-draw": {"play_as": "alternate", "rewards": (1, 1, 0), "total": 14_000},
        "S2-minimax": {"opponent": "minimax", "play_as": "alternate", "total": 14_000},
        "infallible": {
            "learning_rate": None,
            "decay": 0.75,
            "epsilon": 0.6,
            "play_as": "alternate",
            "rewards": (1, 0, -10),
            "total": 80_000,
        },
        "self-play": {"learning_rate": (0.8, 0.4, 0.1), "epsilon": 0.5, "opponent": None, "total": 9_000},
    }
    epsilon: Schedule = setting(
        (0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0, 0.0, 0.0),
        "the chance of a random action: a number, or several for equal parts of the run",
        0,
        1,
    )
    updates: str = setting(
        "backward",
        "backward to learn a game at its end, the last step first, so that a result reaches the first move at once; "
        "online to learn each step as it is made",
        choices=("backward", "online"),
    )
    double: bool = setting(False, "True to learn two tables (double Q-learning)")
    end_teaches_both: bool = setting(
        False, "with `double`, True if both tables learn the last step of a game, whose target is its reward"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.end_teaches_both and not self.double:
            raise ValueError("end_teaches_both=True needs double=True: there is one table")


class QLearning(ActionLearner):
    """Learns the value of each action when the best actions follow (Watkins, "Learning from delayed rewards", 1989).

    After a step from position s by action a, with reward r and s' the next position in which the learner moves,

        Q(s, a) += learning_rate * (r + gamma * max Q(s', .) - Q(s, a)),

    where the maximum is 0 if the game is over. With `opponent=None` the learner plays both sides; s' is then the
    other side's position, and its value has the opposite sign.

    With `double` there are two tables; a coin decides which one learns. It chooses the best next action, and the other
    table gives that action's value (van Hasselt, "Double Q-learning", 2010). The learner plays by their mean.

    Presets (`QLearning.preset(name)`):
        S2: the published Q-table, 14,000 games against random play, half of them from each seat.
        S2-double: the same with two tables, which both learn the last step of a game.
        S2-draw: the same as S2 with a draw worth as much as a win.
        S2-minimax: S2, trained against the minimax player that draws among its best moves.
        infallible: S2 without its weakness. Against random play an agent soon learns to lay a trap even if one reply
            to it wins by force, as random play seldom finds that reply; so S2's table sometimes loses to a player
            that does. Perfect play alone is no better an opponent: there is nothing to win, so the agent never learns
            to win. The remedy is a higher price for a loss. The best response to random play with rewards of 1 for a
            win and -k for a loss gives up a few wins in order never to lose, if k is large enough. On tic-tac-toe,
            from k = 3.5, it is unbeatable from both seats *and* wins all that an unbeatable player can, 99.479 % as
            the first and 91.640 % as the second. k = 10 is far from that limit; steps that shrink with N(s, a) and
            much exploration then resolve the last half per cent. (Another remedy is an opponent that errs with
            probability 0.5 to 0.7, `Mixture(["random", "minimax"], [0.6, 0.4])`: a trap fails often enough not to
            pay. The best response is the same, but the games are noisier, so learning takes longer.)
        self-play: unbeatable after a few thousand games against itself.

    Args:
        env: an environment of ours, or its id; any opponent, seat and type of observation.
        {settings}

    Raises:
        ValueError: an argument is out of its range; the message names it.

    Example:
        >>> import gymnasium as gym, tictac_env
        >>> from tictac_agents import QLearning
        >>> agent = QLearning(gym.make("TicTacToe-v0", play_as="random"), seed=0).learn(total_episodes=500)
        >>> len(agent)
        370
    """

    settings: QLearningSettings

    @takes(QLearningSettings)
    def __init__(self, env: Environment | str, settings: QLearningSettings) -> None:
        super().__init__(env, settings)

    def _new_table(self) -> ActionTable:
        own = self.settings
        tables = 2 if own.double else 1
        return self._empty_table(Q_LEARNING, own.updates == "online", tables, own.end_teaches_both)


@dataclass(frozen=True, kw_only=True)
class SarsaSettings(ActionSettings):
    """The settings of `Sarsa`."""

    expected: bool = setting(False, "True to take the mean over the next action")


class Sarsa(ActionLearner):
    """Learns the value of each action under the policy that the learner follows, exploration included.

    After a step from position s by action a, with reward r, the next position s' and the action a' chosen there,

        Q(s, a) += learning_rate * (r + gamma * Q(s', a') - Q(s, a))

    (Rummery and Niranjan, "On-line Q-learning using connectionist systems", 1994; Sutton and Barto, section 6.4).
    `expected` takes the mean over a' by its probabilities instead (van Seijen et al., 2009; section 6.6). So it learns
    to keep clear of positions in which its own exploration is dangerous, and its values become those of the best play
    only as epsilon falls to 0.

    Args:
        env: an environment of ours, or its id; any opponent, seat and type of observation.
        {settings}

    Raises:
        ValueError: an argument is out of its range; the message names it.

    Example:
        >>> from tictac_agents import Sarsa
        >>> agent = Sarsa("TicTacToe-v0", expected=True, seed=0).learn(total_episodes=200)
        >>> agent.predict([[0, 0, 0], [0, 1, 0], [0, 0, -1]])[0] in range(9)
        True
    """

    settings: SarsaSettings

    @takes(SarsaSettings)
    def __init__(self, env: Environment | str, settings: SarsaSettings) -> None:
        super().__init__(env, settings)

    def _new_table(self) -> ActionTable:
        rule = EXPECTED_SARSA if self.settings.expected else SARSA
        return self._empty_table(rule, online=True)


@dataclass(frozen=True, kw_only=True)
class MonteCarloSettings(ActionSettings):
    """The settings of `MonteCarlo`: with no learning rate and a decay of 1, values are the means of all returns."""

    PRESETS: ClassVar = {"S3": {"epsilon": 0.1, "opponent": None, "total": 100_000}}
    learning_rate: Schedule | None = setting(
        None, "the step size, as of `QLearning`; None for N(s, a) ** -decay", 1e-9, 1
    )
    decay: float = setting(1.0, "the exponent of that step size; 1 for the mean of all returns", 0.5, 1)


class MonteCarlo(ActionLearner):
    """Learns the value of each action as the mean return of the games in which it was played.

    At the end of a game every action played moves towards the return G that followed it, all rewards to the end:

        Q(s, a) += (G - Q(s, a)) / N(s, a)

    or, with a `learning_rate`, by that step; no value is learned from another (Sutton and Barto, section 5.4,
    on-policy control). First-visit and every-visit Monte Carlo are the same here: stones are never removed, so no
    position recurs in a game.

    The published learner S3 was called Monte Carlo too, but it moves each value towards the next one, which is temporal
    difference learning: `ValueTD.preset("S3")`. `MonteCarlo.preset("S3")` is Monte Carlo control with its settings.

    Args:
        env: an environment of ours, or its id; any opponent, seat and type of observation.
        {settings}

    Raises:
        ValueError: an argument is out of its range; the message names it.

    Example:
        >>> from tictac_agents import MonteCarlo
        >>> MonteCarlo("TicTacToe-v0", seed=0).learn(total_episodes=200).num_episodes
        200
    """

    settings: MonteCarloSettings

    @takes(MonteCarloSettings)
    def __init__(self, env: Environment | str, settings: MonteCarloSettings) -> None:
        super().__init__(env, settings)

    def _new_table(self) -> ActionTable:
        return self._empty_table(MONTE_CARLO)
