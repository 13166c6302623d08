"""Games of a network against itself, and its updates from them, compiled.

A batch of games is played with the weights as they are; then the weights are updated from each. Both halves are shared
among threads: the games of a batch, and the tuples. A sum of integers is the same in any order, so the weights do not
depend on the number of threads.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.mcts.simulation import first_state, nth_bit, random_below
from tictac_agents.ntuple.values import (
    ONE,
    TWO,
    Int32s,
    Ints,
    Layout,
    Tables,
    UInt32s,
    clear,
    place,
    squash,
    sum_after,
)
from tictac_env.compiled import borrowing_kernel, kernel, parallel_kernel, prange
from tictac_env.games.k_in_a_row import KInARow

COMPILED_AS = "learning with n-tuple networks"

Floats = npt.NDArray[np.float64]

CHANCES = 1 << 30
"""Chances are counted in parts of this."""
APART = 16
"""Numbers of 8 bytes in two lines of the processor's cache, the distance between what two threads write often: they
would wait for each other on the same line."""
ERROR = 0.3
"""The chance that a move of the side that errs is random."""


class Teaching(NamedTuple):
    """The settings of the games and of the updates; `NTupleTD` explains them.

    An `erring_seat` of -1 draws it by lot. `starts`, (S, cells + 1), are the games to begin with: the number of their
    stones, then the bit of each stone.
    """

    epsilon: float
    erring: float
    erring_seat: int
    margin: float
    trace: float
    discount: float
    rule: bool
    logistic: bool
    start_chance: float
    starts: npt.NDArray[np.int8]


class Batch(NamedTuple):
    """K games, and scratch memory for each thread.

    Attributes:
        stones: (K, cells): the number of the bit of each stone.
        amounts: (K, cells): what each weight gets for the position after that stone.
        plies: (K,).
        addresses, current, sums: (threads, P), and so on: see `Tables`.
        values: (threads, 2, cells): the value of each position of a game, and of the best action that led to it.
        shares: (threads + 1,): where the images begin whose weights a thread updates; a tuple's share its weights.
        entries: (threads + 1, 64): and for each bit where these begin in `touched`.
        found: (threads, 64): the value of each cell that may be next, by its bit's number.
        added: (2 * P,): the sums of amounts that each image's weights have got so far.
    """

    stones: npt.NDArray[np.int8]
    amounts: Int32s
    plies: Ints
    addresses: UInt32s
    current: Int32s
    sums: Ints
    values: Floats
    shares: Ints
    entries: Ints
    found: Floats
    added: Ints


class Coherence(NamedTuple):
    """Temporal coherence (Beal and Smith 1999): what each weight was to get in all, with signs and without.

    Both are as long as the weights, or empty without temporal coherence.
    """

    net: Ints
    size: Ints


def new_batch(game: KInARow, layout: Layout, tuples: int, games: int, threads: int) -> Batch:
    """Room for the games of a batch, at most `games`, of a network of so many tuples."""
    images, begins = len(layout.empty), layout.begins
    shares = np.arange(threads + 1) * tuples // threads * (images // tuples)
    of_bits = [layout.touched[begin:end] for begin, end in pairwise(begins)]
    return Batch(
        stones=np.zeros((games, game.cells), np.int8),
        amounts=np.zeros((games, game.cells), np.int32),
        plies=np.zeros(games, np.int64),
        addresses=np.zeros((threads, images), np.uint32),
        current=np.zeros((threads, 2 * images), np.int32),
        sums=np.zeros((threads, APART), np.int64),
        values=np.zeros((threads, 2, game.cells)),
        shares=shares,
        entries=np.array([begins[:-1] + [np.searchsorted(one, share) for one in of_bits] for share in shares]),
        found=np.zeros((threads, 64)),
        added=np.zeros(2 * images, np.int64),
    )


@kernel
def learn_batches(
    game: KInARow, tables: Tables, coherence: Coherence, teaching: Teaching, batch: Batch, size: int, step: float,
    seed: int, begin: int, end: int,
) -> int:  # fmt: skip
    """Learns from the games of the numbers `begin` to `end`; returns the number of their plies.

    `size` games are played before the network learns from them. An update takes away the part `step` of a position's
    error. The randomness of each game begins with `seed`, in [0, 2**62), and its number.
    """
    plies = 0
    for first in range(begin, end, size):
        games = min(size, end - first)
        play_batch(game, tables, teaching, batch, step, seed + first, 0, 0, games)
        take_in(tables, coherence, batch, games, 0)
        plies += plies_of(batch, games)
    return plies


@parallel_kernel
def learn_batches_in_threads(
    game: KInARow, tables: Tables, coherence: Coherence, teaching: Teaching, batch: Batch, size: int, step: float,
    seed: int, begin: int, end: int, threads: int,
) -> int:  # fmt: skip
    """`learn_batches`, shared among threads."""
    plies = 0
    for first in range(begin, end, size):
        games = min(size, end - first)
        for thread in prange(threads):
            a, b = thread * games // threads, (thread + 1) * games // threads
            play_batch(game, tables, teaching, batch, step, seed + first, thread, a, b)
        plies += plies_of(batch, games)  # here, as Numba makes one loop of two that follow each other
        for thread in prange(threads):
            take_in(tables, coherence, batch, games, thread)
    return plies


@borrowing_kernel
def plies_of(batch: Batch, games: int) -> int:
    """The plies of the first games of a batch."""
    plies = 0
    for i in range(games):
        plies += int(batch.plies[i])
    return plies


@borrowing_kernel
def play_batch(
    game: KInARow, tables: Tables, teaching: Teaching, batch: Batch, step: float, seed: int, thread: int, begin: int,
    end: int,
) -> None:  # fmt: skip
    """Plays the games `begin` to `end` of a batch with the scratch memory of a thread."""
    board = Tables(
        tables.begins, tables.touched, tables.changes, tables.empty, tables.weights,
        batch.addresses[thread], batch.current[thread], batch.sums[thread],
    )  # fmt: skip
    values, bests = batch.values[thread, 0], batch.values[thread, 1]
    for i in range(begin, end):
        state = first_state(seed + i)
        play_in_batch(game, board, teaching, batch, step, i, values, bests, batch.found[thread], state)


@borrowing_kernel
def play_in_batch(
    game: KInARow, tables: Tables, teaching: Teaching, batch: Batch, step: float, i: int, values: Floats, bests: Floats,
    found: Floats, state: int,
) -> None:  # fmt: skip
    """Plays game `i` of a batch, and finds the amounts by which its positions change their weights."""
    stones, amounts = batch.stones[i], batch.amounts[i]
    own, opp = game.start()
    seat = 0
    clear(tables)
    begin = 0
    erring = -1  # the seat that errs
    state, draw = random_below(state, CHANCES)
    if draw < teaching.erring * CHANCES:
        state, erring = random_below(state, 2)
        if teaching.erring_seat >= 0:
            erring = teaching.erring_seat
    state, draw = random_below(state, CHANCES)
    if draw < teaching.start_chance * CHANCES:
        state, row = random_below(state, len(teaching.starts))
        begin = int(teaching.starts[row, 0])
        for ply in range(begin):
            stones[ply] = teaching.starts[row, ply + 1]
            amounts[ply] = 0
            place(tables, stones[ply], seat)
            own, opp, seat = opp, own | 1 << stones[ply], 1 - seat
    plies = begin
    explored = 0  # bit p: stone p is not on the best cell, and what follows does not count
    mine, theirs = game.threats(own, seat), game.threats(opp, 1 - seat)
    while True:
        choices, result = sensible(game, own, opp, mine, theirs, teaching.rule)
        if choices == 0:
            break
        most = value_all(tables, choices, seat, found)
        state, draw = random_below(state, CHANCES)
        explores = draw < (ERROR if seat == erring else teaching.epsilon) * CHANCES
        among = choices if explores else at_least(choices, found, most - teaching.margin)
        state, index = random_below(state, among.bit_count())
        chosen = nth_bit(among, index)
        stones[plies] = (chosen - 1).bit_count()
        place(tables, stones[plies], seat)
        bests[plies], values[plies] = most, found[stones[plies]]
        counts = seat == erring == teaching.erring_seat
        explored |= (values[plies] < most and not counts) << plies
        plies += 1
        own, opp, seat = opp, own | chosen, 1 - seat
        mine, theirs = theirs, game.threats(opp, 1 - seat)
    batch.plies[i] = plies
    target = -float(result)
    for ply in range(plies - 1, begin - 1, -1):
        if ply < plies - 1:
            if explored >> ply + 1 & 1:
                target = bests[ply + 1]  # later results do not credit this position (exploratory move)
            else:
                target = teaching.trace * target + (1.0 - teaching.trace) * values[ply + 1]
            target *= -teaching.discount
        error = target - values[ply]
        if not teaching.logistic:
            error *= 1.0 - values[ply] * values[ply]
        amounts[ply] = round(step * error * ONE / len(tables.empty))


@borrowing_kernel
def value_all(tables: Tables, choices: int, seat: int, found: Floats) -> float:
    """Fills `found` with the value of a stone of `seat` on each of some cells, by their bits' numbers; the highest."""
    most = -1.0
    while choices:
        rest = choices & choices - 1
        bit = ((choices ^ rest) - 1).bit_count()
        found[bit] = squash(sum_after(tables, bit, seat))
        most = max(most, found[bit])
        choices = rest
    return most


