"""Learners whose values are arrays in a table: play and learning as kernels on one board or many, and room to grow.

One source runs four ways, with the same result to the bit: a game of one board through `reset` and `step`, interpreted
or compiled (`turn`), whole games in a compiled loop (`play_whole_games`), and a step on each board of a vector
environment (`choose_actions` and `learn_from_results`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from tictac_agents.base_learner import NO_LIMIT, Arrays
from tictac_agents.settings import Schedule, Settings, setting
from tictac_agents.tabular.learner import Environment, Learner
from tictac_env.compiled import borrowing_kernel, in_one_line, is_kept, kernel_methods, machine_code
from tictac_env.envs.protocol import CONTINUES, NOT_GIVEN, PLAY_AS, Rewards, Setup, begin, reward, seen, step
from tictac_env.envs.single import BoardEnv
from tictac_env.envs.vector.board_batch import BatchOpponents
from tictac_env.envs.vector.boards import boards_of, int64_array
from tictac_env.envs.vector.passes import CompiledOpponents
from tictac_env.games import Game
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import LOW_32, mix

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BOARD_BYTES = 8192
"""The most bytes of the unfinished game of a board in a file."""
FEWEST_ROWS = 1024
HOT = 10_000
"""The number of calls of a kernel, or of positions it is called with, that pay for compiling it."""
LONG = 30_000
"""The number of steps left in a run that pay for compiling the loop over games, which takes some 4 seconds."""
CHUNK = 200_000
"""The number of steps that the compiled loop plays at a time: few enough to react to Ctrl-C."""
NEW, GOING, TERMINATED, TRUNCATED, OVER = range(5)
"""The phases of a game. Between two steps it is GOING or OVER."""


@kernel_methods
class Rows(NamedTuple):
    """Numbers the positions that a learner meets, in the order in which it meets them.

    A hash table with open addressing: a position's row is in the place that its bits are hashed to, or in the next one
    that was free. At least half of the places stay empty.
    """

    # `places` is the hash table; it holds row numbers only, so growing it moves no values. `positions` says which
    # position has which row. With P = 8, looking for the position of row 0, whose hash ends in 101:
    #
    #     place   places            row   positions
    #         4     -1                0   own, opp, part   <-----+
    #     ->  5      1   another one  1   own, opp, part         |
    #         6      0   this one     2   own, opp, part         |
    #         7     -1     |                                     |
    #                      +-------------------------------------+
    #
    # A search that comes to a place with -1 has passed all places where the position could be: it has no row. Such a
    # place always exists, as half of them stay empty. Rows are never removed, so no place becomes free again.

    positions: Ints
    """int64 (capacity, 3), for each row own, opp and the number of its table, if several share the rows."""
    places: Ints
    """int64 (P,), P a power of two, at least twice the capacity: a row, or -1."""
    used: Ints
    """int64 (1,), the number of rows."""

    def place(self, own: int, opp: int, part: int) -> int:
        """The index in `places` of a position, or the one it would get."""
        # P is a power of two: `& last` is the remainder by P. The halves of `opp` change places before the XOR: `own`
        # and `opp` exchanged would otherwise have the same hash.
        last = len(self.places) - 1
        place = mix(own ^ ((opp & LOW_32) << 31 | opp >> 32) ^ part) & last
        row = self.places[place]
        while row >= 0 and (
            self.positions[row, 0] != own or self.positions[row, 1] != opp or self.positions[row, 2] != part
        ):
            place = place + 1 & last  # after the last place comes the first
            row = self.places[place]
        return place

    def find(self, own: int, opp: int, part: int) -> int:
        """The row of a position, -1 if it has none."""
        return int(self.places[self.place(own, opp, part)])

    def get_or_add(self, own: int, opp: int, part: int) -> int:
        """The row of a position, the next free one if it is new; there must be room."""
        # The free place at which the search for a new position ends is the one that it gets.
        place = self.place(own, opp, part)
        row = self.places[place]
        if row < 0:
            row = self.used[0]
            self.used[0] = row + 1
            self.places[place] = row
            self.positions[row, 0] = own
            self.positions[row, 1] = opp
            self.positions[row, 2] = part
        return int(row)


@borrowing_kernel
def _add_all(rows: Rows, positions: Ints) -> None:
    for i in range(len(positions)):
        rows.get_or_add(positions[i, 0], positions[i, 1], positions[i, 2])


def new_rows(capacity: int = FEWEST_ROWS, positions: Ints | None = None) -> Rows:
    """Rows for at least `capacity` positions, numbered from 0 in the order of `positions`."""
    size = FEWEST_ROWS
    while size < capacity:
        size *= 2
    rows = Rows(np.zeros((size, 3), np.int64), np.full(2 * size, -1, np.int64), np.zeros(1, np.int64))
    if positions is not None and len(positions):
        _add_all(rows, positions)
    return rows


class Games(NamedTuple):
    """The games on N boards as their learners see them, each int64 (N,)."""

    seat: Ints
    own: Ints
    opp: Ints
    phase: Ints
    steps: Ints
    """The number of steps of the game."""


class LoopLimits(NamedTuple):
    """The limits of one call of the compiled loop."""

    games: int
    """The most games."""
    steps: int
    """The number of steps after which no game begins."""
    play_as: str | None = None
    """The learner's seat, a value of `play_as`; None leaves it to the environment."""


