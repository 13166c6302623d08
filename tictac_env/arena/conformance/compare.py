"""The comparison: games played on both, position by position, and illegal moves tried."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tictac_env.arena.conformance.difference import Conformance, Difference, described
from tictac_env.arena.conformance.peer import GameGoesOn, OpponentUnused, Peer, Rewards, as_peer
from tictac_env.arena.conformance.probes import Probe, probe_games
from tictac_env.checks import positive, whole
from tictac_env.games import DRAWN, Game, get_game, shown
from tictac_env.position import Position
from tictac_env.render.text import NAMES, status

ILLEGAL_MOVES = 40
"""At most so many illegal moves are tried, each in a game of its own."""


def conformance(
    env: Any,
    game: str | Game = "TicTacToe-v0",
    games: int = 100,
    seed: int = 0,
    actions: Sequence[int] | None = None,
    name: str = "",
) -> Conformance:
    """Plays somebody else's environment side by side with ours, and tells every difference with its position.

    Whole games are played on both: random ones, and beside these draws, wins with the stone that fills the board, and
    wins by every line that random games find. Compared are, as far as the environment shows them: who is to move, the
    legal actions, whether the game is over, who has won by the rewards that both sides see, and whether observations
    change with the board. Illegal moves must raise, lose the game, or change nothing.

    Args:
        env: what `tictac_env.arena.conformance.as_peer` takes: a PettingZoo AEC environment; a Gymnasium environment in
            which both sides step; a function with a parameter `opponent` that makes one which answers; a game of
            OpenSpiel; an environment of pgx; a function from actions to a dict; a `Peer`.
        game: the game it should be: a name or rule book.
        games: how many random games.
        seed: which.
        actions: the environment's action for each of ours, where it numbers them otherwise; the same unless given.
        name: what the report calls it; its own name unless given.

    Returns:
        What differs; printed, one position of each kind as a board.

    Raises:
        ValueError: an argument is out of its range, or `env` is of no known kind.

    Example:
        >>> from tictac_env import tictactoe_v0
        >>> print(conformance(tictactoe_v0.env(), games=20))  # doctest: +ELLIPSIS
        tictactoe_v0 beside TicTacToe-v0: ... illegal moves compared: no difference
    """
    rules = get_game(game)
    positive("games", games)
    whole("seed", seed)
    theirs = list(range(rules.num_actions)) if actions is None else [int(action) for action in actions]
    if len(theirs) != rules.num_actions or len(set(theirs)) != len(theirs):
        raise ValueError(
            f"actions must be {rules.num_actions} different numbers, one for each of ours, not {shown(actions)}"
        )
    peer = as_peer(env)
    probes = probe_games(rules, games, seed)
    comparison = _Comparison(peer, rules, theirs)
    for probe in probes:
        comparison.play(probe)
    comparison.judge_rewards()
    comparison.try_illegal_moves(probes, random.Random(seed))
    return comparison.report(name or peer.name, probes)


class _Comparison:
    """What has been found so far.

    Args:
        peer: the other environment.
        game: the rule book.
        theirs: its action for each of ours.
    """

    def __init__(self, peer: Peer, game: Game, theirs: list[int]) -> None:
        self.peer = peer
        self.game = game
        self.theirs = theirs
        self.ours = {action: number for number, action in enumerate(theirs)}
        self.differences: list[Difference] = []
        self.ends: list[tuple[Position, Rewards]] = []
        self.plies = self.illegal_moves = 0
        self.seen: set[str] = set()  # what the environment shows
        self._told: set[str] = set()  # the kinds of differences in this game
        self._last: list[Any] = [None, None]  # the observation of each seat

    def play(self, probe: Probe) -> None:
        """Plays a game on both."""
        self._told, self._last = set(), [None, None]
        position = Position.start(self.game)
        self.peer.reset([self.theirs[action] for action in probe.moves])
        self._look(position)
        for action in probe.moves:
            before, position = position, position.play(action)
            try:
                self.peer.play(self.theirs[action])
            except OpponentUnused:
                self._tell("opponent unused", position, "the opponent's move is asked for", "it is not")
                return
            except GameGoesOn:
                self._tell(_missing_end(position), position, status(position), "the game goes on")
                return
            except Exception as error:
                self._tell("error", before, "legal", f"{type(error).__name__}: {_short(error)}", action)
                return
            if self.peer.ready:
                self.plies += 1
                if not self._same_end(position):
                    return
                if not position.is_over:
                    self._look(position)
        self.ends.append((position, self.peer.rewards))

    def _same_end(self, position: Position) -> bool:
        """Whether both are over, or neither is."""
        if position.is_over == self.peer.over:
            if position.is_over and (legal := self.peer.legal_actions):
                listed = sorted(self.ours.get(action, action) for action in legal)
                self._tell("legal at the end", position, "nothing is legal", f"{listed} are")
            return True
        if position.is_over:
            self._tell(_missing_end(position), position, status(position), "the game goes on")
        else:
            paid = _paid(self.peer.rewards)
            self._tell("early end", position, status(position), f"the game is over{paid and f', {paid}'}")
        return False

    def _look(self, position: Position) -> None:
        """Compares what both show of an unfinished position."""
        turn = self.peer.turn
        if turn is not None:
            self.seen.add("turn")
            if turn != position.seat:
                told = f"{NAMES[turn]} to move" if turn in (0, 1) else f"the player {turn} to move"
                self._tell("turn", position, status(position), told)
        legal = self.peer.legal_actions
        if legal is not None:
            self.seen.add("legal actions")
            if legal != {self.theirs[action] for action in position.legal_actions}:
                listed = sorted(self.ours.get(action, action) for action in legal)
                self._tell("legal actions", position, str(list(position.legal_actions)), str(listed))
        for seat in (0, 1):
            observation = _fingerprint(self.peer.observe(seat))
            if observation is None:
                continue
            self.seen.add("observation")
            if observation == self._last[seat]:
                told = f"what {NAMES[seat]} sees is as before"
                self._tell("static observation", position, "the board has changed", told)
            self._last[seat] = observation

    def judge_rewards(self) -> None:
        """Compares how the games ended that both hold to be over."""
        draw = self._draw_pay()
        for position, rewards in self.ends:
            self._told = set()
            theirs = _balance(rewards, draw)
            if theirs is None:
                continue
            self.seen.add("result")
            winner = None if position.outcome is None else position.outcome.winner
            if winner is not None and rewards[1 - winner] is not None:
                self.seen.add("loser's reward")
            ours = 0 if winner is None else 1 - 2 * winner
            said = f"{_winner(theirs)}, {_paid(rewards)}"
            if theirs != ours:
                full = position.ply == self.game.cells
                unpaid = winner is not None and rewards[winner] is None  # the loser's is all that is told
                kind = "last-cell win" if full and ours else "loser's reward" if unpaid and theirs == 0 else "result"
                self._tell(kind, position, status(position), said)
            elif winner is not None:
                won, lost = rewards[winner], rewards[1 - winner]
                if lost is not None and lost >= draw:
                    self._tell("loser's reward", position, status(position), said)
                if won is not None and won <= draw:
                    self._tell("winner's reward", position, status(position), said)

    def try_illegal_moves(self, probes: Sequence[Probe], rng: random.Random) -> None:
        """Tries illegal moves in positions of the games, the longest first: there is more that is illegal."""
        draw = self._draw_pay()
        for probe in sorted(probes, key=lambda one: -len(one.moves)):
            if self.illegal_moves == ILLEGAL_MOVES:
                return
            positions = [Position.start(self.game)]
            for action in probe.moves[:-1]:
                positions.append(positions[-1].play(action))
            rng.shuffle(positions)
            for position in positions:
                wrong = sorted(set(range(self.game.num_actions)) - set(position.legal_actions))
                if wrong and self._try_illegal(position, rng.choice(wrong), draw):
                    break

    def _try_illegal(self, position: Position, action: int, draw: float) -> bool:
        """Tries an illegal move; False if the position cannot be reached there."""
        peer = self.peer
        try:
            peer.reset([self.theirs[one] for one in (*position.moves, action)])
            for one in position.moves:
                peer.play(self.theirs[one])
        except Exception:
            return False  # told already
        if peer.over or not peer.ready:
            return False
        self.illegal_moves += 1
        self._told = set()
        before = self._state()
        try:
            peer.play(self.theirs[action])
            goes_on = not peer.over
        except GameGoesOn:
            self._tell("illegal move accepted", position, "illegal", "the other side moves", action)
            return True
        except Exception:
            return True  # refused
        if not goes_on:
            theirs = _balance(peer.rewards, draw)
            if theirs is not None and theirs * (1 - 2 * position.seat) >= 0:
                told = f"the game is over: {_winner(theirs)}, {_paid(peer.rewards)}"
                self._tell("illegal move unpunished", position, "illegal", told, action)
        elif self._state() != before:
            self._tell("illegal move accepted", position, "illegal", "it is played, and the game goes on", action)
        return True

    def _state(self) -> tuple[Any, ...]:
        """All that the environment shows."""
        return self.peer.turn, self.peer.legal_actions, *(_fingerprint(self.peer.observe(seat)) for seat in (0, 1))

    def _draw_pay(self) -> float:
        """What a draw pays: 0, unless the environment pays nobody less than that, as one of 1, 1/2 and 0 does."""
        paid = [pay for _, rewards in self.ends for pay in rewards if pay is not None]
        drawn = [
            pay for position, rewards in self.ends if position.result == DRAWN for pay in rewards if pay is not None
        ]
        if paid and drawn and min(paid) >= 0 and min(paid) < drawn[0] < max(paid):
            return drawn[0]
        return 0.0

    def _tell(self, kind: str, position: Position, ours: str, theirs: str, action: int | None = None) -> None:
        """Adds a difference, one of each kind a game."""
        if kind not in self._told:
            self._told.add(kind)
            self.differences.append(Difference(kind, position, ours, theirs, action))

    def report(self, name: str, probes: Sequence[Probe]) -> Conformance:
        """All that was found."""
        purposes = [probe.purpose for probe in probes]
        games = {purpose: purposes.count(purpose) for purpose in dict.fromkeys(purposes)}
        shown = "turn", "legal actions", "observation", "result", "loser's reward"
        unseen = tuple(what for what in shown if what not in self.seen) if self.ends else ()
        return Conformance(
            name,
            described(Position.start(self.game)),
            games,
            self.plies,
            self.illegal_moves,
            tuple(self.differences),
            unseen,
        )


def _missing_end(position: Position) -> str:
    return "missing draw" if position.result == DRAWN else "missing win"


def _balance(rewards: Rewards, draw: float) -> int | None:
    """1 if the rewards say that the first player has won, -1 the second, 0 neither; None if they are not told."""
    first, second = rewards
    if first is not None and second is not None:
        return _sign(first - second)
    if first is not None:
        return _sign(first - draw)
    return None if second is None else -_sign(second - draw)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _winner(balance: int) -> str:
    return ("draw", "X wins", "O wins")[balance]


def _paid(rewards: Rewards) -> str:
    """Who was paid what, as far as it is told."""
    return ", ".join(f"{NAMES[seat]} is paid {pay:g}" for seat, pay in enumerate(rewards) if pay is not None)


def _short(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 120 else f"{text[:117]}..."


def _fingerprint(observation: Any) -> Any:
    """An observation as something that can be compared and does not change; None if there is none."""
    if observation is None:
        return None
    if isinstance(observation, Mapping):
        return tuple((key, _fingerprint(observation[key])) for key in sorted(observation, key=str))
    if isinstance(observation, (tuple, list)) and not all(isinstance(one, (int, float)) for one in observation):
        return tuple(map(_fingerprint, observation))
    array = np.asarray(observation)
    return repr(observation) if array.dtype.hasobject else (array.shape, array.tobytes())
