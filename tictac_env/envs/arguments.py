"""The arguments that the single and the vector environment share, and their checks."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tictac_env.checks import one_of
from tictac_env.envs.protocol import PLAY_AS, Numbers, Setup
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
        from tictac_env.arena.tournaments.openings import starting_positions  # which may need the solver's tables

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
