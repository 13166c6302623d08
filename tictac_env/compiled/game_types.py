"""Numba types of games: compiled code reads a game's fields as constants and calls its methods."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import threading
from collections.abc import Callable, Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numba import types
from numba.extending import NativeValue, models, overload, register_model, typeof_impl, unbox

from tictac_env.compiled.numba_version import hooks
from tictac_env.games import Game

if TYPE_CHECKING:
    from numba.core.typing.templates import Signature

AnyFunction: TypeAlias = Callable[..., Any]

_COMPILED: set[AnyFunction] = set()


def compile_callees(function: AnyFunction) -> None:
    """Lets compiled code call the plain functions that `function` calls, directly or indirectly.

    These are functions of `tictac_env` and of the package or file that defines `function`. So a module such as
    `tictac_env.rng` needs no Numba, and its functions run interpreted and compiled. They make no arrays: see
    `borrowing_kernel`.
    """
    for called in _callees(function):
        if called not in _COMPILED:
            _COMPILED.add(called)
            hooks.call_compiled(called)
            compile_callees(called)


def compiled_as(function: AnyFunction) -> Callable[[AnyFunction], AnyFunction]:
    """Decorates the function that compiled code calls instead of `function`; see `numba.extending.overload`."""
    _COMPILED.add(function)
    return overload(function, prefer_literal=True, strict=False, jit_options=hooks.CALLED)  # type: ignore[no-any-return]


@functools.cache
def fingerprint(*reached: AnyFunction | type) -> str:
    """A hash of the code of functions, of everything they call, and of the fields and methods of records."""
    # A walk over all code that a kernel can reach: whatever could change its results is part of the hash; line numbers,
    # comments and paths are not.
    digest, todo, seen = hashlib.sha256(), list(reached), set[AnyFunction | type]()
    while todo:
        code = todo.pop()
        if code in seen:
            continue
        seen.add(code)
        if inspect.isclass(code):
            digest.update(repr((code.__qualname__, getattr(code, "_fields", ()))).encode())
            methods = inspect.getmembers(code, inspect.isfunction)
            todo += (method for _, method in methods if _package(method) == _package(code))
            continue
        digest.update(repr((code.__qualname__, code.__defaults__, *_parts(code))).encode())
        todo += _callees(code)
        value: Any
        for value in _referenced(code):
            if hasattr(value, "py_func"):  # compiled by its owner
                digest.update(repr(sorted(value.targetoptions.items())).encode())
                todo.append(value.py_func)
            elif inspect.isclass(value) and hasattr(value, "_fields"):
                todo.append(value)
    return digest.hexdigest()[:16]


def _callees(function: AnyFunction) -> Iterator[AnyFunction]:
    home = {"tictac_env", _package(function)}
    for called in _referenced(function):
        if inspect.isfunction(called) and _package(called) in home:
            yield called


def _referenced(function: AnyFunction) -> Iterator[object]:
    """The globals that a function names, and the attributes that it names of those that are modules or classes."""
    # By name, as byte code has it: `module.function` is the two names `module` and `function`. A name that happens to
    # be in a module too adds something that is not used: the hash then changes once too often, never too seldom.
    names = [name for code in _codes(function.__code__) for name in code.co_names]
    for name in names:
        if name in function.__globals__:
            value = function.__globals__[name]
            yield value
            if inspect.ismodule(value) or inspect.isclass(value):
                yield from (vars(value)[other] for other in names if other in vars(value))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of the functions and comprehensions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _package(function: AnyFunction | type) -> str:
    return (function.__module__ or "").split(".")[0]


def _parts(function: AnyFunction) -> Iterator[object]:
    """The instructions and constants of a function, including constants of its module and of an enclosing function."""
    for code in _codes(function.__code__):
        yield from (code.co_code, code.co_names)
        yield from (constant for constant in code.co_consts if not isinstance(constant, CodeType))
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    for value in (*cells, *_referenced(function)):
        if isinstance(value, (bool, int, float, str, tuple, np.generic)):
            yield value
        elif isinstance(value, np.ndarray):
            yield str(value.dtype), value.shape, value.tobytes()


_TYPES: dict[str, GameType] = {}
"""The type of each game that compiled code has been used with, by its key."""
_LOCK = threading.RLock()


class GameType(types.Type):  # type: ignore[misc]  # Numba has no types
    """The Numba type of one game. Its values hold no data: all of it is in the type.

    Each class of games has its own subclass, so a method may differ from game to game. The key names the class, the
    values of its fields and the source of its methods and properties. Numba keeps the key with the machine code: other
    runs find the code again, but not after a rule has changed, and it can be read even if the game itself is unknown.
    """

    game: Game

    def __init__(self, key: str) -> None:
        super().__init__(key)

    def __reduce__(self) -> tuple[Callable[[str], GameType], tuple[str]]:
        return _type_of_key, (self.name,)


def _type_of_key(key: str) -> GameType:
    """The type with this key; if this run has no such game, a new type that equals no other."""
    return _TYPES.get(key) or GameType(key)


@unbox(GameType)  # type: ignore[untyped-decorator]
def _unbox_game(game_type: GameType, game: Game, context: Any) -> NativeValue:
    return NativeValue(context.context.get_dummy_value())


@functools.cache
def _type_of(game: Game) -> GameType:
    with _LOCK:
        type_class, source = _compile_class(type(game))
        values = [getattr(game, field.name) for field in dataclasses.fields(game)]  # type: ignore[arg-type]
        digest = hashlib.sha256(repr((type(game).__module__, type(game).__qualname__, values, source)).encode())
        key = f"{game!r} {digest.hexdigest()[:16]}"
        if key not in _TYPES:
            _TYPES[key] = type_class(key)
            _TYPES[key].game = game
        return _TYPES[key]


@functools.cache
def _compile_class(game_class: type[Game]) -> tuple[type[GameType], str]:
    """The Numba type of a class of games, and a fingerprint of its methods, properties and constants.

    Raises:
        TypeError: a method uses `super()`.
    """
    # A class of Numba types for the class of games: methods are registered by it, so two games may differ in them.
    type_class: Any = type(GameType)(f"{game_class.__name__}Type", (GameType,), {})  # type: ignore[misc]
    register_model(type_class)(models.OpaqueModel)
    members = inspect.getmembers(game_class, inspect.isfunction)
    methods = {name: method for name, method in members if not name.startswith("__")}
    for method in methods.values():
        if "__class__" in method.__code__.co_freevars:  # super() reads it; Numba's own error message would not help
            raise TypeError(
                f"{method.__qualname__} uses super(), which compiled rules cannot: "
                "write out what the parent's method does, with methods that the class does not override"
            )
    # Fields, properties and class constants become attributes, constant in compiled code. The source of properties and
    # the values of class constants are part of the fingerprint; the key of a game has its fields.
    constants = {field.name for field in dataclasses.fields(game_class)}  # type: ignore[arg-type]
    getters: list[AnyFunction] = []
    numbers = []
    for name, value in inspect.getmembers(game_class):
        if name.startswith("_") or not isinstance(value, (property, functools.cached_property, int)):
            continue
        constants.add(name)
        if isinstance(value, int):
            numbers.append((name, value))
        elif getter := value.fget if isinstance(value, property) else value.func:
            getters.append(getter)
    hooks.give_constants(type_class, constants, lambda game, name: getattr(game.game, name))
    for name, method in methods.items():
        hooks.give_method(type_class, name, method, **hooks.CALLED)
        compile_callees(method)
    return type_class, f"{fingerprint(*methods.values(), *getters)} {numbers}"


@typeof_impl.register(Game)  # type: ignore[untyped-decorator]
def _typeof_game(game: Game, context: object) -> GameType:
    return _type_of(game)


Record = TypeVar("Record", bound=type)

_RECORDS: set[type] = set()
_METHODS: dict[str, list[str]] = {}
"""The parameter names of each method."""


def kernel_methods(record: Record) -> Record:
    """Decorates a `NamedTuple` class, or a subclass of one, whose public methods compiled code may call.

    A kernel can then take several kinds of record that implement the same methods; a method has the same parameters in
    all of them. A subclass needs the decorator too. Methods make no arrays: see `borrowing_kernel`.

    Raises:
        TypeError: a method's parameters differ from those of the same method of a class decorated earlier.
    """
    _RECORDS.add(record)
    for name, method in inspect.getmembers(record, inspect.isfunction):
        compile_callees(method)
        if not name.startswith("_"):
            _give_method(name, method)
    return record


def _give_method(name: str, method: AnyFunction) -> None:
    # Numba has one type class for all named tuples, so a name is registered once, for all records that have the method;
    # `method_of` finds the record's own when a call is compiled.
    names = list(inspect.signature(method).parameters)
    if first := _METHODS.get(name):
        if names != first:
            raise TypeError(f"{name}({', '.join(names)}) must have the parameters of other records, {', '.join(first)}")
        return
    _METHODS[name] = names

    def method_of(owner: types.BaseNamedTuple) -> AnyFunction | None:
        record = owner.instance_class
        method = getattr(record, name, None) if record in _RECORDS else None
        return method if inspect.isfunction(method) else None

    hooks.give_method(types.BaseNamedTuple, name, method, method_of, **hooks.INLINED, **hooks.CALLED)


def records_in(signature: Signature | tuple[types.Type, ...]) -> list[type]:
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
