"""The pages of environments, agents and packages: mostly the docstrings of their classes, which mkdocstrings shows.

No sentence about a class is written here. An agent's page adds its rows of the recorded results.
"""

from __future__ import annotations

import ast
import importlib
import posixpath
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from gymnasium.error import DependencyNotInstalled

import tictac_agents
import tictac_env
from benchmarks.published import SYSTEMS
from tictac_env.envs.entry_points import PAGES
from tools.results_tables import TABLES, Table, markdown

ENVIRONMENTS = {
    "Many boards": "tictac_env.envs.vector.vector_env.BoardVectorEnv",
    "PettingZoo": "tictac_env.envs.aec.BoardAECEnv",
    "Any PettingZoo game": "tictac_env.wrappers.OpponentPolicyEnv",
    "What all boards have": "tictac_env.envs.single.BoardEnv",
}
"""Those that are no page of a registered game: title -> class."""


class Family(NamedTuple):
    """Agents of one kind, and where to read on about them."""

    agents: tuple[str, ...]
    pages: tuple[str, ...]
    tables: tuple[str, ...] = ()
    """Recorded results that are theirs altogether."""


FAMILIES = {
    "Tables": Family(("QLearning", "Sarsa", "MonteCarlo", "ValueTD", "S0ValueTD"), ("tables.md", "reproduction.md")),
    "Planning": Family(("ValueIteration", "PolicyIteration"), ("tables.md", "reproduction.md")),
    "Tree search": Family(("MCTS", "GameTree"), ("search.md", "reproduction.md")),
    "N-tuple networks": Family(("NTupleTD", "NTupleNetwork"), ("ntuple.md",), ("ntuple",)),
    "Deep agents": Family(("DQN", "MaskablePPO"), ("deep.md",), ("deep-agents",)),
    "Published networks": Family(("S2Network", "FittedQ"), ("deep.md", "reproduction.md")),
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


def class_page(title: str, path: str, members: bool = True) -> str:
    """A page that is a class's docstring, then its methods."""
    return f"# {title}\n\n{shown(path, members)}"


def shown(
    path: str, members: bool = True, heading: bool = False, level: int = 2, inherited: tuple[str, ...] = ()
) -> str:
    """The lines that have mkdocstrings show an object's docstring."""
    options = {
        "show_root_heading": str(heading).lower(),
        "heading_level": level,
        "members": "" if members else "false",
        "inherited_members": f"[{', '.join(inherited)}]" if inherited else "",
    }
    lines = "".join(f"      {name}: {value}\n" for name, value in options.items() if value != "")
    return f"::: {path}\n    options:\n{lines}"


def agent_page(name: str, family: Family) -> str:
    """An agent: how to import it, its docstring, its results, and where to read on."""
    uri = agent_uri(name)
    further = ", ".join(
        f"[{title_of(page)}]({posixpath.relpath(page, posixpath.dirname(uri))})" for page in family.pages
    )
    parts = [
        f"# {name}",
        f"`from tictac_agents import {name}`. Read on: {further}.",
        shown(tictac_agents._HOME[name] + f".{name}", inherited=USED),
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
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    return text.partition("\n")[0].removeprefix("# ")


@cache
def packages() -> dict[str, tuple[str, ...]]:
    """The modules of `tictac_env` that say what is public (`__all__`), and these names; the smaller ones first."""
    root = Path(tictac_env.__file__).parent
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = ("tictac_env", *path.relative_to(root).with_suffix("").parts)
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
    inside = isinstance(module, str) and module.startswith("tictac_env") and hasattr(thing, "__qualname__")
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
    """What `tictac_agents` has beside agents."""
    agents = {name for family in FAMILIES.values() for name in family.agents}
    parts = [
        "# tictac_agents: callbacks and helpers",
        "The agents have pages of their own. Beside them, `tictac_agents` has:",
    ]
    for name, module in sorted(tictac_agents._HOME.items()):
        if name not in agents and module.startswith("tictac_agents"):
            parts.append(shown(f"{module}.{name}", heading=True))
    return "\n\n".join(parts) + "\n"
