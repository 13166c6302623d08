"""Labels: the exact score of every move in many positions, by the solver, kept in a file."""

from __future__ import annotations

import functools
import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tictac_env.games import Game, describe_game
from tictac_env.jobs import Workers, map_jobs
from tictac_env.position import Position, canonical
from tictac_env.position_batch import PositionBatch
from tictac_env.progress import progress_bar
from tictac_env.solver.enumerate import NO_SCORE

if TYPE_CHECKING:
    from tictac_env.solver import Solver  # compiled, which only labelling needs

CHUNK = 64
"""Positions that are solved between two writes."""
TABLE_MEGABYTES = 256
WORKER_MEGABYTES = 64
"""The table of each worker is smaller, as many workers share a machine."""
WAIT_SECONDS = 60.0
"""The longest wait for another process that is writing."""

Key = tuple[int, int]
Scores = tuple[int, ...]

SCHEMA = """
CREATE TABLE IF NOT EXISTS game (description TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS scores (own INTEGER, opp INTEGER, scores BLOB NOT NULL, check_sum INTEGER NOT NULL,
    PRIMARY KEY (own, opp)) WITHOUT ROWID;
"""


class LabelStore:
    """The scores found so far, in a SQLite file that several processes may use at once.

    A position stands for its images under the symmetries of the board, so each is solved once. When `add` returns, its
    labels are on the disk; if the process is killed before, none of them are.

    Args:
        path: the file; it is made if it does not exist.
        game: the rule book.

    Raises:
        ValueError: the file is damaged, or of another game; the message names it, and the file is unchanged.
    """

    def __init__(self, path: str | os.PathLike[str], game: Game) -> None:
        self.path = os.fspath(path)
        self.game = game
        description = json.dumps(describe_game(game), sort_keys=True)
        with self._database() as database:
            database.executescript(SCHEMA)
            with database:
                database.execute("BEGIN IMMEDIATE")
                stored = [row[0] for row in database.execute("SELECT description FROM game")]
                if not stored:
                    database.execute("INSERT INTO game VALUES (?)", (description,))
            if stored and stored != [description]:
                raise ValueError(f"{self.path} has the scores of {stored[0]}, not of {description}")

    def __len__(self) -> int:
        with self._database() as database:
            return int(database.execute("SELECT count(*) FROM scores").fetchone()[0])

    def find(self, keys: Sequence[Key]) -> dict[Key, Scores]:
        """The scores of the canonical positions (own, opp), as far as the store has them.

        Raises:
            ValueError: the file is damaged.
        """
        scores = {}
        with self._database() as database:
            for own, opp in keys:
                row = database.execute(
                    "SELECT scores, check_sum FROM scores WHERE own = ? AND opp = ?", (own, opp)
                ).fetchone()
                if row is not None:
                    if not isinstance(row[0], bytes) or _check_sum(own, opp, row[0]) != row[1]:
                        raise ValueError(f"{self.path} is damaged: the scores of {own, opp} are not what was written")
                    scores[own, opp] = tuple(np.frombuffer(row[0], "<i2").tolist())
        return scores

    def add(self, labels: dict[Key, Scores]) -> None:
        """Adds the scores of canonical positions; scores that are there already stay.

        Raises:
            ValueError: the file is damaged.
        """
        rows = []
        for (own, opp), scores in labels.items():
            content = np.array(scores, "<i2").tobytes()
            rows.append((own, opp, content, _check_sum(own, opp, content)))
        with self._database() as database, database:
            database.executemany("INSERT OR IGNORE INTO scores VALUES (?, ?, ?, ?)", rows)

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=WAIT_SECONDS)) as database:
                yield database
        except sqlite3.Error as error:
            raise ValueError(f"{self.path} cannot be used as a store of scores: {error}") from error


def label(
    positions: PositionBatch | Sequence[Position],
    cache: str | os.PathLike[str] | None = None,
    solver: Solver | None = None,
    progress: bool = False,
    workers: Workers = 1,
) -> npt.NDArray[np.int16]:
    """The exact scores of all actions in unfinished positions: int16 (N, num_actions), `NO_SCORE` if illegal.

    Args:
        positions: N positions of one game.
        cache: a file that keeps the scores as they are found (`LabelStore`). If a run is stopped at any moment, by
            Ctrl-C or by force, the next run continues from it. None to keep nothing.
        solver: a solver of the game; None for a new one.
        progress: if true, shows a progress bar.
        workers: the number of processes that solve, 1 for this process alone; or a `tictac_env.jobs.Cluster`. Workers
            have solvers of their own; only this process writes to the cache.

    Raises:
        ValueError: there are no positions, they are not of one game, a game is over, the cache is damaged, or there are
            both a solver and workers.
    """
    batch = positions if isinstance(positions, PositionBatch) else PositionBatch.of(positions)
    game = batch.game
    # The different positions, up to symmetry, that are not in the cache yet.
    images = [canonical(game, batch[i].own, batch[i].opp) for i in range(len(batch))]
    keys = sorted({image[:2] for image in images})
    store = None if cache is None else LabelStore(cache, game)
    labels = {} if store is None else store.find(keys)
    todo = [key for key in keys if key not in labels]
    if solver is not None and workers != 1:
        raise ValueError("workers have solvers of their own: leave out the solver, or the workers")
    # Solve them in chunks, here or in workers, and keep each chunk as soon as it is solved.
    chunks = (todo[begin : begin + CHUNK] for begin in range(0, len(todo), CHUNK))
    solved: Iterable[tuple[list[Key], dict[Key, Scores]]]
    if workers == 1:
        solver = solver or _new_solver(game, TABLE_MEGABYTES)
        solved = ((chunk, _solve(solver, chunk)) for chunk in chunks)
    else:
        solved = map_jobs(partial(_solve_in_worker, game), chunks, workers)
    done = 0
    with progress_bar(len(todo), "labelling", progress) as update:
        for _, chunk_labels in solved:
            if store is not None:
                store.add(chunk_labels)
            labels |= chunk_labels
            done += len(chunk_labels)
            update(done, "")
    # An action's score in a position is that of its image in the canonical position.
    rows = [[labels[own, opp][action] for action in symmetry.actions] for own, opp, symmetry in images]
    return np.array(rows, np.int16)


def _new_solver(game: Game, megabytes: float) -> Solver:
    from tictac_env.solver import Solver

    return Solver(game, megabytes)


_worker_solver = functools.cache(_new_solver)


def _solve_in_worker(game: Game, keys: Sequence[Key]) -> dict[Key, Scores]:
    return _solve(_worker_solver(game, WORKER_MEGABYTES), keys)


def _solve(solver: Solver, keys: Sequence[Key]) -> dict[Key, Scores]:
    positions = [Position(solver.game, *key) for key in keys]
    for position in positions:
        if position.is_over:
            raise ValueError(f"the game is over, so no action has a score: {position!r}")
    solutions = solver.solve_many(positions, progress=False)
    return {
        key: tuple(int(NO_SCORE) if score is None else score for score in solution.action_scores)
        for key, solution in zip(keys, solutions, strict=True)
    }


def _check_sum(own: int, opp: int, content: bytes) -> int:
    return zlib.crc32(content + b"%d %d" % (own, opp))
