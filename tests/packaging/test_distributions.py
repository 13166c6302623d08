"""The wheel and the sdist hold what they should and nothing else, and the wheel works where nothing else is."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import tictac_env
from tools.check_wheel import check, lowest, requirements

ROOT = Path(__file__).parents[2]
PACKAGES = {"tictac_env": ROOT / "tictac_env", "tictac_agents": ROOT / "agents" / "tictac_agents"}
ASSIGNMENTS = ROOT / "docs" / "teaching" / "assignments"
KINDS = {".py", ".typed", ".npz", ".js", ".css", ".html", ".svg", ".md", ".toml"}
"""The endings of files that the wheel may have."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


def files_below(folder: Path) -> set[str]:
    """What is in the tree now, but for what Python leaves there."""
    paths = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix() for path in paths}


def test_the_wheel_has_both_packages_whole_and_the_assignments_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
        commands = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert "tictac = tictac_env.cli:main" in archive.read(commands).decode()
    expected = {f"{name}/{file}" for name, folder in PACKAGES.items() for file in files_below(folder)}
    expected |= {f"tictac_env/grading/assignments/{file}" for file in files_below(ASSIGNMENTS)}
    assert inside == expected
    assert {Path(name).suffix for name in inside} <= KINDS
    for needed in (
        "tictac_env/solver/data/ConnectFour-v0.npz",
        "tictac_env/arena/data/C4-Exact-v1.npz",
        "tictac_env/web/static/index.html",
        "tictac_env/web/offline/rules.js",
        "tictac_env/notebook/widget.js",
        "tictac_env/grading/assignments/minimax/rubric.toml",
        "tictac_agents/ntuple/shipped/ConnectFour-v0.npz",
        "tictac_env/py.typed",
        "tictac_agents/py.typed",
    ):
        assert needed in inside
    assert not any("/solutions/" in name for name in inside)


def test_the_sdist_has_all_that_git_has(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        inside = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no clone")
    tracked = set(listed.stdout.split())
    assert tracked - inside == set()
    assert {name.split("/")[0] for name in inside - tracked} <= {name.split("/")[0] for name in tracked} | {"PKG-INFO"}


def test_every_direct_dependency_is_pinned_within_its_bounds() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    pinned = {canonicalize_name(name): version for name, version in pins.items()}
    assert len(pinned) == len(lines) - sum(line.startswith("#") for line in lines)  # none twice
    for one in requirements(ROOT / "pyproject.toml", ["rl", "human", "video", "web", "notebook", "minari", "plot"]):
        assert one.specifier.contains(pinned[canonicalize_name(one.name)]), one


def test_the_version_is_the_same_wherever_it_stands() -> None:
    assert f"version: {tictac_env.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_lower_bounds_are_taken_as_versions(tmp_path: Path) -> None:
    assert lowest([Requirement("numba>=0.61,<0.69"), Requirement("minari[hdf5]>=0.5.3")]) == [
        "numba==0.61",
        "minari==0.5.3",
    ]
    with pytest.raises(ValueError, match="scipy has no lower bound"):
        lowest([Requirement("scipy")])
    with pytest.raises(ValueError, match="no extra 'wep', only rl"):
        requirements(ROOT / "pyproject.toml", ["wep"])


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment(built: Path, tmp_path: Path) -> None:
    """Needs a package index, as `make test-all` itself does when it starts from a fresh clone."""
    only = ["tests/test_storage.py", "tests/cli/test_solve.py"]
    options = argparse.Namespace(python=sys.executable, lowest=False, extra=[], packages=[], only=only)
    check(next(built.glob("*.whl")), options, tmp_path)
