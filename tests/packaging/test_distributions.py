"""The wheel and the sdist hold what they should and nothing else, and the wheel works where nothing else is."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import tictac_env
from tictac_env.compiled.numba_version import NEWEST_TESTED
from tools.check_wheel import check, lowest, requirements

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "tictac_env": ROOT / "tictac_env",
    "tictac_agents": ROOT / "agents" / "tictac_agents",
    "tictac_apps": ROOT / "apps" / "tictac_apps",
}
FOLDERS["tictac_apps/grading/assignments"] = ROOT / "docs" / "teaching" / "assignments"
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


def metadata(wheel: Path) -> Message:
    """The metadata of a wheel, its description as the payload."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return BytesParser().parsebytes(archive.read(name))


def test_the_wheel_has_its_packages_whole_and_the_assignments_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
        commands = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        programs = {"tictac = tictac_apps.command:main", "tictac-env = tictac_apps.command:play"}
        assert programs <= set(archive.read(commands).decode().splitlines())
    assert inside - {"tictac_verifiers.py"} == {
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


def anchors(page: Path) -> set[str]:
    """The anchors that a Markdown page's headings have on GitHub."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_links_and_pictures_of_the_index_page_are_absolute_and_lead_to_files_of_the_version(built: Path) -> None:
    found = metadata(next(built.glob("*.whl")))
    text = found.get_payload(decode=True).decode()  # type: ignore[union-attr]
    urls = dict(line.split(", ") for line in found.get_all("Project-URL", []))
    assert all(url.startswith(urls["Source"]) for url in urls.values()) and not urls["Source"].endswith("/")
    prose = re.sub(r"^```.*?^```|`[^`\n]+`", "", text, flags=re.DOTALL | re.MULTILINE)
    addresses = re.findall(r"(!?)\[[^\]]*\]\(([^)\s]+)", prose)
    assert sum(bool(mark) for mark, _ in addresses) >= 3 and len(addresses) > 20
    for mark, address in addresses:
        assert address.startswith("https://"), address
        if address.startswith(urls["Source"]):
            kind, tag, rest = address.removeprefix(f"{urls['Source']}/").split("/", 2)
            assert (kind, tag) == ("raw" if mark else "blob", f"v{tictac_env.__version__}")
            file, _, anchor = rest.partition("#")
            assert (ROOT / file).is_file(), address
            assert not anchor or anchor in anchors(ROOT / file), address
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
    assert blocks.findall(text) == blocks.findall(readme)  # code is left as it is


def test_the_name_of_the_agents_package_is_kept_by_a_distribution_that_brings_this_one(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path]
    subprocess.run(command, cwd=ROOT / "tools" / "tictac-agents", check=True, capture_output=True)
    wheel = next(tmp_path.glob("*.whl"))
    found = metadata(wheel)
    assert (found["Name"], found["Version"]) == ("tictac-agents", tictac_env.__version__)
    assert found.get_all("Requires-Dist") == [f"tictac-env=={tictac_env.__version__}"]
    with zipfile.ZipFile(wheel) as archive:
        assert all(".dist-info/" in name for name in archive.namelist())


SOURCE = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Source"]


@pytest.mark.parametrize(
    ("tag", "address", "status"),
    [
        (f"v{tictac_env.__version__}", SOURCE, 0),
        (f"v{tictac_env.__version__}.1", SOURCE, 2),
        (f"v{tictac_env.__version__}", f"{SOURCE}-fork", 2),
    ],
)
def test_only_the_tag_of_the_version_in_the_repository_of_the_links_is_published(
    tag: str, address: str, status: int
) -> None:
    server, owner, name = address.rsplit("/", 2)
    told = {"GITHUB_REF_NAME": tag, "GITHUB_SERVER_URL": server, "GITHUB_REPOSITORY": f"{owner}/{name}"}
    done = subprocess.run(
        ["make", "check-tag"], cwd=ROOT, env=os.environ | told, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr


def test_the_version_is_that_of_the_citation_and_of_the_newest_changes() -> None:
    assert f"version: {tictac_env.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    changes = re.findall(
        r"^## (\S+) \((?:unreleased|\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert changes[0] == tictac_env.__version__


EXTRAS = ["rl", "human", "video", "web", "notebook", "minari", "plot", "llm"]


def test_every_direct_dependency_is_pinned_within_its_bounds() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    pinned = {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}
    assert len(pinned) == len(lines)  # none twice
    for one in requirements(ROOT / "pyproject.toml", EXTRAS):
        assert one.specifier.contains(pinned[canonicalize_name(one.name)]), one
    assert pinned["numba"].startswith(f"{NEWEST_TESTED[0]}.{NEWEST_TESTED[1]}.")


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
    only = ["tests/env/test_storage.py", "tests/apps/cli/test_solve.py"]
    options = argparse.Namespace(python=sys.executable, lowest=False, newest=False, extra=[], packages=[], only=only)
    check(next(built.glob("*.whl")), options, tmp_path)
