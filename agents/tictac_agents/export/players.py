"""The players of exported files: records of what they know, with a method that chooses.

Everything here runs in the exported file, which `bundle.py` writes, so it needs NumPy only. Each record has

    choose(game, own, opp, seed, end) -> action

for an unfinished position, `own` the stones of the side to move. At `end`, by `time.perf_counter`, time is up: a search
then answers by what it has found so far.
"""

from __future__ import annotations

import math
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.mcts.rollouts import first_state
from tictac_agents.mcts.root import best_action, best_proven, node_statistics
from tictac_agents.mcts.search_tree import add_node, new_tree
from tictac_agents.mcts.simulation import SearchParams, simulate
from tictac_agents.ntuple.kernels import Tables, score_actions
from tictac_agents.ntuple.look_ahead import ALL, new_search
from tictac_agents.ntuple.search import answer, begin, deepen
from tictac_agents.tabular.table_learner import best_actions
from tictac_env.policies.reflexes import pick, random_choices, rule_choices
from tictac_env.rng import mix, weighted
from tictac_env.solver.alpha_beta import action_scores

Ints = npt.NDArray[np.int64]

AT_ONCE = 16
"""How many simulations or positions are looked at between two looks at the clock."""


class KnownMoves(NamedTuple):
    """The move of every position of a small game."""

    moves: npt.NDArray[np.int8]
    """(3**cells,): by the cells as a number to the base 3, the top left the lowest digit, 1 the first player's."""

    def choose(self, game: Any, own: int, opp: int, seed: int, end: float) -> int:
        """The move.

        Raises:
            ValueError: no game reaches the position.
        """
        first, second = (opp, own) if game.seat(own, opp) else (own, opp)
        code = 0
        for number in range(game.cells):
            bit = game.cell(number // game.cols, number % game.cols)
            code += 3**number * (1 if first & bit else 2 if second & bit else 0)
        if self.moves[code] < 0:
            raise ValueError(f"no game reaches the position of code {code}, or it is over there")
        return int(self.moves[code])


class Reflex(NamedTuple):
    """Plays at random, or by the rule of thumb."""

    by_rule: bool

    def choose(self, game: Any, own: int, opp: int, seed: int, end: float) -> int:
        """One of the actions held equally good, by the seed."""
        choices = rule_choices(game, own, opp) if self.by_rule else random_choices(game, own, opp)
        return pick(game, choices, seed)


class Mixed(NamedTuple):
    """Several players, one of which is drawn for each move."""

    players: tuple[Any, ...]
    cumulative: tuple[float, ...]

    def choose(self, game: Any, own: int, opp: int, seed: int, end: float) -> int:
        """What the player chooses that is drawn."""
        drawn: Any = self.players[weighted(self.cumulative, seed)]
        return int(drawn.choose(game, own, opp, mix(seed), end))


class OutOfTime(Exception):
    """There is no time left for the search under way."""


class AlphaBeta(NamedTuple):
    """Looks some plies ahead."""

    depth: int
    first: bool
    """Whether it takes the lowest of the best actions, whatever the seed."""
    signs: bool
    """Whether it asks only who wins, not how soon."""

    def choose(self, game: Any, own: int, opp: int, seed: int, end: float) -> int:
        """One of the best actions, as deep as time allows."""
        timed = type(game)()

        def result(own: int, opp: int) -> int:
            if perf_counter() > end:
                raise OutOfTime
            return int(game.result(own, opp))

        timed.result = result
        best = [action for action in range(game.num_actions) if game.legal(own, opp) & game.choice(action)]
        most = min(self.depth, game.cells - (own | opp).bit_count())
        try:
            for depth in [*range(1, most, 2), most]:
                found = action_scores(timed, own, opp, depth)
                scores = [score and (score > 0) - (score < 0) if self.signs else score for score in found]
                highest = max(score for score in scores if score is not None)
                best = [action for action, score in enumerate(scores) if score == highest]
        except OutOfTime:
            pass
        return best[0] if self.first else best[seed % len(best)]


class TreeSearch(NamedTuple):
    """Monte Carlo tree search."""

    simulations: int
    seconds: float
    """How long it searches, at most."""
    nodes: int
    """How many nodes its tree may have."""
    by_value: bool
    params: SearchParams
    leaves: Any

    def choose(self, game: Any, own: int, opp: int, seed: int, end: float) -> int:
        """The action that the search prefers."""
        end = min(end, perf_counter() + self.seconds)
        tree = new_tree(game, self.nodes)
        add_node(game, tree, own, opp)
        state, left = first_state(mix(mix(seed) ^ 0)), self.simulations
        while left and not (self.params.solver and best_proven(tree.proven[0].tolist()) is not None):
            wanted = min(left, AT_ONCE)
            _, state = simulate(game, tree, own, opp, wanted, self.params, self.leaves, state)
            left -= wanted
            if perf_counter() > end:
                break
        return best_action(node_statistics(tree, 0, self.params.solver), "value" if self.by_value else "visits")


class NTuples(NamedTuple):
    """An n-tuple network, which may look ahead."""

    tables: Tables
    plies: int
    seconds: float
    """How long it looks ahead, at most."""
    timed: bool
    """Whether only time ends the search."""

    def choose(self, game: Any, own: int, opp: int, seed: int, end: float) -> int:
        """The action of the highest value."""
        end = min(end, perf_counter() + self.seconds)
        scores = np.empty((1, game.num_actions), np.int64)
        if self.plies == 1 and not self.timed:
            score_actions(game, self.tables, np.array([own]), np.array([opp]), scores)
            return int(scores[0].argmax())
        search = new_search(game, 2.0 ** (self.plies + 3), False, self.timed)
        begin(game, self.tables, search, own, opp)
        deepen(game, self.tables, search, 2, ALL)
        while not deepen(game, self.tables, search, self.plies, AT_ONCE) and perf_counter() < end:
            pass
        return int(answer(game, search, scores[0]))


class TableValues(NamedTuple):
    """A learned table."""

    table: Any

    def choose(self, game: Any, own: int, opp: int, seed: int, end: float) -> int:
        """The action of the highest value, the lowest among equals."""
        best = np.full(1, -1, np.int64)
        best_actions(game, self.table, np.array([own]), np.array([opp]), np.empty(game.num_actions), best)
        return int(best[0])


def read_board(game: Any, board: Any, mark: int) -> tuple[int, int]:
    """The stones of the side to move and of the other, of the cells row by row: 0 empty, 1 and 2 the players'.

    Raises:
        ValueError: there are more or fewer cells than the game has.
    """
    if len(board) != game.cells:
        raise ValueError(f"the board has {len(board)} cells, not {game.cells} ({game.rows} x {game.cols})")
    own = opp = 0
    for number, owner in enumerate(board):
        if owner:
            bit = game.cell(number // game.cols, number % game.cols)
            own, opp = (own | bit, opp) if owner == mark else (own, opp | bit)
    return own, opp


def check_configuration(sizes: dict[str, int], configuration: Any) -> None:
    """Checks that it is the game that this file plays.

    Raises:
        ValueError: it is one of other sizes.
    """
    for name, size in sizes.items():
        if configuration.get(name, size) != size:
            raise ValueError(f"this agent plays {name}={size}, not {name}={configuration.get(name)}")


def time_limit(configuration: Any, share: float) -> float:
    """When `perf_counter` will say that this share of the time for a move is over; never without a limit."""
    return perf_counter() + share * float(configuration.get("actTimeout", math.inf))
