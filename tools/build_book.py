"""Builds the opening book of Connect Four: solves all positions of one ply and backs up every earlier one from them.

    python tools/build_book.py --out my_book --workers 2            # eight plies: hours; see docs/solver.md
    python tools/build_book.py --out my_book --workers 2 --plies 9  # hours again: it goes on from the one before
    python tools/build_book.py --trial 200                          # what it would take, from a sample

Stopped at any moment (Ctrl-C, a kill, a power cut) it goes on where it was: what is solved is saved every minute, whole
and with checksums, as results/book/layer-8.npz. Once the layer is complete the book is written to `--out`, by default
into the package. A book of one ply less, if it is there, bounds the scores of the layer, and must come out again when
they are backed up.

The workers are processes with a table each, of a size that a core's own cache holds; threads that share one table are a
quarter slower, as they write to the same lines of it and search the same position at the end of each part.
"""

from __future__ import annotations

import argparse
import functools
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.report import RESULTS, positive
from tictac_env.games import GAMES, UNFINISHED, KInARow
from tictac_env.position import Position
from tictac_env.progress import interruptible, progress_bar
from tictac_env.solver import Solver
from tictac_env.solver.book import FOLDER, Book, book_key
from tictac_env.storage import load_arrays, save_arrays

KIND = "partial opening book"
UNSOLVED = -128
SAVE_SECONDS = 60
PART = 128
"""So many positions a worker solves at a time. Neighbours by key profit from each other through its table."""
GAME = "ConnectFour-v0"

Layer = dict[int, tuple[int, int]]
SolverArguments = tuple[KInARow, int, Path, float, int]
"""What `worker_solver` wants: plain values, which go to other processes."""


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


def load(path: Path, keys: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int8], float]:
    """What is solved so far, and how many CPU-seconds that took.

    Raises:
        ValueError: the file is damaged, or of another layer.
    """
    if not path.is_file():
        return np.full(len(keys), UNSOLVED, np.int8), 0.0
    meta, arrays = load_arrays(path, KIND)
    if not np.array_equal(np.cumsum(arrays["steps"]), keys):
        raise ValueError(f"{path} belongs to another layer")
    return arrays["scores"], float(meta["cpu_seconds"])


def earlier_book(game: KInARow, plies: int, path: Path) -> Book | None:
    """The book at `path`, if it ends one ply before `plies`."""
    book = Book.load(path, game) if path.is_file() else None
    return book if book and book.plies == plies - 1 else None


@functools.cache
def worker_solver(game: KInARow, plies: int, book: Path, table: float, threads: int) -> Solver:
    """The solver of this process."""
    solver = Solver(game, table, threads, opening_book=False)
    solver.book = earlier_book(game, plies, book)
    return solver


def solve_part(solver_is: SolverArguments, pairs: Sequence[tuple[int, int]]) -> tuple[list[int], float]:
    """The scores of some positions, and the CPU-seconds they took."""
    solver = worker_solver(*solver_is)
    began = time.process_time()
    scores = solver.score_many([Position(solver.game, *pair) for pair in pairs], progress=False)
    return scores, time.process_time() - began


def save(path: Path, keys: npt.NDArray[np.int64], scores: npt.NDArray[np.int8], seconds: float) -> None:
    meta = {"cpu_seconds": seconds, "solved": int((scores != UNSOLVED).sum()), "positions": len(keys)}
    save_arrays(path, KIND, meta, {"steps": np.diff(keys, prepend=0), "scores": scores})


def progress(scores: npt.NDArray[np.int8]) -> str:
    return f"{np.count_nonzero(scores != UNSOLVED):,} of {len(scores):,}"


