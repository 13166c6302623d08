"""Games of a network against itself, and its updates from them, compiled.

A batch of games is played with fixed weights; then the weights are updated from each game. Threads share both halves:
first the games of the batch, then the tuples. A sum of integers is the same in any order, so the weights do not depend
on the number of threads.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_agents.mcts.simulation import first_state, nth_bit, random_below
from tictac_agents.ntuple.values import ONE, TWO, Int32s, Ints, Layout, Tables, UInt32s, clear, place, squash, sum_after
from tictac_env.compiled import borrowing_kernel, kernel, parallel_kernel, prange
from tictac_env.games.k_in_a_row import KInARow

COMPILED_AS = "learning with n-tuple networks"

Floats = npt.NDArray[np.float64]

CHANCES = 1 << 30
"""Chances are counted in parts of this."""
APART = 16
"""The distance, in numbers of 8 bytes, between numbers that two threads write often: two lines of the processor's
cache, as on the same line they would wait for each other (false sharing)."""
ERROR = 0.3
"""The chance that a move of the side that errs is random."""


class Teaching(NamedTuple):
    """The settings of the games and of the updates; `NTupleTD` explains them.

    An `erring_seat` of -1 draws the seat for each game. `starts`, (S, cells + 1), are the openings to begin with: the
    number of their stones, then the number of the bit of each stone.
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
        amounts: (K, cells): the amount that each weight gets for the position after that stone.
        plies: (K,): the number of stones of each game.
        addresses, current, sums: (threads, P), (threads, 2 * P) and (threads, 16): see `Tables`.
        values: (threads, 2, cells): for each ply of a game the value of its position, and that of the best action.
        shares: (threads + 1,): for each thread the first of the images whose weights it updates; the images of a tuple,
            which share its weights, have the same thread.
        entries: (threads + 1, 64): for each thread and bit the first of the thread's entries in `touched`.
        scores: (threads, 64): the value of a stone in each playable cell, by its bit's number.
        added: (2 * P,): the sum of amounts that each image's weights have got so far.
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
    scores: Floats
    added: Ints


class Coherence(NamedTuple):
    """Temporal coherence (Beal and Smith 1999): the sums of each weight's amounts, with their signs and without.

    Both are as long as the weights, or empty without temporal coherence.
    """

    net: Ints
    size: Ints


def new_batch(game: KInARow, layout: Layout, tuples: int, games: int, threads: int) -> Batch:
    """Room for a batch of at most `games` games of a network with `tuples` tuples."""
    # Each thread updates whole tuples, with all their images: so no weight is written by two threads, and none has to
    # wait. `touched` is in ascending order for each bit, so a thread's entries there are a range.
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
        entries=np.array([begins[:-1] + [np.searchsorted(bit, share) for bit in of_bits] for share in shares]),
        scores=np.zeros((threads, 64)),
        added=np.zeros(2 * images, np.int64),
    )


@kernel
def learn_batches(
    game: KInARow, tables: Tables, coherence: Coherence, teaching: Teaching, batch: Batch, size: int, step: float,
    seed: int, begin: int, end: int,
) -> int:  # fmt: skip
    """Learns from the games number `begin` to `end` - 1; returns the number of their plies.

    `size` games are played before the network learns from them. An update removes the part `step` of a position's
    error. Each game has its own RNG, seeded by `seed`, in [0, 2**62), plus the game's number.
    """
    plies = 0
    for first in range(begin, end, size):
        games = min(size, end - first)
        # Play some games by the weights as they are, and note the amounts.
        play_batch(game, tables, teaching, batch, step, seed + first, 0, 0, games)
        # Then change the weights, game by game.
        update_weights(tables, coherence, batch, games, 0)
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
        # Each thread plays its share of the games. It only reads the weights; boards and scratch are its own.
        for thread in prange(threads):
            a, b = thread * games // threads, (thread + 1) * games // threads
            play_batch(game, tables, teaching, batch, step, seed + first, thread, a, b)
        # This line separates the two loops: Numba would fuse them, and weights would change while games are played.
        plies += plies_of(batch, games)
        # Each thread goes through all games, but updates only the weights of its own tuples.
        for thread in prange(threads):
            update_weights(tables, coherence, batch, games, thread)
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
    """Plays the games `begin` to `end` - 1 of a batch with the scratch memory of a thread."""
    board = Tables(
        tables.begins, tables.touched, tables.changes, tables.empty, tables.weights,
        batch.addresses[thread], batch.current[thread], batch.sums[thread],
    )  # fmt: skip
    values, bests = batch.values[thread, 0], batch.values[thread, 1]
    for i in range(begin, end):
        state = first_state(seed + i)
        play_in_batch(game, board, teaching, batch, step, i, values, bests, batch.scores[thread], state)


