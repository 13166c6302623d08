"""How compiled code evaluates the leaves of a search."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from tictac_agents.mcts.rollouts import rollout
from tictac_env.compiled import kernel_methods
from tictac_env.games import Game


class Leaves(Protocol):
    """A record, marked with `kernel_methods`, that evaluates leaves."""

    def leaf_value(self, game: Game, own: int, opp: int, state: int) -> tuple[float, int]:
        """The value of an unfinished position for its side to move, in [-1, 1], and the state of the randomness."""


@kernel_methods
class Rollouts(NamedTuple):
    """A leaf has the result of one game played out from it."""

    by_rule: bool
    """Whether by the win-or-block rule, else at random."""

    def leaf_value(self, game: Game, own: int, opp: int, state: int) -> tuple[float, int]:
        """The result for the side to move."""
        result, state = rollout(game, own, opp, self.by_rule, state)
        return float(result), state
