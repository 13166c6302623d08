"""The marks of kernels, and what a kernel's machine code is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

import tictac_env.compiled.game_types  # noqa: F401  # lets Numba know games
from tictac_env.compiled.cache import CACHE_FOLDER
from tictac_env.compiled.game_types import compile_callees, fingerprint
from tictac_env.compiled.numba_names import UNCOUNTED, Kernel, cache_in, entry_point, keep_code, load_kept, records_in

Function = TypeVar("Function", bound=Callable[..., Any])

prange = numba.prange


def kernel(function: Function) -> Function:
    """Compiles `function` for each game when it is first called, and keeps the machine code for later runs.

    Compiled code releases the GIL. `function.py_func` is the interpreted function. It must not call itself: with Numba
    0.68 such machine code may crash when it is loaded again.
    """
    return _compile(function, parallel=False)


def borrowing_kernel(function: Function) -> Function:
    """A `kernel` that makes no arrays, nor copies slices, and so need not count references to those it is given.

    Counting costs two locked instructions for each array of a record that is handed on: a third and more of the time of
    a tree search.
    """
    return _compile(function, parallel=False, counting=False)


def parallel_kernel(function: Function) -> Function:
    """A `kernel` whose loops over `prange` are shared among threads.

    GNU's OpenMP, which then runs them, does not survive a fork: use it only where several threads are asked for.
    """
    return _compile(function, parallel=True)


def _compile(function: Function, parallel: bool, counting: bool = True) -> Function:
    compile_callees(function)
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", **({} if counting else UNCOUNTED)}
    with cache_in(CACHE_FOLDER):
        if numba.config.DISABLE_JIT:
            return function
        compiled: Any = numba.njit(**options, parallel=True)(function) if parallel else Kernel(function, options)
        how = repr(sorted(options.items())) + str(parallel)
        keep_code(compiled, lambda signature: how + fingerprint(function, *_in_order(records_in(signature))))
    return compiled  # type: ignore[no-any-return]


def _in_order(classes: set[type]) -> list[type]:
    return sorted(classes, key=lambda one: (one.__module__, one.__qualname__))


def machine_code(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """A kernel for arguments of the types of these, which it no longer looks at: a call then takes 1 us instead of 10.

    It must never be called with arguments of other types.
    """
    return entry_point(function, tuple(numba.typeof(argument) for argument in arguments))


class Tiered:
    """A kernel that runs interpreted while it is cold and compiled once it is hot.

    A short run then ends sooner than the compiler would. Machine code that an earlier run has kept is used at once.
    Both tiers run the same source, with the same result to the last bit.

    Args:
        kernel: the kernel.
        hot_after: how many runs are worth compiling it for.
        arguments: what it will be called with; only their types matter.

    Attributes:
        run: calls the kernel with arguments of these types, at which it does not look.
    """

    def __init__(self, kernel: Callable[..., Any], hot_after: int, *arguments: Any) -> None:
        self._kernel = kernel
        self._signature = tuple(numba.typeof(argument) for argument in arguments)
        self._cold = hot_after
        self.run: Callable[..., Any] = getattr(kernel, "py_func", kernel)
        if is_kept(kernel, *arguments):
            self.heat(hot_after)

    @property
    def cold(self) -> bool:
        """Whether it runs interpreted."""
        return self._cold > 0

    def heat(self, runs: int) -> None:
        """Says that so many runs are due, or were done."""
        if self._cold > 0:
            self._cold -= runs
            if self._cold <= 0:
                self.run = entry_point(self._kernel, self._signature)


def is_kept(kernel: Callable[..., Any], *arguments: Any) -> bool:
    """Whether this run or an earlier one has compiled the kernel for arguments of the types of these."""
    return load_kept(kernel, tuple(numba.typeof(argument) for argument in arguments))
