"""Matches of two policies: played, counted, and given with the uncertainty of the count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tictac_env.arena.tournaments.openings import as_openings, opening_of_each
from tictac_env.arena.tournaments.play import Job, boards_together, play_games
from tictac_env.arena.win_draw_loss import WinDrawLoss
from tictac_env.games import Game
from tictac_env.policies import Policy, as_policy, game_for
from tictac_env.position import Position
from tictac_env.rng import STATES


@dataclass(frozen=True)
class MatchResult:
    """A match of two policies, counted from the side of the first one named.

    Attributes:
        player: the name of the policy whose wins are counted.
        opponent: the other's.
        as_first: its games as the first player.
        as_second: its games as the second.
        distinct: how many different games there were; None if that was not counted. Players that do not draw repeat
            themselves, and the intervals, which take all games for independent, then say too much.

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

    @property
    def total(self) -> WinDrawLoss:
        """Both seats together."""
        return self.as_first + self.as_second

    def reversed(self) -> MatchResult:
        """The same match from the other side."""
        return MatchResult(
            self.opponent, self.player, self.as_second.reversed(), self.as_first.reversed(), self.distinct
        )

    def __str__(self) -> str:
        games = self.total.games
        different = "" if self.distinct in (None, games) else f" ({self.distinct} different ones)"
        sides = (("first", self.as_first), ("second", self.as_second))
        seats = ", ".join(f"as {name} {'/'.join(f'{count:g}' for count in side)}" for name, side in sides if side.games)
        return f"{self.player} against {self.opponent}, {games} games{different}: {self.total}; W/D/L {seats}"


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

    Example:
        >>> from tictac_env import make_policy
        >>> from tictac_env.arena import play_game
        >>> from tictac_env.games import get_game
        >>> player = make_policy("minimax-first")
        >>> play_game(get_game("TicTacToe-v0"), player, player, state=0).to_moves()
        '152374689'
    """
    (_, played), *_ = play_games([Job((first, second), state, Position.start(game))])
    return played.final


def play_match(
    player: Any,
    opponent: Any,
    game: str | Game | None = None,
    games: int | None = None,
    seed: int = 0,
    *,
    openings: int | Sequence[Position | str] = 0,
) -> MatchResult:
    """A match in which the seats are swapped after each game.

    Where one of the policies is `batched`, such as a network, many games are played side by side. They are the same
    games. `round_robin` plays matches that forgive errors, and are kept.

    Args:
        player: the policy whose results are counted: whatever `as_policy` accepts.
        opponent: the other one.
        game: a game's name or rule book; None for an agent's own (`own_game`), else tic-tac-toe.
        games: how many; an odd number gives `player` one game more as the first player. Unless given, 100 from a single
            opening, else each opening from both seats.
        seed: the same seed gives the same games.
        openings: as in `round_robin`: all of that many plies (0 for the empty board), or positions and move strings.
            Players that never draw need them: from one position they play one game.

    Raises:
        ValueError: `games` is not a positive whole number, or a policy, a game or an opening is not known.
        IllegalMove: a policy's choice is illegal; the message names it.

    Example:
        >>> from tictac_env import play_match
        >>> match = play_match("minimax", "random", games=20)
        >>> match.total.losses
        0
    """
    rules = game_for(game, player, opponent)
    starts = [start for _, start in opening_of_each(games, as_openings(rules, openings), seed)]
    sides = as_policy(player, rules), as_policy(opponent, rules)
    states = (np.random.SeedSequence(seed).generate_state(len(starts), np.uint64) & np.uint64(STATES)).tolist()
    jobs = (
        Job((sides[number % 2], sides[1 - number % 2]), state, start)
        for number, (state, start) in enumerate(zip(states, starts, strict=True))
    )
    counts = np.zeros((2, 3), int)
    lines = set()
    for number, played in play_games(jobs, boards_together(sides)):
        seat = number % 2
        counts[seat, 1 - (-played.result if seat else played.result)] += 1
        lines.add((seat, played.final.moves))
    as_first, as_second = (WinDrawLoss(*map(int, row)) for row in counts)
    return MatchResult(str(sides[0]), str(sides[1]), as_first, as_second, len(lines))
