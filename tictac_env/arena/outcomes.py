"""Games won, drawn and lost, the intervals of their shares, and the tables that show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from tictac_env.arrays import Floats
from tictac_env.games import Game
from tictac_env.position import Position
from tictac_env.render.scene import render_svg
from tictac_env.render.text import move_caption

CELL_SIZE = 18
"""Pixels a cell of the small boards measures."""
RULE = "1px solid rgba(128, 128, 128, 0.5)"
CELL = "padding: 3px 12px 3px 0; text-align: left; font-variant-numeric: tabular-nums"


def wilson(share: float, trials: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share seen in `trials`, which need not be an integer ("Probable inference, the
    law of succession, and statistical inference", JASA 22, 1927).
    """
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = sqrt(z2 * (share * (1 - share) / trials + z2 / (4 * trials**2))) / (1 + z2 / trials)
    return max(0.0, middle - half), min(1.0, middle + half)


def mean_interval(values: Floats, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of the mean of at least one independent value in [0, 1]; Wilson's if all are 0 or 1.

    Else it is Wilson's with as many yes-or-no trials as would make the mean as uncertain as it is: the effective sample
    size (Korn and Graubard, "Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data", 1998). Where nothing varies it is the number of values.
    """
    count, mean, variance = len(values), float(values.mean()), float(values.var())
    # At least `count`, as no variance in [0, 1] is larger than mean * (1 - mean); rounding may say otherwise.
    trials = max(count, count * mean * (1 - mean) / variance) if variance > 0 else count
    return wilson(mean, trials, confidence)


def percentage(share: float, interval: tuple[float, float] | None = None) -> str:
    """A share in [0, 1] in per cent, with its interval if it has one, as in "12.3 % (11.9-12.8)".

    There is one decimal; two if one would show a number as 0 or 100 that is neither.
    """
    numbers = [100 * number for number in (share, *(interval or ()))]
    hidden = any(1e-9 < number < 100 - 1e-9 and f"{number:.1f}" in ("0.0", "100.0") for number in numbers)
    value, *ends = (f"{number:.{2 if hidden else 1}f}" for number in numbers)
    return f"{value} % ({'-'.join(ends)})" if ends else f"{value} %"


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
        """The number of games; 1 for shares."""
        return self.wins + self.draws + self.losses

    @property
    def are_shares(self) -> bool:
        """True if these are shares of all games."""
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
        """The interval of the share `count` of the games counted (see `tictac_env.arena.outcomes.wilson`).

        A share of all games has none: the interval has no width. Where shares are sampled, what they come with says how
        far they hold (`SeatResult.intervals`).
        """
        if self.are_shares:
            return count, count
        return wilson(count / self.games, self.games, confidence) if self.games else (0.0, 1.0)

    def score_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The interval of `score` of the games counted (see `tictac_env.arena.outcomes.mean_interval`).

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


def aligned_columns(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """The lines of a table: the first `left` columns are aligned left, the others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if column < left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def html_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], below: Iterable[str] = ()) -> str:
    """A title, a table and the HTML below it, as notebooks show results.

    Text and lines have no colours of their own, so that they can be read on light and dark pages.
    """

    def row(tag: str, cells: Sequence[str]) -> str:
        inner = "".join(f'<{tag} style="{CELL}">{escape(cell)}</{tag}>' for cell in cells)
        return f'<tr style="border-bottom: {RULE}; background: none">{inner}</tr>'

    parts = [
        f'<div class="tictac-verdict"><p style="margin: 4px 0"><b>{escape(title)}</b></p>',
        '<table style="border-collapse: collapse; margin: 0; background: none; color: inherit; font-size: inherit">',
        row("th", heads),
        *(row("td", cells) for cells in rows),
        "</table>",
        *below,
        "</div>",
    ]
    return "\n".join(part for part in parts if part)


def html_game(title: str, game: Game, line: str) -> str:
    """A game as HTML: its title, and a board for each move, with the number of the move and its name."""
    boards = []
    for position in Position.from_moves(game, line).history()[1:]:
        picture = render_svg(position, CELL_SIZE, background=False)
        caption = f'<figcaption style="font-size: 85%">{move_caption(position)}</figcaption>'
        boards.append(f'<figure style="margin: 0; text-align: center">{picture}{caption}</figure>')
    row = '<div style="display: flex; flex-wrap: wrap; gap: 4px 8px">'
    return "\n".join([f'<p style="margin: 8px 0 2px">{escape(title)}</p>', row, *boards, "</div>"])