@dataclass(frozen=True, kw_only=True)
class TableSettings(Settings):
    """The settings of all learners with tables.

    Raises:
        ValueError: a setting is of a wrong type or out of its range; the message names it.
    """

    learning_rate: Schedule | None = setting(
        0.1, "the step size: a number, or several for equal parts of the run; None for 1 / N(s), by visits", 1e-9, 1
    )
    gamma: float = setting(1.0, "the discount", 0, 1)
    epsilon: Schedule = setting(
        0.1, "the chance of a random action: a number, or several for equal parts of the run", 0, 1
    )


class TableLearner(Learner):
    """A learner whose table is a `NamedTuple` of arrays, with methods for kernels.

    The table's methods `begin_game`, `choose_action`, `learn_from_result` and `evaluate` are the algorithm. On a vector
    environment all boards learn from the same table in their order, so results depend on `num_envs`. On an environment
    of ours that is not wrapped, with a compiled opponent (None, "random", "rule" or a pool of these), games run in a
    compiled loop.

    A subclass defines `_new_table`, `learned`, `set_learned` and `_accepts_games`, and calls `forget` at the end of its
    constructor.

    Attributes:
        table: the `ActionTable` or `ValueTable`.
        compiled: True if the compiled loop may play when it pays; assign False to send every game through `reset` and
            `step`.
    """

    ON_VECTOR_ENVS = True
    ROW_ARRAYS: ClassVar[dict[str, int]] = {}
    """The table's arrays with an entry for each row, and the axis of the rows."""
    GAME_ARRAYS: ClassVar[tuple[str, ...]] = ()
    """The table's arrays of unfinished games."""
    settings: TableSettings
    table: Any  # a NamedTuple's _replace keeps its class, which mypy does not know

    def __init__(self, env: Environment | str, settings: TableSettings) -> None:
        super().__init__(env, settings)
        self.compiled = True
        self.num_envs = int(getattr(self.env, "num_envs", 1))
        board: Any = self.env.unwrapped
        if isinstance(self.env, gym.vector.VectorEnv) and board.autoreset_mode == AutoresetMode.SAME_STEP:
            raise ValueError(
                "a learner sees the end of a game and then begins the next game itself: give the vector environment "
                f"autoreset_mode NEXT_STEP or DISABLED, not {board.autoreset_mode}"
            )
        self._most_new = 2 * (self.game.num_actions + 3)  # positions that one step adds to the table, at most
        self._games = Games(*(np.zeros(self.num_envs, np.int64) for _ in Games._fields))
        self._seen_last = 0, 0, 0  # seat, own and opp on the single board
        self._code: dict[Callable[..., Any], Callable[..., Any]] = {}
        self._runs: Counter[Callable[..., Any]] = Counter()
        self._pays: bool | None = None  # True if the compiled loop pays; None before the first game of a run
        self._abandon_games()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_code": {}, "_runs": Counter()}  # machine code is this process's

    def forget(self) -> None:
        """Forgets what has been learned, and unfinished games; counters, the RNG state and the run stay."""
        self.table = self._new_table()
        self._abandon_games()

    @abstractmethod
    def _new_table(self) -> Any:
        """An empty table, which holds `_random_state` as `random`."""

    # Machine code.

    def compile(self) -> Self:
        """Compiles at once what is otherwise compiled when it pays; no result changes."""
        # The arguments only say for which types to compile; nothing is called.
        several, values = np.empty(0, np.int64), np.empty(0)
        with in_one_line():
            for kernel, arguments in (
                (turn, (0, 0, 0, 0.0, NEW)),
                (write_values, (0, 0, values)),
                (best_actions, (several, several, values, several)),
            ):
                self._code[kernel] = machine_code(kernel, self.game, self.table, *arguments)
        if can_play(self.env):
            machine_code(play_whole_games, *self._loop_arguments(LoopLimits(0, 0)))
        return self

    def _call(self, kernel: Callable[..., Any], *arguments: Any, runs: int = 1) -> Any:
        """Calls a kernel, interpreted until compiling it pays: a short run ends before the compiler would.

        Machine code that an earlier run has kept is used at once. `runs` is the number of positions in this call.
        """
        code = self._code.get(kernel)
        if code is None:
            # The cache on disk is looked up only at the first call, as a look costs more than a short kernel.
            earlier = self._runs[kernel]
            self._runs[kernel] += runs
            if earlier + runs > HOT or (not earlier and is_kept(kernel, self.game, self.table, *arguments)):
                code = self._code[kernel] = machine_code(kernel, self.game, self.table, *arguments)
            else:
                code = getattr(kernel, "py_func", kernel)
        return code(self.game, self.table, *arguments)

    # One board.

    def begin_game(self, observation: Any, info: dict[str, Any]) -> None:
        self._make_room(self.game.cells * self._most_new)
        self._scheduled_table()
        self._seen_last = int(info["seat"]), *self.read(observation)
        self._action = self._call(turn, *self._seen_last, 0.0, NEW)

    def choose_action(self, observation: Any, info: dict[str, Any]) -> int:
        return int(self._action)

    def learn_from_result(
        self, observation: Any, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]
    ) -> bool:
        if not terminated or info["opponent_action"] >= 0:  # else the learner's own move was the end
            self._seen_last = int(info["seat"]), *self.read(observation)
        phase = TERMINATED if terminated else TRUNCATED if truncated else GOING
        self._action = self._call(turn, *self._seen_last, reward, phase)
        return bool(self._action < 0)

    def _play(self, games: int) -> Iterator[None]:
        """Plays a step on all boards, or a game, after many games in the compiled loop if that pays.

        All ways give the same result, so the choice may depend on what is compiled already.
        """
        if isinstance(self.env, gym.vector.VectorEnv):
            for steps in self._step_all():
                self._count(1, steps)
                yield
            return
        # The last game of a chunk always goes through `reset` and `step`: it leaves the environment as any game does,
        # so neither a callback nor a user can see which way the others were played.
        if games > 1 and self.compiled and self._pays:
            self._play_compiled(games - 1)
        self._play_by_steps()
        yield
        if self.compiled and self._pays is None:  # the first game of a run has seeded the environment
            self._pays = self._loop_pays()

    # The compiled loop.

    def _loop_pays(self) -> bool:
        """True if the compiled loop can play, and is compiled already or has enough left to play."""
        if self._run is None or not can_play(self.env):
            return False
        # A run that is counted in episodes has as many steps left as its games have had on average.
        left = self._run.end - self._counted()
        steps = left * self.num_timesteps / self.num_episodes if self._run.counter == "episodes" else left
        return steps >= LONG or is_kept(play_whole_games, *self._loop_arguments(LoopLimits(0, 0)))

    def _play_compiled(self, games: int) -> None:
        """Plays up to `games` games on the environment's board with its RNG state; never the last game of a run."""
        board: Any = self.env.unwrapped
        self._make_room(self.game.cells * self._most_new)
        self._scheduled_table()
        # No schedule changes within the loop: step size and epsilon are fields of the table that it is given.
        limits = self._limits()
        limits = limits._replace(games=min(games, limits.games), steps=min(CHUNK, limits.steps))
        # The loop draws what the environment would have drawn, and the environment continues from there.
        state = board.state_dict()
        randomness = np.array([state["random_state"], state["games_begun"]], np.int64)
        self._count(*play_whole_games(*self._loop_arguments(limits, randomness)))
        random_state, games_begun = randomness.tolist()
        board.load_state_dict(state | {"random_state": random_state, "games_begun": games_begun})

    def _loop_arguments(self, limits: LoopLimits, randomness: Ints | None = None) -> tuple[Any, ...]:
        """The arguments of `play_whole_games`."""
        board: Any = self.env.unwrapped
        setting = board.arguments
        if randomness is None:
            randomness = np.zeros(2, np.int64)
        setup, seat = setting.setup(int64_array), PLAY_AS.index(limits.play_as or setting.play_as)
        opponents, room = opponents_of(board).compiled, self.game.cells * self._most_new
        counts = limits.games, limits.steps, room
        return self.game, self.table, setup, opponents, setting.rewards, seat, randomness, *counts

    def _limits(self) -> LoopLimits:
        """The limits up to the next change of a schedule, or the last game of the run."""
        if self._run is None:
            return LoopLimits(0, 0)
        # The last game is left to `reset` and `step`. Counted in steps, it is the one in which the run's last step may
        # lie: any game that begins fewer than `cells` steps before the end.
        now, last = self._counted(), self._run.end
        by_episodes = self._run.counter == "episodes"
        last -= 1 if by_episodes else self.game.cells
        for schedule in (self.settings.epsilon, self.settings.learning_rate):
            if isinstance(schedule, Sequence):
                last = min(last, self._run.next_change(len(schedule), now))
        left = max(0, last - now)
        return LoopLimits(left, NO_LIMIT) if by_episodes else LoopLimits(NO_LIMIT, left)

    # The table.

    def _scheduled_table(self) -> Any:
        """The table, with the step size and epsilon that the schedules give now."""
        learning_rate = self.settings.learning_rate
        rate = 0.0 if learning_rate is None else float(self.scheduled(learning_rate))
        epsilon = float(self.scheduled(self.settings.epsilon))
        if (rate, epsilon) != (self.table.rate, self.table.epsilon):
            self.table = self.table._replace(rate=rate, epsilon=epsilon)
        return self.table

    def _make_room(self, count: int) -> None:
        """Makes room for `count` more positions."""
        needed = len(self) + count
        if needed <= self.capacity:
            return
        # Positions keep their row numbers, so each array only grows at its end; new entries are unused (nan) or 0.
        rows = new_rows(needed, self.positions)
        grown = {}
        for name, axis in self.ROW_ARRAYS.items():
            array = getattr(self.table, name)
            more = list(array.shape)
            more[axis] = len(rows.positions) - self.capacity
            filling = np.full(more, np.nan if array.dtype == np.float64 else 0, array.dtype)
            grown[name] = np.concatenate([array, filling], axis)
        self.table = self.table._replace(rows=rows, **grown)

    def _add_positions(self, seat: int, positions: Ints) -> int:
        """Adds the positions of a file; see `add_positions`."""
        self._make_room(len(positions))
        return int(self._call(add_positions, seat, positions, runs=len(positions)))

    def __len__(self) -> int:
        """The number of positions with values (in both tables together if there are two)."""
        return int(self.table.rows.used[0])

    @property
    def positions(self) -> Ints:
        """int64 (N, 3), the stones (own, opp) of each row, and the number of its table; a view."""
        positions: Ints = self.table.rows.positions[: len(self)]
        return positions

    @property
    def capacity(self) -> int:
        """The number of positions there is room for."""
        return len(self.table.rows.positions)

    def values(self, own: int, opp: int) -> dict[int, float]:
        """The value of each legal action in a position, for the side to move."""
        values = np.empty(self.game.num_actions)
        self._call(write_values, own, opp, values)
        return {action: value for action, value in enumerate(values.tolist()) if value == value}

    def best_action(self, own: int, opp: int, allowed: Sequence[int]) -> int:
        """The best of the `allowed` actions in a position by the learned values; the lowest among equals."""
        return max(allowed, key=self.values(own, opp).__getitem__)

    def act_many(self, batch: PositionBatch, seeds: Ints) -> Ints:
        """The best actions by the learned values in B unfinished positions: int64 (B,).

        Raises:
            ValueError: the positions are of another game.
        """
        self._check_game(batch.game)
        best = np.full(len(batch), -1, np.int64)
        stones = np.ascontiguousarray(batch.own), np.ascontiguousarray(batch.opp)
        self._call(best_actions, *stones, np.empty(self.game.num_actions), best, runs=len(batch))
        return best

    # Many boards.

    @in_one_line()
    def _step_all(self) -> list[int]:
        """Plays one step on every board: all choose, the environment steps, all learn, in their order.

        A finished game is followed by an explicit reset, even if the environment would have reset the board.

        Returns:
            The number of steps of each game that this step ended.
        """
        self._make_room(2 * self.num_envs * self._most_new)
        envs: Any = self.env
        table, games, board = self._scheduled_table(), self._games, envs.unwrapped
        # Boards whose game is over begin the next one.
        over = games.phase == OVER
        if over.any():
            _, infos = self._reset(over)
            show_boards(board.game, board.batch.own, board.batch.opp, np.asarray(infos["seat"]), over, games)
            games.phase[over] = NEW
        # All boards choose by the same table, and the environment plays their actions.
        actions = np.empty(len(over), np.int64)
        choose_actions(board.game, table, games, actions)
        _, rewards, terminated, truncated, infos = envs.step(actions)
        # All boards learn, the first one first: each already by what those before it have learned.
        everywhere = np.ones(len(over), np.bool_)
        show_boards(board.game, board.batch.own, board.batch.opp, np.asarray(infos["seat"]), everywhere, games)
        games.phase[:] = np.where(terminated, TERMINATED, np.where(truncated, TRUNCATED, GOING))
        learn_from_results(board.game, table, games, np.asarray(rewards, np.float64))
        ended: list[int] = games.steps[games.phase == OVER].tolist()
        return ended

    @property
    def under_way(self) -> bool:
        """True if there are unfinished games."""
        return bool((self._games.phase != OVER).any())

    def _abandon_games(self) -> None:
        self._games.phase[:] = OVER
        self._pays = None

    def _most_bytes(self, meta: dict[str, Any]) -> int:
        boards = len(meta["board"].get("boards", ["0"])[0])
        rows: int = 2 * 3**self.game.cells  # all positions, in both tables
        return rows * (32 + 16 * self.game.num_actions) + boards * BOARD_BYTES

    def _games_under_way(self) -> Arrays:
        if not self.under_way:
            return {}
        games = {name: getattr(self.table, name) for name in self.GAME_ARRAYS}
        games = self._in_file_order(games) | {"view": np.stack(self._games)}
        return {f"games_{name}": array for name, array in games.items()}

    def _set_games_under_way(self, arrays: Arrays, board: Mapping[str, Any]) -> None:
        if "games_view" not in arrays:
            return
        # Shapes and dtypes are those of this learner's own arrays.
        current = {name: getattr(self.table, name) for name in self.GAME_ARRAYS} | {"view": np.stack(self._games)}
        saved = {name: arrays[f"games_{name}"] for name in current}
        for name, array in current.items():
            if saved[name].shape != array.shape or saved[name].dtype != array.dtype:
                raise ValueError(f"its games_{name} are {saved[name].dtype} {saved[name].shape}, not {array.shape}")
        # Each game is one that the learner can have on its board: between two steps it is GOING or OVER, a seat is 0
        # or 1, and its view holds the stones of the board, each on one side.
        boards = boards_of(np.array(board["boards"]))
        stones = boards.own | boards.opp
        games = Games(*saved["view"])
        going = games.phase == GOING
        possible = (going | (games.phase == OVER)) & ((games.seat == 0) | (games.seat == 1)) & (games.steps >= 0)
        possible &= ~going | (games.own | games.opp == stones) & (games.own & games.opp == 0)
        if not possible.all() or not self._accepts_games(saved, np.bitwise_count(stones)):
            raise ValueError("its unfinished games are not those on its boards")
        # Only now does anything change. The arrays are filled in place, as kernels hold them.
        for name in self.GAME_ARRAYS:
            current[name][:] = saved[name]
        for array, read in zip(self._games, games, strict=True):
            array[:] = read

    def _in_file_order(self, games: Arrays) -> Arrays:
        """The arrays of unfinished games, with the numbers that rows have in the file."""
        return games

    @abstractmethod
    def _accepts_games(self, games: Arrays, plies: npt.NDArray[Any]) -> bool:
        """True if the games are possible on boards with `plies` stones: compiled code does not check indices."""


