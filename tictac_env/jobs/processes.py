"""Workers that are processes of this machine.

Each has a pipe of its own. `ProcessPoolExecutor` is not used, as it gives up all jobs under way when one process is
killed, and needs threads, beside which it is unsafe to fork the process that takes the place of a killed one.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, cast

from tictac_env.checks import positive
from tictac_env.jobs.pool import ATTEMPTS, Outcome, Work, do, lost


class Processes:
    """So many processes, each started when there is a job for it; see `Pool`."""

    batch_seconds = 0.05

    def __init__(self, count: int, work: Work) -> None:
        self._count = positive("workers", count)
        self._work = work
        self._free: list[_Worker] = []
        self._busy: dict[Connection, _Worker] = {}
        atexit.register(self.kill)  # a program that ends with jobs under way would wait for its processes

    def size(self) -> int:
        return self._count

    def begin(self, jobs: Sequence[Any]) -> None:
        self._send(jobs, 1)

    def ended(self) -> Iterator[tuple[Sequence[Any], Outcome]]:
        for connection in wait(list(self._busy)):
            worker = self._busy.pop(cast(Connection, connection))
            try:
                answer = worker.connection.recv()
            except (EOFError, OSError):
                worker.end()
                if worker.attempts == ATTEMPTS:
                    raise lost(worker.jobs) from None
                self._send(worker.jobs, worker.attempts + 1)
                continue
            self._free.append(worker)
            if isinstance(answer, BaseException):
                raise answer
            yield worker.jobs, answer

    def close(self) -> None:
        atexit.unregister(self.kill)
        for worker in self._free:
            with contextlib.suppress(BrokenPipeError):
                worker.connection.send(None)
            worker.end()

    def kill(self) -> None:
        atexit.unregister(self.kill)
        for worker in (*self._free, *self._busy.values()):
            worker.process.terminate()
            worker.end()

    def _send(self, jobs: Sequence[Any], attempts: int) -> None:
        while True:
            worker = self._free.pop() if self._free else _Worker(self._work)
            worker.jobs, worker.attempts = jobs, attempts
            self._busy[worker.connection] = worker
            try:
                worker.connection.send(jobs)
            except BrokenPipeError:  # it was killed while it had nothing to do
                del self._busy[worker.connection]
                worker.end()
            else:
                return


class _Worker:
    """A process, and the jobs it was sent."""

    def __init__(self, work: Work) -> None:
        self.jobs: Sequence[Any] = ()
        self.attempts = 0
        self.connection, there = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_serve, args=(there, work))
        self.process.start()
        there.close()  # so that the pipe ends with the process

    def end(self) -> None:
        """Waits for its end, which has come or will come soon."""
        self.connection.close()
        self.process.join()


def _serve(connection: Connection, work: Work) -> None:
    """Does jobs until there are no more.

    A terminal sends Ctrl-C to the workers too, where a learner would end early as if its run were complete: they
    ignore it.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # whatever the program that was forked does
    while (jobs := connection.recv()) is not None:
        answer: Any
        try:
            answer = do(work, jobs)
        except BaseException as error:
            answer = error
        try:
            connection.send(answer)
        except Exception as error:  # it cannot be pickled
            connection.send(RuntimeError(f"a worker cannot send {str(answer)[:1000]}: {error}"))


def _end_with_parent() -> None:
    """Waits for the end of the program that started this worker; killed, it cannot end its workers itself."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
