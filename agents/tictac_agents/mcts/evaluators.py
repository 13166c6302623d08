"""Evaluators, which a search may ask instead of rollouts: values and priors of a table, a network or the solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tictac_agents.mcts.simulation import Leaves
from tictac_env.games import Game, describe_game
from tictac_env.observation import action_masks, legal_sets
from tictac_env.position_batch import PositionBatch
from tictac_env.solver.enumerate import tabulate

Floats = npt.NDArray[np.floating[Any]]


class Evaluation(NamedTuple):
    """An evaluator's answer for B positions, each for its side to move."""

    values: Floats
    """(B,), in [-1, 1]: the value of each position."""
    priors: Floats | None = None
    """(B, num_actions), not negative: how good each action looks. Those of the legal ones are scaled to sum 1."""


@runtime_checkable
class Evaluator(Protocol):
    """Evaluates unfinished positions, any number at once. Its answer for one must not depend on the others."""

    priors: bool
    """Whether it gives priors."""

    def evaluate(self, batch: PositionBatch) -> Evaluation:
        """The values of B unfinished positions, and priors if it gives them."""


@runtime_checkable
class CompiledEvaluator(Protocol):
    """Evaluates positions, without priors, within the compiled search, which Python code would hold up."""

    def compiled(self, game: Game) -> Leaves:
        """The record that gives values, for the use of one thread.

        Raises:
            ValueError: it evaluates no positions of this game.
        """


class ExactEvaluator:
    """The exact values of games small enough to tabulate."""

    priors = False

    def evaluate(self, batch: PositionBatch) -> Evaluation:
        """Values -1, 0 and 1.

        Raises:
            ValueError: the game is too large to tabulate.
            KeyError: no game can reach one of the positions.
        """
        table = tabulate(batch.game)
        rows = [table.index[key] for key in zip(batch.own.tolist(), batch.opp.tolist(), strict=True)]
        return Evaluation(np.sign(table.score[rows]).astype(np.float32))


class HasValues(Protocol):
    """An agent with a value for each move, as all tabular learners have."""

    @property
    def game(self) -> Game:
        """What it plays."""

    def values(self, own: int, opp: int) -> Mapping[int, float]:
        """The value of each legal action."""


class TableEvaluator:
    """The value of the best move, from a learner's table.

    Args:
        learner: an agent with `values(own, opp)`, such as a `QLearning`.
        scale: divides the table's values, so that a sure win is worth 1.
    """

    priors = False

    def __init__(self, learner: HasValues, scale: float = 1.0) -> None:
        self.learner = learner
        self.scale = scale

    def evaluate(self, batch: PositionBatch) -> Evaluation:
        """Values clipped to [-1, 1].

        Raises:
            ValueError: the positions are of another game than the table.
        """
        if batch.game != self.learner.game:
            known, asked = describe_game(self.learner.game), describe_game(batch.game)
            raise ValueError(f"{self.learner} has learned {known}, and nothing of {asked}")
        best = [
            max(self.learner.values(own, opp).values())
            for own, opp in zip(batch.own.tolist(), batch.opp.tolist(), strict=True)
        ]
        return Evaluation(np.clip(np.array(best, np.float32) / self.scale, -1, 1))


class NetworkEvaluator:
    """The values, and priors, of any function of planes, such as a network.

    Args:
        function: from int8 (B, 2, rows, cols) planes, own stones first, to values (B,) in [-1, 1] and, if `priors`,
            non-negative priors (B, num_actions). The last bits of a network's answer to one row can depend on the
            number of rows; for results to the bit give a function that asks it row by row.
        priors: whether the function returns values and priors, or values alone.
    """

    def __init__(self, function: Callable[[npt.NDArray[np.int8]], Any], priors: bool = True) -> None:
        self.function = function
        self.priors = priors

    def evaluate(self, batch: PositionBatch) -> Evaluation:
        found = self.function(batch.observations("planes"))
        return Evaluation(*map(np.asarray, found)) if self.priors else Evaluation(np.asarray(found))


def checked(found: Evaluation, batch: PositionBatch, priors: bool, who: object) -> Evaluation:
    """An evaluator's answer as the tree wants it: float32, priors of legal actions only, scaled to sum 1.

    Raises:
        ValueError: wrong shapes, values outside [-1, 1], or negative priors; the message names the position.
    """
    values = np.asarray(found.values, np.float32)
    if values.shape != (len(batch),):
        raise ValueError(f"{who} gave values of shape {values.shape}, not {(len(batch),)}")
    wrong = np.flatnonzero(~(np.abs(values) <= 1))
    if len(wrong):
        raise ValueError(f"{who} gave the value {values[wrong[0]]}, not in [-1, 1], for {batch[int(wrong[0])]!r}")
    if not priors:
        return Evaluation(values)
    chances = np.asarray(found.priors, np.float32)
    game = batch.game
    if chances.shape != (len(batch), game.num_actions):
        raise ValueError(f"{who} gave priors of shape {chances.shape}, not {(len(batch), game.num_actions)}")
    wrong = np.flatnonzero(~(chances >= 0).all(axis=1) | ~np.isfinite(chances).all(axis=1))
    if len(wrong):
        raise ValueError(f"{who} gave the priors {chances[wrong[0]]}, not all >= 0, for {batch[int(wrong[0])]!r}")
    allowed = action_masks(game, legal_sets(game, batch.own, batch.opp)) != 0
    chances = np.where(allowed, chances, 0)
    sums = chances.sum(axis=1, keepdims=True)
    uniform = allowed / allowed.sum(axis=1, keepdims=True)
    return Evaluation(values, np.where(sums > 0, chances / np.maximum(sums, 1e-30), uniform).astype(np.float32))
