"""The n-tuple network with a policy: against sums by hand, the value network, and what it is taught."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import playout

from tictac_agents import NTupleNetwork
from tictac_agents.alphazero.policy_value import PolicyValueTuples
from tictac_agents.ntuple.network import family_game
from tictac_agents.ntuple.values import ONE, images_of, random_walks
from tictac_env.games import Game, get_game
from tictac_env.position import Position, symmetries
from tictac_env.position_batch import PositionBatch

GAMES = ["TicTacToe-v0", "ConnectFour-v0", "KInARow-v0:4x5-3,gravity=False"]


def taught(game: str | Game, symmetric: bool = True, tuples: int = 9, seed: int = 4) -> PolicyValueTuples:
    """A network with random weights of a size that learning gives them."""
    rules, rng = get_game(game), np.random.default_rng(seed)
    network = PolicyValueTuples(rules, random_walks(family_game(rules), tuples, 5, seed), 0.1, symmetric)
    for weights in (network.values, network.logits):
        weights[:] = rng.normal(0, ONE / 20, weights.size)
    return network


def positions_of(game: str | Game, count: int = 40) -> PositionBatch:
    found = [one for seed in range(count) for one in playout(get_game(game), seed) if not one.is_over]
    return PositionBatch.of(found[:: max(1, len(found) // count)])


def content(game: Any, position: Position, cells: Any, symmetric_playable: bool) -> int:
    """The number that a tuple's cells make: 0 empty, 1 the first seat, 2 the second, 3 empty and playable next."""
    seat, found = position.seat, 0
    stones = (position.own, position.opp) if seat == 0 else (position.opp, position.own)
    for place, cell in enumerate(cells):
        row, col = divmod(cell, game.cols)
        bit = game.cell(row, col)
        below = row == game.rows - 1 or game.cell(row + 1, col) & (position.own | position.opp)
        owner = 1 if stones[0] & bit else 2 if stones[1] & bit else 3 if symmetric_playable and below else 0
        found |= owner << 2 * place
    return found


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("symmetric", [True, False])
def test_policy_and_value_are_sums_of_the_entries_that_the_tuples_name(name: str, symmetric: bool) -> None:
    network, batch = taught(name, symmetric), positions_of(name)
    game, found = network.game, network.evaluate(batch)
    values = NTupleNetwork(game, network.tuples, network.values, symmetric)
    images = [
        (number, image)
        for number, cells in enumerate(network.tuples)
        for image in (images_of(game, cells) if symmetric else [cells])
    ]
    for i in range(len(batch)):
        position, logits = batch[i], {}
        for action in position.legal_actions:
            stone, total = game.stone(position.own, position.opp, action), 0
            after = Position(game, position.opp, position.own | stone)
            for number, image in images:
                before = content(game, position, image, game.gravity)
                now = content(game, after, image, game.gravity)
                if now != before:
                    total += int(network.logits[2 * (number << 10 | now) + position.seat])
            logits[action] = total / ONE
        chances = {action: np.exp(logit - max(logits.values())) for action, logit in logits.items()}
        wanted = {action: chance / sum(chances.values()) for action, chance in chances.items()}
        shares = {a: found.priors[i, a] for a in range(game.num_actions) if found.priors[i, a]}
        assert shares == pytest.approx(wanted, rel=1e-4)
        if position.own | position.opp:  # what the side that has just moved thinks of its move
            last = values_of(values, position)
            assert found.values[i] == pytest.approx(-last, abs=1e-6)


def values_of(network: NTupleNetwork, position: Position) -> float:
    """The value of a position for the side that has just moved, by the network of values alone."""
    leaf, _ = network.compiled(network.game).leaf_value(network.game, position.own, position.opp, 0)
    return -leaf


@pytest.mark.parametrize("name", GAMES)
def test_images_of_a_position_have_images_of_its_policy(name: str) -> None:
    network, batch = taught(name), positions_of(name)
    found = network.evaluate(batch)
    for symmetry in symmetries(network.game):
        own, opp = (np.array([symmetry.apply(int(one)) for one in stones]) for stones in (batch.own, batch.opp))
        image = network.evaluate(PositionBatch(network.game, own, opp))
        assert np.array_equal(image.values, found.values)
        assert image.priors[:, list(symmetry.actions)] == pytest.approx(found.priors, abs=1e-6)


