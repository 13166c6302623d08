"""An agent that plays PettingZoo's environments as a policy: it gets what `env.last()` shows, a dict with the mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tictac_env.games import Game, shown
from tictac_env.policies.adapters import observer_of
from tictac_env.policies.foreign.python_code import object_named, places
from tictac_env.policies.foreign.reading import Reading
from tictac_env.policies.foreign.seeding import globally_seeded
from tictac_env.policies.policy import Policy
from tictac_env.position import Position

AGENTS = ("player_0", "player_1")


class PettingZooAgent(Policy):
    """An agent of PettingZoo's as a policy. What it draws from `random` and `numpy.random` follows from the seed.

    Args:
        agent: a function, or an object with `act`. It takes the dict with "observation", int8 (rows, cols, 2), own
            stones first, and "action_mask", int8 (num_actions,), as `connect_four_v0` (and PettingZoo's
            `connect_four_v3`) shows them; if it has a second parameter, "player_0" or "player_1"; and returns the
            action.

    Raises:
        ValueError: `agent` is neither.
    """

    def __init__(self, agent: Any) -> None:
        function: Callable[..., Any] | None = getattr(agent, "act", agent if callable(agent) else None)
        if isinstance(agent, type) or not callable(function):
            raise ValueError(f"{shown(agent)} is no agent of PettingZoo's: give a function, or an object with `act`")
        self._function = function
        self._given = places(function, 2)
        self.name = getattr(agent, "__name__", type(agent).__name__)

    def act(self, position: Position, seed: int) -> int:
        game = position.game
        observer = observer_of(game, "planes")
        planes = observer.observe(position.own, position.opp, position.seat)
        seen = {
            "observation": np.ascontiguousarray(np.moveaxis(planes, 0, -1)),
            "action_mask": observer.mask(game.legal(position.own, position.opp)),
        }
        with globally_seeded(seed):
            action: int = self._function(*(seen, AGENTS[position.seat])[: self._given])
        return action


def from_text(text: str, game: Game, reading: Reading) -> Policy:
    """The agent that "module:name" or "file.py:name" names.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: there is no such module or name, or it is no agent.
    """
    return PettingZooAgent(object_named(text))
