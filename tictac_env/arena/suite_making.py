"""Makes suites: draws positions, and labels them with exact scores."""

from __future__ import annotations

import functools
import itertools
import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tictac_env.arena.suites import PHASES, Suite, phase_begins, phases
from tictac_env.checks import number, positive, whole
from tictac_env.games import Game, describe_game, get_game
from tictac_env.jobs import Workers, map_jobs
from tictac_env.policies import Policy, answer, as_policy
from tictac_env.policies.policy import pick
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.progress import progress_bar
from tictac_env.rng import STATES, UNIT, advance, mix, new_state
from tictac_env.solver import Solver
from tictac_env.solver.enumerate import NO_SCORE
from tictac_env.symmetry import canonical

CHUNK = 64
"""So many positions are solved between two writes."""
TABLE_MEGABYTES = 256
WORKER_MEGABYTES = 64
"""The table of each worker: many of them share a machine."""
WAIT_SECONDS = 60.0
"""How long to wait for another process that is writing."""

Key = tuple[int, int]
Scores = tuple[int, ...]

SCHEMA = """
CREATE TABLE IF NOT EXISTS game (description TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS scores (own INTEGER, opp INTEGER, scores BLOB NOT NULL, check_sum INTEGER NOT NULL,
    PRIMARY KEY (own, opp)) WITHOUT ROWID;
"""


