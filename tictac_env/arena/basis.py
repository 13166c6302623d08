"""The moves of a policy in many positions, for exact measures, and the basis on which it is judged."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tictac_env.arrays import Bools, Floats, Ints
from tictac_env.games import Game
from tictac_env.policies.check_policy import draws_its_moves
from tictac_env.policies.policy import Policy, actions_of, illegal_choice, wrong_probabilities
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import position_seed

Basis = Literal["probabilities", "fixed map", "draws its moves"]
"""The basis of a judgement: the policy's own `probabilities`; one move in each position, by a seed that the position
gives; or one answer in each position of a policy that answers differently when it is asked again."""


def gives_probabilities(policy: Policy, game: Game) -> bool:
    """True if a policy is judged by its `probabilities`, which it must give everywhere; else it is a fixed map."""
    return policy.probabilities(Position.start(game)) is not None


def basis_of(policy: Policy, game: Game) -> Basis:
    """The basis on which a policy is judged; asking it twice tells if it draws its moves."""
    if gives_probabilities(policy, game):
        return "probabilities"
    return "draws its moves" if draws_its_moves(policy, Position.start(game)) else "fixed map"


def action_probabilities(policy: Policy, batch: PositionBatch, legal: Bools, seed: int, draws: bool) -> Floats:
    """The chances of a policy's actions in B unfinished positions: float64 (B, num_actions).

    A row is zero if the policy `forfeits` there.

    Args:
        policy: the policy.
        batch: the positions.
        legal: bool (B, num_actions), the legal actions.
        seed: if the policy is judged as a fixed map, each position's seed is derived from it and the position.
        draws: the answer of `gives_probabilities`.

    Raises:
        ValueError: `probabilities` or `act_many` do not keep their promises; the message names the policy.
        IllegalMove: the policy's choice is illegal, or may be; the message names it and the position.
    """
    chances = policy.probabilities_many(batch)
    if chances is None:
        if draws:
            raise wrong_probabilities(policy, batch[0], None)
        actions = fixed_actions(policy, batch, seed)
        played = actions >= 0
        chances = np.eye(legal.shape[1])[actions] * played[:, None]
    else:
        chances, played = np.asarray(chances, np.float64), np.ones(len(batch), np.bool_)
        if chances.shape != legal.shape:
            raise ValueError(f"probabilities_many of {policy} gave {chances.shape}, not {legal.shape}")
        if not draws or np.min(chances) < 0:
            wrong = int(chances.min(axis=1).argmin())
            raise wrong_probabilities(policy, batch[wrong], chances[wrong])
    illegal = (chances > 0) & ~legal
    if illegal.any():
        row, action = np.argwhere(illegal)[0]
        raise illegal_choice(policy, batch[int(row)], int(action))
    if not np.allclose(chances.sum(axis=1), played):
        wrong = int(np.flatnonzero(~np.isclose(chances.sum(axis=1), played))[0])
        raise ValueError(f"the probabilities of {policy} sum to {chances[wrong].sum()}, not 1, in {batch[wrong]!r}")
    return chances


def fixed_actions(policy: Policy, batch: PositionBatch, seed: int) -> Ints:
    """The actions of a policy as a fixed map in B positions: int64 (B,), in [0, num_actions), legal or not; -1 if the
    policy `forfeits` there.

    Raises:
        ValueError: `act_many` does not answer as it must.
        IllegalMove: an action is out of range.
    """
    actions = actions_of(policy, batch, position_seed(batch.own, batch.opp, seed))
    in_range = (actions >= (-1 if policy.forfeits else 0)) & (actions < batch.game.num_actions)
    if not in_range.all():
        wrong = int(np.flatnonzero(~in_range)[0])
        raise illegal_choice(policy, batch[wrong], int(actions[wrong]))
    return actions.astype(np.int64)
