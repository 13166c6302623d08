"""Decorators for kernels, the folder of their machine code, announcements of compiling, and intrinsics Numba lacks."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload_method

from tictac_env.arrays import Array
from tictac_env.compiled.game_types import AnyFunction, GameType, compile_callees, compiled_as, fingerprint, records_in
from tictac_env.compiled.numba_version import hooks
from tictac_env.games import Game, game_name

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.typing import Context
    from numba.core.typing.templates import Signature

Values: TypeAlias = Sequence[ir.Value]
Intrinsic: TypeAlias = "tuple[Signature, Callable[[BaseContext, ir.IRBuilder, Signature, Values], ir.Value]]"
"""The answer that `numba.extending.intrinsic` needs: the types of a call, and a function that emits its code."""

PACKAGE = Path(__file__).parents[1]
VARIABLE = "TICTAC_CACHE_DIR"


def _cache_folder() -> tuple[str, bool, str]:
    """The folder of compiled kernels, True if it lasts between runs, and a warning, usually "".

    The folder is private to the user and named after the source of this sub-package, which decides how kernels are
    compiled. In it, a kernel's code is found by the source that the kernel can reach (`game_types.fingerprint`).

    No other user may write there: Numba keeps pickles next to the machine code, and loading either runs its content.
    """
    # The name: other source of this sub-package compiles otherwise, and gets another folder.
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    name = f"tictac-env/{digest.hexdigest()[:16]}"
    # The first of the usual places that is the user's own and can be written to.
    refused: list[str] = []
    for variable in (VARIABLE, "XDG_CACHE_HOME", "LOCALAPPDATA", "HOME", "USERPROFILE"):
        if base := os.environ.get(variable):
            folder = Path(base) / (".cache" if variable in ("HOME", "USERPROFILE") else "") / name
            try:
                _make_private(folder)
                with tempfile.TemporaryFile(dir=folder):
                    pass
                warning = f"{', '.join(refused)}; machine code is kept in {folder}" if refused else ""
                return str(folder), True, warning
            except _OpenToOthers as error:
                refused.append(f"{variable}={base} cannot be used, as {error}")
            except OSError:
                refused.append(f"{variable}={base} cannot be written to")
    # None is: a folder for this run alone.
    temporary = tempfile.mkdtemp(prefix="tictac-env-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    reason = ", ".join(refused) or "there is no home folder"
    return temporary, False, f"{reason}, so every run compiles again; set {VARIABLE} to a folder that can be written to"


class _OpenToOthers(Exception):
    """Other users may write into a folder."""


def _make_private(folder: Path) -> None:
    folder.parent.parent.mkdir(parents=True, exist_ok=True)
    for path, open_to_others in ((folder.parent, 0), (folder, stat.S_IWGRP | stat.S_IWOTH)):
        path.mkdir(mode=0o700, exist_ok=True)
        status = path.stat()
        if os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & open_to_others):
            raise _OpenToOthers(f"other users may have written into {path}")
        if status.st_mode & 0o077 and not path.is_symlink():  # the target of a link is not the package's
            path.chmod(0o700)


CACHE_FOLDER, KEPT, WARNING = _cache_folder()


Function = TypeVar("Function", bound=AnyFunction)

prange = numba.prange


def kernel(function: Function) -> Function:
    """Compiles `function` for each game when it is first called, and keeps the machine code for later runs.

    Compiled code releases the GIL. `function.py_func` is the interpreted function. A kernel must not call itself: with
    Numba 0.68 recursive machine code may crash when it is loaded again.
    """
    return _compile(function, parallel=False)


def borrowing_kernel(function: Function) -> Function:
    """A `kernel` that makes no arrays and copies no slices, so it need not count references to its arguments.

    Counting costs two locked instructions for each array of a record that is passed on: a third or more of the time of
    a tree search.
    """
    return _compile(function, parallel=False, counting=False)


def parallel_kernel(function: Function) -> Function:
    """A `kernel` whose loops over `prange` are shared among threads.

    GNU's OpenMP, which then runs them, does not survive a fork: use this only if the user asks for several threads.
    """
    return _compile(function, parallel=True)


def _compile(function: Function, parallel: bool, counting: bool = True) -> Function:
    compile_callees(function)
    options: dict[str, object] = {"nogil": True, "error_model": "numpy", **({} if counting else hooks.UNCOUNTED)}
    with hooks.cache_in(CACHE_FOLDER):
        if numba.config.DISABLE_JIT:
            return function
        compiled = numba.njit(**options, parallel=True)(function) if parallel else hooks.new_kernel(function, options)
        prefix = repr(sorted(options.items())) + str(parallel)
        hooks.keep_code(compiled, lambda signature: prefix + fingerprint(function, *records_in(signature)))
    return compiled  # type: ignore[no-any-return]


def machine_code(function: AnyFunction, *arguments: object) -> AnyFunction:
    """The machine code of a kernel for arguments of these types, called without type checks: 1 us a call, not 10.

    It must never be called with arguments of other types.
    """
    return hooks.entry_point(function, tuple(numba.typeof(argument) for argument in arguments))


def is_kept(kernel: AnyFunction, *arguments: object) -> bool:
    """True if this run or an earlier one has compiled the kernel for arguments of these types."""
    return hooks.load_kept(kernel, tuple(numba.typeof(argument) for argument in arguments))


class _Line:
    """The announcement "tictac_env: compiling <purpose> for <game> ... <seconds> s".

    While the line is held, kernels of the same purpose share it; the seconds are written when it ends.

    Attributes:
        cpu_seconds: of all compiling so far, in this line and before.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = 0  # number of `in_one_line` blocks
        self._subject: tuple[str, Game | None] | None = None
        self._compiling = False
        self._began = self._seconds = 0.0
        self._began_cpu = self.cpu_seconds = 0.0
        self._warned = self._reported_unkept = False

    def begin(self, purpose: str, game: Game | None) -> None:
        with self._lock:
            if self._subject is not None and self._subject != (purpose, self._subject[1] if game is None else game):
                self._end()
            if self._subject is None:
                if WARNING and not self._warned:
                    _write(f"tictac_env: {WARNING}\n")
                self._warned = True
                for_game = "" if game is None else f" for {game_name(game) or game}"
                _write(f"tictac_env: compiling {purpose}{for_game} ...")
                self._subject, self._seconds = (purpose, game), 0.0
            self._compiling, self._began, self._began_cpu = True, time.perf_counter(), time.thread_time()

    def end(self) -> None:
        with self._lock:
            self._compiling = False
            self._seconds += time.perf_counter() - self._began
            self.cpu_seconds += time.thread_time() - self._began_cpu
            if not self._held:
                self._end()

    def hold(self, change: int) -> None:
        """Adds 1 or -1 to the number of blocks that hold the line."""
        with self._lock:
            self._held += change
            if not self._held and not self._compiling:
                self._end()

    def _end(self) -> None:
        if self._subject is not None:
            _write(f" {self._seconds:.1f} s\n")
        self._subject = None
        if hooks.UNKEPT and not self._reported_unkept:
            self._reported_unkept = True
            _write(f"tictac_env: {unkept()}, so the next run compiles again\n")


