"""Cycles of players who beat one another: what no rating on one scale explains."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def find_cycles(names: Sequence[str], beats: npt.NDArray[np.bool_]) -> tuple[tuple[str, ...], ...]:
    """For each player that is on a cycle one of the shortest through it, each cycle once; none if there are none.

    Args:
        names: the players.
        beats: bool (P, P), who beats whom.
    """
    found: dict[frozenset[int], tuple[int, ...]] = {}
    for start in range(len(names)):
        cycle = _shortest(start, beats)
        if cycle:
            found.setdefault(frozenset(cycle), cycle)
    return tuple(tuple(names[one] for one in cycle) for cycle in found.values())


def _shortest(start: int, beats: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """The players on a shortest cycle through one of them, each of whom beats the next; empty if there is none."""
    before: dict[int, int] = {}
    waiting = deque([start])
    while waiting:
        one = waiting.popleft()
        for other in np.flatnonzero(beats[one]).tolist():
            if other == start:
                path = [one]
                while path[-1] != start:
                    path.append(before[path[-1]])
                return tuple(reversed(path))
            if other not in before:
                before[other] = one
                waiting.append(other)
    return ()
