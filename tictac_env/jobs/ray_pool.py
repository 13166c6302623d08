"""Workers that are tasks of a Ray cluster, which knows its machines, places tasks, and begins lost ones again."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from gymnasium.error import DependencyNotInstalled

from tictac_env.checks import positive
from tictac_env.jobs.pool import ATTEMPTS, Outcome, Work, do, lost

OBJECT_STORE = 256 << 20
"""The bytes that a cluster which is started here keeps of jobs and results in memory; what is more goes to the disk."""
ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
"""How Ray is started here: it does not report home, and its workers are as nice as processes are. With the niceness of
its own, 15, they get next to nothing of a busy machine."""
PATIENCE = 10.0
"""A cluster has so many seconds to answer."""
LOOK_AGAIN = 5.0
"""After so many seconds it is asked again how many CPUs there are: machines come and go."""


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster to do jobs on.

    Args:
        address: "HOST:PORT" of a cluster that runs, of which this machine is a part, or "auto" for the one this machine
            is a part of. None starts one on this machine, which ends with the jobs. A program that has called
            `ray.init` already keeps its cluster.
        workers: how many jobs are done at a time; None for as many as there are CPUs.

    Raises:
        ValueError: the address is none, or `workers` is less than 1.

    Example:
        >>> from tictac_env.jobs import Cluster
        >>> Cluster("10.0.0.1:6379", workers=64)
        Cluster(address='10.0.0.1:6379', workers=64)
    """

    address: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.address is not None and self.address != "auto" and ":" not in self.address:
            raise ValueError(f"{self.address!r} is no address of a Ray cluster: HOST:PORT, or auto")
        if self.workers is not None:
            positive("workers", self.workers)


class RayPool:
    """The workers of a cluster; see `Pool`."""

    batch_seconds = 0.25

    def __init__(self, cluster: Cluster, work: Work) -> None:
        self._ray = _import_ray()
        self._most = cluster.workers
        self._stack = ExitStack()
        self._stack.enter_context(joined(cluster))
        self._here = _Here(self._ray.put(work), os.getcwd(), tuple(sys.path))
        self._task = self._ray.remote(num_cpus=1, max_retries=ATTEMPTS - 1)(_do_there)
        self._running: dict[Any, Sequence[Any]] = {}
        self._size, self._looked = 1, float("-inf")

    def size(self) -> int:
        if self._most is not None:
            return self._most
        if time.monotonic() - self._looked > LOOK_AGAIN:
            self._looked = time.monotonic()
            self._size = max(1, int(self._ray.cluster_resources().get("CPU", 0)))
        return self._size

    def begin(self, jobs: Sequence[Any]) -> None:
        self._running[self._task.remote(self._here, jobs)] = jobs

    def ended(self) -> Iterator[tuple[Sequence[Any], Outcome]]:
        ready, _ = self._ray.wait(list(self._running), timeout=LOOK_AGAIN)
        for task in ready:
            jobs = self._running.pop(task)
            try:
                yield jobs, self._ray.get(task)
            except self._ray.exceptions.RayTaskError as error:
                raise error.cause or error from None
            except self._ray.exceptions.RayError as error:
                raise lost(jobs) from error

    def close(self) -> None:
        self._stack.close()

    def kill(self) -> None:
        for task in self._running:
            self._ray.cancel(task, force=True)
        self.close()


def _import_ray() -> Any:
    """Ray.

    Raises:
        DependencyNotInstalled: it is missing; the message names the line that installs it.
    """
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise DependencyNotInstalled('a cluster needs Ray: pip install "tictac-env[cluster]"') from error
    return ray


@contextmanager
def joined(workers: int | Cluster) -> Iterator[None]:
    """A block within which a cluster is joined or started once for all jobs, and else for each `map_jobs`.

    Args:
        workers: a cluster. With a number of processes, or where the program has joined a cluster, nothing happens.

    Raises:
        ConnectionError: there is no cluster at that address.
        DependencyNotInstalled: Ray is missing.

    Example:
        >>> from tictac_env.jobs import joined, map_jobs
        >>> with joined(1):
        ...     sum(result for _, result in map_jobs(abs, [-1, 2]))
        3
    """
    if isinstance(workers, int) or (ray := _import_ray()).is_initialized():
        yield
        return
    _connect(ray, workers)
    try:
        yield
    finally:
        ray.shutdown()


def _connect(ray: Any, cluster: Cluster) -> None:
    """Joins the cluster, or starts one."""
    quiet = {"logging_level": "warning", "log_to_driver": False}
    if cluster.address is not None:
        _knock(cluster.address)
        ray.init(cluster.address, **quiet)
    else:
        store = {"object_store_memory": OBJECT_STORE}
        ray.init("local", num_cpus=cluster.workers, include_dashboard=False, **store, **quiet)


def _knock(address: str) -> None:
    """Sees whether anybody is at an address, for which Ray itself would wait for minutes, deaf to Ctrl-C.

    Raises:
        ConnectionError: nobody is.
    """
    host, _, port = address.rpartition(":")
    if address == "auto":
        return
    try:
        socket.create_connection((host, int(port)), PATIENCE).close()
    except (OSError, ValueError) as error:
        raise ConnectionError(f"no Ray cluster can be reached at {address}: {error}") from None


class _Here(NamedTuple):
    """What a worker must know of the program whose jobs it does."""

    work: Any
    """A reference to the work. Within a tuple it stays one, so a worker fetches it once and not for each task."""
    folder: str
    """The current folder, which relative paths of files begin in."""
    path: tuple[str, ...]
    """Where modules are looked for."""


_work: dict[str, Work] = {}
"""What this process, a worker of the cluster, is for, by the name of the object that holds it."""


def _do_there(program: _Here, jobs: Sequence[Any]) -> Outcome:
    """Does jobs, in a worker of the cluster."""
    name = program.work.hex()
    if name not in _work:
        if os.path.isdir(program.folder):
            os.chdir(program.folder)
        sys.path += [folder for folder in program.path if folder not in sys.path]
        _work.clear()
        _work[name] = _import_ray().get(program.work)
    return do(_work[name], jobs)
