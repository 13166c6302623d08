"""Makes the site of the documentation, in build/site.

    python tools/docs_site.py

Every page is first written as Markdown, in build/docs; Zensical makes the site of these (`zensical.toml`). The pages in
docs/ are copied. Three kinds of page are made, so that nothing is written twice: a page for each environment, agent and
package from the docstrings, which mkdocstrings shows; the notebooks with their outputs; and a copy of every file of the
repository that a page links to. In `play/` is the page without a server. Language models read the same pages as
Markdown, next to the HTML; `llms.txt` lists them.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import inspect
import json
import os
import posixpath
import pydoc
import re
import shutil
import time
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from gymnasium.error import DependencyNotInstalled

import tictac_agents
import tictac_apps
import tictac_env
from benchmarks.published import SYSTEMS
from tictac_apps.web.export import export_page
from tictac_env.envs.entry_points import PAGES
from tools import code_counts
from tools.results_tables import TABLES, Table, markdown

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PLAY = "play"
"""The folder of the page that plays without a server."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    import zensical

    build = ROOT / "build"
    for folder in ("docs", "site"):
        shutil.rmtree(build / folder, ignore_errors=True)
    texts = write_sources(build / "docs")
    settings = with_navigation((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    write(build, {"zensical.toml": settings})
    try:
        zensical.build(str(build / "zensical.toml"), {"strict": True, "clean": True})
    except RuntimeError as error:  # the faults are printed
        raise SystemExit(f"the site has faults: {error}") from None
    texts = {uri: as_text(text) for uri, text in texts.items()}
    write(build / "site", texts | {"llms.txt": llms_txt(tomllib.loads(settings)["project"]["nav"], texts)})


def write_sources(folder: Path) -> dict[str, str]:
    """Writes all that the site is made of; returns the Markdown of each page by its place."""
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    export_page(folder / PLAY)
    texts = {uri_of(page): page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")} | pages()
    texts["architecture.md"] = texts["architecture.md"].replace(code_counts.MARK, code_counts.tables())
    for uri, path in outside().items():
        if uri.endswith(".md"):
            texts[uri] = as_page(path)
        else:
            (folder / uri).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / uri)
    for notebook in sorted(DOCS.glob("notebooks/*.ipynb")):
        texts[uri_of(notebook)] = notebook_page(notebook, folder / "notebooks")
    texts = {uri: for_site(text, uri) for uri, text in texts.items()}
    write(folder, texts)
    return texts


def write(folder: Path, texts: Mapping[str, str]) -> None:
    """Writes texts by their places in a folder."""
    for uri, text in texts.items():
        (folder / uri).parent.mkdir(parents=True, exist_ok=True)
        (folder / uri).write_text(text, encoding="utf-8")


def with_navigation(settings: str) -> str:
    """The text of zensical.toml, each entry `{generated = KIND}` replaced with all pages of a kind."""

    def entries(found: re.Match[str]) -> str:
        return json.dumps(navigation(found[1]), separators=(", ", " = "))[1:-1]  # which is TOML, too

    return re.sub(r'\{generated = "(\w+)"\}', entries, settings)


# Links: in the repository they lead to its files, in the site to its pages and to copies below `repository/`.

LINK = re.compile(r"(?<=\]\()(?!\w+:)([^)\s#]+)((?:#[^)\s]*)?)(?=\))")
"""The target of a Markdown link that is no address, and its anchor."""
FENCED = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
SHOWN = {".py": "python", ".toml": "toml", ".yml": "yaml", ".sh": "sh", "": "text"}
"""Programs and settings, which the site shows as pages, and the language of each."""


def for_site(markdown: str, uri: str) -> str:
    """A page's text with its links as the site has them.

    Args:
        markdown: the text.
        uri: the page's place in the site's sources, such as "teaching/README.md".
    """

    def link(found: re.Match[str]) -> str:
        target = ROOT / posixpath.normpath(posixpath.join(posixpath.dirname(home_of(uri)), found[1]))
        if not target.exists() or target.is_dir():
            return found[0]  # a generated page, or a mistake that Zensical reports
        return posixpath.relpath(uri_of(target), posixpath.dirname(uri) or ".") + found[2]

    return "".join(part if part.startswith("`") else LINK.sub(link, part) for part in FENCED.split(markdown))


def home_of(uri: str) -> str:
    """The place of a page's source in the repository."""
    inside = uri.removeprefix("repository/")
    return inside if inside != uri else f"docs/{uri}"


def uri_of(path: Path) -> str:
    """The place of a file of the repository in the site."""
    name = path.relative_to(ROOT).as_posix()
    if name.startswith("docs/notebooks/"):
        return name.removeprefix("docs/").replace(".ipynb", ".md")  # its page, with the outputs
    if name.startswith("docs/"):
        return name.removeprefix("docs/")
    if path.suffix in SHOWN:
        return f"repository/{name}.md"
    return f"repository/{name}"


def outside() -> dict[str, Path]:
    """The files beyond docs/ that pages link to, and those that these pages link to: place in the site -> file."""
    found: dict[str, Path] = {}
    waiting = sorted(DOCS.rglob("*.md"))
    while waiting:
        for path in linked(waiting.pop()):
            uri = uri_of(path)
            if uri.startswith("repository/") and uri not in found:
                found[uri] = path
                if path.suffix == ".md":
                    waiting.append(path)
    return found


def linked(page: Path) -> Iterator[Path]:
    """The files of the repository that a page links to."""
    for part in FENCED.split(page.read_text(encoding="utf-8")):
        for found in () if part.startswith("`") else LINK.finditer(part):
            path = (page.parent / found[1]).resolve()
            if path.is_file() and path.is_relative_to(ROOT):
                yield path


def as_page(path: Path) -> str:
    """A file of the repository as the text of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    return f"# `{path.relative_to(ROOT)}`\n\n```{SHOWN[path.suffix]}\n{text.rstrip()}\n```\n"


# For language models: the pages as Markdown, and their list in the form of llmstxt.org.

DIRECTIVE = re.compile(r"^::: (\S+)\n(?: .*\n?)*", re.MULTILINE)
"""The lines by which mkdocstrings shows an object's docstring."""


def as_text(markdown: str) -> str:
    """A page as Markdown alone, with the docstrings that mkdocstrings would show."""
    return DIRECTIVE.sub(lambda found: f"## `{found[1]}`\n\n{docstring(found[1])}\n", markdown)


def docstring(path: str) -> str:
    """The docstring of a class or function by its path; "" if it has none, or its extra is missing."""
    with contextlib.suppress(ImportError, pydoc.ErrorDuringImport):
        return as_markdown(inspect.getdoc(pydoc.locate(path)) or "")
    return ""


def llms_txt(entries: list[Any], texts: Mapping[str, str]) -> str:
    """The list of the pages by the sections of the navigation, each with its title.

    Args:
        entries: the navigation, as zensical.toml has it: places of pages, alone or by a title, or lists by theirs.
        texts: the Markdown of each page by its place.
    """
    summary = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["description"]
    parts = [f"# tictac-env\n\n> {summary}\n"]
    for section in entries:
        [(title, below)] = section.items()
        if isinstance(below, list):  # "Play" has no text
            links = (f"- [{texts[uri].partition(chr(10))[0].removeprefix('# ')}]({uri})" for uri in _places(below))
            parts.append("\n".join((f"## {title}\n", *links, "")))
    return "\n".join(parts)


def _places(entries: list[Any]) -> Iterator[str]:
    """The places of the pages in a part of the navigation."""
    for entry in entries:
        below = next(iter(entry.values())) if isinstance(entry, dict) else entry
        yield from _places(below) if isinstance(below, list) else (below,)


# Notebooks: executed, and shown with their outputs.

SECONDS = 300
"""The most that a cell may take."""


def notebook_page(source: Path, folder: Path) -> str:
    """The page of a notebook; its pictures are written below a folder.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raised; the message shows the cell and the error.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbconvert import MarkdownExporter

    notebook = nbformat.read(source, as_version=4)
    began = time.perf_counter()
    paths = [str(ROOT), str(ROOT / "agents"), str(ROOT / "apps"), os.environ.get("PYTHONPATH", "")]
    os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, paths)), OMP_NUM_THREADS="1")
    NotebookClient(notebook, timeout=SECONDS, kernel_name="python3").execute()
    seconds = time.perf_counter() - began
    name = source.stem
    text, resources = MarkdownExporter().from_notebook_node(notebook, {"unique_key": name, "output_files_dir": name})
    title, _, rest = text.lstrip().partition("\n")
    download = f'<a href="{source.name}" download>{source.name}</a>'  # a Markdown link would lead to this page
    note = f"*A notebook, run when these pages were built, in {seconds:.0f} seconds: {download}.*"
    for place, picture in resources["outputs"].items():
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).write_bytes(picture)
    return f"{title}\n\n{note}\n{rest}"


# Pages from docstrings. An agent's page adds its rows of the recorded results.

ENVIRONMENTS = {
    "Many boards": "tictac_env.envs.vector.vector_env.BoardVectorEnv",
    "PettingZoo": "tictac_env.envs.aec.BoardAECEnv",
    "Any PettingZoo game": "tictac_env.wrappers.OpponentPolicyEnv",
    "What all boards have": "tictac_env.envs.single.BoardEnv",
}
"""Pages beyond those of registered games: title -> class."""


class Family(NamedTuple):
    """Agents of one kind, and the pages about them."""

    agents: tuple[str, ...]
    pages: tuple[str, ...]
    tables: tuple[str, ...] = ()
    """Recorded results of all of them."""


def agents_in(folder: str) -> tuple[str, ...]:
    """The agents whose modules are in a folder of `tictac_agents`."""
    return tuple(name for name, agent in tictac_agents.AGENTS.items() if agent.home.startswith(f"{folder}."))


FAMILIES = {
    "Tables": Family(agents_in("tabular"), ("tables.md", "reproduction.md")),
    "Planning": Family(agents_in("planning"), ("tables.md", "reproduction.md")),
    "Tree search": Family(agents_in("mcts"), ("search.md", "reproduction.md")),
    "N-tuple networks": Family(agents_in("ntuple"), ("ntuple.md",), ("ntuple",)),
    "AlphaZero": Family(agents_in("alphazero"), ("alphazero.md",)),
    "Deep agents": Family(agents_in("deep"), ("deep.md",), ("deep-agents",)),
    "Published systems": Family(agents_in("published"), ("reproduction.md", "tables.md", "search.md", "deep.md")),
}
RESULTS = {
    "systems": "Against random play, won / drawn / lost in per cent: published, and ours",
    "verdicts": "Judged exactly, with the settings of the main tournament",
    "ntuple": "Five minutes of learning, judged",
    "deep-agents": "Tic-tac-toe",
}
"""The recorded tables that agents' pages show, and their titles."""
USED = ("preset", "learn", "act", "act_many", "probabilities", "predict", "save", "load", "resume", "network")
"""The inherited methods that an agent's page shows."""
INTERNAL = ("tictac_env.compiled",)
"""Packages for those who work on this one: they have no page."""


@cache
def pages() -> dict[str, str]:
    """Every generated page: its place in the site's sources -> its text."""
    made = {
        f"reference/environments/{slug(title)}.md": class_page(title, path) for title, path in environments().items()
    }
    made |= {agent_uri(name): agent_page(name, family) for family in FAMILIES.values() for name in family.agents}
    made |= {package_uri(package): package_page(package) for package in packages()}
    made["reference/api/tictac_agents.md"] = helpers_page()
    return made


def navigation(kind: str) -> list[Any]:
    """The navigation's entries of a kind of page: "environments", "agents" or "packages"."""
    if kind == "environments":
        return [{title: f"reference/environments/{slug(title)}.md"} for title in environments()]
    if kind == "agents":
        return [{title: [{name: agent_uri(name)} for name in family.agents]} for title, family in FAMILIES.items()]
    if kind == "packages":
        return [{name: package_uri(name)} for name in (*packages(), "tictac_agents")]
    raise ValueError(f"there are no generated pages of the kind {kind!r}")


def environments() -> dict[str, str]:
    """Title -> class of every environment's page."""
    return {name: page.replace(":", ".") for name, page in PAGES.items()} | ENVIRONMENTS


def slug(title: str) -> str:
    return re.sub(r"\W+", "_", title.lower()).strip("_")


def agent_uri(name: str) -> str:
    return f"reference/agents/{name}.md"


def package_uri(name: str) -> str:
    return f"reference/api/{name}.md"


def class_page(title: str, path: str) -> str:
    """A page that is a class's docstring, then its methods."""
    return f"# {title}\n\n{shown(path)}"


def shown(path: str, heading: bool = False, inherited: tuple[str, ...] = ()) -> str:
    """The lines by which mkdocstrings shows an object's docstring."""
    options = {"show_root_heading": str(heading).lower(), "heading_level": "2"}
    if inherited:
        options["inherited_members"] = f"[{', '.join(inherited)}]"
    lines = "".join(f"      {name}: {value}\n" for name, value in options.items())
    return f"::: {path}\n    options:\n{lines}"


def agent_page(name: str, family: Family) -> str:
    """An agent: its import, its docstring, its results, and the pages about it."""
    uri = agent_uri(name)
    further = ", ".join(
        f"[{title_of(page)}]({posixpath.relpath(page, posixpath.dirname(uri))})" for page in family.pages
    )
    parts = [
        f"# {name}",
        f"`from tictac_agents import {name}`. Read on: {further}.",
        shown(tictac_agents.HOMES[name] + f".{name}", inherited=USED),
    ]
    results = [f"### {RESULTS[table]}\n\n{markdown(rows)}" for table, rows in results_of(name, family).items()]
    if results:
        parts += ["## Results", *results]
    return "\n\n".join(parts) + "\n"


def results_of(name: str, family: Family) -> dict[str, Table]:
    """The rows of the recorded tables that are an agent's."""
    published = {(case.system, case.name) for case in SYSTEMS if case.run.partition(":")[0] == name}
    chosen = {
        "systems": [row for row in TABLES["systems"]() if (row["system"], row["learner"]) in published],
        "verdicts": [row for row in TABLES["verdicts"]() if plays_as(row["player"]) == name],
    }
    chosen |= {table: TABLES[table]() for table in family.tables}
    return {table: rows for table, rows in chosen.items() if rows}


def plays_as(player: str) -> str:
    """The class of a player in the tables of the tournament: "`QLearning infallible`" is a QLearning."""
    name = player.strip("`").partition(" ")[0]
    return "MCTS" if name.startswith("mcts") else name


@cache
def title_of(page: str) -> str:
    """The first heading of a page in docs/."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return text.partition("\n")[0].removeprefix("# ")


@cache
def packages() -> dict[str, tuple[str, ...]]:
    """The modules of `tictac_env` and `tictac_apps` with an `__all__`, and these names; the smaller ones first."""
    roots = [Path(package.__file__).parent for package in (tictac_env, tictac_apps)]
    found = {}
    for home, path in [(root, path) for root in roots for path in sorted(root.rglob("*.py"))]:
        parts = (home.name, *path.relative_to(home).with_suffix("").parts)
        names = declared(path)
        package = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if names and package not in INTERNAL:
            found[package] = names
    return {name: found[name] for name in sorted(found, key=lambda name: (-name.count("."), name))}


def declared(path: Path) -> tuple[str, ...]:
    """The names in a module's `__all__`."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return tuple(ast.literal_eval(node.value))
    return ()


@cache
def homes() -> dict[str, str]:
    """Each public object of `tictac_env`, by the path of its definition: the page that documents it."""
    found: dict[str, str] = {}
    for package, names in packages().items():
        for name in names:
            found.setdefault(defined(package, name), package)
    return found


def defined(package: str, name: str) -> str:
    """The path of the definition of a public name."""
    try:
        thing = getattr(importlib.import_module(package), name)
    except DependencyNotInstalled:  # a package for an extra that is not here: its source can be read all the same
        return f"{package}.{name}"
    module = getattr(thing, "__module__", None)
    inside = (
        isinstance(module, str) and module.startswith(("tictac_env", "tictac_apps")) and hasattr(thing, "__qualname__")
    )
    return f"{module}.{thing.__qualname__}" if inside else f"{package}.{name}"


def package_page(package: str) -> str:
    """A package: its docstring, and each public name's."""
    source = Path(str(find_spec(package).origin)).read_text(encoding="utf-8")  # type: ignore[union-attr]
    parts = [f"# {package}", ast.get_docstring(ast.parse(source)) or ""]
    for name in packages()[package]:
        path = defined(package, name)
        if homes()[path] == package:
            parts.append(shown(path, heading=True))
        else:
            parts.append(f"## {name}\n\nSee [{path}][].")
    return "\n\n".join(parts) + "\n"


def helpers_page() -> str:
    """The other names of `tictac_agents`."""
    agents = {name for family in FAMILIES.values() for name in family.agents}
    parts = [
        "# tictac_agents: callbacks and helpers",
        "The agents have pages of their own. `tictac_agents` also has:",
    ]
    for name, module in sorted(tictac_agents.HOMES.items()):
        if name not in agents and f"{module}.{name}" not in homes():
            parts.append(shown(f"{module}.{name}", heading=True))
    return "\n\n".join(parts) + "\n"


EXAMPLE = re.compile(r"^Example:$", re.MULTILINE)
LISTED = re.compile(r"^(Presets .*:)\n((?:    .*\n?|\n)+)", re.MULTILINE)
"""A list that is no section of Google's: its entries are indented below, each as `name: text`."""


def as_markdown(text: str) -> str:
    """A docstring with its odd sections in Markdown."""
    return LISTED.sub(_list, EXAMPLE.sub("Examples:", text))


def _list(found: re.Match[str]) -> str:
    entries = re.sub(r"^    (?! )([\w-]+):", r"* `\1`:", found[2].rstrip("\n"), flags=re.MULTILINE)
    return f"{found[1]}\n\n{entries}\n\n"


with contextlib.suppress(ImportError):  # an extension of Griffe's, which is there when the site is built
    import griffe

    class Docstrings(griffe.Extension):
        """Turns `Example:` into the section that shows doctests, and lists of presets into Markdown lists."""

        def on_object(self, *, obj: griffe.Object, loader: griffe.GriffeLoader, **kwargs: Any) -> None:
            """Called for every module, class, function and attribute that is read."""
            if obj.docstring is not None:
                text = obj.docstring.value
                if "{settings}" in text:  # which the class fills in from its settings
                    text = docstring(obj.path) or text
                obj.docstring.value = as_markdown(text)


if __name__ == "__main__":
    main()
