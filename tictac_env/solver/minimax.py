"""The minimax players: exact where the game is small enough to tabulate, else alpha-beta to a depth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tictac_env.checks import parse_whole
from tictac_env.games import Game
from tictac_env.policies import Policy, uniform
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.solver.enumerate import tabulate

SMALL_CELLS = 12
"""Up to this many cells a game is tabulated rather than searched."""
DEFAULT_DEPTH = 4


def _searched(position: Position, depth: int) -> list[int | None]:
    """The score of each action as far as `depth` plies tell, None where it is illegal."""
    from tictac_env.solver.alpha_beta import action_scores  # loads Numba, which tabulated play does not need

    return action_scores(position.game, position.own, position.opp, depth)


class Minimax(Policy):
    """Plays a move that keeps the value of the position, one among equals drawn by the seed.

    Without a depth the game is tabulated, and every move that keeps a win a win, or a draw a draw, is as good as the
    next. With a depth the position is searched that many plies ahead; then nearer wins and farther losses are
    preferred, and what lies beyond counts as a draw. The search is compiled: the first one on a machine takes about two
    seconds longer (see `tictac_env.solver.alpha_beta`).

    Args:
        depth: how many plies to look ahead, at least 1, or None for the exact value.

    Raises:
        ValueError: `depth` is not one of these.
    """

    name = "minimax"

    def __init__(self, depth: int | None = None) -> None:
        if depth is not None and (type(depth) is not int or depth < 1):
            raise ValueError(f"a depth must be a positive int or None, not {depth!r}")
        self.depth = depth
        if depth is not None:
            self.name = f"{type(self).name}:{depth}"
        self.budget = "the whole game, tabulated" if depth is None else f"{depth} plies"

    @classmethod
    def from_name(cls, game: Game, argument: str) -> Minimax:
        """`minimax:<depth>`; without a depth exact on boards of up to 12 cells, else 4 plies deep."""
        if not argument:
            return cls(None if game.cells <= SMALL_CELLS else DEFAULT_DEPTH)
        depth = parse_whole(argument, 1)
        if depth is None:
            raise ValueError(f"the depth of {cls.name!r} must be a positive whole number, not {argument!r}")
        return cls(depth)

    def best_actions(self, position: Position) -> tuple[int, ...]:
        """All actions the player holds equally good, in ascending order."""
        if self.depth is not None:
            values = _searched(position, self.depth)
        else:
            values = [score and (score > 0) - (score < 0) for score in self._exact(position)]
        best = max(value for value in values if value is not None)
        return tuple(action for action, value in enumerate(values) if value == best)

    def _exact(self, position: Position) -> list[int | None]:
        """The exact score of each action, None where it is illegal."""
        game = position.game
        table = tabulate(game)
        row = table.index.get((position.own, position.opp))
        if row is None:  # a position that no order of moves leads to, but that can be set up
            return _searched(position, game.cells)
        legal = position.legal_actions
        scores = table.action_scores([row])[0].tolist()
        return [score if action in legal else None for action, score in enumerate(scores)]

    def act(self, position: Position, seed: int) -> int:
        best = self.best_actions(position)
        return best[seed % len(best)]

    def probabilities(self, position: Position) -> npt.NDArray[np.float64]:
        """float64 (num_actions,): the same for each of the best actions."""
        return uniform(position.game, self.best_actions(position))

    def probabilities_many(self, batch: PositionBatch) -> npt.NDArray[np.float64] | None:
        """float64 (B, num_actions); with a depth all positions are searched in one go."""
        if self.depth is None:
            return super().probabilities_many(batch)
        from tictac_env.solver.alpha_beta import scores_many  # loads Numba, as above

        scores = scores_many(batch.game, batch.own, batch.opp, self.depth)
        best = scores == scores.max(axis=1, keepdims=True)
        chances: npt.NDArray[np.float64] = best / best.sum(axis=1, keepdims=True)
        return chances


class MinimaxFirst(Minimax):
    """The minimax player that takes the lowest of the best actions, whatever the seed."""

    name = "minimax-first"

    def act(self, position: Position, seed: int) -> int:
        return self.best_actions(position)[0]

    def probabilities(self, position: Position) -> npt.NDArray[np.float64]:
        """float64 (num_actions,): 1 for the lowest of the best actions."""
        return uniform(position.game, self.best_actions(position)[:1])
