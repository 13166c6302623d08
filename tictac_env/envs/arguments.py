"""The arguments that the single and the vector environment share, and their checks."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tictac_env.checks import one_of, whole
from tictac_env.envs.protocol import NOT_GIVEN, PLAY_AS, Numbers, Setup
from tictac_env.games import Game, describe_game, shown
from tictac_env.policies import Policy, as_policy
from tictac_env.policies.pool import OpponentPool
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

ON_ILLEGAL = ("lose", "raise")


@dataclass(frozen=True)
class Arguments:
    """What the games of an environment depend on, checked."""

    game: Game
    opponent: Policy | None
    play_as: str
    obs_type: str
    illegal: str
    rewards: tuple[float, float, float, float]
    start: tuple[Position, ...] | None

    @classmethod
    def check(
        cls, game: Game, opponent: Any, play_as: Any, obs_type: Any, illegal: Any, rewards: Any, start: Any
    ) -> Self:
        """The arguments of an environment as its user gives them; `obs_type` is checked by the `Observer`.

        Raises:
            ValueError: one of them is not allowed; the message names it and what is allowed.
        """
        arguments = cls(
            game,
            None if opponent is None else check_opponent(opponent, game, obs_type),
            play_as,
            obs_type,
            one_of("illegal", illegal, ON_ILLEGAL),
            check_rewards(rewards),
            check_start(start, game),
        )
        arguments.check_play_as(play_as)
        return arguments

    def check_play_as(self, play_as: Any) -> str:
        """`play_as`, if it may be played here.

        Raises:
            ValueError: there is no such seat, or there is no opponent and it is not the default.
        """
        if self.opponent is None and play_as != PLAY_AS[0]:
            raise ValueError(f"play_as={shown(play_as)} needs an opponent: with opponent=None both sides step")
        return one_of("play_as", play_as, PLAY_AS)

    def setup(self, as_numbers: Callable[[list[int]], Numbers] = tuple) -> Setup:
        """What the games begin with; `as_numbers` makes the sequences in it."""
        starts = self.start or ()
        owns, opps = [start.own for start in starts], [start.opp for start in starts]
        return Setup(self.opponent is None, as_numbers(owns), as_numbers(opps))

    def describe(self) -> dict[str, Any]:
        """What the games depend on, for JSON: to see whether another environment plays the same games."""
        start = None
        if self.start is not None:
            stones = [(position.own, position.opp) for position in self.start]
            start = hashlib.sha256(repr(stones).encode()).hexdigest()
        return {
            "game": describe_game(self.game),
            "opponent": None if self.opponent is None else str(self.opponent),
            "play_as": self.play_as,
            "illegal": self.illegal,
            "rewards": list(self.rewards),
            "start": start,
        }


def check_opponent(opponent: Any, game: Game, obs_type: str) -> Policy:
    """The opponent as a policy whose functions get observations of that type.

    A pool stays the object it is, since its owner goes on changing it; the boards look up its members themselves.

    Raises:
        ValueError: it does not play `game`, or one of its members does not.
    """
    policy = as_policy(opponent, game, obs_type)
    return opponent if isinstance(opponent, OpponentPool) else policy


def check_rewards(rewards: Any) -> tuple[float, float, float, float]:
    """The rewards for a win, a draw, a loss and a step that does not end the game (0 where not given).

    Raises:
        ValueError: `rewards` is not three or four finite numbers.
    """
    try:
        numbers = tuple(float(reward) for reward in rewards) if isinstance(rewards, (list, tuple, np.ndarray)) else ()
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) not in (3, 4) or not all(map(math.isfinite, numbers)):
        raise ValueError(
            f"rewards must be finite numbers (win, draw, loss) or (win, draw, loss, step), not {shown(rewards)}"
        )
    win, draw, loss, step = (*numbers, 0.0)[:4]
    return win, draw, loss, step


def check_start(start: Any, game: Game) -> tuple[Position, ...] | None:
    """The positions that `start` names or gives; None for the empty board.

    Raises:
        ValueError: it is no name of starting positions, or not a sequence of unfinished positions of `game`.
    """
    if start is None:
        return None
    if isinstance(start, str):
        from tictac_env.arena.game_record import starting_positions  # which may need the solver's tables

        return starting_positions(game, start)
    if not isinstance(start, (Sequence, PositionBatch)):
        raise ValueError(f"start must be a name such as 'random:8' or a list of positions, not {shown(start)}")
    positions = tuple(unfinished(start[i], game) for i in range(len(start)))
    if not positions:
        raise ValueError("start is empty; give positions, or None for the empty board")
    return positions


def unfinished(position: Any, game: Game) -> Position:
    """`position` (or the position of a move string), if the game goes on there.

    Raises:
        ValueError: it is not a position of `game`, or the game is over there.
    """
    if isinstance(position, str):
        position = Position.from_moves(game, position)
    if not isinstance(position, Position):
        raise ValueError(f"a position must be a Position or a move string, not {shown(position)}")
    if position.game != game:
        raise ValueError(f"{position!r} is not a position of this environment's game, {game!r}")
    if position.is_over:
        raise ValueError(f"no game can begin in the finished position {position!r}")
    return position


Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


def check_options(options: Any, keys: Sequence[str]) -> Mapping[str, Any]:
    """The options of a reset; an empty dict if there are none.

    Raises:
        ValueError: they are not a dict, or a key is unknown.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ValueError(f"options must be a dict, not {shown(options)}")
    for key in options:
        one_of("options key", key, keys)
    return options


