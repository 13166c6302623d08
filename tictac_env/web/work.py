"""Work that takes longer than a moment, in threads, so that nobody's search keeps anybody else waiting for an answer.

The compiled searches release Python's lock, so several run at the same time, beside the event loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from tictac_env.web.asking import Refused

Result = TypeVar("Result")


class Workers:
    """Some threads, and a bounded number of jobs that wait for one.

    Args:
        threads: how many.
        waiting: how many jobs may wait.
        name: of the threads.
    """

    def __init__(self, threads: int, waiting: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._most = threads + waiting
        self._jobs = 0
        self._lock = threading.Lock()

    async def do(self, job: Callable[[], Result]) -> Result:
        """What the job returns or raises.

        Raises:
            Refused: too many jobs are waiting.
        """
        if self._jobs >= self._most:
            raise Refused("the server is busy; try again in a moment", 429, {"retry-after": "1"})
        with self._lock:
            self._jobs += 1
        future = self._pool.submit(job)
        future.add_done_callback(self._ended)  # when the job ends, even if its visitor has gone meanwhile
        return await asyncio.wrap_future(future)

    def _ended(self, future: Future[Result]) -> None:
        with self._lock:
            self._jobs -= 1

    def close(self) -> None:
        """Begins no further job; those under way end by themselves."""
        self._pool.shutdown(wait=False, cancel_futures=True)
