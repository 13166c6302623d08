"""Records of what measures find: results and verdicts in one seat, the figures of an audit, and ratings."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import NamedTuple

from tictac_env.arena.basis import Basis
from tictac_env.arena.outcomes import WinDrawLoss, percentage

Interval = tuple[float, float]
Intervals = tuple[Interval, Interval, Interval]
"""The 95 % intervals of the shares of games won, drawn and lost."""


@dataclass(frozen=True)
class SeatResult:
    """Results of a policy's games against one opponent, from one seat.

    Attributes:
        shares: the shares of its games won, drawn and lost, which sum to 1.
        intervals: the 95 % intervals of the three shares; if the result is exact, both ends are the share.
        games: the number of games drawn; 0 if all were followed, and the result is exact.
        followed: the chance that a game is one of those that were followed to their end, in [0, 1].
        positions: the number of different positions that were followed, plus those of the sample, which may be some of
            the same; those of different plies count as different.
        plies: the mean ply at which a game is decided: over, or won for sure by a side that makes no errors.

    Example:
        >>> from tictac_env.arena import exact_results
        >>> first = exact_results("random", "rule", "TicTacToe-v0").as_first
        >>> first.exact, first.games
        (True, 0)
    """

    shares: WinDrawLoss
    intervals: Intervals
    games: int
    positions: int
    plies: float
    followed: float

    @property
    def exact(self) -> bool:
        """True if all games were followed, rather than a sample."""
        return self.games == 0

    def __str__(self) -> str:
        decided = f"decided after {self.plies:.1f} plies"
        if self.exact:
            return f"{self.shares.percentages} (W/D/L), exact; {decided}"
        named = zip(("won", "drawn", "lost"), self.shares, self.intervals, strict=True)
        shares = ", ".join(f"{name} {percentage(share, interval)}" for name, share, interval in named)
        return f"{shares}, sampled ({self.games:,} games); {decided}"


@dataclass(frozen=True)
class SeatRecord:
    """What is known of a policy in one seat, on small games (`SeatVerdict`) and large ones (`SearchedSeat`).

    Attributes:
        unbeatable: True if no replies make it lose, False if some do. None if neither is known: not every reply was
            played, or the policy draws its moves, and the answers that it gave this time cannot be beaten.
        losing_line: a game that it loses, as a move string; None if none is known. `SeatVerdict` gives the first one
            in the order of the actions.
        given_away: the move of the losing line that lost it, in words (see `given_away`); None without such a line, and
            if the seat was lost from the start.
        shortest: True if the losing line is known to be a shortest one.
        against_perfect: the shares of its games won, drawn and lost against perfect play. On a small game the opponent
            plays any move that keeps the game's value with equal chance ("minimax"); on a large one it is "perfect".
    """

    unbeatable: bool | None
    losing_line: str | None
    given_away: str | None
    shortest: bool
    against_perfect: WinDrawLoss


@dataclass(frozen=True)
class SeatVerdict(SeatRecord):
    """The truth about a policy in one seat of a small game, by walking every reply; see also `SeatRecord`.

    Attributes:
        lines: the numbers of complete games that it can win, draw and lose, over all replies.
        against_random: the exact shares of its games won, drawn and lost against uniformly random play.
        against_minimax_first: against the lowest move that keeps the game's value ("minimax-first").
        plies_to_win: the mean length in plies of a game won against random play; None if none is won.
        gain: what a perfectly chosen reply earns beyond the value of the game; 0 if there is nothing to exploit.

    Example:
        >>> from tictac_env import verdict
        >>> second = verdict("rule").as_second
        >>> second.unbeatable, second.losing_line, second.given_away, second.gain
        (False, '1564329', 'given away at ply 4: 4, better 2, 3, 8, 9', 1.0)
    """

    lines: WinDrawLoss
    against_random: WinDrawLoss
    against_minimax_first: WinDrawLoss
    plies_to_win: float | None
    gain: float


@dataclass(frozen=True)
class Searched:
    """The extent of a search in which every reply to a policy was played.

    Attributes:
        plies: the number of the policy's plies.
        positions: the number of positions in which it was asked.
    """

    plies: int
    positions: int


@dataclass(frozen=True)
class SearchedSeat(SeatRecord):
    """What is known of a policy in one seat of a large game, by a search for a lost game; see also `SeatRecord`.

    Attributes:
        intervals: the intervals of `against_perfect` if its games were sampled; None if all were followed.
        decided_after: the mean ply at which these games are decided.
        searched: the extent of the search; None if no lost game was searched for.

    Example:
        >>> from tictac_env import audit
        >>> seat = audit("rule", "ConnectFour-v0", replies=0, progress=False).verdict.as_second
        >>> seat.losing_line is seat.searched is None, round(seat.against_perfect.losses, 9)
        (True, 1.0)
    """

    intervals: Intervals | None
    decided_after: float
    searched: Searched | None


@dataclass(frozen=True)
class AuditVerdict:
    """The verdict of an audit.

    Attributes:
        method: "every reply walked" on a small game; on a large one "all games followed" or "sampled, 10,000 games".
        basis: the basis of the judgement (see `tictac_env.arena.basis`).
        exploitability: the mean of the two gains; None on a large game.
        as_first: the player in the first player's seat.
        as_second: in the second's.

    Example:
        >>> from tictac_env import audit
        >>> truth = audit("rule", progress=False).verdict
        >>> truth.method, truth.as_second.losing_line
        ('every reply walked', '1564329')
    """

    method: str
    basis: Basis
    exploitability: float | None
    as_first: SeatVerdict | SearchedSeat
    as_second: SeatVerdict | SearchedSeat


@dataclass(frozen=True)
class AuditSuite:
    """The suite of an audit.

    Attributes:
        name: its name.
        sha256: its hash.
        positions: its number of positions.
        basis: what the moves were judged by (see `MoveAccuracy`).
        erring: the number of positions in which the player may err; None if not every reply was walked.
        erring_reached: the number of those to which its own play leads in either seat; None as above.

    Example:
        >>> from tictac_env import audit
        >>> suite = audit("rule", progress=False).suite
        >>> suite.name, suite.positions, suite.erring, suite.erring_reached
        ('TTT-Exact-v1', 4520, 265, 45)
    """

    name: str
    sha256: str
    positions: int
    basis: str
    erring: int | None = None
    erring_reached: int | None = None


@dataclass(frozen=True)
class Measure:
    """One figure with its 95 % interval.

    Attributes:
        name: "mistakes", "perfect" or "regret" (see `Accuracy`).
        among: the positions: "all", "critical", or a phase of the game.
        positions: their number.
        value: the figure; None if there are no positions.
        low: the lower end of its interval.
        high: the upper end.
        random: the figure of random play on the same positions.

    Example:
        >>> from tictac_env import audit
        >>> measure = audit("rule", exact=False, progress=False).measures[0]
        >>> measure.name, measure.among
        ('mistakes', 'all')
    """

    name: str
    among: str
    positions: int
    value: float | None
    low: float | None
    high: float | None
    random: float | None

    @property
    def relative(self) -> float | None:
        """The figure as a multiple of random's; None if that is 0."""
        return None if self.value is None or not self.random else self.value / self.random

    def __str__(self) -> str:
        """The figure with its 95 % interval, as in "12.3 % (11.9-12.8)"; "-" if there is none."""
        if self.value is None or self.low is None or self.high is None:
            return "-"
        if self.name == "regret":
            return f"{self.value:.3f} ({self.low:.3f}-{self.high:.3f})"
        return percentage(self.value, (self.low, self.high))


