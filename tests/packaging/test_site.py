"""The site of the documentation: links, pages from docstrings, notebooks, and the check of what was built."""

from __future__ import annotations

import importlib
import json
import re
import tomllib
from pathlib import Path

import pytest
from gymnasium.error import DependencyNotInstalled

import tictac_agents
from tictac_apps.grading.submissions import notebook_source
from tictac_env.policies import make_policy
from tools import check_site, code_counts, docs_site

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def faults(folder: Path, **pages: str) -> list[str]:
    folder.mkdir(exist_ok=True)
    for name, body in pages.items():
        (folder / f"{name}.html").write_text(f"<html><body>{body}</body></html>")
    return check_site.faults(folder)


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.png").touch()
    body = '<h1 id="top">A</h1><a href="https://example.org">out</a><a href="b.html#there">b</a><img src="a.png">'
    assert faults(tmp_path, index=body, b='<p id="there">') == []
    wrong = ("b.html#here", "c.html", "#here", "b.png")
    body = "".join(f'<a href="{address}">x</a>' for address in wrong[:3]) + '<img src="b.png">'
    found = [fault.partition(": ")[0] for fault in faults(tmp_path / "wrong", index=body, b='<p id="there">')]
    assert found == [f"index.html links to {address}" for address in wrong]


@pytest.mark.parametrize(
    "body",
    [
        '<script src="https://example.org/a.js"></script>',
        '<script src="//example.org/a.js"></script>',
        '<link rel="stylesheet" href="https://example.org/a.css">',
        '<link rel="preconnect" href="https://example.org">',
        '<img srcset="b.png 1x, https://example.org/a.png 2x" src="">',
        "<style>@font-face { src: url('https://example.org/a.woff2') }</style>",
        '<p style="background: url(https://example.org/a.png)">',
        '<svg><image href="https://example.org/a.png"/></svg>',
        '<pre class="mermaid">graph</pre>',
    ],
)
def test_what_is_loaded_from_elsewhere_is_found(tmp_path: Path, body: str) -> None:
    (tmp_path / "b.png").touch()
    (fault,) = faults(tmp_path, index=body)
    assert fault.startswith("index.html") and ("elsewhere" in fault or "example.org" in fault)


def test_a_style_sheet_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text('@import "https://example.org/b.css";')
    assert faults(tmp_path, index="") == ["a.css loads https://example.org/b.css"]


@pytest.mark.parametrize(
    ("uri", "link", "becomes"),
    [
        ("README.md", "[x](tables.md#speed)", "[x](tables.md#speed)"),
        ("teaching/README.md", "[x](../../examples/hex.py)", "[x](../repository/examples/hex.py.md)"),
        ("deep.md", "[x](../benchmarks/results/learning.png)", "[x](repository/benchmarks/results/learning.png)"),
        ("repository/CONTRIBUTING.md", "[x](docs/new_game.md)", "[x](../new_game.md)"),
        ("start.md", "[x](notebooks/solver.ipynb)", "[x](notebooks/solver.md)"),
        ("tables.md", "[x](https://example.org)", "[x](https://example.org)"),
        ("tables.md", "`x](../README.md)`", "`x](../README.md)`"),
    ],
)
def test_links_of_the_repository_become_links_of_the_site(uri: str, link: str, becomes: str) -> None:
    assert docs_site.for_site(link, uri) == becomes


def test_a_link_to_a_game_on_the_page_to_play_is_no_anchor(tmp_path: Path) -> None:
    assert faults(tmp_path, index='<a href="#game=TicTacToe-v0">play</a>') == []


def test_the_site_has_the_files_that_pages_link_to() -> None:
    found = docs_site.outside()
    assert all(path.is_file() for path in found.values())
    text = docs_site.as_page(found["repository/examples/hex.py.md"])
    assert text.startswith("# `examples/hex.py`\n\n```python\n")


