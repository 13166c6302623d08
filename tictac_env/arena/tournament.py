"""Tournaments: everybody against everybody from varied openings, with forfeits, kept in a store, and resumed."""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from tictac_env.arena.game_record import (
    Fixture,
    GameRecord,
    as_openings,
    distinct_games,
    name_of_game,
    opening_of_each,
)
from tictac_env.arena.outcomes import WinDrawLoss, aligned_columns, percentage
from tictac_env.arena.play import (
    GameJob,
    Players,
    ask_first_moves,
    boards_together,
    given_players,
    load_entrants,
    play_by_workers,
    play_games,
    play_here,
)
from tictac_env.arena.rating import Ratings, ratings
from tictac_env.arena.records import Forfeit, forfeits_in_words
from tictac_env.arena.store import ResultStore
from tictac_env.checks import number, whole
from tictac_env.games import Game, game_name
from tictac_env.jobs import Workers
from tictac_env.policies import PlayerLike, as_policy, game_for
from tictac_env.policies.check_policy import DRAWS
from tictac_env.position import Position
from tictac_env.progress import progress_bar
from tictac_env.rng import STATES


@dataclass(frozen=True)
class MatchResult:
    """A match of two policies, counted from the side of `player`.

    Attributes:
        player: the name of the policy whose wins are counted.
        opponent: the other's.
        as_first: its games as the first player.
        as_second: its games as the second.
        distinct: the number of different games; None if that was not counted. Players that do not draw repeat
            themselves, and the intervals, which take all games as independent, are then too narrow.
        drawing: the names of those of the two who answer differently when they are asked again; the seed does not
            repeat their games.
        forfeits: the games that one of the two lost because it failed, in their order.

    Example:
        >>> from tictac_env import play_match
        >>> match = play_match("minimax-first", "minimax-first", games=10)
        >>> match.as_first.draws, match.distinct
        (5, 2)
    """

    player: str
    opponent: str
    as_first: WinDrawLoss
    as_second: WinDrawLoss
    distinct: int | None = None
    drawing: tuple[str, ...] = ()
    forfeits: tuple[Forfeit, ...] = ()

    @property
    def total(self) -> WinDrawLoss:
        """Both seats together."""
        return self.as_first + self.as_second

    def reversed(self) -> MatchResult:
        """The same match from the other side."""
        return replace(
            self,
            player=self.opponent,
            opponent=self.player,
            as_first=self.as_second.reversed(),
            as_second=self.as_first.reversed(),
        )

    def __str__(self) -> str:
        games = self.total.games
        different = "" if self.distinct in (None, games) else f" ({self.distinct} different ones)"
        sides = (("first", self.as_first), ("second", self.as_second))
        seats = ", ".join(f"as {name} {'/'.join(f'{count:g}' for count in side)}" for name, side in sides if side.games)
        result = f"{self.player} against {self.opponent}, {games} games{different}: {self.total}; W/D/L {seats}"
        return result + self.remarks()

    def remarks(self) -> str:
        """The end of a line of results: which players draw their moves, and which forfeited games; "" if none does."""
        remarks = [f"{name} {DRAWS}, so the seed does not repeat these games" for name in self.drawing]
        return "".join(f"; {remark}" for remark in [*remarks, *forfeits_in_words(self.forfeits)])


