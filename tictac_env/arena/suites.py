"""Suites: frozen sets of positions with the exact score of every move, known by a name and a hash; and labels."""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.checks import parse_whole
from tictac_env.games import LOST, UNFINISHED, Game, describe_game, did_you_mean, game_name, game_of, get_game, shown
from tictac_env.jobs import Workers, map_jobs
from tictac_env.position import Position, canonical
from tictac_env.position_batch import PositionBatch
from tictac_env.progress import progress_bar
from tictac_env.solver.enumerate import NO_SCORE, loss_score, tabulate
from tictac_env.storage import reading, save_arrays, save_text

if TYPE_CHECKING:
    from tictac_env.solver import Solver  # compiled, which only labelling needs

INVALID = -1000
"""Stands for an illegal action in the analyses of other solvers."""


class ScoredPosition(NamedTuple):
    """An unfinished position and what each move in it is worth.

    The scores are exact distances, as everywhere: +n, the player to move wins with its n-th stone counted from the
    last one it could ever place; -n, the other side does; 0, a draw.

    Example:
        >>> from tictac_env import Position, solve
        >>> from tictac_env.arena import ScoredPosition
        >>> position = Position.from_moves("TicTacToe-v0", "1524")
        >>> ScoredPosition(position, solve(position).action_scores).action_scores
        (None, None, 3, None, None, 0, -2, -2, -2)
    """

    position: Position
    action_scores: tuple[int | None, ...]
    """The exact score of each action (num_actions of them), None where it is illegal."""


def read_scored_positions(path: str | os.PathLike[str], game: str | Game = "ConnectFour-v0") -> list[ScoredPosition]:
    """The scored positions of a file, in its order.

    The first line of a CSV file is `moves,score,column_1,...,column_n` for the n actions of the game. Each further line
    has a move string, the exact score of the position it leads to, and the exact score of each action there, empty
    where it is illegal.

    A file without that first line is an analysis as the solver of Pascal Pons writes it (`c4solver -a`): each line has
    a move string and the n scores, -1000 where an action is illegal, separated by spaces.

    Args:
        path: the file, in UTF-8.
        game: a game's name or rule book.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged or of another game; the message names the file, the line and what was wrong.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from tictac_env.arena import read_scored_positions
        >>> columns = ",".join(f"column_{number}" for number in range(1, 10))
        >>> file = Path(tempfile.mkdtemp(), "scored.csv")
        >>> lines = [f"moves,score,{columns}", "12345687,1,,,,,,,,,1"]
        >>> _ = file.write_text(os.linesep.join(lines))
        >>> read_scored_positions(file, "TicTacToe-v0")[0].action_scores
        (None, None, None, None, None, None, None, None, 1)
    """
    rules = get_game(game)
    name = os.fspath(path)
    content = Path(path).read_bytes()
    spaced = b" " in content.partition(b"\n")[0]
    found: list[ScoredPosition] = []
    line = 1
    try:
        text = io.StringIO(content.decode(), newline="")
        reader = csv.reader(text, strict=True, delimiter=" " if spaced else ",")
        for fields in reader:
            line = reader.line_num
            if spaced:
                found.append(_analysed(rules, fields))
            elif line == 1:
                _check_header(rules, fields)
            else:
                found.append(_scored(rules, fields))
    except UnicodeDecodeError as error:
        line = 1 + content.count(b"\n", 0, error.start)
        raise ValueError(f"{name}, line {line}: not text in UTF-8 ({error})") from None
    except csv.Error as error:
        raise ValueError(f"{name}, line {reader.line_num}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{name}, line {line}: {error}") from None
    if not found:
        raise ValueError(f"{name} holds no positions")
    return found


def check_scores(position: Position, action_scores: Sequence[int | None]) -> None:
    """Checks that `action_scores` can be the exact scores of the actions in `position`.

    Raises:
        ValueError: the game is over, an action has a score without being legal or none although it is, or a score is
            one that no move here can have: a move that wins at once, and no other, has the highest score there is.
    """
    game, own, opp, ply = position.game, position.own, position.opp, position.ply
    if position.is_over:
        raise ValueError(f"the game is over after {position.to_moves()!r}")
    if len(action_scores) != game.num_actions:
        raise ValueError(f"{len(action_scores)} actions have a score, not {game.num_actions}, in {position!r}")
    legal = position.legal_actions
    at_once, in_two = -loss_score(game, ply + 1), loss_score(game, ply + 2 if game.knows_wins else ply + 1)
    for action, score in enumerate(action_scores):
        what = f"action {action} (number {action + 1} in the file)"
        if (score is None) == (action in legal):
            state = "legal but has no score" if score is None else f"illegal but has the score {score}"
            raise ValueError(f"{what} is {state} in {position!r}")
        if score is None:
            continue
        if isinstance(score, bool) or not isinstance(score, (int, np.integer)):
            raise ValueError(f"{what} has the score {score!r}, which is not a whole number, in {position!r}")
        if not in_two <= score <= at_once:
            raise ValueError(f"{what} has the score {score}, not in [{in_two}, {at_once}], in {position!r}")
        wins = game.result(*game.play(own, opp, action)) == LOST
        if wins != (score == at_once) and (wins or game.knows_wins):
            ends = "wins at once" if wins else "does not win at once"
            raise ValueError(f"{what} has the score {score} but {ends}, which is the score {at_once}, in {position!r}")


