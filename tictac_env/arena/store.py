"""A SQLite file of games: each once and complete, whatever stops the program."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tictac_env.arena.game_record import Entrant, Fixture, GameRecord, game_called, games_as_csv
from tictac_env.storage import save_text

APPLICATION_ID = 0x74747234
"""Marks a result store in the file's header ("ttr4")."""
SCHEMA_VERSION = 1
WAIT = 60.0
"""Seconds to wait for other processes that write."""
SCHEMA = """
CREATE TABLE players (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    settings TEXT NOT NULL,
    checkpoint TEXT NOT NULL,
    UNIQUE (name, settings, checkpoint)
);
CREATE TABLE games (
    id INTEGER PRIMARY KEY,
    game TEXT NOT NULL,
    first INTEGER NOT NULL REFERENCES players (id),
    second INTEGER NOT NULL REFERENCES players (id),
    opening TEXT NOT NULL,
    round INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    time_limit REAL NOT NULL,
    moves TEXT NOT NULL,
    result INTEGER NOT NULL CHECK (result IN (1, 0, -1)),
    forfeit TEXT NOT NULL,
    seconds_first REAL NOT NULL,
    seconds_second REAL NOT NULL,
    checksum TEXT NOT NULL,
    UNIQUE (game, first, second, opening, round, seed, time_limit)
);
"""
NOT_THE_FILE = {
    *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY),
    *(sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH),
}
"""SQLite's codes for errors of which damage is not the cause."""
NO_LIMIT = 0.0
"""Stands for no time limit in the file, where NULL would not be equal to itself."""
COLUMNS = "game, opening, round, seed, time_limit, moves, result, forfeit, seconds_first, seconds_second"
SELECT = f"""
SELECT games.id, one.name, one.settings, one.checkpoint, two.name, two.settings, two.checkpoint, {COLUMNS}, checksum
FROM games LEFT JOIN players AS one ON one.id = games.first LEFT JOIN players AS two ON two.id = games.second
"""
INSERT = f"""
INSERT INTO games (first, second, {COLUMNS}, checksum)
VALUES ((SELECT id FROM players WHERE name = ? AND settings = ? AND checkpoint = ?),
        (SELECT id FROM players WHERE name = ? AND settings = ? AND checkpoint = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (game, first, second, opening, round, seed, time_limit) DO NOTHING
"""


