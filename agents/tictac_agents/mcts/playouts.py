"""How a game is played out beyond a search tree, and the cheap randomness for it."""

from __future__ import annotations

from tictac_env.compiled import borrowing_kernel
from tictac_env.games import UNFINISHED, Game
from tictac_env.rng import LOW_32, mix

MULTIPLIER = 698_769_069


def first_state(seed: int) -> int:
    """The state a seed in [0, 2**63) begins with, in [1, 2**61)."""
    return mix(seed) >> 2 | 1


@borrowing_kernel
def below(state: int, count: int) -> tuple[int, int]:
    """The next state, and a number in [0, count); `state` in [1, 2**61), `count` at most 63.

    A multiply-with-carry generator of Marsaglia's (KISS, 1999): the state's lower half is the draw, its upper half the
    carry. It never leaves [1, 2**63), and costs a fifth of `rng.mix`, which seeds it.
    """
    state = MULTIPLIER * (state & LOW_32) + (state >> 32)
    return state, (state & LOW_32) * count >> 32


@borrowing_kernel
def play_out(game: Game, own: int, opp: int, rule: bool, state: int) -> tuple[int, int]:
    """How a game from an unfinished position ends, for the side to move: 1, 0 or -1; and the state of the randomness.

    Both sides move at random; with `rule` only where they can neither win at once nor block such a win.
    """
    if rule:
        return play_by_rule(game, own, opp, state)
    value = 1
    while True:
        # The first draw is nearly always legal, which the processor foresees; how many bits to skip it cannot.
        state, action = below(state, game.num_actions)
        next_own, next_opp = game.play(own, opp, action)
        if next_own == own:
            legal = game.legal(own, opp)
            state, index = below(state, legal.bit_count())
            next_own, next_opp = game.play_choice(own, opp, nth_bit(legal, index))
        own, opp = next_own, next_opp
        value = -value
        result = game.result(own, opp)
        if result != UNFINISHED:
            return value * result, state


@borrowing_kernel
def play_by_rule(game: Game, own: int, opp: int, state: int) -> tuple[int, int]:
    """`play_out` by the rule. A side's threats change only when it moves; a game nobody wins ends without moves."""
    value = 1
    mine, theirs = game.threats(own), game.threats(opp)
    while True:
        if game.choices_into(own, opp, mine):
            return value, state
        choices = game.choices_into(own, opp, theirs)
        if not choices:
            choices = game.legal(own, opp)
        state, index = below(state, choices.bit_count())
        own, opp = game.play_choice(own, opp, nth_bit(choices, index))
        mine, theirs = theirs, game.threats(opp)
        value = -value
        if not game.legal(own, opp):
            return value * game.result(own, opp), state


@borrowing_kernel
def nth_bit(bits: int, index: int) -> int:
    """The bit of a set that has `index` lower ones."""
    for _ in range(index):
        bits &= bits - 1  # the lowest one goes
    return bits & (bits ^ bits - 1)
