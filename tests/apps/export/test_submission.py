"""Exported files need NumPy only and choose the moves that the agents choose here."""

from __future__ import annotations

import ast
import random
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import ALL_GAMES, HEX, breadth, title

import tictac_agents
from examples.hex import Hex
from tictac_agents import MonteCarlo, NTupleNetwork, QLearning, Sarsa, ValueTD
from tictac_apps.cli import main
from tictac_apps.export import export_agent, submission
from tictac_apps.export.submission import TEMPLATE
from tictac_env.games import Game, KInARow, get_game
from tictac_env.policies import as_policy, load_player
from tictac_env.policies.pool import Mixture
from tictac_env.position import Position
from tictac_env.rng import position_seed
from tictac_env.solver.enumerate import tabulate

GAME = "ConnectFour-v0"
FAMILY = [game for game in ALL_GAMES if isinstance(game, KInARow)]
CONFIGURATION = {"rows": 6, "columns": 7, "inarow": 4, "actTimeout": 1000}


def loaded(text: str) -> dict[str, Any]:
    """What the file defines, loaded as Kaggle's loader does."""
    names: dict[str, Any] = {}
    exec(compile(text, "submission.py", "exec"), names)
    assert [value for value in names.values() if callable(value)][-1] is names["agent"]
    return names


def seen(position: Position) -> dict[str, Any]:
    return {"board": position.to_array().reshape(-1).tolist(), "mark": position.seat + 1, "step": position.ply}


def positions(game: str | Game, count: int, seed: int = 0) -> list[Position]:
    draw, found = random.Random(seed), []
    while len(found) < count:
        position = Position.start(game)
        for _ in range(draw.randrange(position.game.cells)):
            if not position.is_over:
                position = position.play(draw.choice(position.legal_actions))
        found += [] if position.is_over else [position]
    return found


def disagreements(player: Any, count: int, game: str | Game = GAME, seed: int = 0) -> list[Position]:
    """Where the file of a player chooses another move than the player."""
    agent, policy = loaded(submission(player, game, seed))["agent"], load_player(player, game).policy
    asked = {"actTimeout": 1000}
    return [
        position
        for position in positions(game, count)
        if agent(seen(position), asked) != policy.act(position, position_seed(position.own, position.opp, seed))
    ]


def small_network(**settings: Any) -> NTupleNetwork:
    cells = [(35, 36, 37, 38), (28, 35, 29, 36), (0, 8, 16, 24), (38, 31, 24, 17)]
    weights = np.random.default_rng(0).integers(-(1 << 24), 1 << 24, len(cells) << 9)
    return NTupleNetwork(GAME, cells, weights, **settings)


@pytest.mark.parametrize("player", ["random", "rule", "minimax:4", "minimax-first:3", "level:3"])
def test_a_file_chooses_the_same_moves(player: str) -> None:
    assert not disagreements(player, 12)


@pytest.mark.parametrize("settings", breadth([{}, {"plies": 2}], [{"plies": 3}]), ids=str)
def test_n_tuple_networks_choose_the_same_moves_at_the_same_plies(settings: dict[str, int]) -> None:
    assert not disagreements(small_network(**settings), 60)
    coarse = small_network(**settings)  # many actions are worth the same
    coarse.weights[:] = coarse.weights >> 23 << 23
    assert not disagreements(coarse, 100)


@pytest.mark.slow  # as the game is compiled
@pytest.mark.parametrize("plies", [1, 4])
def test_n_tuple_networks_choose_the_same_moves_without_gravity(plies: int) -> None:
    weights = np.random.default_rng(1).integers(-(1 << 24), 1 << 24, 2 << 9)
    network = NTupleNetwork("KInARow-v0:4x4-3,gravity=False", [(0, 1, 4, 5), (5, 6, 7, 11)], weights, False, plies)
    assert not disagreements(network, 30, network.game)


