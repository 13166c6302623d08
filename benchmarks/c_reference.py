"""The C reference (`c_reference.c`), compiled for a game: many boards at once, and tree search."""

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

from tictac_env.arrays import Ints
from tictac_env.position import Position

SOURCE = Path(__file__).with_name("c_reference.c")
FLAGS = ("-O3", "-march=native", "-std=c11", "-shared", "-fPIC")
C_SIZES = {"Connect Four": (6, 7, 4, 1), "tic-tac-toe": (3, 3, 3, 0)}
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
    sizes = zip(("ROWS", "COLS", "CONNECT", "GRAVITY"), C_SIZES[game], strict=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        library = Path(folder) / "reference.so"
        command = [
            compiler,
            *FLAGS,
            *(f"-D{name}={size}" for name, size in sizes),
            str(SOURCE),
            "-o",
            str(library),
            "-lm",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NoCompiler(f"{compiler} failed: {done.stderr.strip()}")
        return ctypes.CDLL(str(library))


class CReference:
    """Many boards of a game in C (`c_reference.c`), both sides stepping; a game that ends begins again within the step.

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
        rows, cols, _, gravity = C_SIZES[game]
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


NODE_BYTES = {"Connect Four": 96, "tic-tac-toe": 192}
"""Of the tree, 12 for each action; actions are rounded up to a multiple of eight."""


def search(game: str, position: Position, simulations: int, exploration: float, seed: int) -> Ints:
    """The visits of each action after a tree search with random rollouts, by UCT: int64 (num_actions,).

    Args:
        game: as in `C_SIZES`.
        position: the root, an unfinished position.
        simulations: the number of rollouts.
        exploration: the constant of the formula.
        seed: the seed of all random choices.

    Raises:
        NoCompiler: as `compiled` does.
    """
    visits = np.zeros(position.game.num_actions, np.int64)
    nodes = np.empty((simulations + 1) * NODE_BYTES[game], np.uint8)
    function = compiled(game).search
    function.restype = None
    arguments = ctypes.c_uint64(position.own), ctypes.c_uint64(position.opp), ctypes.c_int64(simulations)
    more = ctypes.c_float(exploration), ctypes.c_uint64(seed)
    function(*arguments, *more, nodes.ctypes.data_as(ctypes.c_void_p), visits.ctypes.data_as(ctypes.c_void_p))
    return visits
