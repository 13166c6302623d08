"""The C reference: `c_reference.c`, compiled for one game, on NumPy arrays through ctypes."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).with_name("c_reference.c")
FLAGS = ("-O3", "-march=native", "-std=c11", "-shared", "-fPIC")
SIZES = {"Connect Four": (6, 7, 4, 1), "tic-tac-toe": (3, 3, 3, 0)}
"""Rows, columns, how many in a line win, and whether stones fall."""


class NoCompiler(RuntimeError):
    """There is no C compiler here, or it cannot compile the reference."""


@cache
def compiled(game: str) -> ctypes.CDLL:
    """The reference for a game, compiled into a temporary folder that is gone once it is loaded.

    Raises:
        NoCompiler: neither $CC nor gcc, clang or cc is there, or the compiler failed; the message says which.
    """
    compiler = next(filter(shutil.which, (os.environ.get("CC", ""), "gcc", "clang", "cc")), None)
    if compiler is None:
        raise NoCompiler("there is no C compiler")
    sizes = zip(("ROWS", "COLS", "CONNECT", "GRAVITY"), SIZES[game], strict=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        library = Path(folder) / "reference.so"
        command = [compiler, *FLAGS, *(f"-D{name}={size}" for name, size in sizes), str(SOURCE), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NoCompiler(f"{compiler} failed: {done.stderr.strip()}")
        return ctypes.CDLL(str(library))


class CReference:
    """Many boards of a game in C, both sides stepping; a game that ends begins again within the same step.

    Attributes:
        actions: int64 (N,), what `step` plays: legal actions, which it trusts. `draw` writes random ones.
        rewards: float64 (N,), the mover's: 1 for a win, else 0.
        done: int8 (N,), whether the game is over.
        planes: int8 (N, 2, rows, cols), own and opponent's stones as the next player sees them.
        masks: int8 (N, num_actions), that player's legal actions.
        draw, step: all boards at once; each is one call of C on these arrays and returns nothing.

    Raises:
        NoCompiler: as `compiled` does.
    """

    def __init__(self, game: str, num_envs: int, seed: int = 0) -> None:
        library = compiled(game)
        rows, cols, _, gravity = SIZES[game]
        cells = 2 * rows * cols
        num_actions = cols if gravity else rows * cols
        self.actions = np.zeros(num_envs, np.int64)
        self.rewards = np.zeros(num_envs)
        self.done = np.zeros(num_envs, np.int8)
        own, opp = np.zeros((2, num_envs), np.uint64)
        states = np.random.default_rng(seed).integers(2**64, size=num_envs, dtype=np.uint64)
        padding = 7  # C writes eight bytes at a time
        planes = np.zeros(num_envs * cells + padding, np.int8)
        masks = np.ones(num_envs * num_actions + padding, np.int8)
        self.planes = planes[:-padding].reshape(num_envs, 2, rows, cols)
        self.masks = masks[:-padding].reshape(num_envs, num_actions)

        def bound(function: Any, *arrays: Any) -> Callable[[], None]:
            function.restype = None
            pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]  # each keeps its array
            return partial(function, ctypes.c_int64(num_envs), *pointers)

        self.draw = bound(library.draw, own, opp, states, self.actions)
        self.step = bound(library.step, own, opp, self.actions, self.rewards, self.done, planes, masks)
