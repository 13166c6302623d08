"""What is compiled is announced: a line on stderr for each first use, with the time it took, and nothing else."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest

import tictac_env.envs.vector
import tictac_env.solver  # noqa: F401  # both say what their kernels are for
from tictac_env.compiled import in_one_line, kernels, seconds_compiling
from tictac_env.compiled.numba_names import cache_in, keep_code
from tictac_env.games import GAMES, KInARow, game_name
from tictac_env.progress import progress_bar

TTT, C4 = GAMES["TicTacToe-v0"], GAMES["ConnectFour-v0"]
VECTOR, SOLVER = "tictac_env.envs.vector.passes", "tictac_env.solver.engine"


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the cache folder of the tests is, nothing is to be said of it."""
    monkeypatch.setattr(kernels, "WARNING", "")


def function_of(module: str, plain: Callable[..., Any]) -> Any:
    """A function that is compiled when it is called, as if it stood in that module."""
    plain.__module__ = module
    return numba.njit(plain)


def cells_of(module: str) -> Any:
    return function_of(module, lambda game: game.cells)


def lines(*whats: str) -> re.Pattern[str]:
    return re.compile("".join(rf"tictac_env: compiling {re.escape(what)} \.\.\. \d+\.\d s\n" for what in whats))


Capture = pytest.CaptureFixture[str]


def test_what_is_compiled_has_a_line_and_is_said_once(capsys: Capture) -> None:
    cells = cells_of(VECTOR)
    double = function_of(VECTOR, lambda game: 2 * cells(game))  # which calls another one
    assert double(TTT) == double(TTT) == 18
    assert lines("the vector environment for TicTacToe-v0").fullmatch(capsys.readouterr().err)
    assert double(KInARow.make(2, 3, 2, False)) == 12
    assert lines(f"the vector environment for {game_name(KInARow.make(2, 3, 2, False))}").fullmatch(
        capsys.readouterr().err
    )


def test_the_line_is_there_while_it_is_compiled(capsys: Capture) -> None:
    seen = []

    def see(function: Callable[..., Any], types: Any) -> None:
        seen.append(capsys.readouterr().err)

    kernels.hooks.watch_compiling(see)
    cells_of(SOLVER)(C4)
    assert seen == ["tictac_env: compiling the solver for ConnectFour-v0 ..."]


def test_what_one_call_compiles_can_be_one_line(capsys: Capture) -> None:
    with in_one_line():
        cells_of(VECTOR)(C4)
        with in_one_line():
            cells_of(VECTOR)(C4)
        function_of(VECTOR, lambda count: count + 1)(3)  # which knows no game
    assert lines("the vector environment for ConnectFour-v0").fullmatch(capsys.readouterr().err)
    with in_one_line():
        assert capsys.readouterr().err == ""


def test_other_things_and_games_have_lines_of_their_own(capsys: Capture) -> None:
    with in_one_line():
        cells_of(VECTOR)(C4)
        cells_of(SOLVER)(C4)
        cells_of(SOLVER)(TTT)
    vector, solver = "the vector environment for ConnectFour-v0", "the solver for "
    expected = lines(vector, f"{solver}ConnectFour-v0", f"{solver}TicTacToe-v0")
    assert expected.fullmatch(capsys.readouterr().err)


def test_the_line_ends_where_compiling_fails(capsys: Capture) -> None:
    with pytest.raises(numba.TypingError):
        function_of(VECTOR, lambda game: game.no_such_field)(TTT)
    assert lines("the vector environment for TicTacToe-v0").fullmatch(capsys.readouterr().err)


def test_seconds_compiling_are_of_the_processor_and_count_callees_once(tmp_path: Path) -> None:
    cells = cells_of(SOLVER)

    def kept() -> Any:
        with cache_in(str(tmp_path)):
            double = function_of(SOLVER, lambda game: 2 * cells(game))
            keep_code(double, lambda signature: "")
        return double

    before, began = seconds_compiling(), time.thread_time()
    assert kept()(TTT) == 18
    compiling = seconds_compiling() - before
    assert 0 < compiling <= time.thread_time() - began
    assert kept()(TTT) == 18  # is loaded
    assert seconds_compiling() - before == compiling


def test_nothing_is_said_of_other_peoples_functions(capsys: Capture) -> None:
    cells = cells_of(VECTOR)
    assert function_of("somebody.else", lambda game: cells(game) + 1)(TTT) == 10
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("gone", ["None", "closed"])
def test_without_a_place_to_write_to_it_is_compiled_all_the_same(gone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed if gone == "closed" else None)
    assert cells_of(VECTOR)(TTT) == 9


class Terminal(io.StringIO):
    """Takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_progress_bar_and_the_line_leave_each_other_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar(2, "work") as update:
        update(1, "")
        cells_of(VECTOR)(TTT)
        update(2, "")
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
    assert "work" in plain
    assert lines("the vector environment for TicTacToe-v0").search(plain)


COMPILE = """
from tictac_env.solver.transposition_table import lower_of, upper_of
lower_of(3), upper_of(3)
"""


HOMES = ("TICTAC_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA", "HOME", "USERPROFILE")
"""The variables that may name a folder for machine code."""


def said(settings: dict[str, str]) -> str:
    """What two small kernels have to say on stderr; no folder for caches is known but those of `settings`."""
    unknown = dict.fromkeys(HOMES, "")
    command = [sys.executable, "-c", COMPILE]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | unknown | settings)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_without_a_folder_to_write_to_it_is_said_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    occupied = tmp_path / "file"
    occupied.touch()
    for variable in HOMES:
        monkeypatch.delenv(variable, raising=False)
    _, kept, warning = kernels._cache_folder()
    assert not kept and "there is no home folder, so every run compiles again; set TICTAC_CACHE_DIR" in warning
    for variable in ("TICTAC_CACHE_DIR", "HOME"):
        monkeypatch.setenv(variable, str(occupied))
    _, kept, warning = kernels._cache_folder()
    for variable in ("TICTAC_CACHE_DIR", "HOME"):
        assert f"{variable}={occupied} cannot be written to" in warning
    assert not kept and "every run compiles again; set TICTAC_CACHE_DIR to a folder" in warning


def test_a_folder_that_was_asked_for_in_vain_is_said_once(tmp_path: Path) -> None:
    occupied, home = tmp_path / "file", tmp_path / "home"
    occupied.touch()
    settings = {"TICTAC_CACHE_DIR": str(occupied), "HOME": str(home)}
    warning, *lines = said(settings).splitlines()
    assert f"TICTAC_CACHE_DIR={occupied} cannot be written to; machine code is kept in {home}" in warning
    assert len(lines) == 2 and all("compiling" in line for line in lines)
    assert said(settings) == ""  # it is found there