def opponents_of(board: BoardEnv) -> BatchOpponents:
    """The opponents of an environment, as kernels know them."""
    return BatchOpponents(board.opponent, board.game, board.arguments.obs_type)


def can_play(env: Any) -> bool:
    """True if `play_whole_games` can play on `env`: one of ours, neither wrapped nor shown, with compiled opponents."""
    if not isinstance(env, BoardEnv) or env.render_mode == "human":
        return False
    own_rules = type(env).step is BoardEnv.step and type(env).reset is BoardEnv.reset
    return own_rules and not opponents_of(env).external


@borrowing_kernel
def turn(game: Game, table: Any, seat: int, own: int, opp: int, reward: float, phase: int) -> int:
    """Begins a game on board 0 or learns from its last action, then chooses the next action; -1 if the game is over."""
    if phase == NEW:
        table.begin_game(game, 0, seat, own, opp)
    elif table.learn_from_result(game, 0, seat, own, opp, reward, phase == TERMINATED, phase == TRUNCATED):
        return -1
    action: int = table.choose_action(game, 0, seat, own, opp)
    return action


@borrowing_kernel
def write_values(game: Game, table: Any, own: int, opp: int, values: Floats) -> None:
    """Writes the values of a position's legal actions, nan elsewhere."""
    table.evaluate(game, own, opp, values)


