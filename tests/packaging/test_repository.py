"""Files, workflows, the image and the list of mutations fit the tree."""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tools.mutations import edits

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
LARGEST = 5_000_000


def test_files_are_small_and_without_marks_of_a_merge() -> None:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a checkout")
    files = [path for name in listed.stdout.split("\0")[:-1] if (path := ROOT / name).is_symlink() or path.exists()]
    assert [path for path in files if path.is_symlink() or path.stat().st_size > LARGEST] == []
    marks = (b"<" * 7 + b" ", b">" * 7 + b" ")
    assert [path for path in files if any(line.startswith(marks) for line in path.read_bytes().splitlines())] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_targets_of_make_by_pinned_actions_in_bounded_time(path: Path) -> None:
    """A tag of an action can be moved to other code, a commit cannot."""
    jobs: dict[str, dict[str, Any]] = pytest.importorskip("yaml").safe_load(path.read_text())["jobs"]
    assert "permissions: {contents: read}" in path.read_text()
    for job in jobs.values():
        if called := job.get("uses"):
            assert (ROOT / called).is_file()
            continue
        assert job["timeout-minutes"] <= 120
        for step in job["steps"]:
            if "run" in step:
                program, *targets = shlex.split(step["run"])
                assert program == "make" and targets and set(targets) <= TARGETS
            else:
                assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"])
    if path.stem in ("tests", "wheel"):
        claimed = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
        assert any(job.get("strategy", {}).get("matrix", {}).get("python") == claimed for job in jobs.values())


def test_the_image_copies_what_the_wheel_is_made_of_and_ends_as_an_unprivileged_user() -> None:
    lines = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    copies = [rest.split()[:-1] for word, rest in steps if word == "COPY" and "--from" not in rest]
    copied = {source for sources in copies for source in sources if source != "./"}
    assert all((ROOT / source).exists() for source in copied)
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert {*wheel["force-include"]} <= copied and {name.split("/")[0] for name in wheel["packages"]} <= copied
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert copied <= allowed
    users = [number for number, (word, _) in enumerate(steps) if word == "USER"]
    assert int(steps[users[-1]][1]) > 0  # a number, so that whoever starts the image sees that it is not root
    assert any(rest.startswith("tictac warm") for _, rest in steps[users[-1] :])
    assert steps[-1][1].startswith('["tictac", "serve"')


def test_each_mutation_changes_one_place_and_names_tests_that_are_there() -> None:
    for edit in edits():
        before = (ROOT / edit.file).read_text(encoding="utf-8")
        assert edit.applied(before) != before
        assert all((ROOT / test).exists() for test in edit.tests.split())
    parts = Counter(edit.part for edit in edits())
    assert sum(parts.values()) == len(set(edits())) >= 100 and min(parts.values()) >= 5