class Estimate(NamedTuple):
    """A number and the ends of its interval; infinite if the games set no bound, nan if they say nothing.

    Example:
        >>> from tictac_env.arena import Estimate
        >>> Estimate(120.0, 80.0, float("inf")).high  # the games set no bound
        inf
    """

    value: float
    low: float
    high: float

    def text(self, form: str = "+z.0f", scale: float = 1.0) -> str:
        """The estimate as tables show it: "+123 (+98 to +150)"; "> +812" is a lower bound."""
        low, high = format(scale * self.low, form), format(scale * self.high, form)
        if isfinite(self.value):
            return f"{format(scale * self.value, form)} ({low} to {high})".replace("+inf", "no bound")
        return "unknown" if self.value != self.value else f"> {low}" if self.value > 0 else f"< {high}"

    @property
    def finite(self) -> FiniteEstimate:
        """The estimate for JSON, which has no infinity and no nan."""
        return FiniteEstimate(*(end if isfinite(end) else None for end in self))


@dataclass(frozen=True)
class FiniteEstimate:
    """An `Estimate` for JSON: None if the games set no bound, or say nothing.

    Example:
        >>> from tictac_env.arena import Estimate
        >>> Estimate(120.0, 80.0, float("inf")).finite
        FiniteEstimate(value=120.0, low=80.0, high=None)
    """

    value: float | None
    low: float | None
    high: float | None


class PlayerRating(NamedTuple):
    """A player's rating, and the games it comes from.

    Example:
        >>> from tictac_env import round_robin
        >>> from tictac_env.arena import ratings
        >>> best = ratings(round_robin(["random", "rule"], games=10).games, resamples=20).players[0]
        >>> best.name, best.games, best.elo.value > 0
        ('rule', 10, True)
    """

    name: str
    elo: Estimate
    """Elo points above the anchor."""
    score: float
    """The mean result of its games, a draw counting half."""
    games: int
    distinct_games: int
    """The number of different ones; players that do not draw repeat themselves."""
    forfeits: int
    """The number of them lost by forfeit."""

    @property
    def row(self) -> RatingRow:
        """The rating as a row of a table."""
        elo = self.elo.finite
        unbounded = {inf: "above", -inf: "below"}.get(self.elo.value, "")
        counts = self.score, self.games, self.distinct_games, self.forfeits
        return RatingRow(self.name, elo.value, elo.low, elo.high, unbounded, *counts)


@dataclass(frozen=True)
class RatingRow:
    """A player's rating as a row of a table, for JSON and CSV; what is not explained here, `PlayerRating` explains.

    Attributes:
        player: its name.
        elo: its rating; None if the games set no bound, or say nothing.
        low: the lower end of the interval; None if there is none.
        high: the upper end; None if there is none.
        unbounded: "above" for a player that is better, and "below" for one that is worse, by more than the games tell;
            else "".

    Example:
        >>> from tictac_env.arena import Estimate, PlayerRating
        >>> row = PlayerRating("perfect", Estimate(inf, 812.0, inf), 1.0, 28, 28, 0).row
        >>> row.elo, row.low, row.unbounded
        (None, 812.0, 'above')
    """

    player: str
    elo: float | None
    low: float | None
    high: float | None
    unbounded: str
    score: float
    games: int
    distinct_games: int
    forfeits: int


@dataclass(frozen=True)
class PairRow:
    """The games of a player against another, as a row of a table.

    Attributes:
        player: its name.
        opponent: the other's name.
        games: the number of games.
        score: the player's mean result in them, a draw counting half.
        expected: the mean result that the ratings predict for the same games.

    Example:
        >>> from tictac_env import round_robin
        >>> row = round_robin(["random", "rule"], games=10).ratings(resamples=20).cross_table()[0]
        >>> row.player, row.opponent, row.games
        ('rule', 'random', 10)
    """

    player: str
    opponent: str
    games: int
    score: float
    expected: float
