"""Progress of long work, shown only on a terminal, and its interruption."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

Item = TypeVar("Item")


@contextmanager
def progress_bar(total: float, what: str, show: bool = True) -> Iterator[Callable[[float, str], None]]:
    """A progress bar on the terminal, as a function of what is done and of a text to show beside it.

    Args:
        total: how much there is to do.
        what: its name.
        show: whether to show the bar at all. Without a terminal nothing is shown in any case.
    """
    if not (show and sys.stderr.isatty()):
        yield _show_nothing
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[text]}"), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, text="")

        def update(done: float, text: str = "") -> None:
            bar.update(task, completed=done, text=text)

        yield update


def _show_nothing(done: float, text: str = "") -> None:
    pass


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
    changes, as Python delivers the signal only there.
    """
    asked = False

    def ask(signum: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, before)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
