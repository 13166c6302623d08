"""Work in a thread of its own, which no Ctrl-C can break off halfway.

Python raises KeyboardInterrupt in the main thread, between any two of its instructions: within a `finally` too, and in
the exit of an executor, whose threads then go on by themselves. Other threads never see it.
"""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing
from queue import SimpleQueue
from typing import TypeVar

News = TypeVar("News")


class Background:
    """Does one job after another in the background, each while its caller waits for it, and never two at once.

    A job is a generator. What it yields is told to the caller, and it goes on as long as the caller waits. If the
    caller is interrupted, the job is closed where it yields next: it can clean up in a `finally` or by `with`, which
    nothing interrupts. The caller's interrupt is raised once the job has ended.

    However many interrupts come, and whenever, no job outlives its caller by more than the way to its next `yield`.
    """

    def __init__(self) -> None:
        self._busy = threading.Lock()  # held by the job's thread, and by no other

    def run(self, job: Generator[News], tell: Callable[[News], object]) -> None:
        """Does a job to its end, and calls `tell`, here, with each thing it yields.

        Raises:
            BaseException: what the job or `tell` raises, or what interrupts the waiting.
        """
        waiting = threading.Lock()
        news: SimpleQueue[tuple[News] | BaseException | None] = SimpleQueue()

        def work() -> None:
            last: BaseException | None = None
            with self._busy, closing(job):
                try:
                    while waiting.locked():
                        news.put((next(job),))
                except StopIteration:
                    pass
                except BaseException as error:
                    last = error
            news.put(last)

        try:
            # `with` lets go of a lock whatever comes, as that takes one instruction. So does starting a thread here;
            # this one starts the job's, as `Thread.start` takes many.
            with waiting:
                _thread.start_new_thread(threading.Thread(target=work, daemon=False).start, ())
                while (told := news.get()) is not None:
                    if isinstance(told, BaseException):
                        raise told
                    tell(*told)
        except BaseException:
            self.wait()
            raise

    def wait(self) -> None:
        """Waits for the end of a job whose caller was interrupted; what interrupts this waiting is raised after it."""
        interrupt: BaseException | None = None
        while self._busy.locked():
            try:
                time.sleep(0.001)
            except BaseException as another:
                interrupt = another
        if interrupt is not None:
            raise interrupt
