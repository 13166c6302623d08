"""What both kinds of workers have in common: how they are asked, what they answer, how often a lost job is begun."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

ATTEMPTS = 3
"""So many workers may end while they do the same jobs: one that takes its worker with it is not done for ever."""

Work = Callable[[Any], Any]


class WorkerLost(OSError):
    """Jobs that were begun three times, and each time their worker ended without a result.

    Example:
        >>> from tictac_env.jobs import WorkerLost
        >>> issubclass(WorkerLost, OSError)
        True
    """


class Outcome(NamedTuple):
    """What became of some jobs."""

    results: list[Any]
    """In their order. One that raised an error, and those after it, have none; the first's error is raised instead."""
    seconds: float
    """How long they took, by the clock of the worker."""


class Pool(Protocol):
    """Workers of one kind, all for the same work."""

    batch_seconds: float
    """How long jobs that are sent together should take, so that sending them costs less than 5 % of it."""

    def size(self) -> int:
        """How many workers there are now."""

    def begin(self, jobs: Sequence[Any]) -> None:
        """Sends jobs to a worker that is free. They are done in their order."""

    def ended(self) -> Iterator[tuple[Sequence[Any], Outcome]]:
        """Waits until some of the jobs under way have ended, and gives these; nothing, now and then, if none have.

        Raises:
            WorkerLost: their workers ended, again and again.
            Exception: the first of these jobs raised it.
        """

    def close(self) -> None:
        """Ends the workers, none of which has anything left to do."""

    def kill(self) -> None:
        """Ends the workers at once, whatever they do."""


def do(work: Work, jobs: Sequence[Any]) -> Outcome:
    """Does jobs, in a worker."""
    results: list[Any] = []
    began = time.perf_counter()
    for job in jobs:
        try:
            results.append(work(job))
        except Exception as error:
            if results:
                break
            error.add_note(f"\nIt was raised in a worker:\n{traceback.format_exc()}")
            raise
    return Outcome(results, time.perf_counter() - began)


def lost(jobs: Sequence[Any]) -> WorkerLost:
    """The error about jobs that no worker survived."""
    more = f" or one of the {len(jobs) - 1} jobs sent with it" if len(jobs) > 1 else ""
    told = f"{ATTEMPTS} workers ended without a result (killed, or out of memory?)"
    return WorkerLost(f"{told} while they did {str(jobs[0])[:200]}{more}")
