"""A whole step of many boards, and a random action for each, on one thread or several."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tictac_env.compiled import borrowing_kernel, parallel_kernel, prange
from tictac_env.envs.protocol import Rewards, Setup
from tictac_env.envs.vector import kernels
from tictac_env.envs.vector.boards import LEGALITY, NO_CHECK, OVER, PLAYING, Given, Ints, StepArrays, boards_of
from tictac_env.envs.vector.kernels import (
    EXTERNAL,
    NOBODY,
    RANDOM_POLICY,
    RULE_POLICY,
    CompiledOpponents,
    begin_games,
    first_invalid,
    move,
    nth,
    resolve_opponents,
    store_finals,
    write_rewards,
)
from tictac_env.envs.vector.views import write_observations
from tictac_env.games import Game
from tictac_env.policies import Policy
from tictac_env.policies.heuristics import random_choices, rule_choices
from tictac_env.policies.policy import actions_of, illegal_choice
from tictac_env.policies.pool import OpponentPool
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import STATES, advance, mix

COMPILED: dict[object, int] = {random_choices: RANDOM_POLICY, rule_choices: RULE_POLICY}


class Opponents:
    """The opponents on the boards: one, the members of a pool, or none.

    Attributes:
        compiled: what the kernels know of them.
        external: whether one of them is not compiled and has to be asked.
    """

    def __init__(self, opponent: Policy | None, game: Game, obs_type: str) -> None:
        self._opponent, self._game, self._obs_type = opponent, game, obs_type
        self._weights: list[float] | None = None
        self._read(list(opponent.cumulative) if isinstance(opponent, OpponentPool) else [])

    def update(self) -> None:
        """Takes note of new members of the pool, and of changed weights."""
        if isinstance(self._opponent, OpponentPool) and self._opponent.cumulative != self._weights:
            self._read(list(self._opponent.cumulative))

    def policy(self, member: int) -> Policy | None:
        """The opponent of this number; without a pool there is only number 0."""
        if isinstance(self._opponent, OpponentPool):
            return self._opponent.member(member, self._game, self._obs_type)
        return self._opponent

    def answers(self, boards: Ints, members: Ints, own: Ints, opp: Ints, seeds: Ints) -> Ints:
        """What the `members` play in these positions, all int64 (B,).

        Args:
            boards: the boards' numbers, for messages.
            members: the number of the opponent on each.
            own: the opponents' stones.
            opp: the learners'.
            seeds: for the policies.

        Raises:
            ValueError: a policy does not answer with B integers.
            IllegalMove: its choice is illegal; the message names it, the board, the choice and the position.
        """
        answers = np.empty(len(members), np.int64)
        for number in np.unique(members).tolist():
            asked = np.flatnonzero(members == number)
            policy = self.policy(number)
            replies = actions_of(policy, PositionBatch(self._game, own[asked], opp[asked]), seeds[asked])  # type: ignore[arg-type]  # nobody is never asked
            answers[asked] = replies
            playing = np.full(len(asked), PLAYING)
            wrong = kernels.first_invalid(self._game, own[asked], opp[asked], playing, answers[asked], True)
            if wrong >= 0:
                board = asked[wrong]
                position = Position(self._game, int(own[board]), int(opp[board]))
                raise illegal_choice(policy, position, int(replies[wrong]), f" on board {boards[board]}")  # type: ignore[arg-type]
        return answers

    def _read(self, weights: list[float]) -> None:
        policies = [self.policy(number) for number in range(max(1, len(weights)))]
        kinds = [NOBODY if policy is None else COMPILED.get(policy.reflex, EXTERNAL) for policy in policies]
        self.compiled = CompiledOpponents(np.array(kinds, np.int64), np.array(weights, np.float64))
        self.external = EXTERNAL in kinds
        self._weights = weights


BLOCK = 512
"""How many boards go through the passes of a step together: few enough for the processor's nearest cache."""


class StepSettings(NamedTuple):
    """What a step does, the same for all boards.

    Attributes:
        checks: what the actions are checked for, as in `tictac_env.envs.vector.boards`.
        obs_type: what `write_observations` writes.
        over_actions: the actions that the mask of a finished game shows; see `BoardBatch`.
        offset: how far the sampler's randomness has come since the boards' was written; see `Sampler`.
    """

    checks: int
    obs_type: int
    over_actions: int
    offset: int


@borrowing_kernel
def sample(game: Game, rows: Ints, draws: Ints, offset: int, begin: int, end: int) -> None:
    """Draws a legal action for each board, all with the same chance, by the sampler's randomness; 0 where none is.

    That is not moved on: it is `offset` further than the boards say.
    """
    boards = boards_of(rows)
    owns, opps, phases = boards.own[begin:end], boards.opp[begin:end], boards.phase[begin:end]
    states, drawn = boards.sampler[begin:end], draws[begin:end]
    for i in range(end - begin):
        legal = 0 if phases[i] == OVER else game.legal(owns[i], opps[i])
        index = (mix(advance(states[i] + offset & STATES)) >> 31) * legal.bit_count() >> 32
        drawn[i] = nth(game, legal, index)


