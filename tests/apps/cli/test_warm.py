"""`tictac warm` compiles what first uses would wait for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tictac_apps import cli, warm
from tictac_env.games import GAMES

USES = """
import gymnasium as gym, tictac_env
import tictac_agents
from tictac_env.policies import make_policy
from tictac_env.position import Position

GAME = "TicTacToe-v0"
start = Position.start(GAME)
for opponent in ("random", "rule", None, "level:3", lambda observation, mask: int(mask.argmax())):
    for obs_type in ("planes", "board", "code"):
        for mode in ("NextStep", "SameStep"):
            envs = gym.make_vec(GAME, num_envs=3, opponent=opponent, obs_type=obs_type, autoreset_mode=mode,
                                copy=False)
            envs.reset(seed=0)
            for _ in range(8):
                envs.action_masks()
                envs.step(envs.sample_actions())
make_policy("minimax:3", GAME).act(start, 0)
for rollout in ("rule", "random", "stored"):
    tictac_agents.MCTS(50, rollout=rollout, threads=2).act(start, 0)
for name in tictac_agents.trained("table"):
    for env in (gym.make(GAME, opponent="rule"), gym.make(GAME, opponent=None), gym.make_vec(GAME, num_envs=4)):
        agent = getattr(tictac_agents, name)(env, seed=0).learn(total_episodes=9_000, progress_bar=False)
        agent.save("agent.npz")
        type(agent).load("agent.npz", env).act(start, 0)
tictac_agents.S2Network(GAME, seed=0).learn(100, progress_bar=False).act(start, 0)
for settings in ({}, {"threads": 2, "coherence": True, "averaging": 0.5, "trace": 1}):
    agent = tictac_agents.NTupleTD(GAME, tuples=3, length=4, seed=0, **settings).start_from(["15"], 0.5).learn(100)
    agent.save("agent.npz")
    agent = tictac_agents.NTupleTD.load("agent.npz").learn(100)
    agent.network.save("agent.npz")
    network = tictac_agents.NTupleNetwork.load("agent.npz")
    network.values(start.own, start.opp)
    for player in (agent, network, network.looking_ahead(3), tictac_agents.MCTS(10, evaluator=network)):
        player.act(start, 0)
"""


def run(arguments: list[str], cache: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"TICTAC_CACHE_DIR": str(cache)}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=cache.parent)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_a_use_is_compiled_once(tmp_path: Path) -> None:
    command = ["-m", "tictac_apps", "warm", "KInARow-v0:3x4-3", "--only", "minimax"]
    done = run(command, tmp_path / "cache")
    assert done.stderr.startswith("tictac_env: compiling minimax for KInARow-v0:3x4-3 ... ")
    assert done.stderr.count("\n") == 1
    assert "minimax of KInARow-v0:3x4-3: compiled in" in done.stdout and str(tmp_path / "cache") in done.stdout
    assert run(command, tmp_path / "cache").stderr == ""


@pytest.mark.slow
def test_afterwards_no_first_use_compiles(tmp_path: Path) -> None:
    done = run(["-m", "tictac_apps", "warm", "TicTacToe-v0"], tmp_path / "cache")
    uses = "the vector environment,minimax,tree search,learning with a table,learning with S2's network"
    for use in (*uses.split(","), "learning with n-tuple networks"):
        assert f"tictac_env: compiling {use} for TicTacToe-v0 ... " in done.stderr
    assert run(["-c", USES], tmp_path / "cache").stderr == ""
    done = run(["-m", "tictac_apps", "warm", "KInARow-v0:4x4-3", "--only", "solver"], tmp_path / "cache")
    assert "tictac_env: compiling the solver for KInARow-v0:4x4-3 ... " in done.stderr
    assert run(["-m", "tictac_apps", "solve", "11", "--game", "KInARow-v0:4x4-3"], tmp_path / "cache").stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", warm.FIRST_USES)
def test_each_use_can_be_made_of_each_game(name: str) -> None:
    warm.make_first_uses(GAMES, [name])


def test_games_of_several_names_are_compiled_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, str]] = []
    uses = {name: lambda game, name=name: made.append((name, game)) for name in ("one", "other")}
    monkeypatch.setattr(warm, "FIRST_USES", uses)
    assert GAMES["ConnectFour-v0"] == warm.get_game("KInARow-v0")
    warm.make_first_uses(["TicTacToe-v0", "ConnectFour-v0", "KInARow-v0"], ["one", "other"])
    assert made == [(name, game) for game in ("TicTacToe-v0", "ConnectFour-v0") for name in ("one", "other")]


def test_a_folder_that_is_not_kept_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tictac_apps.cli.make.KEPT", False)
    monkeypatch.setattr("tictac_apps.cli.make.WARNING", "set TICTAC_CACHE_DIR")
    assert cli.main(["warm"]) == 2
    assert "tictac: set TICTAC_CACHE_DIR" in capsys.readouterr().err
