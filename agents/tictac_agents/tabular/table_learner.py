"""What the learners share whose tables are arrays: compiled play and learning, many boards, and growth."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from tictac_agents.tabular.compiled_games import CompiledGames, Limits, can_play
from tictac_agents.tabular.learner import Arrays, Environment, Learner
from tictac_agents.tabular.rows import Ints, new_rows
from tictac_agents.tabular.runs import NO_LIMIT, Schedule
from tictac_agents.tabular.vector_rollout import OVER, GamesUnderWay, no_games, run_vector, shows
from tictac_env.compiled import Tiered, borrowing_kernel, in_one_line
from tictac_env.envs.vector.boards import boards_of
from tictac_env.games import Game
from tictac_env.position_batch import PositionBatch

Floats = npt.NDArray[np.float64]
UNCOMPILED = 100
"""How many games of a run go through reset and step in any case: so few need no compiled loop."""
HOT = 10_000
"""How many steps or positions the table is asked about before its compiled methods pay."""
LONG = 30_000
"""How many steps a run must be going to have for the compiled loop to pay: it takes some 4 seconds to compile."""
SECONDS = 0.1
"""How long the compiled loop runs at a time, about."""


class Code(NamedTuple):
    """What runs the kernels of a table."""

    choose: Tiered
    learn: Tiered
    evaluate: Tiered
    best: Tiered
    loop_is_kept: bool
    """Whether the compiled loop need not be compiled any more."""


class TableLearner(Learner):
    """A learner whose table is a `NamedTuple` of arrays, with compiled methods for how it plays and learns.

    On a vector environment all boards learn from the same table in their order, so that results depend on `num_envs`.

    On an environment of ours that is not wrapped, with a compiled opponent (None, "random", "rule" or a pool of such),
    games are played in a compiled loop, with the same result to the last bit.

    A subclass gives `_new_table`, `learned`, `set_learned` and `_accepts_games`, and calls `forget` at the end of its
    constructor.

    Attributes:
        table: the `ActionTable` or `ValueTable`.
        compiled: whether the compiled loop may be used, where it pays; assign False to send every game through `reset`
            and `step`.
    """

    ON_VECTOR_ENVS = True
    ROW_ARRAYS: ClassVar[dict[str, int]] = {}
    """The arrays of the table with an entry for each row, and along which axis."""
    GAME_ARRAYS: ClassVar[tuple[str, ...]] = ()
    """Those that hold the games under way."""
    learning_rate: Schedule | None
    epsilon: Schedule
    table: Any  # a NamedTuple's _replace keeps its class, which mypy does not know

    def __init__(self, env: Environment | str, seed: int | None) -> None:
        super().__init__(env, seed)
        self.compiled = True
        self.num_envs = int(getattr(self.env, "num_envs", 1))
        self._vector = isinstance(self.env, gym.vector.VectorEnv)
        board: Any = self.env.unwrapped
        if self._vector and board.autoreset_mode == AutoresetMode.SAME_STEP:
            raise ValueError(
                "a learner sees the end of a game and then begins the next one itself: give the vector environment "
                f"autoreset_mode NEXT_STEP or DISABLED, not {board.autoreset_mode}"
            )
        self._most_new = 2 * (self.game.num_actions + 3)  # positions that one step adds to the table, at most
        self._games = no_games(self.num_envs)
        self._code: Code | None = None
        self._turn = 0, 0, 0, True  # seat, own, opp, and whether the game begins
        self._played = 0  # games of this run
        self._chunk = 1  # how many games the compiled loop plays at a time
        self._abandon_games()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_code": None}  # machine code is this process's

    def forget(self) -> None:
        """Forgets what has been learned, and the games under way; counters, randomness and the run go on."""
        self.table = self._new_table()
        self._abandon_games()

    @abstractmethod
    def _new_table(self) -> Any:
        """An empty table, which holds `_random_state` as `random`."""

    def compile(self) -> Self:
        """Compiles at once what is else compiled as soon as it pays; no result changes."""
        code = self._tiers()
        with in_one_line():
            for tier in (code.choose, code.learn, code.evaluate, code.best):
                tier.heat(HOT)
        if can_play(self.env):
            CompiledGames(self.env.unwrapped).compile(self.table)  # type: ignore[arg-type]
            self._code = code._replace(loop_is_kept=True)
        return self

    # How games are played.

    def _play(self, games: int) -> Iterator[None]:
        if self._vector:
            self._make_room(2 * self.num_envs * self._most_new)
            for steps in run_vector(self.env, self._scheduled_table(), self._games, self._reset):  # type: ignore[arg-type]  # not a single one
                self._count(1, steps)
                yield
            return
        if self._played >= UNCOMPILED and games > 1 and self.compiled and can_play(self.env) and self._pays():
            self._play_compiled(min(games, self._chunk) - 1)
        self._played += 1
        yield from super()._play(1)  # leaves the environment as it is after a game, so that nothing tells the two apart

    def _play_compiled(self, games: int) -> None:
        """Plays at most so many games, and never the last one of a run."""
        began = time.monotonic()
        compiled = CompiledGames(self.env.unwrapped)  # type: ignore[arg-type]  # a BoardEnv: `can_play`
        room = self.game.cells * self._most_new
        while games > 0:
            self._make_room(room)
            limits = self._limits()
            most = min(games, limits.games)
            played, steps = compiled.play(self._scheduled_table(), most, limits.steps, room, limits.play_as)
            self._count(played, steps)
            games -= played
            if not played and len(self) + room <= self.capacity:
                break  # the run is about to end, or the next game cannot begin
        took = time.monotonic() - began
        if took < SECONDS:
            self._chunk = max(2, self._chunk * 2)
        elif took > 3 * SECONDS:
            self._chunk = max(2, self._chunk // 2)

    def _pays(self) -> bool:
        """Whether the run has many steps to go, or the compiled loop need not be compiled."""
        code = self._tiers()
        if not code.loop_is_kept and self._run is not None:
            left = self._run.end - self._counted()
            steps = left * self.num_timesteps / self.num_episodes if self._run.counter == "episodes" else left
            self._code = code = code._replace(loop_is_kept=steps >= LONG)
        return code.loop_is_kept

    def begin_game(self, observation: Any, info: dict[str, Any]) -> None:
        code, steps = self._tiers(), self.game.cells // 2  # about as many as the game will have
        if code.choose.cold or code.learn.cold:
            with in_one_line():
                code.choose.heat(steps)
                code.learn.heat(steps)
        self._make_room(self.game.cells * self._most_new)
        self._scheduled_table()
        self._turn = int(info["seat"]), *self.read(observation), True

    def choose_action(self, observation: Any, info: dict[str, Any]) -> int:
        return int(self._tiers().choose.run(self.game, self.table, *self._turn))

    def learn_from_result(
        self, observation: Any, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]
    ) -> bool:
        seat, own, opp, _ = self._turn
        if not terminated or info["opponent_action"] >= 0:  # else it has seen the end itself
            seat = int(info["seat"])
            own, opp = self.read(observation)
        learn = self._tiers().learn.run
        over = bool(learn(self.game, self.table, seat, own, opp, reward, terminated, truncated))
        self._turn = seat, own, opp, False
        return over

    def _tiers(self) -> Code:
        """What runs the table's methods."""
        if self._code is None:
            given, values, several = (self.game, self.table), np.empty(0), np.empty(0, np.int64)
            self._code = Code(
                Tiered(choose_action, HOT, *given, 0, 0, 0, True),
                Tiered(learn_from_result, HOT, *given, 0, 0, 0, 0.0, True, True),
                Tiered(evaluate, HOT, *given, 0, 0, values),
                Tiered(best_actions, HOT, *given, several, several, values, several),
                can_play(self.env) and CompiledGames(self.env.unwrapped).are_kept(self.table),  # type: ignore[arg-type]
            )
        return self._code

    def _limits(self) -> Limits:
        """How many games can be played, and after how many steps none may be begun, before a schedule goes on or the
        last game of the run is due.
        """
        if self._run is None:
            return Limits(0, 0)
        now, last = self._counted(), self._run.end
        by_episodes = self._run.counter == "episodes"
        last -= 1 if by_episodes else self.game.cells
        for schedule in (self.epsilon, self.learning_rate):
            if isinstance(schedule, Sequence):
                last = min(last, self._run.next_change(schedule, now))
        left = max(0, last - now)
        return Limits(left, NO_LIMIT) if by_episodes else Limits(NO_LIMIT, left)

    def _scheduled_table(self) -> Any:
        """The table, with the step size and epsilon of now."""
        rate = 0.0 if self.learning_rate is None else float(self.scheduled(self.learning_rate))
        epsilon = float(self.scheduled(self.epsilon))
        if (rate, epsilon) != (self.table.rate, self.table.epsilon):
            self.table = self.table._replace(rate=rate, epsilon=epsilon)
        return self.table

    def _make_room(self, count: int) -> None:
        """Makes room for so many more positions."""
        known = len(self)
        if known + count <= self.capacity:
            return
        rows = new_rows(known + count, self.positions)
        grown = {}
        for name, axis in self.ROW_ARRAYS.items():
            array = getattr(self.table, name)
            more = list(array.shape)
            more[axis] = len(rows.positions) - self.capacity
            filling = np.full(more, np.nan if array.dtype == np.float64 else 0, array.dtype)
            grown[name] = np.concatenate([array, filling], axis)
        self.table = self.table._replace(rows=rows, **grown)

    # Games under way, on a vector environment.

    @property
    def under_way(self) -> bool:
        """Whether there are games under way."""
        return bool((self._games.phase != OVER).any())

    def _abandon_games(self) -> None:
        self._games.phase[:] = OVER
        self._played, self._chunk = 0, 1  # what is begun begins slowly

    def _games_under_way(self) -> Arrays:
        if not self.under_way:
            return {}
        arrays = {name: getattr(self.table, name) for name in self.GAME_ARRAYS}
        found = self._in_file_order(arrays) | {"view": np.stack(self._games)}
        return {f"games_{name}": array for name, array in found.items()}

    def _set_games_under_way(self, arrays: Arrays, board: Mapping[str, Any]) -> None:
        if "games_view" not in arrays:
            return
        wanted = {name: getattr(self.table, name) for name in self.GAME_ARRAYS} | {"view": np.stack(self._games)}
        saved = {name: arrays[f"games_{name}"] for name in wanted}
        for name, array in wanted.items():
            if saved[name].shape != array.shape or saved[name].dtype != array.dtype:
                raise ValueError(f"its games_{name} are {saved[name].dtype} {saved[name].shape}, not {array.shape}")
        boards = boards_of(np.array(board["boards"]))
        stones = boards.own | boards.opp
        games = GamesUnderWay(*saved["view"])
        if not shows(games, stones) or not self._accepts_games(saved, np.bitwise_count(stones)):
            raise ValueError("its games under way are not those on its boards")
        for name in self.GAME_ARRAYS:
            wanted[name][:] = saved[name]
        for array, read in zip(self._games, games, strict=True):
            array[:] = read

    def _in_file_order(self, games: Arrays) -> Arrays:
        """Games under way, their rows numbered as those of the arrays in the file."""
        return games

    @abstractmethod
    def _accepts_games(self, games: Arrays, plies: npt.NDArray[Any]) -> bool:
        """Whether games under way are possible, on boards with so many stones: compiled code checks no indices."""

    # What it has learned.

    def __len__(self) -> int:
        """How many positions have values (in both tables together if there are two)."""
        return int(self.table.rows.used[0])

    @property
    def positions(self) -> Ints:
        """int64 (N, 3), the stones (own, opp) of each row, and which of several tables it belongs to; a view."""
        positions: Ints = self.table.rows.positions[: len(self)]
        return positions

    @property
    def capacity(self) -> int:
        """For how many positions there is room."""
        return len(self.table.rows.positions)

    def values(self, own: int, opp: int) -> dict[int, float]:
        """The value of each legal action in a position, for the side to move."""
        values = np.empty(self.game.num_actions)
        evaluation = self._tiers().evaluate
        evaluation.heat(1)
        evaluation.run(self.game, self.table, own, opp, values)
        return {action: value for action, value in enumerate(values.tolist()) if value == value}

    def best_action(self, own: int, opp: int, allowed: Sequence[int]) -> int:
        """The best of the `allowed` actions in a position, by what has been learned; the lowest among equals."""
        return max(allowed, key=self.values(own, opp).__getitem__)

    def act_many(self, batch: PositionBatch, seeds: Ints) -> Ints:
        """The best actions known in B unfinished positions: int64 (B,).

        Raises:
            ValueError: the positions are of another game.
        """
        self._check_game(batch.game)
        best = np.full(len(batch), -1, np.int64)
        choices = self._tiers().best
        choices.heat(len(batch))
        own, opp = np.ascontiguousarray(batch.own), np.ascontiguousarray(batch.opp)
        choices.run(self.game, self.table, own, opp, np.empty(self.game.num_actions), best)
        return best


