"""The opening book: the exact scores of all early positions of a game, looked up instead of searched."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import numpy as np

from tictac_env.arrays import Bytes, Ints
from tictac_env.checks import whole
from tictac_env.games import Game, KInARow, game_name
from tictac_env.position import Position
from tictac_env.storage import reading, save_arrays

KIND = "opening book"
FOLDER = Path(__file__).parent / "data"


def book_key(game: KInARow, own: int, opp: int) -> int:
    """A number that a position shares with its mirror image and with no other position."""
    return min(game.key(own, opp), game.key(game.mirror(own), game.mirror(opp)))


class Book:
    """The scores of every unfinished position of up to `plies` stones in which the side to move cannot win at once.

    Args:
        game: the rules.
        plies: the last ply in the book.
        keys: int64 (N,), ascending, as `book_key` gives them.
        scores: int8 (N,), the exact scores.

    Raises:
        ValueError: the arrays are not a book.
    """

    def __init__(self, game: KInARow, plies: int, keys: Ints, scores: Bytes) -> None:
        if keys.dtype != np.int64 or scores.dtype != np.int8 or keys.shape != scores.shape or keys.ndim != 1:
            raise ValueError(f"a book has int64 keys and as many int8 scores, not {keys.dtype} {keys.shape}")
        if len(keys) == 0 or not (np.diff(keys) > 0).all():
            raise ValueError("a book's keys must be ascending")
        if type(game) is not KInARow:
            raise ValueError(f"a book is of a game of k in a row, and {game!r} may have other rules")
        if keys[0] < 0 or keys[-1] > game.key(game.full, 0):
            raise ValueError(f"a book's keys must be those of positions, not {keys[0]} to {keys[-1]}")
        most = (game.cells + 1) // 2
        if scores.min() < -most or scores.max() > most:
            raise ValueError(f"a book's scores must be in [{-most}, {most}], not {scores.min()} to {scores.max()}")
        self.game = game
        self.plies = whole("plies", plies, game.cells)
        self.keys = keys
        self.scores = scores

    def __len__(self) -> int:
        return len(self.keys)

    def score(self, position: Position) -> int | None:
        """The score of a position, None if it is not in the book; finished positions never are."""
        if position.ply > self.plies or position.is_over:
            return None
        game, own, opp = self.game, position.own, position.opp
        if game.winning_choices(own, opp):
            return (game.cells - position.ply + 1) // 2
        key = book_key(game, own, opp)
        place = int(np.searchsorted(self.keys, key))
        if place == len(self.keys) or self.keys[place] != key:
            return None
        return int(self.scores[place])

    def bounds(self, position: Position) -> tuple[int, int]:
        """A lower and an upper bound of a position's score; both are the score if the book has it.

        One ply beyond the book, the lower bound comes from the positions a move earlier: the score of each is at least
        the negated score of this one. For four of ten positions of Connect Four the bound is the score.
        """
        game, own, opp = self.game, position.own, position.opp
        most = (game.cells + 1) // 2
        if position.ply != self.plies + 1 or position.is_over:
            score = self.score(position)
            return (-most, most) if score is None else (score, score)
        # The other side's last stone is the top one of its column: take back each that may be it.
        movable = opp & ~game.beneath(own | opp)
        least = -most
        for cell in range(movable.bit_length()):
            if movable >> cell & 1:
                score = self.score(Position(game, opp ^ 1 << cell, own))
                least = max(least, -most if score is None else -score)
        return least, most

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the book atomically; the archive holds a checksum of each array."""
        meta = {"game": self.game.arguments, "plies": self.plies, "positions": len(self)}
        steps = np.diff(self.keys, prepend=0)  # small numbers, which compress well
        save_arrays(path, KIND, meta, {"steps": steps, "scores": self.scores})

    @classmethod
    def load(cls, path: str | os.PathLike[str], game: KInARow) -> Book:
        """Reads a book and checks it.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is damaged or not a book of this game; the message names it.
        """
        with reading(path, KIND, f"opening book of {game!r}") as (meta, arrays):
            if meta["game"] != game.arguments or meta["positions"] != len(arrays["steps"]):
                raise ValueError(f"it has {len(arrays['steps']):,} positions of {meta['game']}")
            if arrays["steps"].dtype != np.int64:
                raise ValueError(f"its keys are {arrays['steps'].dtype}")
            return cls(game, meta["plies"], np.cumsum(arrays["steps"], axis=0), arrays["scores"])


@functools.lru_cache(maxsize=4)
def opening_book_of(game: Game) -> Book | None:
    """The package's book for a game, None if it has none.

    Raises:
        ValueError: the book is damaged.
    """
    name = game_name(game)
    if type(game) is not KInARow or name is None or not (path := FOLDER / f"{name}.npz").is_file():
        return None
    return Book.load(path, game)
