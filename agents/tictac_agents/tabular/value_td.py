"""Temporal difference learning of state values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tictac_agents.tabular.learner import Arrays, Environment, Preset
from tictac_agents.tabular.rows import Ints, new_rows
from tictac_agents.tabular.runs import Schedule
from tictac_agents.tabular.table_learner import TableLearner
from tictac_agents.tabular.value_table import Backup, Entry, ValueTable
from tictac_env.checks import flag, number, one_of, schedule
from tictac_env.envs.single import check_rewards
from tictac_env.position import Position

PLIES = ("all", "own")
UPDATES = ("backward", "online")


class ValueTD(TableLearner):
    """Learns the value of each position from the values of those that follow it: TD(lambda).

    It plays the move that leads to the position of highest value. As the game goes on from position s to s',

        v(s) += step * (reward + gamma * v(s') - v(s)),

    where `step` is the learning rate or 1 / N(s). If the game is over in s', the target is its result alone (Sutton,
    "Learning to predict by the methods of temporal differences", 1988; Sutton and Barto, section 1.5, chapter 6). With
    `trace_decay` (lambda) the positions before s share in the correction, lambda * gamma times less with each ply.

    Values are those of one side; each seat has a table. With `opponent=None` both sides play and learn.

    Presets (`ValueTD.preset(name)`):
        S1: self-play, both walk back the whole game at its end. (Ours draws some 6,500 of its 10,000 training games,
            with an epsilon of 0.05 some 7,500; the published one 8,250 to 8,295. How that explores was not said.)
        S3: self-play, the positions after one's own moves, each worth 0 until it is learned, even a win; the last one
            is set to the result; a position that an exploring move led to learns nothing from what follows.
            (Published as "Monte Carlo". As the second player it loses some 20 % of its games against random play.)
        S3-improved: S3 with results known in advance, 0.5 for any other new position, a last position that moves by
            the learning rate, and nothing learned from an exploring move by the position before it. Most runs
            cannot be beaten.
        S4-prequel: self-play, TD(0) on every ply as it is played. (Its step size and exploration were not published;
            these are ours.)

    Args:
        env: an environment of ours, or its id; any opponent, seat and type of observation.
        learning_rate: the step size, in (0, 1]: a number, or several for equal parts of a run; None for 1 / N(s).
        gamma: the discount, in [0, 1].
        epsilon: the chance of a random action, in [0, 1]: a number, or several for equal parts of a run.
        rewards: for a win, a draw, a loss and, if given, each ply that does not end the game. (What the environment
            pays does not matter.)
        initial_value: of a position that is met for the first time.
        plies: "all": every position is learned; "own": those after one's own moves.
        updates: "online": as the game is played; "backward": at its end, the last position first.
        trace_decay: lambda, in [0, 1]; above 0 only online.
        learn_exploring: whether the position before an exploring move learns from what the move led to.
        learn_explored: whether the position that an exploring move led to learns from what follows.
        set_last: whether the last position after one's own move is set to the result, not moved by the step size; only
            with plies "own".
        know_results: whether a finished game is worth its result at once; else `initial_value` until one ends there.
        seed: makes the run reproducible; None for fresh entropy.

    Raises:
        ValueError: an argument is out of its range; the message names it.

    Example:
        >>> from tictac_agents import ValueTD
        >>> ValueTD.preset("S3", seed=0).learn(total_episodes=200).num_episodes
        200
    """

    PRESETS: ClassVar[dict[str, Preset]] = {
        "S1": Preset({}, {"opponent": None}, 10_000),
        "S3": Preset(
            {"initial_value": 0.0, "plies": "own", "learn_explored": False, "set_last": True, "know_results": False},
            {"opponent": None},
            100_000,
        ),
        "S3-improved": Preset({"plies": "own", "learn_exploring": False}, {"opponent": None}, 100_000),
        "S4-prequel": Preset({"updates": "online", "rewards": (1, 0.5, -1)}, {"opponent": None}, 50_000),
    }

    ROW_ARRAYS: ClassVar[dict[str, int]] = {"values": 0, "visits": 0, "finals": 0}
    GAME_ARRAYS = ("routes", "skips", "lengths", "over")
    table: ValueTable

    def __init__(
        self,
        env: Environment | str,
        learning_rate: Schedule | None = 0.1,
        gamma: float = 1.0,
        epsilon: Schedule = 0.1,
        rewards: Sequence[float] = (1.0, 0.5, 0.0),
        initial_value: float = 0.5,
        plies: str = "all",
        updates: str = "backward",
        trace_decay: float = 0.0,
        learn_exploring: bool = True,
        learn_explored: bool = True,
        set_last: bool = False,
        know_results: bool = True,
        seed: int | None = None,
    ) -> None:
        super().__init__(env, seed)
        self._results = np.zeros(3, np.int64)
        self.learning_rate = None if learning_rate is None else schedule("learning_rate", learning_rate, 1e-9, 1)
        self.gamma = number("gamma", gamma, 0, 1)
        self.epsilon = schedule("epsilon", epsilon, 0, 1)
        self.rewards = check_rewards(rewards)
        self.initial_value = number("initial_value", initial_value, -1e9, 1e9)
        self.plies = one_of("plies", plies, PLIES)
        self.updates = one_of("updates", updates, UPDATES)
        self.trace_decay = number("trace_decay", trace_decay, 0, 1)
        if self.trace_decay and self.updates == "backward":
            raise ValueError(
                f"trace_decay={trace_decay!r} needs updates='online': a backward sweep hands results on already"
            )
        self.learn_exploring = flag("learn_exploring", learn_exploring)
        self.learn_explored = flag("learn_explored", learn_explored)
        self.set_last = flag("set_last", set_last)
        if self.set_last and self.plies == "all":
            raise ValueError("set_last=True needs plies='own': with 'all' the last position is the end of the game")
        self.know_results = flag("know_results", know_results)
        self.forget()

    @property
    def tables(self) -> tuple[dict[tuple[int, int], Entry], ...]:
        """A copy of each seat's table: what it holds by position, the owner's stones first."""
        copies = []
        for rows in self._parts():
            keys = [(own, opp) for own, opp, _ in self.positions[rows].tolist()]
            columns = (array[rows].tolist() for array in (self.table.finals, self.table.values, self.table.visits))
            copies.append({key: Entry(key, *numbers) for key, *numbers in zip(keys, *columns, strict=True)})
        return (copies[0], copies[-1])

    @property
    def results(self) -> Ints:
        """int64 (3,): how many training games the first player has won, were drawn, and the second has won."""
        return self._results.copy()

    def value(self, seat: int, own: int, opp: int) -> float:
        """What a position, with the stones `own` of the player in `seat`, is worth to that player."""
        return float(self.table.value_of(self.game, seat, own, opp))

    def learn_game(self, moves: str) -> list[Backup]:
        """Learns from one finished game, as if both sides had played it in training, none of the moves exploring.

        Args:
            moves: a move string (see `Position.from_moves`).

        Returns:
            Every change of a value, in their order.

        Raises:
            ValueError, IllegalMove: it is no such string, or the game is not finished.
        """
        finished = Position.from_moves(self.game, moves)
        if not finished.is_over:
            raise ValueError(f"the game {moves!r} is not finished")
        self._make_room(self.game.cells * self._most_new)
        self._scheduled_table()
        backups: list[Backup] = []

        class Watched(self._table_class()):  # type: ignore[misc]  # a class that mypy does not know
            """Notes the changes; it is not compiled."""

            def assign(self, seat: int, row: int, value: float) -> None:
                before = float(self.values[row])
                super().assign(seat, row, value)
                own, opp, _ = self.rows.positions[row].tolist()
                backups.append(Backup(seat, own, opp, before, float(self.values[row])))

        table = Watched(*self.table._replace(self_play=True, results=np.zeros(3, np.int64), **self._new_games(1)))
        position = Position.start(self.game)
        table.begin_game(self.game, 0, position.seat, position.own, position.opp)
        for action in finished.moves:
            table.move(self.game, 0, position.seat, position.own, position.opp, action, False)
            if table.over[0]:
                break
            position = position.play(action)
        table.learn_backward(0)
        return backups

    def _new_table(self) -> ValueTable:
        rows = new_rows()
        capacity = len(rows.positions)
        win, draw, loss, step = self.rewards
        board: Any = self.env.unwrapped
        return self._table_class()(
            random=self._random_state,
            epsilon=0.0,
            rate=0.0,
            rows=rows,
            values=np.zeros(capacity),
            visits=np.zeros(capacity, np.int64),
            finals=np.zeros(capacity, np.bool_),
            **self._new_games(self.num_envs),
            results=self._results,
            gamma=float(self.gamma),
            trace_decay=float(self.trace_decay),
            win=win,
            draw=draw,
            loss=loss,
            step=step,
            initial_value=float(self.initial_value),
            parts=np.array([0, self._num_parts() - 1], np.int64),
            self_play=board.opponent is None,
            every_ply=self.plies == "all",
            online=self.updates == "online",
            learn_exploring=self.learn_exploring,
            learn_explored=self.learn_explored,
            set_last=self.set_last,
            know_results=self.know_results,
        )

    def _table_class(self) -> type[ValueTable]:
        """How it learns."""
        return ValueTable

    def _num_parts(self) -> int:
        """How many tables there are: one for each seat."""
        return 2

    def _new_games(self, count: int) -> dict[str, Any]:
        """Room for so many games under way."""
        routes = count, 2, self.game.cells + 2
        return {
            "routes": np.zeros(routes, np.int64),
            "skips": np.zeros(routes, np.bool_),
            "lengths": np.zeros((count, 2), np.int64),
            "over": np.zeros(count, np.bool_),
        }

    def _parts(self) -> list[Ints]:
        """The rows of each table."""
        return [np.flatnonzero(self.positions[:, 2] == part) for part in range(self._num_parts())]

    def _accepts_games(self, games: Arrays, plies: npt.NDArray[Any]) -> bool:
        lengths, routes = games["lengths"], games["routes"]
        return bool(
            ((routes >= 0) & (routes < len(self))).all() and ((lengths >= 0) & (lengths <= plies[:, None] + 1)).all()
        )

    def _in_file_order(self, games: Arrays) -> Arrays:
        numbers = np.argsort(np.concatenate(self._parts()))  # the file holds one table after the other
        return games | {"routes": numbers[games["routes"]]}

    def learned(self) -> Arrays:
        """For each table `positions` int64 (N, 2), owner's and other's, `values` float64 and `visits` int64 (N,); and
        `results` int64 (3,).
        """
        arrays: Arrays = {"results": self.results}
        for seat, rows in enumerate(self._parts()):
            arrays[f"positions_{seat}"] = self.positions[rows, :2]
            arrays[f"values_{seat}"] = self.table.values[rows]
            arrays[f"visits_{seat}"] = self.table.visits[rows]
        return arrays

    def set_learned(self, learned: dict[str, Any]) -> None:
        self.forget()
        results = learned.get("results", self._results)  # older files have none
        if results.shape != (3,) or results.dtype != np.int64 or (results < 0).any():
            raise ValueError(f"its results are {results!r}, not three counts")
        self._results[:] = results
        for seat in range(self._num_parts()):
            positions, values, visits = (learned[f"{name}_{seat}"] for name in ("positions", "values", "visits"))
            if not positions.shape == (len(values), 2) or not values.shape == visits.shape == (len(values),):
                raise ValueError(f"the shapes of its table {seat} do not agree")
            if not np.isfinite(values).all() or visits.dtype != np.int64 or (visits < 0).any():
                raise ValueError(f"the numbers of its table {seat} are not in order")
            self._make_room(len(positions))
            begin = len(self)
            for row, (own, opp) in enumerate(positions.tolist(), begin):
                possible = not self.game.status(own, opp) or not self.game.status(opp, own)
                if not possible or self.table.row_of(self.game, seat, own, opp) != row:
                    raise ValueError(f"its table {seat} holds an impossible position, or one twice: {own}, {opp}")
            self.table.values[begin : len(self)] = values
            self.table.visits[begin : len(self)] = visits
