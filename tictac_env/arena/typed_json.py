"""Reads JSON back as the dataclasses that wrote it by `dataclasses.asdict`."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from tictac_env.games import shown

T = TypeVar("T")
WORDS = {NoneType: "null", bool: "true or false", int: "an integer", float: "a number", str: "a string"}
"""The types of JSON's plain values, as messages name them."""


def read_as(kind: type[T], value: object) -> T:
    """The dataclass that `dataclasses.asdict` and JSON made an object of.

    Its fields may be dataclasses, named tuples, tuples, dicts with strings as keys, literals, plain values, unions of
    these, and `Any`.

    Raises:
        ValueError: the value is of another type; the message names the place in it, the value and the type.

    Example:
        >>> from tictac_env.arena.records import Searched
        >>> read_as(Searched, {"plies": 3, "positions": 40})
        Searched(plies=3, positions=40)
    """
    converted: T = _read(kind, value, kind.__name__)
    return converted


def _read(kind: Any, value: object, place: str) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any or (origin is Literal and value in parts):
        return value
    if origin in (Union, UnionType):
        return _read(_member(parts, value), value, place)
    if origin is tuple and isinstance(value, list):
        kinds = parts[:1] * len(value) if parts[-1] is ... else parts
        return tuple(_read_each(kinds, value, place))
    if origin is dict and isinstance(value, dict):
        return {name: _read(parts[1], item, f"{place}.{name}") for name, item in value.items()}
    if is_dataclass(kind) and isinstance(value, dict):
        return _read_object(kind, value, place)
    if hasattr(kind, "_fields") and isinstance(value, list):
        return kind(*_read_each([*_kinds(kind).values()], value, place))
    if kind is float and type(value) is not bool and isinstance(value, (int, float)) and math.isfinite(value):
        return value
    if kind in WORDS and type(value) is kind and kind is not float:
        return value
    raise ValueError(f"{place} must be {_words(kind)}, not {shown(value)}")


def _read_object(kind: Any, value: dict[str, object], place: str) -> Any:
    kinds = _kinds(kind)
    if wrong := sorted(kinds.keys() ^ value.keys()):
        lacking = "no" if wrong[0] in kinds else "an unknown"
        raise ValueError(f"{place} has {lacking} field {wrong[0]!r}; its fields are {', '.join(kinds)}")
    return kind(**{name: _read(part, value[name], f"{place}.{name}") for name, part in kinds.items()})


@functools.cache  # the hints are strings, and cost more to read than all values of a record
def _kinds(kind: Any) -> dict[str, Any]:
    """The types of the fields of a dataclass or a named tuple, by name."""
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else kind._fields
    return {name: hints[name] for name in names}


def _read_each(kinds: Any, values: list[object], place: str) -> list[Any]:
    if len(kinds) != len(values):
        raise ValueError(f"{place} must have {len(kinds)} items, not {len(values)}")
    return [_read(kind, value, f"{place}[{i}]") for i, (kind, value) in enumerate(zip(kinds, values, strict=True))]


def _member(parts: tuple[Any, ...], value: object) -> Any:
    """The member of a union to read a value as: null, the class with an object's fields or a dict, else the first."""
    if value is None and NoneType in parts:
        return NoneType
    kinds = [part for part in parts if part is not NoneType]
    if isinstance(value, Mapping):
        for kind in kinds:
            if get_origin(kind) is dict or (is_dataclass(kind) and {part.name for part in fields(kind)} == set(value)):
                return kind
    return kinds[0]


def _words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(repr, get_args(kind)))}"
    is_object = is_dataclass(kind) or get_origin(kind) is dict
    return WORDS.get(kind, "an object" if is_object else "a list")