@borrowing_kernel
def step(
    game: Game,
    rows: Ints,
    actions: Ints,
    replies: Ints,
    given: Given,
    setup: Setup,
    opponents: CompiledOpponents,
    rewards: Rewards,
    settings: StepSettings,
    output: StepArrays,
    draws: Ints,
) -> tuple[int, int, int]:
    """A step of boards whose opponents are compiled, and let the learner move: the passes of `kernels` in turn.

    Games that are over are dealt anew at once if `output` has room for finals.

    Args:
        game: the rule book.
        rows: the boards, as `boards_of` takes them.
        actions: int64 (N,).
        replies: int64 (N,), room for the opponents' actions; all -1.
        given: what a reset would say of games that begin: nothing.
        setup: what the environment says of them.
        opponents: who answers.
        rewards: for a win, a draw, a loss and a step that does not end the game.
        settings: what else the step does.
        output: what it is written to.
        draws: int64 (N,), where the next random actions are drawn to, as by `sample`; (0,) if they are not wanted.

    Returns:
        -1, how many actions were illegal and how many games have ended; or, if an action is invalid, the number of its
        board, and nothing is done.
    """
    if settings.checks != NO_CHECK:
        wrong = _first_invalid(game, rows, actions, settings.checks == LEGALITY, 0, len(actions))
        if wrong >= 0:
            return wrong, 0, 0
    num_illegal, num_ended = _step(
        game, rows, actions, replies, given, setup, opponents, rewards, settings, output, draws, 0, len(actions)
    )
    return -1, num_illegal, num_ended


@parallel_kernel
def step_in_threads(
    game: Game,
    rows: Ints,
    actions: Ints,
    replies: Ints,
    given: Given,
    setup: Setup,
    opponents: CompiledOpponents,
    rewards: Rewards,
    settings: StepSettings,
    output: StepArrays,
    draws: Ints,
    threads: int,
) -> tuple[int, int, int]:
    """`step`, each thread taking its share of the boards."""
    count = len(actions)
    if settings.checks != NO_CHECK:
        first_wrong = count
        for thread in prange(threads):  # each thread looks at what it has in its own cache
            begin, end = thread * count // threads, (thread + 1) * count // threads
            wrong = _first_invalid(game, rows, actions, settings.checks == LEGALITY, begin, end)
            first_wrong = min(first_wrong, wrong if wrong >= 0 else count)
        if first_wrong < count:
            return first_wrong, 0, 0
    num_illegal = num_ended = 0
    for thread in prange(threads):
        begin, end = thread * count // threads, (thread + 1) * count // threads
        illegal, over = _step(
            game, rows, actions, replies, given, setup, opponents, rewards, settings, output, draws, begin, end
        )
        num_illegal += illegal
        num_ended += over
    return -1, num_illegal, num_ended


@borrowing_kernel
def _first_invalid(game: Game, rows: Ints, actions: Ints, raises: bool, begin: int, end: int) -> int:
    """The number of the first of the boards `begin` to `end` whose action is invalid; -1 if there is none."""
    boards = boards_of(rows)
    own, opp, phases = boards.own[begin:end], boards.opp[begin:end], boards.phase[begin:end]
    wrong = first_invalid(game, own, opp, phases, actions[begin:end], raises)
    return begin + wrong if wrong >= 0 else -1


@borrowing_kernel
def _step(
    game: Game,
    rows: Ints,
    actions: Ints,
    replies: Ints,
    given: Given,
    setup: Setup,
    opponents: CompiledOpponents,
    rewards: Rewards,
    settings: StepSettings,
    output: StepArrays,
    draws: Ints,
    begin: int,
    end: int,
) -> tuple[int, int]:
    """The step of the boards `begin` to `end`, whose actions are in range."""
    obs_type, finals = settings.obs_type, output.finals
    deals = not setup.self_play or len(setup.start_owns) > 0
    num_illegal = num_ended = 0
    for first in range(begin, end, BLOCK):
        last = min(first + BLOCK, end)
        num_illegal += move(game, rows, actions, setup.self_play, deals, first, last)
        if deals:
            resolve_opponents(game, rows, replies, given, setup, opponents, first, last)
        over = write_rewards(rows, rewards, output.rewards, output.ended, first, last)
        num_ended += over
        if finals.shape[1] and over:
            write_observations(game, rows, obs_type, 0, output, finals.shape[1], first, last)
            store_finals(rows, finals, first, last)
            resolve_opponents(game, rows, replies, given, setup, opponents, first, last)
            begin_games(rows, first, last)
        write_observations(game, rows, obs_type, settings.over_actions, output, 0, first, last)
        if len(draws):
            sample(game, rows, draws, settings.offset, first, last)
    return num_illegal, num_ended


@parallel_kernel
def sample_in_threads(game: Game, rows: Ints, draws: Ints, offset: int, threads: int) -> None:
    """`sample` for all boards, each thread taking its share of them."""
    count = len(draws)
    for thread in prange(threads):
        sample(game, rows, draws, offset, thread * count // threads, (thread + 1) * count // threads)
