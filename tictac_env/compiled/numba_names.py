"""All uses of Numba's undocumented internals; a test checks the behaviour that they rely on.

A new version of Numba may change them: raise `NEWEST_TESTED` in `numba_version.py` when the test passes.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import os
import re
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import numba
from numba import types
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering
from numba.core.typing.templates import AttributeTemplate, infer_getattr, infer_global, make_overload_method_template
from numba.extending import lower_getattr_generic, models, register_model

from tictac_env.storage import locked

INLINED = {"forceinline": True}
"""Options of a function that is inlined at every call."""
UNCOUNTED = {"_nrt": False}
"""Options of a function that makes no arrays, so it counts no references to its arguments."""


class _Callee(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """The code of a function that only compiled code calls: its callers optimise it and turn it into machine code.

    Numba would do both for the function itself and again in each caller, which takes half of the compile time.
    """

    @property
    def codegen(self) -> _Callee:
        return self

    def set_env(self, name: str, env: object) -> None:
        """Does nothing: there is no machine code that could read its environment."""

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _CalleeLowering(NativeLowering):  # type: ignore[misc]
    _name = "callee_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _Callee(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().run_pass(state)  # type: ignore[no-any-return]


class _CalleeCompiler(CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.passes = [(_CalleeLowering if step is NativeLowering else step, text) for step, text in steps.passes]
        steps.finalize()
        return [steps]


_CALLED: dict[str, Any] = {"pipeline_class": _CalleeCompiler, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
CALLED = UNCOUNTED | _CALLED | {"error_model": "numpy"}
"""Options of a function that only compiled code calls, and that makes no arrays."""


class _CalleeType(types.Dispatcher):  # type: ignore[misc]
    """The Numba type of a function that only compiled code calls.

    It is compiled once, whatever constants callers pass: it becomes a part of its callers, where LLVM sees the
    constants. `overload` would compile it for each constant and for each kind of caller.
    """

    templates = ()
    """Numba reads this attribute of a method's function; there are none."""

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        plain = {name: types.unliteral(argument) for name, argument in kws.items()}
        return super().get_call_type(context, [types.unliteral(argument) for argument in args], plain)


register_model(_CalleeType)(models.OpaqueModel)


@functools.cache
def callee(function: Callable[..., Any], **options: Any) -> Any:
    """The type of a plain function that compiled code calls, compiled with these options."""
    dispatcher = numba.njit(**options)(function)
    _CALLEES.append(dispatcher)
    return _CalleeType(dispatcher)


_CALLEES: list[Any] = []
"""Keeps the dispatchers alive: Numba has only weak references."""


def call_compiled(function: Callable[..., Any]) -> None:
    """Lets compiled code call a plain function."""
    infer_global(function, callee(function, **CALLED))


@contextmanager
def cache_in(folder: str) -> Iterator[None]:
    """Keeps the machine code of functions decorated in the block in `folder`; other users of Numba are unaffected."""
    configured = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = folder  # is read when the dispatcher is made
    try:
        yield
    finally:
        numba.config.CACHE_DIR = configured


UNKEPT: list[OSError] = []
"""The errors of all failed attempts to write machine code to disk."""


class _KeptCode(FunctionCache):  # type: ignore[misc]  # Numba has no types
    """The machine code of a function on disk. If it cannot be read, the function is compiled again.

    Numba's own cache would recompile a function after any edit of its file, and never after an edit of another file.

    Attributes:
        locking: whether this process holds a lock or waits for one.

    Args:
        dispatcher: the compiled function.
        reach: a function from a signature to a fingerprint of the source that a call with it reaches.
    """

    locking = False

    def __init__(self, dispatcher: Any, reach: Callable[[Any], str]) -> None:
        super().__init__(dispatcher.py_func)
        self._reach = reach
        name = re.sub(r"-\d+(\.py\d+)", r"\1", self._impl.filename_base)  # without the number of the line
        self._cache_file = IndexDataCacheFile(self._cache_path, name, source_stamp=None)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), self._reach(sig))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a truncated or unreadable file may raise anything
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            with self._locked("saving.lock", 0):  # otherwise two processes may choose the same file name
                try:
                    super().save_overload(sig, data)
                except OSError:
                    raise
                except Exception:  # the index file is damaged
                    self.flush()
                    super().save_overload(sig, data)
        except OSError as error:
            UNKEPT.append(error)

    @contextmanager
    def lock(self, sig: Any, target_context: Any) -> Iterator[None]:
        """Makes other processes that need the code for these arguments wait; the calling thread holds Numba's lock.

        Functions compiled within the block take no lock of their own, so no two processes wait for each other.
        """
        if _KeptCode.locking:
            yield
            return
        _KeptCode.locking = True
        try:
            key = repr((self._cache_file._index_name, self._index_key(sig, target_context.codegen())))
            byte = int.from_bytes(hashlib.sha256(key.encode()).digest()[:3], "big")
            with self._locked("compiling.lock", byte):
                yield
        finally:
            _KeptCode.locking = False

    def _locked(self, name: str, byte: int) -> AbstractContextManager[None]:
        return locked(os.path.join(self._cache_path, name), byte)


