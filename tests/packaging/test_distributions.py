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
FOLDERS = {"tictac_env": ROOT / "tictac_env", "tictac_agents": ROOT / "agents" / "tictac_agents"}
FOLDERS["tictac_env/grading/assignments"] = ROOT / "docs" / "teaching" / "assignments"
KINDS = {".py", ".typed", ".npz", ".js", ".css", ".html", ".svg", ".md", ".toml", ".json"}
"""The endings of files in the wheel."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


def test_the_wheel_has_both_packages_whole_and_the_assignments_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
        commands = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert "tictac = tictac_command:main" in archive.read(commands).decode()
    assert inside - {"tictac_command.py", "tictac_verifiers.py"} == {
        f"{name}/{path.relative_to(folder).as_posix()}"
        for name, folder in FOLDERS.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {Path(name).suffix for name in inside} <= KINDS
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
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    pinned = {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}
    assert len(pinned) == len(lines)  # none twice
    for one in requirements(ROOT / "pyproject.toml", ["rl", "human", "video", "web", "notebook", "minari", "plot"]):
        assert one.specifier.contains(pinned[canonicalize_name(one.name)]), one
    assert f"version: {tictac_env.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_lower_bounds_are_taken_as_versions() -> None:
    bounds = [Requirement("numba>=0.61,<0.69"), Requirement("minari[hdf5]>=0.5.3")]
    assert lowest(bounds) == ["numba==0.61", "minari==0.5.3"]
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
