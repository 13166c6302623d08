"""What the page without a server knows and has learned, small enough to be loaded at once."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.games import KInARow
from tictac_env.observation import Cells
from tictac_env.policies import make_policy
from tictac_env.solver.book import Book, opening_book_of
from tictac_env.solver.enumerate import tabulate
from tictac_env.web.board_view import title

SMALL_CELLS = 12
"""A game of so many cells has a table of all its positions."""
NO_SCORE = -128
"""Stands in the table where no unfinished position is."""

BITS = 8
"""How many bits a weight of the network has: its moves are as good as with all of them."""
WEIGHT_UNIT = 2.0**-26
"""The unit of the network's weights."""


def packed_game(game: KInARow) -> dict[str, Any]:
    """What the page needs to play a game, for JSON.

    Returns:
        `title`; `rules`, the arguments of `KInARow.make`; `network`; and `table` for a small game, or `book` for a
        large one that has one.

    Raises:
        ValueError: no learned network comes with the package for this game.
    """
    network = packed_network(make_policy("ntuple", game))
    found = {"title": title(game), "rules": game.arguments, "network": network}
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
    """An opening book: `plies`, the `stride` of its keys, the `steps` from key to key, and the `scores`, int8."""
    return {
        "plies": book.plies,
        "stride": book.game.stride,
        "steps": packed_steps(book.keys),
        "scores": packed(book.scores),
    }


def packed_network(network: Any) -> dict[str, Any]:
    """An n-tuple network (`tictac_agents.NTupleNetwork`), its weights rounded to `BITS` bits.

    Returns:
        `tuples`, how many there are, and their `length`; `images`, the cells of each and of its images, int8; the
        `steps` from one address that has weights to the next; the `weights` there, int8, one for each seat; and `unit`,
        by which they are to be multiplied.
    """
    whole, unit = network.quantised(BITS)
    pairs = whole.reshape(-1, 2).astype(np.int8)
    used = np.flatnonzero(pairs.any(axis=1))
    return {
        "tuples": len(network.tuples),
        "length": len(network.tuples[0]),
        "images": packed(np.array(network.images, np.int8)),
        "steps": packed_steps(used),
        "weights": packed(pairs[used]),
        "unit": unit * WEIGHT_UNIT,
    }


def packed_steps(ascending: npt.NDArray[np.integer[Any]]) -> str:
    """The steps from number to number, the first from 0.

    A step takes a byte for each seven bits, the lowest first; the eighth bit says that another byte follows.
    """
    steps = np.diff(ascending, prepend=0)
    count = -(-64 // 7)
    parts = np.stack([steps >> 7 * i & 127 for i in range(count)], axis=1).astype(np.uint8)
    more = np.stack([steps >> 7 * i > 127 for i in range(count)], axis=1)
    used = np.pad(more, ((0, 0), (1, 0)), constant_values=True)[:, :count]
    return packed((parts | more.astype(np.uint8) << 7)[used])
