"""What happens on a board: how a game begins, what a move does, what is paid. The one statement of these rules.

Like `tictac_env.rng` these are plain functions of numbers: the single environment runs them interpreted, compiled loops
call them too. The passes of the vector environment that all boards go through say the same once more, without branches
(`tictac_env.envs.vector.kernels`); tests hold them in lockstep.

A board's randomness is one integer (`tictac_env.rng`), advanced before each draw. A game draws, in this order and each
only if there is a choice: the start, the learner's seat, the opponent from a pool. Then each move of the opponent has a
draw as its seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tictac_env.games import LOST, UNFINISHED, Game
from tictac_env.policies import Policy, answer
from tictac_env.policies.pool import OpponentPool
from tictac_env.position import Position
from tictac_env.rng import advance, mix, weighted

MAX_STARTS = 1000
"""How often a game is begun anew when the opponent ends it before the learner's first move."""
NOT_GIVEN = -1
"""Instead of the stones to begin with: they are drawn, or the game's start."""

PLAY_AS = ("first", "second", "random", "alternate")
FIRST, SECOND, RANDOM_SEAT, ALTERNATE = range(len(PLAY_AS))

GOES_ON, ENDED, ILLEGAL = range(3)
"""What a step has led to: the learner is to move again; the game is over; the learner's action was illegal."""

Rewards = tuple[float, float, float, float]
"""For a win, a draw, a loss and a step that does not end the game."""
Numbers = Sequence[int] | npt.NDArray[np.int64]
Weights = Sequence[float] | npt.NDArray[np.float64]


class Setup(NamedTuple):
    """What the games of an environment begin with.

    Attributes:
        self_play: whether both sides step: there is no opponent, and each step is seen by the side to move.
        start_owns: the stones of the side to move in the starting positions; empty for the game's start.
        start_opps: the other side's.
    """

    self_play: bool
    start_owns: Numbers
    start_opps: Numbers


class Opponents(Protocol):
    """Who answers: an opponent, or the members of a pool."""

    @property
    def cumulative(self) -> Weights:
        """The running sums of the members' weights; empty without a pool."""

    def first_answer(self, game: Game, member: int, start: int, own: int, opp: int, seed: int) -> tuple[int, int, int]:
        """`answer` as the first move after the starting position of the number `start`, `NOT_GIVEN` if it has none."""

    def answer(self, game: Game, member: int, own: int, opp: int, seed: int) -> tuple[int, int, int]:
        """The action of the member, and `own` and `opp` after it. It is legal, or the opponent raises."""


class Opening(NamedTuple):
    """A game that has begun, the learner being to move.

    Attributes:
        found: whether it has; False if the opponent always ends the game before the learner's first move.
        own: the stones of the side to move.
        opp: the other side's.
        learner: the seat of the learner.
        member: the number of the opponent in its pool; 0 without a pool.
        start: the number of the starting position, `NOT_GIVEN` without starting positions.
        reply: what the opponent has played, -1 if nothing.
        state: of the board's randomness.
    """

    found: bool
    own: int
    opp: int
    learner: int
    member: int
    start: int
    reply: int
    state: int


def begin(
    game: Game, setup: Setup, opponents: Any, play_as: int, own: int, opp: int, games_begun: int, state: int
) -> Opening:
    """Begins a game; if the opponent moves first, it has moved. If that ends the game, another is begun.

    Args:
        game: the rule book.
        setup: what the environment's games begin with.
        opponents: `Opponents`.
        play_as: the index in `PLAY_AS`.
        own: the stones of the side to move, or `NOT_GIVEN`.
        opp: the other side's.
        games_begun: how many games the board has begun since it was seeded.
        state: of the board's randomness.
    """
    start, first_own, first_opp, learner, member = NOT_GIVEN, own, opp, 0, 0
    for _ in range(MAX_STARTS):
        start, first_own, first_opp, learner, member, state = deal(
            game, setup, opponents.cumulative, play_as, own, opp, games_begun, state
        )
        if learner == game.seat(first_own, first_opp):
            return Opening(True, first_own, first_opp, learner, member, start, -1, state)
        state = advance(state)
        reply, after_own, after_opp = opponents.first_answer(game, member, start, first_own, first_opp, mix(state))
        if game.result(after_own, after_opp) == UNFINISHED:
            return Opening(True, after_own, after_opp, learner, member, start, reply, state)
    return Opening(False, first_own, first_opp, learner, member, start, -1, state)


def deal(
    game: Game, setup: Setup, cumulative: Weights, play_as: int, own: int, opp: int, games_begun: int, state: int
) -> tuple[int, int, int, int, int, int]:
    """Draws the start, the learner's seat and the opponent; see `begin`.

    Returns:
        The number of the start, own, opp, the learner's seat, the number of the opponent, and the state.
    """
    start = NOT_GIVEN
    if own == NOT_GIVEN:
        if len(setup.start_owns):
            state = advance(state)
            start = mix(state) % len(setup.start_owns)
            own, opp = setup.start_owns[start], setup.start_opps[start]
        else:
            own, opp = game.start()
    if setup.self_play:
        learner = game.seat(own, opp)
    else:
        learner, state = draw_seat(play_as, games_begun, state)
    member = 0
    if len(cumulative):
        state = advance(state)
        member = weighted(cumulative, mix(state))
    return start, own, opp, learner, member, state


