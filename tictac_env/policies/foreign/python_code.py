"""What somebody else's Python defines. Modules and files are run, with all the rights of whoever runs this."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from tictac_env.games import did_you_mean
from tictac_env.lazy import import_named


def object_named(text: str) -> Any:
    """What "module:name" or "file.py:name" names.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: there is no such module; the file cannot be run; or there is nothing of that name.
        ModuleNotFoundError: the module is there, and what it imports is not.
    """
    place, _, name = text.rpartition(":")
    if place.endswith(".py"):
        found = vars(run_file(Path(place)))
        if name not in found:
            own = [known for known in found if not known.startswith("_")]
            raise ValueError(f"{text!r}: the file {place} has no {name!r}; {did_you_mean(name, own)}")
        return found[name]
    if not (place and name):
        raise ValueError(f'{text!r} is neither "module:name" nor "file.py:name"')
    home = import_named(place, text)
    if not hasattr(home, name):
        raise ValueError(f"{text!r}: the module {place!r} has no {name!r}")
    return getattr(home, name)


def last_callable(path: Path) -> Any:
    """The last name in a Python file that can be called: by this rule Kaggle finds the agent in a submission.

    The order is that in which names were first bound; imported ones count.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it cannot be run, or has nothing that can be called.
    """
    found = [value for value in vars(run_file(path)).values() if callable(value)]
    if not found:
        raise ValueError(f"{path} has nothing that can be called, so it is no submission")
    return found[-1]


def run_file(path: Path) -> ModuleType:
    """A Python file as a module. Modules beside it can be imported, at once and later.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no Python, or raises an error; the message names both.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    target = path.resolve()
    module = ModuleType(f"tictac_player_{target.stem}")
    module.__file__ = str(target)
    sys.modules[module.__name__] = module  # where dataclasses look for it
    if str(target.parent) not in sys.path:
        sys.path.append(str(target.parent))
    try:
        exec(compile(target.read_bytes(), str(target), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        where = getattr(error, "lineno", None) or _line_in(error, str(target))
        at = f", line {where}" if where else ""
        raise ValueError(f"{path} cannot be run as Python: {type(error).__name__}: {error}{at}") from error
    return module


def places(function: Any, most: int) -> int:
    """How many arguments, at most so many, a function can be given by their places."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some functions written in C do not say
        return most
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return most
    return min(most, sum(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in parameters))


def _line_in(error: BaseException, file: str) -> int | None:
    """The last line of `file` on an error's way."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
