"""How often a policy throws away what a position is worth, measured on positions whose exact values are known."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.arena.action_probabilities import action_probabilities, gives_probabilities
from tictac_env.arena.intervals import mean_interval
from tictac_env.arena.scored_positions import ScoredPosition, check_scores, read_scored_positions
from tictac_env.checks import positive, whole
from tictac_env.games import Game, get_game
from tictac_env.policies import as_policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.progress import track
from tictac_env.solver.enumerate import NO_SCORE

Floats = npt.NDArray[np.float64]


class Rate(NamedTuple):
    """A share of positions, with its 95 % interval and what uniformly random play reaches on the same positions."""

    value: float
    low: float
    high: float
    random: float
    """Exact: over all of random's moves."""

    @property
    def relative(self) -> tuple[float, float, float]:
        """The share and its interval as multiples of random's; nan where random's is 0."""
        scale = 1 / self.random if self.random else float("nan")
        return self.value * scale, self.low * scale, self.high * scale

    def __str__(self) -> str:
        times = "" if not self.random else f", {self.relative[0]:.3f} of random's"
        return f"{100 * self.value:.2f} % ({100 * self.low:.2f}-{100 * self.high:.2f}{times})"


class Accuracy(NamedTuple):
    """The rates on one set of positions; nan where there are none."""

    positions: int
    mistakes: Rate
    """How often a move has a strictly worse win/draw/loss value than another."""
    perfect: Rate
    """How often a move has the best exact score: it wins soonest, or resists longest."""

    def __str__(self) -> str:
        return f"{self.positions:,} positions: mistakes {self.mistakes}; perfect {self.perfect}"


class Comparison(NamedTuple):
    """Two policies on the same positions, position by position."""

    first: str
    second: str
    difference: float
    """The first one's mistake rate less the second's."""
    worse: int
    """In how many positions the first one errs more: where nothing is drawn, it alone errs."""
    better: int
    """In how many the second one does."""
    p_value: float
    """Of the hypothesis that both err equally often (two-sided)."""

    def __str__(self) -> str:
        return (
            f"mistakes of {self.first} less those of {self.second}: {100 * self.difference:+.2f} % of the positions "
            f"(more in {self.worse}, fewer in {self.better}, p = {self.p_value:.3g})"
        )


@dataclass(frozen=True)
class MoveAccuracy:
    """How a policy moves on a set of scored positions.

    Attributes:
        policy: its name.
        basis: "probabilities" if the policy gave its own, so that nothing is sampled, else how many seeds were drawn.
        overall: the rates on all positions, those included in which no move is a mistake.
        critical: the rates where exactly one of several moves keeps the win/draw/loss value.
        batch: the N positions.
        mistake_shares: float64 (N,), how often the policy errs in each position.
        perfect_shares: float64 (N,), how often its move has the best exact score there.
    """

    policy: str
    basis: str
    overall: Accuracy
    critical: Accuracy
    batch: PositionBatch = field(repr=False, compare=False)
    mistake_shares: Floats = field(repr=False, compare=False)
    perfect_shares: Floats = field(repr=False, compare=False)

    def compare(self, other: MoveAccuracy) -> Comparison:
        """Which of two policies errs less, position by position.

        Where each move is simply right or wrong this is McNemar's exact test ("Note on the sampling error of the
        difference between correlated proportions or percentages", Psychometrika 12, 1947). With several seeds, or
        probabilities, the moves in one position are not independent; then it is Durkalski's form of that test for such
        clusters ("Analysis of clustered matched-pair data", Statistics in Medicine 22, 2003), which needs some 20
        positions in which the two differ.

        Raises:
            ValueError: the other accuracy was measured on other positions.
        """
        from scipy.stats import binomtest, chi2  # not above, as it takes 0.7 s to import

        mine, theirs = self.batch, other.batch
        if mine.game != theirs.game or not (
            np.array_equal(mine.own, theirs.own) and np.array_equal(mine.opp, theirs.opp)
        ):
            raise ValueError(f"{self.policy} and {other.policy} were not measured on the same positions")
        more = np.round(
            self.mistake_shares - other.mistake_shares, 12
        )  # sums of probabilities may miss 1 by a rounding
        worse, better = int((more > 0).sum()), int((more < 0).sum())
        if not more.any():
            p_value = 1.0
        elif np.isin(more, (-1, 0, 1)).all():
            p_value = float(binomtest(worse, worse + better).pvalue)
        else:
            p_value = float(chi2.sf(more.sum() ** 2 / (more**2).sum(), 1))
        return Comparison(self.policy, other.policy, float(more.mean()), worse, better, p_value)

    def __str__(self) -> str:
        return f"{self.policy} ({self.basis})\n  all: {self.overall}\n  critical: {self.critical}"