@borrowing_kernel
def best_actions(game: Game, table: Any, owns: Ints, opps: Ints, values: Floats, best: Ints) -> None:
    """The legal action of highest value in each position, the lowest among equals; `values` (num_actions,) is room."""
    for i in range(len(best)):
        table.evaluate(game, owns[i], opps[i], values)
        highest = -np.inf
        for action in range(game.num_actions):
            if values[action] > highest:  # false if it is illegal: nan
                highest = values[action]
                best[i] = action


@borrowing_kernel
def add_positions(game: Game, table: Any, seat: int, positions: Ints) -> int:
    """Gives each of `positions`, int64 (N, 2), own and opp, a row in the table of `seat`; there must be room.

    Returns:
        The number of positions added: N, or the number before the first that no game reaches or that has a row already.
    """
    begin = table.rows.used[0]
    for number in range(len(positions)):
        # Rows are numbered in the order in which positions come. So a position that gets another number is there twice,
        # or is an image of an earlier one.
        if table.add(game, seat, int(positions[number, 0]), int(positions[number, 1])) != begin + number:
            return number
    return len(positions)


@borrowing_kernel
def show_boards(game: Game, owns: Ints, opps: Ints, seats: Ints, chosen: npt.NDArray[np.bool_], games: Games) -> None:
    """Writes the positions of the `chosen` boards to `games`, each as the learner in its seat sees it."""
    for i in range(len(seats)):
        if chosen[i]:
            # A board is stored for the side to move, which at the end of a game need not be the learner's.
            own, opp = owns[i], opps[i]
            if seats[i] != game.seat(own, opp):
                own, opp = opp, own
            games.seat[i] = seats[i]
            games.own[i] = own
            games.opp[i] = opp


