"""Games one after another between a person and a player: who sits where, and where each game begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tictac_env.checks import one_of
from tictac_env.cli.session import Session
from tictac_env.envs.protocol import PLAY_AS
from tictac_env.policies import Player
from tictac_env.position import Position
from tictac_env.rng import advance, mix, new_state


class Series:
    """Games between a person and a player, or between two people.

    Args:
        starts: where games begin, one drawn for each; unfinished, their moves known.
        opponent: who plays against the person; None for two people.
        seat: the person's: "first", "second", "random" (drawn for each game) or "alternate" (first, then in turn).
        seed: the same seed gives the same draws; None for others each time.

    Raises:
        ValueError: the game is over in one of the starts, or there is no such seat.
    """

    def __init__(self, starts: Sequence[Position], opponent: Player | None, seat: Any, seed: int | None) -> None:
        for start in starts:
            if start.is_over:
                raise ValueError(f"the game is over after {start.to_moves()}; give position fewer moves")
        self.starts = starts
        self.opponent = opponent
        self.seat = one_of("seat", seat, PLAY_AS)
        self._state = new_state(seed)
        self._session: Session | None = None
        self._second: bool | None = None

    def _draw(self, count: int) -> int:
        if count == 1:
            return 0
        self._state = advance(self._state)
        return mix(self._state) % count

    def begin(self, swap: bool = False) -> Session:
        """The next game; with `swap` the person takes the other seat, whatever `seat` says."""
        if self._session is not None:
            self._state = self._session.state
        if self._second is not None and (swap or self.seat == "alternate"):
            self._second = not self._second
        elif self.seat == "random":
            self._second = bool(self._draw(2))
        elif self._second is None:
            self._second = self.seat == "second"
        start = self.starts[self._draw(len(self.starts))]
        self._session = Session(start, (self.opponent, None) if self._second else (None, self.opponent), self._state)
        return self._session
