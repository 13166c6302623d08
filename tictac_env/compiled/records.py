"""Methods of records: compiled code calls those of the `NamedTuple` classes it was given."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from tictac_env.compiled.callees import compile_callees
from tictac_env.compiled.numba_names import overload_record_method

Record = TypeVar("Record", bound=type)

_RECORDS: set[type] = set()
_METHODS: dict[str, list[str]] = {}
"""The names of the parameters of each method."""


def kernel_methods(record: Record) -> Record:
    """Lets compiled code call the public methods of a `NamedTuple` class, or of a subclass of one, on its instances.

    So several kinds of record can stand in one kernel, each with methods of its own under the same names; a method has
    the same parameters in all of them. A subclass needs a mark of its own. Methods make no arrays: see
    `borrowing_kernel`.

    Raises:
        TypeError: a method has other parameters than the method of that name of an earlier class.
    """
    _RECORDS.add(record)
    for name, method in inspect.getmembers(record, inspect.isfunction):
        compile_callees(method)
        if not name.startswith("_"):
            _compile_method(name, inspect.signature(method))
    return record


def _compile_method(name: str, signature: inspect.Signature) -> None:
    names = list(signature.parameters)
    if known := _METHODS.get(name):
        if names != known:
            raise TypeError(f"{name}({', '.join(names)}) must have the parameters of other records, {', '.join(known)}")
        return
    _METHODS[name] = names

    def resolve(self: Any, *arguments: Any) -> Any:
        return getattr(self.instance_class, name, None)

    resolve.__signature__ = signature  # type: ignore[attr-defined]  # Numba folds arguments by it
    overload_record_method(_RECORDS, name, resolve)
