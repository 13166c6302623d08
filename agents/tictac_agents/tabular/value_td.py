"""TD learning on values of positions, v(s).

When the game moves from position s to s', the value of s moves by a step size towards its target:

    v(s) += step * (reward + gamma * v(s') - v(s)),      or, if the game is over in s',
    v(s) += step * (result - v(s))

`ValueTable.update_value` is that line. With TD(lambda), the positions before s share in the correction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.base_learner import NO_LIMIT, Arrays
from tictac_agents.settings import setting, takes
from tictac_agents.tabular.learner import Environment, draw, explores
from tictac_agents.tabular.table_learner import Floats, Ints, Rows, TableLearner, TableSettings, new_rows
from tictac_env.compiled import kernel_methods
from tictac_env.envs.single import check_rewards
from tictac_env.games import DRAWN, LOST, UNFINISHED, WON, Game, Status
from tictac_env.policies.policy import pick
from tictac_env.position import Position

Bools = npt.NDArray[np.bool_]


class TableEntry(NamedTuple):
    """One position in a table, as the owner of the table sees it."""

    key: tuple[int, int]
    """The owner's stones, and the other side's."""
    final: bool
    """True if the game is over there."""
    value: float
    visits: int


class Backup(NamedTuple):
    """A change of one value."""

    seat: int
    """The owner of the table."""
    own: int
    """The stones of that seat in the position."""
    opp: int
    """The other side's stones."""
    before: float
    after: float


