"""How games between two policies end: all games that they can play, followed together, a layer of positions a ply.

A layer holds the different positions that games reach with so many stones, each with the chance of reaching it. So a
walk costs as many moves as there are positions, however many games lead through them. Where these become too many, or
too unlikely, the walk goes on with a sample: a number of games, drawn from those positions by their chances, that are
again followed together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.arena.outcomes import WinDrawLoss, percentage, wilson
from tictac_env.arena.verdicts import action_probabilities, gives_probabilities
from tictac_env.games import DRAWN, LOST, UNFINISHED, WON, Game
from tictac_env.observation import action_masks, legal_sets
from tictac_env.policies import Policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

MAX_POSITIONS = 100_000
"""So many positions are followed exactly, unless a caller says otherwise."""
GAMES = 10_000
"""So many games are drawn where there are more."""
BLOCK = 1 << 12
"""So many positions a policy is asked about at a time."""
PIECE = 1 << 22
"""So many positions of the next layer are collected before those that came twice are merged: some 100 MB."""

MANY = 1 << 16
"""The results of fewer positions take Python no longer than loading machine code does."""

Floats = npt.NDArray[np.float64]
Interval = tuple[float, float]
Update = Callable[[float, str], None]


@dataclass(frozen=True)
class SeatResult:
    """How a policy's games against an opponent end, from one seat.

    Attributes:
        shares: the shares of its games won, drawn and lost, which sum to 1.
        intervals: the 95 % intervals of the three shares; where the result is exact, both ends are the share.
        games: how many games were drawn; 0 if none had to be, and the result is exact.
        followed: the chance that a game is one of those that were followed to their end, in [0, 1].
        positions: how many different positions were followed, and how many came up in the sample, which may be some of
            the same; those of different plies count as different.
        plies: after how many plies a game is decided on average: over, or one that a side which makes no errors wins.

    Example:
        >>> from tictac_env.arena import exact_results
        >>> first = exact_results("random", "rule", "TicTacToe-v0").as_first
        >>> first.exact, first.games
        (True, 0)
    """

    shares: WinDrawLoss
    intervals: tuple[Interval, Interval, Interval]
    games: int
    positions: int
    plies: float
    followed: float

    @property
    def exact(self) -> bool:
        """Whether all games were followed, rather than a sample."""
        return self.games == 0

    def __str__(self) -> str:
        decided = f"decided after {self.plies:.1f} plies"
        if self.exact:
            return f"{self.shares.percentages} (W/D/L), exact; {decided}"
        named = zip(("won", "drawn", "lost"), self.shares, self.intervals, strict=True)
        shares = ", ".join(f"{name} {percentage(share, interval)}" for name, share, interval in named)
        return f"{shares}, sampled ({self.games:,} games); {decided}"


class Layer(NamedTuple):
    """Different positions with the same number of stones, and the chance of each; or how many games have reached it."""

    positions: PositionBatch
    weights: Floats

    def where(self, chosen: slice | npt.NDArray[np.bool_ | np.integer[Any]]) -> Layer:
        """Some of them."""
        return Layer(self.positions.where(chosen), self.weights[chosen])

    @classmethod
    def joined(cls, parts: Sequence[Layer]) -> Layer:
        """The positions of all parts, each once."""
        positions, which = PositionBatch.joined([part.positions for part in parts]).distinct()
        return cls(positions, np.bincount(which, np.concatenate([part.weights for part in parts])).astype(np.float64))


def seat_result(
    policy: Policy,
    opponent: Policy,
    game: Game,
    seat: int,
    seed: int = 0,
    max_positions: int = MAX_POSITIONS,
    games: int = GAMES,
    update: Update | None = None,
    min_chance: float = 0.0,
) -> SeatResult:
    """How the games of `policy` from `seat` against `opponent` end.

    Either side that has `probabilities` plays by them; else it is a fixed map, each position's seed being derived from
    the position and `seed`. A game is followed no further where the side to move is sure to win (`Policy.sure_wins`).

    Args:
        policy: the one whose wins are counted.
        opponent: the other one.
        game: the rule book.
        seat: 0 if the policy plays first, 1 if second.
        seed: see above, and of the sample; in [0, 2**63).
        max_positions: how many positions are followed before the walk goes on with a sample.
        games: how many games are drawn then.
        update: told of the plies done, in parts of a ply, and what to show beside them.
        min_chance: a position that is reached with less chance than this is not followed either, but left to the
            sample. What is followed is known exactly, so the intervals are narrower.

    Raises:
        ValueError: a policy's batch or its probabilities are not what it promises.
        IllegalMove: the choice of a policy is illegal; the message names it and the position.
    """
    walk = _Walk((policy, opponent) if seat == 0 else (opponent, policy), game, seat, seed, update)
    followed, left = Ends(seat), list[Layer]()
    layer = Layer(PositionBatch.of([Position.start(game)]), np.ones(1))
    while len(layer.weights):
        likely = layer.weights >= min_chance
        likely &= walk.positions + np.count_nonzero(likely) <= max_positions
        left.append(layer.where(~likely))
        layer = walk.on(layer.where(likely), len(left) - 1, followed, drawn=False)
    rest, sampled = float(sum(layer.weights.sum() for layer in left)), Ends(seat)
    drawn = _drawn(left, games, walk.random) if rest else []
    for ply in count():
        layer = Layer.joined([layer, *drawn[ply : ply + 1]])
        if ply >= len(drawn) and not len(layer.weights):
            break
        layer = walk.on(layer, ply, sampled, drawn=True)
    return _judged(followed, sampled, rest, walk.positions)


def _drawn(left: Sequence[Layer], games: int, random: np.random.Generator) -> list[Layer]:
    """The positions from which so many games go on that are drawn from some layers by their chances, for each layer."""
    chances = np.concatenate([layer.weights for layer in left])
    counts = random.multinomial(games, chances / chances.sum())
    parts = np.split(counts, np.cumsum([len(layer.weights) for layer in left])[:-1])
    return [
        Layer(layer.positions, part.astype(np.float64)).where(part > 0) for layer, part in zip(left, parts, strict=True)
    ]


class _Walk:
    """Goes from a layer to the next.

    Attributes:
        positions: how many positions it has come through.
        random: of the games that are drawn.
    """

    def __init__(self, sides: tuple[Policy, Policy], game: Game, seat: int, seed: int, update: Update | None) -> None:
        self.sides, self.game, self.seed, self.update = sides, game, seed, update
        self.draws = [gives_probabilities(side, game) for side in sides]
        self.random = np.random.default_rng([seed, seat])
        self.positions = 0

    def on(self, layer: Layer, ply: int, ends: Ends, drawn: bool) -> Layer:
        """The layer after one at `ply` plies, without the games that are decided by then: they go to `ends`."""
        if not len(layer.weights):
            return layer
        mover = self.game.seat(int(layer.positions.own[0]), int(layer.positions.opp[0]))
        side, total, parts, fresh = self.sides[mover], len(layer.weights), list[Layer](), 0
        for begin in range(0, total, BLOCK):
            if self.update:
                self.update(ply + begin / total, f"{self.positions:,} positions")
            block = layer.where(slice(begin, begin + BLOCK))
            won = side.sure_wins(block.positions)
            ends.add(WON, mover, ply, float(block.weights[won].sum()))
            self.positions += len(won)
            if not won.all():
                parts.append(self._played(block.where(~won), mover, drawn))
                fresh += len(parts[-1].weights)
                if fresh > max(PIECE, len(parts[0].weights)):
                    parts, fresh = [Layer.joined(parts)], 0
        if not parts:
            return layer.where(slice(0))
        after = Layer.joined(parts)
        results = results_of(after.positions)
        for result in (LOST, DRAWN, WON):
            ends.add(result, 1 - mover, ply + 1, float(after.weights[results == result].sum()))
        return after.where(results == UNFINISHED)

    def _played(self, layer: Layer, mover: int, drawn: bool) -> Layer:
        """What the moves of a side lead to, by their chances; or a move of its for each game that is drawn."""
        batch, weights = layer
        legal = action_masks(self.game, legal_sets(self.game, batch.own, batch.opp)) != 0
        chances = action_probabilities(self.sides[mover], batch, legal, self.seed, self.draws[mover])
        if drawn:
            chances = chances / chances.sum(axis=1, keepdims=True)
            shares = self.random.multinomial(weights.astype(np.int64), chances).astype(np.float64)
        else:
            shares = weights[:, None] * chances
        rows, actions = np.nonzero(shares)
        return Layer(batch.where(rows).play(actions), shares[rows, actions])


def results_of(batch: PositionBatch) -> npt.NDArray[np.int8]:
    """`PositionBatch.results`, compiled where there are many positions."""
    if len(batch) < MANY:
        return batch.results()
    from tictac_env.arena.result_loop import find_results  # loads Numba

    results = np.empty(len(batch), np.int8)
    find_results(batch.game, batch.own, batch.opp, results)
    return results


class Ends:
    """How games have ended so far, as weights.

    Args:
        seat: whose wins are counted.
    """

    def __init__(self, seat: int) -> None:
        self.seat = seat
        self.weights = np.zeros(3)
        self.plies = 0.0

    def add(self, value: int, seat: int, ply: int, weight: float) -> None:
        """Games decided after `ply` plies, with `value` for the player `seat`."""
        self.weights[1 - value if seat == self.seat else 1 + value] += weight
        self.plies += ply * weight


def _judged(followed: Ends, sampled: Ends, rest: float, positions: int) -> SeatResult:
    """The result, of what was followed to its end and of games drawn from the `rest`, which is a share of all games."""
    games = round(sampled.weights.sum())
    each = rest / max(games, 1)
    shares, plies = followed.weights + each * sampled.weights, followed.plies + each * sampled.plies
    intervals = [(share, share) for share in shares.tolist()]
    if games:
        ends = zip(followed.weights.tolist(), sampled.weights.tolist(), strict=True)
        intervals = [
            (known + rest * low, known + rest * high)
            for known, count in ends
            for low, high in [wilson(count / games, games)]
        ]
    wins, draws, losses = intervals
    return SeatResult(WinDrawLoss(*shares.tolist()), (wins, draws, losses), games, positions, float(plies), 1 - rest)
