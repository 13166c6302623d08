"""Reset, step and rewards of one board: the reference implementation.

Like `tictac_env.rng`, these are plain functions of numbers: the single environment runs them interpreted, compiled
loops call them too. The vector environment's passes over all boards repeat them without branches
(`tictac_env.envs.vector.passes`); tests compare both step by step.

`own` are the stones of the side to move, `opp` the other side's. A board's RNG state, `state`, is one integer
(`tictac_env.rng`), advanced before each draw. A game draws, in this order and only if there is a choice: the start, the
learner's seat, the opponent from a pool. Then each move of the opponent gets a draw as its seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from tictac_env.arrays import Floats, Ints
from tictac_env.games import LOST, UNFINISHED, Game
from tictac_env.policies import Policy, answer
from tictac_env.policies.pool import OpponentPool
from tictac_env.position import Position
from tictac_env.rng import advance, mix, weighted

MAX_STARTS = 1000
"""The number of times a game is begun if the opponent always ends it before the learner's first move."""
NOT_GIVEN = -1
"""Stands for stones that the caller does not give: they are drawn, or the game's start."""

PLAY_AS = ("first", "second", "random", "alternate")
FIRST, SECOND, RANDOM_SEAT, ALTERNATE = range(len(PLAY_AS))

CONTINUES, ENDED, ILLEGAL = range(3)
"""The results of a step: the learner is to move again; the game is over; the learner's action was illegal."""

REWARDS = (1, 0, -1)
"""The usual rewards for a win, a draw and a loss; a fourth, for each step that does not end the game, is 0."""
Rewards = tuple[float, float, float, float]
"""The rewards for a win, a draw, a loss and a step that does not end the game."""
Numbers = Sequence[int] | Ints
Weights = Sequence[float] | Floats


class Setup(NamedTuple):
    """The starting positions of an environment's games, and self-play or not.

    Attributes:
        self_play: True without an opponent: both sides step, and the side to move observes.
        start_owns: the stones of the side to move in the starting positions; empty for the game's start.
        start_opps: the other side's.
    """

    self_play: bool
    start_owns: Numbers
    start_opps: Numbers


class Opponents(Protocol):
    """An opponent, or the members of a pool."""

    @property
    def cumulative(self) -> Weights:
        """The running sums of the members' weights; empty without a pool."""

    def first_answer(self, game: Game, member: int, start: int, own: int, opp: int, seed: int) -> tuple[int, int, int]:
        """`answer` as the first move after starting position number `start`, `NOT_GIVEN` if it has no number."""

    def answer(self, game: Game, member: int, own: int, opp: int, seed: int) -> tuple[int, int, int]:
        """The member's action, and `own` and `opp` after it. The action is legal, or the opponent raises."""


