"""Results from one side: how often it wins, draws and loses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tictac_env.arena.intervals import mean_interval, percentage, wilson


class WinDrawLoss(NamedTuple):
    """Results from one side: games counted, or shares of all games, which are floats and sum to 1.

    Example:
        >>> from tictac_env.arena import WinDrawLoss
        >>> counted = WinDrawLoss(60, 20, 20)
        >>> counted.games, counted.score
        (100, 0.7)
    """

    wins: float
    draws: float
    losses: float

    @property
    def games(self) -> float:
        """How many games there are; 1 for shares."""
        return self.wins + self.draws + self.losses

    @property
    def are_shares(self) -> bool:
        """Whether these are shares of all games."""
        return any(isinstance(share, float) for share in self) and abs(self.games - 1) < 1e-6

    @property
    def score(self) -> float:
        """The mean result in [0, 1], where a draw counts half; nan without games."""
        return (self.wins + self.draws / 2) / self.games if self.games else float("nan")

    @property
    def percentages(self) -> str:
        """Wins, draws and losses in per cent of the games, as in "99.479 / 0.521 / 0.000 %"."""
        return " / ".join(f"{100 * count / self.games if self.games else float('nan'):.3f}" for count in self) + " %"

    def interval(self, count: float, confidence: float = 0.95) -> tuple[float, float]:
        """The interval of the share `count` of the games counted (see `tictac_env.arena.intervals.wilson`).

        A share of all games has none: the interval has no width. Where shares are sampled, what they come with says how
        far they hold (`SeatResult.intervals`).
        """
        if self.are_shares:
            return count, count
        return wilson(count / self.games, self.games, confidence) if self.games else (0.0, 1.0)

    def score_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The interval of `score` of the games counted (see `tictac_env.arena.intervals.mean_interval`).

        That of shares has no width, as in `interval`.
        """
        if not self.games:
            return 0.0, 1.0
        if self.are_shares:
            return self.score, self.score
        return mean_interval(np.repeat([1.0, 0.5, 0.0], np.array(self, np.int64)), confidence)

    def reversed(self) -> WinDrawLoss:
        """The same results from the other side."""
        return WinDrawLoss(self.losses, self.draws, self.wins)

    def __add__(self, other: object) -> WinDrawLoss:
        if not isinstance(other, WinDrawLoss):
            return NotImplemented
        return WinDrawLoss(self.wins + other.wins, self.draws + other.draws, self.losses + other.losses)

    def __str__(self) -> str:
        """Each share in per cent; that of games counted with its 95 % interval."""
        parts = []
        for name, count in zip(("won", "drawn", "lost"), self, strict=True):
            interval = None if self.are_shares else self.interval(count)
            parts.append(f"{name} {percentage(count / max(self.games, 1), interval)}")
        return ", ".join(parts)
