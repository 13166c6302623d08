"""Games between policies, played: one after another or many side by side, with a clock and forfeits if wanted."""

from __future__ import annotations

import contextlib
import signal
import threading
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from tictac_env.games import UNFINISHED, shown
from tictac_env.policies import OpponentPool, Policy, answer
from tictac_env.policies.policy import actions_of, illegal_choice
from tictac_env.position import IllegalMove, Position, as_integer
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import advance, mix

BOARDS = 256
"""How many games are played side by side where somebody answers for many boards at once."""
BOARDS_WITH_A_SEARCH = 64
"""How many where the other one thinks about each board by itself."""


WARM_UP = 60.0
"""How many seconds a player may take for the move that does not count, if its time is limited."""


class Job(NamedTuple):
    """A game to play."""

    sides: tuple[Policy, Policy]
    """The first and the second player. Of an `OpponentPool` one member plays the whole game."""
    state: int
    """The board's random state (see `tictac_env.rng`), advanced before each draw: from the first player's pool, from
    the second's, and before each move."""
    start: Position
    """An unfinished position whose moves are known; the players go on from there."""


class Played(NamedTuple):
    """A game that was played."""

    final: Position
    """The last position, which after a forfeit need not be the end of a game."""
    result: int
    """1 if the first player won, 0 if it was a draw, -1 if the second player won."""
    forfeit: str
    """Why the loser forfeited the game; "" if nobody did."""
    seconds: tuple[float, float]
    """How long each player took for its moves, by the clock."""


class TimeUp(BaseException):
    """A player has had its time. No `Exception`, so that no player's own `except Exception` swallows it."""


class _Board:
    """A game under way."""

    __slots__ = (
        "forfeit",
        "game",
        "members",
        "moves",
        "opp",
        "over",
        "own",
        "result",
        "seat",
        "seconds",
        "state",
    )

    def __init__(self, job: Job) -> None:
        self.members, self.state = _draw_members(job)
        start = job.start
        self.game, self.own, self.opp, self.seat = start.game, start.own, start.opp, start.seat
        self.moves = list(start.moves)
        self.seconds = [0.0, 0.0]
        self.over, self.result, self.forfeit = False, 0, ""

    @property
    def policy(self) -> Policy:
        """Whose move it is."""
        return self.members[self.seat]

    @property
    def position(self) -> Position:
        return Position(self.game, self.own, self.opp, tuple(self.moves))

    def draw(self) -> int:
        """The seed of the next move."""
        self.state = advance(self.state)
        return mix(self.state)

    def go_on(self, action: int, own: int, opp: int) -> None:
        """The position after an action."""
        self.moves.append(action)
        self.own, self.opp, self.seat = own, opp, self.game.seat(own, opp)
        result = self.game.result(own, opp)
        if result != UNFINISHED:
            self.over, self.result = True, -result if self.seat else result

    def give_up(self, why: str) -> None:
        """The player to move forfeits the game."""
        self.over, self.result, self.forfeit = True, 1 if self.seat else -1, why

    def played(self) -> Played:
        return Played(self.position, self.result, self.forfeit, (self.seconds[0], self.seconds[1]))


def boards_together(sides: Sequence[Policy]) -> int:
    """How many games of these players are played side by side: one, unless one of them is `batched`."""
    if any(side.one_game_at_a_time for side in sides) or not any(side.batched for side in sides):
        return 1
    return BOARDS if all(side.batched or side.reflex is not None for side in sides) else BOARDS_WITH_A_SEARCH


def play_games(
    jobs: Iterable[Job], together: int = 1, forfeits: bool = False, time_limit: float | None = None
) -> Iterator[tuple[int, Played]]:
    """Plays games, each the same however many are played side by side, and gives them in the order in which they end.

    Policies that are `batched` are asked for all boards together on which they are to move.

    Args:
        jobs: the games; each is taken when there is room for it.
        together: how many are played side by side.
        forfeits: whether a player that raises, plays an illegal move or takes too long loses that game by it. Else its
            errors are raised. Ctrl-C always is.
        time_limit: seconds a move by the clock, where `forfeits`. Within the main thread of a POSIX system a player is
            interrupted then, as Ctrl-C would interrupt it; elsewhere it loses once it has answered. Boards that are
            asked together share the time they took, and have all their time together.

    Yields:
        The number of the job, counted from 0, and the game.

    Raises:
        ValueError: a policy's `act_many` does not answer as it must.
        IllegalMove: a policy's choice is illegal; the message names it.
    """
    queue = enumerate(jobs)
    going: list[tuple[int, _Board]] = []
    with _Clock(time_limit if forfeits else None) as clock:
        while True:
            going += [(number, _Board(job)) for number, job in islice(queue, together - len(going))]
            if not going:
                return
            waiting: dict[int, list[_Board]] = {}
            for _, board in going:
                waiting.setdefault(id(board.policy), []).append(board)
            for boards in waiting.values():
                _move(boards, [board.draw() for board in boards], forfeits, clock)
            over = [(number, board) for number, board in going if board.over]
            for _, board in over:
                for member in board.members:
                    if member.one_game_at_a_time:
                        member.game_over(board.position)
            if over:
                going = [one for one in going if not one[1].over]
                yield from ((number, board.played()) for number, board in over)