def unkept() -> str:
    """The reason why machine code could not be kept, "" if it could."""
    return f"machine code cannot be kept in {CACHE_FOLDER}: {hooks.UNKEPT[0]}" if hooks.UNKEPT else ""


_LINE = _Line()


@contextmanager
def in_one_line() -> Iterator[None]:
    """Announces kernels of the same purpose that are compiled within the block in one line."""
    _LINE.hold(1)
    try:
        yield
    finally:
        _LINE.hold(-1)


def seconds_compiling() -> float:
    """The CPU seconds that this process has spent compiling kernels so far, not counting loading from the cache."""
    return _LINE.cpu_seconds


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # a closed pipe or file is no reason not to compile
        if sys.stderr is not None:
            sys.stderr.write(text)
            if not hasattr(sys.stderr, "rich_proxied_file"):  # rich then writes whole lines above a progress bar
                sys.stderr.flush()


def _begin(function: AnyFunction, types: Sequence[object]) -> Callable[[], None] | None:
    """Announces that a function is about to be compiled for arguments of these types, if its purpose is known."""
    purpose = _purpose(function.__module__ or "")  # None, if it was made by `exec`
    if purpose is None:
        return None
    _LINE.begin(purpose, next((kind.game for kind in types if isinstance(kind, GameType)), None))
    return _LINE.end


