"""The opponents on many boards."""

from __future__ import annotations

import numpy as np

from tictac_env.envs.vector import kernels
from tictac_env.envs.vector.boards import PLAYING, Ints
from tictac_env.envs.vector.compiled_opponents import EXTERNAL, NOBODY, RANDOM_POLICY, RULE_POLICY, CompiledOpponents
from tictac_env.games import Game
from tictac_env.policies import Policy
from tictac_env.policies.policy import actions_of, illegal_choice
from tictac_env.policies.pool import OpponentPool
from tictac_env.policies.reflexes import random_choices, rule_choices
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

COMPILED: dict[object, int] = {random_choices: RANDOM_POLICY, rule_choices: RULE_POLICY}


class Opponents:
    """The opponents on the boards: one, the members of a pool, or none.

    Attributes:
        compiled: what the kernels know of them.
        external: whether one of them is not compiled and has to be asked.
    """

    def __init__(self, opponent: Policy | None, game: Game, obs_type: str) -> None:
        self._opponent, self._game, self._obs_type = opponent, game, obs_type
        self._weights: list[float] | None = None
        self._read(list(opponent.cumulative) if isinstance(opponent, OpponentPool) else [])

    def update(self) -> None:
        """Takes note of new members of the pool, and of changed weights."""
        if isinstance(self._opponent, OpponentPool) and self._opponent.cumulative != self._weights:
            self._read(list(self._opponent.cumulative))

    def policy(self, member: int) -> Policy | None:
        """The opponent of this number; without a pool there is only number 0."""
        if isinstance(self._opponent, OpponentPool):
            return self._opponent.member(member, self._game, self._obs_type)
        return self._opponent

    def answers(self, boards: Ints, members: Ints, own: Ints, opp: Ints, seeds: Ints) -> Ints:
        """What the `members` play in these positions, all int64 (B,).

        Args:
            boards: the boards' numbers, for messages.
            members: the number of the opponent on each.
            own: the opponents' stones.
            opp: the learners'.
            seeds: for the policies.

        Raises:
            ValueError: a policy does not answer with B integers.
            IllegalMove: its choice is illegal; the message names it, the board, the choice and the position.
        """
        answers = np.empty(len(members), np.int64)
        for number in np.unique(members).tolist():
            asked = np.flatnonzero(members == number)
            policy = self.policy(number)
            replies = actions_of(policy, PositionBatch(self._game, own[asked], opp[asked]), seeds[asked])  # type: ignore[arg-type]  # nobody is never asked
            answers[asked] = replies
            playing = np.full(len(asked), PLAYING)
            wrong = kernels.first_invalid(self._game, own[asked], opp[asked], playing, answers[asked], True)
            if wrong >= 0:
                board = asked[wrong]
                position = Position(self._game, int(own[board]), int(opp[board]))
                raise illegal_choice(policy, position, int(replies[wrong]), f" on board {boards[board]}")  # type: ignore[arg-type]
        return answers

    def _read(self, weights: list[float]) -> None:
        policies = [self.policy(number) for number in range(max(1, len(weights)))]
        kinds = [NOBODY if policy is None else COMPILED.get(policy.reflex, EXTERNAL) for policy in policies]
        self.compiled = CompiledOpponents(np.array(kinds, np.int64), np.array(weights, np.float64))
        self.external = EXTERNAL in kinds
        self._weights = weights
