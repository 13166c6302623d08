"""How often a policy throws away what a position is worth, measured on positions whose exact values are known."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.arena.outcomes import mean_interval
from tictac_env.arena.suites import PHASES, ScoredPosition, Suite, as_suite
from tictac_env.arena.verdicts import action_probabilities, gives_probabilities
from tictac_env.checks import positive, whole
from tictac_env.games import Game
from tictac_env.policies import as_policy
from tictac_env.position_batch import PositionBatch
from tictac_env.progress import track
from tictac_env.solver.enumerate import NO_SCORE

Floats = npt.NDArray[np.float64]


class Rate(NamedTuple):
    """A share of positions, with its 95 % interval and what uniformly random play reaches on the same positions.

    Example:
        >>> from tictac_env import move_accuracy
        >>> rate = move_accuracy("rule", "TTT-Exact-v1").overall.mistakes
        >>> rate.low <= rate.value <= rate.high
        True
    """

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


class Loss(Rate):
    """A mean loss of game value in [0, 2], as a `Rate` has a share."""

    __slots__ = ()

    def __str__(self) -> str:
        times = "" if not self.random else f", {self.relative[0]:.3f} of random's"
        return f"{self.value:.4f} ({self.low:.4f}-{self.high:.4f}{times})"


class Accuracy(NamedTuple):
    """The rates on one set of positions; nan where there are none.

    Example:
        >>> from tictac_env import move_accuracy
        >>> overall = move_accuracy("rule", "TTT-Exact-v1").overall
        >>> overall.positions, round(float(overall.mistakes.value), 3)
        (4520, 0.054)
    """

    positions: int
    mistakes: Rate
    """How often a move has a strictly worse win/draw/loss value than another."""
    perfect: Rate
    """How often a move has the best exact score: it wins soonest, or resists longest."""
    regret: Loss
    """The game value that a move gives away on average: the best move's less its own, a win 1, a draw 0, a loss -1."""

    def __str__(self) -> str:
        return f"{self.positions:,} positions: mistakes {self.mistakes}; perfect {self.perfect}; regret {self.regret}"


class Comparison(NamedTuple):
    """Two policies on the same positions, position by position.

    Example:
        >>> from tictac_env.arena import Comparison
        >>> found = Comparison("rule", "minimax", difference=0.05, worse=90, better=2, p_value=1e-20)
        >>> found.better  # in so many positions "rule" erred less
        2
    """

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
        by_phase: the rates in each phase of the game that has positions: "opening", "middle", "end" (see
            `tictac_env.arena.suites.phases`).
        suite: the name of the positions, and the hash of them and their scores.
        batch: the N positions.
        mistake_shares: float64 (N,), how often the policy errs in each position.
        perfect_shares: float64 (N,), how often its move has the best exact score there.

    Example:
        >>> from tictac_env import move_accuracy
        >>> found = move_accuracy("minimax", "TTT-Exact-v1")
        >>> float(found.overall.mistakes.value), list(found.by_phase)
        (0.0, ['opening', 'middle', 'end'])
    """

    policy: str
    basis: str
    overall: Accuracy
    critical: Accuracy
    by_phase: dict[str, Accuracy]
    suite: tuple[str, str] = field(compare=False)
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
        rows = {"all": self.overall, "critical": self.critical, **self.by_phase}
        said = [f"  {name}: {accuracy}" for name, accuracy in rows.items()]
        return "\n".join([f"{self.policy} ({self.basis}) on {self.suite[0]}", *said])


def move_accuracy(
    policy: Any,
    positions: Suite | str | os.PathLike[str] | Sequence[ScoredPosition] = "C4-Exact-v1",
    game: str | Game | None = None,
    seeds: int = 1,
    seed: int = 0,
    progress: bool = False,
) -> MoveAccuracy:
    """How often a policy makes mistakes, and how often it plays perfectly, on positions whose exact scores are known.

    A mistake is a move with a strictly worse win/draw/loss value than another (AlphaZero.jl's definition); a move is
    perfect if it has the best exact score; its regret is the game value that it gives away. All are also counted on the
    critical positions alone and in each phase of the game, and all beside what uniformly random play reaches.

    Choose a checkpoint or a setting by another suite than the one whose figures you report: `C4-Choose-v1` is for
    choosing, `C4-Exact-v1` for reporting.

    The figure depends on how much the policy searches and on whether a one-move rule (win at once, else stop the other
    side's win at once) is on: always report both with it. A policy's name says its budget ("mcts:1000"); give a policy
    of your own a `name` that says it too: it is printed.

    A policy with `probabilities` is judged by them, over all its draws. Any other plays each position `seeds` times, by
    `act_many` on all positions at once. The seeds depend on nothing but the position, so that two policies can be
    compared draw by draw.

    The intervals are Wilson's, for the positions as a sample of such positions; with several seeds or probabilities,
    those of `tictac_env.arena.outcomes.mean_interval`. An interval relative to random's rate holds that rate on these
    positions to be known exactly.

    Args:
        policy: whatever `as_policy` accepts.
        positions: a `Suite` or the name of one (see `tictac_env.arena.suite`); a file that `read_scored_positions`
            reads, or one that `Suite.save` wrote (.npz); or scored positions of one game.
        game: their game: a name or rule book; None for the suite's own, and Connect Four for all else.
        seeds: how many moves to draw in each position, at least 1.
        seed: the first of them.
        progress: whether to show a progress bar.

    Raises:
        FileNotFoundError: there is no such file, nor a suite of that name.
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
    positive("seeds", seeds)
    whole("seed", seed, (1 << 63) - 1 - seeds)
    scored = as_suite(positions, game)
    rules, batch, scores = scored.game, scored.positions, scored.scores
    player = as_policy(policy, rules)
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
    given_away = np.where(legal, np.sign(best) - np.sign(scores), 0)
    goods = legal & ~keeping, perfect, given_away
    shares = [(moves * good).sum(axis=1) for good in goods for moves in (played, random)]

    def accuracy(among: npt.NDArray[np.bool_]) -> Accuracy:
        wrong, random_wrong, right, random_right, lost, random_lost = (share[among] for share in shares)
        halves = rate(lost / 2, random_lost / 2)  # in [0, 1], as intervals want it
        regret = Loss(*(2 * value for value in halves))
        return Accuracy(int(among.sum()), rate(wrong, random_wrong), rate(right, random_right), regret)

    basis = "probabilities" if draws else f"{seeds} seed{'s' * (seeds > 1)}"
    overall = accuracy(np.ones(len(batch), np.bool_))
    by_phase = {
        name: accuracy(scored.phases == number) for number, name in enumerate(PHASES) if (scored.phases == number).any()
    }
    known = scored.name, scored.sha256
    return MoveAccuracy(str(player), basis, overall, accuracy(critical), by_phase, known, batch, shares[0], shares[2])


def rate(shares: Floats, random: Floats) -> Rate:
    """The mean of shares in [0, 1], one a position, with its interval."""
    if not len(shares):
        return Rate(*[float("nan")] * 4)
    return Rate(float(shares.mean()), *mean_interval(shares), float(random.mean()))
