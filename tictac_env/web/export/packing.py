"""What the page without a server knows and has learned, small enough to be loaded at once."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.canvas import Cells
from tictac_env.games import KInARow
from tictac_env.policies import make_policy
from tictac_env.solver.book import Book, opening_book_of
from tictac_env.solver.enumerate import tabulate
from tictac_env.web.board_view import title

SMALL_CELLS = 12
"""A game of so many cells has a table of all its positions."""
NO_SCORE = -128
"""Stands in the table where no unfinished position is."""

Layer = tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]


def packed_game(game: KInARow) -> dict[str, Any]:
    """What the page needs to play a game, for JSON.

    Returns:
        `title`; `rules`, the arguments of `KInARow.make`; `network`; and `table` for a small game, or `book` for a
        large one that has one.

    Raises:
        ValueError: no learned network comes with the package for this game.
    """
    network: Any = make_policy("network", game)
    found = {"title": title(game), "rules": game.arguments, "network": packed_network(network.layers)}
    if game.cells <= SMALL_CELLS:
        return found | {"table": packed_table(game)}
    book = opening_book_of(game)
    return found if book is None else found | {"book": packed_book(book)}


def packed(array: npt.NDArray[Any]) -> str:
    """The bytes of an array, little-endian, deflated, in base64."""
    content = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
    return base64.b64encode(zlib.compress(content, 9)).decode()


def packed_table(game: KInARow) -> str:
    """The exact score of each unfinished position of a small game, int8 (3 ** cells,), by the cells read as a number to
    the base 3: 0 is empty, 1 a stone of the first player's, and the cell at the top left is the highest digit.
    """
    table = tabulate(game)
    own, opp = np.moveaxis(Cells(game).many(table.own, table.opp).reshape(len(table), 2, -1), 1, 0).astype(np.int64)
    second = np.where(table.seat[:, None] == 1, own, opp)
    place = (own + opp + second) @ 3 ** np.arange(game.cells - 1, -1, -1)
    open_ones = (table.children >= 0).any(axis=1)
    scores = np.full(3**game.cells, NO_SCORE, np.int8)
    scores[place[open_ones]] = table.score[open_ones]
    return packed(scores)


def packed_book(book: Book) -> dict[str, Any]:
    """An opening book: `plies`, the `stride` of its keys, the `steps` from key to key, and the `scores`, int8.

    A step takes a byte for each seven bits, the lowest first; the eighth bit says that another byte follows.
    """
    steps = np.diff(book.keys, prepend=0)
    count = -(-64 // 7)
    parts = np.stack([steps >> 7 * i & 127 for i in range(count)], axis=1).astype(np.uint8)
    more = np.stack([steps >> 7 * i > 127 for i in range(count)], axis=1)
    used = np.pad(more, ((0, 0), (1, 0)), constant_values=True)[:, :count]
    return {
        "plies": book.plies,
        "stride": book.game.stride,
        "steps": packed((parts | more.astype(np.uint8) << 7)[used]),
        "scores": packed(book.scores),
    }


def packed_network(layers: Sequence[Layer]) -> dict[str, Any]:
    """A network: its `widths`, its `weights` as whole numbers, int8, and the other `numbers`, float32: for each layer
    the scales of its rows, then its biases.
    """
    rounded = [quantised(matrix) for matrix, _ in layers]
    numbers = [part for (_, scales), (_, biases) in zip(rounded, layers, strict=True) for part in (scales, biases)]
    return {
        "widths": [len(layers[0][0]), *(biases.size for _, biases in layers)],
        "weights": packed(np.concatenate([whole.ravel() for whole, _ in rounded])),
        "numbers": packed(np.concatenate(numbers).astype(np.float32)),
    }


def quantised(matrix: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """The whole numbers from -127 to 127, and a scale for each row, whose product is closest to a matrix.

    Each row has a scale of its own, since the weights of rare features are many times as large as those of common ones.
    """
    scales = (np.abs(matrix).max(axis=1) / 127).astype(np.float32)
    whole = np.round(matrix / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8)
    return whole, scales
