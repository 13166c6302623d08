"""Tournaments from result stores: ratings, who beat whom, and each game."""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from starlette.responses import Response

from tictac_apps.web.insight import title
from tictac_apps.web.requests import Fields, Refused
from tictac_env.arena import ResultStore, ratings
from tictac_env.arena.game_record import Entrant, GameRecord, distinct_games, game_called
from tictac_env.arena.rating import player_names
from tictac_env.arena.records import FiniteEstimate, PairRow, RatingRow
from tictac_env.position import parse_moves
from tictac_env.storage import csv_of

SUFFIXES = (".sqlite", ".db")
"""The endings of stores in a folder."""
PAGE = 20
"""The number of games listed at a time."""
MAX_NAME = 200
"""The most characters of a store, a game or a player."""
CROSSED = 40
"""The players in the cross table: the best ones."""
SECONDS_BETWEEN_LOOKS, SHARE_OF_LOOKS = 5.0, 0.1
"""A store that a tournament is writing to is not read again sooner, and reading takes no larger share of the time."""


@dataclass(frozen=True)
class CrossedPair(PairRow):
    """A row of the cross table; also the numbers of games won, drawn and lost from either seat."""

    as_first: list[int]
    as_second: list[int]


@dataclass(frozen=True)
class ResultTable:
    """The ratings and the cross table of some games; empty before the first game."""

    players: Sequence[RatingRow] = ()
    pairs: Sequence[CrossedPair] = ()
    games: int = 0
    distinct: int = 0
    anchor: str = ""
    first_advantage: FiniteEstimate | None = None
    draws: FiniteEstimate | None = None
    resampled: str = ""


def rated(
    records: list[GameRecord], names: dict[Entrant, str], resamples: int = 1000, anchor: str | None = None
) -> ResultTable:
    """The ratings and the cross table of some games, the best players first."""
    fitted = ratings(records, resamples=resamples, anchor=anchor)
    counts: dict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for record in records:
        first, second = names[record.fixture.first], names[record.fixture.second]
        counts[first, second, 0][1 - record.result] += 1
        counts[second, first, 1][1 + record.result] += 1
    return ResultTable(
        players=fitted.table(),
        pairs=[
            CrossedPair(**vars(row), as_first=counts[*pair, 0], as_second=counts[*pair, 1])
            for row in fitted.cross_table()
            for pair in [(row.player, row.opponent)]
        ],
        games=len(records),
        distinct=distinct_games(records),
        anchor=fitted.anchor,
        first_advantage=fitted.first_advantage.finite,
        draws=fitted.draws.finite,
        resampled=f"{fitted.clusters} {fitted.resampled_by}",
    )


class GamesOfStore:
    """The records of one game in a store, and the names of its players."""

    def __init__(self, records: list[GameRecord]) -> None:
        self.records = records
        self.names = player_names(records)

    def players(self, record: GameRecord) -> tuple[str, str]:
        """The names of the players, the first one first."""
        return self.names[record.fixture.first], self.names[record.fixture.second]

    @cached_property
    def table(self) -> ResultTable:
        """The ratings and the cross table."""
        return rated(self.records, self.names)


