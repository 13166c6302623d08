"""Every position of a small game, tabulated once: who wins, how soon, and what follows what."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tictac_env.games import UNFINISHED, Game, game_name

MAX_POSITIONS = 1_000_000
NO_SCORE = np.int16(-(1 << 14))
"""Stands in `GameTable.action_scores` where an action is illegal; less than every score."""


class TooManyPositions(ValueError):
    """A game has too many positions to tabulate."""


@dataclass(frozen=True, eq=False, slots=True)
class GameTable:
    """All N positions a game can reach from its start, in the order of their plies.

    Attributes:
        game: the rule book.
        own: int64 (N,), the stones of the side to move.
        opp: int64 (N,), the other side's.
        result: int8 (N,), as `Game.result` gives it.
        seat: int8 (N,), who is to move.
        children: int32 (N, num_actions), the number of the position each action leads to, -1 where it is illegal or
            the game is over.
        score: int16 (N,), exact, for the side to move: +n if it wins with its n-th stone counted from the last one it
            could ever place, -n if the other side does, 0 for a draw.
        levels: the slice of the positions of each ply.
        index: the number of each position `(own, opp)`.
    """

    game: Game
    own: npt.NDArray[np.int64]
    opp: npt.NDArray[np.int64]
    result: npt.NDArray[np.int8]
    seat: npt.NDArray[np.int8]
    children: npt.NDArray[np.int32]
    score: npt.NDArray[np.int16]
    levels: tuple[slice, ...]
    index: dict[tuple[int, int], int]

    def __len__(self) -> int:
        return len(self.own)

    def action_scores(self, rows: slice | list[int]) -> npt.NDArray[np.int16]:
        """The exact score of each action in the positions `rows`: int16 (len(rows), num_actions), `NO_SCORE` where
        illegal.
        """
        children = self.children[rows]
        return np.where(children >= 0, -self.score[children], NO_SCORE).astype(np.int16)


def loss_score(game: Game, ply: int) -> int:
    """The score of a game lost with the stone of number `ply` (counted from 1), for the loser."""
    return -((game.cells - ply + 2) // 2)


def plies_to_go(game: Game, ply: int, score: int) -> int:
    """After how many more plies a game ends that stands at `ply` with that exact score, under perfect play."""
    left = game.cells - ply
    if score == 0:
        return left
    stones = (left + 1) // 2 if score > 0 else left // 2  # of the winner, to place
    turns = stones - abs(score) + 1
    return 2 * turns - 1 if score > 0 else 2 * turns


@functools.lru_cache(maxsize=8)
def tabulate(game: Game, limit: int = MAX_POSITIONS) -> GameTable:
    """The table of all positions of `game`; tic-tac-toe's 5,478 take a few hundredths of a second.

    Raises:
        TooManyPositions: the game has more than `limit` positions.
    """
    start = game.start()
    index = {start: 0}
    results, children, levels = [], [], []
    level = [start]
    begin = 0
    while level:
        levels.append(slice(begin, begin + len(level)))
        begin += len(level)
        following: list[tuple[int, int]] = []
        for position in level:
            result = game.result(*position)
            results.append(result)
            row = [-1] * game.num_actions
            children.append(row)
            if result != UNFINISHED:
                continue
            for action in range(game.num_actions):
                after = game.play(*position, action)
                if after == position:
                    continue
                if after not in index:
                    if len(index) == limit:
                        name = game_name(game) or repr(game)
                        raise TooManyPositions(f"{name} has more than {limit:,} positions, too many to tabulate")
                    index[after] = len(index)
                    following.append(after)
                row[action] = index[after]
        level = following
    positions = np.array(list(index), np.int64)
    table = GameTable(
        game,
        positions[:, 0],
        positions[:, 1],
        np.array(results, np.int8),
        np.array([game.seat(own, opp) for own, opp in index], np.int8),
        np.array(children, np.int32),
        np.zeros(len(index), np.int16),
        tuple(levels),
        index,
    )
    for ply, rows in reversed(list(enumerate(levels))):
        over = table.result[rows] * -loss_score(game, ply)
        best = table.action_scores(rows).max(axis=1)
        table.score[rows] = np.where(table.result[rows] == UNFINISHED, best, over)
    return table