class Opening(NamedTuple):
    """A game that has begun, with the learner to move.

    Attributes:
        has_begun: False if the opponent always ended the game before the learner's first move.
        own: the stones of the side to move.
        opp: the other side's.
        learner: the seat of the learner.
        member: the number of the opponent in its pool; 0 without a pool.
        start: the number of the starting position, `NOT_GIVEN` without starting positions.
        reply: the opponent's action, -1 if it has not moved.
        state: the board's RNG state.
    """

    has_begun: bool
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
    """Begins a game and plays the opponent's first move, if it moves first. If that ends the game, begins another.

    `own` and `opp` are the stones to begin with, or `NOT_GIVEN`; `opponents` are `Opponents`; `play_as` is the index in
    `PLAY_AS`; `games_begun` is the number of games that the board has begun since it was seeded.
    """
    # An opponent that moves first may win at once (a starting position near the end, say). The learner would then see a
    # game that is over before its first action, so another game is dealt; but not forever.
    start, first_own, first_opp, learner, member = NOT_GIVEN, own, opp, 0, 0
    for _ in range(MAX_STARTS):
        start, first_own, first_opp, learner, member, state = deal(
            game, setup, opponents.cumulative, play_as, own, opp, games_begun, state
        )
        if learner == game.seat(first_own, first_opp):
            return Opening(True, first_own, first_opp, learner, member, start, -1, state)
        # The opponent begins. The state after advancing, mixed, is the seed of its policy: a draw for every move,
        # whether the policy uses it or not, so that all opponents leave the same random numbers to the rest of the
        # game.
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
        The number of the start, own, opp, the learner's seat, the number of the opponent, and the RNG state.
    """
    # The order of the draws is a promise: seeded games stay the same. Nothing is drawn where there is no choice.
    # 1. The starting position, unless the caller gave one.
    start = NOT_GIVEN
    if own == NOT_GIVEN:
        if len(setup.start_owns):
            state = advance(state)
            start = mix(state) % len(setup.start_owns)
            own, opp = setup.start_owns[start], setup.start_opps[start]
        else:
            own, opp = game.start()
    # 2. The learner's seat. In self-play it is the side to move, now and after each step.
    if setup.self_play:
        learner = game.seat(own, opp)
    else:
        learner, state = draw_seat(play_as, games_begun, state)
    # 3. The opponent from the pool.
    member = 0
    if len(cumulative):
        state = advance(state)
        member = weighted(cumulative, mix(state))
    return start, own, opp, learner, member, state


def draw_seat(play_as: int, games_begun: int, state: int) -> tuple[int, int]:
    """The learner's seat, and the board's RNG state."""
    if play_as == RANDOM_SEAT:
        state = advance(state)
        return mix(state) & 1, state
    if play_as == ALTERNATE:
        return games_begun & 1, state
    return play_as, state


def step(
    game: Game, self_play: bool, opponents: Any, member: int, own: int, opp: int, action: int, state: int
) -> tuple[int, int, int, int, int, int]:
    """Plays the learner's action and the opponent's answer; in self-play, without an opponent, the mover's action.

    `action` is in [0, num_actions); `opponents` are `Opponents`, of which number `member` answers.

    Returns:
        CONTINUES, ENDED or ILLEGAL; the outcome for the side that played the action, 0 while the game continues; own
        and opp; the opponent's action, -1 if none; and the state. An illegal action is a loss and changes no stones.
    """
    # `play` gives the same position back for an illegal action: that is the only test of legality there is.
    next_own, next_opp = game.play(own, opp, action)
    if next_own == own and next_opp == opp:
        return ILLEGAL, LOST, own, opp, -1, state
    # A result is that of the side to move, which is now the other one.
    result = game.result(next_own, next_opp)
    if result != UNFINISHED:
        return ENDED, -result, next_own, next_opp, -1, state
    if self_play:
        return CONTINUES, 0, next_own, next_opp, -1, state
    # The opponent answers, with a seed from the board's state. After it the learner is to move again, so `own` are the
    # learner's stones and the result needs no change of sign.
    state = advance(state)
    reply, own, opp = opponents.answer(game, member, next_own, next_opp, mix(state))
    result = game.result(own, opp)
    if result != UNFINISHED:
        return ENDED, result, own, opp, reply, state
    return CONTINUES, 0, own, opp, reply, state


def seen(game: Game, own: int, opp: int, learner: int) -> tuple[int, int]:
    """The learner's stones and the other side's, whichever side is to move."""
    return (own, opp) if learner == game.seat(own, opp) else (opp, own)


def reward(rewards: Rewards, over: bool, outcome: int) -> float:
    """The reward of a step: the one place that says what an event pays.

    - The learner won, drew or lost, also by an illegal action or by no answer at all: `rewards[0]`, `[1]`, `[2]`.
    - The game continues: `rewards[3]`.

    In self-play the outcome is that of the side that moved. Two places say the same by hand, and tests hold them to it:
    `vector.passes.write_rewards`, without branches (tests/env/envs/test_vector_lockstep.py), and `aec.BoardAECEnv`,
    as PettingZoo's games pay 1 and -1 to both sides (tests/env/envs/test_aec_lockstep.py). Learners with games of their
    own have rewards of their own: `ValueTD`, `FittedQ`.
    """
    # Outcomes 1, 0 and -1 are the indices 0, 1 and 2 of a win, a draw and a loss.
    return rewards[1 - outcome] if over else rewards[3]


MAX_SETS = 1024
"""The number of sets of actions to cache; a board with gravity has at most 2 ** cols."""


class BoardOpponents:
    """The opponent of one board, or the members of its pool: the `Opponents` of `tictac_env.envs.protocol`.

    Args:
        opponent: a policy, a pool, or None in self-play.
        game: the rules.
        obs_type: the observation type for opponents that are functions.

    Attributes:
        opponent: the policy, pool or None.
        moves: the actions of the game under way, which an opponent sees in its `Position`.
        starts: the starting positions by number, with the moves that led there; the last one is the start of games
            without a number.
    """

    def __init__(self, opponent: Policy | None, game: Game, obs_type: str) -> None:
        self.opponent, self._game, self._obs_type = opponent, game, obs_type
        self._pool = opponent if isinstance(opponent, OpponentPool) else None
        self._actions: dict[int, list[int]] = {}  # by the set of choices that a reflex has returned
        self.moves: list[int] = []
        self.starts: Sequence[Position] = ()

    @property
    def num_members(self) -> int | None:
        """The number of opponents in the pool, None without a pool."""
        return len(self._pool.players) if self._pool is not None else None

    @property
    def cumulative(self) -> Sequence[float]:
        """The running sums of the pool's weights; empty without a pool."""
        return self._pool.cumulative if self._pool is not None else ()

    def policy(self, member: int) -> Policy:
        """The policy with this number; without a pool there is only one."""
        if self._pool is not None:
            return self._pool.member(member, self._game, self._obs_type)
        if self.opponent is None:
            raise LookupError("in self-play there is no opponent")
        return self.opponent

    def first_answer(self, game: Game, member: int, start: int, own: int, opp: int, seed: int) -> tuple[int, int, int]:
        """The member's action in the starting position with this number, and the position after it."""
        return answer(self.policy(member), game, own, opp, self.starts[start].recent_moves, seed)

    def answer(self, game: Game, member: int, own: int, opp: int, seed: int) -> tuple[int, int, int]:
        """The member's action in the game under way, and the position after it."""
        # A policy with a reflex draws uniformly from a set of choices. Its action, found here without a `Position` and
        # with the sets as lists in a cache, is the one that `act` would return: the same draw, the same order.
        policy = self.policy(member)
        reflex = policy.reflex
        if reflex is not None and (choices := reflex(game, own, opp)):
            actions = self._actions.get(choices) or self._actions_of(choices)
            action = actions[seed % len(actions)]
            # A reflex from outside may return choices that are not legal; `answer` below then raises the error.
            if action >= 0:
                next_own, next_opp = game.play(own, opp, action)
                if next_own != own or next_opp != opp:
                    return action, next_own, next_opp
        return answer(policy, game, own, opp, self.moves, seed)  # calls `act`, or raises if the choice is illegal

    def _actions_of(self, choices: int) -> list[int]:
        """The actions in a set of choices, in ascending order."""
        actions = [self._game.nth(choices, index) for index in range(choices.bit_count())]
        if len(self._actions) < MAX_SETS:
            self._actions[choices] = actions
        return actions