def draw_seat(play_as: int, games_begun: int, state: int) -> tuple[int, int]:
    """The learner's seat, and the state of the board's randomness."""
    if play_as == RANDOM_SEAT:
        state = advance(state)
        return mix(state) & 1, state
    if play_as == ALTERNATE:
        return games_begun & 1, state
    return play_as, state


def step(
    game: Game, self_play: bool, opponents: Any, member: int, own: int, opp: int, action: int, state: int
) -> tuple[int, int, int, int, int, int]:
    """Plays the learner's action and the opponent's answer; without an opponent, an action of the side to move.

    Args:
        game: the rule book.
        self_play: whether there is no opponent.
        opponents: `Opponents`.
        member: which of them answers.
        own: the stones of the side to move.
        opp: the other side's.
        action: in [0, num_actions).
        state: of the board's randomness.

    Returns:
        GOES_ON, ENDED or ILLEGAL; the outcome for the side that the action was of, 0 while the game goes on; own and
        opp; the opponent's action, -1 if none; and the state. An illegal action is a loss and changes no stones.
    """
    next_own, next_opp = game.play(own, opp, action)
    if next_own == own and next_opp == opp:
        return ILLEGAL, LOST, own, opp, -1, state
    result = game.result(next_own, next_opp)
    if result != UNFINISHED:
        return ENDED, -result, next_own, next_opp, -1, state
    if self_play:
        return GOES_ON, 0, next_own, next_opp, -1, state
    state = advance(state)
    reply, own, opp = opponents.answer(game, member, next_own, next_opp, mix(state))
    result = game.result(own, opp)
    if result != UNFINISHED:
        return ENDED, result, own, opp, reply, state
    return GOES_ON, 0, own, opp, reply, state


def seen(game: Game, own: int, opp: int, learner: int) -> tuple[int, int]:
    """The learner's stones and the other side's, no matter which side is to move."""
    return (own, opp) if learner == game.seat(own, opp) else (opp, own)


def reward(rewards: Rewards, over: bool, outcome: int) -> float:
    """What a step earns."""
    return rewards[1 - outcome] if over else rewards[3]


MAX_SETS = 1024
"""How many sets of actions are remembered; a board with gravity has at most 2 ** cols."""


class BoardOpponents:
    """The opponent of one board, or the members of its pool: the `Opponents` of `tictac_env.envs.protocol`.

    Args:
        opponent: a policy, a pool, or None: then nobody is asked.
        game: the rule book.
        obs_type: which observation opponents that are functions get.

    Attributes:
        moves: the actions of the game under way, which an opponent that is asked sees in its `Position`.
        starts: the starting positions by number, with the moves that led there; the last one is where a game begins
            that has no number.
    """

    def __init__(self, opponent: Policy | None, game: Game, obs_type: str) -> None:
        self._opponent, self._game, self._obs_type = opponent, game, obs_type
        self._pool = opponent if isinstance(opponent, OpponentPool) else None
        self._actions: dict[int, list[int]] = {}  # of the sets that reflexes have named
        self.moves: list[int] = []
        self.starts: Sequence[Position] = ()

    @property
    def num_members(self) -> int | None:
        """How many opponents the pool has, None without a pool."""
        return len(self._pool.players) if self._pool is not None else None

    @property
    def cumulative(self) -> Sequence[float]:
        """The running sums of the pool's weights; empty without a pool."""
        return self._pool.cumulative if self._pool is not None else ()

    def policy(self, member: int) -> Policy:
        """The policy of that number; without a pool there is but one."""
        if self._pool is not None:
            return self._pool.member(member, self._game, self._obs_type)
        if self._opponent is None:
            raise LookupError("in self-play there is no opponent to ask")
        return self._opponent

    def first_answer(self, game: Game, member: int, start: int, own: int, opp: int, seed: int) -> tuple[int, int, int]:
        """What the member plays from the starting position of that number, and the position after it."""
        return answer(self.policy(member), game, own, opp, self.starts[start].recent_moves, seed)

    def answer(self, game: Game, member: int, own: int, opp: int, seed: int) -> tuple[int, int, int]:
        """What the member plays in the game under way, and the position after it."""
        policy = self.policy(member)
        reflex = policy.reflex
        if reflex is not None and (choices := reflex(game, own, opp)):
            actions = self._actions.get(choices) or self._actions_of(choices)
            action = actions[seed % len(actions)]  # as `reflexes.pick` does, but remembering the sets
            if action >= 0:
                next_own, next_opp = game.play(own, opp, action)
                if next_own != own or next_opp != opp:
                    return action, next_own, next_opp
        return answer(policy, game, own, opp, self.moves, seed)  # which asks the policy, or says what is wrong

    def _actions_of(self, choices: int) -> list[int]:
        """The actions that a set names, in ascending order."""
        actions = [self._game.nth(choices, index) for index in range(choices.bit_count())]
        if len(self._actions) < MAX_SETS:
            self._actions[choices] = actions
        return actions
