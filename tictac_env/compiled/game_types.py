"""The Numba types of games: compiled code reads their fields as constants and calls their own methods."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import threading
from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import NativeValue, models, overload_method, register_model, unbox

from tictac_env.compiled.callees import compile_callees, fingerprint
from tictac_env.compiled.numba_names import CALLED, give_constants
from tictac_env.games import Game

_TYPES: dict[str, GameType] = {}
"""The type of every game that compiled code has met, by its key."""
_LOCK = threading.RLock()


class GameType(types.Type):  # type: ignore[misc]  # Numba has no types
    """The Numba type of one game. Its values carry nothing: everything is in the type.

    Each class of games has a subclass of its own, so methods of one name may differ from game to game. The key names
    the class, the values of its fields and the source of its methods and properties. Numba keeps it with the machine
    code: code is found again by other runs, but not after a rule has changed, and it can be read where the game itself
    is unknown.
    """

    game: Game

    def __init__(self, key: str) -> None:
        super().__init__(key)

    def __reduce__(self) -> tuple[Callable[[str], GameType], tuple[str]]:
        return _known_type, (self.name,)


def _known_type(key: str) -> GameType:
    """The type of that key; where this run knows no such game, one that equals no other."""
    return _TYPES.get(key) or GameType(key)


@unbox(GameType)  # type: ignore[untyped-decorator]
def _unbox_game(game_type: Any, game: Any, context: Any) -> Any:
    return NativeValue(context.context.get_dummy_value())


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
    """The Numba type of a class of games, and a number for the source of its methods, properties and constants.

    Raises:
        TypeError: a method uses `super()`.
    """
    type_class: Any = type(GameType)(f"{game_class.__name__}Type", (GameType,), {})  # type: ignore[misc]
    register_model(type_class)(models.OpaqueModel)
    methods = {
        name: method
        for name, method in inspect.getmembers(game_class, inspect.isfunction)
        if not name.startswith("__") and name != "status"
    }
    for method in methods.values():
        if "__class__" in method.__code__.co_freevars:  # what super() stands for; Numba's error would be of no help
            raise TypeError(
                f"{method.__qualname__} uses super(), which compiled rules cannot: "
                "write out what the parent's method does, from methods that the class leaves as they are"
            )
    constants = {field.name for field in dataclasses.fields(game_class)}  # type: ignore[arg-type]
    getters: list[Callable[..., Any]] = []
    numbers = []
    for name, value in inspect.getmembers(game_class):
        if name.startswith("_") or not isinstance(value, (property, functools.cached_property, int)):
            continue
        constants.add(name)
        if isinstance(value, int):
            numbers.append((name, value))
        elif getter := value.fget if isinstance(value, property) else value.func:
            getters.append(getter)
    give_constants(type_class, constants, lambda game, name: getattr(game.game, name))
    for name, method in methods.items():
        _compile_method(type_class, name, method)
        compile_callees(method)
    return type_class, f"{fingerprint(*methods.values(), *getters)} {numbers}"


def _compile_method(type_class: type[GameType], name: str, method: Callable[..., Any]) -> None:
    def resolve(game: Any, *arguments: Any) -> Any:
        return method

    resolve.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]  # Numba folds arguments by it
    overload_method(type_class, name, strict=False, jit_options=CALLED)(resolve)


Game._numba_type_ = property(functools.cache(_type_of))  # type: ignore[attr-defined]  # Numba looks for it
