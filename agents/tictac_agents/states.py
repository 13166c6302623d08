"""The rows of a table: which row an observation or a position belongs to, symmetric ones together if wanted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tictac_env.games import Game
from tictac_env.observation import read_observation
from tictac_env.position import Position
from tictac_env.symmetry import symmetries


def is_position(game: Game, own: int, opp: int) -> bool:
    """Whether a game can reach a position that was read from a file: stones on the board, one a cell, no fault."""
    board = sum(game.cell(row, col) for row in range(game.rows) for col in range(game.cols))
    on_board = own >= 0 and opp >= 0 and not own & opp and own | opp | board == board
    return on_board and not game.fault(own, opp)


class State(NamedTuple):
    """Where a position stands in a table."""

    row: int
    legal: tuple[int, ...]
    """The legal actions."""
    slots: tuple[int, ...]
    """For each action of the board, the action it counts as in the row; -1 where it is illegal."""

    @property
    def open_slots(self) -> tuple[int, ...]:
        """The slots of the legal actions, each once, in ascending order."""
        return tuple(sorted({self.slots[action] for action in self.legal}))


class StateIndex:
    """Numbers the positions a learner meets, in the order in which it meets them.

    With symmetries folded, all images of a position share a row, and so do the actions that the position's own
    symmetries exchange: on tic-tac-toe's empty board the four corners are one slot.

    Args:
        game: the rule book.
        symmetry: whether to fold symmetries.
    """

    def __init__(self, game: Game, symmetry: bool) -> None:
        self.game = game
        self.symmetry = symmetry
        self.positions: list[tuple[int, int]] = []
        """The position (own, opp) of each row, the least of its images."""
        self._rows: dict[tuple[int, int], int] = {}
        self._states: dict[tuple[int, int], State] = {}
        self._observed: dict[int | bytes, State] = {}

    def __len__(self) -> int:
        return len(self.positions)

    def of_observation(self, observation: Any) -> State:
        """The state an observation shows."""
        key = observation.tobytes() if isinstance(observation, np.ndarray) else int(observation)
        state = self._observed.get(key)
        if state is None:
            state = self._observed[key] = self.of_bits(*read_observation(self.game, observation))
        return state

    def of_bits(self, own: int, opp: int) -> State:
        """The state of a position, which gets a row if it has none."""
        state = self._states.get((own, opp))
        if state is None:
            state = self._states[own, opp] = self._make(own, opp)
        return state

    def find(self, own: int, opp: int) -> State | None:
        """The state of a position, None if it has no row; the index stays as it is."""
        canonical, slots = self._fold(own, opp)
        row = self._rows.get(canonical)
        return None if row is None else State(row, self.legal(own, opp), slots)

    def legal(self, own: int, opp: int) -> tuple[int, ...]:
        """The legal actions of a position."""
        return Position(self.game, own, opp).legal_actions

    def _make(self, own: int, opp: int) -> State:
        canonical, slots = self._fold(own, opp)
        row = self._rows.setdefault(canonical, len(self.positions))
        if row == len(self.positions):
            self.positions.append(canonical)
        return State(row, self.legal(own, opp), slots)

    def _fold(self, own: int, opp: int) -> tuple[tuple[int, int], tuple[int, ...]]:
        """The position that stands for this one in the table, and the slots of this one's actions."""
        legal = self.legal(own, opp)
        every = symmetries(self.game) if self.symmetry else symmetries(self.game)[:1]
        images = [(symmetry.apply(own), symmetry.apply(opp)) for symmetry in every]
        canonical = min(images)
        leading = [symmetry for symmetry, image in zip(every, images, strict=True) if image == canonical]
        return canonical, tuple(
            min(symmetry.actions[action] for symmetry in leading) if action in legal else -1
            for action in range(self.game.num_actions)
        )