class ResultStore:
    """Games in a SQLite file, one row a game.

    A game is known by its `Fixture`: adding it again changes nothing, so nothing is counted twice. `add` writes its
    games atomically, before it returns. Several processes may write at the same time. The file keeps SQLite's rollback
    journal rather than a log of writes: so it is one file when no process is writing, which can be copied, and which
    may lie on a network file system.

    Each row has a checksum, and the file is checked when it is opened, so damage is found before it is used.

    Args:
        path: the file; it is created when the first game is added.

    Raises:
        ValueError: the file is damaged, not a result store, or of a later version; the message names it, and nothing
            has changed.
        OSError: it cannot be opened or read.

    Example:
        >>> import tempfile
        >>> from tictac_env.arena import round_robin
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = f"{folder}/results.sqlite"
        ...     tournament = round_robin(["random", "rule"], games=10, store=path)
        ...     with ResultStore(path) as store:
        ...         len(store), store.players()[0].name
        (10, 'random')
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._connection: sqlite3.Connection | None = None
        if self._has_content():
            self._open()

    def add(self, records: Iterable[GameRecord]) -> int:
        """Adds games, all of them or, if anything fails, none; returns the number of new ones.

        Raises:
            ValueError: the file is damaged.
            OSError: it cannot be written, or another process writes for longer than a minute.
        """
        rows = [_row(record) for record in records]
        if not rows:
            return 0
        with self._errors():
            connection = self._open()
            with connection:
                connection.execute("BEGIN IMMEDIATE")  # wait now for others that write, not half-way
                players = {row[begin : begin + 3] for row in rows for begin in (0, 3)}
                connection.executemany(
                    "INSERT OR IGNORE INTO players (name, settings, checkpoint) VALUES (?, ?, ?)", sorted(players)
                )
                before = connection.total_changes
                connection.executemany(INSERT, rows)
                return connection.total_changes - before

    def __iter__(self) -> Iterator[GameRecord]:
        """All games, in the order in which they were added."""
        return self.games()

    def games(
        self, game: str | None = None, player: str | None = None, seed: int | None = None, forfeits: bool | None = None
    ) -> Iterator[GameRecord]:
        """Some of the games, in the order in which they were added.

        Args:
            game: only games of this name.
            player: only games of players of this name.
            seed: only games of tournaments with this seed.
            forfeits: only games that were forfeited, or only those that were not.

        Raises:
            ValueError: the file is damaged; the message names it and the row.
        """
        conditions = {"game = ?": game, "? IN (one.name, two.name)": player, "seed = ?": seed}
        conditions["(forfeit <> '') = ?"] = forfeits
        chosen = {condition: value for condition, value in conditions.items() if value is not None}
        return (record for _, record in self._select(chosen))

    def after(self, id: int, game: str, seed: int) -> Iterator[tuple[int, GameRecord]]:
        """The games that were added after the one with this id, of a game and of tournaments with this seed; and their
        ids, which grow from 1.
        """
        return self._select({"games.id > ?": id, "game = ?": game, "seed = ?": seed})

    def players(self) -> list[Entrant]:
        """All players, in the order in which they were added.

        Raises:
            ValueError: the file is damaged.
        """
        if self._connection is None and not self._has_content():
            return []
        with self._errors():
            rows = self._open().execute("SELECT name, settings, checkpoint FROM players ORDER BY id").fetchall()
        if not all(isinstance(value, str) for row in rows for value in row):
            raise ValueError(f"{self.path} is damaged: the name, settings or checkpoint of a player is not a string")
        return [Entrant(*row) for row in rows]

    def export(self, path: str | os.PathLike[str]) -> None:
        """Writes all games atomically into a CSV or JSON lines file, by the suffix of its name.

        Raises:
            ValueError: the name ends neither with .csv nor with .jsonl; or the store is damaged.
        """
        kind = Path(path).suffix
        if kind not in (".csv", ".jsonl"):
            raise ValueError(f"a store is exported as .csv or .jsonl, not as {os.fspath(path)!r}")
        if kind == ".jsonl":
            save_text(path, "".join(json.dumps(record.to_dict()) + "\n" for record in self))
        else:
            save_text(path, games_as_csv(self))

    def close(self) -> None:
        """Closes the file; the next use opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __len__(self) -> int:
        """The number of games."""
        if self._connection is None and not self._has_content():
            return 0
        with self._errors():
            return int(self._open().execute("SELECT count(*) FROM games").fetchone()[0])

    def __enter__(self) -> ResultStore:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ResultStore({os.fspath(self.path)!r})"

    def _has_content(self) -> bool:
        """False if there is no file, or an empty one whose first writer was killed."""
        return self.path.exists() and (self.path.stat().st_size > 0 or Path(f"{self.path}-journal").exists())

    def _select(self, conditions: dict[str, str | int]) -> Iterator[tuple[int, GameRecord]]:
        if self._connection is None and not self._has_content():
            return
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        with self._errors():
            rows = self._open().execute(f"{SELECT} {where} ORDER BY games.id", tuple(conditions.values())).fetchall()
        for row in rows:
            yield row[0], self._record(row)

    def _record(self, row: tuple[Any, ...]) -> GameRecord:
        id, *values, checksum = row
        if any(value is None or isinstance(value, bytes) for value in values) or _checksum(values) != checksum:
            raise ValueError(f"{self.path} is damaged: game {id} is not what was written")
        first, second = Entrant(*values[:3]), Entrant(*values[3:6])
        game, opening, round, seed, limit, moves, result, forfeit, *seconds = values[6:]
        fixture = Fixture(game, first, second, opening, round, seed, limit or None)
        return GameRecord(fixture, moves, result, forfeit, (seconds[0], seconds[1]))

    def _open(self) -> sqlite3.Connection:
        """The connection; the first time the file is checked or created."""
        if self._connection is not None:
            return self._connection
        with self._errors():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=WAIT, isolation_level=None)
            try:
                connection.execute("PRAGMA foreign_keys = ON")
                self._check(connection)
            except BaseException:
                connection.close()
                raise
        self._connection = connection
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        """Checks an existing file, and creates the tables of a new one."""
        if not self._is_empty(connection):
            self._check_header(connection)
            (finding,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if finding != "ok":
                raise ValueError(f"{self.path} is damaged: {finding}")
            return
        with connection:
            connection.execute("BEGIN IMMEDIATE")  # whoever comes second finds the tables made
            if self._is_empty(connection):
                for statement in filter(str.strip, SCHEMA.split(";")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        self._check_header(connection)

    @staticmethod
    def _is_empty(connection: sqlite3.Connection) -> bool:
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        return bool(tables == 0 and connection.execute("PRAGMA application_id").fetchone()[0] == 0)

    def _check_header(self, connection: sqlite3.Connection) -> None:
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise ValueError(f"{self.path} is a SQLite file, but not a result store")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != SCHEMA_VERSION:
            raise ValueError(
                f"{self.path} is a result store of version {version}; this program reads version {SCHEMA_VERSION}"
            )
        tables = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
        if tables != {statement.split()[2]: statement.strip() for statement in filter(str.strip, SCHEMA.split(";"))}:
            raise ValueError(f"{self.path} is damaged: its tables are not those of a result store")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turns SQLite's errors into a ValueError if the file is at fault, else an OSError; both name the file."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in NOT_THE_FILE:
                raise OSError(f"{self.path} cannot be used as a result store: {error}") from error
            raise ValueError(f"{self.path} is damaged, or not a result store: {error}") from error
        except UnicodeDecodeError as error:
            raise ValueError(f"{self.path} is damaged: {error}") from error


def _row(record: GameRecord) -> tuple[Any, ...]:
    """The values of a record, in the order of `INSERT`."""
    fixture = record.fixture
    game_called(fixture.game)
    if record.result not in (1, 0, -1):
        raise ValueError(f"the result of a game must be 1, 0 or -1, not {record.result!r}: {record!r}")
    values = (
        *(*fixture.first, *fixture.second, fixture.game, fixture.opening, int(fixture.round), int(fixture.seed)),
        *(float(fixture.time_limit or NO_LIMIT), record.moves, int(record.result), record.forfeit),
        *map(float, record.seconds),
    )
    return (*values, _checksum(values))


def _checksum(values: Iterable[object]) -> str:
    return hashlib.blake2b(json.dumps(list(values)).encode(), digest_size=8).hexdigest()
