"""Agents in Kaggle's and PettingZoo's forms see what they see there, and play the same here."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import playout

from examples.hex import Hex
from tictac_apps.bridges.functions import KaggleAgent, PettingZooAgent
from tictac_env import connect_four_v0, verdict
from tictac_env.games import get_game
from tictac_env.policies import check_policy, load_player
from tictac_env.policies.loading import Reading
from tictac_env.position import Position

TTT, C4 = get_game("TicTacToe-v0"), get_game("ConnectFour-v0")
SUBMISSION = """
import random
from dataclasses import dataclass
from beside import open_columns

@dataclass
class Seen:
    mark: int

def agent(observation, configuration):
    assert Seen(observation.mark).mark == observation["mark"]
    return random.choice(open_columns(observation.board, configuration.columns))
"""
BESIDE = """
def open_columns(board, columns):
    return [c for c in range(columns) if board[c] == 0]
"""


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    (tmp_path / "beside.py").write_text(BESIDE)
    (tmp_path / "mine.py").write_text(SUBMISSION)
    return tmp_path / "mine.py"


def test_a_kaggle_agent_sees_kaggles_observation() -> None:
    seen: list[Any] = []

    def agent(observation: Any, configuration: Any) -> int:
        seen.append((observation, configuration))
        return 3

    assert KaggleAgent(agent, C4).act(Position.from_moves(C4, "445"), 0) == 3
    observation, configuration = seen[0]
    assert len(observation.board) == 42 and observation.board[-7:] == [0, 0, 0, 1, 1, 0, 0]
    assert observation.board[-14:-7] == [0, 0, 0, 2, 0, 0, 0]
    assert (observation.mark, observation.step, observation["remainingOverageTime"]) == (2, 3, 60)
    assert (configuration.rows, configuration.columns, configuration.inarow) == (6, 7, 4)
    assert configuration.actTimeout == 2
    with pytest.raises(AttributeError):
        _ = observation.lives


def test_an_entry_and_its_attribute_are_one_for_an_agent_that_writes() -> None:
    def agent(observation: Any, configuration: Any) -> int:
        for struct, name in ((observation, "board"), (copy.deepcopy(observation), "mark"), (configuration, "rows")):
            setattr(struct, name, 3)
            assert struct[name] == getattr(struct, name) == 3
            struct[name] = 4
            assert struct[name] == getattr(struct, name) == 4
            struct.mine = 1
            assert struct["mine"] == 1
            del struct.mine
            assert "mine" not in struct and not hasattr(struct, "mine")
            with pytest.raises(AttributeError, match="mine"):
                del struct.mine
        return int(configuration["columns"]) - 1

    for moves in ("", "4"):  # each seat
        assert KaggleAgent(agent, C4).act(Position.from_moves(C4, moves), 0) == 6


def test_a_submission_is_its_last_callable_and_a_fixed_map(submission: Path) -> None:
    player = load_player(submission, C4)
    assert (player.name, player.agent, player.kind) == ("mine", "KaggleAgent", "file")
    assert load_player(f"kaggle:{submission}", C4).checkpoint_sha256 == player.checkpoint_sha256
    with pytest.warns(UserWarning, match="draws but"):  # from its seed alone
        check_policy(player.policy, C4, 30)
    state, numpys = random.getstate(), np.random.get_state()[1]  # noqa: NPY002
    player.policy.act(Position.start(C4), 5)
    assert random.getstate() == state and (np.random.get_state()[1] == numpys).all()  # type: ignore[index]  # noqa: NPY002


def test_a_file_that_does_not_say_how_it_plays_is_not_guessed_at(tmp_path: Path) -> None:
    (tmp_path / "bots.py").write_text("def act(observation, mask):\n    return mask.argmax()\n")
    with pytest.raises(ValueError, match=r'"{0}:act" for a function .*"kaggle:{0}"'.format(tmp_path / "bots.py")):
        load_player(tmp_path / "bots.py", C4)
    assert load_player(f"{tmp_path / 'bots.py'}:act", C4).policy.act(Position.start(C4), 0) == 0
    (tmp_path / "one.py").write_text("def act(observation):\n    return observation.board.index(0)\n")
    assert load_player(f"kaggle:{tmp_path / 'one.py'}", TTT).policy.act(Position.from_moves(TTT, "12"), 0) == 2


@pytest.mark.parametrize(
    ("code", "match"),
    [
        ("def agent(:\n", r"mine\.py cannot be run as Python: SyntaxError.*line 1"),
        ("x = 1\n1 / 0\n", r"mine\.py cannot be run as Python: ZeroDivisionError: division by zero, line 2"),
        ("raise SystemExit(3)\n", r"mine\.py cannot be run as Python: SystemExit: 3"),
        ("agent = 3\n", r"mine\.py has nothing that can be called"),
    ],
)
def test_a_file_that_cannot_be_run_is_named(code: str, match: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(code)
    with pytest.raises(ValueError, match=match):
        load_player(f"kaggle:{tmp_path / 'mine.py'}", C4)


def test_names_that_are_not_there_are_named(tmp_path: Path) -> None:
    (tmp_path / "bots.py").write_text("def left(observation, mask):\n    return 0\n")
    with pytest.raises(ValueError, match="has no 'lefft'; did you mean left"):
        load_player(f"{tmp_path / 'bots.py'}:lefft", C4)
    with pytest.raises(FileNotFoundError, match=r"none\.py"):
        load_player(f"{tmp_path / 'none.py'}:left", C4)
    with pytest.raises(ValueError, match=r'"module:name" nor "file\.py:name"'):
        load_player("pettingzoo:left", C4)
    with pytest.raises(ValueError, match=r"k in a row, not Hex"):
        KaggleAgent(min, Hex.make(3))


def test_a_pettingzoo_agent_plays_here_as_in_its_environment() -> None:
    def agent(observation: Any, name: str) -> int:
        stones = observation["observation"]
        assert stones.shape == (6, 7, 2) and stones.dtype == np.int8 and name == f"player_{stones.sum() % 2}"
        return int((observation["action_mask"] * (1 + stones[-1, :, 1] + (name == "player_1") * np.arange(7))).argmax())

    policy = PettingZooAgent(agent)
    for seed in range(5):
        for position in playout(C4, seed)[:-1]:
            env = connect_four_v0.env()
            env.reset(options={"position": position})
            assert policy.act(position, 0) == agent(env.last()[0], env.agent_selection)


def test_an_object_with_act_is_a_pettingzoo_agent_and_draws_from_its_seed(tmp_path: Path) -> None:
    (tmp_path / "zoo.py").write_text(
        "import random\n"
        "class Agent:\n"
        "    def act(self, observation):\n"
        "        return random.choice([a for a, legal in enumerate(observation['action_mask']) if legal])\n"
        "agent = Agent()\n"
    )
    player = load_player(f"pettingzoo:{tmp_path / 'zoo.py'}:agent", TTT)
    assert (player.agent, player.name, player.kind) == ("PettingZooAgent", "Agent", "pettingzoo")
    with pytest.warns(UserWarning, match="draws but"):
        check_policy(player.policy, TTT, 30)
    assert verdict(player.policy, TTT).basis == "fixed map"
    with pytest.raises(ValueError, match="is not a PettingZoo agent"):
        load_player(f"pettingzoo:{tmp_path / 'zoo.py'}:Agent", TTT)


@pytest.mark.parametrize("obs_type", ["planes", "board", "code"])
def test_functions_see_the_observation_that_is_asked_for(obs_type: str, tmp_path: Path) -> None:
    shown: list[Any] = []

    def act(observation: Any, mask: Any) -> int:
        shown.append(observation)
        return int(mask.argmax())

    position = Position.from_moves(TTT, "15")
    load_player(act, TTT, Reading(observation=obs_type)).policy.act(position, 0)
    from tictac_env.position_batch import PositionBatch

    assert np.array_equal(shown[0], PositionBatch.of([position]).observations(obs_type)[0])


@pytest.mark.parametrize(
    ("player", "reading", "match"),
    [
        ("rule", {"observation": "board"}, "observation 'board' is for functions and networks"),
        ("agent.zip", {"observation": "board"}, "observation 'board' is for functions and networks"),
        ("bots.py:act", {"observation": "planes-last"}, 'observation "planes-last" is for networks'),
    ],
)
def test_what_would_have_no_effect_is_refused(player: str, reading: dict[str, str], match: str, tmp_path: Path) -> None:
    (tmp_path / "bots.py").write_text("def act(observation, mask):\n    return 0\n")
    with pytest.raises(ValueError, match=match):
        load_player(f"{tmp_path}/{player}" if player.startswith("bots.py") else player, TTT, Reading(**reading))


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"observation": "plane"}, "did you mean"),
        ({"time_limit": 0.0}, "above 0"),
        ({"time_limit": float("inf")}, "above 0"),
        ({"time_limit": -1.0}, r"time_limit must be a number in \[0"),
    ],
)
def test_how_to_read_is_checked(given: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        Reading(**given)
