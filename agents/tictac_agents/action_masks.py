"""What the masks that a caller hands to `predict` allow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tictac_env.position import Position


def allowed_actions(position: Position, action_masks: npt.ArrayLike | None) -> list[int]:
    """The legal actions that the masks allow, at least one, in ascending order.

    Args:
        position: where they are to be played.
        action_masks: (num_actions,), 1 where an action may be chosen; None for what is legal.

    Raises:
        ValueError: the masks are of another size, or allow no legal action.
    """
    size = position.game.num_actions
    mask = np.ones(size) if action_masks is None else np.asarray(action_masks).reshape(-1)
    if len(mask) != size:
        raise ValueError(f"action_masks must have {size} elements, not {len(mask)}")
    allowed = [action for action in position.legal_actions if mask[action]]
    if not allowed:
        raise ValueError(f"no legal action is allowed in {position!r}; masks: {mask}")
    return allowed
