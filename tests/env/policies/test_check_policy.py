"""`check_policy` names what is wrong with a policy of one's own, and lets a good one pass."""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from conftest import ALL_GAMES, title

from tictac_agents import QLearning
from tictac_env.arena import verdict
from tictac_env.games import GAMES, Game, get_game
from tictac_env.policies import POLICIES, OpponentPool, Policy, as_policy, check_policy, make_policy, uniform
from tictac_env.position import IllegalMove, Position
from tictac_env.position_batch import PositionBatch

BY_NAME = [name for name in POLICIES if name != "human"]


class Mine(Policy):
    """A good policy: the lowest action, and says so. Each test spoils one thing."""

    def __init__(self, **spoiled: Callable[..., Any]) -> None:
        self.spoiled = spoiled

    def act(self, position: Position, seed: int) -> int:
        if "act" in self.spoiled:
            return self.spoiled["act"](position, seed)  # type: ignore[no-any-return]
        return position.legal_actions[0]

    def probabilities(self, position: Position) -> Any:
        if "probabilities" in self.spoiled:
            return self.spoiled["probabilities"](position)
        return uniform(position.game, position.legal_actions[:1])

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> Any:
        actions = super().act_many(batch, seeds)
        return self.spoiled["act_many"](actions) if "act_many" in self.spoiled else actions


def drawn(position: Position, seed: int) -> int:
    return position.legal_actions[seed % len(position.legal_actions)]


@pytest.mark.parametrize("game", ALL_GAMES, ids=title)
def test_a_good_policy_passes(game: Game) -> None:
    check_policy(Mine(), game, positions=15)
    check_policy(
        Mine(act=drawn, probabilities=lambda position: uniform(game, position.legal_actions)), game, positions=15
    )


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("game", GAMES)
def test_every_policy_by_name_passes(name: str, game: str) -> None:
    policy = make_policy({"level": "level:5", "mcts": "mcts:30"}.get(name, name), game)
    fixed = name not in ("mcts", "level") or policy.probabilities(Position.start(game)) is not None
    with nullcontext() if fixed else pytest.warns(UserWarning, match="draws but has no `probabilities`"):
        check_policy(policy, game, positions=25)


@pytest.mark.parametrize("name", [*BY_NAME, "human", "mine", "function", "model", "pool"])
@pytest.mark.parametrize(("game", "moves"), [("TicTacToe-v0", "14253"), ("ConnectFour-v0", "1212121")])
def test_every_policy_refuses_a_finished_position_in_the_same_words(name: str, game: str, moves: str) -> None:
    players: dict[str, Any] = {"mine": Mine(), "function": lambda observation, mask: 0, "pool": OpponentPool(["rule"])}
    players["model"] = QLearning(game)
    known = players[name] if name in players else {"level": "level:2", "mcts": "mcts:5"}.get(name, name)
    policy = as_policy(known, get_game(game))
    with pytest.raises(ValueError, match=f"the game is over, there is nothing for .* to play: Position.*{moves}"):
        policy.act(Position.from_moves(game, moves), 0)


def test_names_functions_and_models_are_checked_too() -> None:
    check_policy("rule", "ConnectFour-v0")
    check_policy(lambda observation, mask: int(mask.argmax()))
    check_policy(lambda observation, mask: mask.argmax())  # a NumPy integer
    with pytest.raises(IllegalMove):
        check_policy(lambda observation, mask: int(mask.argmin()))
    with pytest.raises(ValueError, match="does not play"):
        check_policy(3)


@pytest.mark.parametrize(
    "act",
    [
        lambda position, seed: position.legal_actions[len(position.moves) % len(position.legal_actions)],
        lambda position, seed: position.legal_actions[len(position.recent_moves) % len(position.legal_actions)],
        lambda position, seed: position.legal_actions[0 if position.last_action is None else -1],
    ],
    ids=["raises", "counts those it gets", "last"],
)
def test_a_policy_that_needs_the_moves_of_the_game_is_told_so(act: Callable[[Position, int], int]) -> None:
    """In a vector environment they are not known, and `act_many`, which it did not write, is not to blame."""
    silent = {"probabilities": lambda position: None}
    with pytest.raises(ValueError, match=r"Mine .*moves before are not known.*to_moves\(\)") as error:
        check_policy(Mine(act=act, **silent))
    assert "act_many" not in str(error.value)
    envs = gym.make_vec("TicTacToe-v0", opponent=Mine(act=lambda position, seed: len(position.moves)))
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"not known.*vector environment.*to_moves\(\)"):
        envs.step([4])
    check_policy(Mine(act=lambda position, seed: position.legal_actions[-len(position.to_moves()) % 2], **silent))


