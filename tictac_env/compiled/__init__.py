"""Compiles rules and kernels; the only part of the packages that uses Numba.

A kernel is a function in Numba's subset of Python, marked with `kernel`. It may read the fields of its `game` argument,
call the game's methods, `game.play(...)`, and call plain functions of `tictac_env` (those of `tictac_env.rng`, for
example). The same source also runs interpreted. Values are int64, and compiled code may assume that none overflows.

A game's sizes are part of its type, so each game gets its own machine code, in which the sizes are constants. Loops
over boards are then three times as fast as with sizes read at run time.
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
