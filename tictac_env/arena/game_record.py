"""Records of games, and the openings that games begin with."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from random import Random
from typing import NamedTuple, TypeVar

from tictac_env.checks import parse_whole, positive, whole
from tictac_env.games import UNFINISHED, Game, describe_game, game_name, game_of, get_game, shown
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import STATES
from tictac_env.solver.enumerate import tabulate
from tictac_env.storage import JsonObject, csv_of, read_json


class Entrant(NamedTuple):
    """A player in records: two entrants are the same player only if all three fields are equal.

    Example:
        >>> from tictac_env.arena import Entrant
        >>> Entrant("rule") == Entrant("rule", checkpoint="another file's hash")
        False
    """

    name: str
    """Its name in tables."""
    settings: str = "{}"
    """Its settings: the JSON of an object, keys sorted."""
    checkpoint: str = ""
    """The SHA-256 hash, in hexadecimal, of what it has learned; "" if it has learned nothing."""


class Fixture(NamedTuple):
    """A game that is to be played. Two games are the same game only if all of this is equal.

    Example:
        >>> from tictac_env.arena import Entrant, Fixture
        >>> Fixture("TicTacToe-v0", Entrant("rule"), Entrant("random"), opening="5", round=1).opening
        '5'
    """

    game: str
    """The game's name, or its JSON description (see `name_of_game`)."""
    first: Entrant
    second: Entrant
    opening: str
    """The moves before the players', a move string; "" for the empty board."""
    round: int = 0
    """Counts the games of the same players in the same seats from the same opening, from 0."""
    seed: int = 0
    """The tournament's."""
    time_limit: float | None = None
    """The seconds a move may take; None for no limit."""

    @property
    def state(self) -> int:
        """The board's random state (see `tictac_env.rng`) when the players' moves begin, in [0, 2**62).

        It follows from the fixture alone: not from the other games of the tournament, nor from their order.
        """
        players = self.first.name, self.second.name
        text = json.dumps([self.seed, self.game, *players, self.opening, self.round]).encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) & STATES


@dataclass(frozen=True, slots=True)
class GameRecord:
    """A game that was played.

    Attributes:
        fixture: which game it was.
        moves: the move string of the whole game, the opening's moves included. After a forfeit the game ends early.
        result: 1 if the first player won, 0 if it was a draw, -1 if the second player won.
        forfeit: why the loser forfeited the game; "" if no player did.
        seconds: the time the first and the second player took for their moves (wall-clock).

    Example:
        >>> from tictac_env import round_robin
        >>> game = round_robin(["minimax-first", "rule"], games=2).games[0]
        >>> game.fixture.first.name, game.moves, game.result
        ('minimax-first', '152374689', 0)
    """

    fixture: Fixture
    moves: str
    result: int
    forfeit: str = ""
    seconds: tuple[float, float] = (0.0, 0.0)

    @property
    def forfeited_by(self) -> str | None:
        """The name of the player that forfeited, None if no player did."""
        if not self.forfeit:
            return None
        return self.fixture.second.name if self.result > 0 else self.fixture.first.name

    @property
    def winner(self) -> str | None:
        """The winner's name, None for a draw."""
        return {1: self.fixture.first.name, -1: self.fixture.second.name}.get(self.result)

    def positions(self) -> list[Position]:
        """The game, position by position, from the empty board to the last one.

        Raises:
            ValueError: the game is not known, a move is illegal, or the result is not that of the moves.
        """
        positions = Position.from_moves(game_called(self.fixture.game), self.moves).history()
        outcome = positions[-1].outcome
        winner = None if outcome is None or outcome.winner is None else 1 - 2 * outcome.winner
        if not self.forfeit and (outcome is None or (winner or 0) != self.result):
            raise ValueError(f"the result {self.result} is not that of the game {self.moves!r}")
        return positions

    def to_dict(self) -> JsonObject:
        """The record under plain names, for JSON and CSV; the players' settings as objects."""
        fixture = self.fixture
        return {
            "game": fixture.game,
            "first": fixture.first.name,
            "second": fixture.second.name,
            "result": self.result,
            "forfeit": self.forfeit,
            "opening": fixture.opening,
            "round": fixture.round,
            "moves": self.moves,
            "seconds_first": self.seconds[0],
            "seconds_second": self.seconds[1],
            "time_limit": fixture.time_limit,
            "seed": fixture.seed,
            "state": fixture.state,
            "first_settings": json.loads(fixture.first.settings),
            "second_settings": json.loads(fixture.second.settings),
            "first_checkpoint": fixture.first.checkpoint,
            "second_checkpoint": fixture.second.checkpoint,
        }