def read_mask(mask: Any, num_envs: int) -> Bools:
    """Which boards are reset: all if `mask` is None.

    Raises:
        ValueError: it is not a bool array of the shape (num_envs,), or chooses no board.
    """
    if mask is None:
        return np.ones(num_envs, np.bool_)
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (num_envs,) or not mask.any():
        raise ValueError(
            f"reset_mask must be a bool array of the shape ({num_envs},), somewhere True, not {shown(mask)}"
        )
    return mask.copy()


def read_seeds(seed: Any, num_envs: int) -> list[int | None]:
    """A seed, or None, for each board: s + i for board i if one number s is given.

    Raises:
        ValueError: a seed is not a whole number, or there are not as many seeds as boards.
    """
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool):
        first = whole("seed", int(seed))
        return [first + i for i in range(num_envs)]
    if isinstance(seed, str) or not isinstance(seed, (Sequence, np.ndarray)) or len(seed) != num_envs:
        raise ValueError(f"seed must be a whole number, None, or a sequence of {num_envs} of these, not {shown(seed)}")
    given = seed.tolist() if isinstance(seed, np.ndarray) else seed
    return [
        None if one is None else whole(f"seed[{i}]", int(one) if isinstance(one, np.integer) else one)
        for i, one in enumerate(given)
    ]


def read_given_starts(given: Any, game: Game, chosen: Bools) -> Ints:
    """Where the chosen boards begin: int64 (2, num_envs), own and opp, `NOT_GIVEN` where it is not said.

    Args:
        given: None, an unfinished position or move string for all, or a sequence of these and None, or a batch.
        game: the rule book.
        chosen: bool (num_envs,); elsewhere it does not matter what is given.

    Raises:
        ValueError: it is not one of these.
    """
    each = _each("position", given, (str, Position, type(None)), len(chosen))
    starts = np.full((2, len(chosen)), NOT_GIVEN, np.int64)
    for i in () if given is None else np.flatnonzero(chosen).tolist():
        one = each[i]
        if one is not None:
            position = unfinished(one, game)
            starts[:, i] = position.own, position.opp
    return starts


def read_play_as(given: Any, arguments: Arguments, chosen: Bools) -> Ints:
    """The learners' seats as indices of `PLAY_AS`: int64 (num_envs,), the environment's own where it is not said.

    Args:
        given: None, a `play_as` for all, or a sequence of these and None.
        arguments: the environment's.
        chosen: bool (num_envs,); elsewhere it does not matter what is given.

    Raises:
        ValueError: it is not one of these.
    """
    each = _each("play_as", given, (str, type(None)), len(chosen))
    seats = np.full(len(chosen), PLAY_AS.index(arguments.play_as), np.int64)
    for i in np.flatnonzero(chosen).tolist() if given is not None else ():
        one = each[i]
        if one is not None:
            seats[i] = PLAY_AS.index(arguments.check_play_as(one))
    return seats


def _each(name: str, given: Any, single: tuple[type, ...], num_envs: int) -> Any:
    """What is given for each board, if it is one for all or a sequence of the right length."""
    if isinstance(given, single):
        return [given] * num_envs
    if not isinstance(given, (Sequence, PositionBatch, np.ndarray)) or len(given) != num_envs:
        raise ValueError(f"{name} must be one for all, or a sequence of {num_envs}, not {shown(given)}")
    return given


def read_actions(actions: Any, num_envs: int, num_actions: int) -> Ints:
    """The actions of a step as the kernels want them: int64 (num_envs,). The kernels check whether they are in range.

    Raises:
        ValueError: they are not integers, one for each board.
    """
    chosen: Ints = actions
    if type(actions) is not np.ndarray or actions.dtype != np.int64 or not actions.flags.carray:
        try:
            given = np.array(actions)
        except ValueError:
            raise ValueError(f"actions must be {num_envs} integers, not {shown(actions)}") from None
        if not np.issubdtype(given.dtype, np.integer) or (given.dtype == np.uint64 and (given >> 63).any()):
            raise ValueError(f"actions must be integers in [0, {num_actions}), not {given.dtype}: {shown(actions)}")
        chosen = given.astype(np.int64)
    if chosen.shape != (num_envs,):
        raise ValueError(f"actions must have the shape ({num_envs},), not {chosen.shape}")
    return chosen
