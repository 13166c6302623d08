"""Hands the rule books and the kernels to Numba; the only file that knows how.

A kernel is a function in Numba's subset of Python, marked with `kernel`. It may read the fields of the game it gets as
an argument and call its methods, `game.play(...)`, and plain functions of the two packages (of `tictac_env.rng`, say):
what runs is the very source that runs interpreted. Values are int64, and compiled code may assume that none overflows.

A game's sizes are part of its type, so every game gets machine code of its own, in which they are constants. That makes
loops over boards three times as fast as with sizes read at run time.
"""

from __future__ import annotations

import atexit
import dataclasses
import functools
import hashlib
import inspect
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba import types
from numba.core import event
from numba.extending import (
    NativeValue,
    intrinsic,
    models,
    overload,
    overload_attribute,
    overload_method,
    register_jitable,
    register_model,
    unbox,
)

from tictac_env.games import GAMES, Game

__all__ = [
    "CACHE_FOLDER",
    "borrowing_kernel",
    "kernel",
    "kernel_methods",
    "machine_code",
    "parallel_kernel",
    "prange",
    "store_bytes",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Record = TypeVar("Record", bound=type)

PACKAGE = Path(__file__).parent
PACKAGES = ("tictac_env.", "tictac_agents.")
_RECORD_METHODS: set[str] = set()
_COMPILED: set[Callable[..., Any]] = set()
prange = numba.prange


class GameType(types.Type):  # type: ignore[misc]  # Numba has no types
    """The Numba type of one game. Its values carry nothing: everything is in the type."""

    def __init__(self, game: Game) -> None:
        self.game = game
        super().__init__(f"Game({game!r})")

    @property
    def key(self) -> Game:
        return self.game


register_model(GameType)(models.OpaqueModel)


@unbox(GameType)  # type: ignore[untyped-decorator]
def _unbox_game(game_type: Any, game: Any, context: Any) -> Any:
    return NativeValue(context.context.get_dummy_value())


def _compile_game(game_class: type) -> None:
    """Lets compiled code read a game's fields and call its methods, each the source of the game's own class."""
    game_class._numba_type_ = property(functools.cache(GameType))  # type: ignore[attr-defined]  # Numba looks for it
    for field in dataclasses.fields(game_class):
        _compile_field(field.name)
    for name, method in inspect.getmembers(game_class, inspect.isfunction):
        if not name.startswith("_"):
            _compile_method(name, inspect.signature(method))


def _compile_field(name: str) -> None:
    def resolve(game: Any) -> Any:
        value = getattr(game.game, name)
        return lambda game: value

    overload_attribute(GameType, name, strict=False)(resolve)


def _compile_method(name: str, signature: inspect.Signature) -> None:
    def resolve(game: Any, *arguments: Any) -> Any:
        return getattr(type(game.game), name, None)

    resolve.__signature__ = signature  # type: ignore[attr-defined]  # Numba folds arguments by it
    overload_method(GameType, name, strict=False)(resolve)


def kernel_methods(record: Record) -> Record:
    """Lets compiled code call the public methods of a `NamedTuple` class, or of a subclass of one, on its instances.

    So several kinds of record can stand in one kernel, each with methods of its own under the same names; a method has
    the same parameters in all of them. Methods make no arrays: see `borrowing_kernel`.
    """
    for name, method in inspect.getmembers(record, inspect.isfunction):
        _compile_callees(method)
        if not name.startswith("_") and name not in _RECORD_METHODS:
            _RECORD_METHODS.add(name)
            _compile_record_method(name, inspect.signature(method))
    return record


def _compile_record_method(name: str, signature: inspect.Signature) -> None:
    def resolve(self: Any, *arguments: Any) -> Any:
        return getattr(self.instance_class, name, None)

    resolve.__signature__ = signature  # type: ignore[attr-defined]  # Numba folds arguments by it
    overload_method(types.BaseNamedTuple, name, jit_options={"forceinline": True, "_nrt": False}, strict=False)(resolve)


def _compile_callees(function: Callable[..., Any]) -> None:
    """Lets compiled code call the plain functions of the two packages that `function` calls, and what these call.

    So a module such as `tictac_env.rng` needs no Numba, and its functions run interpreted and compiled.
    """
    for name in function.__code__.co_names:
        called = function.__globals__.get(name)
        if inspect.isfunction(called) and called.__module__.startswith(PACKAGES) and called not in _COMPILED:
            _COMPILED.add(called)
            register_jitable(called)
            _compile_callees(called)


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


def store_bytes(array: Any, begin: int, word: int, count: int) -> None:
    """Writes the lowest `count` bytes of `word`, 4 or 8, to the int8 array from `begin` on, the lowest first.

    Compiled it is one store; as everywhere in compiled code the bounds are not checked.
    """
    array[begin : begin + count] = memoryview(word.to_bytes(8, "little")[:count]).cast("b")


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def _store(typing_context: Any, array: Any, begin: Any, word: Any, count: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        bits = ir.IntType(8 * count.literal_value)
        place = builder.bitcast(builder.gep(data, [arguments[1]]), bits.as_pointer())
        builder.store(builder.trunc(arguments[2], bits) if bits.width < 64 else arguments[2], place, align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64, count), emit


@overload(store_bytes, prefer_literal=True, strict=False)  # type: ignore[untyped-decorator]
def _store_bytes(array: Any, begin: Any, word: Any, count: Any) -> Any:
    return lambda array, begin, word, count: _store(array, begin, word, count)


def _cache_folder() -> str:
    """Where compiled kernels are kept between runs: a folder of the user's, named after the source of both packages.

    Numba itself only looks at the file a kernel stands in; after a change to a rule book, or to a constant of another
    file, it would run the old one.
    """
    agents = PACKAGE.parent / "agents" / "tictac_agents"
    agents = agents if agents.is_dir() else PACKAGE.parent / "tictac_agents"
    digest = hashlib.sha256()
    for path in (*sorted(PACKAGE.rglob("*.py")), *sorted(agents.rglob("*.py"))):
        digest.update(path.read_bytes())
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
    temporary = tempfile.mkdtemp(prefix="tictac-env-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return temporary


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
    _compile_callees(function)
    configured = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = CACHE_FOLDER  # is read when the dispatcher is made; other users of Numba keep theirs
    try:
        options = {"cache": True, "nogil": True, "parallel": parallel, "error_model": "numpy", "_nrt": counting}
        compiled: Function = numba.njit(**options)(function)
    finally:
        numba.config.CACHE_DIR = configured
    return compiled


def machine_code(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """A kernel for arguments of the types of these, which it no longer looks at: a call then takes 1 us instead of 10.

    It must never be called with arguments of other types.
    """
    signature = tuple(numba.typeof(argument) for argument in arguments)
    compiled: Any = function
    compiled.compile(signature)
    code: Callable[..., Any] = compiled.overloads[signature].entry_point
    return code


class _Announcer(event.Listener):  # type: ignore[misc]  # Numba has no types
    """Says once, when the first kernel is compiled, why that takes a moment."""

    announced = False

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__ or ""  # None, if it was made by `exec`
        if not self.announced and module.split(".")[0] in ("tictac_env", "tictac_agents"):
            self.announced = True
            print(f"tictac_env: compiling some kernels, once; they are kept in {CACHE_FOLDER}", file=sys.stderr)

    def on_end(self, event: Any) -> None:
        pass


CACHE_FOLDER = _cache_folder()
event.register("numba:compile", _Announcer())
for _class in {type(game) for game in GAMES.values()}:
    _compile_game(_class)
