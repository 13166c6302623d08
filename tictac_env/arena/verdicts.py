"""Exact judgement on games small enough to tabulate: every reply to a policy is walked, nothing is sampled."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tictac_env.arena import report
from tictac_env.arena.basis import Basis, action_probabilities, basis_of
from tictac_env.arena.outcomes import WinDrawLoss
from tictac_env.arena.records import SeatVerdict
from tictac_env.arrays import Bools, Floats, Ints
from tictac_env.checks import whole
from tictac_env.games import UNFINISHED, Game
from tictac_env.policies import PlayerLike, Policy, as_policy, game_for
from tictac_env.position import Position, format_moves
from tictac_env.position_batch import PositionBatch
from tictac_env.solver.enumerate import GameTable, TooManyPositions, tabulate


@dataclass(frozen=True, eq=False)
class Strategy:
    """The moves of a policy from one seat in every position that they and any replies lead to.

    Attributes:
        table: all positions of the game.
        seat: 0 if the policy plays first, 1 if second.
        moves: float64 (N, num_actions), the probability of each action; zero in positions that are never reached or
            of the other side.
        reached: bool (N,), the positions that some replies lead to.
        forfeited: bool (N,), the unfinished positions in which it has no legal move to play and so loses; its moves
            there are all zero.
    """

    table: GameTable
    seat: int
    moves: Floats
    reached: Bools
    forfeited: Bools


@dataclass(frozen=True)
class Verdict:
    """The truth about a policy.

    Attributes:
        policy: its name.
        as_first: in the first player's seat.
        as_second: in the second's.
        basis: "probabilities" if the policy gave its own, "fixed map" if its seed was derived from the position, "draws
            its moves" if it answers differently when it is asked again: then the verdict is that of one answer in each
            position, and another run gives another.
        game: the rule book.

    Example:
        >>> from tictac_env import verdict
        >>> truth = verdict("minimax")
        >>> truth.unbeatable, truth.exploitability, truth.basis
        (True, 0.0, 'probabilities')
    """

    policy: str
    as_first: SeatVerdict
    as_second: SeatVerdict
    basis: Basis
    game: Game = field(repr=False)

    @property
    def unbeatable(self) -> bool:
        """True if it is known that the policy cannot be beaten from either seat."""
        return bool(self.as_first.unbeatable and self.as_second.unbeatable)

    @property
    def nash_conv(self) -> float:
        """The sum of the gains against the two seats."""
        return self.as_first.gain + self.as_second.gain

    @property
    def exploitability(self) -> float:
        """The mean of the gains, `nash_conv / 2`: 0 for perfect play."""
        return self.nash_conv / 2

    @property
    def _title(self) -> str:
        return f"{self.policy} ({self.basis}): exploitability {self.exploitability:.5f}"

    def __str__(self) -> str:
        return "\n".join(report.verdict_lines(self._title, self.basis, (self.as_first, self.as_second)))

    def _repr_html_(self) -> str:
        return report.verdict_html(self._title, self.basis, (self.as_first, self.as_second), self.game)


class Exploitability(NamedTuple):
    """The gains of the best replies to a policy, beyond the value of the game.

    Example:
        >>> from tictac_env.arena import exploitability
        >>> gains = exploitability("rule")
        >>> float(gains), gains.first, gains.second
        (1.0, 1.0, 1.0)
    """

    first: float
    """Against the policy playing first."""
    second: float
    """Against the policy playing second."""

    @property
    def nash_conv(self) -> float:
        """Their sum."""
        return self.first + self.second

    def __float__(self) -> float:
        return self.nash_conv / 2


def verdict(policy: PlayerLike, game: str | Game | None = None, seed: int = 0) -> Verdict:
    """The exact truth about a policy, by walking every reply to it from both seats.

    Args:
        policy: whatever `as_policy` accepts. If it has `probabilities`, they are used; otherwise each position's seed
            is derived from the position and `seed`, so that the policy is a fixed map. A policy that answers
            differently when it is asked again is judged by one answer in each position; `basis` says so.
        game: a game's name or rule book, of at most a million positions; None for the agent's own (`own_game`), else
            tic-tac-toe.
        seed: see above; in [0, 2**63).

    Raises:
        TooManyPositions: a ValueError: the game is too large to tabulate; `exact_results` plays the policy against
            opponents there.
        ValueError: the seed is out of its range, or the policy or game is unknown.
        IllegalMove: the policy's choice is illegal in a position that it can meet; the message names it.

    Example:
        >>> from tictac_env import verdict
        >>> verdict("rule", "KInARow-v0:3x4-3").as_first.unbeatable
        False
    """
    rules = game_for(game, policy)
    player = as_policy(policy, rules)
    return walk_replies(player, rules, seed).verdict


def exploitability(policy: PlayerLike, game: str | Game | None = None, seed: int = 0) -> Exploitability:
    """The gains of the best replies to each seat of a policy (Johanson et al., "Accelerating best response
    calculation in large extensive games", 2011); `float()` of it is half their sum.

    Arguments and errors are those of `verdict`. A warning names a policy that answers differently when it is asked
    again.

    Example:
        >>> from tictac_env.arena import exploitability
        >>> round(float(exploitability("random")), 5), float(exploitability("minimax"))
        (0.95983, 0.0)
    """
    rules = game_for(game, policy)
    player = as_policy(policy, rules)
    walk = walk_replies(player, rules, seed)
    if walk.basis == "draws its moves":
        warnings.warn(report.legend(walk.basis, walk.policy), stacklevel=2)
    return Exploitability(_gain(walk.first), _gain(walk.second))


@dataclass(frozen=True, eq=False)
class Walk:
    """A policy with every reply to it, from both seats.

    Attributes:
        policy: its name.
        basis: the basis of judgement.
        first: its moves in the first player's seat.
        second: in the second's.
    """

    policy: str
    basis: Basis
    first: Strategy
    second: Strategy

    @property
    def verdict(self) -> Verdict:
        """The truth about the policy."""
        draws = self.basis == "draws its moves"
        seats = seat_verdict(self.first, draws), seat_verdict(self.second, draws)
        return Verdict(self.policy, *seats, self.basis, self.first.table.game)

    def reaches(self, batch: PositionBatch) -> Bools:
        """The positions to which the policy's own play leads, whatever the replies: bool (B,)."""
        table = self.first.table
        rows = np.array(
            [table.index[key] for key in zip(batch.own.tolist(), batch.opp.tolist(), strict=True)], np.int64
        )
        return np.where(table.seat[rows] == 0, self.first.reached[rows], self.second.reached[rows])


def walk_replies(policy: Policy, game: Game, seed: int = 0) -> Walk:
    """Walks every reply to a policy, from both seats; arguments and errors are those of `verdict`."""
    seed = whole("seed", seed, 2**63 - 1)
    try:
        table = tabulate(game)
    except TooManyPositions as error:
        instead = "`exact_results` gives the policy's results against an opponent, `move_accuracy` counts its mistakes"
        raise TooManyPositions(f"{error}, as walking every reply needs; {instead}") from None
    basis = basis_of(policy, game)

    def chances(rows: Ints) -> Floats:
        batch = PositionBatch(game, table.own[rows], table.opp[rows])
        return action_probabilities(policy, batch, table.children[rows] >= 0, seed, basis == "probabilities")

    return Walk(str(policy), basis, walked(table, 0, chances), walked(table, 1, chances))


def walked(table: GameTable, seat: int, chances: Callable[[Ints], Floats]) -> Strategy:
    """The strategy from one seat of whoever plays by `chances`: from some rows of the table, int64 (B,), to the
    probability of each action there, float64 (B, num_actions), all zero where it forfeits.
    """
    moves = np.zeros(table.children.shape)
    reached, forfeited = np.zeros((2, len(table)), np.bool_)
    reached[0] = True
    for level in table.levels:
        rows = np.flatnonzero(reached[level] & (table.result[level] == UNFINISHED)) + level.start
        if len(rows) and table.seat[rows[0]] == seat:
            moves[rows] = chances(rows)
            followed = moves[rows] > 0
            forfeited[rows] = ~followed.any(axis=1)
        else:
            followed = table.children[rows] >= 0
        reached[table.children[rows][followed]] = True
    return Strategy(table, seat, moves, reached, forfeited)


@functools.lru_cache(maxsize=8)
def random_moves(table: GameTable) -> Floats:
    """Uniformly random play as float64 (N, num_actions), not to be written to."""
    return _normalised(table.children >= 0)


@functools.lru_cache(maxsize=16)
def best_moves(table: GameTable, first_only: bool = False) -> Floats:
    """Uniform play over the moves that keep the value, or the lowest one, as float64 (N, num_actions), not to be
    written to.
    """
    values = np.sign(table.action_scores(slice(None)))
    values[table.children < 0] = -2
    best = (values == values.max(axis=1, keepdims=True)) & (table.children >= 0)
    if first_only:
        best &= np.cumsum(best, axis=1) == 1
    return _normalised(best)


def outcome_shares(strategy: Strategy, replies: Floats) -> WinDrawLoss:
    """The results of the policy's games if the other side plays `replies`, float64 (N, num_actions)."""
    return WinDrawLoss(*(float(share) for share in _backed_up(strategy, replies)))


def seat_verdict(strategy: Strategy, draws: bool = False) -> SeatVerdict:
    """The verdict on a policy's strategy in one seat.

    Args:
        strategy: the policy's moves.
        draws: True if the policy draws them, so that a strategy without a loss proves nothing.
    """
    table = strategy.table
    line = _losing_line(strategy)

    def scores_of(position: Position) -> list[int]:
        scores: list[int] = table.action_scores([table.index[position.own, position.opp]])[0].tolist()
        return scores

    every_line = _backed_up(strategy, (table.children >= 0).astype(np.float64), strategy.moves > 0)
    return SeatVerdict(
        unbeatable=False if line is not None else None if draws else True,
        losing_line=None if line is None else format_moves(table.game, line),
        given_away=None if line is None else given_away(table.game, line, strategy.seat, scores_of),
        shortest=line is not None,
        against_perfect=outcome_shares(strategy, best_moves(table)),
        lines=WinDrawLoss(*(int(count) for count in every_line)),
        against_random=outcome_shares(strategy, random_moves(table)),
        against_minimax_first=outcome_shares(strategy, best_moves(table, first_only=True)),
        plies_to_win=_plies_to_win(strategy),
        gain=_gain(strategy),
    )


def given_away(
    game: Game, moves: Sequence[int], seat: int, scores_of: Callable[[Position], Sequence[int | None]]
) -> str | None:
    """The move that lost a lost game, as in "given away at ply 4: 1, better 5, 7"; None if it was lost from the start.

    In a game that is not over the side to move has forfeited: "given away at ply 4: no legal move, better 5, 7".

    Args:
        game: the rule book.
        moves: the actions of the game.
        seat: who lost it.
        scores_of: the score of each action in a position, exact or only its sign; negative or None if illegal.
    """
    last = len(moves) if Position.from_moves(game, moves).is_over else len(moves) + 1
    for ply in reversed(range(seat, last, 2)):
        scores = [-1 if score is None else int(score) for score in scores_of(Position.from_moves(game, moves[:ply]))]
        if max(scores) >= 0 and (ply == len(moves) or scores[moves[ply]] < 0):
            sign = max(scores) > 0
            names = [format_moves(game, [action]) for action in range(game.num_actions)]
            better = [name for name, score in zip(names, scores, strict=True) if score >= 0 and (score > 0) == sign]
            played = "no legal move" if ply == len(moves) else names[moves[ply]]
            return f"given away at ply {ply + 1}: {played}, better {', '.join(better)}"
    return None


def _normalised(chosen: Bools) -> Floats:
    shares: Floats = chosen / np.maximum(chosen.sum(axis=1, keepdims=True), 1)
    shares.flags.writeable = False
    return shares


def _ends(strategy: Strategy) -> Floats:
    """float64 (N, 3): 1 for a win, a draw or a loss of the policy in the positions where the game is over."""
    table = strategy.table
    value = np.where(table.seat == strategy.seat, table.result, -table.result)
    over = table.result != UNFINISHED
    ends = np.stack([over & (value == end) for end in (1, 0, -1)], axis=1)
    ends[strategy.forfeited, 2] = True
    return ends.astype(np.float64)


def _plies_to_win(strategy: Strategy) -> float | None:
    """The mean length of the games that are won against random play; None if none is."""
    table = strategy.table
    ply = np.concatenate([np.full(level.stop - level.start, ply) for ply, level in enumerate(table.levels)])
    replies, ends = random_moves(table), _ends(strategy)
    won = _backed_up(strategy, replies)[0]
    return float(_backed_up(strategy, replies, ends=ends * ply[:, None])[0] / won) if won else None


def _backed_up(
    strategy: Strategy, replies: Floats, moves: Floats | Bools | None = None, ends: Floats | None = None
) -> Floats:
    """The ends of all games, each weighted by the product of the weights of its moves: float64 (3,)."""
    table = strategy.table
    mine = (table.seat == strategy.seat)[:, None]
    weights = np.where(mine, strategy.moves if moves is None else moves, replies)
    values = _ends(strategy) if ends is None else ends
    for level in reversed(table.levels[:-1]):
        following = values[table.children[level]]  # -1, an illegal action, has weight 0
        values[level] += np.einsum("na,nae->ne", weights[level], following)
    first: Floats = values[0]
    return first


def _gain(strategy: Strategy) -> float:
    """The gain of the best reply beyond the value of the game."""
    table = strategy.table
    ends = _ends(strategy)
    values = ends[:, 2] - ends[:, 0]  # for the side that replies
    for level in reversed(table.levels[:-1]):
        children = table.children[level]
        following = values[children]
        replied = np.where(children >= 0, following, -np.inf).max(axis=1)
        played = (strategy.moves[level] * following).sum(axis=1)
        on = (table.result[level] == UNFINISHED) & ~strategy.forfeited[level]
        mine = table.seat[level] == strategy.seat
        values[level] = np.where(on, np.where(mine, played, replied), values[level])
    value_of_game = float(np.sign(table.score[0])) * (1 if strategy.seat == 1 else -1)
    return max(0.0, float(values[0]) - value_of_game)


def _losing_line(strategy: Strategy) -> list[int] | None:
    """The actions of the shortest game the policy loses, the first one in their order; None if there is none."""
    table = strategy.table
    lost = strategy.reached & (_ends(strategy)[:, 2] == 1)
    if not lost.any():
        return None
    goal = int(np.flatnonzero(lost)[0])
    ply = next(ply for ply, level in enumerate(table.levels) if goal < level.stop)
    allowed = np.where((table.seat == strategy.seat)[:, None], strategy.moves > 0, table.children >= 0)
    leads = lost.copy()
    leads[: table.levels[ply].start] = False
    leads[table.levels[ply].stop :] = False
    for level in reversed(table.levels[:ply]):
        leads[level] = (allowed[level] & leads[table.children[level]]).any(axis=1)
    line, row = [], 0
    for _ in range(ply):
        action = int(np.flatnonzero(allowed[row] & leads[table.children[row]])[0])
        line.append(action)
        row = int(table.children[row, action])
    return line