@pytest.mark.parametrize("name", GAMES)
def test_it_learns_what_it_is_taught(name: str) -> None:
    network, rng = taught(name, tuples=15), np.random.default_rng(0)
    batch = PositionBatch.of([playout(network.game, seed, 4)[-1] for seed in (0, 1, 3)])  # not symmetric ones
    policies = batch.action_masks() * rng.random((len(batch), network.game.num_actions)).astype(np.float32)
    policies /= policies.sum(axis=1, keepdims=True)
    results = rng.uniform(-0.8, 0.8, len(batch)).astype(np.float32)
    errors = []
    for step in range(1_000):
        found = network.evaluate(batch)
        errors.append((np.abs(found.values - results).max(), np.abs(found.priors - policies).max()))
        network.learn(batch, policies, results, 1.0 if step < 800 else 0.3, rng)
    assert errors[-1][0] < 0.03 < errors[0][0] and errors[-1][1] < 0.06 < errors[0][1]


@pytest.mark.parametrize(("moves", "decay"), [("", 1.0), ("5", 0.5), ("1527", 0.25)])
def test_one_lesson_moves_value_and_logits_by_the_step_against_their_errors(moves: str, decay: float) -> None:
    """An untrained network says 0, and the same probability for each action; logits move by five times the step."""
    game, position = get_game("TicTacToe-v0"), Position.from_moves("TicTacToe-v0", moves)
    network = PolicyValueTuples(game, [[0, 1, 2], [3, 4, 5], [6, 7, 8]], 0.2, symmetric=False)
    batch = PositionBatch.of([position])
    policy, legal = np.zeros((1, 9), np.float32), list(position.legal_actions)
    policy[0, legal[0]], policy[0, legal[-1]] = 0.75, 0.25
    network.learn(batch, policy, np.array([0.5], np.float32), decay, np.random.default_rng(0))
    found = network.evaluate(batch)
    assert found.values[0] == pytest.approx(np.tanh(0.2 * decay * 0.5), rel=1e-3)
    logits = 5 * 0.2 * decay * (policy[0, legal] - 1 / len(legal))
    assert found.priors is not None
    assert found.priors[0, legal].tolist() == pytest.approx((np.exp(logits) / np.exp(logits).sum()).tolist(), rel=1e-3)


def test_an_action_whose_cell_has_no_tuple_is_neither_better_nor_worse_for_a_lesson() -> None:
    network = PolicyValueTuples(get_game("TicTacToe-v0"), [[0, 1, 2]], 0.2, symmetric=False)
    batch, policy = PositionBatch.of([Position.start("TicTacToe-v0")]), np.zeros((1, 9), np.float32)
    policy[0, 8] = 1
    network.learn(batch, policy, np.zeros(1, np.float32), 1.0, np.random.default_rng(0))
    priors = network.evaluate(batch).priors
    assert priors is not None and priors[0, 3:].tolist() == pytest.approx([float(priors[0, 8])] * 6)
    assert (priors[0, :3] < priors[0, 8]).all() and not network.values.any()


def test_another_game_has_no_leaves_of_it() -> None:
    with pytest.raises(ValueError, match=r"plays TicTacToe-v0, not ConnectFour-v0"):
        taught("TicTacToe-v0").compiled(get_game("ConnectFour-v0"))


def test_a_policy_of_zeros_is_not_learned() -> None:
    network, batch = taught("ConnectFour-v0"), positions_of("ConnectFour-v0", 12)
    before = network.arrays()
    network.learn(batch, np.zeros((len(batch), 7), np.float32), np.ones(len(batch), np.float32), 1.0, None)  # type: ignore[arg-type]
    assert np.array_equal(before["logits"], network.logits) and not np.array_equal(before["values"], network.values)


def test_what_is_saved_is_read(tmp_path: Any) -> None:
    network = taught("ConnectFour-v0")
    other = PolicyValueTuples(network.game, network.tuples, 0.1, True)
    other.read(network.arrays())
    batch = positions_of("ConnectFour-v0")
    for one, same in zip(network.evaluate(batch), other.evaluate(batch), strict=True):
        assert np.array_equal(one, same)
    with pytest.raises(ValueError, match="logits"):
        other.read(network.arrays() | {"logits": network.logits[:-1]})
    with pytest.raises(KeyError):
        other.read({"values": network.values})
