"""Progress of long work, shown only where somebody sees it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

Item = TypeVar("Item")


def track(items: Iterable[Item], what: str, show: bool = True) -> Iterator[Item]:
    """The `items`, with a progress bar of rich's on the terminal while they are gone through.

    Args:
        items: what to go through.
        what: names the items beside the bar.
        show: whether to show it at all. Without a terminal nothing is shown in any case.
    """
    if not (show and sys.stderr.isatty()):
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as rich_track

    total = len(items) if isinstance(items, Sized) else None
    yield from rich_track(items, what, total=total, console=Console(stderr=True), transient=True)
