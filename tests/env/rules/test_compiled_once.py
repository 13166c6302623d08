"""Processes that start together compile a kernel once; nothing that happens to one of them stops the others."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import pytest

from tictac_env import storage
from tictac_env.compiled.numba_names import cache_in, keep_code

fcntl = pytest.importorskip("fcntl", reason="the tests look at the locks of POSIX")

PROBE = """
import os, sys, time
import numba.core.caching
from tictac_env.compiled import kernel, kernels
from tictac_env.games import GAMES

COMPILED_AS = "a probe"

@kernel
def cells(game):
    return game.cells

@kernel
def result(game):
    return game.result(0, 0b111)

def stay(function, types):
    print("compiling", flush=True)
    time.sleep(600)

def save_slowly(file, overloads, save=numba.core.caching.IndexDataCacheFile._save_index):
    time.sleep(0.5)
    save(file, overloads)

game, name, how = sys.argv[1:]
if how == "stays":
    kernels.hooks.watch_compiling(stay)
if how == "saves slowly":
    numba.core.caching.IndexDataCacheFile._save_index = save_slowly
print("ready", flush=True)
sys.stdin.readline()
print({"cells": cells, "result": result}[name](GAMES[game]), flush=True)
"""
"""Calls a kernel for a game when it is told to; "stays" never ends compiling it."""


class Probe:
    """A process that is ready to call a kernel for a game."""

    def __init__(self, folder: Path, game: str = "TicTacToe-v0", kernel: str = "result", how: str = "") -> None:
        (folder / "probe.py").write_text(PROBE)
        self.process = subprocess.Popen(
            [sys.executable, "probe.py", game, kernel, how],
            cwd=folder,
            env=os.environ | {"TICTAC_CACHE_DIR": str(folder / "cache")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.line() == "ready"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def call(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> tuple[str, bool]:
        """What the kernel returned, and whether this process has compiled it."""
        out, told = self.process.communicate(timeout=120)
        assert told == "" or told.startswith("tictac_env: compiling"), told
        return out.strip(), told != ""


@contextmanager
def probes(*made: Probe) -> Iterator[tuple[Probe, ...]]:
    try:
        yield made
    finally:
        for probe in made:
            probe.process.kill()
            probe.process.communicate()


def test_of_two_processes_that_start_together_one_compiles(tmp_path: Path) -> None:
    with probes(Probe(tmp_path), Probe(tmp_path)) as both:
        for probe in both:
            probe.call()
        assert sorted(probe.end() for probe in both) == [("-1", False), ("-1", True)]


@contextmanager
def another_compiles(folder: Path) -> Iterator[Probe]:
    """A process that is compiling `result` for tic-tac-toe, and does not get on."""
    with probes(Probe(folder, how="stays")) as (stuck,):
        stuck.call()
        assert stuck.line() == "compiling"
        yield stuck


def waits(probe: Probe) -> bool:
    """True if the process, told to call its kernel, waits; one that compiles needs some tenths of a second."""
    with pytest.raises(subprocess.TimeoutExpired):
        probe.process.wait(1.5)
    return probe.process.poll() is None


def test_a_process_that_is_killed_while_it_compiles_leaves_it_to_the_next(tmp_path: Path) -> None:
    """Other kernels and games are compiled meanwhile."""
    with another_compiles(tmp_path) as stuck, probes(Probe(tmp_path)) as (next_one,):
        next_one.call()
        for game, kernel, value in (("TicTacToe-v0", "cells", "9"), ("ConnectFour-v0", "result", "2")):
            with probes(Probe(tmp_path, game, kernel)) as (other,):
                other.call()
                assert other.end() == (value, True)
        assert waits(next_one)
        stuck.process.kill()
        assert next_one.end() == ("-1", True)


@pytest.mark.slow
def test_a_process_that_waits_says_nothing_and_is_stopped_by_ctrl_c(tmp_path: Path) -> None:
    with another_compiles(tmp_path), probes(Probe(tmp_path)) as (waiting,):
        waiting.call()
        assert waits(waiting)
        waiting.process.send_signal(signal.SIGINT)
        out, told = waiting.process.communicate(timeout=30)
    assert waiting.process.returncode == -signal.SIGINT and out == ""
    assert told.endswith("KeyboardInterrupt\n") and "tictac_env: " not in told


@pytest.mark.slow
def test_two_games_compiled_at_the_same_time_are_both_kept(tmp_path: Path) -> None:
    games = ("TicTacToe-v0", "ConnectFour-v0")
    for compiles in (True, False):
        with probes(*(Probe(tmp_path, game, "cells", "saves slowly") for game in games)) as both:
            for probe in both:
                probe.call()
            assert [probe.end() for probe in both] == [("9", compiles), ("42", compiles)]


def kept(plain: Any, folder: Path) -> Any:
    """The function, compiled when it is called and kept in the folder."""
    with cache_in(str(folder)):
        function = numba.njit(plain)
        keep_code(function, lambda signature: "")
    return function


def is_free(folder: Path) -> bool:
    """Whether another process could take every lock in the folder."""
    take = "import fcntl, sys; [fcntl.lockf(open(path, 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB) for path in sys.argv[1:]]"
    paths = [str(path) for path in folder.rglob("*.lock")]
    done = subprocess.run([sys.executable, "-c", take, *paths], capture_output=True, text=True, check=False)
    assert paths and (done.returncode == 0 or "BlockingIOError" in done.stderr)
    return done.returncode == 0


def triple(x: int) -> int:
    return 3 * x


def test_kernels_that_call_each_other_and_threads_do_not_wait_for_themselves(tmp_path: Path) -> None:
    inner = kept(triple, tmp_path)
    calling = [kept(lambda x, i=i: inner(x) + i, tmp_path) for i in range(3)]
    found: dict[int, int] = {}
    threads = [
        threading.Thread(target=lambda i=i, f=f: found.update({i: f(14)}), daemon=True) for i, f in enumerate(calling)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {0: 42, 1: 43, 2: 44}
    assert is_free(tmp_path)


def test_a_lock_is_held_while_a_kernel_that_is_called_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = kept(triple, tmp_path)
    outer = kept(lambda x: inner(x), tmp_path)
    free = []
    save = type(outer._cache).save_overload
    monkeypatch.setattr(
        type(outer._cache), "save_overload", lambda *given: (save(*given), free.append(is_free(tmp_path)))
    )
    assert outer(14) == 42
    assert free == [False, False]  # after the inner one was kept, and the outer one
    assert is_free(tmp_path)


def test_what_cannot_be_compiled_holds_no_lock(tmp_path: Path) -> None:
    with pytest.raises(numba.TypingError):
        kept(lambda x: x.no_such_field, tmp_path)(1)
    assert is_free(tmp_path)
    assert kept(triple, tmp_path)(14) == 42


@pytest.mark.parametrize("why", ["no locks", "no file"])
def test_without_locks_it_is_compiled_and_kept(why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    function = kept(triple, tmp_path)
    if why == "no file":
        for name in ("compiling.lock", "saving.lock"):
            (Path(function.stats.cache_path) / name).mkdir()
    else:
        monkeypatch.setattr(fcntl, "lockf", raise_no_locks)
    assert function(14) == 42
    again = kept(triple, tmp_path)
    assert again(14) == 42 and again.stats.cache_hits


def raise_no_locks(*given: Any) -> None:
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def test_windows_is_asked_until_the_byte_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int, int]] = []

    def locking(handle: int, mode: int, count: int) -> None:
        asked.append((os.lseek(handle, 0, os.SEEK_CUR), mode, count))
        if len(asked) < 3:
            raise PermissionError(errno.EACCES, "held by another process")

    monkeypatch.setattr(storage, "fcntl", None)
    monkeypatch.setattr(storage, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2), raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    with storage.locked(tmp_path / "lock", 1234):
        assert asked == [(1234, 2, 1)] * 3