@borrowing_kernel
def play_in_batch(
    game: KInARow, tables: Tables, teaching: Teaching, batch: Batch, step: float, i: int, values: Floats, bests: Floats,
    scores: Floats, state: int,
) -> None:  # fmt: skip
    """Plays game `i` of a batch, and computes the amounts by which its positions change their weights."""
    stones, amounts = batch.stones[i], batch.amounts[i]
    own, opp = game.start()
    seat = 0
    clear(tables)
    begin = 0
    # Draw the seat that errs in this game, if any (-1 for none).
    erring = -1
    state, draw = random_below(state, CHANCES)
    if draw < teaching.erring * CHANCES:
        state, erring = random_below(state, 2)
        if teaching.erring_seat >= 0:
            erring = teaching.erring_seat
    # Draw a given opening, if any, and put its stones on the board. They get no amounts: nothing is learned of them.
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
    # Play the game. Bit p of `explored`: the stone of ply p is not on the best cell, so what follows says nothing about
    # the position before it.
    explored = 0
    mine, theirs = game.threats(own, seat), game.threats(opp, 1 - seat)
    while True:
        # Without a cell worth a stone the game is over for learning: `result` is that of the side to move.
        choices, result = sensible(game, own, opp, mine, theirs, teaching.rule)
        if choices == 0:
            break
        # Epsilon-greedy: any sensible cell, or one whose value is within the margin of the best.
        best = value_all(tables, choices, seat, scores)
        state, draw = random_below(state, CHANCES)
        explores = draw < (ERROR if seat == erring else teaching.epsilon) * CHANCES
        among = choices if explores else at_least(choices, scores, best - teaching.margin)
        state, index = random_below(state, among.bit_count())
        chosen = nth_bit(among, index)
        # Record the ply: the stone (2**n - 1 has n bits, so this is the bit's number), its value, and the best value.
        stones[plies] = (chosen - 1).bit_count()
        place(tables, stones[plies], seat)
        bests[plies], values[plies] = best, scores[stones[plies]]
        # If the erring seat is a setting, its errors count: the other side learns to lead it into them.
        counts = seat == erring == teaching.erring_seat
        explored |= (values[plies] < best and not counts) << plies
        plies += 1
        own, opp, seat = opp, own | chosen, 1 - seat
        mine, theirs = theirs, game.threats(opp, 1 - seat)
    batch.plies[i] = plies
    # Targets, the last ply first: TD(lambda) as lambda-returns. The value of a ply is that of the side that played it,
    # so the target changes its sign from ply to ply. The last one has the result.
    target = -float(result)
    for ply in range(plies - 1, begin - 1, -1):
        if ply < plies - 1:
            if explored >> ply + 1 & 1:
                target = bests[ply + 1]  # the return is cut: the best move would have had this value
            else:
                target = teaching.trace * target + (1.0 - teaching.trace) * values[ply + 1]
            target *= -teaching.discount
        # The gradient of the cross-entropy; times 1 - tanh**2, the derivative of the value, that of the square.
        error = target - values[ply]
        if not teaching.logistic:
            error *= 1.0 - values[ply] * values[ply]
        # Every image's weight gets the same share. Rounded here, once: from now on all sums are of integers.
        amounts[ply] = round(step * error * ONE / len(tables.empty))


@borrowing_kernel
def value_all(tables: Tables, choices: int, seat: int, scores: Floats) -> float:
    """Fills `scores` with the value of a stone of `seat` on each of some cells, by their bits' numbers; the highest."""
    # The cells one by one, the lowest bit first:
    #
    #     choices              1 0 1 0 0
    #     higher               1 0 0 0 0      x & (x - 1) clears the lowest bit
    #     choices ^ higher     0 0 1 0 0      that bit alone, 1 << n; one less has n bits set
    highest = -1.0
    while choices:
        higher = choices & choices - 1
        bit = ((choices ^ higher) - 1).bit_count()
        scores[bit] = squash(sum_after(tables, bit, seat))
        highest = max(highest, scores[bit])
        choices = higher
    return highest


