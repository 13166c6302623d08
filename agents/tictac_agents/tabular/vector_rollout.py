"""The boards of a vector environment, a step of them all at a time; how tables play and learn there is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from tictac_agents.tabular.rows import Ints
from tictac_env.compiled import borrowing_kernel, in_one_line
from tictac_env.games import Game

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
NEW, GOING, TERMINATED, TRUNCATED, OVER = range(5)
"""Where a game stands. Between two steps it is GOING or OVER."""


class GamesUnderWay(NamedTuple):
    """What the learner sees of N boards, each int64 (N,)."""

    seat: Ints
    own: Ints
    opp: Ints
    phase: Ints
    """NEW, GOING, TERMINATED, TRUNCATED or OVER."""
    steps: Ints
    """How many steps the game has had."""


def no_games(num_envs: int) -> GamesUnderWay:
    """Boards without a game."""
    games = GamesUnderWay(*(np.zeros(num_envs, np.int64) for _ in GamesUnderWay._fields))
    games.phase[:] = OVER
    return games


@in_one_line()
def run_vector(
    envs: gym.vector.VectorEnv[Any, Any, Any],
    table: Any,
    games: GamesUnderWay,
    reset: Callable[[Bools], tuple[Any, dict[str, Any]]],
) -> list[int]:
    """Plays one step on every board: all choose, the environment steps, all learn, in their order.

    A game that is over begins anew by an explicit reset, whether the environment would have reset it or not.

    Args:
        envs: the vector environment, one of ours.
        table: an `ActionTable` or a `ValueTable` with room for what this step adds.
        games: the games under way, which are changed.
        reset: begins a game on each board that its argument, bool (N,), names.

    Returns:
        The numbers of steps of the games that this step ended.
    """
    board: Any = envs.unwrapped
    over = games.phase == OVER
    if over.any():
        _, infos = reset(over)
        _look(board, infos, over, games)
        games.phase[over] = NEW
    actions = np.empty(len(over), np.int64)
    choose_actions(board.game, table, games, actions)
    _, rewards, terminated, truncated, infos = envs.step(actions)
    _look(board, infos, np.ones(len(over), np.bool_), games)
    games.phase[:] = np.where(terminated, TERMINATED, np.where(truncated, TRUNCATED, GOING))
    learn_from_results(board.game, table, games, np.asarray(rewards, np.float64))
    ended: list[int] = games.steps[games.phase == OVER].tolist()
    return ended


def _look(board: Any, infos: dict[str, Any], chosen: Bools, games: GamesUnderWay) -> None:
    look(board.game, board.batch.own, board.batch.opp, np.asarray(infos["seat"]), chosen, games)


@borrowing_kernel
def look(game: Game, owns: Ints, opps: Ints, seats: Ints, chosen: Bools, games: GamesUnderWay) -> None:
    """Shows the learner in each of the `seats` the position (own, opp) of its board, where it is `chosen`."""
    for i in range(len(seats)):
        if chosen[i]:
            own, opp = owns[i], opps[i]
            if seats[i] != game.seat(own, opp):
                own, opp = opp, own
            games.seat[i] = seats[i]
            games.own[i] = own
            games.opp[i] = opp


@borrowing_kernel
def choose_actions(game: Game, table: Any, games: GamesUnderWay, actions: Ints) -> None:
    """Chooses an action for each board in turn."""
    for i in range(len(actions)):
        seat, own, opp = games.seat[i], games.own[i], games.opp[i]
        if games.phase[i] == NEW:
            table.begin_game(game, i, seat, own, opp)
            games.steps[i] = 0
            games.phase[i] = GOING
        actions[i] = table.choose_action(game, i, seat, own, opp)


@borrowing_kernel
def learn_from_results(game: Game, table: Any, games: GamesUnderWay, rewards: Floats) -> None:
    """Has each board in turn learn from what its action brought."""
    for i in range(len(rewards)):
        seat, own, opp, phase = games.seat[i], games.own[i], games.opp[i], games.phase[i]
        games.steps[i] += 1
        over = table.learn_from_result(game, i, seat, own, opp, rewards[i], phase == TERMINATED, phase == TRUNCATED)
        games.phase[i] = OVER if over else GOING


def shows(games: GamesUnderWay, stones: Ints) -> bool:
    """Whether games that were read from a file show boards with these stones, where they are under way."""
    going = games.phase == GOING
    known = going | (games.phase == OVER)
    seats = (games.seat == 0) | (games.seat == 1)
    seen = (games.own | games.opp == stones) & (games.own & games.opp == 0)
    return bool((known & seats & (seen | ~going) & (games.steps >= 0)).all())
