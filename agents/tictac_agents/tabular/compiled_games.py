"""Whole games of one board in a compiled loop."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.tabular.rows import Ints
from tictac_env.compiled import borrowing_kernel, is_kept, machine_code
from tictac_env.envs.protocol import GOES_ON, NOT_GIVEN, PLAY_AS, Rewards, Setup, begin, reward, seen, step
from tictac_env.envs.single import BoardEnv
from tictac_env.envs.vector.board_batch import Opponents
from tictac_env.envs.vector.boards import int64_array
from tictac_env.envs.vector.kernels import CompiledOpponents
from tictac_env.games import Game

COMPILED_AS = "whole games of learning with a table"

Floats = npt.NDArray[np.float64]


class Limits(NamedTuple):
    """How far the compiled loop may play before something changes."""

    games: int
    """So many games at most."""
    steps: int
    """No game begins after so many steps."""
    play_as: str | None = None
    """The learner's seat in these games; None leaves it to the environment."""


@borrowing_kernel
def play_games(
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
        game: the rule book.
        table: an `ActionTable` or a `ValueTable`; it plays as on its board 0.
        setup: what the games begin with.
        opponents: the opponents.
        rewards: for a win, a draw, a loss and a step that does not end the game.
        play_as: the index in `PLAY_AS`.
        randomness: int64 (2,), the state of the board's randomness and how many games it has begun, as they are after
            the call.
        games: how many games at most.
        max_steps: after how many steps no game is begun any more.
        room: how many rows must be free when a game begins.

    Returns:
        How many games and how many steps were played. A game whose beginning the opponent spoils is not: the
        environment's own reset will say so.
    """
    state, games_begun = randomness[0], randomness[1]
    played = steps = 0
    while played < games and steps < max_steps and table.rows.used[0] + room <= len(table.rows.positions):
        opening = begin(game, setup, opponents, play_as, NOT_GIVEN, NOT_GIVEN, games_begun, state)
        if not opening.found:
            break
        own, opp, seat, state = opening.own, opening.opp, opening.learner, opening.state
        games_begun += 1
        table.begin_game(game, 0, seat, own, opp)
        over = False
        while not over:
            action = table.choose_action(game, 0, seat, own, opp)
            event, outcome, own, opp, _, state = step(
                game, setup.self_play, opponents, opening.member, own, opp, action, state
            )
            steps += 1
            ended = event != GOES_ON
            seat ^= setup.self_play
            shown, others = seen(game, own, opp, seat)
            over = table.learn_from_result(game, 0, seat, shown, others, reward(rewards, ended, outcome), ended, False)
        played += 1
    randomness[0], randomness[1] = state, games_begun
    return played, steps


class CompiledGames:
    """The games of an environment, as `play_games` wants them. What it draws is drawn from the environment's own state.

    Args:
        board: an environment of which `can_play` is true.
    """

    def __init__(self, board: BoardEnv) -> None:
        self._board = board
        self._setup = board.arguments.setup(int64_array)
        self._opponents = opponents_of(board).compiled

    def play(self, table: Any, games: int, max_steps: int, room: int, play_as: str | None = None) -> tuple[int, int]:
        """Plays whole games on the environment's board and has the table learn from them.

        Args:
            table: what plays and learns.
            games: how many games at most.
            max_steps: after how many steps no game is begun any more.
            room: how many rows must be free when a game begins.
            play_as: the learner's seat in these games; None leaves it to the environment.

        Returns:
            How many games and how many steps were played.
        """
        board = self._board
        state = board.state_dict()
        randomness = np.array([state["random_state"], state["games_begun"]], np.int64)
        played = play_games(*self._arguments(table, randomness, games, max_steps, room, play_as))
        random_state, games_begun = randomness.tolist()
        board.load_state_dict(state | {"random_state": random_state, "games_begun": games_begun})
        return played

    def are_kept(self, table: Any) -> bool:
        """Whether the loop need not be compiled any more."""
        return is_kept(play_games, *self._arguments(table, np.zeros(2, np.int64), 0, 0, 0, None))

    def compile(self, table: Any) -> None:
        """Compiles the loop, unless that is done."""
        machine_code(play_games, *self._arguments(table, np.zeros(2, np.int64), 0, 0, 0, None))

    def _arguments(
        self, table: Any, randomness: Ints, games: int, max_steps: int, room: int, play_as: str | None
    ) -> tuple[Any, ...]:
        given = self._board.arguments
        setup, seat = self._setup, PLAY_AS.index(play_as or given.play_as)
        opponents, rewards = self._opponents, given.rewards
        return self._board.game, table, setup, opponents, rewards, seat, randomness, games, max_steps, room


def opponents_of(board: BoardEnv) -> Opponents:
    """The opponents there, as the kernels know them."""
    return Opponents(board.opponent, board.game, board.arguments.obs_type)


def can_play(env: Any) -> bool:
    """Whether `CompiledGames` plays the games of `env`: one of ours, not wrapped, watched by nobody, whose opponents
    are compiled.
    """
    if not isinstance(env, BoardEnv) or env.render_mode == "human":
        return False
    own_rules = type(env).step is BoardEnv.step and type(env).reset is BoardEnv.reset
    return own_rules and not opponents_of(env).external
