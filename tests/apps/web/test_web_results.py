"""Tournaments in the page: the ratings and games are those of the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from web_client import PATIENT, Client, visited

from tictac_apps.web import results
from tictac_apps.web.app import Server
from tictac_apps.web.requests import Fields
from tictac_env.arena import ResultStore, ratings, round_robin

TTT = {"store": "games", "game": "TicTacToe-v0"}


@pytest.fixture(scope="module", name="store")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stores") / "games.sqlite"
    round_robin(["random", "rule", "minimax"], games=24, openings=2, store=path)
    round_robin(["random", "rule"], game="ConnectFour-v0", games=4, openings=1, store=path)
    return path


@pytest.fixture(scope="module", name="client")
def tournament_client(store: Path) -> Iterator[Client]:
    with visited(Server(PATIENT, store=store)) as http:
        yield Client(http)


def test_ratings_and_the_cross_table_are_those_of_the_package(client: Client, store: Path) -> None:
    assert client.get("/api/server")["tournament"] is True
    (only,) = client.get("/api/tournament")["stores"]
    assert only["store"] == "games"
    assert {one["game"]: one["count"] for one in only["games"]} == {"TicTacToe-v0": 72, "ConnectFour-v0": 4}
    found = client.get("/api/tournament/table", **TTT)
    truth = ratings(store, "TicTacToe-v0")
    assert [one["player"] for one in found["players"]] == list(truth.names)
    for name in ("elo", "low", "high"):
        assert [one[name] for one in found["players"]] == [getattr(row, name) for row in truth.table()]
    with ResultStore(store) as kept:
        games_of = [(one.fixture.first.name, one.fixture.second.name, one.result) for one in kept.games("TicTacToe-v0")]
    results_of = Counter(((first, second), result) for first, second, result in games_of)
    for pair, row in zip(found["pairs"], truth.cross_table(), strict=True):
        assert (pair["player"], pair["opponent"], pair["score"]) == (row.player, row.opponent, row.score)
        names, games = (pair["player"], pair["opponent"]), [*pair["as_first"], *pair["as_second"]]
        assert games == [results_of[names, result] for result in (1, 0, -1)] + [
            results_of[names[::-1], result] for result in (-1, 0, 1)
        ]
        assert sum(games) == row.games and pair["expected"] == row.expected


def test_every_game_can_be_replayed(client: Client, store: Path) -> None:
    pages = [client.get("/api/tournament/games", **TTT, page=page) for page in range(5)]
    assert {(found["count"], found["size"]) for found in pages} == {(72, 20)}
    assert [[one["number"] for one in found["games"]] for found in pages] == [
        [*range(1, 21)], [*range(21, 41)], [*range(41, 61)], [*range(61, 73)], []
    ]  # fmt: skip
    seen = [one for found in pages for one in found["games"]]
    with ResultStore(store) as kept:
        records = list(kept.games("TicTacToe-v0"))
    for one, record in zip(seen, records, strict=True):
        assert (one["moves"], one["result"]) == (record.moves, record.result)
        assert one["first"] == record.fixture.first.name and one["start"] == 2
        assert client.get("/api/position", game="TicTacToe-v0", moves=one["moves"])["over"]
    found = client.get("/api/tournament/games", **TTT, first="rule", second="random")
    assert found["count"] == len(found["games"]) == 12
    assert {(one["first"], one["second"]) for one in found["games"]} == {("rule", "random")}


def test_the_cross_table_is_of_the_best_players(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "CROSSED", 2)
    found = client.get("/api/tournament/table", **TTT)
    best = {one["player"] for one in found["players"][:2]}
    assert len(found["players"]) == 3 and [{one["player"], one["opponent"]} for one in found["pairs"]] == [best, best]


def test_the_table_can_be_downloaded(client: Client) -> None:
    answer = client.http.get("/api/tournament/csv", params=TTT)
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''games-TicTacToe-v0.csv"
    header, *rows = answer.content.decode("utf-8-sig").splitlines()
    assert header.split(",")[:2] == ["player", "elo"] and len(rows) == 3


def test_a_store_is_not_read_again_at_once_and_reading_takes_a_tenth_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, now = tmp_path / "games.sqlite", [1000.0]
    monkeypatch.setattr(results, "time", SimpleNamespace(monotonic=lambda: now[0]))
    round_robin(["random", "rule"], games=2, store=path)
    shown = results.StoreResults(path)

    def count() -> int:
        (game,) = shown.listed(Fields({}))["stores"][0]["games"]
        return int(game["count"])

    sorted_by_game = results.StoreResults._sorted

    def slowly(self: results.StoreResults, of_game: Any) -> Any:
        now[0] += 2.0
        return sorted_by_game(self, of_game)

    assert count() == 2
    round_robin(["random", "rule"], games=4, store=path)
    now[0] += 5.0
    assert count() == 2
    now[0] += 0.1
    monkeypatch.setattr(results.StoreResults, "_sorted", slowly)
    assert count() == 4
    round_robin(["random", "rule"], games=6, store=path)
    now[0] += 17.9  # after the two seconds of reading
    assert count() == 4
    now[0] += 0.2
    assert count() == 6
    monkeypatch.setattr(results.StoreResults, "_sorted", None)  # unchanged, it is not read again
    now[0] += 1000
    assert count() == 6


def test_a_store_that_cannot_be_read_any_more_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "games.sqlite"
    round_robin(["random", "rule"], games=2, store=path)
    with visited(Server(PATIENT, store=path, training=False)) as http:
        path.unlink()
        for address in ("", "/table", "/games"):
            reason = Client(http).refused("GET", f"/api/tournament{address}", 409, store="games", game="TicTacToe-v0")
            assert reason == "the store cannot be shown: FileNotFoundError"
        path.write_bytes(b"no store" * 1000)
        assert "ValueError" in Client(http).refused("GET", "/api/tournament", 409)


def test_games_that_are_added_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "more.sqlite"
    round_robin(["random", "rule"], games=2, store=path)
    with visited(Server(PATIENT, store=tmp_path)) as http:
        client = Client(http)
        assert client.get("/api/tournament")["stores"][0]["games"][0]["count"] == 2
        round_robin(["random", "rule"], games=6, store=path)
        monkeypatch.setattr(results, "SECONDS_BETWEEN_LOOKS", 0.0)
        monkeypatch.setattr(results, "SHARE_OF_LOOKS", float("inf"))
        assert client.get("/api/tournament")["stores"][0]["games"][0]["count"] == 6


def test_what_is_not_there_is_refused(client: Client, tmp_path: Path) -> None:
    client.refused("GET", "/api/tournament/table", 404, **(TTT | {"store": "../games"}))
    client.refused("GET", "/api/tournament/table", 404, **(TTT | {"game": "KInARow-v0"}))
    for page in (-1, 10**6 + 1):
        client.refused("GET", "/api/tournament/games", 400, **TTT, page=page)
    assert client.get("/api/tournament/games", **TTT, page=10**6)["games"] == []
    assert client.get("/api/tournament/games", **TTT, first="x" * 200)["count"] == 0
    for name in ("first", "second"):
        client.refused("GET", "/api/tournament/games", 400, **TTT, **{name: "x" * 201})
    (tmp_path / "other.sqlite").write_text("no store")
    for path in (tmp_path / "none.sqlite", tmp_path):
        with pytest.raises(ValueError, match="result store"):
            Server(store=path)
