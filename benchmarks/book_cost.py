"""What further plies of the opening book of Connect Four would cost, on paper: from their number and a sample.

    python benchmarks/book_cost.py [--plies 10 11 12] [--runs 40] [--output FOLDER]

`tools/build_book.py` solves the quiet positions of one ply (up to mirror image, without a win at once) and backs up
every earlier one. So all of them are counted here, runs of neighbours are drawn by a seed and solved as it solves them
(one thread, a table of 4 MB, the package's book), and the CPU time is multiplied. "within" is half of the 95 % interval
of the mean over the runs. The size is that of the keys, compressed as the book has them, and of scores that take as
much as those of the package's book. Some minutes.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.report import RESULTS, Row, positive, save, show
from tictac_env.arena.proofs.reply_layers import distinct
from tictac_env.compiled import kernel
from tictac_env.games import UNFINISHED, KInARow, get_game
from tictac_env.position import Position
from tictac_env.solver import Solver
from tictac_env.solver.book import opening_book_of

GAME = "ConnectFour-v0"
NEIGHBOURS = 32
CORES = 8
"""Of a machine."""
MACHINES = (1, 10, 100)
TABLE = 4.0

Ints = npt.NDArray[np.int64]


@kernel
def expand(game: KInARow, own: Ints, opp: Ints, next_own: Ints, next_opp: Ints) -> int:
    """Fills in the unfinished positions that follow, of mirror images the one with the smaller key, and counts them."""
    count = 0
    for i in range(len(own)):
        for action in range(game.num_actions):
            one, other = game.play(own[i], opp[i], action)
            if (one == own[i] and other == opp[i]) or game.result(one, other) != UNFINISHED:
                continue
            mirrored, other_mirrored = game.mirror(one), game.mirror(other)
            if game.key(mirrored, other_mirrored) < game.key(one, other):
                one, other = mirrored, other_mirrored
            next_own[count], next_opp[count] = one, other
            count += 1
    return count


@kernel
def find_quiet(game: KInARow, own: Ints, opp: Ints, quiet: npt.NDArray[np.bool_]) -> None:
    """Says of each position whether the side to move cannot win at once."""
    for i in range(len(own)):
        quiet[i] = game.winning_choices(own[i], opp[i]) == 0


def layers(game: KInARow, plies: int) -> Iterator[tuple[Ints, Ints]]:
    """The quiet positions of each ply up to `plies`, up to mirror image, in the order of their keys."""
    own, opp = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for ply in range(plies + 1):
        if ply:
            following = np.empty((2, len(own) * game.num_actions), np.int64)
            count = expand(game, own, opp, *following)
            own, opp = distinct(*following[:, :count])
        quiet = np.empty(len(own), np.bool_)
        find_quiet(game, own, opp, quiet)
        order = np.argsort(keys_of(game, own[quiet], opp[quiet]))
        yield own[quiet][order], opp[quiet][order]


def keys_of(game: KInARow, own: Ints, opp: Ints) -> Ints:
    """The keys of positions; `KInARow.key` takes arrays where stones fall."""
    keys: Any = game.key(own, opp)  # type: ignore[arg-type]
    return keys  # type: ignore[no-any-return]


def seconds_a_position(game: KInARow, own: Ints, opp: Ints, runs: int, seed: int) -> tuple[float, float]:
    """The CPU seconds a position takes, the mean over runs of neighbours, and half of its 95 % interval."""
    solver = Solver(game, TABLE)
    solver.score(Position(game, int(own[0]), int(opp[0])))  # compiled
    begins = np.random.default_rng(seed).integers(0, len(own) - NEIGHBOURS, runs)
    taken = []
    for begin in begins.tolist():
        some = slice(begin, begin + NEIGHBOURS)
        positions = [Position(game, *pair) for pair in zip(own[some].tolist(), opp[some].tolist(), strict=True)]
        began = time.process_time()
        solver.score_many(positions, progress=False)
        taken.append((time.process_time() - began) / NEIGHBOURS)
    return float(np.mean(taken)), float(1.96 * np.std(taken, ddof=1) / np.sqrt(runs))


def compressed(array: npt.NDArray[Any]) -> int:
    """The bytes of an array as files of ours hold it."""
    file = io.BytesIO()
    np.savez_compressed(file, array)
    return file.tell()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plies", type=positive, nargs="+", default=[10, 11, 12], help="which (default: 10 11 12)")
    parser.add_argument("--runs", type=positive, default=40, help="of neighbours, each ply (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=2026, help="draws them (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    game = get_game(GAME)
    assert isinstance(game, KInARow)
    book = opening_book_of(game)
    assert book is not None
    score_bytes = compressed(book.scores) / len(book)
    keys, rows = np.zeros(0, np.int64), list[Row]()
    for ply, (own, opp) in enumerate(layers(game, max(options.plies))):
        keys = np.sort(np.concatenate([keys, keys_of(game, own, opp)]))
        if ply == book.plies:
            assert np.array_equal(keys, book.keys), "the positions are not those of the book"
        if ply in options.plies:
            mean, half = seconds_a_position(game, own, opp, options.runs, options.seed)
            hours = mean * len(own) / 3600
            row: dict[str, Any] = {"ply": ply, "positions": len(own), "CPU-ms": round(1000 * mean, 2)}
            row |= {"within": round(1000 * half, 2), "CPU-hours": round(hours, 2)}
            row |= {f"hours, {many} machines": round(hours / CORES / many, 3) for many in MACHINES}
            size = compressed(np.diff(keys, prepend=0)) + score_bytes * len(keys)
            rows.append(row | {"book": len(keys), "megabytes": round(size / 1e6, 2)})
            show("Further plies", rows)
    settings = {"runs": options.runs, "neighbours": NEIGHBOURS, "seed": options.seed, "table": TABLE}
    save("book-cost", {**settings, "cores of a machine": CORES}, {"plies": rows}, options.output)


if __name__ == "__main__":
    main()
