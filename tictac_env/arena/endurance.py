"""How soon a policy wins what is won, and how long it holds what is lost, measured in play against perfect play."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.arena.accuracy import Rate, rate
from tictac_env.arena.suites import PHASES, ScoredPosition, Suite, as_suite
from tictac_env.arena.verdicts import fixed_actions
from tictac_env.checks import positive, whole
from tictac_env.games import Game
from tictac_env.policies import Policy, RandomPolicy, as_policy
from tictac_env.policies.policy import illegal_choice
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.progress import progress_bar
from tictac_env.rng import position_seed
from tictac_env.solver.enumerate import plies_to_go

if TYPE_CHECKING:
    from tictac_env.solver import Solver

MIN_STONES = 3
"""Positions in which perfect play wins with fewer stones of the winner's tell little of either side."""


class NoWonPositions(ValueError):
    """A suite has no position that is won far enough ahead."""


class Endurance(NamedTuple):
    """The rates on one set of positions; nan where there are none.

    Example:
        >>> from tictac_env.arena import resistance
        >>> resistance("minimax", "TTT-Exact-v1", sample=10).overall.positions
        6
    """

    positions: int
    wins: Rate
    """How often the policy, playing the winning side, wins against perfect play."""
    speed: Rate
    """How soon: the stones that perfect play needs as a share of those it needs; 0 where it does not win."""
    resistance: Rate
    """How long the policy, playing the losing side, holds out: its stones as a share of those that perfect play gets
    to place."""

    def __str__(self) -> str:
        return (
            f"{self.positions:,} positions: wins what is won {self.wins}; speed {self.speed}; "
            f"resistance {self.resistance}"
        )


@dataclass(frozen=True)
class Resistance:
    """How a policy plays won and lost positions to their end.

    Attributes:
        policy: its name.
        overall: the rates on all positions played.
        by_phase: the rates by the phase in which the play began.
        suite: the name and the hash of the suite that the positions were drawn from.

    Example:
        >>> from tictac_env.arena import resistance
        >>> found = resistance("minimax", "TTT-Exact-v1", sample=10)
        >>> found.policy, float(found.overall.wins.value)
        ('minimax', 1.0)
    """

    policy: str
    overall: Endurance
    by_phase: dict[str, Endurance]
    suite: tuple[str, str]

    def __str__(self) -> str:
        rows = {"all": self.overall, **self.by_phase}
        return "\n".join([f"{self.policy} on {self.suite[0]}", *(f"  {name}: {found}" for name, found in rows.items())])


def resistance(
    policy: Any,
    positions: Suite | str | os.PathLike[str] | Sequence[ScoredPosition] = "C4-Exact-v1",
    game: str | Game | None = None,
    sample: int = 150,
    seed: int = 0,
    progress: bool = False,
) -> Resistance:
    """How soon a policy wins what is won, and how long it holds what is lost, against perfect play.

    From positions in which the side to move wins, with at least three stones of its own to place, two games are
    played. In the first the policy plays the winning side; the game is broken off where it gives the win away. In the
    second perfect play makes the first move, and the policy holds the losing side to its end. Perfect play wins soonest
    and resists longest; of equal moves it takes one that depends on the position alone. Stones are counted against
    those of perfect play on both sides, which the exact scores give. All shares are in [0, 1], and 1 for perfect play.

    The policy is judged as a fixed map: its seed in each position is derived from the position and `seed`. Random's
    rates are from one game of its own in each position and seat.

    Args:
        policy: whatever `as_policy` accepts.
        positions: where to draw the positions from: as for `move_accuracy`.
        game: as for `move_accuracy`.
        sample: how many positions at most, in equal parts from the phases of the game; at least 3.
        seed: draws the positions, in [0, 2**63).
        progress: whether to show a progress bar.

    Raises:
        FileNotFoundError, ValueError: as `move_accuracy` does; or (`NoWonPositions`) no position is won so far ahead.
        IllegalMove: the policy's choice is illegal; the message names it and the position.

    Example:
        >>> from tictac_env.arena import resistance
        >>> found = resistance("random", "TTT-Exact-v1", sample=10)
        >>> float(found.overall.wins.value) < 1  # gives away what is won
        True
    """
    if positive("sample", sample) < len(PHASES):
        raise ValueError(f"sample must be at least {len(PHASES)}, not {sample}")
    whole("seed", seed, (1 << 63) - 1)
    suite = as_suite(positions, game)
    player = as_policy(policy, suite.game)
    rows = _drawn(suite, sample, seed)
    with progress_bar(2 * len(rows), f"{player} against perfect play", progress) as update:
        done = [0]

        def ended(count: int) -> None:
            done[0] += count
            update(done[0], "")

        played = _play(player, suite, rows, seed, ended)
    random = _random(suite, sample, seed)

    def endurance(among: npt.NDArray[np.bool_]) -> Endurance:
        rates = [rate(mine[among], its[among]) for mine, its in zip(played, random, strict=True)]
        return Endurance(int(among.sum()), *rates)

    by_phase = {
        name: endurance(suite.phases[rows] == number)
        for number, name in enumerate(PHASES)
        if (suite.phases[rows] == number).any()
    }
    overall = endurance(np.ones(len(rows), np.bool_))
    return Resistance(str(player), overall, by_phase, (suite.name, suite.sha256))


