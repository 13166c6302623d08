"""The transposition table of the search: bounds of positions met before, in one array of int64.

A position's key is scrambled to `bits` bits by a multiplication modulo 2**bits with an odd factor, which is reversible.
The upper bits of the product are the number of a bucket of two entries, the others are the tag that distinguishes the
keys in a bucket. So an entry is exact, for any size of the table. The code of Connect Four's positions (56 bits), in a
table of 2**20 buckets:

     55           36 35                                  0
    +---------------+-------------------------------------+
    |    bucket     |                 tag                 |     code = key * FACTOR mod 2**bits
    +---------------+-------------------------------------+

and its entry, 0 if there is none (a tag is stored plus 1, so that no entry is 0):

     63  62                        18 17   12 11    6 5     0
    +---+----------------------------+-------+-------+-------+
    | 0 |          tag + 1           | work  | upper | lower |     the bounds plus 32, in [0, 64)
    +---+----------------------------+-------+-------+-------+

An entry is one word, read and written at once: threads may share the table without locks; at worst a thread overwrites
another's entry. In a bucket the first entry keeps the position that took more work (nodes, as a power of two), the
second one is always replaced.

The table grows with the longest search: it starts with a few buckets at the front of the array, so that small searches
stay in the processor's cache, where a look-up costs a tenth of one in main memory.
"""

from __future__ import annotations

import numpy as np

from tictac_env.arrays import Ints
from tictac_env.compiled import kernel, prefetch, wrapping_product

COMPILED_AS = "the growth of the solver's table"

FACTOR = 0x1E3779B97F4A7C15
MAX_TAG_BITS = 44
SMALLEST = 13
"""The table begins with 2**13 buckets, 128 KB."""
GROWTH = 3
"""Each growth multiplies the buckets by 2**3."""
NODES_PER_ENTRY = 4
"""The table grows when one search has taken this number of nodes per entry: lost entries are mostly cheap."""
OFFSET = 32
ENTRY_BITS = 18
LOG_BUCKET_BYTES = 4
"""A bucket is two entries of 8 bytes."""
LEAST_KEY_BITS = 40
"""Shorter keys are scrambled as if they had this many bits; otherwise a small game's keys would share few buckets."""
LEAST_LOG_BUCKETS = 4
"""No table has fewer than 2**4 buckets."""


@kernel
def scramble(key: int, bits: int) -> int:
    """A permutation of the numbers below 2**bits."""
    # The product modulo 2**64 has the right lower bits, and so has its remainder modulo 2**bits: no wider one is
    # needed.
    return int(wrapping_product(key, FACTOR)) & (1 << bits) - 1


@kernel
def fetch(table: Ints, code: int, tag_bits: int) -> None:
    """Prefetches the bucket of a scrambled key for `find`."""
    prefetch(table, code >> tag_bits << 1)


@kernel
def find(table: Ints, code: int, tag_bits: int) -> int:
    """The entry of a scrambled key, 0 if there is none."""
    # Two entries of 8 bytes: number of the bucket times two. Both lie in one cache line, so the second look is free.
    bucket = code >> tag_bits << 1
    tag = (code & (1 << tag_bits) - 1) + 1
    entry = int(table[bucket])
    if entry >> ENTRY_BITS == tag:
        return entry
    entry = int(table[bucket + 1])
    if entry >> ENTRY_BITS == tag:
        return entry
    return 0


@kernel
def lower_of(entry: int) -> int:
    """The lower bound in an entry."""
    return (entry & 63) - OFFSET


@kernel
def upper_of(entry: int) -> int:
    """The upper bound in an entry."""
    return (entry >> 6 & 63) - OFFSET


