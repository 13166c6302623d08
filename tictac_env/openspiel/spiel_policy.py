"""A policy of ours as OpenSpiel's algorithms want one: the chance of each action in a state."""

from __future__ import annotations

from typing import Any

import numpy as np
from open_spiel.python import policy as spiel

from tictac_env.arena.verdicts import action_probabilities, gives_probabilities
from tictac_env.checks import whole
from tictac_env.openspiel.states import position_of, rules_of
from tictac_env.policies import as_policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

SEED_LIMIT = 2**63 - 1


class SpielPolicy(spiel.Policy):  # type: ignore[misc]
    """A policy of ours for both players, as OpenSpiel's `exploitability`, `best_response` and the like take it.

    It is judged here as `tictac_env.arena.exploitability` judges it: by its own probabilities where it gives them, else
    as the fixed map that it is with seeds derived from the positions. So both must find the same number.

    Args:
        game: the game of OpenSpiel's: one of ours, or its own tic-tac-toe or Connect Four.
        player: whatever `as_policy` accepts.
        seed: the seeds of a fixed map are derived from it and the position; in [0, 2**63).

    Raises:
        ValueError: we do not play the game, or there is no such policy.

    Example:
        >>> from open_spiel.python.algorithms.exploitability import exploitability
        >>> from tictac_env.openspiel import load_game
        >>> game = load_game("KInARow-v0:2x2-2")  # whoever begins wins with the second stone
        >>> round(exploitability(game, SpielPolicy(game, "minimax")), 9)
        0.0
    """

    def __init__(self, game: Any, player: Any, seed: int = 0) -> None:
        super().__init__(game, list(range(game.num_players())))
        self.rules = rules_of(game)
        self.policy = as_policy(player, self.rules)
        self.seed = whole("seed", seed, SEED_LIMIT)
        self._draws = gives_probabilities(self.policy, self.rules)
        self._known: dict[Position, dict[int, float]] = {}

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        """The chance of each legal action in an unfinished state.

        Raises:
            ValueError, IllegalMove: the policy does not answer as it must.
        """
        position = position_of(state)
        found = self._known.get(position)
        if found is None:
            batch = PositionBatch.of([position])
            legal = batch.action_masks() != 0
            chances = action_probabilities(self.policy, batch, legal, self.seed, self._draws)[0]
            found = self._known[position] = {int(a): float(chances[a]) for a in np.flatnonzero(legal[0])}
        return dict(found)
