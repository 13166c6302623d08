"""Hands the rule books and the kernels to Numba; the only file that knows how.

A kernel is a function in Numba's subset of Python, marked with `kernel`. It may call the methods of the game it gets as
an argument, `game.play(...)`, and the functions of `tictac_env.rng` and `tictac_env.reflexes`: what runs is the very
source that runs interpreted. Values are int64, and compiled code may assume that none overflows.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload_method, register_jitable

from tictac_env import reflexes, rng
from tictac_env.games import GAMES

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = Path(__file__).parent


@intrinsic  # type: ignore[untyped-decorator]
def _population_count(typing_context: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), emit


@overload_method(types.Integer, "bit_count", strict=False)  # type: ignore[untyped-decorator]
def _bit_count(value: Any) -> Any:
    """`int.bit_count` of a non-negative value, which Numba lacks."""
    return lambda value: _population_count(value)


@intrinsic  # type: ignore[untyped-decorator]
def wrapping_product(typing_context: Any, first: Any, second: Any) -> Any:
    """The product of two int64 modulo 2**64, for compiled code, where an ordinary one must not overflow."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.mul(*arguments)

    return types.int64(types.int64, types.int64), emit


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Asks the processor for an element of a contiguous array that will be needed soon; for compiled code."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, i32, i32, i32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        builder.call(function, [address, i32(0), i32(3), i32(1)])  # to read, into all caches, data
        return context.get_dummy_value()

    return types.void(array, index), emit


def _compile_methods(game_class: type) -> None:
    """Lets compiled code call the methods of a game, each the source of the game's own class."""
    for name, method in inspect.getmembers(game_class, inspect.isfunction):
        if not name.startswith("_"):
            _compile_method(name, inspect.signature(method))


def _compile_method(name: str, signature: inspect.Signature) -> None:
    def resolve(game: Any, *arguments: Any) -> Any:
        return getattr(game.instance_class, name, None)

    resolve.__signature__ = signature  # type: ignore[attr-defined]  # Numba folds arguments by it
    for kind in (types.NamedTuple, types.NamedUniTuple):
        overload_method(kind, name, strict=False)(resolve)


def _compile_functions(module: ModuleType) -> None:
    for _, function in inspect.getmembers(module, inspect.isfunction):
        if function.__module__ == module.__name__:
            register_jitable(function)


def _cache_folder() -> str:
    """Where compiled kernels are kept between runs: a folder of the user's, named after what they are made of.

    Numba itself only looks at the file a kernel stands in; after a change to a rule book it would run the old rule.
    """
    rules = [*sorted((PACKAGE / "games").glob("*.py")), PACKAGE / "rng.py", PACKAGE / "reflexes.py", Path(__file__)]
    agents = PACKAGE.parent / "agents" / "tictac_agents"
    others = [*PACKAGE.rglob("*.py"), *(agents if agents.is_dir() else PACKAGE.parent / "tictac_agents").rglob("*.py")]
    digest = hashlib.sha256()
    for path in dict.fromkeys([*rules, *sorted(others)]):
        source = path.read_bytes()
        if path in rules or b"@kernel" in source:
            digest.update(source)
    name = f"tictac-env/{digest.hexdigest()[:16]}"
    for variable in ("TICTAC_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA", "HOME", "USERPROFILE"):
        if base := os.environ.get(variable):
            folder = Path(base) / (".cache" if variable in ("HOME", "USERPROFILE") else "") / name
            try:
                folder.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=folder):
                    return str(folder)
            except OSError:
                continue
    return tempfile.mkdtemp(prefix="tictac-env-")


def kernel(function: Function) -> Function:
    """Compiles `function` when it is first called, and keeps the machine code for later runs.

    Compiled code releases the GIL. `function.py_func` is the interpreted function.
    """
    configured = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = CACHE_FOLDER  # is read when the dispatcher is made; other users of Numba keep theirs
    try:
        compiled: Function = numba.njit(cache=True, nogil=True)(function)
    finally:
        numba.config.CACHE_DIR = configured
    return compiled


CACHE_FOLDER = _cache_folder()
for _class in {type(game) for game in GAMES.values()}:
    _compile_methods(_class)
for _module in (rng, reflexes):
    _compile_functions(_module)
