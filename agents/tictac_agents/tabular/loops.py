"""How tables play and learn, compiled, a step of N boards at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_agents.tabular.states import Ints
from tictac_env.compiled import borrowing_kernel
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
