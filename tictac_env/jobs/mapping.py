"""The one loop that gives jobs to workers and takes their results, whatever the workers are."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from math import inf
from typing import Any, TypeVar

from tictac_env.checks import positive
from tictac_env.jobs.pool import Pool
from tictac_env.jobs.processes import Processes
from tictac_env.jobs.ray_pool import Cluster, RayPool
from tictac_env.progress import interruptible

Job = TypeVar("Job")
Result = TypeVar("Result")
Workers = int | Cluster
"""Who does jobs: so many processes of this machine, or a Ray cluster."""
MOST = 1024
"""So many jobs are sent together at most."""


def map_jobs(
    work: Callable[[Job], Result],
    jobs: Iterable[Job],
    workers: Workers = 1,
    seconds: float = inf,
    batch: int | None = None,
) -> Iterator[tuple[Job, Result]]:
    """Each job with its result, in the order in which they end.

    A job whose worker ends (a process that is killed, a machine that is lost) is given to another one, so its result
    comes once, and from a job that was done from its beginning; what it did beside giving a result, it may do twice.

    Args:
        work: does a job, in another process: a function of a module, or a partial one. It is sent to a worker once, so
            it may hold what all jobs need. Where it also keeps what it has loaded, each worker loads it once.
        jobs: what is to be done, anything that can be pickled. They are begun in their order, each only when a worker
            is free.
        workers: how many processes; or a `Cluster`, a job then taking one of its CPUs.
        seconds: no job is begun after so long by the clock; those under way are finished.
        batch: how many jobs are sent to a worker together. None sends so many that they take some 0.05 s in a process
            and 0.25 s on a cluster, judged by those before, and at first one.

    Raises:
        ValueError: `workers` is less than 1.
        WorkerLost: three workers ended while they did the same job.
        DependencyNotInstalled: Ray is missing.
        KeyboardInterrupt: Ctrl-C was pressed. After the first one no job is begun, and the results of those under way
            are still given before it is raised; a second one ends them.
        Exception: a job raised it. What other workers were doing is lost; the results before were given.

    Example:
        >>> from tictac_env.jobs import map_jobs
        >>> sorted(map_jobs(abs, [-3, 2, -1], workers=2))
        [(-3, 3), (-1, 1), (2, 2)]
    """
    end = time.monotonic() + seconds
    queue = _Queue(jobs)
    if not queue:
        return
    with interruptible() as stopping:
        pool: Pool = RayPool(workers, work) if isinstance(workers, Cluster) else Processes(workers, work)
        under_way = 0
        size = _BatchSize(pool.batch_seconds) if batch is None else _Always(positive("batch", batch))
        try:
            while True:
                while under_way < pool.size() and not stopping() and time.monotonic() < end:
                    if not (some := queue.take(size.now())):
                        break
                    pool.begin(some)
                    under_way += 1
                if not under_way:
                    break
                for begun, outcome in pool.ended():
                    under_way -= 1
                    done = len(outcome.results)
                    queue.put_back(begun[done:])  # the first of these raised an error; alone it will raise it here
                    size.learn(done, outcome.seconds)
                    yield from zip(begun, outcome.results, strict=False)
        except BaseException:
            pool.kill()
            raise
        pool.close()
        if stopping():
            raise KeyboardInterrupt


class _Queue:
    """Jobs that are still to be begun, those that were put back first; false if there were none at all."""

    def __init__(self, jobs: Iterable[Any]) -> None:
        self._jobs = iter(jobs)
        self._back = deque(islice(self._jobs, 1))

    def __bool__(self) -> bool:
        return bool(self._back)

    def put_back(self, jobs: Sequence[Any]) -> None:
        self._back.extend(jobs)

    def take(self, most: int) -> list[Any]:
        if self._back:
            return [self._back.popleft()]
        return list(islice(self._jobs, most))


class _BatchSize:
    """How many jobs take about so long, judged by those that were done."""

    def __init__(self, seconds: float) -> None:
        self._wanted = seconds
        self._job_seconds: float | None = None

    def learn(self, jobs: int, seconds: float) -> None:
        latest = seconds / jobs
        self._job_seconds = latest if self._job_seconds is None else (self._job_seconds + latest) / 2

    def now(self) -> int:
        if self._job_seconds is None:
            return 1
        return max(1, min(MOST, int(self._wanted / max(self._job_seconds, 1e-9))))


class _Always:
    """The number that was asked for."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def learn(self, jobs: int, seconds: float) -> None:
        pass

    def now(self) -> int:
        return self._jobs
