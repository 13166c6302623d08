"""Tries the hooks of `numba_names` before they are used with a version of Numba that the tests have not run with."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numba
from numba import types
from numba.extending import NativeValue, models, register_model, typeof_impl, unbox

from tictac_env.compiled import numba_names as hooks

CONSTANT = 7


class _Rules:
    """Stands for a game: all of it is in its Numba type."""


class _RulesType(types.Type):  # type: ignore[misc]  # Numba has no types
    def __init__(self) -> None:
        super().__init__("rules of numba_check")


class _Record(NamedTuple):
    """Stands for a record with a method."""

    field: int


register_model(_RulesType)(models.OpaqueModel)


@typeof_impl.register(_Rules)  # type: ignore[untyped-decorator]
def _typeof_rules(rules: _Rules, context: object) -> _RulesType:
    return _RulesType()


@unbox(_RulesType)  # type: ignore[untyped-decorator]
def _unbox_rules(rules_type: object, rules: _Rules, context: Any) -> object:
    return NativeValue(context.context.get_dummy_value())


def _plain(x: int) -> int:
    return 3 * x


def _of_rules(rules: Any, x: int) -> int:
    return int(rules.checked_constant) + x


def _of_record(record: _Record, x: int) -> int:
    return record.field * x


_OPTIONS = {"nogil": True, "error_model": "numpy"} | hooks.UNCOUNTED
_inner: Any = hooks.new_kernel(_plain, _OPTIONS)


def _outer(rules: Any, record: Any, x: int) -> int:
    return _inner(_plain(x)) + rules.of_rules(x) + record.of_checked_record(x)  # type: ignore[no-any-return]


def check_hooks() -> None:
    """Compiles a function that uses each hook, keeps its machine code, loads it, and calls it: half a CPU second.

    Nothing that it registers with Numba is used again, so `numba_public` may follow.

    Raises:
        RuntimeError: a hook does not do its part; Numba may raise other errors.
    """
    # Each hook once, with names that no game or record of ours has: what is registered with Numba stays registered.
    compiled: list[str] = []
    stop = hooks.watch_compiling(lambda function, kinds: lambda: compiled.append(function.__name__))
    try:
        hooks.call_compiled(_plain)
        hooks.give_constants(_RulesType, ["checked_constant"], lambda rules_type, name: CONSTANT)
        hooks.give_method(_RulesType, "of_rules", _of_rules, **hooks.CALLED)
        record_method = {_Record: _of_record}
        hooks.give_method(
            types.BaseNamedTuple,
            "of_checked_record",
            _of_record,
            lambda owner: record_method.get(owner.instance_class),
            **hooks.INLINED,
            **hooks.CALLED,
        )
        # The first kernel compiles and writes its machine code, the second one must load it.
        with TemporaryDirectory() as folder, hooks.cache_in(folder):
            for from_disk in (False, True):
                _check_kernel(from_disk)
    finally:
        stop()
    if compiled.count("_outer") != 1:
        raise RuntimeError(f"compilations are not reported: {compiled}")


def _check_kernel(from_disk: bool) -> None:
    """Calls a kernel that uses each hook; its machine code must be on disk, or must not be."""
    kernel = hooks.new_kernel(_outer, _OPTIONS)
    hooks.keep_code(kernel, lambda signature: "")
    arguments = _Rules(), _Record(5), 11
    signature = tuple(numba.typeof(argument) for argument in arguments)
    if hooks.load_kept(kernel, signature) != from_disk:
        raise RuntimeError("machine code is not kept on disk")
    expected = 9 * 11 + (CONSTANT + 11) + 5 * 11
    results = kernel(*arguments), hooks.entry_point(kernel, signature)(*arguments)
    if results != (expected, expected):
        raise RuntimeError(f"a compiled function returns {results}, not {expected}")
