"""Kernels that run interpreted until compiling them pays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from tictac_env.compiled.numba_names import entry_point, load_kept


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
