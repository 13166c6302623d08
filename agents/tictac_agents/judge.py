"""The judge of agents that learn: exact on small games, by known positions and games on large ones.

Curves, callbacks of Stable-Baselines3, the page and the benchmark all ask it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from tictac_env.arena import Suite, Verdict, WinDrawLoss, exact_results, move_accuracy, play_match, suite, verdict
from tictac_env.arena.auditing import REPORTING
from tictac_env.checks import SEATS, positive, whole
from tictac_env.games import Game, game_name
from tictac_env.position import IllegalMove
from tictac_env.position_batch import PositionBatch
from tictac_env.solver.enumerate import SMALL_CELLS

POSITIONS = 500
"""Positions of the reporting suite on which the moves of a learner of a large game are judged."""
Results = tuple[WinDrawLoss, WinDrawLoss]
"""The shares of games won, drawn and lost as the first and as the second player."""


@dataclass(frozen=True)
class Judgement:
    """The quality of an agent at one moment; what is not measured is None.

    Attributes:
        verdict: of a small game the exact verdict.
        illegal: the message of the illegal move that the agent chose, which ended the judging.
        mistakes: of a large game the share of its moves that are mistakes, on known positions (`Judge.positions`).
        against_random: results against random play, exact on a small game.
        against_perfect: results against perfect play.
        exact: True if those against perfect play are exact.
    """

    verdict: Verdict | None = None
    illegal: str | None = None
    mistakes: float | None = None
    against_random: Results | None = None
    against_perfect: Results | None = None
    exact: bool = False

    @property
    def exploitability(self) -> float | None:
        """The exact exploitability; None on a large game."""
        return None if self.verdict is None else self.verdict.exploitability

    @property
    def unbeatable(self) -> bool | None:
        """True if nothing beats the agent from either seat; None on a large game."""
        return None if self.verdict is None else self.verdict.unbeatable

    @property
    def rank(self) -> tuple[float, float]:
        """A key by which better agents are larger: less exploitable first, then more wins against random play; on a
        large game by fewer mistakes. It is lowest for an agent that plays an illegal move.
        """
        if self.verdict is None:
            return -float("inf") if self.mistakes is None else -self.mistakes, 0.0
        wins = sum(seat.against_random.wins for seat in (self.verdict.as_first, self.verdict.as_second))
        return -self.verdict.exploitability, wins

    def columns(self) -> dict[str, Any]:
        """All figures by names of their own, such as `random_wins_first`, for tables and JSON."""
        columns = {"exploitability": self.exploitability, "unbeatable": self.unbeatable, "mistakes": self.mistakes}
        for opponent, results in (("random", self.against_random), ("perfect", self.against_perfect)):
            for seat, shares in zip(SEATS, results or (None, None), strict=True):
                for name in WinDrawLoss._fields:
                    columns[f"{opponent}_{name}_{seat}"] = None if shares is None else getattr(shares, name)
        return columns


COLUMNS = tuple(Judgement().columns())
"""The names of the figures."""


class Judge:
    """Judges agents of one game.

    On a game small enough for it (at most 12 cells) a judgement is the exact verdict. On a large game with known
    positions it is the share of mistakes there and, on request, results against random and perfect play.

    Args:
        game: the rules.
        perfect_games: on a large game, the games against perfect play if these cannot be followed exactly; 0 for none.
        max_positions: the positions that are followed for exact results against perfect play.
        random_games: on a large game, the games against random play, half of them in each seat; 0 for none.

    Raises:
        ValueError: a number is not an integer or negative, or `max_positions` is 0.

    Example:
        >>> from tictac_agents import Judge, QLearning
        >>> from tictac_env.games import get_game
        >>> agent = QLearning("TicTacToe-v0", seed=0)
        >>> Judge(get_game("TicTacToe-v0"))(agent).exploitability
        1.0
    """

    def __init__(self, game: Game, perfect_games: int = 0, max_positions: int = 1, random_games: int = 0) -> None:
        self.game = game
        self.perfect_games = whole("perfect_games", perfect_games)
        self.max_positions = positive("max_positions", max_positions)
        self.random_games = whole("random_games", random_games)

    @property
    def is_exact(self) -> bool:
        """True if judgements are exact verdicts."""
        return self.game.cells <= SMALL_CELLS

    def __call__(self, agent: Any, seed: int = 0) -> Judgement:
        """The judgement of an agent, whatever `as_policy` accepts; an illegal move is part of it."""
        try:
            return self._exact(agent, seed) if self.is_exact else self._measured(agent)
        except IllegalMove as error:
            return Judgement(illegal=str(error))

    def _exact(self, agent: Any, seed: int) -> Judgement:
        truth = verdict(agent, self.game, seed)
        first, second = truth.as_first, truth.as_second
        return Judgement(
            truth,
            against_random=(first.against_random, second.against_random),
            against_perfect=(first.against_perfect, second.against_perfect),
            exact=True,
        )

    def _measured(self, agent: Any) -> Judgement:
        # Mistakes on known positions cost seconds; matches are played only if they are asked for.
        against_random = against_perfect = None
        exact = False
        if self.random_games:
            match = play_match(agent, "random", self.game, self.random_games)
            against_random = as_shares(match.as_first), as_shares(match.as_second)
        if self.perfect_games:
            limits = {"max_positions": self.max_positions, "games": self.perfect_games}
            results = exact_results(agent, "perfect", self.game, progress=False, **limits)
            against_perfect, exact = (results.as_first.shares, results.as_second.shares), results.exact
        return Judgement(None, None, self.mistakes(agent), against_random, against_perfect, exact)

    @functools.cached_property
    def positions(self) -> Suite | None:
        """The known positions on which moves are judged: of a large game 500; None if the game has none."""
        name = REPORTING.get(game_name(self.game) or "")
        if name is None:
            return None
        return suite(name) if self.is_exact else part_of(suite(name), POSITIONS)

    def mistakes(self, agent: Any) -> float | None:
        """The share of an agent's moves on `positions` that are mistakes; None if there are no positions.

        Raises:
            IllegalMove: a move is illegal.
        """
        if self.positions is None:
            return None
        return move_accuracy(agent, self.positions, self.game, progress=False).overall.mistakes[0]


def as_shares(counts: WinDrawLoss) -> WinDrawLoss:
    """The shares of games that were counted."""
    return WinDrawLoss(*(count / counts.games for count in counts))


def part_of(whole: Suite, count: int) -> Suite:
    """Some positions of a suite, evenly spread over it; the suite itself if it has no more."""
    if len(whole) <= count:
        return whole
    rows = np.linspace(0, len(whole) - 1, count).round().astype(np.int64)
    some = PositionBatch(whole.game, whole.positions.own[rows], whole.positions.opp[rows])
    return Suite(f"{count:,} of {whole.name}", some, whole.scores[rows])