def play_match(
    player: PlayerLike,
    opponent: PlayerLike,
    game: str | Game | None = None,
    games: int | None = None,
    seed: int = 0,
    *,
    openings: int | Sequence[Position | str] = 0,
    time_limit: float | None = None,
) -> MatchResult:
    """A match in which the seats are swapped after each game.

    A player that raises an error, plays an illegal move or overruns its time forfeits that game, and the match
    continues; the result has the reason. Ctrl-C stops everything.

    If one of the policies is `batched`, such as a network, many games are played side by side. They are the same games.
    `round_robin` plays matches that are kept.

    Args:
        player: the policy whose results are counted: whatever `as_policy` accepts.
        opponent: the other one.
        game: a game's name or rule book; None for an agent's own (`own_game`), else tic-tac-toe.
        games: the number of games; an odd number gives `player` one game more as the first player. Unless given, 100
            from a single opening, else each opening from both seats.
        seed: the same seed gives the same games.
        openings: as in `round_robin`: all of that many plies (0 for the empty board), or positions and move strings.
            Players that never draw need them: from one position they play one game.
        time_limit: the seconds a move may take, as in `round_robin`.

    Raises:
        ValueError: `games` is not a positive integer, `time_limit` is out of its range, or a policy, a game or an
            opening is unknown.

    Example:
        >>> from tictac_env import play_match
        >>> match = play_match("minimax", "random", games=20)
        >>> match.total.losses
        0
    """
    rules = game_for(game, player, opponent)
    starts = [start for _, start in opening_of_each(games, as_openings(rules, openings), seed)]
    _check_time_limit(time_limit)
    sides = as_policy(player, rules), as_policy(opponent, rules)
    drawing = ask_first_moves([(str(side), side) for side in sides], starts[0], time_limit)
    states = (np.random.SeedSequence(seed).generate_state(len(starts), np.uint64) & np.uint64(STATES)).tolist()
    jobs = (
        GameJob((sides[number % 2], sides[1 - number % 2]), state, start)
        for number, (state, start) in enumerate(zip(states, starts, strict=True))
    )
    counts = np.zeros((2, 3), int)
    lines = set()
    forfeits: dict[int, Forfeit] = {}
    for place, played in play_games(jobs, boards_together(sides), time_limit):
        seat = place % 2
        result = -played.result if seat else played.result
        counts[seat, 1 - result] += 1
        lines.add((seat, played.final.moves))
        if played.forfeit:
            forfeits[place] = Forfeit(str(sides[result > 0]), played.final.to_moves(), played.forfeit)
    as_first, as_second = (WinDrawLoss(*map(int, row)) for row in counts)
    in_order = tuple(forfeit for _, forfeit in sorted(forfeits.items()))
    return MatchResult(
        str(sides[0]), str(sides[1]), as_first, as_second, len(lines), tuple(dict.fromkeys(drawing)), in_order
    )


def _check_time_limit(time_limit: float | None) -> None:
    if time_limit is not None and number("time_limit", time_limit, 0, 1e6) == 0:
        raise ValueError("time_limit must be more than 0 seconds")


SECONDS_BETWEEN_WRITES = 0.5
"""The most that a killed tournament loses, besides the games under way."""


