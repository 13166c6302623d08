"""Public names are documented: every name of an `__all__` has a docstring with an example, which the doctests run."""

from __future__ import annotations

import importlib
import inspect
import pydoc
from pathlib import Path
from typing import Any

import pytest
from gymnasium.error import DependencyNotInstalled

import tictac_agents
import tictac_apps
import tictac_env
from tools.docs_site import declared

INTERNAL = ("tictac_env.compiled",)
"""For those who work on the packages: documented, without examples, as each would have to be compiled."""


PACKAGES = "tictac_env", "tictac_agents", "tictac_apps"


def ours(thing: Any) -> bool:
    return (getattr(thing, "__module__", None) or "").partition(".")[0] in PACKAGES


def public() -> dict[str, Any]:
    """Every public class and function of ours, by the path of its definition."""
    modules = ["tictac_agents"]  # lists its names when it is asked
    for package in (tictac_env, tictac_agents, tictac_apps):
        root = Path(str(package.__file__)).parent
        for path in sorted(path for path in root.rglob("*.py") if declared(path)):
            parts = (package.__name__, *path.relative_to(root).with_suffix("").parts)
            modules.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    found = {}
    for module in modules:
        try:
            home = importlib.import_module(module)
        except DependencyNotInstalled:
            continue
        for name in home.__all__:
            thing = getattr(home, name)
            if (inspect.isclass(thing) or inspect.isroutine(thing)) and ours(thing):
                found[f"{thing.__module__}.{thing.__qualname__}"] = thing
            elif callable(thing) and hasattr(thing, "__wrapped__"):  # cached
                found[f"{module}.{name}"] = thing.__wrapped__
    return found


PUBLIC = public()
CLASSES = sorted(path for path, thing in PUBLIC.items() if inspect.isclass(thing))


def test_every_public_name_is_documented_with_an_example() -> None:
    assert len(PUBLIC) > 100 and len(CLASSES) > 50
    assert [path for path, thing in PUBLIC.items() if not thing.__doc__] == []
    examples = {path for path, thing in PUBLIC.items() if ">>>" in (thing.__doc__ or "")}
    assert [path for path in PUBLIC if path not in examples and not path.startswith(INTERNAL)] == []


@pytest.mark.parametrize("path", CLASSES)
def test_help_of_a_class_describes_it_and_its_methods(path: str) -> None:
    thing = PUBLIC[path]
    assert (inspect.getdoc(thing) or "").partition("\n")[0].strip() in pydoc.plain(pydoc.render_doc(thing))
    methods = (name for name, one in inspect.getmembers(thing, inspect.isroutine) if name[0] != "_" and ours(one))
    assert [name for name in methods if not inspect.getdoc(getattr(thing, name))] == []
