"""The names of Numba that its documentation does not promise, all in this file; a test tries what is relied on.

A new version of Numba may change them, so `pyproject.toml` has an upper bound: raise it when the test passes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba import types
from numba.core import event
from numba.core.typing.templates import infer_getattr, make_overload_method_template
from numba.extending import overload

INLINED = {"forceinline": True}
"""Options of a function that machine code has at every call rather than once."""
UNCOUNTED = {"_nrt": False}
"""Options of a function that makes no arrays and so counts no references to those it is given."""


@contextmanager
def cache_in(folder: str) -> Iterator[None]:
    """What is decorated within keeps its machine code in `folder`; other users of Numba keep theirs."""
    configured = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = folder  # is read when the dispatcher is made
    try:
        yield
    finally:
        numba.config.CACHE_DIR = configured


def entry_point(function: Any, signature: tuple[Any, ...]) -> Callable[..., Any]:
    """The machine code of a kernel for one signature, as a function that does not look at its arguments."""
    if numba.config.DISABLE_JIT:
        return function  # type: ignore[no-any-return]
    function.compile(signature)
    code: Callable[..., Any] = function.overloads[signature].entry_point
    return code


def overload_record_method(records: Container[type], name: str, resolve: Callable[..., Any]) -> None:
    """As `numba.extending.overload_method` for every NamedTuple, but for those of the classes `records` only.

    Else methods of that name in other people's NamedTuples would be taken for this one. A field of that name stays one.
    """
    options = {"jit_options": INLINED | UNCOUNTED, "strict": False}
    template = make_overload_method_template(types.BaseNamedTuple, name, resolve, inline="never", **options)
    resolve_any = template._resolve

    def resolve_ours(self: Any, record: Any, attribute: str) -> Any:
        ours = record.instance_class in records and inspect.isfunction(getattr(record.instance_class, name, None))
        return resolve_any(self, record, attribute) if ours else None

    template._resolve = resolve_ours
    infer_getattr(template)
    overload(resolve, **options)(resolve)


class _Listener(event.Listener):  # type: ignore[misc]  # Numba has no types
    def __init__(self, tell: Callable[[Callable[..., Any]], None]) -> None:
        self.tell = tell

    def on_start(self, event: Any) -> None:
        self.tell(event.data["dispatcher"].py_func)

    def on_end(self, event: Any) -> None:
        pass


def before_compiling(tell: Callable[[Callable[..., Any]], None]) -> None:
    """Has `tell` called with each function that is about to be compiled."""
    event.register("numba:compile", _Listener(tell))
