"""The examples of the README and of the docs run as they stand, and their links lead somewhere."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = {
    f"{page.relative_to(ROOT)}, example {number}": block
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL), 1)
}
TORCH = re.compile(r"stable_baselines3|sb3_contrib|\bDQN\b|MaskablePPO")
TRAINING = {name for name, block in BLOCKS.items() if TORCH.search(block) and "learn(" in block}
"""Those that train a network."""


def test_there_are_examples() -> None:
    assert len(BLOCKS) >= 20


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in TRAINING else []) for name in BLOCKS]
)
def test_an_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[name], name, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("name", sorted(TRAINING))
def test_examples_train_small_networks_on_one_thread(name: str) -> None:
    """With as many threads as cores they take many times as long."""
    assert "torch.set_num_threads(1)" in BLOCKS[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$|`[^`\n]+`", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\((?!https?:)([^)#]+)", prose)
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 170


def test_the_picture_is_what_the_tool_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = importlib.import_module("tools.boards_picture")
    monkeypatch.setattr("sys.argv", ["boards_picture.py", "--output", str(tmp_path / "boards.svg")])
    script.main()
    assert (tmp_path / "boards.svg").read_text() == script.PICTURE.read_text()