def test_pages_show_every_name_of_the_agents_and_what_there_is() -> None:
    pages = docs_site.pages()
    shown = {path for page in pages.values() for path in re.findall(r"^::: (\S+)$", page, re.MULTILINE)}
    assert {f"{module}.{name}" for name, module in tictac_agents.HOMES.items()} - shown == set()
    for path in shown:
        module, _, name = path.rpartition(".")
        try:
            assert hasattr(importlib.import_module(module), name), path
        except DependencyNotInstalled:  # the page needs only the source
            assert module.startswith(("tictac_agents.deep", "tictac_apps.bridges", "tictac_apps.language_models")), path
    page = pages[docs_site.agent_uri("QLearning")]
    assert "| S2 | double Q |" in page and "`QLearning infallible`" in page and "MonteCarlo" not in page
    for name in ("MCTS", "Sarsa", "DQN", "FittedQ"):
        assert "## Results" in pages[docs_site.agent_uri(name)]


def test_files_and_lines_are_counted_by_folder(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('tool.hatch.build.targets.wheel.packages = ["there/ours"]')
    files = {
        "__init__.py": '"""All of it."""\n',
        "parts/__init__.py": '"""Parts.\n\nMore.\n"""\n',
        "parts/one.py": "1\n2\n",
    }
    for name, text in files.items():
        (path := tmp_path / "there/ours" / name).parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert [list(row.values()) for row in code_counts.sizes(tmp_path)] == [
        ["`ours/`", "3", "7", "All of it."],
        ["`ours/parts/`", "2", "6", "Parts."],
    ]


def test_the_files_that_a_call_passes_through_are_counted_and_the_page_has_a_place_for_the_table() -> None:
    assert code_counts.files_of(lambda: make_policy("random", "TicTacToe-v0")) > 2 > code_counts.files_of(dict)
    assert (ROOT / "docs/architecture.md").read_text(encoding="utf-8").count(code_counts.MARK) == 1


def test_every_page_is_in_the_navigation() -> None:
    settings = tomllib.loads(docs_site.with_navigation((ROOT / "zensical.toml").read_text(encoding="utf-8")))
    nav = settings["project"]["nav"]
    named = {name for name in re.findall(r"'([^']+\.md)'", str(nav)) if not name.startswith("repository/")}
    docs = ROOT / "docs"
    pages = {path.relative_to(docs).with_suffix(".md").as_posix() for path in [*docs.rglob("*.md"), *NOTEBOOKS]}
    pages = {page for page in pages if "/assignments/" not in page}  # these are on the page on teaching
    assert pages | set(docs_site.pages()) == named


def test_language_models_get_the_docstrings_and_a_list_of_the_pages(tmp_path: Path) -> None:
    page = docs_site.pages()[docs_site.agent_uri("QLearning")]
    text = docs_site.as_text(page)
    assert ":::" in page and ":::" not in text
    assert str(tictac_agents.QLearning.__doc__).partition("\n")[0] in text
    texts = {uri: f"# Title of {uri}\n\nText.\n" for uri in ("a.md", "deep/b.md")}
    listing = docs_site.llms_txt(
        [{"Start": ["a.md"]}, {"Play": "play/index.html"}, {"More": [{"Below": [{"B": "deep/b.md"}]}]}], texts
    )
    assert re.findall(r"^## (.+)$", listing, re.MULTILINE) == ["Start", "More"]
    assert check_site.LISTED.findall(listing) == ["a.md", "deep/b.md"]
    (tmp_path / "llms.txt").write_text(listing)
    (tmp_path / "a.md").touch()
    (fault,) = check_site.faults(tmp_path)
    assert "deep/b.md" in fault


def test_docstrings_get_sections_that_the_site_knows() -> None:
    text = "Learns.\n\nPresets (`X.preset(name)`):\n    S2: the first\n        of two.\n    S3-b: the other.\n"
    shown = "Learns.\n\nPresets (`X.preset(name)`):\n\n* `S2`: the first\n        of two.\n* `S3-b`: the other.\n\n"
    assert docs_site.as_markdown(f"{text}\nExample:\n    >>> 1\n    1") == f"{shown}Examples:\n    >>> 1\n    1"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(notebook: Path) -> None:
    found = json.loads(notebook.read_text(encoding="utf-8"))
    code = [cell for cell in found["cells"] if cell["cell_type"] == "code"]
    assert code and all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert found["metadata"]["kernelspec"]["name"] == "python3"  # so that it opens without a question


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    pytest.importorskip("matplotlib").use("agg")
    exec(compile(notebook_source(notebook), notebook.name, "exec"), {"__name__": "__main__"})
