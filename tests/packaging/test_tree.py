"""What git has is whole: nothing of an unfinished merge, no links, and no large files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LARGEST = 5_000_000


@pytest.fixture(scope="module")
def files() -> list[Path]:
    """The files that git has, or would have after `git add --all`."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a checkout")
    return [path for name in listed.stdout.split("\0")[:-1] if (path := ROOT / name).is_symlink() or path.exists()]


def test_no_file_has_marks_of_a_merge(files: list[Path]) -> None:
    marks = (b"<" * 7 + b" ", b">" * 7 + b" ")
    marked = [path for path in files if any(line.startswith(marks) for line in path.read_bytes().splitlines())]
    assert marked == []


def test_files_are_files_and_small(files: list[Path]) -> None:
    assert [path for path in files if path.is_symlink() or not path.is_file()] == []
    assert [path for path in files if path.stat().st_size > LARGEST] == []
