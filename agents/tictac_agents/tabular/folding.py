"""The symmetries of a board, which let a position and its images share one row of a table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tictac_agents.tabular.table_learner import Ints
from tictac_env.compiled import kernel_methods
from tictac_env.games import Game
from tictac_env.position import symmetries


@kernel_methods
class Folding(NamedTuple):
    """The symmetries of a board, which fold a position's images into one.

    The images share a row, and so do the actions that the position's own symmetries exchange: on tic-tac-toe's empty
    board the four corners are one slot.
    """

    # Tic-tac-toe has eight symmetries; a stone in a corner has four different images, each of which two of them give:
    #
    #     X . .     . . X     . . .     . . .
    #     . . .     . . .     . . .     . . .
    #     . . .     . . .     X . .     . . X
    #
    # The least pair (own, opp) stands for all four. The symmetries that lead to it are kept as a set of bits
    # (`leading`): where there are two or more, they also exchange actions, and such actions share a slot.

    bits: Ints
    """int64 (symmetries, cells, 2): for each cell its bit, and the bit of the cell it is taken to."""
    actions: Ints
    """int64 (symmetries, num_actions): the image of each action."""

    def fold(self, own: int, opp: int) -> tuple[int, int, int]:
        """The least image (own, opp) of a position, and the symmetries that lead to it, as a set of bits."""
        least_own = least_opp = leading = 0
        for k in range(len(self.bits)):
            # The image under symmetry k, moved stone by stone.
            image_own = image_opp = 0
            for cell in range(self.bits.shape[1]):
                bit, image = self.bits[k, cell, 0], self.bits[k, cell, 1]
                if own & bit:
                    image_own |= image
                elif opp & bit:
                    image_opp |= image
            # A new least image starts the set of symmetries again; an equal one adds its own to the set.
            if leading == 0 or image_own < least_own or (image_own == least_own and image_opp < least_opp):
                least_own, least_opp, leading = image_own, image_opp, 1 << k
            elif image_own == least_own and image_opp == least_opp:
                leading |= 1 << k
        return least_own, least_opp, leading

    def slot(self, leading: int, action: int) -> int:
        """The slot of an action in a position whose least image the symmetries `leading` lead to."""
        # Each of these symmetries takes the action to an action of the least image; the lowest of them is the slot.
        # x & (x - 1) clears the lowest bit of a set, which gives the symmetries one by one:
        #
        #     leading             1 0 1 1 0 0
        #     leading - 1         1 0 1 0 1 1
        #     higher = their and  1 0 1 0 0 0      the set without its lowest bit
        #     leading ^ higher    0 0 0 1 0 0      that bit alone, 1 << k
        #     minus 1             0 0 0 0 1 1      k bits, here 2
        slot: int = self.actions.shape[1]
        while leading > 0:
            higher = leading & (leading - 1)
            k = ((leading ^ higher) - 1).bit_count()
            slot = min(slot, int(self.actions[k, action]))
            leading = higher
        return slot


def folding_of(game: Game, symmetry: bool) -> Folding:
    """The symmetries of a game's board, or the identity alone."""
    images = symmetries(game) if symmetry else symmetries(game)[:1]
    return Folding(
        np.array([image.bits for image in images], np.int64), np.array([image.actions for image in images], np.int64)
    )