def move_accuracy(
    policy: Any,
    positions: str | os.PathLike[str] | Sequence[ScoredPosition],
    game: str | Game = "ConnectFour-v0",
    seeds: int = 1,
    seed: int = 0,
    progress: bool = False,
) -> MoveAccuracy:
    """How often a policy makes mistakes, and how often it plays perfectly, on positions whose exact scores are known.

    A mistake is a move with a strictly worse win/draw/loss value than another (AlphaZero.jl's definition); a move is
    perfect if it has the best exact score. Both are also counted on the critical positions alone, and both beside
    what uniformly random play reaches.

    The figure depends on how much the policy searches and on whether a one-move rule (win at once, else stop the other
    side's win at once) is on: always report both with it. A policy's name says its budget ("mcts:1000"); give a policy
    of your own a `name` that says it too: it is printed.

    A policy with `probabilities` is judged by them, over all its draws. Any other plays each position `seeds` times, by
    `act_many` on all positions at once. The seeds depend on nothing but the position, so that two policies can be
    compared draw by draw.

    The intervals are Wilson's, for the positions as a sample of such positions; with several seeds or probabilities,
    those of `tictac_env.arena.intervals.mean_interval`. An interval relative to random's rate holds that rate on these
    positions to be known exactly.

    Args:
        policy: whatever `as_policy` accepts.
        positions: a file that `read_scored_positions` reads, or scored positions of one game.
        game: the file's game: a name or rule book. That of scored positions must be the same.
        seeds: how many moves to draw in each position, at least 1.
        seed: the first of them.
        progress: whether to show a progress bar (only on a terminal).

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged (the message names the line), a score is wrong, there are no positions, they
            are of another game, or `seeds` is out of range.
        IllegalMove: the policy's choice is illegal; the message names it and the position.

    Example:
        >>> from tictac_env.position import Position
        >>> position = Position.from_moves("ConnectFour-v0", "475774457522754657214321516462111")
        >>> scored = ScoredPosition(position, (None, -4, 5, None, None, 5, None))
        >>> rate = move_accuracy("rule", [scored]).overall.mistakes
        >>> rate.value, round(rate.random, 3)
        (0.0, 0.333)
    """
    rules = get_game(game)
    positive("seeds", seeds)
    whole("seed", seed, (1 << 63) - 1 - seeds)
    player = as_policy(policy, rules)
    batch, scores = _together(positions, rules)
    legal = scores != NO_SCORE
    best = scores.max(axis=1, keepdims=True)
    keeping = legal & (np.sign(scores) == np.sign(best))
    perfect = scores == best
    draws = gives_probabilities(player, rules)
    numbers = range(seed, seed + 1 if draws else seed + seeds)
    played = np.zeros(scores.shape)
    for number in track(numbers, f"moves of {player}", progress):
        played += action_probabilities(player, batch, legal, number, draws)
    played /= len(numbers)
    random = legal / legal.sum(axis=1, keepdims=True)
    critical = (keeping.sum(axis=1) == 1) & (legal.sum(axis=1) > 1)
    shares = [(moves * good).sum(axis=1) for good in (legal & ~keeping, perfect) for moves in (played, random)]

    def accuracy(among: npt.NDArray[np.bool_]) -> Accuracy:
        wrong, random_wrong, right, random_right = (share[among] for share in shares)
        return Accuracy(int(among.sum()), _rate(wrong, random_wrong), _rate(right, random_right))

    basis = "probabilities" if draws else f"{seeds} seed{'s' * (seeds > 1)}"
    overall = accuracy(np.ones(len(batch), np.bool_))
    return MoveAccuracy(str(player), basis, overall, accuracy(critical), batch, shares[0], shares[2])


def _together(
    positions: str | os.PathLike[str] | Sequence[ScoredPosition], game: Game
) -> tuple[PositionBatch, npt.NDArray[np.int16]]:
    """The N positions, and the score of each action: int16 (N, num_actions), `NO_SCORE` where illegal.

    Raises:
        FileNotFoundError, ValueError: as `move_accuracy` says.
    """
    if isinstance(positions, (str, os.PathLike)):
        scored = read_scored_positions(positions, game)
    else:
        scored = list(positions)
        if not scored:
            raise ValueError("there are no positions to move in")
        for entry in scored:
            if not (isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], Position)):
                raise ValueError(f"{entry!r} is not a scored position: give a ScoredPosition, or a file of them")
            position, scores = entry
            if position.game != game:
                raise ValueError(f"{position!r} is not of the game {game!r}: give the positions' own")
            check_scores(position, scores)
    rows = [[NO_SCORE if score is None else score for score in scores] for _, scores in scored]
    return PositionBatch.of([position for position, _ in scored]), np.array(rows, np.int16)


def _rate(shares: Floats, random: Floats) -> Rate:
    """The mean of shares in [0, 1], one a position, with its interval."""
    if not len(shares):
        return Rate(*[float("nan")] * 4)
    return Rate(float(shares.mean()), *mean_interval(shares), float(random.mean()))
