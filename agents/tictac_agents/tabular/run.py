"""A training run: how long it is, the schedules that go by it, and its progress bar."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

from tictac_env.checks import one_of, whole
from tictac_env.progress import progress_bar

Schedule = float | Sequence[float]
"""A number, or several for equal parts of a run."""
COUNTERS = ("timesteps", "episodes")


class Run(NamedTuple):
    """A run of a learner, measured by one of its counters."""

    counter: str
    """What is counted: "timesteps" or "episodes"."""
    begin: int
    """What the counter said at the beginning."""
    end: int
    """What it says at the end."""

    @classmethod
    def of(cls, begins: dict[str, int], total_timesteps: int | None, total_episodes: int | None) -> Self:
        """A run of so many timesteps or episodes; `begins` is what each counter says now.

        Raises:
            ValueError: neither or both totals are given, or not a positive int.
        """
        given = {"timesteps": total_timesteps, "episodes": total_episodes}
        named = [(counter, total) for counter, total in given.items() if total is not None]
        if len(named) != 1 or type(named[0][1]) is not int or named[0][1] < 1:
            raise ValueError(f"give total_timesteps or total_episodes, a positive int, not {given}")
        counter, total = named[0]
        return cls(counter, begins[counter], begins[counter] + total)

    @classmethod
    def from_json(cls, saved: Any) -> Self:
        """The run that a file holds.

        Raises:
            ValueError, TypeError: it is none.
        """
        counter, begin, end = saved
        begin, end = whole("begin", begin), whole("end", end)
        return cls(one_of("counter", counter, COUNTERS), begin, whole("length", end - begin) + begin)

    def part(self, schedule: Sequence[float], now: int) -> float:
        """The number of a schedule for the part of the run that is reached."""
        return schedule[min((now - self.begin) * len(schedule) // (self.end - self.begin), len(schedule) - 1)]

    def next_change(self, schedule: Sequence[float], now: int) -> int:
        """What the counter says when the next part of a schedule begins."""
        part = (now - self.begin) * len(schedule) // (self.end - self.begin) + 1
        return self.begin - (self.begin - self.end) * part // len(schedule)  # rounded up


@contextmanager
def run_bar(
    title: str, total: int, show: bool, state: Callable[[], tuple[int, int, str]]
) -> Iterator[Callable[[], None]]:
    """The progress bar of a run, as a function to call after each episode.

    Args:
        title: the learner's name.
        total: how much the run counts.
        show: whether to show it (only on a terminal).
        state: how much of the total is done, how many episodes, and what else to show.
    """
    began = shown = time.monotonic()
    episodes = state()[1]
    with progress_bar(total, title, show) as update:

        def refresh() -> None:
            nonlocal shown
            now = time.monotonic()
            if now - shown > 0.2:
                shown = now
                done, played, text = state()
                update(done, f"{(played - episodes) / (now - began):,.0f} games/s, {text}")

        yield refresh
