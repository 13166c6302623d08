"""The site of the documentation: links, pages from docstrings, notebooks, and the check of what was built."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest
from gymnasium.error import DependencyNotInstalled

import tictac_agents
from tools import check_site, docs_site

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.py"))


def site(folder: Path, **pages: str) -> Path:
    for name, body in pages.items():
        (folder / f"{name}.html").write_text(f"<html><body>{body}</body></html>")
    return folder


def test_a_site_without_faults(tmp_path: Path) -> None:
    (tmp_path / "a.png").touch()
    body = '<h1 id="top">A</h1><a href="https://example.org">out</a><a href="b.html#there">b</a><img src="a.png">'
    assert check_site.faults(site(tmp_path, index=body, b='<p id="there">')) == []


@pytest.mark.parametrize(
    "body",
    [
        '<script src="https://example.org/a.js"></script>',
        '<script src="//example.org/a.js"></script>',
        '<link rel="stylesheet" href="https://example.org/a.css">',
        '<link rel="preconnect" href="https://example.org">',
        '<img src="http://example.org/a.png">',
        '<img srcset="b.png 1x, https://example.org/a.png 2x" src="">',
        "<style>@font-face { src: url('https://example.org/a.woff2') }</style>",
        '<p style="background: url(https://example.org/a.png)">',
        '<svg><image href="https://example.org/a.png"/></svg>',
        '<pre class="mermaid">graph</pre>',
    ],
)
def test_what_is_loaded_from_elsewhere_is_found(tmp_path: Path, body: str) -> None:
    (tmp_path / "b.png").touch()
    (fault,) = check_site.faults(site(tmp_path, index=body))
    assert (fault.startswith("index.html") and "elsewhere" in fault) or "example.org" in fault


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    body = '<a href="b.html#there">b</a><a href="c.html">c</a><a href="#here">here</a><img src="a.png">'
    found = check_site.faults(site(tmp_path, index=body, b="<p>"))
    assert [fault.partition(": ")[0] for fault in found] == [
        f"index.html links to {address}" for address in ("b.html#there", "c.html", "#here", "a.png")
    ]


def test_a_style_sheet_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text('@import "https://example.org/b.css";')
    assert check_site.faults(site(tmp_path, index="")) == ["a.css loads https://example.org/b.css"]


@pytest.mark.parametrize(
    ("uri", "link", "becomes"),
    [
        ("README.md", "(tables.md#speed)", "(tables.md#speed)"),
        ("howto/agent.md", "(../../examples/plain_q_learning.py)", "(../repository/examples/plain_q_learning.py.md)"),
        ("deep.md", "(../benchmarks/results/learning.png)", "(repository/benchmarks/results/learning.png)"),
        ("repository/CONTRIBUTING.md", "(docs/new_game.md)", "(../new_game.md)"),
        ("start.md", "(notebooks/solver.py)", "(notebooks/solver.md)"),
        ("teaching/README.md", "(assignments/rules/starter.py)", "(assignments/rules/starter.py)"),
        ("notebooks/solver.md", "(../solver.md)", "(../solver.md)"),
        ("tables.md", "(https://example.org)", "(https://example.org)"),
        ("tables.md", "`x](../README.md)`", "`x](../README.md)`"),
    ],
)
def test_links_of_the_repository_become_links_of_the_site(uri: str, link: str, becomes: str) -> None:
    link, becomes = (text if text.startswith("`") else f"[x]{text}" for text in (link, becomes))
    assert docs_site.for_site(link, uri) == becomes


def test_the_site_has_the_files_that_pages_link_to() -> None:
    found = docs_site.outside()
    assert found["repository/examples/hex.py.md"] == ROOT / "examples" / "hex.py"
    assert docs_site.as_page(ROOT / "examples" / "hex.py").startswith("# `examples/hex.py`\n\n```python\n")
    assert all(path.is_file() for path in found.values())


def test_every_name_of_the_agents_has_a_page() -> None:
    """Those with pages of their own, and the helpers on theirs."""
    text = "\n".join(docs_site.pages().values())
    missing = [
        name
        for name, module in tictac_agents.HOMES.items()
        if module.startswith("tictac_agents") and f"::: {module}.{name}\n" not in text
    ]
    assert missing == []


def test_pages_show_what_there_is() -> None:
    """Whatever a page has mkdocstrings show can be imported under that name."""
    for page in docs_site.pages().values():
        for path in re.findall(r"^::: (\S+)$", page, re.MULTILINE):
            module, _, name = path.rpartition(".")
            try:
                assert hasattr(importlib.import_module(module), name), path
            except DependencyNotInstalled:  # the page needs only the source
                assert module.startswith(("tictac_agents.deep", "tictac_env.openspiel")), path


def test_an_agents_page_has_its_recorded_results() -> None:
    page = docs_site.pages()[docs_site.agent_uri("QLearning")]
    assert "| S2 | double Q |" in page and "`QLearning infallible`" in page and "MonteCarlo" not in page
    for name in ("MCTS", "Sarsa", "DQN", "FittedQ"):
        assert "## Results" in docs_site.pages()[docs_site.agent_uri(name)]


def test_every_page_is_in_the_navigation() -> None:
    yaml = pytest.importorskip("yaml")

    def entries(nav: object) -> list[str]:
        below = nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else []
        return [nav] if isinstance(nav, str) else [entry for one in below for entry in entries(one)]

    named = set(entries(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    docs = ROOT / "docs"
    pages = {path.relative_to(docs).with_suffix(".md").as_posix() for path in [*docs.rglob("*.md"), *NOTEBOOKS]}
    assert {page for page in pages - named if "/assignments/" not in page} == set()  # these are on the page on teaching
    assert {name for name in named if name.endswith(".md") and not name.startswith("repository/")} - pages == set()


def test_docstrings_get_sections_that_the_site_knows() -> None:
    text = "Learns.\n\nPresets (`X.preset(name)`):\n    S2: the first\n        of two.\n    S3-b: the other.\n"
    text += "\nExample:\n    >>> 1\n    1"
    assert docs_site.as_markdown(text) == (
        "Learns.\n\nPresets (`X.preset(name)`):\n\n* `S2`: the first\n        of two.\n* `S3-b`: the other.\n\n"
        "Examples:\n    >>> 1\n    1"
    )


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_cells_of_text_and_of_code(notebook: Path) -> None:
    text = notebook.read_text()
    assert re.match(r"# %% \[markdown\]\n# # \w", text)
    cells = re.split(r"^# %%(?: \[markdown\])?\n", text, flags=re.MULTILINE)[1:]
    assert len(cells) > 5 and all(ast.parse(cell) for cell in cells)


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    pytest.importorskip("matplotlib").use("agg")
    exec(compile(notebook.read_text(), notebook.name, "exec"), {"__name__": "__main__"})
