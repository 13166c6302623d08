"""How an n-tuple network looks ahead: so many plies, or for so long."""

from __future__ import annotations

import functools
from collections.abc import Callable
from time import perf_counter

import numpy as np

from tictac_agents.ntuple.kernels import ILLEGAL, Tables
from tictac_agents.ntuple.position_table import new_table
from tictac_agents.ntuple.search import NODES, Search, answer, begin, deepen
from tictac_agents.ntuple.tuples import Ints
from tictac_env.compiled import kernel
from tictac_env.games.k_in_a_row import KInARow

Clock = Callable[[], float]

MAX_PLIES = 20
ROWS_A_MS = 1024
"""About as many positions as are entered into the table in a millisecond."""
CHUNK = 1 << 17
"""At most so many positions are looked at before the clock is, and Ctrl-C heard: less than a tenth of a second."""
ALL = 1 << 62
"""More positions than any search looks at."""


def look_plies(game: KInARow, tables: Tables, own: Ints, opp: Ints, plies: int, exact: bool) -> tuple[Ints, Ints]:
    """Searches B positions `plies` deep, at least 2. The result depends on nothing else.

    Args:
        game: the rule book.
        tables: the network.
        own: int64 (B,), the stones of the sides to move.
        opp: the other sides'.
        plies: how deep.
        exact: whether all scores are wanted, rather than upper bounds of all but the best.

    Returns:
        int64 (B, num_actions): the scores as `kernels.score_actions` gives them; int64 (B,): the best actions, those in
        the middle among equals.
    """
    scores, actions = np.empty((len(own), game.num_actions), np.int64), np.empty(len(own), np.int64)
    search = new_search(game, 2 ** (plies + 3), exact, timed=False)
    search_all(game, tables, search, own, opp, plies, actions, scores)
    return scores, actions


@kernel
def search_all(
    game: KInARow, tables: Tables, search: Search, own: Ints, opp: Ints, plies: int, actions: Ints, scores: Ints
) -> None:
    """Fills actions and scores for `look_plies`."""
    for i in range(len(own)):
        begin(game, tables, search, own[i], opp[i])
        deepen(game, tables, search, plies, ALL)
        actions[i] = answer(game, search, scores[i])


def look_for(
    game: KInARow, tables: Tables, own: Ints, opp: Ints, milliseconds: float, exact: bool, clock: Clock = perf_counter
) -> tuple[Ints, Ints]:
    """Searches each of B positions for some time, but two plies at least; see `look_plies`.

    A search ends sooner when a move surely wins, or all others surely lose. The one that the time cuts short has its
    say about the action, not about the scores.

    Args:
        game: the rule book.
        tables: the network.
        own: see `look_plies`.
        opp: see `look_plies`.
        milliseconds: for each position.
        exact: see `look_plies`.
        clock: tells the time in seconds.
    """
    scores, actions = np.empty((len(own), game.num_actions), np.int64), np.empty(len(own), np.int64)
    for i in range(len(own)):
        search = new_search(game, ROWS_A_MS * milliseconds, exact, timed=True)
        begin(game, tables, search, own[i], opp[i])
        deepen(game, tables, search, 2, ALL)  # takes no time, but what is called first may have to be compiled
        deepen_until(game, tables, search, milliseconds / 1000, clock)
        actions[i] = answer(game, search, scores[i])
    return scores, actions


def deepen_until(game: KInARow, tables: Tables, search: Search, seconds: float, clock: Clock) -> bool:
    """Searches deeper and deeper, looking at the clock five times or more; whether it is done before time is over."""
    began, before, nodes = clock(), int(search.state[NODES]), 64
    while not deepen(game, tables, search, game.cells, nodes):
        elapsed = clock() - began
        if elapsed >= seconds:
            return False
        rate = (int(search.state[NODES]) - before) / max(elapsed, 1e-6)
        nodes = max(1, min(CHUNK, int(rate * min(seconds - elapsed, seconds / 5))))
    return True


def new_search(game: KInARow, rows: float, exact: bool, timed: bool) -> Search:
    """A search with an empty table of about so many rows."""
    return Search(
        table=new_table(rows),
        stack=np.zeros((game.cells + 2, 14), np.int64),
        moves=np.zeros((game.cells + 2, game.num_actions), np.int64),
        history=np.zeros((2, 64), np.int64),
        ranks=ranks_of(game),
        now=np.full(64, ILLEGAL, np.int64),
        found=np.full(64, ILLEGAL, np.int64),
        state=np.zeros(3, np.int64),
        exact=exact,
        timed=timed,
    )


@functools.lru_cache(maxsize=64)
def ranks_of(game: KInARow) -> Ints:
    """For each cell how many actions are nearer to the middle than its own: int64 (64,)."""
    middle = (game.num_actions - 1) / 2
    ranks = np.zeros(64, np.int64)
    for rank, action in enumerate(sorted(range(game.num_actions), key=lambda action: abs(action - middle))):
        span = game.column << action * game.stride if game.gravity else game.choice(action)
        ranks[[bit for bit in range(64) if span >> bit & 1]] = rank
    return ranks
