"""Hands the rule books and the kernels to Numba; the only part of the packages that knows how.

A kernel is a function in Numba's subset of Python, marked with `kernel`. It may read the fields of the game it gets as
an argument and call its methods, `game.play(...)`, and plain functions of the two packages (of `tictac_env.rng`, say):
what runs is the very source that runs interpreted. Values are int64, and compiled code may assume that none overflows.

A game's sizes are part of its type, so every game gets machine code of its own, in which they are constants. That makes
loops over boards three times as fast as with sizes read at run time.
"""

from __future__ import annotations

import tictac_env.compiled.numba_version  # noqa: F401  # first, as a newer Numba may lack names that the others import
from tictac_env.compiled.game_types import kernel_methods
from tictac_env.compiled.kernels import (
    CACHE_FOLDER,
    PACKAGE,
    borrowing_kernel,
    in_one_line,
    is_kept,
    kernel,
    machine_code,
    parallel_kernel,
    prange,
    prefetch,
    seconds_compiling,
    store_bytes,
    wrapping_product,
)

__all__ = [
    "CACHE_FOLDER",
    "PACKAGE",
    "borrowing_kernel",
    "in_one_line",
    "is_kept",
    "kernel",
    "kernel_methods",
    "machine_code",
    "parallel_kernel",
    "prange",
    "prefetch",
    "seconds_compiling",
    "store_bytes",
    "wrapping_product",
]
