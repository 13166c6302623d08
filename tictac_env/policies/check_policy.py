"""A check that a policy of your own keeps the contract of `Policy`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.checks import positive, whole
from tictac_env.games import Game
from tictac_env.policies.adapters import FunctionPolicy
from tictac_env.policies.loading import as_policy, game_for
from tictac_env.policies.policy import Policy, action_of, actions_of, answer, pick
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import STATES, advance, mix

MAX_SEED = 2**63 - 1


def check_policy(policy: Any, game: str | Game | None = None, positions: int = 100, seed: int = 0) -> None:
    """Checks a policy of your own in positions of random games.

    Errors are raised, doubts are warnings. Nothing is returned.

    Args:
        policy: a player that `as_policy` accepts.
        game: a game or its name; None for the agent's own (`own_game`), or tic-tac-toe.
        positions: the number of positions to try.
        seed: chooses the positions, in [0, 2**63).

    Raises:
        ValueError: an argument is invalid; `act` returns no integer in range, differs for the same position and seed or
            if the earlier moves are not known; `act_many` disagrees with `act`; `probabilities` are invalid or
            contradict `act`, or `probabilities_many` disagrees with them. The message names the position.
        IllegalMove: the policy plays an illegal move.

    Example:
        >>> from tictac_env import check_policy
        >>> check_policy("rule", positions=10)  # nothing is wrong
        >>> check_policy(lambda observation, mask: 0, positions=10)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        tictac_env.position.IllegalMove: <lambda> chose action 0, illegal here (leg...
    """
    rules = game_for(game, policy)
    player = as_policy(policy, rules)
    positive("positions", positions)
    seed = whole("seed", seed, MAX_SEED)
    sample = _random_positions(rules, positions, seed)
    seeds = np.array([mix(seed + i & MAX_SEED) for i in range(positions)], np.int64)
    chosen = []
    each_chances: list[npt.NDArray[np.float64] | None] = []
    draws = False
    for position, number in zip(sample, seeds.tolist(), strict=True):
        action = answer(player, rules, position.own, position.opp, position.moves, number)[0]
        if action_of(player, position, number) != action:
            advice = "it must draw from `seed` alone and remember nothing"
            if isinstance(player, FunctionPolicy) and not player.seeded:
                advice = "give it a third parameter, `seed`, and draw from that alone"
            raise ValueError(
                f"{player} answers differently to the same position and seed ({number}): {position!r}; if it draws, "
                f"{advice}"
            )
        chosen.append(action)
        other = action_of(player, position, mix(number))
        draws |= other != action
        chances = player.probabilities(position)
        each_chances.append(chances)
        if chances is not None:
            _check_probabilities(player, position, np.asarray(chances), {action, other})
    for position, number, action in zip(sample, seeds.tolist(), chosen, strict=True):
        _check_without_moves(player, position, number, action)
    batch = PositionBatch.of(sample)
    together = actions_of(player, batch, seeds)
    if (together != chosen).any():
        i = int(np.flatnonzero(together != chosen)[0])
        raise ValueError(f"act_many of {player} gave {together[i]}, act {chosen[i]}: {sample[i]!r}, seed {seeds[i]}")
    many = player.probabilities_many(batch)
    rows = [None] * positions if many is None else many
    for position, row, chances in zip(sample, rows, each_chances, strict=True):
        if (row is None) != (chances is None) or (row is not None and not np.allclose(row, chances)):  # type: ignore[arg-type]
            raise ValueError(f"probabilities_many of {player} gave {row}, probabilities {chances}: {position!r}")
    if draws and each_chances[0] is None:
        warnings.warn(
            f"{player} draws but has no `probabilities`: exact measures will judge one fixed map", stacklevel=2
        )


def _random_positions(game: Game, count: int, seed: int) -> list[Position]:
    positions: list[Position] = []
    state = mix(seed)
    position = Position.start(game)
    while len(positions) < count:
        positions.append(position)
        state = advance(state & STATES)
        position = position.play(pick(game, game.legal(position.own, position.opp), mix(state)))
        if position.is_over:
            position = Position.start(game)
    return positions


def _check_without_moves(policy: Policy, position: Position, seed: int, chosen: int) -> None:
    stones = Position(position.game, position.own, position.opp)
    where = f"where the moves before are not known, as on the boards of a vector environment: {stones!r}"
    try:
        action = action_of(policy, stones, seed)
    except Exception as error:
        raise ValueError(f"{policy} fails {where}; {type(error).__name__}: {error}") from error
    if action != chosen:
        raise ValueError(
            f"{policy} plays {chosen} after {position.to_moves()!r}, and {action!r} {where}; its move must depend on "
            "the stones alone (`to_moves()` gives some moves that lead to them)"
        )


def _check_probabilities(
    policy: Policy, position: Position, chances: npt.NDArray[np.float64], chosen: set[int]
) -> None:
    wanted, wrong = (position.game.num_actions,), ""
    if chances.shape != wanted:
        wrong = f"have the shape {chances.shape}, not {wanted}"
    elif (chances < 0).any() or not np.isclose(chances.sum(), 1):
        wrong = f"are not non-negative with the sum 1: {chances}"
    elif illegal := set(np.flatnonzero(chances).tolist()) - set(position.legal_actions):
        wrong = f"allow the illegal actions {sorted(illegal)}"
    elif any(chances[action] == 0 for action in chosen):
        wrong = f"exclude an action that `act` chose, one of {sorted(chosen)}"
    if wrong:
        raise ValueError(f"the probabilities of {policy} in {position!r} {wrong}")
