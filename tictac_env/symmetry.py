"""The symmetries of a board, as permutations of its cells and of its actions."""

from __future__ import annotations

import functools
from typing import NamedTuple

from tictac_env.games import Game


class Symmetry(NamedTuple):
    """One symmetry of a game's board."""

    bits: tuple[tuple[int, int], ...]
    """For each cell, its bit and the bit of the cell it is taken to."""
    actions: tuple[int, ...]
    """`actions[a]` is the action that `a` becomes."""

    def apply(self, stones: int) -> int:
        """The image of a set of cells."""
        image = 0
        for source, target in self.bits:
            if stones & source:
                image |= target
        return image


@functools.lru_cache(maxsize=64)
def symmetries(game: Game) -> tuple[Symmetry, ...]:
    """All symmetries of the game's board; number 0 is the identity.

    A square board without gravity has 8, an oblong one 4, a board with gravity 2.
    """
    cells = [(row, col) for row in range(game.rows) for col in range(game.cols)]
    action_of = {game.choice(action): action for action in range(game.num_actions)}
    found = []
    for number in range(game.num_symmetries):
        bits = {game.cell(row, col): game.cell(*game.image(row, col, number)) for row, col in cells}
        actions = tuple(action_of[bits[game.choice(action)]] for action in range(game.num_actions))
        found.append(Symmetry(tuple(bits.items()), actions))
    return tuple(found)


def canonical(game: Game, own: int, opp: int) -> tuple[int, int, Symmetry]:
    """The least `(own, opp)` among the images of a position, and the symmetry that leads to it."""
    return min(
        ((symmetry.apply(own), symmetry.apply(opp), symmetry) for symmetry in symmetries(game)),
        key=lambda image: image[:2],
    )