def games_as_csv(records: Iterable[GameRecord]) -> str:
    """A line for each game, below a line of the columns: those of `GameRecord.to_dict`, the settings as JSON."""
    names = GameRecord(Fixture("", Entrant(""), Entrant(""), ""), "", 0).to_dict()
    rows = (record.to_dict() for record in records)
    flat = ({name: json.dumps(cell) if isinstance(cell, dict) else cell for name, cell in row.items()} for row in rows)
    return csv_of(list(names), flat)


def distinct_games(records: Iterable[GameRecord]) -> int:
    """The number of different games: those of two players that do not draw repeat themselves."""
    return len({(record.fixture.first, record.fixture.second, record.moves) for record in records})


def name_of_game(game: Game) -> str:
    """A game in records: its name or, if a name cannot hold its sizes, its JSON description.

    Raises:
        ValueError: neither the game nor a family of it is registered.
    """
    return game_name(game) or json.dumps(describe_game(game), sort_keys=True)


@lru_cache(maxsize=64)
def game_called(name: str) -> Game:
    """The game that `name_of_game` named.

    Raises:
        ValueError: there is no such game.
    """
    described: str | JsonObject = read_json(name) if name.startswith("{") else name
    return get_game(described) if isinstance(described, str) else game_of(described)


Opening = TypeVar("Opening")

GAMES = 100
"""Number of games of a pair that all begin from one position."""
ATTEMPTS = 10_000
"""After this number of random games without a new opening there is taken to be none."""
RANDOM_STARTS = 500
"""Number of starting positions of each length in "random:PLIES"."""
MAX_OPENINGS = 200_000
"""The most openings: Connect Four has 184,275 after 8 plies."""


def all_openings(game: str | Game, plies: int = 2) -> list[Position]:
    """Every unfinished position after a number of plies: 49 of Connect Four after 2, 72 of tic-tac-toe.

    Of several orders of moves that lead to one position the first stands for all. Mirror images count as different, as
    players need not play them alike.

    Args:
        game: a game's name or rule book.
        plies: the number of moves played; the openings grow fast, to 1,120 on Connect Four after 4.

    Raises:
        ValueError: `plies` is not an integer of at least 0, the game is always over by then, or there are more than
            200,000; `sampled_openings` gives some of them.

    Example:
        >>> from tictac_env.arena import all_openings
        >>> len(all_openings("ConnectFour-v0", plies=2)), len(all_openings("TicTacToe-v0", plies=2))
        (49, 72)
    """
    plies = whole("plies", plies)
    layer = [Position.start(game)]
    for ply in range(1, plies + 1):
        following = (position.play(action) for position in layer for action in position.legal_actions)
        openings: dict[Position, None] = {}
        for position in following:
            if not position.is_over:
                openings.setdefault(position)
            if len(openings) > MAX_OPENINGS:
                raise ValueError(
                    f"there are more than {MAX_OPENINGS:,} openings of {ply} plies, and {plies} were asked for"
                )
        layer = list(openings)
        if not layer:
            raise ValueError(f"there are no openings of {plies} plies: the game is over by then")
    return layer


def sampled_openings(game: str | Game, plies: int, count: int, seed: int = 0) -> list[Position]:
    """Different unfinished positions after a number of random moves.

    Each is drawn by a random game of that length: all legal moves are as likely, and a game that is over by then is
    drawn again. A larger `count` adds to the openings of a smaller one.

    Args:
        game: a game's name or rule book.
        plies: the number of moves played.
        count: the number of positions, up to 200,000.
        seed: the same seed gives the same openings.

    Raises:
        ValueError: a number is out of its range, or there are too few such positions.

    Example:
        >>> from tictac_env.arena import sampled_openings
        >>> [opening.ply for opening in sampled_openings("ConnectFour-v0", plies=6, count=3)]
        [6, 6, 6]
    """
    rules, plies, count = get_game(game), whole("plies", plies), positive("count", count, MAX_OPENINGS)
    rng = Random(whole("seed", seed))
    openings: dict[Position, None] = {}
    misses = 0
    while len(openings) < count:
        position = random_opening(rules, plies, rng)
        misses = misses + 1 if position is None or position in openings else 0
        if misses == ATTEMPTS:
            raise ValueError(f"there are only {len(openings)} openings of {plies} plies to be found, not {count}")
        if position is not None:
            openings.setdefault(position)
    return list(openings)


