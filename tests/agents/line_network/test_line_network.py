"""A network without torch: the values of torch's, as a policy, in a search, in files; and the networks that ship."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ALL_GAMES, breadth, playout, title
from npz_files import read, write

from tictac_agents import MCTS, LineNetwork
from tictac_agents.line_network.lines import num_features
from tictac_agents.line_network.network import SHIPPED
from tictac_env.arena import move_accuracy, verdict
from tictac_env.games import GAMES, KInARow, game_name
from tictac_env.policies import check_policy, make_policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

FAMILY = breadth(*([game for game in games if isinstance(game, KInARow)] for games in (GAMES.values(), ALL_GAMES)))
NAMES = sorted(path.stem for path in SHIPPED.glob("*.npz"))


def drawn(game: KInARow, seed: int = 0, hidden: tuple[int, ...] = (12, 7)) -> LineNetwork:
    """A network of random weights."""
    rng = np.random.default_rng(seed)
    widths = [num_features(game), *hidden, 1]
    shapes = itertools.pairwise(widths)
    return LineNetwork(game, [(rng.normal(size=(a, b)) / a**0.5, rng.normal(size=b) / 5) for a, b in shapes])


@pytest.mark.parametrize("game", FAMILY, ids=title)
@pytest.mark.parametrize("hidden", [(9,), (12, 7), (5, 6, 4)])
def test_its_values_are_those_of_torch(game: KInARow, hidden: tuple[int, ...]) -> None:
    pytest.importorskip("sb3_contrib")
    import torch
    from gymnasium import spaces

    from tictac_agents.deep.features import LineFeatures

    network = drawn(game, hidden=hidden)
    features = LineFeatures(spaces.Box(-1, 1, (game.rows, game.cols), np.int8), game)
    for seed in range(3):
        for position in playout(game, seed):
            if position.is_over:
                continue
            for action, value in network.values(position.own, position.opp).items():
                after = position.play(action)
                if after.is_over:
                    assert value == -after.result
                    continue
                # for the side that has moved
                shown = -PositionBatch.of([after]).observations("board").astype(np.float32)
                units = features(torch.as_tensor(shown)).numpy()
                for i, (matrix, biases) in enumerate(network.layers):
                    units = units @ matrix + biases
                    units = np.maximum(units, 0) if i < len(network.layers) - 1 else units
                assert value == pytest.approx(float(units[0, 0].clip(-1, 1)), abs=1e-5)


def test_a_model_of_torch_plays_as_its_network() -> None:
    pytest.importorskip("sb3_contrib")
    from tictac_agents import DQN, SB3VecEnv, Snapshot

    game = "TicTacToe-v0"
    envs = SB3VecEnv(game, num_envs=8, opponent=None, illegal="raise")
    lines = {"features_extractor_class": "LineFeatures", "features_extractor_kwargs": {"game": game}}
    settings: dict[str, Any] = {"gamma": -1, "learning_starts": 64, "buffer_size": 1_000, "device": "cpu"}
    model = DQN("AfterstatePolicy", envs, policy_kwargs=lines, ema_decay=0.9, seed=0, **settings).learn(512)
    network = LineNetwork.from_model(model)
    positions = [p for seed in range(20) for p in playout(network.game, seed) if not p.is_over]
    quiet = [p for p in positions if not any(p.play(action).is_over for action in p.legal_actions)]
    batch, seeds = PositionBatch.of(quiet), np.zeros(len(quiet), np.int64)
    assert len(quiet) > 40
    assert (network.act_many(batch, seeds) == Snapshot(model).act_many(batch, seeds)).all()

    bare = DQN("MlpPolicy", envs, seed=0, **settings)
    with pytest.raises(ValueError, match="AfterstatePolicy"):
        LineNetwork.from_model(bare)


@pytest.mark.parametrize("game", FAMILY, ids=title)
def test_it_is_a_policy_that_ends_games_it_can_win(game: KInARow) -> None:
    network = drawn(game)
    check_policy(network, game, positions=20)
    for seed in range(5):
        for position in playout(game, seed):
            if position.is_over:
                continue
            wins = [action for action in position.legal_actions if position.play(action).result == -1]
            if wins:
                assert network.act(position, seed) in wins
            observation = PositionBatch.of([position]).observations("board")[0]
            assert network.predict(observation)[0] == network.act(position, seed)


def test_it_evaluates_the_leaves_of_a_search() -> None:
    game = GAMES["ConnectFour-v0"]
    assert isinstance(game, KInARow)
    network, position = drawn(game), Position.from_moves(game, "4453")
    agent = MCTS(200, evaluator=network)
    assert agent.search(position, 1).moves == agent.search(position, 1).moves
    single = MCTS(len(position.legal_actions), evaluator=network, exploration=0).search(position, 0)
    values = network.values(position.own, position.opp)
    assert {move.action: move.value for move in single.moves} == pytest.approx(values)
    two = MCTS(400, evaluator=network, threads=2)
    assert two.search(position, 3).moves == two.search(position, 3).moves
    with pytest.raises(ValueError, match="ConnectFour-v0"):
        agent.act(Position.start("TicTacToe-v0"), 0)


def test_it_is_saved_and_loaded_and_damage_is_told(tmp_path: Path) -> None:
    game = GAMES["TicTacToe-v0"]
    assert isinstance(game, KInARow)
    network, path = drawn(game), tmp_path / "network.npz"
    network.save(path)
    again = LineNetwork.load(path)
    own, opp = game.start()
    assert again.game is game
    assert again.values(own, opp) == network.values(own, opp)
    header, arrays = read(path)
    for name, array in arrays.items():
        write(path, header, arrays | {name: array[:-1]})
        with pytest.raises(ValueError, match="not a usable file of a LineNetwork"):
            LineNetwork.load(path)
    write(path, header, arrays | {"biases_0": np.full_like(arrays["biases_0"], np.nan)})
    with pytest.raises(ValueError, match="finite"):
        LineNetwork.load(path)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="KInARow"):
        LineNetwork(next(game for game in ALL_GAMES if not isinstance(game, KInARow)), [])
    with pytest.raises(ValueError, match="474 features"):
        LineNetwork("ConnectFour-v0", [(np.zeros((3, 1)), np.zeros(1))])
    with pytest.raises(ValueError, match="there are ConnectFour-v0, TicTacToe-v0"):
        make_policy("network", KInARow.make(5, 6, 4))
    with pytest.raises(ValueError, match="takes no argument"):
        make_policy("network:3", "ConnectFour-v0")
    with pytest.raises(ValueError, match="plays ConnectFour-v0, not TicTacToe-v0"):
        LineNetwork.shipped("ConnectFour-v0").act(Position.start("TicTacToe-v0"), 0)


@pytest.mark.parametrize("name", NAMES)
def test_the_shipped_networks_are_small_and_strong(name: str) -> None:
    assert (SHIPPED / f"{name}.npz").stat().st_size < 2_000_000
    network = make_policy("network", name)
    assert isinstance(network, LineNetwork)
    assert game_name(network.game) == name
    if name == "TicTacToe-v0":
        assert verdict(network).infallible
    else:
        assert move_accuracy(network, "C4-Exact-v1").overall.mistakes.value < 0.13