def _drawn(suite: Suite, sample: int, seed: int) -> npt.NDArray[np.int64]:
    """The rows of the suite to play, in ascending order.

    Raises:
        NoWonPositions: there are none.
    """
    best = suite.scores.max(axis=1).tolist()
    stones = np.array(
        [_stones(suite.game, ply, score) if score > 0 else 0 for ply, score in zip(suite.plies, best, strict=True)]
    )
    generator = np.random.default_rng(seed)
    drawn = []
    for number in range(len(PHASES)):
        rows = np.flatnonzero((stones >= MIN_STONES) & (suite.phases == number))
        drawn.append(generator.permutation(rows)[: sample // len(PHASES)])
    rows = np.sort(np.concatenate(drawn))
    if not len(rows):
        raise NoWonPositions(f"{suite.name} has no position that is won with {MIN_STONES} stones or more to place")
    return rows


def _stones(game: Game, ply: int, score: int) -> int:
    """How many stones the side to move still places under perfect play, the result not being a draw."""
    return (plies_to_go(game, int(ply), score) + 1) // 2


Shares = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]
Ended = Callable[[int], object]
"""Is told how many games have ended."""


def _play(policy: Policy, suite: Suite, rows: npt.NDArray[np.int64], seed: int, ended: Ended = int) -> Shares:
    """For each row whether the policy wins it, how soon, and how long it holds the losing side."""
    game = suite.game
    won = [suite.positions[row] for row in rows.tolist()]
    needed = [_stones(game, p.ply, int(suite.scores[row].max())) for p, row in zip(won, rows.tolist(), strict=True)]
    placed = _placed(policy, won, seed, True, ended)
    speed = np.array([best / stones if stones else 0.0 for best, stones in zip(needed, placed, strict=True)])
    lost = [position.play(_perfect_reply(position)) for position in won]
    stones = _placed(policy, lost, seed, False, ended)
    held = np.array([count / (best - 1) for best, count in zip(needed, stones, strict=True)])
    return (speed > 0).astype(np.float64), speed, held


def _placed(policy: Policy, starts: Sequence[Position], seed: int, winning: bool, ended: Ended) -> list[int]:
    """How many stones the policy places in each game until it has won (0 if it gives the win away) or lost."""
    positions = list(starts)
    placed = [0] * len(positions)
    going = list(range(len(positions)))
    while going:
        batch = PositionBatch.of([positions[number] for number in going])
        left = []
        for number, action in zip(going, fixed_actions(policy, batch, seed).tolist(), strict=True):
            position = positions[number]
            if action not in position.legal_actions:
                raise illegal_choice(policy, position, action)
            placed[number] += 1
            after = position.play(action)
            if winning and _value(after) >= 0:
                placed[number] = 0  # the win is given away
                continue
            if not after.is_over:
                after = after.play(_perfect_reply(after))
            if not after.is_over:
                positions[number] = after
                left.append(number)
        ended(len(going) - len(left))
        going = left
    return placed


def _value(position: Position) -> int:
    """1 if the side to move wins, 0 if it draws, -1 if it loses."""
    return position.result if position.is_over else int(_solver(position.game).score(position, weak=True))


def _perfect_reply(position: Position) -> int:
    """A move of the best exact score, among equals one that depends on the position alone."""
    best = _solver(position.game).best_actions(position)
    return best[position_seed(position.own, position.opp, 0) % len(best)]


def _solver(game: Game) -> Solver:
    """The solver that all perfect players share."""
    from tictac_env.solver.exact import shared_solver  # compiled, which other measures do not need

    return shared_solver(game)


@functools.lru_cache(maxsize=16)
def _random(suite: Suite, sample: int, seed: int) -> Shares:
    """Random's shares on the positions drawn."""
    return _play(RandomPolicy(), suite, _drawn(suite, sample, seed), seed)
