"""Jobs: independent pieces of work, done by processes of this machine or by a Ray cluster, with results as they end.

Workers are processes of loky, joblib's executor, or tasks of Ray. Both give futures, so one loop serves both.
`joblib.Parallel` would begin jobs before the results of earlier ones are taken, run a single worker in this process,
and give up on all jobs when one worker is killed, on a cluster too.
"""

from __future__ import annotations

import functools
import os
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import cloudpickle

from tictac_env.checks import positive
from tictac_env.lazy import needing
from tictac_env.progress import interruptible

if TYPE_CHECKING:
    from loky import ProcessPoolExecutor

Job = TypeVar("Job")
Result = TypeVar("Result")
ATTEMPTS = 3
"""Workers that may end during the same jobs: jobs that kill their worker are not begun for ever."""
LOOK_AGAIN = 0.25
"""Seconds until Ctrl-C is noticed, and the size of the cluster is read again."""
_patience = ContextVar("patience", default=inf)
RAY_ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
"""Ray does not report home, and its workers are as nice as processes are: at its own niceness, 15, they starve."""

SAFE_PATH = "PYTHONSAFEPATH"
"""The variable of the environment that keeps Python from importing what happens to lie in the current folder."""


class WorkerLost(OSError):
    """Jobs that were begun three times, and each time their worker ended without a result."""


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster to do jobs on.

    Args:
        address: "HOST:PORT" of a running cluster that this machine is a part of, or "auto" to find it. None starts a
            cluster on this machine, which ends with the jobs. A program that has called `ray.init` keeps its cluster.
        workers: number of jobs done at a time; None for the number of CPUs.

    Raises:
        ValueError: the address is invalid, or `workers` is less than 1.

    Example:
        >>> from tictac_env.jobs import Cluster
        >>> Cluster("10.0.0.1:6379", workers=64)
        Cluster(address='10.0.0.1:6379', workers=64)
    """

    address: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.address is not None and self.address != "auto" and ":" not in self.address:
            raise ValueError(f"{self.address!r} is not the address of a Ray cluster: HOST:PORT, or auto")
        if self.workers is not None:
            positive("workers", self.workers)


Workers = int | Cluster


def map_jobs(
    work: Callable[[Job], Result],
    jobs: Iterable[Job],
    workers: Workers = 1,
    seconds: float = inf,
    batch: int | None = None,
) -> Iterator[tuple[Job, Result]]:
    """Each job with its result, in the order in which they end.

    A job whose worker ends (a killed process, a lost machine) is begun again by another worker. So each result comes
    once, from a job that was done from its beginning; side effects may happen twice.

    Args:
        work: does a job, in another process. It is sent to a worker once, so it may hold what all jobs need. If it
            caches what it loads, each worker loads it once.
        jobs: anything that can be pickled. They are begun in their order, each only when a worker is free.
        workers: number of processes; or a `Cluster`, a job then taking one of its CPUs.
        seconds: no job is begun after this wall-clock time; those under way are finished.
        batch: number of jobs sent to a worker together. None sends as many as take 0.05 s in a process and 0.25 s on a
            cluster, judged by those before, and at first one.

    Raises:
        ValueError: `workers` is less than 1.
        WorkerLost: three workers ended while they did the same job.
        DependencyNotInstalled: Ray is missing.
        KeyboardInterrupt: Ctrl-C was pressed. After the first one no job is begun, and the results of those under way
            are still returned before it is raised, those that end in time (see `finishing_within`); a second one ends
            them.
        Exception: a job raised it. Jobs under way are lost; earlier results have been returned.

    Example:
        >>> from tictac_env.jobs import map_jobs
        >>> sorted(map_jobs(abs, [-3, 2, -1], workers=2))
        [(-3, 3), (-1, 1), (2, 2)]
    """
    end = time.monotonic() + seconds
    batch = None if batch is None else positive("batch", batch)
    with interruptible() as stopping, ExitStack() as stack:
        pool = _Tasks(workers, work, stack) if isinstance(workers, Cluster) else _Processes(workers, work)
        with _closing(pool):
            yield from _results(pool, iter(jobs), batch, end, stopping)
        if stopping():
            raise KeyboardInterrupt


@contextmanager
def finishing_within(seconds: float) -> Iterator[None]:
    """Sets the time that jobs under way have to end after Ctrl-C, for all `map_jobs` in the block; else they have any.

    Args:
        seconds: the time (wall-clock).
    """
    before = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(before)


@contextmanager
def _closing(pool: _Tasks | _Processes) -> Iterator[None]:
    """Ends the workers after the block; if it raises an error or is left early, in the middle of their jobs."""
    try:
        yield
    except BaseException:
        pool.close(kill=True)
        raise
    pool.close()


def _results(
    pool: _Tasks | _Processes, jobs: Iterator[Job], batch: int | None, end: float, stopping: Callable[[], bool]
) -> Iterator[tuple[Job, Any]]:
    """The results of `map_jobs`, until there are no jobs left or, after `end` or when `stopping`, those under way end.

    Raises:
        KeyboardInterrupt: it is `stopping`, and the jobs under way have not ended in time.
    """
    running: dict[Future[_Outcome], tuple[list[Job], int]] = {}
    size = batch or 1
    last: float | None = None  # the time at which jobs under way end, once it is stopping

    def may_begin() -> bool:
        return not stopping() and time.monotonic() < end

    while True:
        if stopping() and last is None:
            last = time.monotonic() + _patience.get()
            _tell_what_ends(sum(len(together) for together, _ in running.values()))
        if last is not None and time.monotonic() > last:
            raise KeyboardInterrupt
        # A job is taken only when a worker is free: a caller that stops early has begun no job for nothing, and jobs
        # may depend on earlier results.
        while may_begin() and len(running) < pool.size() and (together := list(islice(jobs, size))):
            running[pool.submit(together)] = together, 1
        if not running:
            return
        # The wait ends now and then: Ctrl-C may have been pressed, or machines may have joined the cluster.
        for future in wait(running, timeout=LOOK_AGAIN, return_when=FIRST_COMPLETED).done:
            together, attempts = running.pop(future)
            try:
                results, error, seconds = future.result()
            except pool.lost as lost:
                if stopping():
                    continue
                _check_attempts(together, attempts, lost)
                running[pool.submit(together)] = together, attempts + 1
                continue
            # The results before an error are good ones; they come first.
            yield from zip(together, results, strict=False)
            if error is not None:
                raise error
            # As many jobs as fill the time that sending them is worth. At most twice as many as last time: a first
            # short job says little of the others.
            if batch is None:
                fitting = int(pool.batch_seconds * len(together) / max(seconds, 1e-9))
                size = max(1, min(fitting, 2 * size, 1024))


def _tell_what_ends(jobs: int) -> None:
    """Says what is waited for after Ctrl-C."""
    if jobs:
        limit = f", at most {_patience.get():g} s" if _patience.get() < inf else ""
        what = "1 job" if jobs == 1 else f"{jobs} jobs"
        print(f"finishing {what}{limit}; press Ctrl-C again to stop now", file=sys.stderr, flush=True)


def _check_attempts(jobs: Sequence[object], attempts: int, lost: BaseException) -> None:
    if attempts == ATTEMPTS:
        more = f" or one of the {len(jobs) - 1} jobs sent with it" if len(jobs) > 1 else ""
        ended = f"{ATTEMPTS} workers ended without a result (killed, or out of memory?)"
        raise WorkerLost(f"{ended} while they did {str(jobs[0])[:200]}{more}") from lost


Work: TypeAlias = Callable[[Any], Any]
"""A function from a job to its result."""
_Outcome: TypeAlias = tuple[list[Any], Exception | None, float]
"""The results of jobs sent together, up to the first that raised an error; that error; and the seconds they took."""


def _do(load: Callable[[], Work], jobs: Sequence[object]) -> _Outcome:
    results: list[Any] = []
    raised = None
    began = time.perf_counter()
    try:
        work = load()
        results.extend(map(work, jobs))
    except Exception as error:
        error.add_note(f"\nIt was raised in a worker:\n{traceback.format_exc()}")
        raised = error
    return results, raised, time.perf_counter() - began


class _Processes:
    """Processes of this machine, each an executor of its own: a killed one takes no job of another with it."""

    batch_seconds = 0.05
    lost: type[BaseException] | tuple[type[BaseException], ...] = BrokenProcessPool

    def __init__(self, count: int, work: Work) -> None:
        self._count = positive("workers", count)
        self._work = cloudpickle.dumps(work)
        self._latest: dict[ProcessPoolExecutor, Future[_Outcome]] = {}

    def size(self) -> int:
        return self._count

    def submit(self, jobs: Sequence[object]) -> Future[_Outcome]:
        from loky import ProcessPoolExecutor

        # loky takes what a job loads or trains for a leak, and begins another process; nothing is lost but time.
        warnings.filterwarnings("ignore", "A worker was restarted", UserWarning)
        # An idle worker has loaded the work already. One that was killed refuses, and the next one is tried.
        for worker in [worker for worker, latest in self._latest.items() if latest.done()]:
            with suppress(BrokenProcessPool):
                self._latest[worker] = worker.submit(_do, _work_here, jobs)
                return self._latest[worker]
        # A new worker: an executor of one process.
        outside = os.environ.get(SAFE_PATH)
        settings = self._work, os.getpid(), outside
        os.environ[SAFE_PATH] = "1"  # for the processes, too, by which multiprocessing and loky track resources
        try:
            worker = ProcessPoolExecutor(1, initializer=_begin, initargs=settings, env={SAFE_PATH: "1"})
            self._latest[worker] = worker.submit(_do, _work_here, jobs)
        finally:
            _set_safe_path(outside)
        return self._latest[worker]

    def close(self, kill: bool = False) -> None:
        for worker in self._latest:
            worker.shutdown(kill_workers=kill)


_pickled = b""
"""The work of this process, a worker."""


def _set_safe_path(value: str | None) -> None:
    os.environ.pop(SAFE_PATH, None)
    if value is not None:
        os.environ[SAFE_PATH] = value


def _begin(pickled: bytes, program: int, safe_path: str | None) -> None:
    """Sets up a worker that exits with the main program even if that is killed; loky's workers would not.

    Workers ignore Ctrl-C, which a terminal sends to them too: a learner would end early as if its run were complete.
    The main program's own `SAFE_PATH` is restored, for programs that players start.
    """
    global _pickled
    _pickled = pickled
    _set_safe_path(safe_path)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_program() -> None:
        while os.getppid() == program:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=end_with_program, daemon=True).start()


@functools.cache
def _work_here() -> Work:
    return cloudpickle.loads(_pickled)  # type: ignore[no-any-return]


class _Tasks:
    """Tasks of a Ray cluster, which knows its machines and places them."""

    batch_seconds = 0.25

    def __init__(self, cluster: Cluster, work: Work, stack: ExitStack) -> None:
        self._ray = ray = _import_ray()
        stack.enter_context(joined(cluster))
        self._most = cluster.workers
        self._load = functools.partial(_work_there, ray.put(work), os.getcwd(), tuple(sys.path))
        self._task = ray.remote(num_cpus=1, max_retries=0)(_do)
        self._running: dict[Future[_Outcome], Any] = {}
        errors = ray.exceptions
        self.lost: tuple[type[BaseException], ...] = (
            errors.WorkerCrashedError, errors.LocalRayletDiedError, errors.NodeDiedError, errors.OutOfMemoryError,
            errors.ObjectLostError,
        )  # fmt: skip

    def size(self) -> int:
        return self._most or max(1, int(self._ray.cluster_resources().get("CPU", 0)))  # machines come and go

    def submit(self, jobs: Sequence[object]) -> Future[_Outcome]:
        task = self._task.remote(self._load, jobs)
        future: Future[_Outcome] = task.future()
        self._running = {job: task for job, task in self._running.items() if not job.done()}
        self._running[future] = task
        return future

    def close(self, kill: bool = False) -> None:
        for future, task in self._running.items():
            if not future.done():
                self._ray.cancel(task, force=True)


@functools.lru_cache(1)
def _work_there(work: Any, folder: str, path: tuple[str, ...]) -> Work:
    """The work of a task by its reference, with relative paths and modules found as by the program."""
    if os.path.isdir(folder):
        os.chdir(folder)
    sys.path += [folder for folder in path if folder not in sys.path]
    return _import_ray().get(work)  # type: ignore[no-any-return]


def _import_ray() -> Any:
    for name, value in RAY_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    with needing("a cluster needs Ray", "cluster"):
        import ray
    return ray


@contextmanager
def joined(workers: Workers) -> Iterator[None]:
    """A block within which a cluster is joined or started once for all jobs, and not for each `map_jobs`.

    With a number of processes, or if the program has joined a cluster already, nothing happens.

    Raises:
        ConnectionError: there is no cluster at that address.
        DependencyNotInstalled: Ray is missing.
    """
    if isinstance(workers, int) or (ray := _import_ray()).is_initialized():
        yield
        return
    quiet = {"logging_level": "warning", "log_to_driver": False}
    if workers.address is None:
        memory = 256 << 20  # for jobs and results; what is more goes to the disk
        ray.init("local", num_cpus=workers.workers, include_dashboard=False, object_store_memory=memory, **quiet)
    else:
        # Without a cluster at the address, Ray would wait for minutes and ignore Ctrl-C: see first if it answers.
        if workers.address != "auto":
            host, _, port = workers.address.rpartition(":")
            try:
                socket.create_connection((host, int(port)), timeout=10).close()
            except (OSError, ValueError) as error:
                raise ConnectionError(f"no Ray cluster can be reached at {workers.address}: {error}") from None
        ray.init(workers.address, **quiet)
    try:
        yield
    finally:
        ray.shutdown()
