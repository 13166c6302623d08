"""The vector environment as compiled code: what is announced, where machine code is kept, how much memory it takes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from modes import BOUND_BY_MODES

from tictac_env import compiled

MASKS = """
import gymnasium as gym, tictac_env
print(gym.make_vec("TicTacToe-v0").action_masks().sum())
print(tictac_env.__file__)
"""
"""Calls one kernel, and those it calls."""


LINE = r"tictac_env: compiling the vector environment for TicTacToe-v0 \.\.\. \d+\.\d s\n"


def test_an_installation_that_cannot_be_written_to_works_and_later_runs_find_the_machine_code(tmp_path: Path) -> None:
    package, home = tmp_path / "tictac_env", tmp_path / "home"
    home.mkdir()
    shutil.copytree(compiled.PACKAGE, package)
    folders = [package, *(path for path in package.rglob("*") if path.is_dir())]
    environment = os.environ | dict.fromkeys(("TICTAC_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"), "")
    environment |= {"PYTHONPATH": str(tmp_path), "HOME": str(home), "USERPROFILE": str(home)}

    def run_bound(script: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", BOUND_BY_MODES, "-c", script]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=home, env=environment)

    try:
        for folder in folders:
            folder.chmod(0o555)
        if "PermissionError" not in run_bound(f"open({str(package / 'new')!r}, 'w')").stderr:
            pytest.skip("modes do not bind this user")
        for announced in (LINE, ""):
            done = run_bound(MASKS)
            assert done.returncode == 0, done.stderr
            assert Path(done.stdout.splitlines()[-1]).is_relative_to(package)
            assert re.fullmatch(announced, done.stderr)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert any((home / ".cache").rglob("*.nbi"))
    assert not any(package.rglob("*.nb?"))


MEMORY = """
import gymnasium as gym, tictac_env

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

sizes = []
for copy in (False, True):
    envs = gym.make_vec("TicTacToe-v0", num_envs=8192, opponent=None, copy=copy)
    envs.reset(seed=0)
    for plies in (10**6, {plies} if not copy else {plies} // 4):
        for _ in range(plies // envs.num_envs):
            envs.step(envs.sample_actions())
        sizes.append(resident())
print(*sizes)
"""


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="needs /proc to see the memory of a process")
@pytest.mark.parametrize("plies", [6 * 10**6, pytest.param(10**9, marks=pytest.mark.slow)])
def test_memory_stays_flat_over_many_plies(plies: int) -> None:
    environment = os.environ | {"TICTAC_CACHE_DIR": str(Path(compiled.CACHE_FOLDER).parents[1])}
    command = [sys.executable, "-c", MEMORY.replace("{plies}", str(plies))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    for before, after in zip(*[iter(map(int, done.stdout.split()))] * 2, strict=True):
        assert after - before < 4 * 1024, f"grew from {before} to {after} kB"
