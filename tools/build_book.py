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

from benchmarks.records import RESULTS, parser_of, positive
from tictac_agents.bench.records import RunStore, Settings
from tictac_env.cli.arguments import add_workers, chosen_workers
from tictac_env.games import GAMES, UNFINISHED, KInARow, describe_game
from tictac_env.jobs import map_jobs
from tictac_env.position import Position
from tictac_env.progress import progress_bar
from tictac_env.solver import Solver
from tictac_env.solver.book import FOLDER, Book, book_key

PART = 128
"""Positions that a worker solves at a time. Neighbours by key profit from each other through its table."""
GAME = "ConnectFour-v0"

Layer = dict[int, tuple[int, int]]
Part = tuple[Settings, list[tuple[int, int]]]
"""The settings that identify it, and its positions."""


def wins_at_once(game: KInARow, own: int, opp: int) -> bool:
    return game.winning_choices(own, opp) != 0


def layers(game: KInARow, plies: int) -> list[Layer]:
    """The unfinished positions (own, opp) of each ply up to `plies`, one of each pair of mirror images, by key."""
    found: list[Layer] = [{book_key(game, 0, 0): (0, 0)}]
    for _ in range(plies):
        following: Layer = {}
        for own, opp in found[-1].values():
            for action in range(game.num_actions):
                after = game.play(own, opp, action)
                if after != (own, opp) and game.result(*after) == UNFINISHED:
                    following.setdefault(book_key(game, *after), after)
        found.append(following)
    return found


def quiet(game: KInARow, layer: Layer) -> dict[int, tuple[int, int]]:
    """The positions of a layer in which the side to move cannot win at once, in the order of their keys."""
    return {key: layer[key] for key in sorted(layer) if not wins_at_once(game, *layer[key])}


def back_up(game: KInARow, plies: int, scores: dict[int, int]) -> Book:
    """The book of all plies up to `plies`, from the scores of the last one's quiet positions."""
    scores = dict(scores)
    for ply, layer in reversed(list(enumerate(layers(game, plies - 1)))):
        for key, (own, opp) in quiet(game, layer).items():
            best = -game.cells
            for action in range(game.num_actions):
                after = game.play(own, opp, action)
                if after != (own, opp):
                    at_once = wins_at_once(game, *after)
                    score = (game.cells - ply) // 2 if at_once else scores[book_key(game, *after)]
                    best = max(best, -score)
            scores[key] = best
    keys = np.array(sorted(scores), np.int64)
    return Book(game, plies, keys, np.array([scores[key] for key in keys.tolist()], np.int8))


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
        scores = self.solver.score_many([Position(self.solver.game, *pair) for pair in part[1]], progress=False)
        return {"scores": scores, "CPU-s": round(time.process_time() - began, 3)}


def parts_of(game: KInARow, ply: int, layer: Layer) -> list[Part]:
    """A layer's positions in parts, each with the settings that identify it."""
    items = list(layer.items())
    parts = []
    for start in range(0, len(items), PART):
        part = items[start : start + PART]
        settings = {"game": describe_game(game), "ply": ply, "first": part[0][0], "positions": len(part)}
        parts.append((settings, [pair for _, pair in part]))
    return parts


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
    counts = (sum(len(pairs) for _, pairs in some) for some in (solved, parts))
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
    layer = quiet(game, layers(game, options.plies)[-1])
    parts = parts_of(game, options.plies, layer)
    target = options.out / f"{GAME}.npz"
    work = PartSolver(game, options.plies, target, options.table, options.threads)
    if options.trial:
        trial(work.solver, list(layer.values()), options.trial)
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
    book = back_up(game, options.plies, dict(zip(layer, scores, strict=True)))
    earlier = earlier_book(game, options.plies, target)
    if earlier and not all(book.scores[np.searchsorted(book.keys, earlier.keys)] == earlier.scores):
        raise SystemExit(f"the scores of ply {options.plies} and of the plies before contradict each other")
    options.out.mkdir(parents=True, exist_ok=True)
    book.save(target)
    print(f"{progress(parts, store)}; the book has {len(book):,}, {target.stat().st_size:,} bytes: {target}")


def trial(solver: Solver, pairs: list[tuple[int, int]], count: int) -> None:
    """Solves runs of neighbours spread over the layer, and prints the time of the whole at that rate."""
    runs = max(1, count // 10)
    chosen = [number + i for number in range(0, len(pairs) - 10, len(pairs) // runs) for i in range(10)][:count]
    positions = [Position(solver.game, *pairs[number]) for number in chosen]
    solver.score_many(positions[:1])  # compiled
    began, cpu = time.monotonic(), time.process_time()
    solver.score_many(positions)
    seconds, spent = time.monotonic() - began, time.process_time() - cpu
    print(
        f"{len(chosen)} positions: {spent / len(chosen):.3f} CPU-s each, "
        f"{solver.nodes / spent / 1e6:.2f} M nodes a CPU-s; "
        f"all {len(pairs):,}: {spent / len(chosen) * len(pairs) / 3600:.1f} CPU-hours, "
        f"{seconds / len(chosen) * len(pairs) / 3600:.1f} hours of wall-clock time at this load"
    )


if __name__ == "__main__":
    main()
