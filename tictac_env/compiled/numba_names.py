"""Hooks into Numba's internals, which halve the time of compiling and keep machine code between runs.

`numba_public` has the same names by Numba's documented interface alone. `numba_version` takes those if an import here
fails or, with a Numba that the tests have not run with, if `numba_check` does not get the right results. So a hook that
breaks costs time, never results. `tests/env/rules/test_numba_names.py` breaks each hook in turn.

Each hook below says what it replaces, what it saves, and the sign that a new Numba broke it. Savings were measured with
Numba 0.68: CPU seconds that a new process with an empty TICTAC_CACHE_DIR spends on Connect Four's vector environment
and solver and tic-tac-toe's Q-learning and MCTS, with this hook replaced by the documented way. With all hooks it takes
13.5 s, with none 25 s. `python -m pytest tests/env/rules/test_numba_names.py` tries each sign.

When that test passes with a new Numba, raise `NEWEST_TESTED` in `numba_version.py`.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numba
from numba import types
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.typed_passes import NativeLowering
from numba.core.typing.templates import AttributeTemplate, infer_getattr, infer_global, make_overload_method_template
from numba.extending import lower_getattr_generic, models, register_model

from tictac_env.storage import locked

if TYPE_CHECKING:
    from llvmlite import ir
    from numba.core.base import BaseContext
    from numba.core.codegen import Codegen
    from numba.core.compiler import CompileResult, StateDict
    from numba.core.compiler_machinery import PassManager
    from numba.core.typing import Context
    from numba.core.typing.templates import Signature

AnyFunction: TypeAlias = Callable[..., Any]
Compiled: TypeAlias = Any
"""A function that Numba compiled, its `Dispatcher`, whose annotations lack the attributes that are used here."""
CallTypes: TypeAlias = "Signature | tuple[types.Type, ...]"
"""The types of the arguments of a call."""

# Hook 1: options of `njit` that Numba does not document.
# Replaces: nothing; the options are left out.
# Saves: run time, hardly any compile time. With counting, each array of a record that a kernel passes on costs two
#   locked instructions: a third of the time of a tree search. Methods of records are inlined even if they are large.
# Broken: `njit` raises KeyError ("Unrecognized options"); or code without counting contains `NRT_incref`.
INLINED = {"forceinline": True}
"""Options of a function that is inlined at every call."""
UNCOUNTED = {"_nrt": False}
"""Options of a function that makes no arrays, so it counts no references to its arguments."""


# Hook 2: the library of a function that only compiled code calls stays LLVM's intermediate code.
# Replaces: the library class in Numba's lowering pass, by a pipeline (`pipeline_class`) with a pass of our own.
# Saves: 11 s. Numba optimises a function and turns it into machine code, which nothing ever calls, and does both
#   again in each caller that it is inlined into.
# Broken: an import fails; or `step is NativeLowering` finds no pass, and the callee has machine code after all.
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

    def run_pass(self, state: StateDict) -> bool:
        state.library = _Callee(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().run_pass(state)  # type: ignore[no-any-return]


class _CalleeCompiler(CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[PassManager]:
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.passes = [(_CalleeLowering if step is NativeLowering else step, text) for step, text in steps.passes]
        steps.finalize()
        return [steps]


_CALLED: dict[str, Any] = {"pipeline_class": _CalleeCompiler, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
CALLED = UNCOUNTED | _CALLED | {"error_model": "numpy"}
"""Options of a function that only compiled code calls, and that makes no arrays."""


# Hook 3: a type of callees that are compiled once for all callers.
# Replaces: `overload(function)(lambda ...: function)`, and the template that `overload_method` makes.
# Saves: 1.5 s. `overload` compiles a function for each literal argument and each caller's options.
# Broken: `get_call_type` is not called, so a callee has one overload for each constant; or typing fails.
class _CalleeType(types.Dispatcher):  # type: ignore[misc]
    """The Numba type of a function that only compiled code calls.

    It is compiled once, whatever constants callers pass: it becomes a part of its callers, where LLVM sees the
    constants. `overload` would compile it for each constant and for each kind of caller.
    """

    templates = ()
    """Numba reads this attribute of a method's function; there are none."""

    def get_call_type(self, context: Context, args: Sequence[types.Type], kws: Mapping[str, types.Type]) -> Signature:
        plain = {name: types.unliteral(argument) for name, argument in kws.items()}
        return super().get_call_type(context, [types.unliteral(argument) for argument in args], plain)


register_model(_CalleeType)(models.OpaqueModel)


@functools.cache
def callee(function: AnyFunction, **options: object) -> _CalleeType:
    """The type of a plain function that compiled code calls, compiled with these options."""
    dispatcher = numba.njit(**options)(function)
    _CALLEES.append(dispatcher)
    return _CalleeType(dispatcher)