@borrowing_kernel
def choose_action(game: Game, table: Any, seat: int, own: int, opp: int, begins: bool) -> int:
    """The next action on board 0, where a game may have begun."""
    if begins:
        table.begin_game(game, 0, seat, own, opp)
    action: int = table.choose_action(game, 0, seat, own, opp)
    return action


@borrowing_kernel
def learn_from_result(
    game: Game, table: Any, seat: int, own: int, opp: int, reward: float, terminated: bool, truncated: bool
) -> bool:
    """Learns from what the action on board 0 brought. Returns whether the game there is over."""
    over: bool = table.learn_from_result(game, 0, seat, own, opp, reward, terminated, truncated)
    return over


@borrowing_kernel
def evaluate(game: Game, table: Any, own: int, opp: int, values: Floats) -> None:
    """The values of a position's legal actions, nan elsewhere."""
    table.evaluate(game, own, opp, values)


@borrowing_kernel
def best_actions(game: Game, table: Any, owns: Ints, opps: Ints, values: Floats, best: Ints) -> None:
    """The legal action of highest value in each position, the lowest among equals; `values` (num_actions,) is room."""
    for i in range(len(best)):
        table.evaluate(game, owns[i], opps[i], values)
        highest = -np.inf
        for action in range(game.num_actions):
            if values[action] > highest:  # not where it is illegal: nan
                highest = values[action]
                best[i] = action
