"""A player from anything: each way leads to the same play, says who it is, and fails by name."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import breadth

from tictac_agents import (
    MCTS,
    GameTree,
    MonteCarlo,
    NTupleTD,
    QLearning,
    S2Network,
    Sarsa,
    ValueIteration,
    ValueTD,
)
from tictac_env.arena import play_match, verdict
from tictac_env.policies import OpponentPool, PlayerIdentity, Policy, RandomPolicy, load_player, make_policy
from tictac_env.policies.loading import Player
from tictac_env.position import Position

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"


def learned(kind: Any) -> Any:
    return kind(TTT, seed=0).learn(total_episodes=30, progress_bar=False)


def n_tuples() -> NTupleTD:
    return NTupleTD(TTT, tuples=4, length=5, averaging=0.5, seed=0).learn(500)


FILES = {
    "QLearning": lambda: learned(QLearning),
    "Sarsa": lambda: learned(Sarsa),
    "MonteCarlo": lambda: learned(MonteCarlo),
    "ValueTD": lambda: learned(ValueTD),
    "ValueIteration": lambda: ValueIteration(TTT).learn(progress_bar=False),
    "GameTree": lambda: GameTree(TTT, seed=0).learn(50),
    "NTupleTD": lambda: n_tuples(),
    "NTupleNetwork": lambda: n_tuples().network,
    "S2Network": lambda: S2Network(TTT, seed=0).learn(50),
}


@pytest.mark.parametrize("name", breadth(["QLearning", "ValueIteration", "NTupleTD"], FILES))
def test_a_file_plays_as_the_agent_that_was_saved(name: str, tmp_path: Path) -> None:
    agent, path = FILES[name](), tmp_path / "mine.npz"
    agent.save(path)
    player = load_player(path, TTT)
    assert (player.name, player.kind, player.agent, str(player.policy)) == ("mine", "file", name, "mine")
    assert player.checkpoint_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert player.settings["algorithm"] == name and player.budget.startswith("no search")
    assert PlayerIdentity(**json.loads(json.dumps(asdict(player.identity)))) == player.identity
    assert verdict(player.policy).as_first == verdict(agent).as_first
    assert load_player(str(path), TTT).identity == player.identity


def test_names_policies_models_and_functions_play_as_they_are() -> None:
    def left(observation: Any, mask: Any) -> int:
        return int(np.flatnonzero(mask)[0])

    position = Position.from_moves(C4, "44")
    assert load_player("mcts:50", C4).policy.act(position, 7) == make_policy("mcts:50", C4).act(position, 7)
    assert load_player(left, C4).policy.act(position, 0) == 0
    assert load_player(left, C4).name == "left" and load_player(left, C4).budget == "not stated"
    mine = RandomPolicy()
    player = load_player(mine, C4)
    assert player.policy is mine and player.kind == "object"
    assert load_player(player, C4) is player
    searcher = load_player(MCTS(60, exploration=1.5), C4)
    assert searcher.settings["exploration"] == 1.5 and searcher.budget.startswith("60 simulations")
    assert load_player("level:5", C4).budget == "plays mcts:40"
    assert load_player("minimax:4", C4).settings == {"depth": 4}


def test_a_module_and_a_name_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bots_of_mine.py").write_text(
        "import tictac_env.policies as p\n"
        "def left(observation, mask):\n    return int(mask.argmax())\n"
        "made = p.RulePolicy()\n"
    )
    (tmp_path / "bots_broken.py").write_text("import nothing_like_it\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        assert load_player("bots_of_mine:left", TTT).policy.act(Position.from_moves(TTT, "1"), 0) == 1
        assert load_player("bots_of_mine:made", TTT).agent == "RulePolicy"
        assert load_player("tictac_env.policies:RulePolicy", TTT).kind == "import"
        assert load_player("tictac_agents:MCTS", TTT).policy.budget.startswith("1,000")
        with pytest.raises(ValueError, match="'bots_of_mine' has no 'right'"):
            load_player("bots_of_mine:right", TTT)
        with pytest.raises(ModuleNotFoundError, match="nothing_like_it"):
            load_player("bots_broken:left", TTT)
    finally:
        sys.modules.pop("bots_of_mine", None)


@pytest.mark.parametrize(
    ("player", "error", "match"),
    [
        ("mtcs:800", ValueError, "did you mean mcts.*nor is it the path of a file"),
        ("mcts:many", ValueError, "simulations of 'mcts'"),
        ("no_such.module:bot", ValueError, "there is no module 'no_such'"),
        ("nowhere/agent.npz", FileNotFoundError, "nowhere/agent.npz"),
        (Path("agent.zip"), FileNotFoundError, "agent.zip"),
        (RandomPolicy, ValueError, "give an instance"),
        (5, ValueError, "int does not play.*not 5"),
    ],
)
def test_what_is_no_player_is_named(player: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        load_player(player, TTT)


def test_damaged_files_and_other_games_are_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    learned(QLearning).save(path)
    content = path.read_bytes()
    with pytest.raises(ValueError, match=r"table\.npz.*not of"):
        load_player(path, C4)
    for name, damaged in (
        ("cut.npz", content[: len(content) // 2]),
        ("empty.npz", b""),
        ("text.npz", b"hello"),
        ("flipped.npz", content[:200] + bytes(b ^ 255 for b in content[200:260]) + content[260:]),
        ("text.zip", b"hello"),
    ):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(ValueError, match=name.replace(".", r"\.")):
            load_player(tmp_path / name, TTT)
        assert (tmp_path / name).read_bytes() == damaged
    with pytest.raises(ValueError, match="cannot be read"):
        load_player(tmp_path, TTT)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes with names")
@pytest.mark.parametrize("name", ["a.npz", "a.zip", "a.onnx", "a.py", "kaggle:a.py", "a.py:play"])
def test_what_is_no_regular_file_is_not_opened(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening a pipe waits for somebody who writes into it."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo(name.removeprefix("kaggle:").removesuffix(":play"))
    with pytest.raises((ValueError, FileNotFoundError), match=r"a\.\w+'"):
        load_player(name, TTT)


def test_a_file_of_any_length_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "long.py").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ValueError, match=r"long\.py' cannot be read: it has 1,099,511,627,776 bytes"):
        load_player(tmp_path / "long.py", TTT)


def test_the_file_of_no_agent_says_what_it_holds(tmp_path: Path) -> None:
    from tictac_env.storage import save_arrays

    for kind in ("opening book", "tictac_agents.policy_evaluation", "tictac_agents.warnings", "tictac_agents.Mine"):
        save_arrays(tmp_path / "other.npz", kind, {}, {"a": np.zeros(1)})
        with pytest.raises(ValueError, match=rf"other\.npz holds '{kind}', which is not an agent"):
            load_player(tmp_path / "other.npz", TTT)


def test_networks_come_from_their_files(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib")
    import stable_baselines3 as sb3

    from tictac_agents import DQN, MaskablePPO, SB3VecEnv

    def boards(**kwargs: Any) -> Any:
        return SB3VecEnv(TTT, 2, opponent=None, **kwargs)

    small: dict[str, Any] = {"device": "cpu", "seed": 0, "policy_kwargs": {"net_arch": [8]}}
    made: dict[str, tuple[Any, str]] = {
        "ours": (DQN("MlpPolicy", boards(), buffer_size=100, **small), "DQN"),
        "masked": (MaskablePPO("MlpPolicy", boards(), n_steps=16, batch_size=16, **small), "MaskablePPO"),
        "plain": (sb3.PPO("MlpPolicy", boards(), n_steps=16, batch_size=16, **small), "Snapshot"),
        "codes": (sb3.DQN("MlpPolicy", boards(obs_type="code"), buffer_size=100, **small), "Snapshot"),
    }
    for name, (model, agent) in made.items():
        model.save(tmp_path / f"{name}.zip")
        player = load_player(tmp_path / f"{name}.zip", TTT)
        assert (player.name, player.agent) == (name, agent)
        assert player.budget == "no search; one evaluation of a network"
        assert PlayerIdentity(**json.loads(json.dumps(asdict(player.identity)))) == player.identity
        assert verdict(player.policy).exploitability >= 0  # it plays no illegal move anywhere
    for name, _ in list(made.items())[:3]:
        with pytest.raises(ValueError, match=rf"{name}\.zip"):
            load_player(tmp_path / f"{name}.zip", C4)


def test_a_policy_may_state_its_budget() -> None:
    class Mine(Policy):
        budget = "three looks"

        def __init__(self, width: int = 3, options: tuple[int, ...] = (1, 2)) -> None:
            self.width, self.options = width, options

        def act(self, position: Position, seed: int) -> int:
            return position.legal_actions[0]

    player = load_player(Mine(4), TTT)
    assert isinstance(player, Player)
    assert player.budget == "three looks" and player.settings == {"width": 4, "options": [1, 2]}


def test_a_loaded_player_is_taken_wherever_a_policy_is() -> None:
    player = load_player("minimax:2", TTT)
    assert play_match(player, "random", games=4) == play_match("minimax:2", "random", games=4)
    assert verdict(player) == verdict("minimax:2")
    assert str(gym.make(TTT, opponent=player).unwrapped.opponent) == "minimax:2"  # type: ignore[attr-defined]
    pool = OpponentPool([player, player])
    assert str(pool) == "pool(minimax:2, minimax:2)"