@pytest.mark.parametrize("seed", [0, 2**62 + 1])
def test_the_seed_decides_among_equals(seed: int) -> None:
    assert not disagreements("random", 20, seed=seed)


def test_mixtures_choose_the_same_moves() -> None:
    assert not disagreements(Mixture(["rule", "random"], [0.7, 0.3]), 20)
    assert not disagreements(Mixture(["perfect", small_network(plies=2), "minimax:2"], [0, 0.5, 0.5]), 12)


def test_games_of_other_sizes_are_exported() -> None:
    assert not disagreements("rule", 20, "KInARow-v0:4x5-3")
    assert not disagreements("rule", 20, "KInARow-v0:4x4-3,gravity=False")
    assert not disagreements("minimax:3", 20, "KInARow-v0:8x7-4")
    assert not disagreements("minimax", 20, "KInARow-v0:3x4-3")  # exact: wins are alike however long they take


LEARNERS = [
    (QLearning, {}),
    (QLearning, {"double": True, "symmetry": False}),
    (Sarsa, {}),
    (MonteCarlo, {}),
    (ValueTD, {}),
]


@pytest.mark.parametrize(("learner", "settings"), LEARNERS, ids=str)
def test_learned_tables_choose_the_same_moves(learner: Any, settings: dict[str, Any]) -> None:
    agent = learner("KInARow-v0:3x4-3", seed=0, **settings).learn(total_episodes=200, progress_bar=False)
    assert not disagreements(agent, 200, "KInARow-v0:3x4-3")
    agent = learner(GAME, seed=0, **settings).learn(total_episodes=20, progress_bar=False)
    assert not disagreements(agent, 25)


def test_every_position_of_a_small_game_has_its_move() -> None:
    agent = QLearning("TicTacToe-v0", seed=0).learn(total_episodes=300, progress_bar=False)
    choose, table = loaded(submission(agent, "TicTacToe-v0"))["agent"], tabulate(get_game("TicTacToe-v0"))
    asked = 0
    for own, opp in zip(table.own.tolist(), table.opp.tolist(), strict=True):
        position = Position(table.game, own, opp)
        if not position.is_over:
            assert choose(seen(position), {}) == agent.act(position, 0)
            asked += 1
    assert asked == 4520
    with pytest.raises(ValueError, match="no game reaches the position"):
        choose({"board": [1, 1, 1, 0, 0, 0, 0, 0, 0], "mark": 2}, {})


def test_small_games_of_other_families_are_exported() -> None:
    assert not disagreements("random", 30, HEX)
    with pytest.raises(ValueError, match="KInARow family"):
        submission("random", Hex.make(4))


@pytest.mark.parametrize("ours", FAMILY, ids=title)
def test_the_rules_in_the_file_are_ours(ours: KInARow) -> None:
    draw, theirs = random.Random(0), rules_in_the_file(ours)
    for _ in range(20):
        own, opp = ours.start()
        while ours.result(own, opp) == 2:
            assert not theirs["has_line"](opp) and own | opp != theirs["FULL"]
            stones = {action: ours.stone(own, opp, action) for action in range(ours.num_actions)}
            assert theirs["moves"](own, opp) == {action: stone for action, stone in stones.items() if stone}
            assert theirs["threats"](own) == ours.threats(own)
            assert theirs["playable"](own, opp) == ours.playable(own, opp)
            board = Position(ours, own, opp).to_array().reshape(-1).tolist()
            assert theirs["read_board"](board, 1 + ours.seat(own, opp)) == (own, opp)
            own, opp = ours.play(own, opp, draw.choice([action for action, stone in stones.items() if stone]))
        assert theirs["has_line"](opp) == (ours.result(own, opp) == -1)
        assert own | opp == theirs["FULL"] or ours.result(own, opp) != 0


