"""What `tictac_env.compiled` relies on and Numba's documentation does not promise: tried, in case it changes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from tictac_env.compiled import kernel, kernel_methods, numba_version
from tictac_env.compiled.numba_names import INLINED, UNCOUNTED


@numba.njit
def first_of(array: Any) -> int:
    return array[0]


def first(array: Any, times: int) -> int:
    total, kept = 0, array
    for _ in range(times):
        kept = array if total else kept
        total += first_of(kept)
    return total


def test_code_without_counting_counts_no_references() -> None:
    arrays = np.ones(3, np.int64)
    counted, uncounted = numba.njit(first), numba.njit(**UNCOUNTED)(first)
    assert counted(arrays, 2) == uncounted(arrays, 2) == 2
    code = {name: "".join(f.inspect_llvm().values()) for name, f in (("yes", counted), ("no", uncounted))}
    assert "NRT_incref" in code["yes"]
    assert "NRT_incref" not in code["no"]


def test_inlined_functions_are_marked_for_llvm() -> None:
    function = numba.njit(**INLINED)(lambda x: x + 1)
    assert function(1) == 2
    assert "alwaysinline" in "".join(function.inspect_llvm().values())


@kernel
def twice(x: int) -> int:
    return 2 * x


@kernel
def four_times(x: int) -> int:
    return twice(twice(x))


def test_a_kernel_that_is_called_becomes_a_part_of_its_caller() -> None:
    calls: Any = four_times
    assert calls(3) == 12
    assert not twice.overloads  # type: ignore[attr-defined]  # no machine code of its own
    assert twice(3) == 6 and twice.overloads  # type: ignore[attr-defined]


@kernel_methods
class Ours(NamedTuple):
    """A record whose method compiled code calls."""

    value: int

    def doubled(self) -> int:
        return 2 * self.value


@kernel_methods
class AlsoOurs(NamedTuple):
    """A record with a method that has the name of the other's field."""

    number: int

    def value(self, row: int, slot: int) -> int:
        return self.number + row + slot


class Theirs(NamedTuple):
    """A record of somebody else's with a method of that name."""

    value: int

    def doubled(self) -> int:
        return 3 * self.value


class Field(NamedTuple):
    """A record of somebody else's with a field of that name."""

    doubled: int


@numba.njit
def method(record: Any) -> int:
    return record.doubled()


def test_only_records_that_were_given_get_methods() -> None:
    assert method(Ours(4)) == 8  # whose field `value` is not the other record's method
    with pytest.raises(numba.TypingError):
        method(Theirs(4))
    assert numba.njit(lambda record: record.doubled)(Field(5)) == 5


def test_methods_of_one_name_have_the_same_parameters() -> None:
    with pytest.raises(TypeError, match=r"doubled\(self, times\) must have the parameters of other records, self"):

        @kernel_methods
        class Other(NamedTuple):
            value: int

            def doubled(self, times: int) -> int:
                return times * self.value


NEWER = """
import sys, warnings
import numba
numba.__version__, numba.version_info = "0.99.1", numba.version_info._replace(short=(0, 99))
if sys.argv[1:]:  # a name that this Numba no longer has
    del numba.core.registry.CPUDispatcher
import tictac_env.compiled
"""


@pytest.mark.parametrize("lacks", [pytest.param([], marks=pytest.mark.slow), ["a name"]], ids=["nothing", "a name"])
def test_an_untested_numba_is_named_before_anything_can_fail(lacks: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", NEWER, *lacks], capture_output=True, text=True, check=False)
    told, tested = done.stderr, ".".join(map(str, numba_version.NEWEST_TESTED))
    assert (
        told.count("UserWarning") == 1 and "Numba 0.99.1" in told and tested in told and "NUMBA_DISABLE_JIT=1" in told
    )
    assert (done.returncode != 0) == ("ImportError" in told) == bool(lacks)
