"""Who answers on one board, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from tictac_env.games import Game
from tictac_env.policies import Policy, answer
from tictac_env.policies.pool import OpponentPool
from tictac_env.position import Position

MAX_SETS = 1024
"""How many sets of actions are remembered; a board with gravity has at most 2 ** cols."""


class BoardOpponents:
    """The opponent of one board, or the members of its pool: the `Opponents` of `tictac_env.envs.protocol`.

    Args:
        opponent: a policy, a pool, or None: then nobody is asked.
        game: the rule book.
        obs_type: which observation opponents that are functions get.

    Attributes:
        moves: the actions of the game under way, which an opponent that is asked sees in its `Position`.
        starts: the starting positions by number, with the moves that led there; the last one is where a game begins
            that has no number.
    """

    def __init__(self, opponent: Policy | None, game: Game, obs_type: str) -> None:
        self._opponent, self._game, self._obs_type = opponent, game, obs_type
        self._pool = opponent if isinstance(opponent, OpponentPool) else None
        self._actions: dict[int, list[int]] = {}  # of the sets that reflexes have named
        self.moves: list[int] = []
        self.starts: Sequence[Position] = ()

    @property
    def num_members(self) -> int | None:
        """How many opponents the pool has, None without a pool."""
        return len(self._pool.players) if self._pool is not None else None

    @property
    def cumulative(self) -> Sequence[float]:
        """The running sums of the pool's weights; empty without a pool."""
        return self._pool.cumulative if self._pool is not None else ()

    def policy(self, member: int) -> Policy:
        """The policy of that number; without a pool there is but one."""
        if self._pool is not None:
            return self._pool.member(member, self._game, self._obs_type)
        if self._opponent is None:
            raise LookupError("in self-play there is no opponent to ask")
        return self._opponent

    def first_answer(self, game: Game, member: int, start: int, own: int, opp: int, seed: int) -> tuple[int, int, int]:
        """What the member plays from the starting position of that number, and the position after it."""
        return answer(self.policy(member), game, own, opp, self.starts[start].recent_moves, seed)

    def answer(self, game: Game, member: int, own: int, opp: int, seed: int) -> tuple[int, int, int]:
        """What the member plays in the game under way, and the position after it."""
        policy = self.policy(member)
        reflex = policy.reflex
        if reflex is not None and (choices := reflex(game, own, opp)):
            actions = self._actions.get(choices) or self._actions_of(choices)
            action = actions[seed % len(actions)]  # as `reflexes.pick` does, but remembering the sets
            if action >= 0:
                next_own, next_opp = game.play(own, opp, action)
                if next_own != own or next_opp != opp:
                    return action, next_own, next_opp
        return answer(policy, game, own, opp, self.moves, seed)  # which asks the policy, or says what is wrong

    def _actions_of(self, choices: int) -> list[int]:
        """The actions that a set names, in ascending order."""
        actions = [self._game.nth(choices, index) for index in range(choices.bit_count())]
        if len(self._actions) < MAX_SETS:
            self._actions[choices] = actions
        return actions
