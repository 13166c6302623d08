"""Tournaments from result stores: ratings, who beat whom, and each game."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from tictac_env.arena import ResultStore, ratings
from tictac_env.arena.game_record import GameRecord, distinct_games, game_called
from tictac_env.arena.rating import Estimate, count_games
from tictac_env.position import parse_moves
from tictac_env.web.asking import Refused
from tictac_env.web.board_view import title

SUFFIXES = (".sqlite", ".db")
"""How stores in a folder end."""
PAGE = 20
"""How many games are listed at a time."""
SECONDS_BETWEEN_LOOKS = 5.0
"""A store that a tournament is writing to is not read again sooner."""


@dataclass(frozen=True)
class GamesOfStore:
    """The records of one game in a store, and what the players are called."""

    records: list[GameRecord]
    names: dict[Any, str]

    @classmethod
    def of(cls, records: list[GameRecord]) -> GamesOfStore:
        """The same, counted."""
        return cls(records, count_games(records).names)

    def players(self, record: GameRecord) -> tuple[str, str]:
        """Who played first and second."""
        return self.names[record.fixture.first], self.names[record.fixture.second]


class Results:
    """The stores that a server shows.

    Args:
        path: a store, or a folder of them.

    Raises:
        ValueError: there is none, or it is damaged.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise ValueError(f"there is no result store {str(path)!r}")
        self._path = path
        self._lock = threading.Lock()
        self._read: dict[str, tuple[float, float, dict[str, GamesOfStore]]] = {}
        self._tables: dict[tuple[str, str], tuple[float, dict[str, Any]]] = {}
        for store in self._stores().values():
            with ResultStore(store) as opened:
                len(opened)

    def _stores(self) -> dict[str, Path]:
        if self._path.is_dir():
            return {path.stem: path for path in sorted(self._path.iterdir()) if path.suffix in SUFFIXES}
        return {self._path.stem: self._path}

    def listed(self) -> list[dict[str, Any]]:
        """The stores, and the games in each."""
        return [
            {
                "store": name,
                "games": [
                    {"game": game, "title": title(game_called(game)), "count": len(found.records)}
                    for game, found in self._games(name)[1].items()
                ],
            }
            for name in self._stores()
        ]

    def table(self, store: str, game: str) -> dict[str, Any]:
        """The ratings and the cross table of a game.

        Returns:
            `players`: best first, each `name`, `elo`, `low`, `high` (None where there is no bound), `score`, `games`,
            `distinct` and `forfeits`; `pairs`: for each ordered pair `player`, `opponent`, `score`, `expected`, and
            `as_first` and `as_second`, [won, drawn, lost]; `games`, `distinct`, `anchor`, `first_advantage`, `draws`,
            `resampled`.
        """
        read, games = self._games(store)
        found = _game_in(games, game)
        with self._lock:
            known = self._tables.get((store, game))
        if known is not None and known[0] == read:
            return known[1]
        table = _table(found)
        with self._lock:
            self._tables[store, game] = read, table
        return table

    def games(self, store: str, game: str, first: str, second: str, page: int) -> dict[str, Any]:
        """Some games, `PAGE` at a time: those of `first` against `second`, each of them "" for anybody.

        Returns:
            `games`, each `number`, `first`, `second`, `moves`, `start` (after how many of them the players began),
            `result` (1, 0 or -1) and `forfeit`; `count`, of all pages; `page` and its `size`.
        """
        found = _game_in(self._games(store)[1], game)
        chosen = [
            (number, names, record)
            for number, record in enumerate(found.records, 1)
            for names in [found.players(record)]
            if first in ("", names[0]) and second in ("", names[1])
        ]
        shown = [
            {
                "number": number,
                "first": names[0],
                "second": names[1],
                "moves": record.moves,
                "start": len(parse_moves(game_called(game), record.fixture.opening)),
                "result": record.result,
                "forfeit": record.forfeit,
            }
            for number, names, record in chosen[page * PAGE : (page + 1) * PAGE]
        ]
        return {"games": shown, "count": len(chosen), "page": page, "size": PAGE}

    def _games(self, name: str) -> tuple[float, dict[str, GamesOfStore]]:
        """When the store was read, and its records by game; only games of at least two players."""
        path = self._stores().get(name)
        if path is None:
            raise Refused(f"there is no store {name!r} here", 404)
        with self._lock:
            known = self._read.get(name)
            changed = path.stat().st_mtime
            now = time.monotonic()
            if known is None or (known[1] != changed and now - known[0] > SECONDS_BETWEEN_LOOKS):
                of_game: dict[str, list[GameRecord]] = defaultdict(list)
                with ResultStore(path) as store:
                    for record in store:
                        of_game[record.fixture.game].append(record)
                known = now, changed, {game: GamesOfStore.of(records) for game, records in of_game.items()}
                self._read[name] = known
            return known[0], known[2]


def _game_in(games: dict[str, GamesOfStore], game: str) -> GamesOfStore:
    if game not in games:
        raise Refused(f"there are no games of {game!r} in this store", 404)
    return games[game]


def _table(found: GamesOfStore) -> dict[str, Any]:
    rated = ratings(found.records)
    counts: dict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for record in found.records:
        one, two = found.players(record)
        counts[one, two, 0][1 - record.result] += 1
        counts[two, one, 1][1 + record.result] += 1
    pairs = [
        {
            "player": row["player"],
            "opponent": row["opponent"],
            "score": row["score"],
            "expected": row["expected"],
            "as_first": counts[row["player"], row["opponent"], 0],
            "as_second": counts[row["player"], row["opponent"], 1],
        }
        for row in rated.cross_table()
    ]
    players = [
        {
            "name": one.name,
            **_estimate(one.elo, "elo"),
            "score": one.score,
            "games": one.games,
            "distinct": one.distinct_games,
            "forfeits": one.forfeits,
        }
        for one in rated.players
    ]
    return {
        "players": players,
        "pairs": pairs,
        "games": len(found.records),
        "distinct": distinct_games(found.records),
        "anchor": rated.anchor,
        "first_advantage": _estimate(rated.first_advantage, "value"),
        "draws": _estimate(rated.draws, "value"),
        "resampled": f"{rated.clusters} {rated.resampled_by}",
    }


def _estimate(one: Estimate, name: str) -> dict[str, float | None]:
    """An estimate and the ends of its interval; None where there is no bound."""
    return {key: end if isfinite(end) else None for key, end in zip((name, "low", "high"), one, strict=True)}
