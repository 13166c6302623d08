"""The result store: every game once, nothing lost to a kill, nothing believed that is damaged."""

from __future__ import annotations

import csv
import json
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import breadth, playout
from modes import full_disk

from tictac_env.arena import Entrant, Fixture, GameRecord, ResultStore, ratings, round_robin
from tictac_env.arena.game_record import name_of_game
from tictac_env.arena.store import SELECT, _checksum
from tictac_env.games import GAMES, Game
from tictac_env.position import Position, format_moves

PLAYERS = [Entrant("random", '{"budget": "no search"}'), Entrant("net", '{"layers": [64, 64]}', "0f" * 32)]


def some_record(game: Game, seed: int, round: int = 0) -> GameRecord:
    """A random game as a record."""
    final = playout(game, seed)[-1]
    assert final.outcome is not None
    result = 0 if final.outcome.winner is None else 1 - 2 * final.outcome.winner
    opening = format_moves(game, final.moves[:2])
    fixture = Fixture(
        name_of_game(game), *PLAYERS[:: 1 - 2 * (seed % 2)], opening, round, seed, 0.5 if seed % 3 else None
    )
    return GameRecord(fixture, final.to_moves(), result, "", (0.25, 1 / 3))


TTT = GAMES["TicTacToe-v0"]
RECORDS = [some_record(TTT, seed) for seed in range(40)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results" / "games.sqlite"


def test_what_was_added_comes_back(game: Game, path: Path) -> None:
    if game.cells < 3:
        return  # no two plies
    records = [some_record(game, seed) for seed in range(5)]
    with ResultStore(path) as store:
        assert not len(store) and list(store) == store.players() == [] and store.add([]) == 0
        assert not path.parent.exists()  # nothing is made before there is a game
        assert store.add(records) == 5
    with ResultStore(path) as store:
        assert list(store) == records and len(store) == 5
        assert set(store.players()) == set(PLAYERS)
        for record in store:
            positions = record.positions()
            assert positions[-1].is_over and positions[-1].game == game and positions[0] == Position.start(game)


def test_a_game_counts_once(path: Path) -> None:
    store = ResultStore(path)
    assert store.add(RECORDS) == 40
    assert store.add(RECORDS) == 0 and store.add([*RECORDS[:3], some_record(TTT, 99)]) == 1
    changed = replace(RECORDS[0], moves="123", forfeit="time", result=-1)
    assert store.add([changed]) == 0 and next(iter(store)) == RECORDS[0]
    assert len(store) == 41
    for field, value in (("round", 7), ("seed", 7), ("time_limit", 7.0), ("opening", "12"), ("first", PLAYERS[1])):
        other = replace(RECORDS[0], fixture=RECORDS[0].fixture._replace(**{field: value}))
        assert other.fixture != RECORDS[0].fixture and store.add([other]) == 1
    assert len(store) == 46
    store.close()
    assert len(store) == 46


def test_games_are_found_by_what_they_are(path: Path) -> None:
    with ResultStore(path) as store:
        forfeit = replace(some_record(TTT, 50), forfeit="time: more than 1 s")
        store.add([*RECORDS, forfeit, some_record(GAMES["ConnectFour-v0"], 1)])
        assert [one.fixture.game for one in store.games(game="ConnectFour-v0")] == ["ConnectFour-v0"]
        assert len(list(store.games(player="net"))) == 42 and not list(store.games(player="nobody"))


def test_all_of_what_is_added_or_none(path: Path) -> None:
    with ResultStore(path) as store:
        store.add(RECORDS[:2])
        unknown = replace(RECORDS[3], fixture=RECORDS[3].fixture._replace(game="Chess-v0"))
        with pytest.raises(ValueError, match="no game is called 'Chess-v0'"):
            store.add([RECORDS[2], unknown])
        with pytest.raises(ValueError, match="must be 1, 0 or -1, not 2"):
            store.add([RECORDS[2], replace(RECORDS[3], result=2)])
        assert list(store) == RECORDS[:2]


def test_games_after_one_are_those_that_were_added_later(path: Path) -> None:
    with ResultStore(path) as store:
        store.add(replace(record, fixture=record.fixture._replace(seed=3)) for record in RECORDS[:1])
        store.add(some_record(TTT, 3, round) for round in range(5))
        found = list(store.after(0, "TicTacToe-v0", 3))
        ids = [id for id, _ in found]
        assert len(ids) == 6 and ids == sorted(set(ids)) and ids[0] == 1
        for number, id in enumerate(ids, 1):
            assert list(store.after(id, "TicTacToe-v0", 3)) == found[number:]


def test_after_an_addition_that_failed_others_work(path: Path) -> None:
    with ResultStore(path) as store:
        store.add(RECORDS[:2])
        long = [replace(record, forfeit="x" * 10_000) for record in RECORDS[2:]]
        with full_disk(path.stat().st_size + 4096), pytest.raises(OSError, match=r"games\.sqlite cannot be used"):
            store.add(long)
        with pytest.raises(UnicodeEncodeError):
            store.add([*RECORDS[2:], replace(some_record(TTT, 50), forfeit="\ud800")])
        assert list(store) == RECORDS[:2]
        assert store.add(RECORDS[2:4]) == 2
    with ResultStore(path) as store:
        assert list(store) == RECORDS[:4]


def test_games_are_exported(path: Path, tmp_path: Path) -> None:
    with ResultStore(path) as store:
        store.add(RECORDS)
        store.export(tmp_path / "games.csv")
        store.export(tmp_path / "games.jsonl")
        with pytest.raises(ValueError, match=r"as \.csv or \.jsonl, not as .*games\.xlsx"):
            store.export(tmp_path / "games.xlsx")
    lines = [json.loads(line) for line in (tmp_path / "games.jsonl").read_text().splitlines()]
    assert lines == [record.to_dict() for record in RECORDS]
    with (tmp_path / "games.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row, record in zip(rows, RECORDS, strict=True):
        assert (row["first"], row["moves"]) == (record.fixture.first.name, record.moves)
        assert (int(row["result"]), int(row["state"])) == (record.result, record.fixture.state)
        assert json.loads(row["second_settings"]) == json.loads(record.fixture.second.settings)


def test_a_record_whose_result_is_not_that_of_its_moves_is_not_replayed() -> None:
    wrong = replace(RECORDS[0], result=-RECORDS[0].result or 1)
    with pytest.raises(ValueError, match="is not that of the game"):
        wrong.positions()
    assert replace(wrong, forfeit="time").positions()[-1].is_over
    with pytest.raises(ValueError, match="moves of this game"):
        replace(wrong, moves="0").positions()


def execute(path: Path, statement: str) -> None:
    """Changes a database behind its store's back."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def changed_store(path: Path, statement: str) -> None:
    with ResultStore(path) as store:
        store.add(RECORDS)
    execute(path, statement)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_text("name,score\nrandom,0.5\n" * 100), "damaged, or not a result store"),
        (lambda path: execute(path, "CREATE TABLE games (id INTEGER)"), "a SQLite file, but not a result store"),
        (lambda path: changed_store(path, "PRAGMA user_version = 99"), "version 99; this program reads version 1"),
        (lambda path: changed_store(path, "ALTER TABLE games ADD COLUMN mood TEXT"), "its tables are not those"),
    ],
)
def test_a_file_that_is_no_store_is_named_and_left_alone(make, message: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "games.sqlite"
    make(path)
    before = path.read_bytes()
    uses = (
        lambda: ResultStore(path),
        lambda: round_robin(["random", "rule"], games=2, store=path),
        lambda: ratings(path),
    )
    for use in uses:
        with pytest.raises(ValueError, match=rf"games\.sqlite.*{message}"):
            use()
        assert path.read_bytes() == before and [one.name for one in tmp_path.iterdir()] == ["games.sqlite"]


@pytest.mark.parametrize(
    "column", ["games.moves", "games.seed", "games.seconds_first", "players.name", "players.settings"]
)
def test_bytes_in_place_of_text_or_a_number_are_named(column: str, path: Path) -> None:
    table, name = column.split(".")
    changed_store(path, f"UPDATE {table} SET {name} = x'00ff' WHERE id = 2")
    with ResultStore(path) as store:
        with pytest.raises(ValueError, match=r"games\.sqlite is damaged: game \d+ is not what was written"):
            list(store)
        if table == "players":
            with pytest.raises(ValueError, match=r"games\.sqlite is damaged: the name"):
                store.players()


def test_a_game_without_its_player_is_damage_whatever_its_checksum(path: Path) -> None:
    with ResultStore(path) as store:
        store.add(RECORDS[:1])
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM players WHERE id = 1")
    _, *values, _ = connection.execute(SELECT).fetchone()
    assert None in values
    connection.execute("UPDATE games SET checksum = ?", (_checksum(values),))
    connection.commit()
    connection.close()
    with ResultStore(path) as store, pytest.raises(ValueError, match=r"games\.sqlite is damaged: game 1"):
        list(store)


def test_who_comes_second_waits_while_the_tables_are_made(path: Path) -> None:
    path.parent.mkdir()
    first, added = sqlite3.connect(path, isolation_level=None), list[int]()

    def add() -> None:
        with ResultStore(path) as store:
            added.append(store.add(RECORDS))

    second = threading.Thread(target=add)
    first.execute("BEGIN IMMEDIATE")
    second.start()
    second.join(0.3)
    assert second.is_alive() and not added
    first.execute("COMMIT")
    second.join()
    first.close()
    assert added == [len(RECORDS)]


def test_a_store_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file where a folder should be")
    store = ResultStore(tmp_path / "results" / "games.sqlite")
    with pytest.raises(OSError, match="results"):
        store.add(RECORDS)
    folder = tmp_path / "folder.sqlite"
    folder.mkdir()
    with pytest.raises(OSError, match=r"folder\.sqlite cannot be used"):
        ResultStore(folder)


WRITER = """
import sys
from tictac_env.arena import Entrant, Fixture, GameRecord, ResultStore
path, begin, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
store = ResultStore(path)
print("begun", flush=True)
for seed in range(begin, begin + count):
    fixtures = [Fixture("TicTacToe-v0", Entrant("one"), Entrant("two"), "", round, seed) for round in range(10)]
    store.add(GameRecord(fixture, "51632", 1) for fixture in fixtures)
    print(seed, flush=True)
"""


def writer(path: Path, begin: int = 0, count: int = 10**6) -> subprocess.Popen[str]:
    """A process that adds ten games at a time and says each time that it has."""
    words = [sys.executable, "-c", WRITER, str(path), str(begin), str(count)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("times", breadth([2], [20]))
def test_a_store_outlives_kills(times: int, path: Path) -> None:
    """What `add` has returned from is there, and each addition is there as a whole."""
    rng, begin = random.Random(0), 0
    for _ in range(times):
        process = writer(path, begin)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.random() * 0.2)
        process.send_signal(signal.SIGKILL)
        said = process.communicate()[0].splitlines()
        begin = max([begin, *(int(line) + 1 for line in said if line)])
        with ResultStore(path) as store:
            seeds = [record.fixture.seed for record in store]
        assert sorted({*seeds}) == list(range(len({*seeds}))) and len(seeds) == 10 * len({*seeds})
        assert len({*seeds}) in (begin, begin + 1), "something that was added is lost"
        begin = len({*seeds})
    assert begin > times
