"""Rollouts, the games played out from a leaf of a search tree, and the cheap randomness they use."""

from __future__ import annotations

from tictac_env.compiled import borrowing_kernel
from tictac_env.games import UNFINISHED, Game
from tictac_env.rng import LOW_32, mix

MULTIPLIER = 698_769_069


def first_state(seed: int) -> int:
    """The state, in [1, 2**61), that a seed in [0, 2**63) begins with."""
    return mix(seed) >> 2 | 1


@borrowing_kernel
def random_below(state: int, count: int) -> tuple[int, int]:
    """The next state, and a random number in [0, count); `state` is in [1, 2**61), `count` at most 63.

    A multiply-with-carry generator of Marsaglia's (KISS, 1999): the state's lower half is the draw, its upper half the
    carry. It never leaves [1, 2**63), and costs a fifth of `rng.mix`, which seeds it.
    """
    state = MULTIPLIER * (state & LOW_32) + (state >> 32)
    return state, (state & LOW_32) * count >> 32


@borrowing_kernel
def rollout(game: Game, own: int, opp: int, by_rule: bool, state: int) -> tuple[int, int]:
    """Plays a game from an unfinished position to its end.

    Both sides move at random; if `by_rule` only where they can neither win at once nor block such a win. (A game that
    does not know its wins is played at random.)

    Returns:
        The result for the side to move, 1, 0 or -1, and the state of the randomness.
    """
    if by_rule and game.knows_wins:
        return rollout_by_rule(game, own, opp, state)
    sign = 1
    while True:
        # The first draw is nearly always legal, which the processor foresees; how many bits to skip it cannot.
        state, action = random_below(state, game.num_actions)
        next_own, next_opp = game.play(own, opp, action)
        if next_own == own:
            legal = game.legal(own, opp)
            state, index = random_below(state, legal.bit_count())
            next_own, next_opp = game.play_choice(own, opp, nth_bit(legal, index))
        own, opp = next_own, next_opp
        sign = -sign
        result = game.result(own, opp)
        if result != UNFINISHED:
            return sign * result, state


@borrowing_kernel
def rollout_by_rule(game: Game, own: int, opp: int, state: int) -> tuple[int, int]:
    """`rollout` by the rule. A side's threats change only when it moves; a drawn game ends when no move is left."""
    sign = 1
    seat = game.seat(own, opp)
    own_threats, opp_threats = game.threats(own, seat), game.threats(opp, 1 - seat)
    while True:
        if game.choices_into(own, opp, own_threats):
            return sign, state
        choices = game.choices_into(own, opp, opp_threats)
        if not choices:
            choices = game.legal(own, opp)
        state, index = random_below(state, choices.bit_count())
        own, opp = game.play_choice(own, opp, nth_bit(choices, index))
        own_threats, opp_threats = opp_threats, game.threats(opp, seat)
        seat = 1 - seat
        sign = -sign
        if not game.legal(own, opp):
            return sign * game.result(own, opp), state


@borrowing_kernel
def nth_bit(bits: int, index: int) -> int:
    """The bit of a set that has `index` lower ones."""
    for _ in range(index):
        bits &= bits - 1  # the lowest one goes
    return bits & (bits ^ bits - 1)