_CALLEES: list[Compiled] = []
"""Keeps the dispatchers alive: Numba has only weak references."""


def call_compiled(function: AnyFunction) -> None:
    """Lets compiled code call a plain function."""
    infer_global(function, callee(function, **CALLED))


# Hook 4: machine code on disk, under a key that holds the source it was made from.
# Replaces: `njit(cache=True)`, whose key is the time of the file of the kernel alone: an edited rule in another file
#   would not be noticed. The documented way is therefore not to keep machine code.
# Saves: 12.5 s in each process after the first one; and with the lock, compiling twice in two that start together.
# Broken: `load_kept` finds nothing on disk after a call; `numba_check` and test_kept_code.py look for that.
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

    Numba's own cache would compile a function again after any edit of its file, and never after one of another file.

    Attributes:
        locking: True while this process holds a lock or waits for one.

    Args:
        dispatcher: the compiled function.
        reach: a function from a signature to a fingerprint of the source that a call with it reaches.
    """

    locking = False

    def __init__(self, dispatcher: Compiled, reach: Callable[[CallTypes], str]) -> None:
        super().__init__(dispatcher.py_func)
        self._reach = reach
        name = re.sub(r"-\d+(\.py\d+)", r"\1", self._impl.filename_base)  # without the number of the line
        self._cache_file = IndexDataCacheFile(self._cache_path, name, source_stamp=None)

    def _index_key(self, sig: CallTypes, codegen: Codegen) -> tuple[object, ...]:
        return (*super()._index_key(sig, codegen), self._reach(sig))

    def load_overload(self, sig: CallTypes, target_context: BaseContext) -> CompileResult | None:
        # Numba's own method imports all that compiling could need first, SciPy among it: 0.3 s. Machine code needs the
        # runtime's symbols only; those of other modules come with its environments. No kernel of ours hashes, whose
        # symbols would be missing.
        try:
            rtsys.initialize(target_context)
            return self._load_overload(sig, target_context)
        except Exception:  # a truncated or unreadable file may raise anything
            return None

    def save_overload(self, sig: CallTypes, data: CompileResult) -> None:
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
    def lock(self, sig: CallTypes, target_context: BaseContext) -> Iterator[None]:
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


def keep_code(dispatcher: Compiled, reach: Callable[[CallTypes], str]) -> None:
    """Keeps the machine code of a function in the folder of `cache_in`; see `_KeptCode`.

    If several processes need code that is not there, the first one compiles it; the others wait and load it.
    """
    dispatcher._cache = _KeptCode(dispatcher, reach)
    # `compile` looks into the cache, then compiles. The lock has to be held over both: a process that waited for
    # another one then finds that one's code. Numba's own lock comes first, as it does everywhere else.
    load_or_compile = dispatcher.compile

    def compile_once(signature: CallTypes) -> AnyFunction:
        with global_compiler_lock, ExitStack() as lock:
            if not load_kept(dispatcher, signature):
                lock.enter_context(dispatcher._cache.lock(signature, dispatcher.targetctx))
            return load_or_compile(signature)  # type: ignore[no-any-return]

    dispatcher.compile = compile_once


# Hook 5: the machine code of one signature, called past the dispatcher.
# Replaces: a call of the compiled function, which looks at the type of each argument.
# Saves: 7 us a call. A step of a vector environment of two boards takes 10.5 us, otherwise 18.
# Broken: `overloads[signature]` raises KeyError, or the result has no `entry_point`.
def entry_point(function: Compiled, signature: tuple[object, ...]) -> AnyFunction:
    """The machine code of a kernel for one signature, as a function that does not check its arguments' types."""
    if numba.config.DISABLE_JIT:
        return function  # type: ignore[no-any-return]
    function.compile(signature)
    code: AnyFunction = function.overloads[signature].entry_point
    return code


def load_kept(function: Compiled, signature: tuple[object, ...]) -> bool:
    """Loads the machine code of a kernel for one signature, unless it is loaded; False if it is not in the cache."""
    if numba.config.DISABLE_JIT or signature in function.overloads:
        return True
    overload = function._cache.load_overload(signature, function.targetctx)
    if overload is None:
        return False
    # What `Dispatcher.compile` does with an overload that it finds in its cache, without the compiling if it does not.
    function._cache_hits[signature] += 1
    function.targetctx.insert_user_function(overload.entry_point, overload.fndesc, [overload.library])
    function.add_overload(overload)
    return True


