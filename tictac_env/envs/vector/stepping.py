"""A whole step of many boards, and a random action for each, on one thread or several."""

from __future__ import annotations

from tictac_env.compiled import borrowing_kernel, parallel_kernel, prange
from tictac_env.envs.vector.boards import (
    LEGALITY,
    NO_CHECK,
    NOBODY,
    OPP,
    OVER,
    OWN,
    PHASE,
    SAMPLER,
    Bytes,
    Floats,
    Ints,
)
from tictac_env.envs.vector.kernels import (
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
from tictac_env.rng import STATES, advance, mix

BLOCK = 512
"""How many boards go through the passes of a step together: few enough for the processor's nearest cache."""


@borrowing_kernel
def sample(game: Game, boards: Ints, draws: Ints, offset: int, begin: int, end: int) -> None:
    """Draws a legal action for each board, all with the same chance, by the sampler's randomness; 0 where none is.

    That is not moved on: it is `offset` further than the row SAMPLER says.
    """
    owns, opps, phases = boards[OWN, begin:end], boards[OPP, begin:end], boards[PHASE, begin:end]
    states, drawn = boards[SAMPLER, begin:end], draws[begin:end]
    for i in range(end - begin):
        legal = 0 if phases[i] == OVER else game.legal(owns[i], opps[i])
        index = (mix(advance(states[i] + offset & STATES)) >> 31) * legal.bit_count() >> 32
        drawn[i] = nth(game, legal, index)


# fmt: off
@borrowing_kernel
def step(
    game: Game, boards: Ints, actions: Ints, replies: Ints, play_as: Ints, starts: Ints, kinds: Ints,
    cumulative: Floats, pay: tuple[float, float, float, float], checks: int, obs_type: int, cells: Bytes, codes: Ints,
    masks: Bytes, rewards: Floats, ended: Bytes, finals: Ints, draws: Ints, offset: int,
) -> tuple[int, int, int]:
    """A step of boards whose opponents need not be asked, and let the learner move: the passes of `kernels` in turn.

    Games that are over are dealt anew at once if `finals` is not empty; the next random actions are drawn along, as by
    `sample`, if `draws` is not. Returns -1, how many actions were illegal and how many games have ended; or, if
    `checks` are asked for and an action is invalid, the number of its board, and nothing is done.
    """
    if checks != NO_CHECK:
        wrong = first_invalid(game, boards[OWN], boards[OPP], boards[PHASE], actions, checks == LEGALITY)
        if wrong >= 0:
            return wrong, 0, 0
    num_illegal, num_ended = _step(
        game, boards, actions, replies, play_as, starts, kinds, cumulative, pay, obs_type, cells, codes, masks,
        rewards, ended, finals, draws, offset, 0, len(actions),
    )
    return -1, num_illegal, num_ended


@parallel_kernel
def step_in_threads(
    game: Game, boards: Ints, actions: Ints, replies: Ints, play_as: Ints, starts: Ints, kinds: Ints,
    cumulative: Floats, pay: tuple[float, float, float, float], checks: int, obs_type: int, cells: Bytes, codes: Ints,
    masks: Bytes, rewards: Floats, ended: Bytes, finals: Ints, draws: Ints, offset: int, threads: int,
) -> tuple[int, int, int]:
    """`step`, each thread taking its share of the boards."""
    count = len(actions)
    if checks != NO_CHECK:
        first_wrong = count
        for thread in prange(threads):  # each thread looks at what it has in its own cache
            begin, end = thread * count // threads, (thread + 1) * count // threads
            own, opp, phases = boards[OWN, begin:end], boards[OPP, begin:end], boards[PHASE, begin:end]
            wrong = first_invalid(game, own, opp, phases, actions[begin:end], checks == LEGALITY)
            first_wrong = min(first_wrong, begin + wrong if wrong >= 0 else count)
        if first_wrong < count:
            return first_wrong, 0, 0
    num_illegal = num_ended = 0
    for thread in prange(threads):
        illegal, over = _step(
            game, boards, actions, replies, play_as, starts, kinds, cumulative, pay, obs_type, cells, codes, masks,
            rewards, ended, finals, draws, offset, thread * count // threads, (thread + 1) * count // threads,
        )
        num_illegal += illegal
        num_ended += over
    return -1, num_illegal, num_ended


@borrowing_kernel
def _step(
    game: Game, boards: Ints, actions: Ints, replies: Ints, play_as: Ints, starts: Ints, kinds: Ints,
    cumulative: Floats, pay: tuple[float, float, float, float], obs_type: int, cells: Bytes, codes: Ints,
    masks: Bytes, rewards: Floats, ended: Bytes, finals: Ints, draws: Ints, offset: int, begin: int, end: int,
) -> tuple[int, int]:
    """The step of the boards `begin` to `end`, whose actions are in range."""
    nowhere = boards[:2, :0]
    self_play = kinds[0] == NOBODY
    deals = not self_play or starts.shape[1] > 0
    num_illegal = num_ended = 0
    for first in range(begin, end, BLOCK):
        last = min(first + BLOCK, end)
        num_illegal += move(game, boards, actions, self_play, deals, first, last)
        if deals:
            resolve_opponents(game, boards, replies, nowhere, play_as, starts, kinds, cumulative, first, last)
        over = write_rewards(boards, pay, rewards, ended, first, last)
        num_ended += over
        if finals.shape[1] and over:
            write_observations(game, boards, obs_type, cells, codes, masks, finals.shape[1], first, last)
            store_finals(boards, finals, first, last)
            resolve_opponents(game, boards, replies, nowhere, play_as, starts, kinds, cumulative, first, last)
            begin_games(boards, first, last)
        write_observations(game, boards, obs_type, cells, codes, masks, 0, first, last)
        if len(draws):
            sample(game, boards, draws, offset, first, last)
    return num_illegal, num_ended
# fmt: on


@parallel_kernel
def sample_in_threads(game: Game, boards: Ints, draws: Ints, offset: int, threads: int) -> None:
    """`sample` for all boards, each thread taking its share of them."""
    count = len(draws)
    for thread in prange(threads):
        sample(game, boards, draws, offset, thread * count // threads, (thread + 1) * count // threads)
