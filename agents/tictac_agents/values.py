"""The parts of a table of state values: its positions, the routes of a game through them, and the changes made."""

from __future__ import annotations

from typing import NamedTuple


class Node:
    """One position in a table, as the owner of the table sees it."""

    __slots__ = ("after", "final", "key", "legal", "value", "visits")

    def __init__(self, key: tuple[int, int], legal: tuple[int, ...], final: bool, value: float) -> None:
        self.key = key  # the owner's stones, the other side's
        self.legal = legal
        self.final = final
        self.value = value
        self.visits = 0
        self.after: dict[int, Node] = {}  # the positions after the owner's moves


class Backup(NamedTuple):
    """A change of one value."""

    seat: int
    """Whose table."""
    own: int
    """The stones of that seat in the position."""
    opp: int
    """The other side's."""
    before: float
    after: float


class Route:
    """The positions one side has passed in a game, and which steps between them are not to be learned."""

    __slots__ = ("nodes", "seat", "skips")

    def __init__(self, seat: int) -> None:
        self.seat = seat
        self.nodes: list[Node] = []
        self.skips: list[bool] = []
