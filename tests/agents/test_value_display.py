"""What was learned, shown: laid out as the board, as a picture, and as the backups of one game, to the last digit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled

from tictac_agents import MonteCarlo, PolicyIteration, QLearning, S0ValueTD, Sarsa, ValueIteration, ValueTD
from tictac_agents.tabular.learner import Learner
from tictac_agents.value_display import game_text, move_values, values_picture, values_text
from tictac_env.games import Game
from tictac_env.position import IllegalMove, Position


class Counting:
    """Holds action a to be worth a / 4 - 1, but the last legal one -12.5."""

    def __init__(self, game: Game) -> None:
        self.game = game

    def values(self, own: int, opp: int) -> dict[int, float]:
        legal = Position(self.game, own, opp).legal_actions
        return {action: action / 4 - 1 for action in legal[:-1]} | {legal[-1]: -12.5}

    def __str__(self) -> str:
        return "Counting"


def test_the_values_lie_as_the_board() -> None:
    position = Position.from_moves("TicTacToe-v0", "158")
    assert values_text(Counting(position.game), position).splitlines() == [
        "    X        -0.750    -0.500",
        "   -0.250     O        +0.250",
        "   +0.500*    X       -12.500",
        "O to move",
    ]


def test_with_gravity_they_stand_above_their_columns() -> None:
    position = Position.from_moves("ConnectFour-v0", "4444443")
    lines = values_text(Counting(position.game), position).splitlines()
    assert lines[0] == "   -1.000    -0.750    -0.500     -        +0.000    +0.250*  -12.500"
    assert lines[1] == "    .         .         .         O         .         .         ."
    assert lines[-2] == "    .         .         X         X         .         .         ."
    assert lines[-1] == "O to move"
    assert len(lines) == 8


@pytest.mark.parametrize("learner", [QLearning, Sarsa, MonteCarlo, ValueTD])
def test_every_learners_values_are_shown(learner: type[Learner]) -> None:
    agent: Any = learner("TicTacToe-v0", seed=0).learn(total_episodes=300, progress_bar=False)
    position = Position.from_moves("TicTacToe-v0", "5")
    values = agent.values(position.own, position.opp)
    text = values_text(agent, position)
    assert move_values(agent, position) == values
    assert f"{max(values.values()):+.3f}*" in text
    assert sum(f"{value:+.3f}" in text for value in values.values()) == 8


@pytest.mark.parametrize("learner", [PolicyIteration, ValueIteration])
def test_dynamic_programming_is_shown_too(learner: Any) -> None:
    agent = learner(gym.make("TicTacToe-v0", opponent="minimax-first")).learn(progress_bar=False)
    start = Position.start("TicTacToe-v0")
    assert values_text(agent, start).count("+0.000*") == 9
    with pytest.raises(ValueError, match="never comes to"):
        values_text(agent, Position.from_moves("TicTacToe-v0", "1"))
    lake = learner("FrozenLake-v1").learn(progress_bar=False)
    with pytest.raises(ValueError, match="has learned None"):
        values_text(lake, start)


def test_what_cannot_be_shown_is_refused(tmp_path: Path) -> None:
    agent = QLearning("TicTacToe-v0", seed=0)
    for position, message in (("TicTacToe-v0", "14253"), "the game is over"), (("ConnectFour-v0", "4"), "TicTacToe-v0"):
        with pytest.raises(ValueError, match=message):
            values_text(agent, Position.from_moves(*position))
        with pytest.raises(ValueError, match=message):
            values_picture(agent, Position.from_moves(*position), tmp_path / "no.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("game", "moves"), [("TicTacToe-v0", "158"), ("ConnectFour-v0", "4444443")])
def test_the_picture_shows_the_values_as_heat(game: str, moves: str, tmp_path: Path) -> None:
    image = pytest.importorskip("matplotlib.image")
    position = Position.from_moves(game, moves)
    path = tmp_path / "new" / "heat.png"
    values_picture(Counting(position.game), position, path)
    pixels = image.imread(path)[..., :3]
    assert min(pixels.shape[:2]) > 250
    colours = np.unique((pixels.reshape(-1, 3) * 255).round().astype(int), axis=0)
    assert [214, 39, 40] in colours.tolist()  # the frame around the best move
    assert len(colours) > 30
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
    assert [found.name for found in path.parent.iterdir()] == ["heat.png"]


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] == "matplotlib":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    position = Position.start("TicTacToe-v0")
    with pytest.raises(DependencyNotInstalled, match=r'pip install "tictac-env\[plot\]"'):
        values_picture(Counting(position.game), position, tmp_path / "heat.png")


WORKED_EXAMPLE_5 = """\
ply  move      position
  0                   0
  1  X 7            729
  2  O 3            747
  3  X 2            750
  4  O 6           1236
  5  X 8           3423
  6  O 9          16545
O wins with 3 6 9

values of X
    position        before         after
        3423     0.5000000     0.4500000
        1236     0.5000000     0.4950000
         750     0.5000000     0.4995000
         747     0.5000000     0.4999500
         729     0.5000000     0.4999950
           0     0.5000000     0.4999995

values of O
    position        before         after
        3423     0.5000000     0.5500000
        1236     0.5000000     0.5050000
         750     0.5000000     0.5005000
         747     0.5000000     0.5000500
         729     0.5000000     0.5000050
           0     0.5000000     0.5000005"""


def test_a_training_game_is_told_to_the_last_digit() -> None:
    assert game_text(ValueTD.preset("S1", seed=0), "732689") == WORKED_EXAMPLE_5


def test_the_next_game_begins_where_the_last_one_ended() -> None:
    agent = ValueTD.preset("S1", seed=0)
    game_text(agent, "732689")
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
    agent = S0ValueTD.preset("S0", seed=0)
    game = "519738462"
    dead = next(ply for ply in range(10) if agent.game.is_dead(*bits(agent, game[:ply])))
    assert dead < 9
    told = {(backup.own | backup.opp).bit_count() for backup in agent.learn_game(game)}
    assert told == set(range(dead))


def bits(agent: ValueTD, moves: str) -> tuple[int, int]:
    position = Position.from_moves(agent.game, moves)
    return position.own, position.opp


@pytest.mark.parametrize("moves", ["5", "", "55", "abc"])
def test_only_whole_games_are_told(moves: str) -> None:
    agent = ValueTD.preset("S1", seed=0)
    with pytest.raises((ValueError, IllegalMove)):
        game_text(agent, moves)
    assert len(agent) == 0
