"""Matches and tournaments between policies: played, counted, and given with the uncertainty of the count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tictac_env.arena.win_draw_loss import WinDrawLoss
from tictac_env.checks import positive
from tictac_env.games import UNFINISHED, Game, get_game
from tictac_env.policies import OpponentPool, Policy, answer, as_policy
from tictac_env.position import Position
from tictac_env.progress import track
from tictac_env.rng import STATES, advance, mix


@dataclass(frozen=True)
class MatchResult:
    """A match of two policies, counted from the side of the first one named.

    Attributes:
        player: the name of the policy whose wins are counted.
        opponent: the other's.
        as_first: its games as the first player.
        as_second: its games as the second.
    """

    player: str
    opponent: str
    as_first: WinDrawLoss
    as_second: WinDrawLoss

    @property
    def total(self) -> WinDrawLoss:
        """Both seats together."""
        return self.as_first + self.as_second

    def reversed(self) -> MatchResult:
        """The same match from the other side."""
        return MatchResult(self.opponent, self.player, self.as_second.reversed(), self.as_first.reversed())

    def __str__(self) -> str:
        return f"{self.player} against {self.opponent}, {self.total.games} games: {self.total}"


def play_game(game: Game, first: Policy, second: Policy, state: int) -> Position:
    """The final position of a game between two policies. Of an `OpponentPool` one member plays the whole game.

    Args:
        game: the rule book.
        first: plays first.
        second: plays second.
        state: the board's random state (see `tictac_env.rng`), advanced before each draw: from the first player's
            pool, from the second's, and before each move.

    Raises:
        IllegalMove: a policy's choice is illegal; the message names it.
    """
    sides = []
    for side in (first, second):
        if isinstance(side, OpponentPool):
            state = advance(state)
            side = side.member(side.draw(mix(state)), game)
        sides.append(side)
    own, opp = game.start()
    moves: list[int] = []
    while game.result(own, opp) == UNFINISHED:
        state = advance(state)
        action, own, opp = answer(sides[game.seat(own, opp)], game, own, opp, moves, mix(state))
        moves.append(action)
    return Position(game, own, opp, tuple(moves))


def play_match(
    player: Any, opponent: Any, game: str | Game = "TicTacToe-v0", games: int = 100, seed: int = 0
) -> MatchResult:
    """A match in which the seats are swapped after each game.

    Args:
        player: the policy whose results are counted: whatever `as_policy` accepts.
        opponent: the other one.
        game: a game's name or rule book.
        games: how many; an odd number gives `player` one game more as the first player.
        seed: the same seed gives the same games.

    Raises:
        ValueError: `games` is not a positive whole number, or a policy or game is not known.
        IllegalMove: a policy's choice is illegal; the message names it.
    """
    games = positive("games", games)
    rules = get_game(game)
    sides = as_policy(player, rules), as_policy(opponent, rules)
    states = np.random.SeedSequence(seed).generate_state(games, np.uint64) & np.uint64(STATES)
    counts = np.zeros((2, 3), int)
    for number, state in enumerate(states):
        seat = number % 2
        outcome = play_game(rules, sides[seat], sides[1 - seat], int(state)).outcome
        winner = outcome.winner if outcome else None
        counts[seat, 1 if winner is None else 0 if winner == seat else 2] += 1
    as_first, as_second = (WinDrawLoss(*map(int, row)) for row in counts)
    return MatchResult(str(sides[0]), str(sides[1]), as_first, as_second)


@dataclass(frozen=True)
class Tournament:
    """A round robin.

    Attributes:
        game: the rule book.
        names: the players.
        matches: for each ordered pair of different players the match from the first one's side.
    """

    game: Game
    names: tuple[str, ...]
    matches: dict[tuple[str, str], MatchResult]

    def total(self, name: str) -> WinDrawLoss:
        """All games of one player."""
        return sum((self.matches[name, other].total for other in self.names if other != name), WinDrawLoss(0, 0, 0))

    def standings(self) -> list[str]:
        """The players by their score, best first."""
        return sorted(self.names, key=lambda name: -self.total(name).score)


def round_robin(
    players: Mapping[str, Any] | Sequence[str],
    game: str | Game = "TicTacToe-v0",
    games: int = 100,
    seed: int = 0,
    progress: bool = False,
) -> Tournament:
    """Every player against every other.

    Args:
        players: names of policies, or anything `as_policy` accepts under a name of your own.
        game: a game's name or rule book.
        games: how many a pair plays, the seats swapped after each.
        seed: the same seed gives the same tournament; no pair's games depend on the other players.
        progress: whether to show a progress bar (only on a terminal).

    Raises:
        ValueError: fewer than two players, or what `play_match` refuses.
        IllegalMove: a policy's choice is illegal; the message names it.
    """
    rules = get_game(game)
    named = {str(key): key for key in players} if not isinstance(players, Mapping) else dict(players)
    if len(named) < 2 or len(named) < len(players):
        raise ValueError(f"a tournament needs two players or more, each once, not {list(players)}")
    policies = {name: as_policy(player, rules) for name, player in named.items()}
    matches = {}
    names = tuple(policies)
    pairs = [(one, two) for i, one in enumerate(names) for two in names[i + 1 :]]
    for one, two in track(pairs, "matches", progress):
        result = play_match(policies[one], policies[two], rules, games, seed)
        match = MatchResult(one, two, result.as_first, result.as_second)
        matches[one, two], matches[two, one] = match, match.reversed()
    return Tournament(rules, names, matches)
