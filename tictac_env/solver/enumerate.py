"""Tables of every position of a small game: its exact score and its children."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tictac_env.arrays import Bytes, Ints
from tictac_env.games import UNFINISHED, Game, game_name
from tictac_env.position_batch import PositionBatch

MAX_POSITIONS = 1_000_000
SMALL_CELLS = 12
"""Games of up to this number of cells are tabulated rather than searched."""
BLOCK = 1 << 16
"""Number of positions expanded between two checks of the limit."""
NO_SCORE = np.int16(-(1 << 14))
"""The score of an illegal action in `GameTable.action_scores`; less than any score."""


class TooManyPositions(ValueError):
    """A game has too many positions to tabulate."""


@dataclass(frozen=True, eq=False, slots=True)
class GameTable:
    """All N positions that a game can reach from its start, in the order of their plies.

    Attributes:
        game: the rules.
        own: int64 (N,), the stones of the side to move.
        opp: int64 (N,), the other side's.
        result: int8 (N,), as `Game.result` gives it.
        seat: int8 (N,), the side to move.
        children: int32 (N, num_actions), the number of the position that each action leads to, -1 if the action is
            illegal or the game is over.
        score: int16 (N,), exact, for the side to move: +n if it wins with its n-th stone counted back from the last one
            it could ever place, -n if the other side does, 0 for a draw.
        levels: the slice of the positions of each ply.
        index: the number of each position `(own, opp)`.
    """

    game: Game
    own: Ints
    opp: Ints
    result: Bytes
    seat: Bytes
    children: npt.NDArray[np.int32]
    score: npt.NDArray[np.int16]
    levels: tuple[slice, ...]
    index: dict[tuple[int, int], int]

    def __len__(self) -> int:
        return len(self.own)

    def action_scores(self, rows: slice | list[int]) -> npt.NDArray[np.int16]:
        """The exact score of each action in positions `rows`: int16 (len(rows), num_actions), `NO_SCORE` if illegal."""
        children = self.children[rows]
        return np.where(children >= 0, -self.score[children], NO_SCORE).astype(np.int16)


def loss_score(game: Game, ply: int) -> int:
    """The loser's score of a game lost with stone number `ply` (counted from 1)."""
    return -((game.cells - ply + 2) // 2)


def moves_to_win(game: Game, ply: int, score: int) -> int:
    """The number of its own moves after which the winner ends a game at `ply` with this exact score, which is not 0.

    For Connect Four from the empty board it is 21, at ply 41.
    """
    # A score counts the winner's stones from the last one it could place: 1 is a win with that one.
    left = game.cells - ply
    stones = (left + 1) // 2 if score > 0 else left // 2  # left to the winner
    return stones - abs(score) + 1


def value_in_words(game: Game, ply: int, score: int) -> str:
    """The meaning of an exact score for the side to move at `ply`, as in "a win in 21 moves" of the winner.

    Example:
        >>> from tictac_env.games import get_game
        >>> value_in_words(get_game("ConnectFour-v0"), 0, 1)
        'a win in 21 moves'
    """
    if score == 0:
        return "a draw"
    return f"a {'win' if score > 0 else 'loss'} in {moves_in_words(game, ply, score)}"


def moves_in_words(game: Game, ply: int, score: int) -> str:
    """`moves_to_win` with its unit, "1 move" or "21 moves"."""
    moves = moves_to_win(game, ply, score)
    return f"{moves} {'move' if moves == 1 else 'moves'}"


@functools.lru_cache(maxsize=8)
def tabulate(game: Game, limit: int = MAX_POSITIONS) -> GameTable:
    """The table of all positions of `game`; the 5,478 of tic-tac-toe take a few hundredths of a second.

    Raises:
        TooManyPositions: the game has more than `limit` positions.
    """
    # Breadth first: a level holds all positions of a ply, each once. Its children are the next level.
    level = PositionBatch(game, *(np.array([stones], np.int64) for stones in game.start()))
    batches, results, children, levels = [], [], [], []
    begin = 0
    while len(level):
        batches.append(level)
        levels.append(slice(begin, begin + len(level)))
        begin += len(level)
        # The next level so far; and for each move of this level the number of its child there.
        following, child_numbers = level.where(slice(0)), np.empty(0, np.intp)
        moves = []
        for at in range(0, len(level), BLOCK):
            block = level.where(slice(at, at + BLOCK))
            results.append(block.results())
            unfinished = np.flatnonzero(results[-1] == UNFINISHED)
            block = block.where(unfinished)
            rows, actions = np.nonzero(block.legal_masks())
            moves.append((at + unfinished[rows], actions))
            # Positions that were there keep their numbers, as `distinct` goes by first occurrence.
            before = len(following)
            following, numbers = PositionBatch.joined([following, block.where(rows).play(actions)]).distinct()
            child_numbers = np.concatenate([child_numbers, numbers[before:]])
            if begin + len(following) > limit:
                name = game_name(game) or repr(game)
                raise TooManyPositions(f"{name} has more than {limit:,} positions, too many to tabulate")
        child = np.full((len(level), game.num_actions), -1, np.int32)
        child[tuple(np.concatenate(both) for both in zip(*moves, strict=True))] = begin + child_numbers
        children.append(child)
        level = following
    positions = PositionBatch.joined(batches)
    index = {stones: i for i, stones in enumerate(zip(positions.own.tolist(), positions.opp.tolist(), strict=True))}
    table = GameTable(
        game,
        positions.own,
        positions.opp,
        np.concatenate(results),
        np.array([game.seat(own, opp) for own, opp in index], np.int8),
        np.concatenate(children),
        np.zeros(len(index), np.int16),
        tuple(levels),
        index,
    )
    # Retrograde analysis, from the last ply to the first: all children have their scores when a position needs them.
    for ply, rows in reversed(list(enumerate(levels))):
        over = table.result[rows] * -loss_score(game, ply)
        best = table.action_scores(rows).max(axis=1)
        table.score[rows] = np.where(table.result[rows] == UNFINISHED, best, over)
    return table
