"""The games of a schedule played: by this process, or by workers, each with the same result."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from tictac_env.arena.tournaments.entrants import check_first_moves, load_entrants
from tictac_env.arena.tournaments.game_record import Entrant, Fixture, GameRecord
from tictac_env.arena.tournaments.play import Job, boards_together, play_games
from tictac_env.games import Game
from tictac_env.jobs import Workers, map_jobs
from tictac_env.policies import Policy
from tictac_env.position import Position

PARTS = 8
"""Games that are played side by side are dealt in so many parts to each worker, so that none is left with many."""
UNKNOWN = 64
"""How many workers a cluster is taken to have for that, if it was not said."""


def play_here(
    schedule: Sequence[Fixture],
    sides: Mapping[Entrant, Policy],
    starts: Mapping[str, Position],
    played: Mapping[Fixture, GameRecord],
) -> Iterator[GameRecord]:
    """Plays the games that have not been played when their turn comes, and gives them as they end."""
    for together, fixtures in _by_boards_together(schedule, sides).items():
        begun: list[Fixture] = []

        def jobs(fixtures: Sequence[Fixture] = fixtures, begun: list[Fixture] = begun) -> Iterator[Job]:
            for fixture in fixtures:
                if fixture not in played:
                    begun.append(fixture)
                    yield Job((sides[fixture.first], sides[fixture.second]), fixture.state, starts[fixture.opening])

        limit = fixtures[0].time_limit
        for index, game in play_games(jobs(), together, forfeits=True, time_limit=limit):
            yield GameRecord(begun[index], game.final.to_moves(), game.result, game.forfeit, game.seconds)


def play_by_workers(
    schedule: Sequence[Fixture],
    sides: Mapping[Entrant, Policy],
    starts: Mapping[str, Position],
    played: Mapping[Fixture, GameRecord],
    players: Any,
    game: Game,
    workers: Workers,
) -> Iterator[GameRecord]:
    """The same by workers, which load the players themselves.

    Args:
        schedule: the games.
        sides: who plays.
        starts: the openings by their move strings.
        played: the games that are known by now.
        players: from what each worker loads the players.
        game: the rule book.
        workers: the workers.
    """
    many = workers if isinstance(workers, int) else workers.workers or UNKNOWN

    def jobs() -> Iterator[_Games]:
        for together, fixtures in _by_boards_together(schedule, sides).items():
            missing = (fixture for fixture in fixtures if fixture not in played)
            while some := _Games(islice(missing, max(1, min(together, len(fixtures) // (PARTS * many))))):
                yield some

    for _, records in map_jobs(_Worker(players, tuple(sides), game, starts), jobs(), workers):
        yield from records


def _by_boards_together(schedule: Sequence[Fixture], sides: Mapping[Entrant, Policy]) -> dict[int, list[Fixture]]:
    """The games by how many of them are played side by side."""
    found: dict[int, list[Fixture]] = {}
    for fixture in schedule:
        found.setdefault(boards_together((sides[fixture.first], sides[fixture.second])), []).append(fixture)
    return found


class _Games(list[Fixture]):
    """Games for a worker, which an error about them names shortly."""

    def __str__(self) -> str:
        one, more = self[0], f" and {len(self) - 1} more games" if len(self) > 1 else ""
        return f"{one.first.name} v {one.second.name}, round {one.round}{more}"


class _Worker:
    """Plays games in a worker, where it loads the players at the first."""

    def __init__(self, players: Any, entrants: Sequence[Entrant], game: Game, starts: Mapping[str, Position]) -> None:
        self._players, self._entrants, self._game, self._starts = players, entrants, game, starts
        self._sides: dict[Entrant, Policy] | None = None

    def __call__(self, fixtures: Sequence[Fixture]) -> list[GameRecord]:
        if self._sides is None:
            self._sides = self._load()
            check_first_moves(self._sides, next(iter(self._starts.values())), fixtures[0].time_limit is not None)
        return list(play_here(fixtures, self._sides, self._starts, {}))

    def _load(self) -> dict[Entrant, Policy]:
        loaded = load_entrants(self._players, self._game)
        given = self._players.values() if isinstance(self._players, Mapping) else self._players
        for player, here, there in zip(given, loaded, self._entrants, strict=True):
            if here != there and isinstance(player, (str, os.PathLike)):  # objects were sent as they are
                raise ValueError(f"{there.name} is another player in a worker than here: {here}, not {there}")
        return {entrant: player.policy for entrant, player in zip(self._entrants, loaded.values(), strict=True)}
