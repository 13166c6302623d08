"""The names of `numba_names` by Numba's documented interface alone; used if one of the hooks there fails.

Results are the same to the last bit. Compiling takes longer, is not announced, and machine code is not kept: Numba's
own cache (`cache=True`) would not notice an edited rule.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numba
from numba import types
from numba.extending import overload, overload_attribute, overload_method

AnyFunction: TypeAlias = Callable[..., Any]
Compiled: TypeAlias = Any
"""A function that Numba compiled, its `Dispatcher`, whose annotations lack the attributes that are used here."""

INLINED: dict[str, bool] = {}
UNCOUNTED: dict[str, bool] = {}
CALLED: dict[str, Any] = {"error_model": "numpy"}
UNKEPT: list[OSError] = []


def call_compiled(function: AnyFunction) -> None:
    """Lets compiled code call a plain function."""
    overload(function, strict=False, jit_options=CALLED)(lambda *arguments, **options: function)


def give_method(
    type_class: type,
    name: str,
    method: AnyFunction,
    method_of: Callable[[types.Type], AnyFunction | None] | None = None,
    **options: object,
) -> None:
    """Lets compiled code call a method on values of a class of Numba types."""

    @functools.wraps(method)  # Numba reads the parameters of a method there
    def choose_method(owner: object, *arguments: object, **named: object) -> AnyFunction | None:
        return method if method_of is None else method_of(owner)

    overload_method(type_class, name, strict=False, jit_options=options)(choose_method)


def give_constants(type_class: type, names: Collection[str], value_of: Callable[[types.Type, str], object]) -> None:
    """Lets compiled code read `value_of(type, name)` as a constant attribute, for each name in `names`."""

    def give_constant(name: str) -> None:
        @overload_attribute(type_class, name, strict=False)  # type: ignore[untyped-decorator]  # Numba has no types
        def constant_of(owner: object) -> AnyFunction:
            value = value_of(owner, name)  # a variable of an enclosing function is a constant for Numba
            return lambda owner: value

    for name in names:
        give_constant(name)


def new_kernel(function: AnyFunction, options: Mapping[str, object]) -> Compiled:
    """Compiles a function that both Python and kernels call."""
    return numba.njit(**options)(function)


@contextmanager
def cache_in(folder: str) -> Iterator[None]:
    """Does nothing: machine code is not kept."""
    yield


def keep_code(dispatcher: object, reach: Callable[[tuple[types.Type, ...]], str]) -> None:
    """Does nothing: machine code is not kept."""


def entry_point(function: Compiled, signature: tuple[object, ...]) -> AnyFunction:
    """The function itself, which checks the types of its arguments at each call."""
    return function  # type: ignore[no-any-return]


def load_kept(function: Compiled, signature: tuple[object, ...]) -> bool:
    """True if this process has compiled the kernel for this signature."""
    return numba.config.DISABLE_JIT or signature in function.signatures


def watch_compiling(begin: Callable[[AnyFunction, Sequence[object]], Callable[[], None] | None]) -> Callable[[], None]:
    """Does nothing: `begin` is never called."""
    return lambda: None
