"""The names of Numba that its documentation does not promise, all in this file; a test tries what is relied on.

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
"""Options of a function that machine code has at every call rather than once."""
UNCOUNTED = {"_nrt": False}
"""Options of a function that makes no arrays and so counts no references to those it is given."""


class _Callee(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """The code of a function that only compiled code calls: it is optimised, and made machine code, in its callers.

    Numba would do both for each function, and once more in each caller: half of the time of compiling.
    """

    @property
    def codegen(self) -> _Callee:
        return self

    def set_env(self, name: str, env: object) -> None:
        """There is no machine code that could look at its environment."""

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

    It is compiled once for all constants that callers know of its arguments: it becomes a part of these callers, so the
    constants are found again. `overload` would compile it for each constant, and for callers of each kind.
    """

    templates = ()
    """Numba asks the function of a method for these; there are none."""

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
"""Numba holds them weakly."""


def call_compiled(function: Callable[..., Any]) -> None:
    """Lets compiled code call a plain function."""
    infer_global(function, callee(function, **CALLED))


@contextmanager
def cache_in(folder: str) -> Iterator[None]:
    """What is decorated within keeps its machine code in `folder`; other users of Numba keep theirs."""
    configured = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = folder  # is read when the dispatcher is made
    try:
        yield
    finally:
        numba.config.CACHE_DIR = configured


UNKEPT: list[OSError] = []
"""Why machine code could not be written to the disk, each time."""


class _KeptCode(FunctionCache):  # type: ignore[misc]  # Numba has no types
    """Machine code on the disk, of which there may be none: it can always be compiled again.

    Numba would compile a function again after any edit of its file, and after none of another file.

    Attributes:
        locking: whether this process holds a lock, or waits for it.

    Args:
        dispatcher: the compiled function.
        reach: names the source that the function reaches, called with arguments of the given types.
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
        except Exception:  # whatever a file provokes that is cut short, or cannot be read
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            with self._locked("saving.lock", 0):  # else two processes may give their code the same file
                try:
                    super().save_overload(sig, data)
                except OSError:
                    raise
                except Exception:  # the list of what is there is damaged
                    self.flush()
                    super().save_overload(sig, data)
        except OSError as error:
            UNKEPT.append(error)

    @contextmanager
    def lock(self, sig: Any, target_context: Any) -> Iterator[None]:
        """Makes other processes that need the code for these arguments wait; the thread has Numba's lock.

        What is compiled within the block takes no lock of its own, so no two processes wait for each other.
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

    Of several processes that need code which is not there, only the first compiles it; the others wait and load it.
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
    """The classes of the named tuples among the arguments of a signature, and of those within them, in order."""
    found = set()
    todo = list(signature if isinstance(signature, tuple) else signature.args)
    while todo:
        one = todo.pop()
        if isinstance(one, types.BaseTuple):
            todo += one.types if hasattr(one, "types") else [one.dtype]
        if isinstance(one, types.BaseNamedTuple):
            found.add(one.instance_class)
    return sorted(found, key=lambda one: (one.__module__, one.__qualname__))


def entry_point(function: Any, signature: tuple[Any, ...]) -> Callable[..., Any]:
    """The machine code of a kernel for one signature, as a function that does not look at its arguments."""
    if numba.config.DISABLE_JIT:
        return function  # type: ignore[no-any-return]
    function.compile(signature)
    code: Callable[..., Any] = function.overloads[signature].entry_point
    return code


def load_kept(function: Any, signature: tuple[Any, ...]) -> bool:
    """Whether there is machine code of a kernel for one signature, here or in the cache; then it is loaded."""
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
    """Lets compiled code call a method of the values of a class of types.

    Args:
        type_class: the class of Numba types.
        name: the method's name.
        method: the method; with `method_of`, any with the same parameters.
        method_of: the method of one of the types, None if it has none; so it may have a field of that name.
        options: of the compiled method.
    """
    of = method_of or (lambda _: method)
    template = make_overload_method_template(type_class, name, method, inline="never")
    resolve = template._resolve

    def resolve_given(self: Any, owner: Any, attribute: str) -> Any:
        return resolve(self, owner, attribute) if of(owner) is not None else None

    template._resolve = resolve_given
    template._get_function_type = classmethod(lambda cls, context, owner: callee(of(owner), **options))
    infer_getattr(template)


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A compiled function that becomes a part of the kernels that call it; others call machine code of its own."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions=options | {"nopython": True, "no_cfunc_wrapper": True})
        self._as_callee = numba.njit(**options, **_CALLED)(function)

    @property
    def _numba_type_(self) -> Any:
        return _CalleeType(self._as_callee)


def give_constants(type_class: type[Any], names: Container[str], value_of: Callable[[Any, str], Any]) -> None:
    """Lets compiled code read constants of a type: `value_of(type, name)` for the names in `names`."""

    class Constants(AttributeTemplate):  # type: ignore[misc]
        key = type_class

        def generic_resolve(self, owner: Any, name: str) -> Any:
            return numba.typeof(value_of(owner, name)) if name in names else None

    def constant(context: Any, builder: Any, owner: Any, value: Any, name: str) -> Any:
        known = value_of(owner, name)
        return context.get_constant_generic(builder, numba.typeof(known), known)

    infer_getattr(Constants)
    lower_getattr_generic(type_class)(constant)


class _Listener(event.Listener):  # type: ignore[misc]  # Numba has no types
    """Tells what is compiled. Python collects no garbage meanwhile, as most of what compiling makes stays."""

    def __init__(self, begin: Callable[[Callable[..., Any], Sequence[Any]], Callable[[], None] | None]) -> None:
        self.begin = begin
        self.depth = 0  # what is compiled for something else is a part of that; Numba lets one thread compile at a time
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
    """Has `begin` called with each function that is about to be compiled, and the types of its arguments.

    What `begin` returns is called when that is done, or has failed. A function that is compiled for another one, which
    calls it, and what is found in the cache are not told.
    """
    event.register("numba:compile", _Listener(begin))