def _check_header(game: Game, fields: list[str]) -> None:
    wanted = ["moves", "score", *(f"column_{action + 1}" for action in range(game.num_actions))]
    if fields != wanted:
        raise ValueError(f"the header must be {','.join(wanted)}, not {','.join(fields)}")


def _scored(game: Game, fields: list[str]) -> ScoredPosition:
    """The position of a line.

    Raises:
        ValueError: the line is damaged.
    """
    if len(fields) != 2 + game.num_actions:
        raise ValueError(f"{len(fields)} fields, not {2 + game.num_actions}: {','.join(fields)!r}")
    position = Position.from_moves(game, fields[0])
    score = _score("score", fields[1])
    scores = tuple(_score(f"column_{i + 1}", text) if text else None for i, text in enumerate(fields[2:]))
    check_scores(position, scores)
    best = max(value for value in scores if value is not None)
    if best != score:
        raise ValueError(f"the score is {score}, but that of the best action {best}")
    return ScoredPosition(position, scores)


def _analysed(game: Game, fields: list[str]) -> ScoredPosition:
    """The position of a line of an analysis.

    Raises:
        ValueError: the line is damaged.
    """
    if len(fields) != 1 + game.num_actions:
        raise ValueError(f"{len(fields)} fields, not {1 + game.num_actions}: {' '.join(fields)!r}")
    position = Position.from_moves(game, fields[0])
    read = [_score(f"the score of action {i}", text) for i, text in enumerate(fields[1:])]
    scores = tuple(None if score == INVALID else score for score in read)
    check_scores(position, scores)
    return ScoredPosition(position, scores)


def _score(name: str, text: str) -> int:
    size = parse_whole(text.removeprefix("-"))
    if size is None:
        raise ValueError(f"{name} must be a whole number, not {text!r}")
    return -size if text.startswith("-") else size


KIND = "suite"
FOLDER = Path(__file__).parent / "data"
PHASES = "opening", "middle", "end"
SMALL = np.iinfo(np.int8)
"""Scores are kept in a byte where they fit, an illegal move being the least."""

HASHES = {
    "C4-Exact-v1": "60eb20d52ef9dbf628787a2147bf0ac1102d48ed2c0da7611d5cce99f339c70a",
    "C4-Choose-v1": "ebd247df3e142f19221e0933425cb7631a9f767bb601ac3409e90fed34a7597e",
    "TTT-Exact-v1": "42ed03c7a6f85f27805ff8769552297265530b26820c1bfed6b5302c0ba25c93",
}
"""The suites of the package, and the hash that each must have. A suite never changes; a better one gets a new name."""