def give_method(
    type_class: type,
    name: str,
    method: AnyFunction,
    method_of: Callable[[types.Type], AnyFunction | None] | None = None,
    **options: object,
) -> None:
    """Lets compiled code call a method on values of a class of Numba types.

    Args:
        type_class: the class of Numba types.
        name: the method's name.
        method: the method; with `method_of`, any function with the same parameters.
        method_of: returns the method of a type, or None if the type has none (it may have a field of that name).
        options: of the compiled method.
    """
    # Hook 6: the template of `overload_method`, with two of its parts replaced.
    # Replaces: `overload_method`, which compiles a method for each kind of caller (see hook 3).
    # Saves: what hook 3 saves; and a class of records that has a *field* of the method's name keeps it.
    # Broken: `_resolve` or `_get_function_type` is never called: other people's named tuples get our methods.
    find_method = method_of or (lambda _: method)
    template = make_overload_method_template(type_class, name, method, inline="never")
    resolve = template._resolve

    def resolve_existing(self: AttributeTemplate, owner: types.Type, attribute: str) -> types.Type | None:
        return resolve(self, owner, attribute) if find_method(owner) is not None else None

    template._resolve = resolve_existing
    template._get_function_type = classmethod(lambda cls, context, owner: callee(find_method(owner), **options))
    infer_getattr(template)


# Hook 7: a dispatcher whose Numba type is that of another one.
# Replaces: `njit(function)`: a kernel that another kernel calls is then compiled to machine code of its own.
# Saves: 4 s. Most kernels are called by kernels only, and become a part of these.
# Broken: `_numba_type_` is not read: `overloads` of a kernel that only kernels call is not empty.
class _Kernel(CPUDispatcher):  # type: ignore[misc]
    """A compiled function that is inlined into the kernels that call it; Python calls its own machine code."""

    def __init__(self, function: AnyFunction, options: Mapping[str, object]) -> None:
        super().__init__(function, targetoptions={**options, "nopython": True, "no_cfunc_wrapper": True})
        self._as_callee = numba.njit(**options, **_CALLED)(function)

    @property
    def _numba_type_(self) -> _CalleeType:
        return _CalleeType(self._as_callee)


def new_kernel(function: AnyFunction, options: Mapping[str, object]) -> Compiled:
    """Compiles a function that both Python and kernels call."""
    return _Kernel(function, options)


def give_constants(type_class: type, names: Collection[str], value_of: Callable[[types.Type, str], object]) -> None:
    """Lets compiled code read `value_of(type, name)` as a constant attribute, for each name in `names`."""

    # Hook 8: one template for all constants of a class of games.
    # Replaces: `overload_attribute` for each name, which compiles a function for each constant that is read.
    # Saves: 2 s.
    # Broken: `generic_resolve` is not called, and compiling ends in a TypingError ("unknown attribute").
    class Constants(AttributeTemplate):  # type: ignore[misc]
        key = type_class

        def generic_resolve(self, owner: types.Type, name: str) -> types.Type | None:
            return numba.typeof(value_of(owner, name)) if name in names else None

    def lower_constant(
        context: BaseContext, builder: ir.IRBuilder, owner: types.Type, value: ir.Value, name: str
    ) -> ir.Value:
        constant = value_of(owner, name)
        return context.get_constant_generic(builder, numba.typeof(constant), constant)

    infer_getattr(Constants)
    lower_getattr_generic(type_class)(lower_constant)


# Hook 9: Numba's events, which only its developers' documentation describes.
# Replaces: nothing; without them no line says that a kernel is being compiled, and `seconds_compiling` stays 0.
# Broken: the event `numba:compile` has other data (KeyError), or is not reported.
class _Listener(event.Listener):  # type: ignore[misc]  # Numba has no types
    """Reports compilations that are not a part of another one."""

    def __init__(self, begin: Callable[[AnyFunction, Sequence[object]], Callable[[], None] | None]) -> None:
        self.begin = begin
        self.depth = 0  # of nested compilations; Numba compiles in one thread at a time
        self.end: Callable[[], None] | None = None

    def on_start(self, event: event.Event) -> None:
        if self.depth == 0:
            self.end = self.begin(event.data["dispatcher"].py_func, event.data["args"])
        self.depth += 1

    def on_end(self, event: event.Event) -> None:
        self.depth -= 1
        if self.depth == 0 and self.end is not None:
            self.end()


def watch_compiling(begin: Callable[[AnyFunction, Sequence[object]], Callable[[], None] | None]) -> Callable[[], None]:
    """Calls `begin` with each function that is about to be compiled, and the types of its arguments.

    The function that `begin` returns is called when compiling ends or fails. Functions compiled for a caller, and code
    loaded from the cache, are not reported.

    Returns:
        A function that ends the reports.
    """
    listener = _Listener(begin)
    event.register("numba:compile", listener)
    return functools.partial(event.unregister, "numba:compile", listener)
