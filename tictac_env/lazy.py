"""Names of a package that are imported when they are first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def lazily(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """A package's `__getattr__` (PEP 562), which imports some of its names when they are first used.

    Args:
        package: the package's `__name__`.
        homes: the names that each module has.
    """
    home_of = {name: module for module, names in homes.items() for name in names}

    def get_attribute(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(home_of[name]), name)
        setattr(sys.modules[package], name, found)  # Python asks once
        return found

    return get_attribute
