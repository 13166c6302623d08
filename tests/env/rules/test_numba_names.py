"""What `tictac_env.compiled` relies on and Numba's documentation does not promise: tried, in case it changes."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from conftest import breadth
from test_compiled import COMPILED_RESULTS, INTERPRETED

from tictac_env.compiled import kernel, kernel_methods, numba_names, numba_version
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


BREAKS = """
import builtins
import sys
import numba

version, missing, edit = sys.argv[1:]
if version == "newer":
    numba.__version__, numba.version_info = "0.99.1", numba.version_info._replace(short=(0, 99))

def fail(*arguments, **named):
    raise AttributeError("this Numba has no such thing")

def importing(name, globals=None, locals=None, fromlist=(), level=0, original=builtins.__import__):
    if globals and globals.get("__name__") == "tictac_env.compiled.numba_names" and missing in (fromlist or ()):
        raise ImportError(f"cannot import name {missing!r}")
    if name == "tictac_env.compiled.numba_check":
        hooks = vars(sys.modules["tictac_env.compiled.numba_names"])
        hooks["fail"] = fail
        exec(edit, hooks)
    return original(name, globals, locals, fromlist, level)

builtins.__import__ = importing
"""
"""Takes a name of Numba away, or edits the hooks before they are tried; Numba itself stays as it is."""

PROGRAM = """
from typing import NamedTuple
from tictac_env.compiled import kernel, kernel_methods, machine_code, numba_version
from tictac_env.games import GAMES
from tictac_env.rng import mix

@kernel_methods
class Shifted(NamedTuple):
    by: int

    def shifted(self, x: int, times: int = 1) -> int:
        return x + times * self.by

@kernel
def first_moves(game, record, x):
    return record.shifted(game.legal(x, 0)) + mix(x)

@kernel
def total(game, record, x):
    own, opp = game.play(*game.start(), 4)
    return first_moves(game, record, x) + record.shifted(game.full, times=2) + game.result(own, opp)

arguments = GAMES["ConnectFour-v0"], Shifted(5), 3
assert total(*arguments) == machine_code(total, *arguments)(*arguments) == total.py_func(*arguments)
print(numba_version.hooks.__name__.split(".")[-1])
"""
"""Kernels that need a plain function, a game, a record and another kernel."""

IMPORTED = [
    alias.name
    for node in ast.parse(Path(numba_names.__file__).read_text()).body
    if isinstance(node, ast.ImportFrom) and str(node.module).startswith("numba.core")
    for alias in node.names
]
"""The names that Numba does not promise, without those of which only annotations speak."""

EDITS = {
    "options": "UNCOUNTED['_no_such_option'] = True",
    "library": "_Callee._finalize_final_module = fail",
    "pipeline": "_CalleeCompiler.define_pipelines = fail",
    "callees": "_CalleeType.get_call_type = fail",
    "keys": "_KeptCode._index_key = fail",
    "nothing kept": "_KeptCode.load_overload = lambda *arguments: None",
    "entry points": "entry_point = fail",
    "methods": "make_overload_method_template = fail",
    "kernels": "_Kernel.__init__ = fail",
    "lowering": "lower_getattr_generic = lambda type_class: lambda lower: None",
    "other results": "_plus = lambda x: x + 1; callee = lambda function, **options: numba.typeof(numba.njit(_plus))",
    "events": "_Listener.on_start = fail",
    "no events": "_Listener.on_start = _Listener.on_end = lambda *arguments: None",
}
"""Edits of the hooks, which then fail as they would if Numba had changed."""


def run_program(
    folder: Path, version: str, missing: str = "", edit: str = "", program: str = PROGRAM
) -> tuple[str, list[str]]:
    """Runs a program with a broken hook; returns what it prints, and the warnings that begin with "Numba"."""
    (folder / "program.py").write_text(BREAKS + program)
    command = [sys.executable, "-W", "always:Numba", "program.py", version, missing, edit]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if "UserWarning: Numba" in line]


@pytest.mark.parametrize("name", breadth(["CPUDispatcher"], IMPORTED))
def test_without_a_name_of_numba_results_stay_the_same(name: str, tmp_path: Path) -> None:
    out, (warning,) = run_program(tmp_path, "tested", name)
    assert out == "numba_public\n"
    assert f"Numba {numba.__version__}" in warning and name in warning


@pytest.mark.parametrize("edit", breadth(["nothing kept"], EDITS))
def test_without_a_hook_that_works_results_stay_the_same(edit: str, tmp_path: Path) -> None:
    out, (warning,) = run_program(tmp_path, "newer", edit=EDITS[edit])
    assert out == "numba_public\n"
    tested = ".".join(map(str, numba_version.NEWEST_TESTED))
    assert all(word in warning for word in ("Numba 0.99.1", tested, "NUMBA_DISABLE_JIT=1", "compiles again"))


@pytest.mark.parametrize(("version", "warnings"), breadth([("newer", 1)], [("tested", 0)]))
def test_hooks_that_work_are_used_and_an_untested_numba_is_named(version: str, warnings: int, tmp_path: Path) -> None:
    out, lines = run_program(tmp_path, version)
    assert out == "numba_names\n" and len(lines) == warnings
    assert all("Numba 0.99.1" in line and "compiles again" not in line for line in lines)


@pytest.mark.slow
def test_everything_has_the_same_results_without_hooks(tmp_path: Path) -> None:
    out, warnings = run_program(tmp_path, "newer", "CPUDispatcher", program=INTERPRETED)
    assert out == COMPILED_RESULTS and len(warnings) == 1
