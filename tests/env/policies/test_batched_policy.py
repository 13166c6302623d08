"""Functions and models that are asked for many boards at once play what they play one by one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from conftest import compiled_games, id_and_sizes

from tictac_env.arena import play_match, verdict
from tictac_env.games import Game
from tictac_env.policies import (
    BatchedPolicy,
    FunctionPolicy,
    Mixture,
    ModelPolicy,
    OpponentPool,
    Policy,
    check_policy,
)
from tictac_env.policies.human import HumanPolicy
from tictac_env.position import Position

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"
Mask = npt.NDArray[np.int8]


class Network:
    """A linear network with integers, so that no sum depends on the batch; it notes what it was given."""

    def __init__(self, batched: bool = True) -> None:
        self.shapes: list[tuple[int, ...]] = []
        self.batched = batched

    def __call__(self, observations: Any, masks: Mask) -> Any:
        assert masks.dtype == np.int8
        seen = np.asarray(observations).reshape(*masks.shape[:-1], -1).astype(np.int64)
        self.shapes.append(np.shape(observations))
        weights = np.random.default_rng(3).integers(-9, 10, (seen.shape[-1], masks.shape[-1]))
        return np.where(masks, seen @ weights, -1000).argmax(axis=-1)

    def predict(self, observation: Any, deterministic: bool, action_masks: Mask) -> tuple[Any, None]:
        return self(observation, action_masks), None


def function(network: Network) -> Callable[[Any, Mask], Any]:
    """The network without `predict`."""

    def act(observations: Any, masks: Mask) -> Any:
        return network(observations, masks)

    act.batched = network.batched  # type: ignore[attr-defined]
    return act


def players(network: Network) -> list[Any]:
    """The network in each form in which it may be given."""
    declared = [function(network), network]
    return [*declared, BatchedPolicy(function(network)), ModelPolicy(network)] if network.batched else declared


def record(env: gym.vector.VectorEnv[Any, Any, Any]) -> list[bytes]:
    observations, infos = env.reset(seed=4)
    log = []
    for _ in range(15):
        log.append(np.asarray(observations).tobytes() + infos["action_mask"].tobytes())
        observations, rewards, *_, infos = env.step(env.unwrapped.sample_actions())  # type: ignore[attr-defined]
        log.append(rewards.tobytes())
    return log


@pytest.mark.parametrize("obs_type", ["planes", "board"])
@compiled_games
def test_a_vector_environment_asks_for_all_boards_at_once(game: Game, obs_type: str) -> None:
    settings: dict[str, Any] = {"num_envs": 6, "play_as": "random", "obs_type": obs_type, **id_and_sizes(game)}
    expected = record(gym.make_vec(opponent=function(Network(batched=False)), **settings))
    shape = (2, game.rows, game.cols) if obs_type == "planes" else (game.rows, game.cols)
    for make in (function, lambda network: network):
        network = Network()
        assert record(gym.make_vec(opponent=make(network), **settings)) == expected
        assert all(seen[1:] == shape for seen in network.shapes)
        assert max(seen[0] for seen in network.shapes) > 3 and len(network.shapes) <= 1 + 2 * 15
    network = Network()
    pool = OpponentPool([function(network), Mixture([BatchedPolicy(function(network), obs_type), "rule"])])
    alone = OpponentPool(
        [function(Network(False)), Mixture([FunctionPolicy(function(Network(False)), obs_type), "rule"])]
    )
    assert record(gym.make_vec(opponent=pool, **settings)) == record(gym.make_vec(opponent=alone, **settings))
    assert max(seen[0] for seen in network.shapes) > 1


def test_matches_and_verdicts_are_the_same_games_in_fewer_calls() -> None:
    plain = function(Network(batched=False))
    for opponent in ("random", OpponentPool(["rule", "minimax:2"]), Mixture(["random", "minimax"])):
        expected = play_match(plain, opponent, games=40, seed=3)
        back = play_match(opponent, plain, games=40, seed=3)
        for number in range(4):
            network = Network()
            player = players(network)[number]
            found = play_match(player, opponent, games=40, seed=3)
            assert (found.as_first, found.as_second) == (expected.as_first, expected.as_second)
            assert len(network.shapes) <= 11 and network.shapes[:3] == [(16, 2, 3, 3)] * 2 + [(20, 2, 3, 3)]
            assert play_match(opponent, player, games=40, seed=3).total == back.total
            pool = OpponentPool([player, "rule"])
            plain_pool = OpponentPool([plain, "rule"])
            assert play_match(pool, opponent, games=10).total == play_match(plain_pool, opponent, games=10).total
    expected_verdict = verdict(plain)
    for number in range(4):
        network = Network()
        found_verdict = verdict(players(network)[number])
        assert (found_verdict.exploitability, found_verdict.as_first) == (
            expected_verdict.exploitability,
            expected_verdict.as_first,
        )
        assert len(network.shapes) < 25


def test_a_single_environment_and_the_check_ask_for_one() -> None:
    for number in range(4):
        network = Network()
        player = players(network)[number]
        env, other = gym.make(TTT, opponent=player), gym.make(TTT, opponent=function(Network(False)))
        for one in (env, other):
            one.reset(seed=1)
        assert env.step(4)[4]["opponent_action"] == other.step(4)[4]["opponent_action"]
        assert network.shapes == [(1, 2, 3, 3)]
        check_policy(player, TTT, positions=20)
        check_policy(player, C4, positions=20)


def test_the_other_player_of_a_match_is_asked_as_always() -> None:
    """It sees the whole game, and the seeds that it sees in games one after the other."""

    class Recorder(Policy):
        def __init__(self) -> None:
            self.seen: list[tuple[str, int]] = []

        def act(self, position: Position, seed: int) -> int:
            assert Position.from_moves(TTT, position.moves) == position
            self.seen.append((position.to_moves(), seed))
            return position.legal_actions[0]

    one, other = Recorder(), Recorder()
    play_match(one, BatchedPolicy(function(Network())), games=9)
    play_match(other, function(Network(False)), games=9)
    assert sorted(one.seen) == sorted(other.seen) and one.seen != other.seen


def test_a_person_plays_one_game_after_another() -> None:
    shown: list[str] = []
    keys = iter("123456789" * 100)
    human = HumanPolicy(ask=lambda question: next(keys), tell=lambda text: shown.append(text))
    play_match(human, Network(), games=4)
    stones = [sum(text.count(mark) for mark in "XO") for text in shown if "\n" in text]
    assert sum(later < before for before, later in pairwise(stones)) == 3, "a new game, thrice"


def test_a_batched_function_that_draws_gets_a_seed_for_each_position() -> None:
    def drawing(observations: Any, masks: Mask, seed: Any) -> list[int]:
        assert seed.shape == (len(masks),)
        return [int(drawing_one(None, mask, int(one))) for mask, one in zip(masks, seed, strict=True)]

    def drawing_one(observation: Any, mask: Mask, seed: int) -> Any:
        legal = np.flatnonzero(mask)
        return legal[seed % len(legal)]

    settings: dict[str, Any] = {"id": C4, "num_envs": 5, "play_as": "random"}
    games = [record(gym.make_vec(opponent=one, **settings)) for one in (BatchedPolicy(drawing), drawing_one)]
    assert games[0] == games[1]
    matches = [play_match(one, "rule", games=30).total for one in (BatchedPolicy(drawing), drawing_one)]
    assert matches[0] == matches[1]
    with pytest.warns(UserWarning, match="draws but has no `probabilities`"):
        check_policy(BatchedPolicy(drawing), positions=30)
