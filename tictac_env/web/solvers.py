"""Exact solvers that several visitors use at once, and the perfect player that keeps to a limit of time."""

from __future__ import annotations

import threading
from collections import OrderedDict

from tictac_env.games import Game
from tictac_env.position import Position
from tictac_env.solver import NotProven, Solver
from tictac_env.solver.perfect import Perfect

TABLE_MEGABYTES = 32
GAMES_A_THREAD = 3


class Solvers:
    """A solver for each thread and game, so that none waits for another; each thread keeps those of the last games."""

    def __init__(self) -> None:
        self._of_thread = threading.local()

    def get(self, game: Game) -> Solver:
        """This thread's solver of a game."""
        known: OrderedDict[Game, Solver] = self._of_thread.__dict__.setdefault("known", OrderedDict())
        if game not in known:
            known[game] = Solver(game, TABLE_MEGABYTES)
            while len(known) > GAMES_A_THREAD:
                known.popitem(last=False)
        known.move_to_end(game)
        return known[game]


class LimitedPerfect(Perfect):
    """The perfect player, which plays the best move proven so far when its time for a move is over.

    Args:
        solvers: whose solver of this thread it uses.
        error: as of `Perfect`.
        seconds: its time for a move.
    """

    def __init__(self, solvers: Solvers, error: float, seconds: float) -> None:
        super().__init__(error, seconds)
        self._solvers = solvers

    def _solver(self, game: Game) -> Solver:
        return self._solvers.get(game)


def proven(solver: Solver, position: Position, seconds: float, weak: bool = False) -> int | None:
    """The exact score of a position, None if it cannot be proven in time."""
    try:
        return solver.score(position, weak, time_limit=max(0.0, seconds))
    except NotProven:
        return None
