"""Tournaments in the page: the ratings and games are those of the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from web_client import PATIENT, Client, visited

from tictac_env.arena import ResultStore, ratings, round_robin
from tictac_env.web import results
from tictac_env.web.app import Server

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
    assert client.get("/api/about")["tournament"] is True
    (only,) = client.get("/api/tournament")["stores"]
    assert only["store"] == "games"
    assert {one["game"]: one["count"] for one in only["games"]} == {"TicTacToe-v0": 72, "ConnectFour-v0": 4}
    found = client.get("/api/tournament/table", **TTT)
    truth = ratings(store, "TicTacToe-v0")
    assert [one["name"] for one in found["players"]] == list(truth.names)
    for name in ("elo", "low", "high"):
        assert [one[name] for one in found["players"]] == [row[name] for row in truth.table()]
    for pair, row in zip(found["pairs"], truth.cross_table(), strict=True):
        assert (pair["player"], pair["opponent"], pair["score"]) == (row["player"], row["opponent"], row["score"])
        games = [a + b for a, b in zip(pair["as_first"], pair["as_second"], strict=True)]
        assert sum(games) == row["games"]
        assert (games[0] + games[1] / 2) / sum(games) == pytest.approx(row["score"])


def test_every_game_can_be_replayed(client: Client, store: Path) -> None:
    pages = [client.get("/api/tournament/games", **TTT, page=page) for page in range(5)]
    assert {found["count"] for found in pages} == {72}
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
    client.refused("GET", "/api/tournament/games", 400, **TTT, page=-1)
    (tmp_path / "other.sqlite").write_text("no store")
    for path in (tmp_path / "none.sqlite", tmp_path):
        with pytest.raises(ValueError, match="result store"):
            Server(store=path)
