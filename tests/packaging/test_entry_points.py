"""A package of somebody else's adds a player by name, which then stands wherever ours do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PLAYER = """
from tictac_env import Policy

class Corner(Policy):
    name = "corner"
    about = "Plays the lowest legal action."

    def act(self, position, seed):
        return position.legal_actions[0]
"""
USE = """
import gymnasium as gym, tictac_env
from tictac_apps.web.limits import ServerLimits
from tictac_apps.web.opponents import NamedOpponents
from tictac_env.games import get_game
from tictac_env.policies import POLICIES
from tools.results_tables import opponents

env = gym.make("TicTacToe-v0", opponent="corner", play_as="second")
env.reset(seed=0)
assert str(env.unwrapped.position.to_moves()) == "1"
assert tictac_env.make_policy("rule").name == "rule", "ours cannot be replaced"
menu = NamedOpponents(ServerLimits()).menu(get_game("ConnectFour-v0"))
assert {"name": "corner", "shown": "corner"} in menu["opponents"]
assert menu["about"]["corner"] == "Plays the lowest legal action."
assert {"name": "`corner`", "plays": "Plays the lowest legal action.", "with an argument": ""} in opponents()
print(*POLICIES)
"""


def test_a_package_adds_a_player_by_an_entry_point(tmp_path: Path) -> None:
    metadata = tmp_path / "corner-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: corner\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[tictac_env.players]\ncorner = corner:Corner\nrule = corner:Corner\n")
    (tmp_path / "corner.py").write_text(PLAYER)
    path = os.pathsep.join((str(tmp_path), str(Path(__file__).parents[2])))
    done = subprocess.run(
        [sys.executable, "-c", USE],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert {"random", "mcts", "ntuple", "corner"} <= set(done.stdout.split())
