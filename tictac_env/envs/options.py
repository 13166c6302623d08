"""What `reset` and `step` are given, checked: options, what is one for all boards or one for each, and actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.checks import one_of, whole
from tictac_env.envs.arguments import Arguments, unfinished
from tictac_env.envs.protocol import NOT_GIVEN, PLAY_AS
from tictac_env.games import Game, shown
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

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