@contextmanager
def _readable() -> Iterator[None]:
    """Refuses a request for a store that cannot be read."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise Refused(f"the store cannot be shown: {type(error).__name__}", 409) from error


class StoreResults:
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
        self._rating = threading.Lock()  # visitors who look at the same table wait for it together
        self._read: dict[str, tuple[float, float, object, dict[str, GamesOfStore]]] = {}
        for store in self._stores().values():
            with ResultStore(store) as opened:
                len(opened)

    def _stores(self) -> dict[str, Path]:
        if self._path.is_dir():
            return {path.stem: path for path in sorted(self._path.iterdir()) if path.suffix in SUFFIXES}
        return {self._path.stem: self._path}

    @_readable()
    def listed(self, fields: Fields) -> dict[str, object]:
        """The stores, and the games in each."""
        stores = []
        for name in self._stores():
            counts = {game: len(stored.records) for game, stored in self._games(name).items()}
            games = [
                {"game": game, "title": title(game_called(game)), "count": count} for game, count in counts.items()
            ]
            stores.append({"store": name, "games": games})
        return {"stores": stores}

    @_readable()
    def table(self, fields: Fields) -> ResultTable:
        """The ratings and the cross table of a `game` in a `store`, with the pairs of the best `CROSSED` players."""
        chosen = self._chosen(fields)
        with self._rating:
            table = chosen.table
        best = {row.player for row in table.players[:CROSSED]}
        return replace(table, pairs=[row for row in table.pairs if best.issuperset((row.player, row.opponent))])

    def csv(self, fields: Fields) -> Response:
        """The players of the table as a CSV file."""
        rows = [asdict(row) for row in self.table(fields).players]
        name = quote(f"{fields.text('store', longest=MAX_NAME)}-{fields.text('game', longest=MAX_NAME)}.csv")
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
        text = csv_of(list(rows[0]) if rows else ["player"], rows)
        return Response(text.encode("utf-8-sig"), 200, headers, "text/csv")  # the mark tells spreadsheets the alphabet

    @_readable()
    def games(self, fields: Fields) -> dict[str, object]:
        """Some games, `PAGE` at a time: those of `first` against `second`, each of them "" for anybody.

        Returns:
            `games`, each `number`, `first`, `second`, `moves`, `start` (the number of moves in the opening), `result`
            (1, 0 or -1) and `forfeit`; `count`, of all pages; `page` and its `size`.
        """
        stored = self._chosen(fields)
        first, second = (fields.words(seat, "", MAX_NAME) for seat in ("first", "second"))
        page = fields.integer("page", 10**6)
        chosen = [
            (number, names, record)
            for number, record in enumerate(stored.records, 1)
            for names in [stored.players(record)]
            if first in ("", names[0]) and second in ("", names[1])
        ]
        shown = [
            {
                "number": number,
                "first": names[0],
                "second": names[1],
                "moves": record.moves,
                "start": len(parse_moves(game_called(record.fixture.game), record.fixture.opening)),
                "result": record.result,
                "forfeit": record.forfeit,
            }
            for number, names, record in chosen[page * PAGE : (page + 1) * PAGE]
        ]
        return {"games": shown, "count": len(chosen), "page": page, "size": PAGE}

    def _chosen(self, fields: Fields) -> GamesOfStore:
        """The games of the `game` and the `store` that a request names."""
        store, game = (fields.text(name, longest=MAX_NAME) for name in ("store", "game"))
        games = self._games(store)
        if game not in games:
            raise Refused(f"there are no games of {game!r} in this store", 404)
        return games[game]

    def _games(self, name: str) -> dict[str, GamesOfStore]:
        path = self._stores().get(name)
        if path is None:
            raise Refused(f"there is no store {name!r} here", 404)
        with self._lock:
            # What was read stays until the store has changed, some seconds have passed, and reading is a small part of
            # the time: a tournament may write many games a second.
            read, took, changed, games = self._read.get(name, (-math.inf, 0.0, None, {}))
            now, changes = time.monotonic(), self._changes(path)
            if changes != changed and now - read > max(SECONDS_BETWEEN_LOOKS, took / SHARE_OF_LOOKS):
                of_game: dict[str, list[GameRecord]] = defaultdict(list)
                with ResultStore(path) as store:
                    for record in store:
                        of_game[record.fixture.game].append(record)
                games = self._sorted(of_game)
                self._read[name] = now, time.monotonic() - now, changes, games
            return games

    def _changes(self, path: Path) -> object:
        """A value that is another one if what is shown of a store may have changed."""
        return path.stat().st_mtime

    def _sorted(self, of_game: dict[str, list[GameRecord]]) -> dict[str, GamesOfStore]:
        """The records of each game, as they are shown."""
        return {game: GamesOfStore(records) for game, records in of_game.items()}