def random_opening(game: Game, plies: int, rng: Random) -> Position | None:
    """The position after a number of random moves; None if the game is over by then."""
    position = Position.start(game)
    for _ in range(plies):
        position = position.play(rng.choice(position.legal_actions))
        if position.is_over:
            return None
    return position


@functools.lru_cache(maxsize=8)
def starting_positions(game: str | Game, name: str) -> tuple[Position, ...] | None:
    """The starting positions of a name; None for the empty board.

    Args:
        game: a game's name or rule book.
        name: "empty"; "reachable", all unfinished positions of a game that is small enough to tabulate (4,520 on
            tic-tac-toe); or "random:8", 500 positions after each number of random moves from 0 to 8, always the same
            ones. Few moves lead to few positions, which are then in it several times.

    Raises:
        ValueError: the name is unknown, the game is too large to tabulate, or too often over after that many moves.
    """
    rules = get_game(game)
    kind, _, number = name.partition(":")
    plies = parse_whole(number) if kind == "random" else None
    if plies is not None:
        rng, starts = Random(0), list[Position]()
        for length in range(plies + 1):
            drawn = (random_opening(rules, length, rng) for _ in range(ATTEMPTS))
            starts += islice((position for position in drawn if position is not None), RANDOM_STARTS)
            if len(starts) < RANDOM_STARTS * (length + 1):
                raise ValueError(f"{rules!r} is too often over after {length} random moves to start there")
        return tuple(starts)
    if name == "empty":
        return None
    if name != "reachable":
        raise ValueError(f"start must be 'empty', 'reachable', 'random:8' or a list of positions, not {shown(name)}")
    table = tabulate(rules)
    unfinished = table.result == UNFINISHED
    positions = PositionBatch(rules, table.own[unfinished], table.opp[unfinished])
    return tuple(positions[i] for i in range(len(positions)))


def opening_of_each(games: int | None, openings: Sequence[Opening], seed: int) -> list[tuple[int, Opening]]:
    """The openings of a pair's games, each with the number of its round.

    Two games in a row, with the seats swapped, have the same opening. Then comes the next one, in an order drawn by the
    seed, and after the last one a further round. If `games` is None each opening comes twice, a single one `GAMES`
    times.
    """
    several = len(openings) > 1
    count = positive("games", games if games is not None else 2 * len(openings) if several else GAMES)
    order = Random(whole("seed", seed)).sample(openings, len(openings)) if several else openings
    return [(number // 2 // len(order), order[number // 2 % len(order)]) for number in range(count)]


def as_openings(game: Game, openings: int | Sequence[Position | str]) -> list[Position]:
    """The openings of a tournament: all of a number of plies, or positions and move strings.

    Raises:
        ValueError: there are none, one comes twice, is over, of another game, or its moves are unknown.
    """
    if isinstance(openings, (bool, str)) or not isinstance(openings, (int, Sequence)):
        raise ValueError(f"openings must be a number of plies, or positions and move strings, not {shown(openings)}")
    if isinstance(openings, int):
        return all_openings(game, openings)
    starts: dict[Position, None] = {}
    for opening in openings:
        position = opening if isinstance(opening, Position) else Position.from_moves(game, opening)
        if position.game != game or position.is_over:
            raise ValueError(
                f"{position!r} is not an opening of this game" + (": it is over" if position.is_over else "")
            )
        if position in starts:
            raise ValueError(f"the opening {position!r} comes twice")
        position = Position.from_moves(game, position.to_moves())  # players see the moves
        starts[position] = None
    if not starts:
        raise ValueError("there are no openings")
    return list(starts)
