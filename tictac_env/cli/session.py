"""A game between people and policies, move by move, which can be taken back."""

from __future__ import annotations

from collections.abc import Sequence

from tictac_env.policies import OpponentPool, Player, Policy, answer
from tictac_env.position import Position
from tictac_env.rng import advance, mix


class Session:
    """A game under way.

    Args:
        start: where it begins; its moves must be known.
        sides: who plays first and second; None is a person.
        state: the game's random state (see `tictac_env.rng`), from which all draws follow.

    Attributes:
        position: how the game stands.
        sides: who plays first and second; of an `OpponentPool` the member that was drawn for this game.
        state: the random state as the game has left it, for the next one.
    """

    def __init__(self, start: Position, sides: Sequence[Player | None], state: int) -> None:
        self.state = state
        self.position = start
        self._names = [None if side is None else side.name for side in sides]
        self.sides = [None if side is None else self._member(side.policy) for side in sides]
        self._before: list[Position] = []

    def _member(self, policy: Policy) -> Policy:
        if isinstance(policy, OpponentPool):
            return policy.member(policy.draw(self._draw()), self.position.game)
        return policy

    def _draw(self) -> int:
        self.state = advance(self.state)
        return mix(self.state)

    @property
    def persons_turn(self) -> bool:
        """Whether the game goes on with the move of a person."""
        return not self.position.is_over and self.sides[self.position.seat] is None

    @property
    def hot_seat(self) -> bool:
        """Whether people play both sides."""
        return self.sides == [None, None]

    def name(self, seat: int) -> str | None:
        """The name of the player of that seat, None for a person."""
        return self._names[seat]

    def play(self, action: int) -> None:
        """Plays a move for the side to move.

        Raises:
            IllegalMove: it is illegal.
        """
        after = self.position.play(action)
        self._before.append(self.position)
        self.position = after

    def choose(self) -> int:
        """What the policy that is to move plays; the game stays as it is.

        Raises:
            IllegalMove: its choice is illegal; the message names it.
        """
        position, policy = self.position, self.sides[self.position.seat]
        if policy is None:
            raise ValueError(f"it is a person's turn: {position!r}")
        return answer(policy, position.game, position.own, position.opp, position.moves, self._draw())[0]

    @property
    def can_take_back(self) -> bool:
        """Whether a person has moved."""
        return any(self.sides[position.seat] is None for position in self._before)

    def take_back(self) -> bool:
        """Goes back to where a person last had the move; False, and nothing happens, where nobody had."""
        turns = [ply for ply, position in enumerate(self._before) if self.sides[position.seat] is None]
        if not turns:
            return False
        self.position = self._before[turns[-1]]
        del self._before[turns[-1] :]
        return True

    def result(self) -> str:
        """Who has won, in words; the game must be over."""
        outcome = self.position.outcome
        if outcome is None:
            raise ValueError(f"the game goes on: {self.position!r}")
        if outcome.winner is None:
            return "A draw."
        if self.hot_seat:
            return f"{'XO'[outcome.winner]} wins."
        name = self.name(outcome.winner)
        return "You win." if name is None else f"{name} wins."
