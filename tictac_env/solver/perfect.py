"""The perfect player, and how to make it err as often as one likes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tictac_env.checks import number
from tictac_env.compiled import kernel
from tictac_env.games import Game
from tictac_env.observation import action_masks
from tictac_env.policies import Policy
from tictac_env.policies.heuristics import safe_choices
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import mix
from tictac_env.solver.exact import NotProven, Solver, shared_solver

DRAW_BITS = 53
MANY = 1 << 10
"""Fewer positions take Python no longer than loading machine code does."""


class Perfect(Policy):
    """Plays a move of the best exact score, one among equals drawn by the seed: wins soonest, resists longest.

    With an error rate it plays, that often, a random move instead that does not let the other side win at once (any
    move, where all do).

    Where a time limit for a move ends the search too early, it takes a move of the best score proven so far. Such an
    answer depends on the machine, so exact measures should use no limit.

    Args:
        error: how often to play a random move, in [0, 1].
        time_limit: at most this many seconds a move, None for as long as it takes.
        solver: the solver to use, None for one that all perfect players share.

    Raises:
        ValueError: an argument is out of its range.

    Example:
        >>> from tictac_env.policies import make_policy
        >>> make_policy("perfect", "TicTacToe-v0").act(Position.from_moves("TicTacToe-v0", "1524"), seed=0)
        2
    """

    name = "perfect"

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
        """`perfect` or `perfect:<error>`."""
        try:
            return cls(float(argument) if argument else 0)
        except ValueError:
            raise ValueError(f"the error of {cls.name!r} must be a number in [0, 1], not {argument!r}") from None

    def best_actions(self, position: Position) -> tuple[int, ...]:
        """The actions of the best score, or of the best one proven within the time limit; in ascending order."""
        solver = self._solver(position.game)
        if self.time_limit is None:
            return solver.best_actions(position)
        try:
            return solver.best_actions(position, self.time_limit / 2)
        except NotProven:
            bounds = solver.action_bounds(position, time_limit=self.time_limit / 2)
        known = {action: (found.lower, found.upper) for action, found in enumerate(bounds) if found}
        best = max(known.values())
        return tuple(action for action, found in known.items() if found == best)

    def safe_actions(self, position: Position) -> tuple[int, ...]:
        """The actions after which the other side cannot win at once; all legal ones, if there are none."""
        game = position.game
        safe = safe_choices(game, position.own, position.opp)
        return tuple(action for action in position.legal_actions if safe & game.choice(action))

    def act(self, position: Position, seed: int) -> int:
        if self.error:
            draw = mix(seed)
            seed = mix(draw)
            if draw >> 63 - DRAW_BITS < self.error * (1 << DRAW_BITS):
                safe = self.safe_actions(position)
                return safe[seed % len(safe)]
        best = self.best_actions(position)
        return best[seed % len(best)]

    def probabilities(self, position: Position) -> npt.NDArray[np.float64] | None:
        """float64 (num_actions,): uniform over the best actions and, at the rate of errors, over the safe ones; None
        with a time limit, as then the best actions are not always the same.
        """
        chances = self.probabilities_many(PositionBatch.of([position]))
        return None if chances is None else chances[0]

    def probabilities_many(self, batch: PositionBatch) -> npt.NDArray[np.float64] | None:
        """float64 (B, num_actions); all positions are solved together."""
        if self.time_limit is not None:
            return None
        best = self.best_masks(batch)
        chances: npt.NDArray[np.float64] = (1 - self.error) * (best / best.sum(axis=1, keepdims=True))
        if self.error:
            safe = action_masks(batch.game, safe_sets(batch))
            chances += self.error * (safe / safe.sum(axis=1, keepdims=True))
        return chances

    def best_masks(self, batch: PositionBatch) -> npt.NDArray[np.bool_]:
        """The actions of the best score in B positions, without a time limit: bool (B, num_actions)."""
        return self._solver(batch.game).best_masks(batch)

    def sure_wins(self, batch: PositionBatch) -> npt.NDArray[np.bool_]:
        """Where the side to move wins, bool (B,), if the player makes no errors and has all the time it needs."""
        if self.error or self.time_limit is not None:
            return super().sure_wins(batch)
        positions = [batch[i] for i in range(len(batch))]
        return np.array(self._solver(batch.game).score_many(positions, weak=True, progress=False)) > 0

    def _solver(self, game: Game) -> Solver:
        """The solver it asks."""
        return self.solver or shared_solver(game)


def safe_sets(batch: PositionBatch) -> npt.NDArray[np.int64]:
    """What `safe_choices` gives in each of B unfinished positions: int64 (B,)."""
    if len(batch) < MANY:
        stones = zip(batch.own.tolist(), batch.opp.tolist(), strict=True)
        return np.array([safe_choices(batch.game, *both) for both in stones], np.int64)
    safe = np.empty(len(batch), np.int64)
    find_safe(batch.game, batch.own, batch.opp, safe)
    return safe


@kernel
def find_safe(game: Game, own: npt.NDArray[np.int64], opp: npt.NDArray[np.int64], safe: npt.NDArray[np.int64]) -> None:
    """Writes the sets of safe actions into `safe`."""
    for i in range(len(own)):
        safe[i] = safe_choices(game, own[i], opp[i])