def rules_in_the_file(game: KInARow) -> dict[str, Any]:
    """The rules of a game as a file has them, without what its player does."""
    settings = f"ROWS, COLS, CONNECT, GRAVITY, SEED = {game.rows}, {game.cols}, {game.connect}, {game.gravity}, 0"
    names: dict[str, Any] = {}
    exec(TEMPLATE.read_text().replace("ROWS, COLS, CONNECT, GRAVITY, SEED = 6, 7, 4, True, 0", settings), names)
    return names


@pytest.mark.parametrize("player", ["minimax:9", "ntuple", "ntuple by time"])
def test_a_search_ends_in_time(player: str) -> None:
    """By a clock of its own, which goes on by a hundredth of a second with each look at it."""
    networks = {"ntuple": {"plies": 12}, "ntuple by time": {"milliseconds": 300}}
    names = loaded(submission(small_network(**networks[player]) if player in networks else player))
    looks = 0

    def clock() -> float:
        nonlocal looks
        looks += 1
        return looks / 100

    names["perf_counter"] = clock
    position = Position.from_moves(GAME, "4453")
    limit = 1000 if player == "ntuple by time" else 0.4
    action = names["agent"](seen(position), CONFIGURATION | {"actTimeout": limit})
    assert action in position.legal_actions and 25 <= looks <= 40


def test_a_file_needs_numpy_only_and_says_what_it_is() -> None:
    text = submission("minimax:4")
    tree = ast.parse(text)
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} - sys.stdlib_module_names == {"numpy"}
    assert "minimax:4" in str(ast.get_docstring(tree)) and isinstance(tree.body[-1], ast.FunctionDef)
    assert "class Minimax" in text and "class NTuples" not in text  # no player but its own


def test_the_name_of_a_file_runs_no_code(tmp_path: Path) -> None:
    name = '"""; ran = 1; """ \\" é.npz'
    QLearning("TicTacToe-v0").save(tmp_path / name)
    names = loaded(submission(tmp_path / name, "TicTacToe-v0"))
    assert "ran" not in names and "ran = 1" in names["__doc__"] and "é" in names["__doc__"]


def test_another_game_is_refused() -> None:
    agent = loaded(submission("rule"))["agent"]
    with pytest.raises(ValueError, match="plays rows=6, not rows=5"):
        agent(seen(Position.start(GAME)), CONFIGURATION | {"rows": 5})
    with pytest.raises(ValueError, match="has 9 cells, not 42"):
        agent({"board": [0] * 9, "mark": 1}, CONFIGURATION)


def forgetful(observation: Any, mask: Any) -> int:
    return int(mask.argmax())


@pytest.mark.parametrize(
    "player",
    ["perfect", "human", "mcts:30", "level:5", "ntuple:proven", forgetful, Mixture(["perfect"])],
    ids=["perfect", "human", "mcts", "level", "proven", "function", "mixture"],
)
def test_who_cannot_be_exported_is_told_who_can(player: Any) -> None:
    with pytest.raises(ValueError, match=r"cannot be exported for ConnectFour-v0; can: random, rule, .* DQN"):
        submission(player)


def test_only_people_are_refused_on_small_boards() -> None:
    assert not disagreements("perfect", 10, "TicTacToe-v0")
    with pytest.raises(ValueError, match="human"):
        submission("human", "TicTacToe-v0")


def test_the_command_writes_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "submission.py"
    assert main(["export", "agent", "rule", "--output", str(path)]) == 0
    assert path.read_text() == submission("rule") and str(path) in capsys.readouterr().out
    assert export_agent("rule", path) == path.stat().st_size
    QLearning("TicTacToe-v0", seed=0).save(tmp_path / "q.npz")
    assert main(["export", "agent", str(tmp_path / "q.npz"), "-o", str(path)]) == 0
    assert "TicTacToe-v0: q" in path.read_text()
    before = path.read_text()
    assert main(["export", "agent", "perfect", "-o", str(path)]) == 2
    assert "cannot be exported" in capsys.readouterr().err and path.read_text() == before


