"""Whole games of one board in a compiled loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_agents.tabular.states import Ints
from tictac_env.compiled import borrowing_kernel
from tictac_env.envs.arguments import PLAY_AS
from tictac_env.envs.single import BoardEnv
from tictac_env.envs.vector import kernels
from tictac_env.envs.vector.boards import (
    BEGUN,
    DEAL,
    LEARNER,
    NOBODY,
    OPP,
    OUTCOME,
    OVER,
    OWN,
    PHASE,
    PLAYING,
    ROWS,
    STATE,
)
from tictac_env.envs.vector.opponents import Opponents
from tictac_env.games import Game

Floats = npt.NDArray[np.float64]
Table = Any
"""An `ActionTable` or a `ValueTable`."""


@borrowing_kernel
def play_games(
    game: Game,
    table: Table,
    boards: Ints,
    play_as: Ints,
    starts: Ints,
    kinds: Ints,
    cumulative: Floats,
    pay: tuple[float, float, float, float],
    games: int,
    max_steps: int,
    room: int,
    actions: Ints,
    replies: Ints,
) -> tuple[int, int]:
    """Plays whole games on one board, by the vector environment's kernels, and learns from them.

    Args:
        game: the rule book.
        table: what plays and learns, as on its board 0.
        boards: int64 (ROWS, 1), the board; only its randomness and how many games it has begun matter.
        play_as: int64 (1,), the index of `play_as`.
        starts: as `kernels.resolve_opponents` wants it.
        kinds: who the opponent is, none that is asked.
        cumulative: the running sums of a pool's weights.
        pay: the rewards.
        games: how many games at most.
        max_steps: after how many steps no game is begun any more.
        room: how many rows must be free when a game begins.
        actions: int64 (1,), room for the learner's action.
        replies: int64 (1,), room for the opponent's, -1.

    Returns:
        How many games and how many steps were played. A game whose beginning the opponent spoils is not: the
        environment's own reset will say so.
    """
    nowhere = boards[:2, :0]
    self_play = kinds[0] == NOBODY
    win, draw, loss, going_on = pay
    played = steps = 0
    while played < games and steps < max_steps and table.rows.used[0] + room <= len(table.rows.positions):
        state, begun = boards[STATE, 0], boards[BEGUN, 0]
        boards[PHASE, 0] = DEAL
        _, _, stuck = kernels.resolve_opponents(
            game, boards, replies, nowhere, play_as, starts, kinds, cumulative, 0, 1
        )
        if stuck:
            boards[STATE, 0], boards[BEGUN, 0] = state, begun
            break
        boards[PHASE, 0] = PLAYING
        seat, own, opp = boards[LEARNER, 0], boards[OWN, 0], boards[OPP, 0]
        table.begin(game, 0, seat, own, opp)
        over = False
        while not over:
            actions[0] = table.choose(game, 0, seat, own, opp)
            kernels.move(game, boards, actions, self_play, True, 0, 1)
            if not self_play:
                kernels.resolve_opponents(game, boards, replies, nowhere, play_as, starts, kinds, cumulative, 0, 1)
            steps += 1
            outcome, terminated = boards[OUTCOME, 0], boards[PHASE, 0] == OVER
            result = win if outcome > 0 else loss if outcome < 0 else draw
            reward = result if terminated else going_on
            seat, own, opp = boards[LEARNER, 0], boards[OWN, 0], boards[OPP, 0]
            if seat != game.seat(own, opp):
                own, opp = opp, own
            over = table.observe(game, 0, seat, own, opp, reward, terminated, False)
        played += 1
    return played, steps


class CompiledGames:
    """The games of an environment, as `play_games` wants them. What it draws is drawn from the environment's own state.

    Args:
        board: an environment of which `can_play` is true.
    """

    def __init__(self, board: BoardEnv) -> None:
        self._board = board
        arguments = board.arguments
        opponents = opponents_of(board)
        positions = arguments.start or ()
        starts = np.array([[p.own for p in positions], [p.opp for p in positions]], np.int64)
        self._given = (starts, opponents.kinds, opponents.cumulative, arguments.rewards)

    def play(self, table: Table, games: int, max_steps: int, room: int, play_as: str | None = None) -> tuple[int, int]:
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
        seat = np.array([PLAY_AS.index(play_as or board.arguments.play_as)], np.int64)
        state = board.state_dict()
        boards = np.zeros((ROWS, 1), np.int64)
        boards[STATE], boards[BEGUN] = state["state"], state["resets"]
        played = play_games(
            board.game, table, boards, seat, *self._given, games, max_steps, room,
            np.zeros(1, np.int64), np.full(1, -1),
        )  # fmt: skip
        changed = {"state": int(boards[STATE, 0]), "resets": int(boards[BEGUN, 0])}
        board.load_state_dict(state | changed)
        return played


def opponents_of(board: BoardEnv) -> Opponents:
    """Who answers there, as the kernels know them."""
    return Opponents(board.opponent, board.game, board.arguments.obs_type)


def can_play(env: Any) -> bool:
    """Whether `CompiledGames` plays the games of `env`: one of ours, not wrapped, watched by nobody, whose opponents
    are compiled.
    """
    if not isinstance(env, BoardEnv) or env.render_mode == "human":
        return False
    own_rules = type(env).step is BoardEnv.step and type(env).reset is BoardEnv.reset
    return own_rules and not opponents_of(env).external
