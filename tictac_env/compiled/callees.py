"""What a compiled function calls: plain functions, which are compiled with it, and how to know when one has changed."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import numpy as np
from numba.extending import register_jitable

from tictac_env.compiled.numba_names import CALLED

Function = Callable[..., Any]

PACKAGES = {"tictac_env", "tictac_agents"}
_COMPILED: set[Function] = set()


def compile_callees(function: Function) -> None:
    """Lets compiled code call the plain functions that `function` calls, and what these call.

    Followed are the functions of the two packages and those of the package or file that `function` is from. So a module
    such as `tictac_env.rng` needs no Numba, and its functions run interpreted and compiled. They make no arrays: see
    `borrowing_kernel`.
    """
    for called in _callees(function):
        if called not in _COMPILED:
            _COMPILED.add(called)
            register_jitable(**CALLED)(called)
            compile_callees(called)


@functools.cache
def fingerprint(*reached: Function | type) -> str:
    """A hash of the code of functions, of all that they call, and of the fields and methods of records."""
    digest, todo, seen = hashlib.sha256(), list(reached), set[Function | type]()
    while todo:
        one = todo.pop()
        if one in seen:
            continue
        seen.add(one)
        if inspect.isclass(one):
            digest.update(repr((one.__qualname__, getattr(one, "_fields", ()))).encode())
            todo += (
                method for _, method in inspect.getmembers(one, inspect.isfunction) if _package(method) == _package(one)
            )
            continue
        digest.update(repr((one.__qualname__, one.__defaults__, *_parts(one))).encode())
        todo += _callees(one)
        named: Any
        for named in _named(one):
            if hasattr(named, "py_func"):  # compiled by its owner
                digest.update(repr(sorted(named.targetoptions.items())).encode())
                todo.append(named.py_func)
            elif inspect.isclass(named) and hasattr(named, "_fields"):
                todo.append(named)
    return digest.hexdigest()[:16]


def _callees(function: Function) -> Iterator[Function]:
    home = PACKAGES | {_package(function)}
    for called in _named(function):
        if inspect.isfunction(called) and _package(called) in home:
            yield called


def _named(function: Function) -> Iterator[object]:
    """What a function reads by name: what stands in its module, and what is there in modules and classes it names."""
    names = list(_names(function.__code__))
    for name in names:
        if name in function.__globals__:
            value = function.__globals__[name]
            yield value
            if inspect.ismodule(value) or inspect.isclass(value):
                yield from (vars(value)[other] for other in names if other in vars(value))


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _package(function: Function | type) -> str:
    return (function.__module__ or "").split(".")[0]


def _parts(function: Function) -> Iterator[object]:
    """The instructions and constants of a function, those of its module and of the function around it included."""
    yield from _instructions(function.__code__)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    for value in (*cells, *_named(function)):
        if isinstance(value, (bool, int, float, str, tuple, np.generic)):
            yield value
        elif isinstance(value, np.ndarray):
            yield str(value.dtype), value.shape, value.tobytes()


def _instructions(code: CodeType) -> Iterator[object]:
    yield code.co_code
    yield code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _instructions(constant)
        else:
            yield constant
