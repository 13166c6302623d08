"""What was learned, shown: as numbers, laid out as the board, as a picture, and as the backups of one game."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import breadth, playout
from gymnasium.error import DependencyNotInstalled

import tictac_agents
from tictac_agents import MCTS, AlphaZero, GameTree, QLearning, S0ValueTD, ValueIteration, ValueTD
from tictac_apps.web.value_display import explain, game_text, move_values, values_picture, values_text
from tictac_env.games import Game, get_game
from tictac_env.policies import ModelPolicy, make_policy
from tictac_env.position import IllegalMove, Position

POSITION = Position.from_moves("TicTacToe-v0", "1524")
FALL = Position.from_moves("ConnectFour-v0", "444444")


class Counting:
    """Holds action a to be worth a / 4 - 1, but the last legal one -12.5."""

    def __init__(self, game: Game) -> None:
        self.game = game

    def values(self, own: int, opp: int) -> dict[int, float]:
        legal = Position(self.game, own, opp).legal_actions
        return {action: action / 4 - 1 for action in legal[:-1]} | {legal[-1]: -12.5}

    def __str__(self) -> str:
        return "Counting"


def test_the_values_lie_as_the_board_with_gravity_above_their_columns() -> None:
    position = Position.from_moves("TicTacToe-v0", "158")
    assert values_text(Counting(position.game), position).splitlines() == [
        "    X        -0.750    -0.500",
        "   -0.250     O        +0.250",
        "   +0.500*    X       -12.500",
        "O to move",
    ]
    position = Position.from_moves("ConnectFour-v0", "4444443")
    lines = values_text(Counting(position.game), position).splitlines()
    assert lines[0] == "   -1.000    -0.750    -0.500     -        +0.000    +0.250*  -12.500"
    assert lines[1] == "    .         .         .         O         .         .         ."
    assert lines[-2:] == ["    .         .         X         X         .         .         .", "yellow O to move"]
    assert len(lines) == 8


@pytest.mark.parametrize("learner", ["QLearning", "Sarsa", "MonteCarlo", "ValueTD", "S0ValueTD"])
def test_every_learners_values_are_shown(learner: str) -> None:
    agent = getattr(tictac_agents, learner)("TicTacToe-v0", seed=0).learn(total_episodes=300, progress_bar=False)
    values, text = move_values(agent, POSITION), values_text(agent, POSITION)
    assert values == dict(agent.values(POSITION.own, POSITION.opp))
    assert f"{max(values.values()):+.3f}*" in text
    assert sum(f"{value:+.3f}" in text for value in values.values()) == len(values)
    assert {one.action: one.value for one in explain(agent, POSITION).moves} == values


def agents() -> dict[str, Any]:
    """An agent of each kind that gives values, by name; networks of torch where it is installed."""
    made: dict[str, Any] = {
        "planner": ValueIteration("TicTacToe-v0").learn(),
        "tree": GameTree("TicTacToe-v0", seed=0).learn(500, progress_bar=False),
        "ntuple": make_policy("ntuple", POSITION.game),
        "ntuple:3": make_policy("ntuple:3", POSITION.game),
        "S2Network": tictac_agents.S2Network.preset("S2", seed=0),
    }
    pytest.importorskip("sb3_contrib")
    envs = tictac_agents.SB3VecEnv("TicTacToe-v0", num_envs=2, illegal="raise")
    settings = {"seed": 0, "device": "cpu"}
    return made | {
        "FittedQ": tictac_agents.FittedQ("ConnectFour-v0", seed=0),
        "DQN": ModelPolicy(tictac_agents.DQN("MlpPolicy", envs, buffer_size=500, **settings)),
        "MaskablePPO": ModelPolicy(tictac_agents.MaskablePPO("MlpPolicy", envs, n_steps=8, batch_size=8, **settings)),
    }


def test_agents_explain_the_move_that_they_play() -> None:
    for name, agent in agents().items():
        position = FALL if name == "FittedQ" else POSITION
        found: Any = explain(agent, position)
        assert found.kind == ("chances" if name == "MaskablePPO" else "values"), name
        assert [one.action for one in found.moves] == list(position.legal_actions)
        numbers = [one.chance if name == "MaskablePPO" else one.value for one in found.moves]
        if name == "MaskablePPO":
            assert math.isclose(sum(numbers), 1, rel_tol=1e-5)
        if name != "tree":  # which plays by visits
            assert found.moves[int(np.argmax(numbers))].action == agent.act(position, 0), name
    found = explain(MCTS(200), POSITION, seed=5)
    assert found.kind == "visits" and sum(one.visits for one in found.moves) <= 200
    assert MCTS(200).act(POSITION, 5) in [one.action for one in found.moves if one.proven == 1]  # X wins at once
    assert explain(make_policy("rule"), POSITION) is None
    with pytest.raises(ValueError, match="has learned"):
        explain(QLearning("TicTacToe-v0", seed=0), playout(get_game("ConnectFour-v0"))[3])


def test_a_move_that_the_search_has_not_visited_has_no_value() -> None:
    found: Any = explain(MCTS(4), Position.start("TicTacToe-v0"))
    visited = [one for one in found.moves if one.visits]
    assert len(visited) == 4 and all(-1 <= one.value <= 1 for one in visited)
    assert {one.value for one in found.moves if not one.visits} == {None}


def test_alphazero_says_if_it_searches() -> None:
    agent = AlphaZero("TicTacToe-v0", seed=0, tuples=8, length=4, boards=16)
    for simulations, part in ((0, "network"), (4, "search")):
        found: Any = explain(agent.playing_with(simulations), POSITION)
        assert found.kind == "chances" and part in found.text
        assert math.isclose(sum(one.chance for one in found.moves), 1, rel_tol=1e-5)


@pytest.mark.parametrize("learner", ["PolicyIteration", "ValueIteration"])
def test_dynamic_programming_is_shown_too(learner: str) -> None:
    made, start = getattr(tictac_agents, learner), Position.start("TicTacToe-v0")
    agent = made(gym.make("TicTacToe-v0", opponent="minimax-first")).learn(progress_bar=False)
    assert values_text(agent, start).count("+0.000*") == 9
    with pytest.raises(ValueError, match="has no state"):
        values_text(agent, Position.from_moves("TicTacToe-v0", "1"))
    with pytest.raises(ValueError, match="has learned None"):
        values_text(made("FrozenLake-v1").learn(progress_bar=False), start)


def test_what_cannot_be_shown_is_refused(tmp_path: Path) -> None:
    agent = QLearning("TicTacToe-v0", seed=0)
    for position, message in (("TicTacToe-v0", "14253"), "the game is over"), (("ConnectFour-v0", "4"), "TicTacToe-v0"):
        with pytest.raises(ValueError, match=message):
            values_text(agent, Position.from_moves(*position))
        with pytest.raises(ValueError, match=message):
            values_picture(agent, Position.from_moves(*position), tmp_path / "no.png")
    assert not list(tmp_path.iterdir())


def open_figures() -> list[int]:
    """The figures that pyplot holds, of whichever test; none if it is not loaded."""
    return list(sys.modules["matplotlib.pyplot"].get_fignums()) if "matplotlib.pyplot" in sys.modules else []


@pytest.mark.parametrize(("game", "moves"), breadth([("ConnectFour-v0", "4444443")], [("TicTacToe-v0", "158")]))
def test_the_picture_shows_the_values_as_heat(game: str, moves: str, tmp_path: Path) -> None:
    image, before = pytest.importorskip("matplotlib.image"), open_figures()
    path = tmp_path / "new" / "heat.png"
    values_picture(Counting(get_game(game)), Position.from_moves(game, moves), path)
    pixels = image.imread(path)[..., :3]
    assert min(pixels.shape[:2]) > 250
    colours = np.unique((pixels.reshape(-1, 3) * 255).round().astype(int), axis=0)
    assert [214, 39, 40] in colours.tolist() and len(colours) > 30  # the frame around the best move
    assert open_figures() == before


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] == "matplotlib":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(DependencyNotInstalled, match=r'pip install "tictac-env\[plot\]"'):
        values_picture(Counting(POSITION.game), POSITION, tmp_path / "heat.png")


def test_a_training_game_is_told_to_the_last_digit() -> None:
    """Worked example 5 of S1."""
    agent = ValueTD.preset("S1", seed=0)
    lines = game_text(agent, "732689").splitlines()
    moves = ("X 7", 729), ("O 3", 747), ("X 2", 750), ("O 6", 1236), ("X 8", 3423), ("O 9", 16545)
    assert lines[2:8] == [f"{ply:3}  {move}   {code:>12}" for ply, (move, code) in enumerate(moves, 1)]
    assert lines[8] == "O wins with 3 6 9"
    lost = ["0.4500000", "0.4950000", "0.4995000", "0.4999500", "0.4999950", "0.4999995"]
    won = ["0.5500000", "0.5050000", "0.5005000", "0.5000500", "0.5000050", "0.5000005"]
    codes = 3423, 1236, 750, 747, 729, 0
    for title, begin, after in (("values of X", 10, lost), ("values of O", 19, won)):
        assert lines[begin] == title
        told = [f"{code:>12}     0.5000000     {value}" for code, value in zip(codes, after, strict=True)]
        assert lines[begin + 2 : begin + 8] == told
    assert "        3423     0.4500000     0.4050000" in game_text(agent, "732689").splitlines()


def test_what_is_told_is_every_change() -> None:
    """Followed from the first value on, the backups end in the table; with traces too."""
    for settings in ({}, {"updates": "online", "trace_decay": 0.7}, {"plies": "own"}, {"learning_rate": None}):
        agent = ValueTD(gym.make("TicTacToe-v0", opponent=None), seed=0, **settings)  # type: ignore[arg-type]
        agent.learn(total_episodes=100, progress_bar=False)
        values = [{key: node.value for key, node in table.items()} for table in agent.tables]
        for backup in agent.learn_game("732689"):
            assert values[backup.seat].get((backup.own, backup.opp), 0.5) == backup.before
            values[backup.seat][backup.own, backup.opp] = backup.after
        for seat, table in enumerate(agent.tables):
            for key, node in table.items():
                assert node.value == values[seat].get(key, node.value)


def test_a_dead_game_ends_where_s0_ends_it() -> None:
    """Nothing is learned after the position in which neither side can win any more, nor about it."""
    agent, game = S0ValueTD.preset("S0", seed=0), "519738462"
    reached = [Position.from_moves(agent.game, game[:ply]) for ply in range(10)]
    dead = next(ply for ply, position in enumerate(reached) if agent.game.is_dead(position.own, position.opp))
    assert dead < 9
    assert {(backup.own | backup.opp).bit_count() for backup in agent.learn_game(game)} == set(range(dead))


@pytest.mark.parametrize("moves", ["5", "", "55", "abc"])
def test_only_whole_games_are_told(moves: str) -> None:
    agent = ValueTD.preset("S1", seed=0)
    with pytest.raises((ValueError, IllegalMove)):
        game_text(agent, moves)
    assert len(agent) == 0
