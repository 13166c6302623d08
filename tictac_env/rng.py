"""The RNG state of a board: one integer, advanced by one function, the same interpreted and compiled.

The state steps through all 62-bit integers by an odd constant (a Weyl sequence); a draw is the state, mixed by four
rounds of a Feistel network (Luby and Rackoff, "How to construct pseudorandom permutations from pseudorandom functions",
1988). As in the rules of games, no intermediate result leaves [0, 2**63): compiled code may assume that an int64 never
overflows, so generators that multiply modulo 2**64, as usual, would give different results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from tictac_env.arrays import Floats, Ints

Number = TypeVar("Number", int, Ints)
"""One number or an array of them: the arithmetic is the same."""
UNIT = 2.0**-63
"""Turns a draw into a number in [0, 1)."""
STATES = (1 << 62) - 1
STEP = 0x278DDE6E5FD29F05
"""2**62 divided by the golden ratio, which spreads any run of states evenly (Knuth, TAOCP 3, 6.4)."""
LOW_31 = (1 << 31) - 1
LOW_32 = (1 << 32) - 1


def advance(state: int) -> int:
    """The state that follows `state`; both in [0, 2**62)."""
    return state + STEP & STATES


def mix(value: Number) -> Number:
    """A draw in [0, 2**63): a permutation of [0, 2**63) in which every bit depends on every other.

    Each half in turn (hi has 32 bits, lo 31) is changed by a multiple of the other; the upper half of the multiple is
    folded onto its lower half, so that all of its bits count.
    """
    #      62                 31 30                  0
    #     +---------------------+---------------------+
    #     |     hi (32 bits)    |     lo (31 bits)    |
    #     +---------------------+---------------------+
    #
    # A round: hi ^= fold(lo * odd), or lo ^= fold(hi * odd). It is undone by doing it again, as the half that it reads
    # stays, so four rounds are a permutation whatever `fold` is. The products of 31 by 32 and of 32 by 31 bits are
    # below 2**63: no int64 overflows.
    hi = value >> 31
    lo = value & LOW_31
    product = lo * 0xD35A2D97
    hi ^= (product ^ product >> 31) & LOW_32
    product = hi * 0x5851F42D
    lo ^= (product ^ product >> 32) & LOW_31
    product = lo * 0xC2B2AE35
    hi ^= (product ^ product >> 31) & LOW_32
    product = hi * 0x6C8E9CF5
    lo ^= (product ^ product >> 32) & LOW_31
    return hi << 31 | lo


def weighted(cumulative: Sequence[float] | Floats, value: int) -> int:
    """The number i in [0, n) that a draw `value` in [0, 2**63) selects, with a probability proportional to its weight.

    Args:
        cumulative: the n running sums of the weights.
        value: the draw.
    """
    # The last member is what is left, so a share that rounds up to the whole sum has an index too.
    share = value * UNIT * cumulative[len(cumulative) - 1]
    for index in range(len(cumulative) - 1):
        if share < cumulative[index]:
            return index
    return len(cumulative) - 1


def position_seed(own: Number, opp: Number, salt: int) -> Number:
    """A seed in [0, 2**63) that depends only on a position and `salt` (in [0, 2**63)).

    With it, a policy that draws becomes a fixed map from positions to actions, which can be judged exactly.
    """
    return mix(mix(mix(own ^ STEP) ^ opp) ^ salt)


def new_state(seed: int | None) -> int:
    """A board's first state: drawn from `numpy.random.SeedSequence(seed)`, from fresh entropy if `seed` is None."""
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]) & STATES
