"""Matches and tournaments between policies: played, counted, and given with the uncertainty of the count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tictac_env.arena.win_draw_loss import WinDrawLoss
from tictac_env.checks import positive
from tictac_env.games import UNFINISHED, Game, get_game
from tictac_env.policies import OpponentPool, Policy, answer, as_policy
from tictac_env.policies.policy import actions_of, illegal_choice
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.progress import track
from tictac_env.rng import STATES, advance, mix

BOARDS = 1024
"""How many games are played side by side at most."""


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
    sides, state = _draw_members(game, (first, second), state)
    own, opp = game.start()
    moves: list[int] = []
    while game.result(own, opp) == UNFINISHED:
        state = advance(state)
        action, own, opp = answer(sides[game.seat(own, opp)], game, own, opp, moves, mix(state))
        moves.append(action)
    return Position(game, own, opp, tuple(moves))


def play_side_by_side(game: Game, pairs: Sequence[tuple[Policy, Policy]], states: Sequence[int]) -> list[Position]:
    """The final positions of many games, each as `play_game` plays it, a ply of all at a time.

    Policies that are `batched` are asked for all boards together on which they are to move.

    Args:
        game: the rule book.
        pairs: for each game who plays first and second.
        states: for each game the board's random state.

    Raises:
        ValueError: a policy's `act_many` does not answer as it must.
        IllegalMove: a policy's choice is illegal; the message names it.
    """
    drawn = [_draw_members(game, pair, state) for pair, state in zip(pairs, states, strict=True)]
    random_states = [state for _, state in drawn]
    positions = [Position.start(game)] * len(drawn)
    going = list(range(len(drawn)))
    while going:
        waiting: dict[int, list[int]] = {}  # boards by the policy that is to move there
        for board in going:
            random_states[board] = advance(random_states[board])
            waiting.setdefault(id(drawn[board][0][positions[board].seat]), []).append(board)
        for boards in waiting.values():
            policy = drawn[boards[0]][0][positions[boards[0]].seat]
            asked = [positions[board] for board in boards]
            seeds = [mix(random_states[board]) for board in boards]
            for board, after in zip(boards, _answers(policy, asked, seeds), strict=True):
                positions[board] = after
        going = [board for board in going if not positions[board].is_over]
    return positions


def play_match(
    player: Any, opponent: Any, game: str | Game = "TicTacToe-v0", games: int = 100, seed: int = 0
) -> MatchResult:
    """A match in which the seats are swapped after each game.

    Where one of the policies is `batched`, such as a network, many games are played side by side. They are the same
    games.

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
    states = (np.random.SeedSequence(seed).generate_state(games, np.uint64) & np.uint64(STATES)).tolist()
    pairs = [(sides[number % 2], sides[1 - number % 2]) for number in range(games)]
    together = any(side.batched for side in sides) and not any(side.one_game_at_a_time for side in sides)
    counts = np.zeros((2, 3), int)
    for number, final in enumerate(_finals(rules, pairs, states, BOARDS if together else 1)):
        seat, outcome = number % 2, final.outcome
        winner = outcome.winner if outcome else None
        counts[seat, 1 if winner is None else 0 if winner == seat else 2] += 1
    as_first, as_second = (WinDrawLoss(*map(int, row)) for row in counts)
    return MatchResult(str(sides[0]), str(sides[1]), as_first, as_second)


def _finals(
    game: Game, pairs: Sequence[tuple[Policy, Policy]], states: Sequence[int], together: int
) -> Iterator[Position]:
    """The final positions of games of which so many are played `together`."""
    if together == 1:
        yield from (play_game(game, *pair, state) for pair, state in zip(pairs, states, strict=True))
    else:
        for begin in range(0, len(pairs), together):
            some = slice(begin, begin + together)
            yield from play_side_by_side(game, pairs[some], states[some])


def _draw_members(game: Game, sides: tuple[Policy, Policy], state: int) -> tuple[list[Policy], int]:
    """Who plays a whole game, a member of each `OpponentPool`; and the random state after the draws."""
    playing = []
    for side in sides:
        if isinstance(side, OpponentPool):
            state = advance(state)
            side = side.member(side.draw(mix(state)), game)
        playing.append(side)
    return playing, state


def _answers(policy: Policy, positions: Sequence[Position], seeds: Sequence[int]) -> Iterator[Position]:
    """The positions after what `policy` plays in each."""
    if policy.batched:
        actions = actions_of(policy, PositionBatch.of(positions), np.array(seeds, np.int64)).tolist()
        for position, action in zip(positions, actions, strict=True):
            if action not in position.legal_actions:
                raise illegal_choice(policy, position, action)
            yield position.play(action)
    else:
        for position, seed in zip(positions, seeds, strict=True):
            game, moves = position.game, position.recent_moves
            action, own, opp = answer(policy, game, position.own, position.opp, moves, seed)
            yield Position(game, own, opp, (*moves, action))


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