@dataclass(frozen=True, eq=False)
class Suite:
    """Unfinished positions of one game, and what each move in them is worth.

    Attributes:
        name: what results call it.
        positions: the N positions.
        scores: int16 (N, num_actions), the exact scores (see `ScoredPosition`), `NO_SCORE` where an action is illegal.
        about: how it was made, as JSON can hold it; not part of the hash.

    Example:
        >>> from tictac_env.arena import suite
        >>> found = suite("TTT-Exact-v1")
        >>> found.name, len(found.positions), found.scores.shape
        ('TTT-Exact-v1', 4520, (4520, 9))
    """

    name: str
    positions: PositionBatch
    scores: npt.NDArray[np.int16] = field(repr=False)
    about: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, name: str, scored: Sequence[ScoredPosition]) -> Suite:
        """The suite of these positions, in their order.

        Raises:
            ValueError: there are none, they are not all of one game, or a score is one that no move there can have.
        """
        scored = list(scored)
        if not scored:
            raise ValueError("there are no positions to make a suite of")
        for entry in scored:
            if not (isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], Position)):
                raise ValueError(f"{shown(entry)} is not a scored position: give a ScoredPosition, or a file of them")
            check_scores(*entry)
        rows = [[NO_SCORE if score is None else score for score in scores] for _, scores in scored]
        return cls(name, PositionBatch.of([position for position, _ in scored]), np.array(rows, np.int16))

    @property
    def game(self) -> Game:
        """The rule book."""
        return self.positions.game

    @functools.cached_property
    def plies(self) -> npt.NDArray[np.int64]:
        """int64 (N,), how many stones are on each board."""
        stones = (self.positions.own | self.positions.opp).tolist()
        return np.array([cells.bit_count() for cells in stones], np.int64)

    @functools.cached_property
    def phases(self) -> npt.NDArray[np.uint8]:
        """uint8 (N,), the phase of each position as its place in `PHASES`."""
        return phases(self.game, self.plies)

    @functools.cached_property
    def sha256(self) -> str:
        """The hash of its game, positions and scores, in hexadecimal."""
        try:
            game: Any = describe_game(self.game)
        except ValueError:  # a game of the user's that is not registered
            game = repr(self.game)
        head = {"game": game, "positions": len(self), "actions": self.game.num_actions}
        digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
        for array, kind in ((self.positions.own, "<i8"), (self.positions.opp, "<i8"), (self.scores, "<i2")):
            digest.update(np.ascontiguousarray(array, kind).tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Suite) and (self.name, self.sha256) == (other.name, other.sha256)

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, index: int) -> ScoredPosition:
        scores = self.scores[index].tolist()
        return ScoredPosition(self.positions[index], tuple(None if score == NO_SCORE else score for score in scores))

    def __iter__(self) -> Iterator[ScoredPosition]:
        return (self[index] for index in range(len(self)))

    def __str__(self) -> str:
        game = game_name(self.game) or repr(self.game)
        return f"{self.name}: {len(self):,} positions of {game}, sha256 {self.sha256[:12]}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to an .npz file, whole or not at all (see `tictac_env.storage`).

        Raises:
            ValueError: its game is not registered.
        """
        scores: npt.NDArray[Any] = np.where(self.scores == NO_SCORE, SMALL.min, self.scores).astype(np.int8)
        if (scores != np.where(self.scores == NO_SCORE, SMALL.min, self.scores)).any():
            scores = self.scores
        meta = {"name": self.name, "game": describe_game(self.game), "sha256": self.sha256, "about": dict(self.about)}
        save_arrays(path, KIND, meta, {"own": self.positions.own, "opp": self.positions.opp, "scores": scores})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Suite:
        """The suite that was saved.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged or holds no suite, or its content is not what its hash says.
        """
        with reading(path, KIND, "suite") as (meta, arrays):
            game = game_of(meta["game"])
            own, opp, kept = arrays["own"], arrays["opp"], arrays["scores"]
            if own.dtype != np.int64 or own.shape != opp.shape or own.dtype != opp.dtype or own.ndim != 1:
                raise ValueError("its positions are not two rows of int64")
            if kept.dtype not in (np.int8, np.int16) or kept.shape != (len(own), game.num_actions) or not len(own):
                raise ValueError(f"its scores are {kept.dtype} {kept.shape}")
            illegal = kept == (SMALL.min if kept.dtype == np.int8 else NO_SCORE)
            scores = np.where(illegal, NO_SCORE, kept).astype(np.int16)
            suite = cls(str(meta["name"]), PositionBatch(game, own, opp), scores, dict(meta["about"]))
            board = sum(game.cell(row, col) for row in range(game.rows) for col in range(game.cols))
            if (own & opp).any() or (own | opp | board != board).any() or (own < 0).any() or (opp < 0).any():
                raise ValueError("its stones are not on the board, each on a cell of its own")
            if ((scores != NO_SCORE) != suite.positions.action_masks()).any():
                raise ValueError("its scores are not those of the legal actions of unfinished positions")
            if suite.sha256 != meta["sha256"]:
                raise ValueError(f"its content has the hash {suite.sha256}, and should have {meta['sha256']}")
        return suite

    def write_analysis(self, path: str | os.PathLike[str]) -> None:
        """Writes it as the solver of Pascal Pons (`c4solver -a`) writes its analysis, which other projects read.

        A line a position: its move string, then the scores of the actions in order, -1000 where one is illegal, all
        separated by spaces; the line of the empty board begins with a space. `read_scored_positions` reads it too.
        """
        lines = []
        for position, scores in self:
            written = (str(INVALID if score is None else score) for score in scores)
            lines.append(" ".join([position.to_moves(), *written]))
        save_text(path, "\n".join(lines) + "\n")


def phases(game: Game, plies: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """The phase of positions with so many stones: uint8, as places in `PHASES`.

    The opening ends when two sevenths of the cells are taken, the middle at four sevenths: on Connect Four the opening
    is up to ply 11, the middle is plies 12 to 23, and the end is from ply 24 on.
    """
    return np.digitize(plies, phase_begins(game)[1:]).astype(np.uint8)


def phase_begins(game: Game) -> tuple[int, int, int]:
    """At which ply each phase begins."""
    return 0, -(-2 * game.cells // 7), -(-4 * game.cells // 7)


def all_positions(game: str | Game, name: str | None = None) -> Suite:
    """All unfinished positions that a game small enough to tabulate can reach, images under symmetries too.

    Raises:
        ValueError: the game has more than a million positions.
    """
    table = tabulate(get_game(game))
    rows = np.flatnonzero(table.result == UNFINISHED)
    positions = PositionBatch(table.game, table.own[rows], table.opp[rows])
    known = name or f"all of {game_name(table.game) or repr(table.game)}"
    return Suite(known, positions, table.action_scores(rows.tolist()), {"made": "all reachable unfinished positions"})


MADE: dict[str, Callable[[], Suite]] = {"TTT-Exact-v1": lambda: all_positions("TicTacToe-v0", "TTT-Exact-v1")}
"""The suites that are made when they are asked for; the others are files of the package."""


@functools.lru_cache(maxsize=len(HASHES))
def suite(name: str) -> Suite:
    """A suite of the package.

    - `C4-Exact-v1`: Connect Four, for *reporting*. Only decisive positions, in which the legal moves have at least two
      different win/draw/loss values, from games of players of several strengths, no two alike or mirror images.
    - `C4-Choose-v1`: made alike from another seed, for *choosing*: checkpoints, settings, when to stop. It has no
      position in common with the other, nor a mirror image. What was chosen by a set looks better on it than it is, so
      never report the figures of this one, and never choose by the other.
    - `TTT-Exact-v1`: all 4,520 unfinished positions of tic-tac-toe.

    Raises:
        ValueError: there is no suite of that name (the message has the near ones); or its file is damaged or is not the
            one that belongs to this version of the package.

    Example:
        >>> from tictac_env.arena import suite
        >>> len(suite("C4-Exact-v1").positions)
        9000
    """
    if name not in HASHES:
        raise ValueError(f"no suite is called {name!r}; {did_you_mean(str(name), HASHES)}")
    path = FOLDER / f"{name}.npz"
    found = MADE[name]() if name in MADE else Suite.load(path)
    if found.sha256 != HASHES[name]:
        where = name if name in MADE else os.fspath(path)
        raise ValueError(f"{where} is not the suite {name}: its hash is {found.sha256}, not {HASHES[name]}")
    return found


def as_suite(
    positions: Suite | str | os.PathLike[str] | Sequence[ScoredPosition], game: str | Game | None = None
) -> Suite:
    """Scored positions in any form as a suite; arguments and errors are those of `move_accuracy`."""
    if isinstance(positions, str) and positions in HASHES:
        found = suite(positions)
    elif isinstance(positions, Suite):
        found = positions
    elif isinstance(positions, (str, os.PathLike)):
        found = _read(positions, "ConnectFour-v0" if game is None else game)
    else:
        found = Suite.of("positions", positions)
    if game is not None and found.game != get_game(game):
        raise ValueError(f"{found.name} has positions of the game {found.game!r}, not of {get_game(game)!r}")
    return found


def _read(path: str | os.PathLike[str], game: str | Game) -> Suite:
    if Path(path).suffix == ".npz":
        return Suite.load(path)
    try:
        return Suite.of(Path(path).name, read_scored_positions(path, game))
    except FileNotFoundError as error:
        hint = did_you_mean(os.fspath(path), HASHES)
        raise FileNotFoundError(f"there is no file {os.fspath(path)!r}, and no suite of that name; {hint}") from error


CHUNK = 64
"""Positions that are solved between two writes."""
TABLE_MEGABYTES = 256
WORKER_MEGABYTES = 64
"""The table of each worker: many of them share a machine."""
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
        cache: a file that keeps the scores as they are found (`LabelStore`): a run that is stopped at any moment, by
            Ctrl-C or by force, continues from it. None to keep nothing.
        solver: a solver of the game; None for a new one.
        progress: if true, shows a progress bar.
        workers: the number of processes that solve, 1 for this one; or a `tictac_env.jobs.Cluster`. They have solvers
            of their own; only this process writes to the cache.

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
        solver = solver or _new_solver(game, TABLE_MEGABYTES)
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