def keep_code(dispatcher: Any, reach: Callable[[Any], str]) -> None:
    """Keeps the machine code of a function in the folder of `cache_in`; see `_KeptCode`.

    If several processes need code that is not there, the first one compiles it; the others wait and load it.
    """
    dispatcher._cache = _KeptCode(dispatcher, reach)
    load_or_compile = dispatcher.compile

    def compile_once(signature: Any) -> Any:
        with global_compiler_lock, ExitStack() as lock:
            if not load_kept(dispatcher, signature):
                lock.enter_context(dispatcher._cache.lock(signature, dispatcher.targetctx))
            return load_or_compile(signature)

    dispatcher.compile = compile_once


def records_in(signature: Any) -> list[type]:
    """The classes of the named tuples among the arguments of a signature, nested ones included, sorted by name."""
    records = set()
    todo = list(signature if isinstance(signature, tuple) else signature.args)
    while todo:
        kind = todo.pop()
        if isinstance(kind, types.BaseTuple):
            todo += kind.types if hasattr(kind, "types") else [kind.dtype]
        if isinstance(kind, types.BaseNamedTuple):
            records.add(kind.instance_class)
    return sorted(records, key=lambda record: (record.__module__, record.__qualname__))


def entry_point(function: Any, signature: tuple[Any, ...]) -> Callable[..., Any]:
    """The machine code of a kernel for one signature, as a function that does not check its arguments' types."""
    if numba.config.DISABLE_JIT:
        return function  # type: ignore[no-any-return]
    function.compile(signature)
    code: Callable[..., Any] = function.overloads[signature].entry_point
    return code


def load_kept(function: Any, signature: tuple[Any, ...]) -> bool:
    """Loads the machine code of a kernel for one signature, unless it is loaded; False if it is not in the cache."""
    if numba.config.DISABLE_JIT or signature in function.overloads:
        return True
    kept = function._cache.load_overload(signature, function.targetctx)
    if kept is None:
        return False
    function._cache_hits[signature] += 1
    function.targetctx.insert_user_function(kept.entry_point, kept.fndesc, [kept.library])
    function.add_overload(kept)
    return True


def give_method(
    type_class: type[Any],
    name: str,
    method: Callable[..., Any],
    method_of: Callable[[Any], Callable[..., Any] | None] | None = None,
    **options: Any,
) -> None:
    """Lets compiled code call a method on values of a class of Numba types.

    Args:
        type_class: the class of Numba types.
        name: the method's name.
        method: the method; with `method_of`, any function with the same parameters.
        method_of: returns the method of a type, or None if the type has none (it may have a field of that name).
        options: of the compiled method.
    """
    find_method = method_of or (lambda _: method)
    template = make_overload_method_template(type_class, name, method, inline="never")
    resolve = template._resolve

    def resolve_existing(self: Any, owner: Any, attribute: str) -> Any:
        return resolve(self, owner, attribute) if find_method(owner) is not None else None

    template._resolve = resolve_existing
    template._get_function_type = classmethod(lambda cls, context, owner: callee(find_method(owner), **options))
    infer_getattr(template)


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A compiled function that is inlined into the kernels that call it; Python calls its own machine code."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions=options | {"nopython": True, "no_cfunc_wrapper": True})
        self._as_callee = numba.njit(**options, **_CALLED)(function)

    @property
    def _numba_type_(self) -> Any:
        return _CalleeType(self._as_callee)


def give_constants(type_class: type[Any], names: Container[str], value_of: Callable[[Any, str], Any]) -> None:
    """Lets compiled code read `value_of(type, name)` as a constant attribute, for each name in `names`."""

    class Constants(AttributeTemplate):  # type: ignore[misc]
        key = type_class

        def generic_resolve(self, owner: Any, name: str) -> Any:
            return numba.typeof(value_of(owner, name)) if name in names else None

    def lower_constant(context: Any, builder: Any, owner: Any, value: Any, name: str) -> Any:
        constant = value_of(owner, name)
        return context.get_constant_generic(builder, numba.typeof(constant), constant)

    infer_getattr(Constants)
    lower_getattr_generic(type_class)(lower_constant)


class _Listener(event.Listener):  # type: ignore[misc]  # Numba has no types
    """Reports compilations. Garbage collection is off meanwhile, as most objects that compiling creates stay alive."""

    def __init__(self, begin: Callable[[Callable[..., Any], Sequence[Any]], Callable[[], None] | None]) -> None:
        self.begin = begin
        self.depth = 0  # of nested compilations: only the outermost is reported. Numba compiles in one thread at a time
        self.end: Callable[[], None] | None = None
        self.collects = True

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.collects = gc.isenabled()
            gc.disable()
            self.end = self.begin(event.data["dispatcher"].py_func, event.data["args"])
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            if self.collects:
                gc.enable()
            if self.end is not None:
                self.end()


def watch_compiling(begin: Callable[[Callable[..., Any], Sequence[Any]], Callable[[], None] | None]) -> None:
    """Calls `begin` with each function that is about to be compiled, and the types of its arguments.

    The function that `begin` returns is called when compiling ends or fails. Functions compiled for a caller, and code
    loaded from the cache, are not reported.
    """
    event.register("numba:compile", _Listener(begin))