def _move(boards: Sequence[_Board], seeds: Sequence[int], forfeits: bool, clock: _Clock) -> None:
    """One policy moves on all these boards."""
    if len(boards) == 1 or not boards[0].policy.batched:
        for board, seed in zip(boards, seeds, strict=True):
            _move_on_one(board, seed, forfeits, clock)
        return
    policy = boards[0].policy
    began = perf_counter()
    try:
        with clock.running(len(boards)):
            asked = PositionBatch.of([board.position for board in boards])
            actions = actions_of(policy, asked, np.array(seeds, np.int64)).tolist()
    except (Exception, SystemExit, TimeUp):
        if not forfeits:
            raise
        for board, seed in zip(boards, seeds, strict=True):  # to find the boards that are at fault
            _move_on_one(board, seed, forfeits, clock)
        return
    share = (perf_counter() - began) / len(boards)
    for board, action in zip(boards, actions, strict=True):
        board.seconds[board.seat] += share
        after = board.game.play(board.own, board.opp, action) if 0 <= action < board.game.num_actions else None
        if after is not None and after != (board.own, board.opp):
            board.go_on(action, *after)
            continue
        error = illegal_choice(policy, board.position, action)
        if not forfeits:
            raise error
        board.give_up(f"illegal move: {error}")


def _move_on_one(board: _Board, seed: int, forfeits: bool, clock: _Clock) -> None:
    began = perf_counter()
    why = ""
    try:
        with clock.running():
            after = answer(board.policy, board.game, board.own, board.opp, board.moves, seed)
    except (Exception, SystemExit, TimeUp) as error:
        if not forfeits:
            raise
        why = _why(error, clock, board)
    seconds = perf_counter() - began
    board.seconds[board.seat] += seconds
    if not why and clock.limit is not None and seconds > clock.limit:
        why = _why(TimeUp(), clock, board)
    if why:
        board.give_up(why)
    else:
        board.go_on(*after)


def _why(error: BaseException, clock: _Clock, board: _Board) -> str:
    """Why a game is forfeited: what happened, and for an error in the player's own code where."""
    if isinstance(error, TimeUp):
        return f"time: more than {clock.limit:g} s for the move of ply {len(board.moves) + 1}"
    if isinstance(error, IllegalMove):
        return f"illegal move: {error}"
    return told(error)


def told(error: BaseException) -> str:
    """An error of a player's own code, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}"[:1000] + where


def first_errors(policies: Iterable[Policy], position: Position, limit: float | None) -> list[BaseException | None]:
    """Asks each policy once, so that what it compiles or loads is there when its time counts.

    Policies that play `one_game_at_a_time` are not asked: they would remember it.

    Args:
        policies: the policies.
        position: where they are asked.
        limit: how many seconds each has; None for any time.

    Returns:
        For each the error that it raised, None if it answered. That an action is illegal, or comes too late, is no
        error here: it loses the games in which it happens.
    """
    found: list[BaseException | None] = []
    with _Clock(limit) as clock:
        for policy in policies:
            found.append(None)
            if policy.one_game_at_a_time:
                continue
            try:
                with contextlib.suppress(IllegalMove, TimeUp), clock.running():
                    if policy.batched:
                        actions_of(policy, PositionBatch.of([position]), np.zeros(1, np.int64))
                    elif as_integer(choice := policy.act(position, 0)) is None:
                        raise TypeError(f"an action must be an int, not {shown(choice)}")
            except (Exception, SystemExit) as error:
                found[-1] = error
    return found


class _Clock:
    """Rings when a player has had its time for a move, if there is a limit."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self._armed = False
        self._rings = (
            limit is not None and hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
        )
        self._before: Any = None

    def __enter__(self) -> _Clock:
        if self._rings:
            self._before = signal.signal(signal.SIGALRM, self._ring)
        return self

    def __exit__(self, *error: object) -> None:
        if self._rings:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    @contextmanager
    def running(self, moves: int = 1) -> Iterator[None]:
        """The time for so many moves runs within the block; it rings again and again, should an `except` swallow it.

        Raises:
            TimeUp: the time is up.
        """
        if not self._rings or self.limit is None:
            yield
            return
        self._armed = True
        signal.setitimer(signal.ITIMER_REAL, max(self.limit * moves, 1e-6), 0.05)
        try:
            yield
        finally:
            self._armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _ring(self, signum: int, frame: FrameType | None) -> None:
        if self._armed:
            raise TimeUp


def _draw_members(job: Job) -> tuple[list[Policy], int]:
    """Who plays a whole game, a member of each `OpponentPool`; and the random state after the draws."""
    playing, state = [], job.state
    for side in job.sides:
        if isinstance(side, OpponentPool):
            state = advance(state)
            side = side.member(side.draw(mix(state)), job.start.game)
        playing.append(side)
    return playing, state