@kernel_methods
class ValueTable(NamedTuple):
    """The values of positions, each for the player in one seat, and the unfinished games on N boards.

    On each board a seat that learns has a route: the positions it has passed in the game.
    """

    # The routes of a game on one board, if both sides learn every ply ("all"; "own" leaves out every second position):
    #
    #     ply               0      1      2      3      4
    #     routes[i, 0]      s0     s1     s2     s3     s4      rows of the first seat's table
    #     routes[i, 1]      s0     s1     s2     s3     s4      the same positions in the second seat's table
    #     skips[i, seat]       no     no     yes    no          the step from each position to the next
    #
    # A step is learned online when the route gets the next position, or backward when the game is over. An exploring
    # move says little about the position before it, so its step may be skipped.

    random: Ints
    epsilon: float
    rate: float
    """The step size; 0 for 1 / N(s)."""
    rows: Rows
    values: Floats
    """float64 (capacity,)."""
    visits: Ints
    """int64 (capacity,), N(s)."""
    finals: Bools
    """bool (capacity,), True if the game is over there."""
    routes: Ints
    """int64 (N, 2, cells + 2), for each board and seat the rows passed."""
    skips: Bools
    """bool (N, 2, cells + 2), True for the steps along a route that are not to be learned."""
    lengths: Ints
    """int64 (N, 2), of the routes."""
    over: Bools
    """bool (N,), True if the position after the last move is final."""
    results: Ints
    """int64 (3,), the numbers of games that the first player won, that were drawn, and that the second won."""
    gamma: float
    trace_decay: float
    """Lambda."""
    win: float
    draw: float
    loss: float
    step: float
    """The reward of a ply that does not end the game."""
    initial_value: float
    parts: Ints
    """int64 (2,), for each seat the part of the rows that holds its values: 0 and 1, or 0 for both."""
    self_play: bool
    """True if both sides step, and learn."""
    every_ply: bool
    online: bool
    learn_exploring: bool
    learn_explored: bool
    set_last: bool
    know_results: bool

    def update_value(self, seat: int, row: int, next_row: int) -> float:
        """Moves v(s) towards its target, the result or r + gamma * v(s'), and returns the TD error."""
        self.visits[row] += 1
        td_error = self.step + self.gamma * self.values[next_row] - self.values[row]
        if self.finals[next_row]:  # a result is the whole target, whatever the discount
            td_error = self.values[next_row] - self.values[row]
        self.correct(seat, row, td_error)
        return float(td_error)

    def correct(self, seat: int, row: int, td_error: float) -> None:
        """Moves v(s) by the TD error times the learning rate, or times 1 / N(s)."""
        rate = self.rate if self.rate > 0 else 1 / self.visits[row]
        self.assign(seat, row, self.values[row] + rate * td_error)

    def begin_game(self, game: Game, i: int, seat: int, own: int, opp: int) -> None:
        """Begins a game on board i, in the position that `seat` sees."""
        self.lengths[i, 0] = self.lengths[i, 1] = 0
        self.over[i] = False
        if self.every_ply:
            self.append(i, seat, self.reach(game, seat, own, opp), False)
            if self.self_play:
                self.append(i, 1 - seat, self.reach(game, 1 - seat, opp, own), False)

    def choose_action(self, game: Game, i: int, seat: int, own: int, opp: int) -> int:
        """Epsilon-greedy: a random move with probability epsilon, else one to a position of highest value."""
        # The position gets a row even if its route leaves it out.
        self.row_of(game, seat, own, opp)
        choices = game.legal(own, opp)
        explored = explores(self.random, self.epsilon)
        if not explored:
            choices = self.greedy_moves(game, seat, own, opp)
        action = pick(game, choices, draw(self.random))
        self.move(game, i, seat, own, opp, action, explored)
        return action

    def move(self, game: Game, i: int, seat: int, own: int, opp: int, action: int, explored: bool) -> None:
        """Adds the position after a move to the routes of the seats that learn from it."""
        other, mine = game.play(own, opp, action)
        reached = self.reach(game, seat, mine, other)
        final = self.finals[reached]
        self.append(i, seat, reached, explored)
        # In self-play the other seat sees the same position; with "own" plies only if it is the last one.
        if self.self_play and (self.every_ply or final):
            self.append_reply(i, 1 - seat, self.reach(game, 1 - seat, other, mine))
        self.over[i] = final
        if final:
            self.count_result(game, seat, mine, other)

    def learn_from_result(
        self, game: Game, i: int, seat: int, own: int, opp: int, reward: float, terminated: bool, truncated: bool
    ) -> bool:
        """Learns from the position that the move on board i led to. Returns True if the game there is over."""
        # Against an opponent this is the position after its reply; in self-play `move` has already recorded it.
        if not self.over[i] and not self.self_play:
            reached = self.reach(game, seat, own, opp)
            if self.every_ply or self.finals[reached]:
                self.append_reply(i, seat, reached)
            self.over[i] = self.finals[reached]
            if self.over[i]:
                self.count_result(game, seat, own, opp)
        if self.over[i] or terminated or truncated:
            self.learn_backward(i)
            return True
        return False

    def count_result(self, game: Game, seat: int, own: int, opp: int) -> None:
        """Counts the result of a game that is over, as `seat` sees its end."""
        outcome = self.outcome(game, own, opp)
        self.results[1 + outcome if seat else 1 - outcome] += 1

    def append_reply(self, i: int, seat: int, row: int) -> None:
        """Adds a position after the other side's move to a route; with `set_last` its value goes to the one before."""
        length = self.lengths[i, seat]
        if not self.set_last:
            self.append(i, seat, row, False)
        elif length > 0:
            # The position after the seat's last move gets the result itself, not a step towards it.
            last = self.routes[i, seat, length - 1]
            self.visits[last] += 1
            self.assign(seat, last, self.values[row])

    def append(self, i: int, seat: int, row: int, explored: bool) -> None:
        """Adds a position to a route; online, learns the step that led to it, unless that step is skipped."""
        # An exploring move may spoil two steps: the one that it makes, for the position before it, and the next one,
        # for the position that it leads to.
        route, skips, length = self.routes[i, seat], self.skips[i, seat], self.lengths[i, seat]
        skips[length] = explored and not self.learn_explored
        if length > 0:
            skips[length - 1] |= explored and not self.learn_exploring
            if self.online and not skips[length - 1]:
                # TD(lambda): earlier positions share in the error, less with each ply back; a skipped step ends that.
                td_error = self.update_value(seat, route[length - 1], row)
                weight = self.gamma * self.trace_decay
                step = length - 2
                while weight > 0 and step >= 0 and not skips[step]:
                    self.correct(seat, route[step], weight * td_error)
                    weight *= self.gamma * self.trace_decay
                    step -= 1
        route[length] = row
        self.lengths[i, seat] = length + 1

    def learn_backward(self, i: int) -> None:
        """At the end of a game learns its steps, the last one first, unless they were learned online."""
        # Last first: each position learns from a value that already reflects the result.
        if not self.online:
            for seat in range(2):
                for step in range(self.lengths[i, seat] - 2, -1, -1):
                    if not self.skips[i, seat, step]:
                        self.update_value(seat, self.routes[i, seat, step], self.routes[i, seat, step + 1])

    def assign(self, seat: int, row: int, value: float) -> None:
        """Sets v(s) in the table of `seat`."""
        self.values[row] = value

    def greedy_moves(self, game: Game, seat: int, own: int, opp: int) -> int:
        """The moves to positions of highest value, as a set of `choice` bits."""
        legal, best, choices = game.legal(own, opp), -np.inf, 0
        for action in range(game.num_actions):
            choice = game.choice(action)
            if legal & choice:
                other, mine = game.play(own, opp, action)
                # A higher value begins the set again; an equal one joins it.
                value = self.values[self.row_of(game, seat, mine, other)]
                if value > best:
                    best, choices = value, 0
                if value == best:
                    choices |= choice
        return choices

    def row_of(self, game: Game, seat: int, own: int, opp: int) -> int:
        """The row of a position in the table of `seat`; a new position gets one."""
        next_row = self.rows.used[0]
        row = self.rows.get_or_add(own, opp, self.parts[seat])
        if row == next_row:
            # A new row: a finished position has its result as its value, unless results have to be learned too.
            self.finals[row], self.values[row] = self.status(game, own, opp)
            self.visits[row] = 0
            if not self.know_results:
                self.values[row] = self.initial_value
        return row

    def add(self, game: Game, seat: int, own: int, opp: int) -> int:
        """`row_of` a position from a file, -1 if no game reaches it with either side to move."""
        possible = game.status(own, opp) == Status.VALID or game.status(opp, own) == Status.VALID
        return self.row_of(game, seat, own, opp) if possible else -1

    def reach(self, game: Game, seat: int, own: int, opp: int) -> int:
        """The row of a position that a game has reached; if the game is over there, its value becomes the result."""
        row = self.row_of(game, seat, own, opp)
        if self.finals[row]:
            self.values[row] = self.status(game, own, opp)[1]
        return row

    def value_of(self, game: Game, seat: int, own: int, opp: int) -> float:
        """The value of a position to the player in `seat`; no row is added."""
        row = self.rows.find(own, opp, self.parts[seat])
        if row >= 0:
            return float(self.values[row])
        return self.status(game, own, opp)[1] if self.know_results else self.initial_value

    def evaluate(self, game: Game, own: int, opp: int, values: Floats) -> None:
        """Writes the value of each legal action to `values` (num_actions,), nan elsewhere; no row is added."""
        legal = game.legal(own, opp)
        for action in range(game.num_actions):
            values[action] = np.nan
            if legal & game.choice(action):
                other, mine = game.play(own, opp, action)
                values[action] = self.value_of(game, game.seat(own, opp), mine, other)

    def status(self, game: Game, own: int, opp: int) -> tuple[bool, float]:
        """True if a position is final; and its first value."""
        outcome = self.outcome(game, own, opp)
        if outcome == UNFINISHED:
            return False, self.initial_value
        return True, self.win if outcome == WON else self.loss if outcome == LOST else self.draw

    def outcome(self, game: Game, own: int, opp: int) -> int:
        """The result for the owner of the stones `own`, with either side to move."""
        # Stones alone do not say whose turn it is, so both views are tried.
        result, theirs = game.result(own, opp), game.result(opp, own)
        if result == LOST or theirs == WON:
            return LOST
        if theirs == LOST or result == WON:
            return WON
        return DRAWN if result == DRAWN else UNFINISHED


