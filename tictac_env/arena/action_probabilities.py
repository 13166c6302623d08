"""What a policy plays in many positions, checked: what every exact measure starts from."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.games import Game
from tictac_env.policies import Policy
from tictac_env.policies.policy import actions_of, illegal_choice, wrong_probabilities
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import position_seed

BASES = {
    "probabilities": "probabilities: over all draws of the policy",
    "fixed map": "fixed map: one move in each position, drawn by a seed that the position gives",
}
"""What a policy is judged by, and what that means, as legends say it."""


def gives_probabilities(policy: Policy, game: Game) -> bool:
    """Whether a policy is judged by its `probabilities`, which it must then give everywhere, or as a fixed map."""
    return policy.probabilities(Position.start(game)) is not None


def basis_of(policy: Policy, game: Game) -> str:
    """What a policy is judged by: "probabilities" if it gives its own, else "fixed map"."""
    return "probabilities" if gives_probabilities(policy, game) else "fixed map"


def action_probabilities(
    policy: Policy, batch: PositionBatch, legal: npt.NDArray[np.bool_], seed: int, draws: bool
) -> npt.NDArray[np.float64]:
    """float64 (B, num_actions): the chance of each action of the policy's in B unfinished positions.

    Args:
        policy: the policy.
        batch: the positions.
        legal: bool (B, num_actions), the legal actions.
        seed: where the policy is judged as a fixed map, each position's seed is derived from it and the position.
        draws: what `gives_probabilities` says.

    Raises:
        ValueError: `probabilities` or `act_many` give something else than they promise; the message names it.
        IllegalMove: the policy's choice is illegal, or may be; the message names it and the position.
    """
    given = policy.probabilities_many(batch)
    if given is None and draws:
        raise wrong_probabilities(policy, batch[0], None)
    if given is not None:
        given = np.asarray(given, np.float64)
        if given.shape != legal.shape:
            raise ValueError(f"probabilities_many of {policy} gave {given.shape}, not {legal.shape}")
        if not draws or np.min(given) < 0:
            wrong = int(given.min(axis=1).argmin())
            raise wrong_probabilities(policy, batch[wrong], given[wrong])
    chances = np.eye(legal.shape[1])[fixed_actions(policy, batch, seed)] if given is None else given
    illegal = (chances > 0) & ~legal
    if illegal.any():
        row, action = np.argwhere(illegal)[0]
        raise illegal_choice(policy, batch[int(row)], int(action))
    if not np.allclose(chances.sum(axis=1), 1):
        wrong = int(np.flatnonzero(~np.isclose(chances.sum(axis=1), 1))[0])
        raise ValueError(f"the probabilities of {policy} sum to {chances[wrong].sum()}, not 1, in {batch[wrong]!r}")
    return chances


def fixed_actions(policy: Policy, batch: PositionBatch, seed: int) -> npt.NDArray[np.int64]:
    """int64 (B,), in [0, num_actions), legal or not: what the policy plays as a fixed map.

    Raises:
        ValueError: `act_many` does not answer as it must.
        IllegalMove: an action is out of range.
    """
    seeds: Any = position_seed(batch.own, batch.opp, seed)  # type: ignore[arg-type]  # its arithmetic is that of arrays
    actions = actions_of(policy, batch, seeds)
    in_range = (actions >= 0) & (actions < batch.game.num_actions)
    if not in_range.all():
        wrong = int(np.flatnonzero(~in_range)[0])
        raise illegal_choice(policy, batch[wrong], int(actions[wrong]))
    return actions.astype(np.int64)
