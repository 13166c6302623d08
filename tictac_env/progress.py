"""Progress of long work, a bar on a terminal and else a line a minute, and its interruption."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from queue import SimpleQueue
from types import FrameType
from typing import TypeVar

Item = TypeVar("Item")
SECONDS = 60.0
"""The time between two lines if there is no terminal, unless `lines_every` says otherwise."""
_seconds = ContextVar("seconds", default=SECONDS)


@contextmanager
def lines_every(seconds: float) -> Iterator[None]:
    """Sets the time between two lines of the progress bars within the block, if there is no terminal."""
    before = _seconds.set(seconds)
    try:
        yield
    finally:
        _seconds.reset(before)


@contextmanager
def progress_bar(total: float, what: str, show: bool = True) -> Iterator[Callable[[float, str], None]]:
    """A progress bar, as a function of the amount done and of a text to show next to it.

    Args:
        total: the amount of work.
        what: its name.
        show: True to show the bar. If standard error is not a terminal, it gets a line a minute instead (see
            `lines_every`).
    """
    if not show:
        yield lambda done, text: None
        return
    if not sys.stderr.isatty():
        with _lines(total, what) as tell:
            yield tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(console.width // 5),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    # The text gets the width that is left; else a long one would take the numbers' width.
    words = TextColumn("{task.fields[text]}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"))
    piped = not sys.stdout.isatty()  # then what is printed meanwhile goes there, and not above the bar
    # Of a long work the speed of the last minutes counts, as of the last half minute (the default) it varies.
    display = Progress(
        *(*columns, words),
        console=console,
        speed_estimate_period=300,
        transient=True,
        redirect_stdout=not piped,
        expand=True,
    )
    with display as bar:
        task = bar.add_task(what, total=total, text="")

        def update(done: float, text: str = "") -> None:
            bar.update(task, completed=done, text=text)

        yield update


@contextmanager
def _lines(total: float, what: str) -> Iterator[Callable[[float, str], None]]:
    """The progress of work as lines, which a thread writes: work that reports seldom is seen to be alive."""
    began, seconds, over = time.monotonic(), _seconds.get(), threading.Event()
    now = 0.0, ""

    def tell(done: float, text: str = "") -> None:
        nonlocal now
        now = done, text

    def write() -> None:
        samples = [(0.0, 0.0)]
        while not over.wait(seconds):
            (done, text), passed = now, time.monotonic() - began
            samples.append((passed, done))
            left = f", about {_clock(seconds_left(samples, total))} left" if total / 20 <= done < total else ""
            line = f"{what}: {100 * done / (total or 1):.0f} % after {_clock(passed)}{left}"
            print(line + (text and f"; {text}"), file=sys.stderr, flush=True)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield tell
    finally:
        over.set()
        writer.join()


def seconds_left(samples: Sequence[tuple[float, float]], total: float) -> float:
    """The seconds that are left, by the speed in the latter half of the time so far.

    Work often begins slowly, as kernels are compiled and libraries imported; and a part of a minute says little.

    Args:
        samples: times since the beginning in seconds, and the amounts done by then: (0, 0) first. Something is done at
            the last one.
        total: the amount of work.
    """
    now, done = samples[-1]
    before, had = next(sample for sample in samples if sample[0] >= now / 2)
    if done <= had:
        before, had = 0.0, 0.0
    return (now - before) / (done - had) * (total - done)


def _clock(seconds: float) -> str:
    """A time as minutes and seconds, or hours and minutes: "0:42", "12:05", "3 h 07 min"."""
    minutes, left = divmod(round(seconds), 60)
    return f"{minutes}:{left:02}" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


@contextmanager
def run_bar(
    title: str, total: int, show: bool, what: str, state: Callable[[], tuple[int, int, str]]
) -> Iterator[Callable[[], None]]:
    """The progress bar of a learner's run, as a function to call now and then.

    Args:
        title: the learner's name.
        total: the length of the run.
        show: True to show it.
        what: the unit of its speed: "games" or "plies".
        state: gives the part of the total that is done, the games or plies played, and a text to show.
    """
    began = shown = time.monotonic()
    before = state()[1]
    with progress_bar(total, title, show) as update:

        def refresh() -> None:
            nonlocal shown
            now = time.monotonic()
            if now - shown > 0.2:
                shown = now
                done, played, text = state()
                update(done, f"{(played - before) / (now - began):,.0f} {what}/s, {text}")

        yield refresh


def track(items: Sequence[Item], what: str, show: bool = True) -> Iterator[Item]:
    """The `items`, with a progress bar while they are gone through."""
    with progress_bar(len(items), what, show) as update:
        for done, item in enumerate(items):
            update(done, str(item))
            yield item


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Turns a first Ctrl-C within the block into a request to stop, which the yielded function reports.

    Work can then end where it is consistent. A second Ctrl-C interrupts at once. Outside the main thread nothing
    changes, as Python delivers the signal only there; nor if Ctrl-C is ignored, as in workers and background jobs.
    """
    # After the first Ctrl-C the handler from before is back, so the second one interrupts.
    stops = False

    def request(signum: int, frame: FrameType | None) -> None:
        nonlocal stops
        stops = True
        signal.signal(signal.SIGINT, before)

    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, request)
    try:
        yield lambda: stops
    finally:
        signal.signal(signal.SIGINT, before)


# Work in a thread of its own, which no Ctrl-C can break off halfway. Python raises KeyboardInterrupt in the main
# thread, between any two of its instructions: within a `finally` too, and in the exit of an executor, whose threads
# then run by themselves. Other threads never see it.

News = TypeVar("News")


class Background:
    """Does one job after another in the background, each while its caller waits for it, and never two at once.

    A job is a generator. Its caller gets what it yields, and it continues as long as the caller waits. If the caller is
    interrupted, the job is closed where it yields next: it can clean up in a `finally` or by `with`, which nothing
    interrupts. The caller's interrupt is raised once the job has ended.

    However many interrupts come, and whenever, no job outlives its caller beyond its next `yield`.
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
            # `with` releases a lock whatever happens, as that takes one instruction. So does starting a thread by
            # `_thread`; that one starts the job's, as `Thread.start` takes many.
            with waiting:
                _thread.start_new_thread(threading.Thread(target=work, daemon=False).start, ())
                while (item := news.get()) is not None:
                    if isinstance(item, BaseException):
                        raise item
                    tell(*item)
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