def test_a_policy_that_is_no_pure_function_is_named() -> None:
    generator, counter = random.Random(0), itertools.count()

    def moody(position: Position, seed: int) -> int:
        return generator.choice(position.legal_actions)

    def counting(position: Position, seed: int) -> int:
        return position.legal_actions[next(counter) % len(position.legal_actions)]

    for act in (moody, counting):
        with pytest.raises(ValueError, match="Mine answers differently to the same position and seed"):
            check_policy(Mine(act=act, probabilities=lambda position: None))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda actions: actions[::-1], "act_many of Mine gave .*, act .*Position"),
        (lambda actions: np.where(np.arange(len(actions)) == 77, 8, actions), "act_many of Mine gave 8, act"),
        (lambda actions: actions.astype(float), "act_many of Mine gave float64"),
        (lambda actions: actions > 3, "act_many of Mine gave bool"),
        (lambda actions: actions[:-1], r"act_many of Mine gave int64 \(99,\), not int64 \(100,\)"),
        (lambda actions: actions[:, None], r"act_many of Mine gave int64 \(100, 1\)"),
        (lambda actions: None, "act_many of Mine gave object"),
    ],
)
def test_an_act_many_that_differs_is_named(change: Callable[[npt.NDArray[np.int64]], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_policy(Mine(act_many=change))
    if "act .*" not in message and "act_many of Mine gave 8" not in message:
        with pytest.raises(ValueError, match="act_many of Mine gave"):
            verdict(Mine(act_many=change, probabilities=lambda position: None))


def changed(position: Position, index: int, value: float) -> npt.NDArray[np.float64]:
    chances = uniform(position.game, position.legal_actions[:1])
    chances[index] += value
    return chances


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        (lambda position: np.ones(8) / 8, r"shape \(8,\), not \(9,\)"),
        (lambda position: np.ones((1, 9)) / 9, r"shape \(1, 9\)"),
        (lambda position: 1.0, r"shape \(\)"),
        (lambda position: np.zeros(9), "sum 1"),
        (lambda position: 2 * uniform(position.game, position.legal_actions), "sum 1"),
        (lambda position: changed(position, position.legal_actions[0], 0.01), "sum 1"),
        (lambda position: np.full(9, np.nan), "sum 1"),
        (lambda position: changed(position, 8, -0.5) + changed(position, 7, 0.5) / 2, "non-negative"),
        (lambda position: np.ones(9) / 9, r"allow the illegal actions \["),
        (lambda position: uniform(position.game, position.legal_actions[-1:]), "exclude an action that `act` chose"),
    ],
)
def test_wrong_probabilities_are_named(probabilities: Callable[[Position], Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"the probabilities of Mine in Position.*{message}"):
        check_policy(Mine(probabilities=probabilities))
    if "exclude" not in message:
        with pytest.raises(ValueError, match=r"probabilities of Mine|Mine chose action"):
            verdict(Mine(probabilities=probabilities))


@pytest.mark.parametrize("change", [lambda chances: chances[:, ::-1], lambda chances: None], ids=["other", "none"])
def test_probabilities_of_many_positions_that_differ_are_named(change: Callable[[Any], Any]) -> None:
    class Differing(Mine):
        def probabilities_many(self, batch: PositionBatch) -> Any:
            return change(super().probabilities_many(batch))

    with pytest.raises(ValueError, match=r"probabilities_many of Differing gave .*, probabilities \[.*Position"):
        check_policy(Differing())


def test_a_class_that_plays_otherwise_does_not_inherit_the_probabilities_of_many_positions() -> None:
    class Lowest(type(make_policy("perfect"))):  # type: ignore[misc]
        def act(self, position: Position, seed: int) -> int:
            return position.legal_actions[0]

        def probabilities(self, position: Position) -> npt.NDArray[np.float64]:
            return uniform(position.game, position.legal_actions[:1])

    check_policy(Lowest())
    batch = PositionBatch.of([Position.start(GAMES["TicTacToe-v0"])])
    assert Lowest().probabilities_many(batch).tolist() == [[1, 0, 0, 0, 0, 0, 0, 0, 0]]


def test_drawing_without_probabilities_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="Mine draws but has no `probabilities`"):
        check_policy(Mine(act=drawn, probabilities=lambda position: None))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_policy(Mine(probabilities=lambda position: None))  # draws nothing


def test_the_same_seed_tries_the_same_positions() -> None:
    def tried(seed: int) -> list[Position]:
        seen: list[Position] = []

        def note(position: Position, number: int) -> int:
            seen.append(position)
            return position.legal_actions[0]

        check_policy(Mine(act=note), positions=40, seed=seed)
        return seen

    assert tried(1) == tried(1) != tried(2)
    assert {position.ply for position in tried(1)} >= {0, 1, 2, 3, 4, 5}  # all stages of the game
    assert len(set(tried(1))) > 20


@pytest.mark.parametrize("positions", [0, -1, 2.5, True])
def test_an_impossible_number_of_positions_is_named(positions: Any) -> None:
    with pytest.raises(ValueError, match="positions"):
        check_policy("random", positions=positions)


@pytest.mark.parametrize("seed", [-1, 2**63, 2.5, True, None])
def test_an_impossible_seed_is_named(seed: Any) -> None:
    with pytest.raises(ValueError, match=r"seed must be an integer in \[0, 9223372036854775807\], not "):
        check_policy("random", seed=seed)
    check_policy("random", seed=2**63 - 1)


def test_an_unknown_game_is_named() -> None:
    with pytest.raises(ValueError, match="Chess"):
        check_policy("random", "Chess")
