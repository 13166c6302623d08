"""Runs the compiled search on batches of positions, in slices between which the world is looked at."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import numpy as np
import numpy.typing as npt

from tictac_env.compiled import machine_code
from tictac_env.games import KInARow
from tictac_env.solver import connect_k
from tictac_env.solver.table import Table
from tictac_env.solver.windows import solve_batch

SLICE = 1 << 15
"""So many nodes are searched between two looks at the clock: a few thousandths of a second."""

Ints = npt.NDArray[np.int64]
Update = Callable[[float, str], None]


class Budget:
    """What a search may use up: nodes, seconds, and the patience of whoever waits.

    Args:
        nodes: at most so many nodes for each thread, None for any number.
        seconds: at most so many, None for any number.
    """

    def __init__(self, nodes: int | None = None, seconds: float | None = None) -> None:
        self.nodes = 1 << 62 if nodes is None else nodes
        self.end = None if seconds is None else time.monotonic() + seconds
        self.stopped = False

    def spent(self, nodes: int) -> bool:
        """Whether to stop after `nodes` nodes."""
        late = self.end is not None and time.monotonic() >= self.end
        return late or nodes >= self.nodes or self.stopped


class Worker:
    """One thread's part of a search: its stack, its state, and the order in which it tries the columns."""

    def __init__(self, game: KInARow, table: Table, number: int) -> None:
        self.game = game
        self.table = table
        self.columns = columns_of(game, number)
        frame = connect_k.FRAME + game.num_actions * connect_k.RECORD
        self.stack = np.zeros(connect_k.RECORD + (game.cells + 2) * frame, np.int64)
        self.state = np.zeros(connect_k.STATE, np.int64)
        ints = self.stack
        self.solve_batch = machine_code(solve_batch, game, ints, ints, 0, 0, *(ints,) * 7)

    @property
    def nodes(self) -> int:
        """How many nodes the last batch took so far."""
        return int(self.state[connect_k.SEARCHED])

    def run(self, positions: Sequence[Ints], budget: Budget, update: Update | None, grow: bool) -> bool:
        """Solves positions as `solve_batch` does, whose last five arguments they are; False if the budget ends before.

        `update` is told now and then how many positions are done. With `grow` the table grows meanwhile, which it may
        if nobody else uses it.
        """
        table, state = self.table, self.state
        state[:] = 0
        nodes, done = 0, False
        while not done:
            pause = min(nodes + SLICE, budget.nodes)
            if grow:
                pause = min(pause, max(nodes + 1, int(state[connect_k.BEFORE]) + table.room))
            state[connect_k.PAUSE] = pause
            of_table = table.entries, table.bits, table.tag_bits
            done = self.solve_batch(self.game, self.columns, *of_table, self.stack, state, *positions)
            nodes = self.nodes
            if not done:
                if budget.spent(nodes):
                    return False
                if grow and nodes - int(state[connect_k.BEFORE]) >= table.room:
                    table.grow()
                if update:
                    update(int(state[connect_k.INDEX]), "")
        return True


class Engine:
    """The exact search of one game of the k-in-a-row family, with its table.

    Args:
        game: the rule book.
        megabytes: the most memory the table may take.
        threads: how many threads search.

    Raises:
        ValueError: the game is too large to be searched like this, or the table too small for it.
    """

    def __init__(self, game: KInARow, megabytes: float, threads: int) -> None:
        self.game = game
        self.table = Table(game.key_bits, megabytes)
        self.workers = [Worker(game, self.table, number) for number in range(threads)]

    @property
    def nodes(self) -> int:
        """How many nodes the last run took."""
        return sum(worker.nodes for worker in self.workers)

    def clear(self) -> None:
        """Forgets what is in the table."""
        self.table.clear()

    def run(
        self, own: Ints, opp: Ints, lower: Ints, upper: Ints, guess: Ints, budget: Budget, update: Update | None
    ) -> bool:
        """Narrows `lower` and `upper` to the scores of B positions, all int64 (B,); False if the budget ends before."""
        arrays = own, opp, lower, upper, guess
        if len(self.workers) == 1:
            return self.workers[0].run(arrays, budget, update, grow=True)
        while self.table.log_buckets < self.table.largest:
            self.table.grow()  # shared from now on
        together = len(own) == 1
        parts = [slice(None) if together else slice(n, None, len(self.workers)) for n in range(len(self.workers))]
        copies = [[array[part].copy() for array in arrays] for part in parts]
        with ThreadPoolExecutor(len(parts)) as pool:
            try:
                waiting = {
                    pool.submit(worker.run, copy, budget, None, False)
                    for worker, copy in zip(self.workers, copies, strict=True)
                }
                while waiting:
                    finished, waiting = wait(waiting, timeout=0.05, return_when=FIRST_COMPLETED)
                    for job in finished:
                        job.result()
                    if finished and together:
                        budget.stopped = True  # one answer is enough
                    if update:
                        update(sum(int(worker.state[connect_k.INDEX]) for worker in self.workers), "")
            finally:
                budget.stopped = True
        for part, (_, _, low, high, _) in zip(parts, copies, strict=True):
            lower[part] = np.maximum(lower[part], low)
            upper[part] = np.minimum(upper[part], high)
        return bool((lower == upper).all())


def columns_of(game: KInARow, number: int) -> Ints:
    """The moves as masks of the cells each may fill, those in the middle first; int64 (num_actions,).

    An odd `number` gives the mirrored order, so that two threads that search the same position part.
    """
    masks = []
    for action in range(game.num_actions):
        row, col = divmod(action, game.cols)
        distance = (2 * row + 1 - game.num_actions // game.cols) ** 2 + (2 * col + 1 - game.cols) ** 2
        mask = game.column << col * game.stride if game.gravity else game.choice(action)
        masks.append((distance, -action if number & 1 else action, mask))
    return np.array([mask for _, _, mask in sorted(masks)], np.int64)