def _purpose(module: str) -> str | None:
    """The purpose of a module's code: its `COMPILED_AS`, or that of the innermost package that has one, or None."""
    name = module
    while name:
        if purpose := getattr(sys.modules.get(name), "COMPILED_AS", None):
            return str(purpose)
        name = name.rpartition(".")[0]
    return None


hooks.watch_compiling(_begin)


@intrinsic  # type: ignore[untyped-decorator]
def _population_count(typing_context: Context, value: types.Type) -> Intrinsic:
    def emit(context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), emit


@overload_method(types.Integer, "bit_count", strict=False, jit_options=hooks.CALLED)  # type: ignore[untyped-decorator]
def _bit_count(value: types.Type) -> AnyFunction:
    """`int.bit_count`, which Numba lacks, of a non-negative value."""
    return lambda value: _population_count(value)


def wrapping_product(first: int, second: int) -> int:
    """The product of two int64 modulo 2**64, in [-2**63, 2**63); ordinary products must not overflow."""
    product = int(first) * int(second) & (1 << 64) - 1
    return product - (product >> 63 << 64)


@intrinsic  # type: ignore[untyped-decorator]
def _product(typing_context: Context, first: types.Type, second: types.Type) -> Intrinsic:
    def emit(context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        return builder.mul(*arguments)

    return types.int64(types.int64, types.int64), emit


@compiled_as(wrapping_product)
def _wrapping_product(first: types.Type, second: types.Type) -> AnyFunction:
    return lambda first, second: _product(first, second)


def prefetch(array: Array, index: int) -> None:
    """Prefetches an element of a contiguous array that will be needed soon; does nothing when interpreted."""


@intrinsic  # type: ignore[untyped-decorator]
def _fetch(typing_context: Context, array: types.Array, index: types.Type) -> Intrinsic:
    def emit(context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, i32, i32, i32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        builder.call(function, [address, i32(0), i32(3), i32(1)])  # to read, into all caches, data
        return context.get_dummy_value()

    return types.void(array, index), emit


@compiled_as(prefetch)
def _prefetch(array: types.Array, index: types.Type) -> AnyFunction:
    return lambda array, index: _fetch(array, index)


def store_bytes(array: Array, begin: int, word: int, count: int) -> None:
    """Writes the lowest `count` bytes of `word`, 4 or 8, to an int8 array from `begin` on, the lowest byte first.

    Compiled, it is one store; bounds are not checked, as everywhere in compiled code.
    """
    array[begin : begin + count] = memoryview(int(word).to_bytes(8, "little")[:count]).cast("b")


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def _store(
    typing_context: Context, array: types.Array, begin: types.Type, word: types.Type, count: types.Type
) -> Intrinsic:
    def emit(context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: Values) -> ir.Value:
        data = context.make_array(array)(context, builder, arguments[0]).data
        bits = ir.IntType(8 * count.literal_value)
        place = builder.bitcast(builder.gep(data, [arguments[1]]), bits.as_pointer())
        builder.store(builder.trunc(arguments[2], bits) if bits.width < 64 else arguments[2], place, align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64, count), emit


@compiled_as(store_bytes)
def _store_bytes(array: types.Array, begin: types.Type, word: types.Type, count: types.Type) -> AnyFunction:
    return lambda array, begin, word, count: _store(array, begin, word, count)