@kernel
def store(table: Ints, code: int, tag_bits: int, lower: int, upper: int, nodes: int) -> None:
    """Stores the bounds that a search of `nodes` nodes has found, combined with those stored before."""
    bucket = code >> tag_bits << 1
    tag = (code & (1 << tag_bits) - 1) + 1
    # The binary logarithm of the nodes fits 6 bits.
    work = 0
    while nodes > 1:
        nodes >>= 1
        work += 1
    first = table[bucket]
    second = table[bucket + 1]
    place = bucket
    # The position has an entry: narrow its bounds in place. Both old and new ones hold, so their intersection does.
    if first >> ENTRY_BITS == tag:
        lower, upper = max(lower, lower_of(first)), min(upper, upper_of(first))
        work = max(work, first >> 12 & 63)
    elif second >> ENTRY_BITS == tag:
        lower, upper = max(lower, lower_of(second)), min(upper, upper_of(second))
        place = bucket + 1
    # A new position that took as much work as the first entry's replaces it, and that one moves to the second place.
    elif work >= first >> 12 & 63:
        table[bucket + 1] = first
    # Otherwise it takes the second place, whatever is there: recent positions are likely to come up again soon.
    else:
        place = bucket + 1
    table[place] = tag << ENTRY_BITS | work << 12 | upper + OFFSET << 6 | lower + OFFSET


@kernel
def spread(table: Ints, log_buckets: Ints, bits: int, growth: int) -> None:
    """Distributes the entries over 2**growth times as many buckets, in place, and updates `log_buckets`, int64 (1,).

    A bucket's entries only move to higher places, so the loop from the last bucket down overwrites nothing. One kernel
    does both, so that Ctrl-C cannot come between, after which entries would be looked up in the wrong buckets.
    """
    # The upper `growth` bits of each tag become the lower bits of the bucket's number:
    #
    #     before   | bucket      | tag                       |
    #     after    | bucket      : growth | tag              |      2**growth buckets for one
    tag_bits = bits - log_buckets[0] - growth
    for bucket in range((1 << log_buckets[0]) - 1, -1, -1):
        first = table[2 * bucket]
        second = table[2 * bucket + 1]
        table[2 * bucket] = 0
        table[2 * bucket + 1] = 0
        # The second entry first: if both go to one bucket, the first moves it back to the second place.
        for entry in (second, first):
            if entry:
                tag = (entry >> ENTRY_BITS) - 1
                place = (bucket << growth | tag >> tag_bits) << 1
                table[place + 1] = table[place]
                shorter_tag = (tag & (1 << tag_bits) - 1) + 1
                table[place] = shorter_tag << ENTRY_BITS | entry & (1 << ENTRY_BITS) - 1
    log_buckets[0] += growth


class TranspositionTable:
    """The array of entries, and the number of buckets in use.

    Args:
        key_bits: the number of bits of a game's keys.
        megabytes: the most memory the table may take; the largest power of two in it is used.

    Raises:
        ValueError: a table for such keys needs more memory.
    """

    def __init__(self, key_bits: int, megabytes: float) -> None:
        self.bits = max(key_bits, LEAST_KEY_BITS)
        self.largest = int(megabytes * (1 << 20)).bit_length() - 1 - LOG_BUCKET_BYTES
        least = max(self.bits - MAX_TAG_BITS, LEAST_LOG_BUCKETS)
        if self.largest < least:
            needed = (1 << least + LOG_BUCKET_BYTES) / (1 << 20)
            raise ValueError(f"a table of {megabytes} MB is too small; for this game it needs {needed:g} MB")
        self.smallest = min(max(SMALLEST, least), self.largest)
        self._log_buckets = np.array([self.smallest], np.int64)
        self.entries = np.zeros(2 << self.largest, np.int64)

    @property
    def log_buckets(self) -> int:
        """The number of buckets in use, as a power of two."""
        return self._log_buckets.item(0)

    @property
    def tag_bits(self) -> int:
        """The number of bits of a scrambled key that its entry keeps."""
        return self.bits - self.log_buckets

    @property
    def room(self) -> int:
        """The number of nodes of one search after which the table should grow."""
        return NODES_PER_ENTRY * (2 << self.log_buckets) if self.log_buckets < self.largest else 1 << 62

    def grow(self) -> None:
        """Multiplies the buckets in use by 2**GROWTH, or as far as the array allows."""
        spread(self.entries, self._log_buckets, self.bits, min(GROWTH, self.largest - self.log_buckets))

    def clear(self) -> None:
        """Forgets everything."""
        self.entries[: 2 << self.log_buckets] = 0
        self._log_buckets[0] = self.smallest
