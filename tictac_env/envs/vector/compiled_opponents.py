"""Who answers in compiled loops."""

from __future__ import annotations

from typing import NamedTuple

from tictac_env.compiled import kernel_methods
from tictac_env.envs.vector.boards import Floats, Ints
from tictac_env.games import Game
from tictac_env.policies.reflexes import pick, rule_choices

NOBODY, EXTERNAL, RANDOM_POLICY, RULE_POLICY = range(4)
"""The kinds of opponents; an EXTERNAL one is a policy that only Python can ask."""


@kernel_methods
class CompiledOpponents(NamedTuple):
    """The opponent, or the members of a pool: the `Opponents` of `tictac_env.envs.protocol`.

    Attributes:
        kinds: int64 (M,), what each of them is. Only the compiled ones can be asked here.
        cumulative: float64 (M,), the running sums of the pool's weights; (0,) without a pool.
    """

    kinds: Ints
    cumulative: Floats

    def reply(self, game: Game, member: int, own: int, opp: int, seed: int) -> int:
        """What the member plays."""
        choices = game.legal(own, opp) if self.kinds[member] == RANDOM_POLICY else rule_choices(game, own, opp)
        return pick(game, choices, seed)

    def answer(self, game: Game, member: int, own: int, opp: int, seed: int) -> tuple[int, int, int]:
        """What the member plays, and the position after it."""
        action = self.reply(game, member, own, opp, seed)
        next_own, next_opp = game.play(own, opp, action)
        return action, next_own, next_opp

    def first_answer(self, game: Game, member: int, start: int, own: int, opp: int, seed: int) -> tuple[int, int, int]:
        """The same; the moves that led to the start do not matter."""
        return self.answer(game, member, own, opp, seed)
