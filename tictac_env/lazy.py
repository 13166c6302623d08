"""Imports at run time: of names when first used, of modules that a user names, and of extras."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

from gymnasium.error import DependencyNotInstalled


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
        value = getattr(importlib.import_module(home_of[name]), name)
        setattr(sys.modules[package], name, value)  # Python calls `__getattr__` once for each name
        return value

    return get_attribute


def see_current_folder() -> None:
    """Lets this process import modules of the current folder that a user names; all others come first.

    Our processes run with `-P`: of Python's own accord a file named `random.py` there would hide Python's.
    """
    with suppress(FileNotFoundError):  # the folder was deleted
        if (folder := os.getcwd()) not in sys.path:
            sys.path.append(folder)


class Undivided:
    """A block of third-party code that this process leaves alone, also if the code calls `os.fork`.

    A copy of the process is ended when it leaves the block: it would continue the program beside the original.
    """

    __slots__ = ("process",)

    def __enter__(self) -> None:
        self.process = os.getpid()

    def __exit__(self, *error: object) -> None:
        if os.getpid() != self.process:
            os._exit(1)


def import_named(module: str, name: str) -> ModuleType:
    """Imports the module that the user named within `name`.

    Raises:
        ValueError: there is no such module; the message quotes `name`.
        ModuleNotFoundError: the module exists, but not one that it imports.
    """
    try:
        with Undivided():
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise ValueError(f"{name!r}: there is no module {error.name!r}") from None


@contextmanager
def needing(why: str, extra: str = "", package: str = "") -> Iterator[None]:
    """Imports packages of one of our extras, or a package that none of them has, within the block.

    Args:
        why: the beginning of the message if one is missing, such as "Stable-Baselines3 is missing".
        extra: the name of the extra in `pyproject.toml`.
        package: the package and its versions as pip takes them, if it is in no extra.

    Raises:
        DependencyNotInstalled: one is missing; the message names the line that installs it.
    """
    try:
        yield
    except ImportError as error:
        raise DependencyNotInstalled(f'{why}: pip install "{package or f"tictac-env[{extra}]"}"') from error
