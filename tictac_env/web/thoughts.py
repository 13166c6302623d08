"""What a player thinks of each move, for the page."""

from __future__ import annotations

import importlib
import math
from typing import Any

from tictac_env.policies import Mixture, Policy, uniform
from tictac_env.position import Position
from tictac_env.rng import position_seed
from tictac_env.solver.perfect import Perfect

EXPLAIN = "tictac_agents.explain:explain"
"""What asks agents; imported when there is one to ask."""


def seed_of(position: Position, seed: int) -> int:
    """The seed with which a player moves in a position of the game of that seed."""
    return int(position_seed(position.own, position.opp, seed))


def thoughts(policy: Policy, position: Position, seed: int) -> dict[str, Any]:
    """What a player thinks of each legal action of an unfinished position, for JSON.

    Args:
        policy: the player.
        position: unfinished.
        seed: of the game.

    Returns:
        `kind` ("visits", "values", "chances" or "nothing"), `text`, and `moves`: for each legal action its `action`
        and, None where they are not known, `value`, `visits`, `proven` and `chance`.
    """
    own = {"kind": "nothing", "text": f"{policy} does not say what it thinks", "moves": []}
    chances = policy.probabilities(position)
    if chances is None and isinstance(policy, Perfect):
        best = policy.best_actions(position)
        chances = uniform(position.game, best)
    if chances is not None:
        moves = [_move(action, chance=float(chances[action])) for action in position.legal_actions]
        return {"kind": "chances", "text": f"how likely {policy} plays each move", "moves": moves}
    asked, text = policy, ""
    if isinstance(policy, Mixture):  # a level: what its stronger part thinks
        part = max(range(len(policy.players)), key=policy.weights.__getitem__)
        asked = policy.member(part, position.game)
        text = f"{policy} plays {policy.players[part]}: "
    module, _, name = EXPLAIN.partition(":")
    found = getattr(importlib.import_module(module), name)(asked, position, seed_of(position, seed))
    if found is None:
        return own
    moves = [
        _move(one.action, _finite(one.value), one.visits, one.proven, _finite(one.chance)) for one in found.thoughts
    ]
    return {"kind": found.kind, "text": text + found.text, "moves": moves}


def _move(
    action: int,
    value: float | None = None,
    visits: int | None = None,
    proven: int | None = None,
    chance: float | None = None,
) -> dict[str, Any]:
    return {"action": action, "value": value, "visits": visits, "proven": proven, "chance": chance}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
