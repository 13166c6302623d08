"""The residual network of AlphaZero: its planes under symmetries, what it is taught, and what is saved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import HEX, breadth, playout, title

from tictac_env.games import GAMES, Game
from tictac_env.position import symmetries
from tictac_env.position_batch import PositionBatch

torch = pytest.importorskip("torch")

from tictac_agents.deep.residual import ResidualNetwork, images  # noqa: E402  # needs torch

SOME = [*GAMES.values(), HEX]


def new_network(game: Game, seed: int = 0, symmetric: bool = True) -> ResidualNetwork:
    return ResidualNetwork(game, 2, 8, 3e-3, symmetric, np.random.default_rng(seed))


def positions_of(game: Game, count: int = 30) -> PositionBatch:
    return PositionBatch.of([one for seed in range(count) for one in playout(game, seed)[:-1]])


@pytest.mark.parametrize("game", GAMES.values(), ids=title)
def test_a_symmetry_moves_planes_and_actions_as_it_moves_positions(game: Game) -> None:
    batch = positions_of(game, 5)
    planes = batch.observations("planes").reshape(len(batch), 2, -1)
    for symmetry in symmetries(game):
        cells, actions = images(game, symmetry)
        own, opp = (np.array([symmetry.apply(int(one)) for one in stones]) for stones in (batch.own, batch.opp))
        moved = PositionBatch(game, own, opp)
        assert np.array_equal(moved.observations("planes").reshape(len(batch), 2, -1), planes[:, :, cells])
        assert np.array_equal(moved.action_masks(), batch.action_masks()[:, actions])


@pytest.mark.parametrize("game", SOME, ids=title)
def test_policies_are_of_legal_actions_and_values_in_range(game: Game) -> None:
    batch = positions_of(game)
    found, threads = new_network(game).evaluate(batch), torch.get_num_threads()
    assert found.priors is not None and found.priors.dtype == found.values.dtype == np.float32
    assert np.array_equal(found.priors > 0, batch.action_masks() != 0)
    assert found.priors.sum(axis=1) == pytest.approx(np.ones(len(batch)), abs=1e-5)
    assert (np.abs(found.values) < 1).all() and torch.get_num_threads() == threads


@pytest.mark.parametrize("game", breadth([GAMES["TicTacToe-v0"]], SOME), ids=title)
def test_it_learns_what_it_is_taught(game: Game) -> None:
    network, rng, batch = new_network(game, symmetric=False), np.random.default_rng(0), positions_of(game, 4)
    batch = batch.distinct()[0]
    best = np.where(batch.action_masks() != 0, rng.random(batch.action_masks().shape), -1).argmax(axis=1)
    policies = np.eye(game.num_actions, dtype=np.float32)[best]
    results = rng.choice([-1, 0, 1], len(batch)).astype(np.float32)
    for _ in range(200):
        network.learn(batch, policies, results, 1.0, rng)
    found = network.evaluate(batch)
    assert found.priors is not None
    assert (found.priors.argmax(axis=1) == best).mean() > 0.95
    assert np.abs(found.values - results).mean() < 0.1


def test_a_saved_network_learns_on_alike(tmp_path: Any) -> None:
    game = GAMES["TicTacToe-v0"]
    one, other, batch = new_network(game, 1), new_network(game, 2), positions_of(game, 6)
    lessons = batch, batch.action_masks().astype(np.float32) / 9, np.zeros(len(batch), np.float32), 1.0
    one.learn(*lessons, np.random.default_rng(0))
    other.read(one.arrays())
    for network in (one, other):
        network.learn(*lessons, np.random.default_rng(3))
    assert all(np.array_equal(array, other.arrays()[name]) for name, array in one.arrays().items())
    wrong = one.arrays()
    with pytest.raises(ValueError, match="weights"):
        other.read(wrong | {"weights_0": wrong["weights_0"][:-1]})
    with pytest.raises(KeyError):
        other.read({})