@dataclass(frozen=True, kw_only=True)
class StateSettings(TableSettings):
    """The settings of all learners of state values."""

    rewards: tuple[float, ...] = setting(
        (1.0, 0.5, 0.0),
        "for a win, a draw, a loss and, if given, each ply that does not end the game; they replace the environment's "
        "rewards",
    )
    initial_value: float = setting(0.5, "the value of a position before learning", -1e9, 1e9)
    plies: str = setting(
        "all",
        "all to learn every position of a game; own to learn only those after the learner's own moves",
        choices=("all", "own"),
    )
    updates: str = setting(
        "backward",
        "online to learn during the game; backward to learn at its end, the last position first",
        choices=("backward", "online"),
    )
    trace_decay: float = setting(0.0, 'lambda; a value above 0 needs updates "online"', 0, 1)
    learn_exploring: bool = setting(
        True, "True if the position before an exploring move learns from the position after it"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rewards(self.rewards)
        if self.trace_decay and self.updates == "backward":
            raise ValueError(
                f"trace_decay={self.trace_decay!r} needs updates='online': a backward sweep already propagates results"
            )


class StateLearner(TableLearner):
    """A learner of state values."""

    settings: StateSettings
    ROW_ARRAYS: ClassVar[dict[str, int]] = {"values": 0, "visits": 0, "finals": 0}
    GAME_ARRAYS = ("routes", "skips", "lengths", "over")
    table: ValueTable
    _learn_explored, _set_last, _know_results = True, False, True  # see `ValueTDSettings`

    def __init__(self, env: Environment | str, settings: StateSettings) -> None:
        super().__init__(env, settings)
        self._results = np.zeros(3, np.int64)
        self.forget()

    @property
    def tables(self) -> tuple[dict[tuple[int, int], TableEntry], ...]:
        """A copy of each seat's table: its entries by position, the owner's stones first."""
        copies = []
        for rows in self._parts():
            keys = [(own, opp) for own, opp, _ in self.positions[rows].tolist()]
            columns = (array[rows].tolist() for array in (self.table.finals, self.table.values, self.table.visits))
            copies.append({key: TableEntry(key, *numbers) for key, *numbers in zip(keys, *columns, strict=True)})
        return (copies[0], copies[-1])

    @property
    def results(self) -> Ints:
        """int64 (3,): the training games that the first player won, that were drawn, and that the second player won."""
        return self._results.copy()

    def value(self, seat: int, own: int, opp: int) -> float:
        """The value of a position for the player in `seat`, whose stones are `own`."""
        return float(self.table.value_of(self.game, seat, own, opp))

    def learn_game(self, moves: str) -> list[Backup]:
        """Learns from one finished game, as if both sides had played it in training without exploring.

        Args:
            moves: a move string (see `Position.from_moves`).

        Returns:
            Every change of a value, in their order.

        Raises:
            ValueError, IllegalMove: it is not a move string, or the game is not finished.
        """
        finished = Position.from_moves(self.game, moves)
        if not finished.is_over:
            raise ValueError(f"the game {moves!r} is not finished")
        self._make_room(self.game.cells * self._most_new)
        self._scheduled_table()
        backups: list[Backup] = []

        # Every change of a value goes through `assign`, so a subclass that notes them there sees all.
        class Watched(self._table_class()):  # type: ignore[misc]  # a class that mypy does not know
            """A table that records its changes; it is not compiled."""

            def assign(self, seat: int, row: int, value: float) -> None:
                before = float(self.values[row])
                super().assign(seat, row, value)
                own, opp, _ = self.rows.positions[row].tolist()
                backups.append(Backup(seat, own, opp, before, float(self.values[row])))

        table = Watched(*self.table._replace(self_play=True, results=np.zeros(3, np.int64), **self._new_games(1)))
        # Both sides learn, whatever the environment's opponent, on a board of this table's own: games under way and the
        # counts of results stay as they are. The values are shared, so the learner itself has learned.
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
        # The RNG state and the results are the learner's own arrays. Step size and epsilon come from the schedules,
        # game by game (`_scheduled_table`).
        win, draw, loss, step = check_rewards(self.settings.rewards)
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
            gamma=float(self.settings.gamma),
            trace_decay=float(self.settings.trace_decay),
            win=win,
            draw=draw,
            loss=loss,
            step=step,
            initial_value=float(self.settings.initial_value),
            parts=np.array([0, self._num_parts() - 1], np.int64),
            self_play=board.opponent is None,
            every_ply=self.settings.plies == "all",
            online=self.settings.updates == "online",
            learn_exploring=self.settings.learn_exploring,
            learn_explored=self._learn_explored,
            set_last=self._set_last,
            know_results=self._know_results,
        )

    def _table_class(self) -> type[ValueTable]:
        """The class of the table, whose methods are the algorithm."""
        return ValueTable

    def _num_parts(self) -> int:
        """The number of tables: one for each seat."""
        return 2

    def _new_games(self, count: int) -> dict[str, Any]:
        """Room for the unfinished games on `count` boards."""
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
        results = learned["results"]
        if results.shape != (3,) or results.dtype != np.int64 or ((results < 0) | (results > NO_LIMIT)).any():
            raise ValueError(f"its results are {results!r}, not three counts")
        self._results[:] = results
        for seat in range(self._num_parts()):
            positions, values, visits = (learned[f"{name}_{seat}"] for name in ("positions", "values", "visits"))
            if not positions.shape == (len(values), 2) or not values.shape == visits.shape == (len(values),):
                raise ValueError(f"the shapes of its table {seat} do not agree")
            if positions.dtype != np.int64:
                raise ValueError(f"the positions of its table {seat} are {positions.dtype}, not int64")
            if not np.isfinite(values).all() or visits.dtype != np.int64 or ((visits < 0) | (visits > NO_LIMIT)).any():
                raise ValueError(f"the numbers of its table {seat} are not in order")
            begin = len(self)
            added = self._add_positions(seat, positions)
            if added < len(positions):
                own, opp = positions[added].tolist()
                raise ValueError(f"its table {seat} holds an impossible position, or one twice: {own}, {opp}")
            self.table.values[begin : len(self)] = values
            self.table.visits[begin : len(self)] = visits