@dataclass(frozen=True)
class Tournament:
    """A round robin.

    Attributes:
        game: the rule book.
        names: the players' names.
        games: the records of all games, in the order of the schedule.
        drawing: the names of those who answer differently when they are asked again; the seed does not repeat their
            games. Players whose games were all in the store have not been asked.

    Example:
        >>> from tictac_env import round_robin
        >>> played = round_robin(["random", "minimax"], games=10)
        >>> len(played.games), played.standings()
        (10, ['minimax', 'random'])
    """

    game: Game
    names: tuple[str, ...]
    games: tuple[GameRecord, ...]
    drawing: tuple[str, ...] = ()

    @cached_property
    def matches(self) -> dict[tuple[str, str], MatchResult]:
        """For each ordered pair of different players the match from the first one's side."""
        of_pair: dict[tuple[str, str], list[GameRecord]] = {pair: [] for pair in combinations(self.names, 2)}
        for record in self.games:
            first, second = record.fixture.first.name, record.fixture.second.name
            of_pair[(first, second) if (first, second) in of_pair else (second, first)].append(record)
        matches = {}
        for (player, opponent), records in of_pair.items():
            counts = Counter((record.fixture.second.name == player, record.result) for record in records)
            as_first = WinDrawLoss(*(counts[False, result] for result in (1, 0, -1)))
            as_second = WinDrawLoss(*(counts[True, result] for result in (-1, 0, 1)))
            drawing = tuple(name for name in (player, opponent) if name in self.drawing)
            forfeits = tuple(record.as_forfeit() for record in records if record.forfeit)
            match = MatchResult(player, opponent, as_first, as_second, distinct_games(records), drawing, forfeits)
            matches[player, opponent], matches[opponent, player] = match, match.reversed()
        return matches

    def seats(self, name: str) -> tuple[WinDrawLoss, WinDrawLoss]:
        """The games of one player as the first and as the second player."""
        matches = [self.matches[name, other] for other in self.names if other != name]
        none = WinDrawLoss(0, 0, 0)
        return sum((match.as_first for match in matches), none), sum((match.as_second for match in matches), none)

    def total(self, name: str) -> WinDrawLoss:
        """All games of one player."""
        as_first, as_second = self.seats(name)
        return as_first + as_second

    def standings(self) -> list[str]:
        """The players by their score, best first."""
        return sorted(self.names, key=lambda name: -self.total(name).score)

    @property
    def forfeits(self) -> list[GameRecord]:
        """The games that were forfeited."""
        return [record for record in self.games if record.forfeit]

    def ratings(self, **options: Any) -> Ratings:
        """The players' ratings; the options are those of `tictac_env.arena.rating`."""
        return ratings(self, **options)

    def __iter__(self) -> Iterator[GameRecord]:
        return iter(self.games)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int | None = None) -> str:
        """The players by their score, with their results from each seat and against each other, and the forfeits.

        Args:
            width: the longest line of the table, which is divided by columns if it is wider; None for any length.
        """
        best_first = self.standings()
        columns = (f"v {place + 1}" for place in range(len(best_first)))
        rows = [["player", "score", "W/D/L as first", "as second", *columns]]
        for place, name in enumerate(best_first, 1):
            total = self.total(name)
            against = {other: self.matches[name, other].total.score for other in best_first if other != name}
            scores = [percentage(against[other])[:-2] if other in against else "" for other in best_first]
            counted = ["/".join(f"{count:.0f}" for count in side) for side in self.seats(name)]
            rows.append([f"{place} {name}", percentage(total.score), *counted, *scores])
        lines = aligned_columns(rows, width=width)
        openings = len({record.fixture.opening for record in self.games})
        different = f"{distinct_games(self.games):,} different ones, from {openings:,} opening{'s' * (openings != 1)}"
        lines.insert(0, f"{game_name(self.game) or self.game}: {len(self.games):,} games, {different}")
        lines += forfeits_in_words(record.as_forfeit() for record in self.forfeits)
        lines += [f"{name} {DRAWS}, so the seed does not repeat its games" for name in self.drawing]
        return "\n".join(lines)


