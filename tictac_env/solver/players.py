"""Exact and searching players: minimax, tabulated or to a depth, and perfect play with a rate of errors.

Compiled code is imported when it is used: tabulated play loads no Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tictac_env.arrays import Bools, Floats, Ints
from tictac_env.checks import number, parse_whole
from tictac_env.games import Game, shown
from tictac_env.observation import action_masks
from tictac_env.policies import Policy, uniform
from tictac_env.policies.heuristics import safe_choices
from tictac_env.policies.policy import pick
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import mix
from tictac_env.solver.enumerate import SMALL_CELLS, tabulate

if TYPE_CHECKING:
    from tictac_env.solver.exact import Solver

DEFAULT_DEPTH = 4
DRAW_BITS = 53
MANY = 1 << 10
"""Python handles fewer positions faster than it loads machine code."""


def _searched(position: Position, depth: int) -> list[int | None]:
    """The score of each action after a search of `depth` plies, None if it is illegal."""
    from tictac_env.solver.alpha_beta import action_scores  # loads Numba, which tabulated play does not need

    return action_scores(position.game, position.own, position.opp, depth)


class Minimax(Policy):
    """Plays a move that keeps the value of the position; the seed draws among equally good moves.

    The policy named "minimax" has no depth on boards of up to 12 cells, and a depth of 4 on larger ones.

    Without a depth the game is tabulated, and all moves that keep the outcome are equally good. With a depth the
    position is searched that many plies ahead; then nearer wins and farther losses are preferred, and games that last
    longer count as draws. The search is compiled: the first one on a machine takes about two seconds longer (see
    `tictac_env.solver.alpha_beta`).

    Args:
        depth: the number of plies to look ahead, at least 1, or None for the exact value.

    Raises:
        ValueError: `depth` is anything else.
    """

    name = "minimax"
    about = "Looks ahead; of equally good moves it plays any."

    def __init__(self, depth: int | None = None) -> None:
        if depth is not None and (type(depth) is not int or depth < 1):
            raise ValueError(f"a depth must be a positive int or None, not {shown(depth)}")
        self.depth = depth
        if depth is not None:
            self.name = f"{type(self).name}:{depth}"
        self.budget = "the whole game, tabulated" if depth is None else f"{depth} plies"

    @classmethod
    def from_name(cls, game: Game, argument: str) -> Minimax:
        """A number of plies; without one exact on boards of up to 12 cells, else 4 plies deep."""
        if not argument:
            return cls(None if game.cells <= SMALL_CELLS else DEFAULT_DEPTH)
        depth = parse_whole(argument, 1)
        if depth is None:
            raise ValueError(f"the depth of {cls.name!r} must be a positive integer, not {shown(argument)}")
        return cls(depth)

    @classmethod
    def variants(cls, game: Game) -> tuple[str, ...]:
        """Without a depth on boards of up to 12 cells, otherwise three depths."""
        return ("",) if game.cells <= SMALL_CELLS else ("2", str(DEFAULT_DEPTH), "8")

    def best_actions(self, position: Position) -> tuple[int, ...]:
        """All actions that are equally good for the player, in ascending order."""
        if self.depth is not None:
            values = _searched(position, self.depth)
        else:
            values = [score and (score > 0) - (score < 0) for score in self._exact(position)]
        best = max(value for value in values if value is not None)
        return tuple(action for action, value in enumerate(values) if value == best)

    def _exact(self, position: Position) -> list[int | None]:
        game = position.game
        table = tabulate(game)
        row = table.index.get((position.own, position.opp))
        if row is None:  # a position that no game reaches, but that can be set up
            return _searched(position, game.cells)
        legal = position.legal_actions
        scores = table.action_scores([row])[0].tolist()
        return [score if action in legal else None for action, score in enumerate(scores)]

    def act(self, position: Position, seed: int) -> int:
        best = self.best_actions(position)
        return best[seed % len(best)]

    def probabilities(self, position: Position) -> Floats:
        """float64 (num_actions,): the same for each of the best actions."""
        return uniform(position.game, self.best_actions(position))

    def probabilities_many(self, batch: PositionBatch) -> Floats | None:
        """float64 (B, num_actions); with a depth all positions are searched together."""
        if self.depth is None:
            return super().probabilities_many(batch)
        from tictac_env.solver.alpha_beta import scores_many  # loads Numba, as above

        # An illegal action has a score below all others, so the best ones are legal.
        scores = scores_many(batch.game, batch.own, batch.opp, self.depth)
        best = scores == scores.max(axis=1, keepdims=True)
        chances: Floats = best / best.sum(axis=1, keepdims=True)
        return chances


class MinimaxFirst(Minimax):
    """The minimax player that takes the lowest of the best actions, whatever the seed."""

    name = "minimax-first"
    about = "Looks ahead; of equally good moves it plays the first."

    def act(self, position: Position, seed: int) -> int:
        return self.best_actions(position)[0]

    def probabilities(self, position: Position) -> Floats:
        """float64 (num_actions,): 1 for the lowest of the best actions."""
        return uniform(position.game, self.best_actions(position)[:1])


class Perfect(Policy):
    """Plays a move of the best exact score, drawn by the seed if there are several: wins soonest, resists longest.

    With an error rate, that share of its moves is random, among the moves that do not let the other side win at once
    (among all moves, if each does).

    If a time limit for a move ends the search too early, it plays a move of the best score proven so far. Such a move
    depends on the machine, so exact measures should use no limit.

    Args:
        error: the probability of a random move, in [0, 1].
        time_limit: the most seconds per move, None for no limit.
        solver: the solver to use, None for the solver that all perfect players share.

    Raises:
        ValueError: an argument is out of its range.

    Example:
        >>> from tictac_env.policies import make_policy
        >>> make_policy("perfect", "TicTacToe-v0").act(Position.from_moves("TicTacToe-v0", "1524"), seed=0)
        2
    """

    name = "perfect"
    about = "Plays a best move; with an error rate, that share of its moves is random, but loses nothing at once."

    def __init__(self, error: float = 0, time_limit: float | None = None, solver: Solver | None = None) -> None:
        self.error = number("error", error, 0, 1)
        self.time_limit = None if time_limit is None else number("time_limit", time_limit, 0, float("inf"))
        self.solver = solver
        self.budget = "the exact solver"
        if error:
            self.name = f"perfect:{error:g}"
            self.budget += f", and {100 * error:g} % of the moves safe ones at random"
        if time_limit is not None:
            self.budget += f", at most {time_limit:g} s a move"

    @classmethod
    def from_name(cls, game: Game, argument: str) -> Perfect:
        """An error rate in [0, 1]."""
        try:
            return cls(float(argument) if argument else 0)
        except ValueError:
            raise ValueError(f"the error of {cls.name!r} must be a number in [0, 1], not {shown(argument)}") from None

    @classmethod
    def variants(cls, game: Game) -> tuple[str, ...]:
        """Without an error rate, and with one."""
        return ("", "0.1")

    def best_actions(self, position: Position) -> tuple[int, ...]:
        """The actions of the best score, or of the best score proven within the time limit; in ascending order."""
        from tictac_env.solver.exact import NotProven

        # Half of the time for a proof; the other half for bounds of every action, if there is none.
        solver = self._solver(position.game)
        if self.time_limit is None:
            return solver.best_actions(position)
        try:
            return solver.best_actions(position, self.time_limit / 2)
        except NotProven:
            bounds = solver.action_bounds(position, time_limit=self.time_limit / 2)
        proven = {action: (bound.lower, bound.upper) for action, bound in enumerate(bounds) if bound}
        best = max(proven.values())
        return tuple(action for action, bound in proven.items() if bound == best)

    def act(self, position: Position, seed: int) -> int:
        # Two draws from one seed: the first decides if the move is an error, the second chooses the move. 53 bits, as
        # many as a float has, so that the comparison with the error rate is exact.
        if self.error:
            draw = mix(seed)
            seed = mix(draw)
            if draw >> 63 - DRAW_BITS < self.error * (1 << DRAW_BITS):
                return pick(position.game, safe_choices(position.game, position.own, position.opp), seed)
        best = self.best_actions(position)
        return best[seed % len(best)]

    def probabilities(self, position: Position) -> Floats | None:
        """float64 (num_actions,): uniform over the best actions and, with probability `error`, over the safe ones; None
        with a time limit, as then the best actions may vary.
        """
        chances = self.probabilities_many(PositionBatch.of([position]))
        return None if chances is None else chances[0]

    def probabilities_many(self, batch: PositionBatch) -> Floats | None:
        """float64 (B, num_actions); all positions are solved together."""
        if self.time_limit is not None:
            return None
        best = self.best_masks(batch)
        chances: Floats = (1 - self.error) * (best / best.sum(axis=1, keepdims=True))
        if self.error:
            safe = action_masks(batch.game, safe_sets(batch))
            chances += self.error * (safe / safe.sum(axis=1, keepdims=True))
        return chances

    def best_masks(self, batch: PositionBatch) -> Bools:
        """The actions of the best score in B positions, without a time limit: bool (B, num_actions)."""
        return self._solver(batch.game).best_masks(batch)

    def sure_wins(self, batch: PositionBatch) -> Bools:
        """The positions that the side to move wins, bool (B,), if the player has no error rate and no time limit."""
        if self.error or self.time_limit is not None:
            return super().sure_wins(batch)
        positions = [batch[i] for i in range(len(batch))]
        return np.array(self._solver(batch.game).score_many(positions, weak=True, progress=False)) > 0

    def _solver(self, game: Game) -> Solver:
        from tictac_env.solver.exact import shared_solver  # loads Numba

        return self.solver or shared_solver(game)


def safe_sets(batch: PositionBatch) -> Ints:
    """The `safe_choices` of B unfinished positions: int64 (B,)."""
    if len(batch) < MANY:
        stones = zip(batch.own.tolist(), batch.opp.tolist(), strict=True)
        return np.array([safe_choices(batch.game, *both) for both in stones], np.int64)
    from tictac_env.solver.alpha_beta import find_safe

    safe = np.empty(len(batch), np.int64)
    find_safe(batch.game, batch.own, batch.opp, safe)
    return safe