@dataclass(frozen=True, kw_only=True)
class ValueTDSettings(StateSettings):
    """The settings of `ValueTD`."""

    PRESETS: ClassVar = {
        "S1": {"opponent": None, "total": 10_000},
        "S3": {
            "initial_value": 0.0,
            "plies": "own",
            "learn_explored": False,
            "set_last": True,
            "know_results": False,
            "opponent": None,
            "total": 100_000,
        },
        "S3-improved": {"plies": "own", "learn_exploring": False, "opponent": None, "total": 100_000},
        "S4-prequel": {"updates": "online", "rewards": (1, 0.5, -1), "opponent": None, "total": 50_000},
    }
    learn_explored: bool = setting(
        True, "True if the position after an exploring move learns from the rest of the game"
    )
    set_last: bool = setting(
        False,
        "True to set the last position after the learner's own move to the result, whatever the step size; it needs "
        'plies "own"',
    )
    know_results: bool = setting(
        True,
        "True if the value of a finished game is its result from the beginning; False if it is `initial_value` until a "
        "game ends there",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.set_last and self.plies == "all":
            raise ValueError("set_last=True needs plies='own': with 'all' the last position is the end of the game")


class ValueTD(StateLearner):
    """Learns the value of each position from the values of those that follow it: TD(lambda).

    It plays the move that leads to the position of highest value. When the game moves from position s to s',

        v(s) += step * (reward + gamma * v(s') - v(s)),

    where `step` is the learning rate or 1 / N(s). If the game is over in s', the target is its result alone (Sutton,
    "Learning to predict by the methods of temporal differences", 1988; Sutton and Barto, section 1.5, chapter 6). With
    `trace_decay` (lambda) the positions before s share in the correction, lambda * gamma times less with each ply.

    Values are those of one side; each seat has a table. With `opponent=None` both sides play and learn.

    Presets (`ValueTD.preset(name)`):
        S1: self-play; at the end of a game both sides learn it backward. (Ours draws some 6,500 of its 10,000 training
            games, with an epsilon of 0.05 some 7,500; the published one 8,250 to 8,295. Its exploration was not
            published.)
        S3: self-play on the positions after the learner's own moves. Each is worth 0 until it is learned, even a win;
            the last one is set to the result; a position after an exploring move learns nothing from what follows.
            (Published as "Monte Carlo". As the second player it loses some 20 % of its games against random play.)
        S3-improved: S3 with results known in advance, 0.5 for any other new position, a last position that moves by
            the learning rate, and no learning from an exploring move for the position before it. Most runs are
            unbeatable.
        S4-prequel: self-play, TD(0) on every ply as it is played. (Its step size and exploration were not published;
            these are ours.)

    Args:
        env: an environment of ours, or its id; any opponent, seat and type of observation.
        {settings}

    Raises:
        ValueError: an argument is out of its range; the message names it.

    Example:
        >>> from tictac_agents import ValueTD
        >>> ValueTD.preset("S3", seed=0).learn(total_episodes=200).num_episodes
        200
    """

    settings: ValueTDSettings

    @takes(ValueTDSettings)
    def __init__(self, env: Environment | str, settings: ValueTDSettings) -> None:
        self._learn_explored = settings.learn_explored
        self._set_last, self._know_results = settings.set_last, settings.know_results
        super().__init__(env, settings)