class LabelStore:
    """The scores found so far, in a SQLite file that several processes may use at once.

    A position stands for its images under the symmetries of the board, so each is solved once. What `add` was given is
    on the disk when it returns, all of it or, if the process is killed before, none.

    Args:
        path: the file; it is made if there is none.
        game: the rule book.

    Raises:
        ValueError: the file is damaged, or of another game; the message names it, and it is left as it was.
    """

    def __init__(self, path: str | os.PathLike[str], game: Game) -> None:
        self.path = os.fspath(path)
        self.game = game
        described = json.dumps(describe_game(game), sort_keys=True)
        with self._database() as database:
            database.executescript(SCHEMA)
            with database:
                database.execute("BEGIN IMMEDIATE")
                known = [row[0] for row in database.execute("SELECT description FROM game")]
                if not known:
                    database.execute("INSERT INTO game VALUES (?)", (described,))
            if known and known != [described]:
                raise ValueError(f"{self.path} has the scores of {known[0]}, not of {described}")

    def __len__(self) -> int:
        with self._database() as database:
            return int(database.execute("SELECT count(*) FROM scores").fetchone()[0])

    def find(self, keys: Sequence[Key]) -> dict[Key, Scores]:
        """The scores of those of the canonical positions (own, opp) that are there.

        Raises:
            ValueError: the file is damaged.
        """
        found = {}
        with self._database() as database:
            for own, opp in keys:
                row = database.execute(
                    "SELECT scores, check_sum FROM scores WHERE own = ? AND opp = ?", (own, opp)
                ).fetchone()
                if row is not None:
                    if not isinstance(row[0], bytes) or _check_sum(own, opp, row[0]) != row[1]:
                        raise ValueError(f"{self.path} is damaged: the scores of {own, opp} are not what was written")
                    found[own, opp] = tuple(np.frombuffer(row[0], "<i2").tolist())
        return found

    def add(self, labels: dict[Key, Scores]) -> None:
        """Keeps the scores of canonical positions; those that are there already stay.

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
    """The exact scores of all actions in unfinished positions: int16 (N, num_actions), `NO_SCORE` where illegal.

    Args:
        positions: N positions of one game.
        cache: a file that keeps what is found (`LabelStore`), and from which what it has is taken: a run that is
            stopped at any moment, by Ctrl-C or by force, goes on where it was. None to keep nothing.
        solver: a solver of the game; None for a new one.
        progress: whether to show a progress bar.
        workers: how many processes solve, 1 for this one; or a `tictac_env.jobs.Cluster`. They have solvers of their
            own; this process alone writes to the cache.

    Raises:
        ValueError: there are no positions, they are not of one game, a game is over, the cache is damaged, or a solver
            is given for workers.
    """
    batch = positions if isinstance(positions, PositionBatch) else PositionBatch.of(positions)
    game = batch.game
    folded = [canonical(game, batch[i].own, batch[i].opp) for i in range(len(batch))]
    wanted = sorted({image[:2] for image in folded})
    store = None if cache is None else LabelStore(cache, game)
    known = {} if store is None else store.find(wanted)
    todo = [key for key in wanted if key not in known]
    if solver is not None and workers != 1:
        raise ValueError("workers have solvers of their own: leave out the solver, or the workers")
    chunks = (todo[begin : begin + CHUNK] for begin in range(0, len(todo), CHUNK))
    solved: Iterable[tuple[Any, dict[Key, Scores]]]
    if workers == 1:
        solver = solver or Solver(game, TABLE_MEGABYTES)
        solved = ((chunk, _solve(solver, chunk)) for chunk in chunks)
    else:
        solved = map_jobs(partial(_solve_in_worker, game), chunks, workers)
    done = 0
    with progress_bar(len(todo), "labelling", progress) as update:
        for _, found in solved:
            if store is not None:
                store.add(found)
            known |= found
            done += len(found)
            update(done, "")
    # An action's score in a position is that of its image in the canonical one.
    rows: list[list[Any]] = [[known[own, opp][image] for image in symmetry.actions] for own, opp, symmetry in folded]
    return np.array(rows, np.int16)


@functools.cache
def _worker_solver(game: Game) -> Solver:
    """The solver of this process, a worker."""
    return Solver(game, WORKER_MEGABYTES)


def _solve_in_worker(game: Game, keys: Sequence[Key]) -> dict[Key, Scores]:
    return _solve(_worker_solver(game), keys)


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


GAMES_AT_A_TIME = 128
FRUITLESS = 20
"""After so many times `GAMES_AT_A_TIME` games without a new position a source has none left."""


class Source(Protocol):
    """Where positions come from."""

    @property
    def name(self) -> str:
        """What tables call it."""

    def positions(self, game: Game, seed: int) -> Iterator[list[Position]]:
        """Unfinished positions of one game after another (or one position after another), drawn by the seed."""


@dataclass(frozen=True)
class Games:
    """Positions of games between two players, or of one with itself; of each game one a phase, at any of its plies.

    Attributes:
        first: one player: whatever `as_policy` accepts. The two swap seats from game to game.
        second: the other, None for the first one again.
        random_plies: each game begins with 0 to so many random moves, each number as likely as the others.
        noise: the share of the later moves that are random too, in [0, 1].
    """

    first: Any
    second: Any = None
    random_plies: int = 8
    noise: float = 0.1

    @property
    def name(self) -> str:
        """The players."""
        names = [str(player) for player in (self.first, self.second) if player is not None]
        return " v ".join(names)

    def positions(self, game: Game, seed: int) -> Iterator[list[Position]]:
        """Of each game one position in each phase that it reaches."""
        whole("random_plies", self.random_plies, game.cells)
        number("noise", self.noise, 0, 1)
        one = as_policy(self.first, game)
        pair = one, one if self.second is None else as_policy(self.second, game)
        state = new_state(seed)
        for count in itertools.count():
            sides = pair if count % 2 == 0 else pair[::-1]
            played, state = self._play(game, sides, state)
            some = phases(game, np.array([position.ply for position in played]))
            drawn = []
            for phase in range(len(PHASES)):
                state = advance(state)
                here = [position for position, of in zip(played, some, strict=True) if of == phase]
                if here:
                    drawn.append(here[mix(state) % len(here)])
            yield drawn

    def _play(self, game: Game, sides: tuple[Policy, Policy], state: int) -> tuple[list[Position], int]:
        """The unfinished positions of a game, and the random state after it."""
        state = advance(state)
        random_plies = mix(state) % (self.random_plies + 1)
        position = Position.start(game)
        played = []
        while not position.is_over:
            played.append(position)
            state = advance(state)
            seed = mix(state)
            state = advance(state)
            if position.ply < random_plies or mix(state) * UNIT < self.noise:
                action = pick(game, game.legal(position.own, position.opp), seed)
            else:
                side = sides[position.seat]
                action, _, _ = answer(side, game, position.own, position.opp, position.recent_moves, seed)
            position = position.play(action)
        return played, state


@dataclass(frozen=True)
class Listed:
    """The positions of a file, in an order drawn by the seed.

    Attributes:
        path: a file with a move string at the beginning of each line; what follows a comma or a space is ignored, and
            so is a first line that begins with "moves".
    """

    path: str | os.PathLike[str]

    @property
    def name(self) -> str:
        """The name of the file."""
        return Path(self.path).name

    def positions(self, game: Game, seed: int) -> Iterator[list[Position]]:
        """The unfinished positions, each by itself.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: a line has no move string of the game; the message names the file and the line.
        """
        lines = Path(self.path).read_text(encoding="utf-8").splitlines()
        found = []
        for count, line in enumerate(lines, 1):
            moves = line.replace(",", " ").split(" ")[0]
            if count == 1 and moves == "moves":
                continue
            try:
                position = Position.from_moves(game, moves)
            except ValueError as error:
                raise ValueError(f"{os.fspath(self.path)}, line {count}: {error}") from None
            if not position.is_over:
                found.append(position)
        for index in np.random.default_rng(seed).permutation(len(found)).tolist():
            yield [found[index]]


def make_suite(
    name: str,
    sources: Sequence[Source],
    count: int,
    seed: int,
    game: str | Game = "ConnectFour-v0",
    decisive: bool = True,
    exclude: Iterable[Suite] = (),
    cache: str | os.PathLike[str] | None = None,
    progress: bool = False,
    workers: Workers = 1,
) -> Suite:
    """A suite of positions from these sources, as many from each of them and from each phase.

    The same arguments give the same suite, to the bit. A source that has no more positions of a phase gives fewer;
    `about` says how many come from where.

    Args:
        name: what results will call it.
        sources: where positions come from: `Games`, `Listed`, or anything that has their `name` and `positions`.
        count: how many positions; a number that cannot be divided by sources and phases is rounded down.
        seed: draws the games.
        game: a game's name or rule book.
        decisive: whether to take only positions whose legal moves have at least two different win/draw/loss values.
        exclude: suites with which it shall have no position in common, nor an image of one under a symmetry.
        cache: a file that keeps the scores as they are found, so that a run that is stopped at any moment, by force
            too, goes on where it was (see `label`).
        progress: whether to show a progress bar.
        workers: how many processes solve the positions, 1 for this one; or a `tictac_env.jobs.Cluster`. The games, a
            small part of the time, are played by this process: which come next depends on what was found.

    Raises:
        ValueError: an argument is out of its range, a suite to exclude is of another game, no position was found, or
            the cache is damaged.
        IllegalMove: a player's choice is illegal.
    """
    rules = get_game(game)
    each = positive("count", count) // (len(PHASES) * max(1, len(sources)))
    whole("seed", seed)
    if not sources or not each:
        raise ValueError(f"count={count} is too few for {len(sources)} sources and {len(PHASES)} phases")
    seen: set[tuple[int, int]] = set()
    for other in exclude:
        if other.game != rules:
            raise ValueError(f"{other} is of another game than {rules!r}")
        seen |= {_fold(position) for position, _ in other}
    solver = Solver(rules, TABLE_MEGABYTES) if workers == 1 else None
    chosen: list[Position] = []
    scores: list[npt.NDArray[np.int16]] = []
    counts: dict[str, dict[str, int]] = {}
    for number_, source in enumerate(sources):
        left = dict.fromkeys(range(len(PHASES)), each)
        seeds = np.random.SeedSequence((seed, number_)).generate_state(1, np.uint64)
        games = source.positions(rules, int(seeds[0]) & STATES)
        fruitless = 0
        while any(left.values()) and fruitless < FRUITLESS:
            drawn = list(itertools.islice(games, GAMES_AT_A_TIME))
            if not drawn:
                break
            fresh = _fresh([position for some in drawn for position in some], rules, left, seen)
            fruitless = 0 if fresh else fruitless + 1
            if not fresh:
                continue
            found = label(fresh, cache, solver, progress, workers)
            for position, row in zip(fresh, found, strict=True):
                phase = int(phases(rules, np.array([position.ply]))[0])
                if left[phase] and (not decisive or is_decisive(row)):
                    left[phase] -= 1
                    chosen.append(position)
                    scores.append(row)
        title = source.name if source.name not in counts else f"{source.name} ({number_ + 1})"
        counts[title] = {PHASES[phase]: each - missing for phase, missing in left.items()}
    if not chosen:
        raise ValueError("the sources have no such position")
    order = sorted(range(len(chosen)), key=lambda i: (chosen[i].ply, chosen[i].own, chosen[i].opp))
    begins = dict(zip(PHASES, phase_begins(rules), strict=True))
    about = {"seed": seed, "decisive": decisive, "phases begin at ply": begins, "sources": counts}
    return Suite(name, PositionBatch.of([chosen[i] for i in order]), np.array([scores[i] for i in order]), about)


def is_decisive(scores: npt.NDArray[np.int16]) -> bool:
    """Whether the legal moves have at least two different win/draw/loss values."""
    return len(np.unique(np.sign(scores[scores != NO_SCORE]))) > 1


def _fresh(
    positions: Sequence[Position], game: Game, left: dict[int, int], seen: set[tuple[int, int]]
) -> list[Position]:
    """Those of the positions, of phases of which some are left to find, that are not `seen`; they are from now on."""
    found = []
    some = phases(game, np.array([position.ply for position in positions]))
    for position, phase in zip(positions, some.tolist(), strict=True):
        key = _fold(position)
        if left[phase] and key not in seen:
            seen.add(key)
            found.append(position)
    return found


def _fold(position: Position) -> tuple[int, int]:
    own, opp, _ = canonical(position.game, position.own, position.opp)
    return own, opp
