"""The results of the opponents that need no training: their games among themselves and their judgements, which come
with the package.

So a player is rated by one match against each of them, and nothing else is played. `tools/ship_opponents.py` makes the
files. A game counts only if both players still have the settings and the content with which it was played, and a
judgement only if all that decides it is the same; what does not count is made again.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from tictac_apps.bench.bench_record import Machine
from tictac_apps.bench.judging import Judged
from tictac_apps.bench.records import key_of
from tictac_env.arena import Entrant, Fixture, GameRecord
from tictac_env.arena.typed_json import read_as
from tictac_env.storage import read_json

FOLDER = Path(__file__).with_name("data")


class ShippedGame(NamedTuple):
    """A game: the numbers of its players, the move string, and the result, 1 if the first player won, -1 if it lost."""

    first: int
    second: int
    moves: str
    result: int


@dataclass(frozen=True)
class ShippedJudgement:
    """A judgement, and all that decided it (`PlayerJob.settings_of`)."""

    settings: dict[str, Any]
    judged: Judged


@dataclass(frozen=True)
class ShippedResults:
    """The results of one game's opponents.

    Attributes:
        version: of the package that made them.
        machine: where they were made.
        game: the game's name.
        seed: of the games.
        opening_plies: the plies of each game's opening.
        players: the opponents.
        games: their games, in the order of the tournament.
        judgements: their judgements.
    """

    version: str
    machine: Machine
    game: str
    seed: int
    opening_plies: int
    players: tuple[Entrant, ...]
    games: tuple[ShippedGame, ...]
    judgements: tuple[ShippedJudgement, ...]

    def records(self, time_limit: float | None) -> Iterator[GameRecord]:
        """The games as a tournament with a time limit has them; without the times of moves."""
        rounds = Counter[tuple[int, int, str]]()
        for first, second, moves, result in self.games:
            opening = moves[: self.opening_plies]
            round = rounds[first, second, opening]
            rounds[first, second, opening] += 1
            sides = self.players[first], self.players[second]
            yield GameRecord(Fixture(self.game, *sides, opening, round, self.seed, time_limit), moves, result)

    @functools.cached_property
    def _by_settings(self) -> dict[str, Judged]:
        return {key_of(entry.settings): replace(entry.judged, origin="package") for entry in self.judgements}

    def judged(self, settings: Mapping[str, Any]) -> Judged | None:
        """The judgement that these settings decide; None if it did not ship."""
        return self._by_settings.get(key_of(settings))


@functools.cache
def shipped_results(game: str) -> ShippedResults | None:
    """The results of a game's opponents; None if none come with the package."""
    path = FOLDER / f"{game}.json"
    return read_as(ShippedResults, read_json(path.read_text(encoding="utf-8"))) if path.exists() else None