@borrowing_kernel
def choose_actions(game: Game, table: Any, games: Games, actions: Ints) -> None:
    """Chooses an action for each board in turn."""
    for i in range(len(actions)):
        seat, own, opp = games.seat[i], games.own[i], games.opp[i]
        if games.phase[i] == NEW:
            table.begin_game(game, i, seat, own, opp)
            games.steps[i] = 0
            games.phase[i] = GOING
        actions[i] = table.choose_action(game, i, seat, own, opp)


@borrowing_kernel
def learn_from_results(game: Game, table: Any, games: Games, rewards: Floats) -> None:
    """Learns on each board in turn from the result of its action."""
    for i in range(len(rewards)):
        seat, own, opp, phase = games.seat[i], games.own[i], games.opp[i], games.phase[i]
        games.steps[i] += 1
        over = table.learn_from_result(game, i, seat, own, opp, rewards[i], phase == TERMINATED, phase == TRUNCATED)
        games.phase[i] = OVER if over else GOING


@borrowing_kernel
def play_whole_games(
    game: Game,
    table: Any,
    setup: Setup,
    opponents: CompiledOpponents,
    rewards: Rewards,
    play_as: int,
    randomness: Ints,
    games: int,
    max_steps: int,
    room: int,
) -> tuple[int, int]:
    """Plays whole games on one board and learns from them.

    Args:
        game: the rules.
        table: an `ActionTable` or a `ValueTable`; it plays as on its board 0.
        setup: the starts of the games.
        opponents: the opponents.
        rewards: for a win, a draw, a loss and a step that does not end the game.
        play_as: the index in `PLAY_AS`.
        randomness: int64 (2,), the board's RNG state and the number of games begun; updated.
        games: the most games.
        max_steps: the number of steps after which no game begins.
        room: the number of rows that must be free when a game begins.

    Returns:
        The numbers of games and steps played. If the opponent ends a game before the learner's first move, the loop
        stops: the environment's own reset reports that.
    """
    state, games_begun = randomness[0], randomness[1]
    played = steps = 0
    while played < games and steps < max_steps and table.rows.used[0] + room <= len(table.rows.positions):
        opening = begin(game, setup, opponents, play_as, NOT_GIVEN, NOT_GIVEN, games_begun, state)
        if not opening.has_begun:
            break
        # Nothing of this game has changed any state before here, so the loop can still leave it to the environment.
        own, opp, seat, state = opening.own, opening.opp, opening.learner, opening.state
        games_begun += 1
        table.begin_game(game, 0, seat, own, opp)
        over = False
        while not over:
            # One step: the learner's move and the opponent's reply.
            action = table.choose_action(game, 0, seat, own, opp)
            event, outcome, own, opp, _, state = step(
                game, setup.self_play, opponents, opening.member, own, opp, action, state
            )
            steps += 1
            ended = event != CONTINUES
            # In self-play the seats take turns. The learner sees the position from the seat it now has.
            seat ^= setup.self_play
            mine, theirs = seen(game, own, opp, seat)
            over = table.learn_from_result(game, 0, seat, mine, theirs, reward(rewards, ended, outcome), ended, False)
        played += 1
    randomness[0], randomness[1] = state, games_begun
    return played, steps
