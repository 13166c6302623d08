"""Checks that a policy keeps the contract of `Policy`, and that it answers the same question alike."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence

import numpy as np

from tictac_env.arrays import Floats
from tictac_env.checks import positive, whole
from tictac_env.games import Game
from tictac_env.policies.adapters import FunctionPolicy
from tictac_env.policies.loading import PlayerLike, as_policy, game_for
from tictac_env.policies.policy import Policy, action_of, actions_of, answer, pick
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import STATES, advance, mix

MAX_SEED = 2**63 - 1
ASKED_TWICE = 16
"""The number of first positions in which a policy is asked twice."""
ASKING_SECONDS = 0.5
"""The time after which a slow policy is asked about no further position."""
DRAWS = "draws its moves: the same question gets different answers"
"""The finding of `draws_its_moves` as a sentence."""


def check_policy(policy: PlayerLike, game: str | Game | None = None, positions: int = 100, seed: int = 0) -> None:
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
    # One position at a time. The environments call `answer`, which takes the reflex if there is one: it must agree with
    # `act`. A second seed shows if the policy draws at all.
    chosen = []
    each_chances: list[Floats | None] = []
    draws = False
    for position, number in zip(sample, seeds.tolist(), strict=True):
        action = answer(player, rules, position.own, position.opp, position.moves, number)[0]
        if action_of(player, position, number) != action:
            raise ValueError(
                f"{player} answers differently to the same position and seed ({number}): {position!r}; if it draws, "
                f"{advice_on_drawing(player)}"
            )
        chosen.append(action)
        other = action_of(player, position, mix(number))
        draws |= other != action
        chances = player.probabilities(position)
        each_chances.append(chances)
        if chances is not None:
            _check_probabilities(player, position, np.asarray(chances), {action, other})
    # Vector environments know the stones alone, not the moves that led to them.
    for position, number, action in zip(sample, seeds.tolist(), chosen, strict=True):
        _check_without_moves(player, position, number, action)
    # All positions at once: the same actions, and probabilities everywhere or nowhere.
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


def advice_on_drawing(policy: Policy) -> str:
    """Advice for the author of a policy that answers differently to the same position and seed."""
    if isinstance(policy, FunctionPolicy) and not policy.seeded:
        return "give it a third parameter, `seed`, and draw from that alone"
    return "it must draw from `seed` alone and remember nothing"


def draws_its_moves(policy: Policy, start: Position) -> bool:
    """True if a policy answers differently the second time: it draws without the seed, or remembers.

    It plays in the first positions from `start`, at most 16, fewer if it is slow, and again in reverse order. People
    and policies that are not `asked_twice` are left out, and errors are left to the caller that plays with the policy.
    """
    if policy.one_game_at_a_time or not policy.asked_twice:
        return False
    # In reverse order the second time: a policy that counts its calls, or remembers the last one, answers differently.
    positions = _first_positions(start)
    seeds = np.array([mix(number) for number in range(len(positions))], np.int64)  # a mixture draws its member by them
    try:
        if policy.batched:  # in the same order: the last bits of a network's values may depend on it
            batch = PositionBatch.of(positions)
            return not np.array_equal(actions_of(policy, batch, seeds), actions_of(policy, batch, seeds))
        answers, end = list[tuple[Position, int, int]](), time.monotonic() + ASKING_SECONDS
        for position, seed in zip(positions, seeds.tolist(), strict=True):
            answers.append((position, seed, action_of(policy, position, seed)))
            if time.monotonic() > end:
                break
        return any(action_of(policy, position, seed) != action for position, seed, action in reversed(answers))
    except (Exception, SystemExit):
        return False


def _first_positions(start: Position) -> Sequence[Position]:
    """The first unfinished positions of the games from `start`, ply by ply."""
    positions = [start]
    for position in positions:  # which grow meanwhile
        following = [position.play(action) for action in position.legal_actions]
        positions += [after for after in following if not after.is_over][: ASKED_TWICE - len(positions)]
        if len(positions) == ASKED_TWICE:
            break
    return positions


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


def _check_probabilities(policy: Policy, position: Position, chances: Floats, chosen: set[int]) -> None:
    shape, wrong = (position.game.num_actions,), ""
    if chances.shape != shape:
        wrong = f"have the shape {chances.shape}, not {shape}"
    elif (chances < 0).any() or not np.isclose(chances.sum(), 1):
        wrong = f"are not non-negative with the sum 1: {chances}"
    elif illegal := set(np.flatnonzero(chances).tolist()) - set(position.legal_actions):
        wrong = f"allow the illegal actions {sorted(illegal)}"
    elif any(chances[action] == 0 for action in chosen):
        wrong = f"exclude an action that `act` chose, one of {sorted(chosen)}"
    if wrong:
        raise ValueError(f"the probabilities of {policy} in {position!r} {wrong}")
