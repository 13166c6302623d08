"""How tables play and learn, compiled: a step of N boards at a time, or whole games of one board."""

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

# The rows of a `view`, int64 (VIEW_ROWS, N): what the learner sees of each board, and where the game there stands.
SEAT, OWN_STONES, OPP_STONES, AT, STEPS, VIEW_ROWS = range(6)
# Where a game stands. Between two steps it is BEGUN, GOING or DONE.
BEGUN_NOW, GOING, TERMINATED, TRUNCATED, DONE = range(5)


@borrowing_kernel
def choose(game: Game, table: Table, view: Ints, actions: Ints) -> None:
    """Chooses an action for each board in turn."""
    for i in range(len(actions)):
        seat, own, opp = view[SEAT, i], view[OWN_STONES, i], view[OPP_STONES, i]
        if view[AT, i] == BEGUN_NOW:
            table.begin(game, i, seat, own, opp)
            view[STEPS, i] = 0
            view[AT, i] = GOING
        actions[i] = table.choose(game, i, seat, own, opp)


@borrowing_kernel
def observe(game: Game, table: Table, view: Ints, rewards: Floats) -> int:
    """Has each board in turn see what its action led to. Returns how many games are over: they are DONE."""
    done = 0
    for i in range(len(rewards)):
        seat, own, opp = view[SEAT, i], view[OWN_STONES, i], view[OPP_STONES, i]
        at = view[AT, i]
        view[STEPS, i] += 1
        over = table.observe(game, i, seat, own, opp, rewards[i], at == TERMINATED, at == TRUNCATED)
        view[AT, i] = DONE if over else GOING
        done += over
    return done


@borrowing_kernel
def look(game: Game, owns: Ints, opps: Ints, seats: Ints, chosen: npt.NDArray[np.bool_], view: Ints) -> None:
    """Lets the learner in each of the `seats` see the position (own, opp) on its board, where it is `chosen`."""
    for i in range(len(seats)):
        if chosen[i]:
            own, opp = owns[i], opps[i]
            if seats[i] != game.seat(own, opp):
                own, opp = opp, own
            view[SEAT, i] = seats[i]
            view[OWN_STONES, i] = own
            view[OPP_STONES, i] = opp


@borrowing_kernel
def play_games(
    game: Game,
    table: Table,
    boards: Ints,
    seating: Ints,
    starts: Ints,
    kinds: Ints,
    cumulative: Floats,
    pay: tuple[float, float, float, float],
    games: int,
    max_steps: int,
    room: int,
    block: int,
    first: int,
    actions: Ints,
    replies: Ints,
) -> tuple[int, int]:
    """Plays whole games on one board, by the vector environment's kernels, and learns from them.

    Args:
        game: the rule book.
        table: what plays and learns, as on its board 0.
        boards: int64 (ROWS, 1), the board; only its randomness and how many games it has begun matter.
        seating: int64 (1,), the index of `play_as`.
        starts: as `kernels.settle` wants it.
        kinds: who the opponent is, none that is asked.
        cumulative: the running sums of a pool's weights.
        pay: the rewards.
        games: how many games at most.
        max_steps: after how many steps no game is begun any more.
        room: how many rows must be free when a game begins.
        block: how many games each seat gets in turn; 0 to leave the seats to `seating`.
        first: the number of the first game.
        actions: int64 (1,), room for the learner's action.
        replies: int64 (1,), room for the opponent's, -1.

    Returns:
        How many games and how many steps were played. A game whose beginning the opponent spoils is not: the
        environment's own reset will say so.
    """
    nowhere = boards[:2, :0]
    alone = kinds[0] == NOBODY
    win, draw, loss, going_on = pay
    played = steps = 0
    while played < games and steps < max_steps and table.rows.used[0] + room <= len(table.rows.positions):
        if block:
            seating[0] = (first + played) // block % 2
        state, begun = boards[STATE, 0], boards[BEGUN, 0]
        boards[PHASE, 0] = DEAL
        _, _, stuck = kernels.settle(game, boards, replies, nowhere, seating, starts, kinds, cumulative, 0, 1)
        if stuck:
            boards[STATE, 0], boards[BEGUN, 0] = state, begun
            break
        boards[PHASE, 0] = PLAYING
        seat, own, opp = boards[LEARNER, 0], boards[OWN, 0], boards[OPP, 0]
        table.begin(game, 0, seat, own, opp)
        over = False
        while not over:
            actions[0] = table.choose(game, 0, seat, own, opp)
            kernels.move(game, boards, actions, alone, True, 0, 1)
            if not alone:
                kernels.settle(game, boards, replies, nowhere, seating, starts, kinds, cumulative, 0, 1)
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


@borrowing_kernel
def evaluate(game: Game, table: Table, own: int, opp: int, values: Floats) -> None:
    """The values of a position's legal actions, nan elsewhere."""
    table.evaluate(game, own, opp, values)


@borrowing_kernel
def best_actions(game: Game, table: Table, owns: Ints, opps: Ints, values: Floats, best: Ints) -> None:
    """The legal action of highest value in each position, the lowest among equals; `values` (num_actions,) is room."""
    for i in range(len(best)):
        table.evaluate(game, owns[i], opps[i], values)
        highest = -np.inf
        for action in range(game.num_actions):
            if values[action] > highest:  # not where it is illegal: nan
                highest = values[action]
                best[i] = action


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
        self._seating = np.array([PLAY_AS.index(arguments.play_as)], np.int64)
        self._given = (starts, opponents.kinds, opponents.cumulative, arguments.rewards)

    def play(self, table: Table, games: int, max_steps: int, room: int, block: int, first: int) -> tuple[int, int]:
        """Plays so many games, or fewer; see `play_games`."""
        board = self._board
        state = board.state_dict()
        boards = np.zeros((ROWS, 1), np.int64)
        boards[STATE], boards[BEGUN] = state["state"], state["resets"]
        played = play_games(
            board.game, table, boards, self._seating, *self._given, games, max_steps, room, block, first,
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
    return own_rules and not opponents_of(env).asked