def round_robin(
    players: Players,
    game: str | Game | None = None,
    games: int | None = None,
    seed: int = 0,
    progress: bool = False,
    *,
    openings: int | Sequence[Position | str] = 0,
    time_limit: float | None = None,
    store: str | os.PathLike[str] | None = None,
    workers: Workers = 1,
) -> Tournament:
    """Every player against every other, from each opening in both seats.

    A player that raises an error, plays an illegal move or overruns its time forfeits that game, and the tournament
    continues; the result names the player and the reason. Before the first game each player that has games to play is
    asked in the first positions, and again, so that the result names those who answer differently then, whose games no
    seed repeats. Ctrl-C stops everything.

    With a store every game is kept as it ends, and is not played again. So a tournament that was stopped at any moment,
    even killed, continues where it was, and ends as an unbroken one would have (but for the times). So does one with
    further players, openings or games. Several processes may play one tournament in one store: each begins at another
    game and takes over those that the others have played.

    Args:
        players: whatever `load_player` accepts (names of policies, files, functions, models, policies), by names of
            your own or in a list.
        game: a game's name or rule book; None for an agent's own (`own_game`), else tic-tac-toe.
        games: the number of games of each pair. Seats are swapped after each; after two comes the next opening, in an
            order drawn by the seed, and after the last one the first again. Unless given, a pair plays each opening in
            both seats, or 100 games if there is only one.
        seed: the same seed gives the same tournament. A game's own seed follows from this one, the players' names, the
            opening and the round; so no pair's games depend on the other players.
        progress: show a progress bar.
        openings: all of a number of plies (0 for the empty board), or positions and move strings, such as
            `sampled_openings` gives. Players that never draw need them: from one position they play one game.
        time_limit: the seconds a move may take (wall-clock). What is compiled when each player is asked before the
            first game does not count. `play_games` describes how a player is interrupted.
        store: the file that keeps the games (see `ResultStore`).
        workers: the number of processes that play, 1 for this one; or a `tictac_env.jobs.Cluster`. Each loads the
            players itself, so files must exist there under the same names, and objects must be picklable. The games of
            a lost worker are played again by another, so the result is the same.

    Raises:
        ValueError: fewer than two players, two of one name, or one that does not play; no such game or openings; a
            number out of its range; a store that is damaged, or another kind of file.
        OSError: the store cannot be read or written.
        WorkerLost: worker after worker ended while it played the same games.

    Example:
        >>> tournament = round_robin(["random", "rule", "minimax"], openings=2)
        >>> len(tournament.games), tournament.standings()
        (432, ['minimax', 'rule', 'random'])
    """
    named = given_players(players)
    rules = game_for(game, *(player for _, player in named))
    seed = whole("seed", seed, 2**63 - 1)
    entrants = load_entrants(players, rules)
    starts = {start.to_moves(): start for start in as_openings(rules, openings)}
    turns = opening_of_each(games, list(starts), seed)
    _check_time_limit(time_limit)
    name = game_name(rules) or repr(rules) if store is None else name_of_game(rules)
    schedule = [
        Fixture(name, *(pair if count % 2 == 0 else pair[::-1]), opening, round, seed, time_limit)
        for pair in combinations(entrants, 2)
        for count, (round, opening) in enumerate(turns)
    ]
    sides = {entrant: player.policy for entrant, player in entrants.items()}
    drawing: set[str] = set()

    def games_of(todo: Sequence[Fixture], played: Mapping[Fixture, GameRecord]) -> Iterator[GameRecord]:
        if workers == 1:
            playing = {
                entrant for fixture in todo if fixture not in played for entrant in (fixture.first, fixture.second)
            }
            policies = [(entrant.name, policy) for entrant, policy in sides.items() if entrant in playing]
            drawing.update(ask_first_moves(policies, next(iter(starts.values())), time_limit))
            return play_here(todo, sides, starts, played)
        return play_by_workers(todo, sides, starts, played, players, rules, workers, drawing)

    played = _play(schedule, games_of, store, progress)
    names = tuple(entrant.name for entrant in entrants)
    records = tuple(played[fixture] for fixture in schedule)
    return Tournament(rules, names, records, tuple(name for name in names if name in drawing))


def _play(
    schedule: Sequence[Fixture],
    games_of: Callable[[Sequence[Fixture], Mapping[Fixture, GameRecord]], Iterator[GameRecord]],
    store: str | os.PathLike[str] | None,
    progress: bool,
) -> dict[Fixture, GameRecord]:
    """The records of all these games; those that have to be played are added to the store."""
    played, waiting, scheduled, seen = dict[Fixture, GameRecord](), list[GameRecord](), set(schedule), 0
    results = None if store is None else ResultStore(store)
    # Processes that play one tournament in one store begin at different games.
    begin = 0 if results is None else random.SystemRandom().randrange(len(schedule))

    def exchange(results: ResultStore) -> None:
        """Writes the games that wait, and takes over those that other processes have written."""
        nonlocal seen
        results.add(waiting)
        waiting.clear()
        for key, record in results.after(seen, schedule[0].game, schedule[0].seed):
            seen = key
            if record.fixture in scheduled:
                played[record.fixture] = record

    with contextlib.ExitStack() as stack:
        if results is not None:
            stack.callback(results.close)
            stack.callback(lambda: results.add(waiting))  # after an error or Ctrl-C too
            exchange(results)
        update = stack.enter_context(progress_bar(len(schedule), "games", progress))
        shown, written = 0.0, time.monotonic()
        for record in games_of([*schedule[begin:], *schedule[:begin]], played):
            fixture = record.fixture
            played[fixture] = record
            now = time.monotonic()
            if results is not None:
                waiting.append(record)
                if now - written > SECONDS_BETWEEN_WRITES:
                    exchange(results)
                    written = time.monotonic()
            if now - shown > 0.2:
                shown = now
                update(len(played), f"{fixture.first.name} against {fixture.second.name}")
    return played
