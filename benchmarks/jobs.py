"""Jobs done by processes of this machine, their results given as they come.

What describes a job, what does it and where its result is kept are three things: another `map_jobs`, on a cluster say,
needs neither of the others changed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from math import inf
from typing import TypeVar

from tictac_env.progress import interruptible

Job = TypeVar("Job")
Result = TypeVar("Result")


def map_jobs(
    work: Callable[[Job], Result], jobs: Iterable[Job], workers: int = 1, seconds: float = inf
) -> Iterator[tuple[Job, Result]]:
    """Each job with its result, in the order in which they end.

    Args:
        work: does a job, in another process: a function of a module, or a partial one.
        jobs: what is to be done, anything that can be pickled. They are begun in their order, each only when a worker
            is free.
        workers: how many processes.
        seconds: no job is begun after so long by the clock; those under way are finished.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed. After the first one no job is begun, and the results of those under way
            are still given before it is raised; a second one ends them.
    """
    queue, end = iter(jobs), time.monotonic() + seconds
    running: dict[Future[Result], Job] = {}
    with interruptible() as stopping, ProcessPoolExecutor(workers, initializer=_begin) as pool:
        try:
            while True:
                if not stopping() and time.monotonic() < end:
                    running |= {pool.submit(work, job): job for job in islice(queue, workers - len(running))}
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(future), future.result()
        except BaseException:
            for worker in multiprocessing.active_children():
                worker.terminate()
            raise
        if stopping():
            raise KeyboardInterrupt


def _begin() -> None:
    """Makes a worker ignore Ctrl-C, and end when the program that started it is gone.

    A terminal sends Ctrl-C to the workers too, where a learner would end early as if its run were complete.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_with_parent() -> None:
    """Waits for the end of the program that started this worker; killed, it cannot end its workers itself."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