@borrowing_kernel
def at_least(choices: int, found: Floats, value: float) -> int:
    """The cells that have this value or more."""
    cells = 0
    while choices:
        rest = choices & choices - 1
        cells |= (found[((choices ^ rest) - 1).bit_count()] >= value) * (choices ^ rest)
        choices = rest
    return cells


@borrowing_kernel
def sensible(game: KInARow, own: int, opp: int, mine: int, theirs: int, rule: bool) -> tuple[int, int]:
    """The cells worth a stone of the side to move, and the result for it if there are none.

    There are none if it can win at once, nor on a full board. By the one-move `rule` a side blocks a win of the other
    side, and opens none to it; if it has to, it is lost. `mine` and `theirs` are the `threats` of the two sides.
    """
    playable = game.playable(own, opp)
    if mine & playable:
        return 0, 1
    if not rule:
        return playable, 0
    blocks = theirs & playable
    cells = (blocks if blocks else playable) & ~game.beneath(theirs)
    if blocks & blocks - 1 or (playable and not cells):
        return 0, -1
    return cells, 0


@borrowing_kernel
def take_in(tables: Tables, coherence: Coherence, batch: Batch, games: int, thread: int) -> None:
    """Updates the weights of a thread from the first `games` games of a batch.

    The address of an image changes with few of the stones. So the amounts of each seat are summed up through the game;
    when an address changes, its weights get the sum since it was new.
    """
    begin, end = batch.shares[thread], batch.shares[thread + 1]
    for i in range(games):
        for image in range(begin, end):
            tables.addresses[image] = tables.empty[image]
            batch.added[2 * image] = batch.added[2 * image + 1] = 0
        first = second = 0
        for ply in range(batch.plies[i]):
            bit, seat = batch.stones[i, ply], ply & 1
            for entry in range(batch.entries[thread, bit], batch.entries[thread + 1, bit]):
                touched = np.int64(tables.touched[entry])
                settle(tables, coherence, batch, touched, first, second)  # type: ignore[arg-type]  # compiled
                tables.addresses[touched] ^= tables.changes[seat, entry]
            first += 0 if seat else batch.amounts[i, ply]
            second += batch.amounts[i, ply] if seat else 0
        for image in range(begin, end):
            settle(tables, coherence, batch, image, first, second)


@borrowing_kernel
def settle(tables: Tables, coherence: Coherence, batch: Batch, image: int, first: int, second: int) -> None:
    """Gives the two weights at the address of an image the amounts between those they have got and these."""
    for seat in range(2):
        at, amounts = TWO * tables.addresses[image] + np.uint32(seat), second if seat else first
        amount = amounts - batch.added[2 * image + seat]
        if amount:
            batch.added[2 * image + seat] = amounts
            if len(coherence.net):
                net, size = coherence.net[at], coherence.size[at]
                coherence.net[at] = net + amount
                coherence.size[at] = size + abs(amount)
                if size:
                    amount = round(amount * (abs(net) / size))
            tables.weights[at] += amount
