"""Games counted as ratings need them: by who played whom in which seat, once for each opening."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.arena.rating.davidson import Floats
from tictac_env.arena.tournaments.game_record import Entrant, GameRecord
from tictac_env.games import did_you_mean


class CountedGames(NamedTuple):
    """Games of P players, counted."""

    names: dict[Entrant, str]
    """What each of the players is called."""
    pairings: npt.NDArray[np.int64]
    """(C, 2): who played first and who second, as numbers of players; each pairing that was played once."""
    counts: Floats
    """(openings, C, 3): from each opening, how often the first player won, drew and lost."""
    counted_by: str
    """"openings" or, where all games are from one opening, "rounds", which then take their place."""

    @property
    def weights(self) -> Floats:
        """(C, 1): what a game counts if those of a pairing from one opening count as one together."""
        games = self.counts.sum(axis=2)
        weights: Floats = (games > 0).sum(axis=0) / games.sum(axis=0)
        return weights[:, None]


def read_records(games: Iterable[GameRecord] | str | os.PathLike[str]) -> list[GameRecord]:
    """The records in a list, a tournament, a store, or the file of one.

    Raises:
        FileNotFoundError: there is no such file.
    """
    if not isinstance(games, (str, os.PathLike)):
        return list(games)
    from tictac_env.arena.tournaments.store import ResultStore

    if not os.path.exists(games):
        raise FileNotFoundError(f"there is no store {os.fspath(games)!r}")
    with ResultStore(games) as store:
        return list(store)


def of_one_game(records: list[GameRecord], game: str | None) -> list[GameRecord]:
    """The records of the game of that name, which need not be given if there is only one.

    Raises:
        ValueError: there are none, or there are several games and none is given.
    """
    found = list(dict.fromkeys(record.fixture.game for record in records))
    if game is not None and game not in found:
        raise ValueError(f"there are no records of games of {game!r}; {did_you_mean(game, found)}")
    if game is None and len(found) > 1:
        raise ValueError(f"the records are of several games, {', '.join(found)}: say which by `game`")
    return [record for record in records if game is None or record.fixture.game == game]


def count_games(records: Sequence[GameRecord]) -> CountedGames:
    """Counts games.

    Raises:
        ValueError: they are not of at least two players.
    """
    names = _names(records)
    number = {entrant: index for index, entrant in enumerate(names)}
    played = [one.fixture for one in records]
    by_opening = len({one.opening for one in played}) > 1
    of_cluster = [one.opening if by_opening else one.round for one in played]
    of_cell = [(number[one.first], number[one.second]) for one in played]
    # In order, so that the resampling does not depend on the order in which the games ended.
    cells, cell = np.unique(of_cell, axis=0, return_inverse=True)
    clusters, cluster = np.unique(of_cluster, return_inverse=True)
    counts = np.zeros((len(clusters), len(cells), 3))
    outcome = np.array([1 - record.result for record in records])
    np.add.at(counts, (cluster, cell.reshape(-1), outcome), 1)
    return CountedGames(names, cells.astype(np.int64), counts, "openings" if by_opening else "rounds")


def _names(records: Sequence[GameRecord]) -> dict[Entrant, str]:
    """What to call each player: by its name or, where several have the same, with a part of its checkpoint's hash or a
    number.

    Raises:
        ValueError: there are fewer than two.
    """
    entrants = sorted({side for record in records for side in (record.fixture.first, record.fixture.second)})
    if len(entrants) < 2:
        raise ValueError(f"ratings need games of at least two players, not of {len(entrants)}")
    names: dict[Entrant, str] = {}
    for entrant in entrants:
        several = sum(one.name == entrant.name for one in entrants) > 1
        name = f"{entrant.name} ({entrant.checkpoint[:8]})" if several and entrant.checkpoint else entrant.name
        number = sum(one.partition(" #")[0] == name for one in names.values())
        names[entrant] = f"{name} #{number + 1}" if number else name
    return names
