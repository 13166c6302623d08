"""Builds the opening book of Connect Four: solves all positions of one ply and backs up every earlier one from them.

    python tools/build_book.py --out my_book --workers 2            # eight plies: hours; see docs/solver.md
    python tools/build_book.py --out my_book --workers 2 --plies 9  # hours again: it continues from the one before
    python tools/build_book.py --out my_book --plies 12 --ray 10.0.0.1:6379   # on a cluster (docs/tournaments.md)
    python tools/build_book.py --trial 200                          # what it would take, from a sample

A run that is stopped at any moment (Ctrl-C, a kill, a power cut) continues: solved parts are kept in
layer-8-runs.jsonl in `--folder`. Once the layer is complete the book is written to `--out`, by default into the
package. A book of one ply less, if it is there, bounds the scores of the layer, and must come out again when they are
backed up.

The workers are processes with a table each, of a size that a core's own cache holds; threads that share one table are a
quarter slower, as they write to the same lines of it and search the same position at the end of each part.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.records import RESULTS, parser_of, positive
from tictac_apps.bench.records import RunSettings, RunStore
from tictac_apps.cli.arguments import add_workers, chosen_workers
from tictac_env.arrays import Ints
from tictac_env.games import GAMES, KInARow, describe_game
from tictac_env.jobs import map_jobs
from tictac_env.position_batch import PositionBatch
from tictac_env.progress import progress_bar
from tictac_env.solver import Solver
from tictac_env.solver.book import FOLDER, Book
from tools.build_outcomes import layers, quiet, winning

PART = 128
"""Positions that a worker solves at a time. Neighbours by key profit from each other through its table."""
GAME = "ConnectFour-v0"

Part = tuple[RunSettings, PositionBatch]
"""The settings that identify it, and its positions."""


def keys_of(batch: PositionBatch) -> Ints:
    """The `book_key` of each position: int64 (B,)."""
    game, own, opp = batch.game, batch.own, batch.opp
    return np.minimum(game.key(own, opp), game.key(game.mirror(own), game.mirror(opp)))


def by_key(layer: PositionBatch) -> PositionBatch:
    """The positions of a layer in which the side to move cannot win at once, in the order of their keys."""
    found = quiet(layer)
    return found.where(np.argsort(keys_of(found)))


def back_up(game: KInARow, plies: int, scores: npt.NDArray[np.int8]) -> Book:
    """The book of all plies up to `plies`, from the scores of the last one's positions, which are in order `by_key`."""
    *earlier, last = map(by_key, layers(game, plies))
    found = [(keys_of(last), scores)]
    for ply, batch in reversed(list(enumerate(earlier))):
        keys, after = found[-1]
        legal, best = batch.action_masks(), np.full(len(batch), -game.cells, np.int8)
        for action in range(game.num_actions):
            rows = np.flatnonzero(legal[:, action])
            child = batch.where(rows).play(np.full(len(rows), action))
            places = np.searchsorted(keys, keys_of(child)).clip(max=len(keys) - 1)
            score = np.where(winning(child) != 0, (game.cells - ply) // 2, after[places])
            best[rows] = np.maximum(best[rows], -score)
        found.append((keys_of(batch), best))
    keys, scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(keys)
    return Book(game, plies, keys[order], scores[order])


def earlier_book(game: KInARow, plies: int, path: Path) -> Book | None:
    """The book at `path`, if it ends one ply before `plies`."""
    book = Book.load(path, game) if path.is_file() else None
    return book if book and book.plies == plies - 1 else None


class PartSolver:
    """Solves parts of a layer, in a worker, with a solver that it makes at the first."""

    def __init__(self, game: KInARow, plies: int, book: Path, table: float, threads: int) -> None:
        self._settings = game, table, threads
        self._book = earlier_book(game, plies, book)
        self._solver: Solver | None = None

    @property
    def solver(self) -> Solver:
        """The solver of this process."""
        if self._solver is None:
            self._solver = Solver(*self._settings, opening_book=False)
            self._solver.book = self._book
        return self._solver

    def __call__(self, part: Part) -> dict[str, Any]:
        """The scores of some positions, and the CPU-seconds they took."""
        began = time.process_time()
        scores = self.solver.score_many(list(part[1]), progress=False)
        return {"scores": scores, "CPU-s": round(time.process_time() - began, 3)}


def parts_of(ply: int, layer: PositionBatch) -> list[Part]:
    """A layer's positions in parts, each with the settings that identify it."""
    game, firsts = describe_game(layer.game), keys_of(layer)[::PART].tolist()
    some = [layer.where(slice(PART * number, PART * (number + 1))) for number in range(len(firsts))]
    return [
        ({"game": game, "ply": ply, "first": first, "positions": len(part)}, part)
        for first, part in zip(firsts, some, strict=True)
    ]


def solve_rest(parts: Sequence[Part], store: RunStore, options: argparse.Namespace, work: PartSolver) -> None:
    """Solves the parts that are not in the store, for so long as `options` say or until Ctrl-C."""
    todo = [part for part in parts if part[0] not in store]
    with progress_bar(len(todo), "opening book") as update, contextlib.suppress(KeyboardInterrupt):
        for done, (part, found) in enumerate(map_jobs(work, todo, chosen_workers(options), 60 * options.minutes), 1):
            store.add(part[0], found)
            update(done, "")


def progress(parts: Sequence[Part], store: RunStore) -> str:
    """The number of solved positions, and their CPU time."""
    solved = [part for part in parts if part[0] in store]
    spent = sum(store[settings]["CPU-s"] for settings, _ in solved) / 3600
    counts = (sum(len(batch) for _, batch in some) for some in (solved, parts))
    return "{:,} of {:,} positions are solved, in {:.2f} CPU-hours".format(*counts, spent)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--plies", type=positive, default=8, help="which layer (default: %(default)s)")
    add_workers(parser)
    parser.add_argument("--threads", type=positive, default=1, help="of each worker (default: %(default)s)")
    parser.add_argument("--table", type=float, default=4, metavar="MB", help="of each worker (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no part after this time")
    parser.add_argument("--trial", type=positive, metavar="N", help="solve N spread positions, and save nothing")
    parser.add_argument("--folder", type=Path, default=RESULTS / "book", help="where the parts are kept")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where the book goes")
    options = parser.parse_args()

    game = GAMES[GAME]
    assert isinstance(game, KInARow)
    layer = by_key(layers(game, options.plies)[-1])
    parts = parts_of(options.plies, layer)
    target = options.out / f"{GAME}.npz"
    work = PartSolver(game, options.plies, target, options.table, options.threads)
    if options.trial:
        trial(work.solver, layer, options.trial)
        return
    if target.is_file() and (there := Book.load(target, game).plies) >= options.plies:
        parser.error(f"{target} has {there} plies already; name another place with --out")
    store = RunStore(options.folder / f"layer-{options.plies}-runs.jsonl")
    print(progress(parts, store), flush=True)
    solve_rest(parts, store, options, work)
    if store.missing(settings for settings, _ in parts):
        print(f"{progress(parts, store)}; call again to continue")
        return
    scores = [score for settings, _ in parts for score in store[settings]["scores"]]
    book = back_up(game, options.plies, np.array(scores, np.int8))
    earlier = earlier_book(game, options.plies, target)
    if earlier and not all(book.scores[np.searchsorted(book.keys, earlier.keys)] == earlier.scores):
        raise SystemExit(f"the scores of ply {options.plies} and of the plies before contradict each other")
    options.out.mkdir(parents=True, exist_ok=True)
    book.save(target)
    print(f"{progress(parts, store)}; the book has {len(book):,}, {target.stat().st_size:,} bytes: {target}")


def trial(solver: Solver, layer: PositionBatch, count: int) -> None:
    """Solves runs of neighbours spread over the layer, and prints the time of the whole at that rate."""
    runs = max(1, count // 10)
    chosen = [number + i for number in range(0, len(layer) - 10, len(layer) // runs) for i in range(10)][:count]
    positions = [layer[number] for number in chosen]
    solver.score_many(positions[:1])  # compiled
    began, cpu = time.monotonic(), time.process_time()
    solver.score_many(positions)
    seconds, spent = time.monotonic() - began, time.process_time() - cpu
    print(
        f"{len(chosen)} positions: {spent / len(chosen):.3f} CPU-s each, "
        f"{solver.nodes / spent / 1e6:.2f} M nodes a CPU-s; "
        f"all {len(layer):,}: {spent / len(chosen) * len(layer) / 3600:.1f} CPU-hours, "
        f"{seconds / len(chosen) * len(layer) / 3600:.1f} hours of wall-clock time at this load"
    )


if __name__ == "__main__":
    main()
