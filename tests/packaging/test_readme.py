"""The examples of the README and of the docs run as they stand."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = {
    f"{page.name}, example {number}": block
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL), 1)
}


def test_there_are_examples():
    assert len(BLOCKS) >= 5


@pytest.mark.parametrize("name", BLOCKS)
def test_an_example_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[name], name, "exec"), {"__name__": "__main__"})