def solve_rest(
    pairs: Sequence[tuple[int, int]],
    scores: npt.NDArray[np.int8],
    spent: float,
    options: argparse.Namespace,
    solver_is: SolverArguments,
    keep: Callable[[float], None],
) -> float:
    """Solves what is UNSOLVED in `scores`, in place, and calls `keep` every minute; the CPU-seconds spent all told."""
    todo = np.flatnonzero(scores == UNSOLVED)
    parts = iter([todo[start : start + PART] for start in range(0, len(todo), PART)])
    running: dict[Future[tuple[list[int], float]], npt.NDArray[np.int64]] = {}
    began = saved = time.monotonic()
    done = 0
    deaf = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)}
    with (
        interruptible() as stopping,
        progress_bar(len(scores), "opening book") as update,
        ProcessPoolExecutor(options.workers, **deaf) as pool,
    ):
        while True:
            while len(running) < options.workers and not stopping() and time.monotonic() < began + 60 * options.minutes:
                part = next(parts, None)
                if part is None:
                    break
                running[pool.submit(solve_part, solver_is, [pairs[number] for number in part])] = part
            if not running:
                return spent
            for job in wait(running, return_when=FIRST_COMPLETED).done:
                part = running.pop(job)
                scores[part], seconds = job.result()
                spent += seconds
                done += len(part)
            update(float(len(scores) - len(todo) + done), "")
            if time.monotonic() - saved > SAVE_SECONDS:
                keep(spent)
                saved = time.monotonic()
                hours = (saved - began) / 3600 * (len(todo) - done) / done
                print(f"{progress(scores)}, {hours:.1f} h to go", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plies", type=positive, default=8, help="which layer (default: %(default)s)")
    parser.add_argument("--workers", type=positive, default=1, help="how many processes (default: %(default)s)")
    parser.add_argument("--threads", type=positive, default=1, help="of each worker (default: %(default)s)")
    parser.add_argument("--table", type=float, default=4, metavar="MB", help="of each worker (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long; saved, to go on later")
    parser.add_argument("--trial", type=positive, help="solve so many, evenly spread in runs of 10, and save nothing")
    parser.add_argument("--folder", type=Path, default=RESULTS / "book", help="where the partial layer is kept")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where the book goes")
    options = parser.parse_args()

    game = GAMES[GAME]
    assert isinstance(game, KInARow)
    layer = quiet(game, layers(game, options.plies)[-1])
    keys = np.array(list(layer), np.int64)
    pairs = list(layer.values())
    path = options.folder / f"layer-{options.plies}.npz"
    target = options.out / f"{GAME}.npz"
    solver_is = (game, options.plies, target, options.table, options.threads)
    if options.trial:
        trial(worker_solver(*solver_is), pairs, options.trial)
        return
    if target.is_file() and (there := Book.load(target, game).plies) >= options.plies:
        parser.error(f"{target} has {there} plies already; name another place with --out")
    scores, spent = load(path, keys)
    print(f"{progress(scores)} positions are solved, in {spent / 3600:.2f} CPU-hours", flush=True)
    spent = solve_rest(pairs, scores, spent, options, solver_is, functools.partial(save, path, keys, scores))
    save(path, keys, scores, spent)
    if (scores == UNSOLVED).any():
        print(f"{progress(scores)} solved in {spent / 3600:.2f} CPU-hours; call again to go on")
        return
    book = back_up(game, options.plies, dict(zip(keys.tolist(), scores.tolist(), strict=True)))
    earlier = earlier_book(game, options.plies, target)
    if earlier and not all(book.scores[np.searchsorted(book.keys, earlier.keys)] == earlier.scores):
        raise SystemExit(f"the scores of ply {options.plies} and of the plies before contradict each other")
    options.out.mkdir(parents=True, exist_ok=True)
    book.save(target)
    print(f"{len(book):,} positions, {target.stat().st_size:,} bytes, {spent / 3600:.2f} CPU-hours: {target}")


def trial(solver: Solver, pairs: list[tuple[int, int]], count: int) -> None:
    """Solves runs of neighbours spread over the layer, and tells what the whole would take at that rate."""
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
        f"{seconds / len(chosen) * len(pairs) / 3600:.1f} hours by the clock at this load"
    )


if __name__ == "__main__":
    main()
