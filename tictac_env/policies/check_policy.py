"""A check for policies of your own: does it keep what `Policy` promises?"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.checks import positive, whole
from tictac_env.games import Game
from tictac_env.policies.adapters import FunctionPolicy
from tictac_env.policies.loading import game_for
from tictac_env.policies.names import as_policy
from tictac_env.policies.policy import Policy, action_of, actions_of, answer
from tictac_env.policies.reflexes import pick
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import STATES, advance, mix

MAX_SEED = 2**63 - 1


def check_policy(policy: Any, game: str | Game | None = None, positions: int = 100, seed: int = 0) -> None:
    """Tells what is wrong with a policy of your own, by trying it in positions of random games.

    Errors are raised, doubts are warned of. Nothing is returned: a policy that passes keeps what `Policy` promises.

    Args:
        policy: whatever `as_policy` accepts.
        game: a game's name or rule book; None for the agent's own (`own_game`), else tic-tac-toe.
        positions: in how many positions to try it.
        seed: which positions, in [0, 2**63).

    Raises:
        ValueError: an argument is not one of these; `act` returns no integer in range, answers differently to the same
            position and seed, or where the moves before are not known, `act_many` disagrees with `act`,
            `probabilities` are none or contradict `act`, or `probabilities_many` disagrees with them. The message names
            the position.
        IllegalMove: it plays an illegal move.

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
    tried = _random_positions(rules, positions, seed)
    seeds = np.array([mix(seed + i & MAX_SEED) for i in range(positions)], np.int64)
    chosen = []
    stated: list[npt.NDArray[np.float64] | None] = []
    draws = False
    for position, number in zip(tried, seeds.tolist(), strict=True):
        action = answer(player, rules, position.own, position.opp, position.moves, number)[0]
        if action_of(player, position, number) != action:
            raise ValueError(
                f"{player} answers differently to the same position and seed ({number}): {position!r}; "
                f"{_how_to_draw(player)}"
            )
        chosen.append(action)
        other = action_of(player, position, mix(number))
        draws |= other != action
        chances = player.probabilities(position)
        stated.append(chances)
        if chances is not None:
            _check_probabilities(player, position, np.asarray(chances), {action, other})
    for position, number, action in zip(tried, seeds.tolist(), chosen, strict=True):
        _check_without_moves(player, position, number, action)
    together = actions_of(player, PositionBatch.of(tried), seeds)
    if (together != chosen).any():
        i = int(np.flatnonzero(together != chosen)[0])
        raise ValueError(f"act_many of {player} gave {together[i]}, act {chosen[i]}: {tried[i]!r}, seed {seeds[i]}")
    _check_probabilities_many(player, tried, stated)
    if draws and stated[0] is None:
        warnings.warn(
            f"{player} draws but has no `probabilities`: exact measures will judge one fixed map",
            stacklevel=2,
        )


def _how_to_draw(policy: Policy) -> str:
    """What the author of a policy that draws from elsewhere should do."""
    if isinstance(policy, FunctionPolicy) and not policy.seeded:
        return "if it draws, give it a third parameter, `seed`, and draw from that alone"
    return "if it draws, draw from `seed` alone; it must remember nothing"


def _random_positions(game: Game, count: int, seed: int) -> list[Position]:
    """Unfinished positions from random games, the start among them."""
    positions: list[Position] = []
    state = mix(seed)
    position = Position.start(game)
    while len(positions) < count:
        positions.append(position)
        state = advance(state & STATES)
        legal = game.legal(position.own, position.opp)
        position = position.play(pick(game, legal, mix(state)))
        if position.is_over:
            position = Position.start(game)
    return positions


def _check_without_moves(policy: Policy, position: Position, seed: int, chosen: int) -> None:
    """Checks that the policy plays the same where it sees the stones alone."""
    stones = Position(position.game, position.own, position.opp)
    where = f"where the moves before are not known, as on the boards of a vector environment: {stones!r}"
    try:
        action = action_of(policy, stones, seed)
    except Exception as error:
        raise ValueError(f"{policy} fails {where}; {type(error).__name__}: {error}") from error
    if action != chosen:
        raise ValueError(
            f"{policy} plays {chosen} after {position.to_moves()!r}, and {action!r} {where}; what it plays must depend "
            "on the stones alone (`to_moves()` gives some moves that lead to them)"
        )


def _check_probabilities(
    policy: Policy, position: Position, chances: npt.NDArray[np.float64], chosen: set[int]
) -> None:
    where = f"of {policy} in {position!r}"
    if chances.shape != (position.game.num_actions,):
        raise ValueError(
            f"the probabilities {where} have the shape {chances.shape}, not {(position.game.num_actions,)}"
        )
    if (chances < 0).any() or not np.isclose(chances.sum(), 1):
        raise ValueError(f"the probabilities {where} are not non-negative with the sum 1: {chances}")
    illegal = set(np.flatnonzero(chances).tolist()) - set(position.legal_actions)
    if illegal:
        raise ValueError(f"the probabilities {where} allow the illegal actions {sorted(illegal)}")
    if any(chances[action] == 0 for action in chosen):
        raise ValueError(f"the probabilities {where} exclude an action that `act` chose, one of {sorted(chosen)}")


def _check_probabilities_many(
    policy: Policy, positions: list[Position], stated: list[npt.NDArray[np.float64] | None]
) -> None:
    """Checks that the policy says of many positions together what it says of each."""
    together = policy.probabilities_many(PositionBatch.of(positions))
    rows = [None] * len(positions) if together is None else list(np.asarray(together))
    for position, row, chances in zip(positions, rows, stated, strict=True):
        if (row is None) != (chances is None) or (row is not None and not np.allclose(row, chances)):  # type: ignore[arg-type]
            raise ValueError(f"probabilities_many of {policy} gave {row}, probabilities {chances}: {position!r}")
