"""S2's network: its gradient is PyTorch's, its games are the publication's, runs go on to the bit, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tictac_agents import S2Network
from tictac_agents.published.nested_q import Layers, Way, descend, new_layers, new_scratch
from tictac_env.arena import play_match
from tictac_env.games import get_game
from tictac_env.position import Position
from tictac_env.storage import load_arrays, save_arrays

GAME = get_game("TicTacToe-v0")


def content(learner: S2Network) -> list[Any]:
    return [learner.num_games, learner._state, *(array.tolist() for net in learner.layers for array in net)]


@pytest.mark.parametrize("legal_only", [False, True])
@pytest.mark.parametrize("moves", ["", "5", "51", "51379"])
def test_a_step_is_that_of_pytorch(moves: str, legal_only: bool) -> None:
    torch = pytest.importorskip("torch")
    position = Position.from_moves(GAME, moves)
    net = new_layers(9, np.random.default_rng(1))
    linear = [torch.nn.Linear(9, 36), torch.nn.Linear(36, 36), torch.nn.Linear(36, 9)]
    model = torch.nn.Sequential(linear[0], torch.nn.ReLU(), linear[1], torch.nn.ReLU(), linear[2], torch.nn.Sigmoid())
    model.double()
    ours = [net.into.T, net.into_bias, net.across.T, net.across_bias, net.out, net.out_bias]
    with torch.no_grad():
        for weights, array in zip(model.parameters(), ours, strict=True):
            weights.copy_(torch.from_numpy(array.copy()))
    stones = {cell: (-1.0) ** ply for ply, cell in enumerate(position.moves)}
    cells = torch.tensor([stones.get(cell, 0.0) for cell in range(9)], dtype=torch.float64)
    action = position.legal_actions[0]
    values = model(cells)
    target = values.detach().clone()
    target[action] = 0.3
    if not legal_only:
        target[[cell for cell in range(9) if cell in stones]] = 0.0
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    torch.nn.functional.mse_loss(values, target).backward()
    optimizer.step()
    way = Way(learning_rate=0.1, epsilon=0.0, legal_only=legal_only, relative=False)
    descend(GAME, net, position.own, position.opp, action, 0.3, way, new_scratch(9))
    for weights, array in zip(model.parameters(), ours, strict=True):
        assert weights.detach().numpy() == pytest.approx(array, abs=1e-12)


@pytest.mark.parametrize(("changes", "order"), [({}, [0, 0, 1, 1]), ({"order": "alternate"}, [0, 1, 0, 1])])
def test_each_seat_learns_with_its_network(changes: dict[str, Any], order: list[int]) -> None:
    learner = S2Network(games_a_seat=2, networks=2, seed=0, **changes)
    for seat in order:
        before = [net.out.copy() for net in learner.layers]
        learner.learn(1, progress_bar=False)
        changed = [not np.array_equal(old, net.out) for old, net in zip(before, learner.layers, strict=True)]
        assert changed == [seat == 0, seat == 1]


def test_it_learns() -> None:
    learner = S2Network(games_a_seat=20_000, legal_only=True, order="alternate", seed=0).learn(40_000)
    found = play_match(learner, "random", GAME, 400)
    assert found.as_first.wins > 150 and found.as_second.wins > 90


def test_a_target_is_reached_and_illegal_actions_are_learned_to_lose() -> None:
    position, net, scratch = Position.from_moves(GAME, "51"), new_layers(9, np.random.default_rng(0)), new_scratch(9)
    way = Way(learning_rate=0.1, epsilon=0.0, legal_only=False, relative=False)
    for _ in range(2_000):
        descend(GAME, net, position.own, position.opp, 8, 0.9, way, scratch)
    assert max(scratch.values[0], scratch.values[4]) < 0.1 and scratch.values[8] == pytest.approx(0.9, abs=0.05)


def test_it_goes_on_to_the_bit(tmp_path: Path) -> None:
    whole = S2Network(games_a_seat=3_000, seed=3).learn(6_000, progress_bar=False)
    stopped = S2Network(games_a_seat=3_000, seed=3).learn(6_000, lambda one: one.num_games < 3_100, progress_bar=False)
    assert 3_000 < stopped.num_games < 6_000
    stopped.save(tmp_path / "s2.npz")
    resumed = S2Network.load(tmp_path / "s2.npz").resume(progress_bar=False, checkpoint=tmp_path / "s2.npz")
    assert content(resumed) == content(whole) == content(S2Network.load(tmp_path / "s2.npz"))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"game": "ConnectFour-v0"}, "each cell is an action"),
        ({"order": "random"}, "order"),
        ({"networks": 3}, "networks"),
        ({"epsilon": -0.1}, "epsilon"),
    ],
)
def test_settings_that_cannot_be_are_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        S2Network(**changes)


def test_another_game_and_damaged_files_are_refused(tmp_path: Path) -> None:
    learner = S2Network(games_a_seat=10, seed=0)
    with pytest.raises(ValueError, match="has learned"):
        learner.act(Position.start("ConnectFour-v0"), 0)
    path = tmp_path / "s2.npz"
    learner.save(path)
    meta, arrays = load_arrays(path, "tictac_agents.S2Network")
    for wrong_meta, wrong in (
        (meta, arrays | {"0_across": np.zeros((2, 2))}),
        (meta, arrays | {"0_out": arrays["0_out"].astype(np.float32)}),
        (meta, {name: array for name, array in arrays.items() if name != "0_into_bias"}),
        (meta | {"state": -1}, arrays),
    ):
        save_arrays(path, "tictac_agents.S2Network", wrong_meta, wrong)
        with pytest.raises(ValueError, match="not a usable checkpoint"):
            S2Network.load(path)


@pytest.mark.slow
def test_it_reproduces_the_publication() -> None:
    """98.4 and 75.4 % of games won against random play, none lost as the first player."""
    from tictac_env.arena import verdict

    found = verdict(S2Network.preset("S2", seed=0).learn(4_000_000, progress_bar=False), GAME)
    assert found.as_first.against_random.wins == pytest.approx(0.984, abs=0.01)
    assert found.as_second.against_random.wins == pytest.approx(0.754, abs=0.06)


def test_layers_are_named_as_they_are_saved() -> None:
    assert Layers._fields == ("into", "into_bias", "across", "across_bias", "out", "out_bias")