@pytest.mark.slow
@pytest.mark.parametrize("player", ["ntuple", "ntuple:4", "minimax:6", "level:4"])
def test_shipped_and_stronger_players_choose_the_same_moves(player: str) -> None:
    assert not disagreements(player, 60)


# Networks of PyTorch

LINES = {"features_extractor_class": "LineFeatures", "features_extractor_kwargs": {"game": GAME}}
CONVS = {"features_extractor_class": "ConvFeatures", "features_extractor_kwargs": {"channels": 4}}


def model(algorithm: str, policy: str, obs_type: str, **policy_kwargs: Any) -> Any:
    """An untrained model, whose weights are as drawn."""
    pytest.importorskip("sb3_contrib")
    envs = tictac_agents.SB3VecEnv(GAME, num_envs=2, opponent=None, illegal="raise", obs_type=obs_type)
    given: dict[str, Any] = {"buffer_size": 10} if algorithm == "DQN" else {"n_steps": 4, "batch_size": 8}
    kwargs = {"net_arch": [16], **policy_kwargs}
    return getattr(tictac_agents, algorithm)(policy, envs, policy_kwargs=kwargs, seed=1, device="cpu", **given)


MODELS = [
    ("DQN", "MlpPolicy", "planes", {}),
    ("DQN", "MlpPolicy", "board", {"output": "sigmoid", **LINES}),
    ("DQN", "AfterstatePolicy", "planes", CONVS),
    ("DQN", "AfterstatePolicy", "board", LINES),
    ("MaskablePPO", "MlpPolicy", "board", {}),
    ("MaskablePPO", "AfterstatePolicy", "planes", LINES),
]


@pytest.mark.parametrize(("algorithm", "policy", "obs_type", "kwargs"), MODELS)
def test_a_network_chooses_the_same_moves(algorithm: str, policy: str, obs_type: str, kwargs: dict[str, Any]) -> None:
    """But where two actions are worth the same up to rounding, which differs with the order of a sum."""
    trained = model(algorithm, policy, obs_type, **kwargs)
    names = loaded(submission(trained))
    agent, player = names["agent"], as_policy(trained, get_game(GAME))
    for position in positions(GAME, 30):
        ours, theirs = player.act(position, 0), agent(seen(position), {})
        if ours != theirs:
            values = [worth(names, position, action) for action in (ours, theirs)]
            assert abs(values[0] - values[1]) < 1e-5, position


def worth(names: dict[str, Any], position: Position, action: int) -> float:
    network, stone = names["PLAYER"], names["moves"](position.own, position.opp)[action]
    if network.after:
        return float(network.outputs(position.own | stone, position.opp)[0])
    return float(network.outputs(position.own, position.opp)[action])


def test_models_that_the_file_cannot_play_like_are_refused() -> None:
    contrib, sb3 = pytest.importorskip("sb3_contrib"), pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.vec_env import VecNormalize

    small: dict[str, Any] = {"policy_kwargs": {"net_arch": [4]}, "device": "cpu"}
    quantiles = contrib.QRDQN("MlpPolicy", gym.make(GAME), buffer_size=10, **small)
    normalised = sb3.A2C("MlpPolicy", VecNormalize(tictac_agents.SB3VecEnv(GAME)), **small)
    for player, reason in (
        (quantiles, "cannot be exported for ConnectFour-v0; can: random"),
        (normalised, "VecNormalize"),
    ):
        for given in (player, tictac_agents.Snapshot(player)):
            with pytest.raises(ValueError, match=reason):
                submission(given)


def test_a_model_of_stable_baselines3_is_exported(tmp_path: Path) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    plain = sb3.DQN("MlpPolicy", gym.make(GAME), buffer_size=10, policy_kwargs={"net_arch": [16]}, seed=0, device="cpu")
    plain.save(tmp_path / "plain.zip")
    assert not disagreements(tmp_path / "plain.zip", 30)
