"""A training run: how long it is, and the schedules that go by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from tictac_env.checks import one_of, whole

Schedule = float | Sequence[float]
"""A number, or several for equal parts of a run."""
COUNTERS = ("timesteps", "episodes")
NO_LIMIT = 2**62
"""More than any counter counts; sums of two are still int64."""


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
        begin, end = whole("begin", begin, NO_LIMIT), whole("end", end, NO_LIMIT)
        return cls(one_of("counter", counter, COUNTERS), begin, whole("length", end - begin) + begin)

    def part(self, schedule: Sequence[float], now: int) -> float:
        """The number of a schedule for the part of the run that is reached."""
        return schedule[min((now - self.begin) * len(schedule) // (self.end - self.begin), len(schedule) - 1)]

    def next_change(self, schedule: Sequence[float], now: int) -> int:
        """What the counter says when the next part of a schedule begins."""
        part = (now - self.begin) * len(schedule) // (self.end - self.begin) + 1
        return self.begin - (self.begin - self.end) * part // len(schedule)  # rounded up