@borrowing_kernel
def at_least(choices: int, scores: Floats, value: float) -> int:
    """The cells whose score is this value or more."""
    # The comparison times the cell's bit is 0 or the bit, without a branch.
    cells = 0
    while choices:
        higher = choices & choices - 1
        cells |= (scores[((choices ^ higher) - 1).bit_count()] >= value) * (choices ^ higher)
        choices = higher
    return cells


@borrowing_kernel
def sensible(game: KInARow, own: int, opp: int, mine: int, theirs: int, rule: bool) -> tuple[int, int]:
    """The cells worth a stone of the side to move, and its result if there are none.

    There are none if it can win at once, or on a full board. By the one-move `rule` a side blocks a win of the other
    side, and opens none to it; if it cannot do both, it has lost. `mine` and `theirs` are the `threats` of the two
    sides.
    """
    # A threat is an empty cell that completes a line; a playable one wins at once.
    playable = game.playable(own, opp)
    if mine & playable:
        return 0, 1
    if not rule:
        return playable, 0
    # A stone beneath a threat of the other side would make that threat playable.
    blocks = theirs & playable
    cells = (blocks if blocks else playable) & ~game.beneath(theirs)
    # x & (x - 1) is not 0 if x has two bits or more: two wins cannot both be blocked.
    if blocks & blocks - 1 or (playable and not cells):
        return 0, -1
    return cells, 0


@borrowing_kernel
def update_weights(tables: Tables, coherence: Coherence, batch: Batch, games: int, thread: int) -> None:
    """Updates the weights of a thread's images from the first `games` games of a batch.

    An image's address changes only with stones in its cells. So the amounts of each seat are summed over the game; when
    an address changes, the weights at the old address get the sum since they were reached.
    """
    # An image that the stones of plies 2 and 5 change; a is the amount of a ply, for the weight of the ply's seat:
    #
    #     ply        0    1    2    3    4    5    6
    #     address    A    A    B    B    B    C    C
    #     gets at    ply 2: a0 + a1 for A; ply 5: a2 + a3 + a4 for B; the end: a5 + a6 for C
    #
    # `first` and `second` are the running sums of the two seats, and `added` has what an image has passed on of them.
    begin, end = batch.shares[thread], batch.shares[thread + 1]
    for i in range(games):
        # An empty board, of which no amount is due yet.
        for image in range(begin, end):
            tables.addresses[image] = tables.empty[image]
            batch.added[2 * image] = batch.added[2 * image + 1] = 0
        first = second = 0
        for ply in range(batch.plies[i]):
            bit, seat = batch.stones[i, ply], ply & 1
            for entry in range(batch.entries[thread, bit], batch.entries[thread + 1, bit]):
                # First the amounts that are due at the old address, then the new address.
                touched = np.int64(tables.touched[entry])
                add_due(tables, coherence, batch, touched, first, second)  # type: ignore[arg-type]  # compiled
                tables.addresses[touched] ^= tables.changes[seat, entry]
            # The amount of this ply is for the position after its stone, so it joins the sum after the changes.
            first += 0 if seat else batch.amounts[i, ply]
            second += batch.amounts[i, ply] if seat else 0
        for image in range(begin, end):
            add_due(tables, coherence, batch, image, first, second)


@borrowing_kernel
def add_due(tables: Tables, coherence: Coherence, batch: Batch, image: int, first: int, second: int) -> None:
    """Adds to the two weights at an image's address the parts of the sums `first` and `second` that are still due."""
    for seat in range(2):
        at, amounts = TWO * tables.addresses[image] + np.uint32(seat), second if seat else first
        amount = amounts - batch.added[2 * image + seat]
        if amount:
            batch.added[2 * image + seat] = amounts
            # Temporal coherence scales the amount by |net| / size of those before: near 1 while a weight moves one
            # way, near 0 once it moves to and fro. The first amount is not scaled.
            if len(coherence.net):
                net, size = coherence.net[at], coherence.size[at]
                coherence.net[at] = net + amount
                coherence.size[at] = size + abs(amount)
                if size:
                    amount = round(amount * (abs(net) / size))
            tables.weights[at] += amount
